//! Long messages of random oblivious transfers, expanded from keys of 128 bits.
//!
//! A key whose bytes suffice is used as it is; otherwise it seeds a generator. Each key is used once, for one purpose.

use quorate_additive::blank;
use quorate_crypto::Seed;
use quorate_engine::Ctx;
use quorate_ring::meter::{Kernel, charge};
use quorate_ring::{Ring, Vector};
use zeroize::Zeroizing;

use crate::Share;

const KEY_BYTES: usize = 16;

/// Returns one vector for each column: `width` elements of a ring for each key, one key after the other.
pub(crate) fn pads(ctx: &Ctx, keys: &[u128], count: usize, columns: &[(Ring, usize)]) -> Vec<Share<Vector>> {
    let mut vectors: Vec<Share<Vector>> =
        columns.iter().map(|&(ring, width)| Share::of(blank(ctx.is_dry(), (ring, width * count)))).collect();
    let bytes: Vec<usize> = columns.iter().map(|(ring, width)| ring.carrier().bytes() * width).collect();
    let row_bytes: usize = bytes.iter().sum();
    if ctx.is_dry() {
        charge(Kernel::Draw, row_bytes * count);
        charge(Kernel::Generator, if row_bytes > KEY_BYTES { count } else { 0 });
        return vectors;
    }
    if let [vector] = vectors.as_mut_slice()
        && row_bytes > 0
    {
        keys.iter().zip(vector.bytes_mut().chunks_exact_mut(row_bytes)).for_each(|(key, row)| grow(key, row));
        return vectors;
    }
    let mut row = Zeroizing::new(vec![0u8; row_bytes]);
    for (i, key) in keys.iter().enumerate() {
        grow(key, &mut row);
        let mut at = 0;
        for (vector, &bytes) in vectors.iter_mut().zip(&bytes) {
            vector.bytes_mut()[i * bytes..(i + 1) * bytes].copy_from_slice(&row[at..at + bytes]);
            at += bytes;
        }
    }
    vectors
}

fn grow(key: &u128, row: &mut [u8]) {
    let key = Zeroizing::new(key.to_le_bytes());
    if let Some(start) = key.get(..row.len()) {
        return row.copy_from_slice(start);
    }
    let mut seed = Zeroizing::new([0; 32]);
    seed[..KEY_BYTES].copy_from_slice(&*key);
    Seed::from_bytes(*seed).prg("quorate/aby/pad", b"").fill(row);
}
