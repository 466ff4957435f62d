//! Yao's sharing: labels of the wires of garbled circuits. Party 0 garbles, party 1 evaluates.
//!
//! **Source**: aby, section III-C (sharing, XOR, AND) and IV (conversions), on the half gates of [`quorate_garble`].
//! **Deviation**: (a) the labels of 0 and 1 differ by the correlation of the garbler's oblivious transfers, so that the
//! evaluator's inputs take only correlated transfers made before; (b) bits that the garbler knows cost nothing: the
//! active label of its input is 0 for either value, and its share of a shared bit is added to the label of 0.
//! `docs/security/aby.md` explains why both are secure. **Model**: semi-honest, 1 of 2. **Notation**: Delta is the
//! difference between labels. For a bit x the garbler holds W, the evaluator W xor x Delta.
//!
//! | operation, k bits | rounds | sent by the garbler | by the evaluator | made before |
//! |---|---|---|---|---|
//! | public bits, the garbler's input | 0 | 0 | 0 | |
//! | the evaluator's input, B2Y | 1, at the garbler | 0 | k bits | k labels of inputs |
//! | A2Y | 2 | 32 (k - 1) bytes | k bits | k labels of inputs |
//! | Y2B | 0 | 0 | 0 | |
//! | Y2A | 1 | k - 1 bits | k - 1 bits | k - 1 random bits modulo 2^k ... 2^2 |
//! | a circuit with n ANDs | 1, at the evaluator | 32 n bytes | 0 | |
//!
//! If circuits are [garbled ahead](Garbling::Ahead):
//!
//! | operation, k bits | rounds | sent by the garbler | by the evaluator | made before |
//! |---|---|---|---|---|
//! | public bits | 0 | 0 | 0 | |
//! | the garbler's input | 1, at the evaluator | 16 k bytes | 0 | k labels to send |
//! | the evaluator's input, B2Y | 2 | 16 k bytes | k bits | k labels of inputs, k to send |
//! | A2Y | 2 | 16 k bytes | k bits | k labels of inputs, k to send, k - 1 tables |
//! | a circuit with n ANDs | 0 | 0 | 0 | n tables |
//!
//! A label of an input takes 31 bits of communication to make, a random bit modulo 2^i takes 30 + i. A party that only
//! sends does not wait: a garbler continues while its tables are on their way. So a sequence of circuits waits for
//! messages only as often as a single one. The time of all steps, and the messages, depend on shapes and programs only.

mod ahead;
mod circuits;
pub mod cost;
mod inputs;
mod labels;

pub(crate) use ahead::Garbled;
pub use ahead::Garbling;
pub use labels::YaoLabels;

use quorate_engine::Error;
use quorate_garble::GarbleError;

/// The party that garbles.
pub(crate) const GARBLER: usize = 0;
/// The party that evaluates.
pub(crate) const EVALUATOR: usize = 1;
/// The number of bits of a label.
pub(crate) const LABEL_BITS: u32 = 128;

/// Returns the error of two sides with different programs or shapes, which an earlier check should have found.
fn unlike(_: GarbleError) -> Error {
    Error::Bug { what: "labels, tables or a program that do not fit each other" }
}
