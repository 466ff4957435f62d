//! The costs of the protocols of this crate. Tests compare them with dry runs and with messages.

use quorate_engine::Chunks;
use quorate_ring::Ring;

use crate::options::Options;
use crate::{product, softspoken, triples};

/// Rounds, and payload bytes sent by each end.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Cost {
    /// Rounds.
    pub rounds: u32,
    /// Bytes by the OTs' sender.
    pub by_sender: u64,
    /// Bytes by the OTs' receiver.
    pub by_receiver: u64,
}

impl Cost {
    /// Returns the costs of both in the same rounds.
    #[must_use]
    pub fn beside(self, other: Cost) -> Cost {
        Cost { rounds: self.rounds.max(other.rounds), ..self.then(other) }
    }

    /// Returns the costs of both, one after the other.
    #[must_use]
    pub fn then(self, next: Cost) -> Cost {
        Cost {
            rounds: self.rounds + next.rounds,
            by_sender: self.by_sender + next.by_sender,
            by_receiver: self.by_receiver + next.by_receiver,
        }
    }

    /// Returns the costs of this in both directions at once: each party is sender and receiver.
    #[must_use]
    pub fn both_ways(self) -> Cost {
        let each = self.by_sender + self.by_receiver;
        Cost { rounds: self.rounds, by_sender: each, by_receiver: each }
    }
}

/// Bytes of each party's messages in [`Ot::setup`](crate::Ot::setup).
pub(crate) fn setup_messages(options: Options) -> [usize; 3] {
    crate::setup::shape(options).message_bytes()
}

/// Costs of [`Ot::setup`](crate::Ot::setup). Both directions run at once, so either end's bytes are those of a party.
pub fn setup(options: Options) -> Cost {
    let each = setup_messages(options).iter().sum::<usize>() as u64;
    Cost { rounds: 3, by_sender: each, by_receiver: each }
}

/// Costs of `len` correlated OTs, and of random OTs, which hash them in place.
pub fn cots(options: Options, len: usize) -> Cost {
    softspoken::cost(options, len, false)
}

/// Costs of `len` correlated OTs with chosen choice bits: one more bit each.
pub fn cots_for(options: Options, len: usize) -> Cost {
    softspoken::cost(options, len, true)
}

/// Costs of a batch's answer by the sender.
fn answer(bytes: usize) -> Cost {
    Cost { rounds: 1, by_sender: bytes as u64, by_receiver: 0 }
}

/// Costs of `len` shared products of a bit and an element of `ring`.
pub fn bit_products(options: Options, ring: Ring, len: usize) -> Cost {
    cots_for(options, len).then(answer(ring.packed_bytes(len)))
}

/// Costs of `len` shared products over `ring`, one factor at each end.
pub fn one_way_products(options: Options, ring: Ring, len: usize) -> Cost {
    cots_for(options, ring.bits() as usize * len).then(answer(product::answer_bytes(ring.bits(), len)))
}

/// Costs of `len` products of shared values over `ring`, in both directions at once.
pub fn products(options: Options, ring: Ring, len: usize) -> Cost {
    one_way_products(options, ring, len).both_ways()
}

/// Costs of `len` triples over `ring`, in both directions at once.
pub fn triples(options: Options, ring: Ring, len: usize) -> Cost {
    let batch = |len: usize| {
        cots(options, ring.bits() as usize * len).then(answer(product::answer_bytes(ring.bits(), len))).both_ways()
    };
    streamed(triples::chunks(ring, len), batch)
}

/// Costs of triples of `rows` x `lanes` bits, in both directions at once.
pub fn bit_triples(options: Options, rows: usize, lanes: usize) -> Cost {
    streamed(triples::bit_chunks(1, rows * lanes), |len| cots(options, len).both_ways())
}

/// Costs of triples of a bit and a column of `rows` bits, in both directions at once.
pub fn select_triples(options: Options, rows: usize, lanes: usize) -> Cost {
    streamed(triples::bit_chunks(rows, lanes), |len| cots(options, len).both_ways())
}

/// Returns the costs of all chunks in the same rounds.
fn streamed(chunks: Chunks, batch: impl Fn(usize) -> Cost) -> Cost {
    (0..chunks.count()).map(|i| batch(chunks.range(i).len())).fold(Cost::default(), Cost::beside)
}
