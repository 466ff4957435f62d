//! The costs of the protocols of this crate. Tests compare them with dry runs and with messages.

use quorate_ring::Ring;

use crate::options::Options;
use crate::{setup, steps, triples};

/// Rounds, and payload bytes sent by each party.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Cost {
    /// Rounds.
    pub rounds: u32,
    /// Bytes by the party with the smaller number, and by the other.
    pub bytes: [u64; 2],
}

/// Returns the costs of [`He::setup`](crate::He::setup).
pub fn setup(options: Options) -> Cost {
    let messages = setup::message_bytes(options);
    Cost { rounds: messages.len() as u32, bytes: [messages.iter().sum::<usize>() as u64; 2] }
}

/// Returns the costs of [`He::triples`](crate::He::triples), with all chunks in the same rounds.
pub fn triples(options: Options, ring: Ring, len: usize) -> Cost {
    let chunks = triples::chunks(options, ring, len);
    let mut cost = Cost { rounds: if len == 0 { 0 } else { 2 }, bytes: [0; 2] };
    for i in 0..chunks.count() {
        let [first, second] = triples::halves(chunks.range(i).len()).map(|h| steps::bytes(options, ring, h.len()));
        cost.bytes[0] += (first[0] + second[1]) as u64;
        cost.bytes[1] += (second[0] + first[1]) as u64;
    }
    cost
}
