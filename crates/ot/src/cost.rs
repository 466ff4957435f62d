//! The costs of the protocols of this crate. Tests compare them with dry runs and with messages.

use quorate_engine::Chunks;
use quorate_ring::Ring;

use crate::options::Options;
use crate::{product, rows, softspoken};

pub use crate::communication::Cost;

/// Returns the bytes of each party's messages in [`Ot::setup`](crate::Ot::setup).
pub(crate) fn setup_messages(options: Options) -> [usize; 3] {
    crate::setup::shape(options).message_bytes()
}

/// Returns the costs of [`Ot::setup`](crate::Ot::setup). Both directions run at once, so either end's bytes are those
/// of a party.
pub fn setup(options: Options) -> Cost {
    let each = setup_messages(options).iter().sum::<usize>() as u64;
    Cost { rounds: 3, by_sender: each, by_receiver: each }
}

/// Returns the costs of `len` correlated OTs, and of random OTs, which hash them in place.
pub fn cots(options: Options, len: usize) -> Cost {
    softspoken::cost(options, len, false)
}

/// Returns the costs of `len` correlated OTs with chosen choice bits: one more bit each.
pub fn cots_for(options: Options, len: usize) -> Cost {
    softspoken::cost(options, len, true)
}

/// Returns the costs of a batch's answer by the sender.
fn answer(bytes: usize) -> Cost {
    Cost { rounds: 1, by_sender: bytes as u64, by_receiver: 0 }
}

/// Returns the costs of `len` shared products of a bit and an element of `ring`.
pub fn bit_products(options: Options, ring: Ring, len: usize) -> Cost {
    cots_for(options, len).then(answer(ring.packed_bytes(len)))
}

/// Returns the costs of `len` shared products over `ring`, one factor at each end.
pub fn one_way_products(options: Options, ring: Ring, len: usize) -> Cost {
    cots_for(options, ring.bits() as usize * len).then(answer(product::answer_bytes(ring.bits(), len)))
}

/// Returns the costs of `len` products of shared values over `ring`, in both directions at once.
pub fn products(options: Options, ring: Ring, len: usize) -> Cost {
    one_way_products(options, ring, len).both_ways()
}

/// Returns the costs of `len` triples over `ring`, in both directions at once.
pub fn triples(options: Options, ring: Ring, len: usize) -> Cost {
    let batch = |len: usize| {
        cots(options, ring.bits() as usize * len).then(answer(product::answer_bytes(ring.bits(), len))).both_ways()
    };
    streamed(rows::chunks(ring, len), batch)
}

/// Returns the costs of triples of `rows` x `lanes` bits, in both directions at once.
pub fn bit_triples(options: Options, rows: usize, lanes: usize) -> Cost {
    streamed(rows::bit_chunks(1, rows * lanes), |len| cots(options, len).both_ways())
}

/// Returns the costs of triples of a bit and a column of `rows` bits, in both directions at once.
pub fn select_triples(options: Options, rows: usize, lanes: usize) -> Cost {
    streamed(rows::bit_chunks(rows, lanes), |len| cots(options, len).both_ways())
}

/// Returns the costs of all chunks in the same rounds.
fn streamed(chunks: Chunks, batch: impl Fn(usize) -> Cost) -> Cost {
    (0..chunks.count()).map(|i| batch(chunks.range(i).len())).fold(Cost::default(), Cost::beside)
}
