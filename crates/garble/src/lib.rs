//! Yao's garbled circuits: half gates with free xor and point-and-permute, streamed. No I/O.
//!
//! **Source**: Zahur, Rosulek, Evans, "Two Halves Make a Whole: Reducing Data Transfer in Garbled Circuits Using Half
//! Gates", Eurocrypt 2015, figure 2; free xor by Kolesnikov and Schneider 2008; the hash is
//! [`Tccr`](quorate_crypto::Tccr), TMMO of Guo, Katz, Wang, Yu 2020.
//! **Deviation**: H is TMMO, whose circular correlation robustness is proven, under keys that change every 4096 tweaks
//! so that its bound does not wear out. Constants have the active label 0; inverters cost nothing.
//! **Model**: semi-honest garbler, semi-honest evaluator. `docs/security/garbling.md` has the argument and the concrete
//! security: about 114 bits, whatever the number of gates.
//! **Notation**: R is [`Delta`], W labels, lsb(W) a label's colour, j and j' tweaks.
//!
//! | | garbler | evaluator |
//! |---|---|---|
//! | AND | 4 hashes, sends 32 bytes | 2 hashes |
//! | XOR, NOT, constant | nothing | nothing |
//! | memory | labels of inputs, outputs and of a program's slots in 16 instances; a chunk | the same |
//!
//! Both sides process one [`Program`](quorate_circuits::Program) (made with
//! [`Order::Runs(16)`](quorate_circuits::Order) on both sides) for a batch of instances, in step. The garbler fills
//! chunks with tables ([`Garbler::garble`]), and the evaluator reads them ([`Evaluator::evaluate`]). Neither holds more
//! tables than a chunk. Where tables are kept, [`whole`] serves both. The caller provides the labels of inputs: the
//! garbler's own by [`Labels::encode`], the evaluator's by correlated oblivious transfer with the same delta. Outputs
//! are labels; their [colours](Labels::colours) are shares of the values.
//!
//! ```
//! use quorate_circuits::{Goal, Order, Program, catalog, from_rows, to_rows};
//! use quorate_crypto::{Seed, SessionId, Tccr};
//! use quorate_garble::{Delta, Evaluator, Garbler, Labels};
//!
//! let circuit = catalog::add(8, Goal::Size);
//! let program = Program::new(&circuit, Order::Runs(16));
//! let hash = Tccr::new(&SessionId::from_bytes([7; 32]));
//! let delta = Delta::random()?;
//!
//! // Two instances: 1 + 2 and 30 + 40. Both inputs are the garbler's here.
//! let values = to_rows(circuit.inputs(), &[vec![1, 30], vec![2, 40]]);
//! let zero = Labels::random(&mut Seed::random()?.prg("quorate/garble/example", b""), 16, 2);
//! let active = zero.encode(&delta, &values)?;
//!
//! let mut garbler = Garbler::new(&program, &hash, &delta, 0, &zero)?;
//! let mut evaluator = Evaluator::new(&program, &hash, 0, &active)?;
//! let mut chunk = [0; 300];
//! while garbler.bytes_left() > 0 {
//!     let bytes = garbler.garble(&mut chunk);
//!     evaluator.evaluate(&chunk[..bytes])?;
//! }
//! let (zero, active) = (garbler.finish()?, evaluator.finish()?); // of the outputs
//! assert_eq!(from_rows(circuit.outputs(), &zero.open(&delta, &active)?), [[3, 70]]);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # Timing
//! No function branches on a label, a colour or a value, or indexes by one; programs and batches are public.

#![forbid(unsafe_code)]

mod error;
mod evaluator;
mod garbler;
mod labels;
mod slots;
mod walk;
pub mod whole;

pub use error::GarbleError;
pub use evaluator::Evaluator;
pub use garbler::Garbler;
pub use labels::{Delta, LABEL_BYTES, Labels};
pub use walk::{TABLE_BYTES, charge_evaluating, charge_garbling, table_bytes, tweaks_used};
