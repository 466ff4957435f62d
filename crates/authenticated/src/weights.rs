//! Sums weighted by coins: over GF(2^64), of bits and of blocks of two elements; and products by z in GF(2^128).

use quorate_crypto::gf64;
use quorate_ring::chosen::{self, Masks};
use quorate_ring::{Bits, meter};
use zeroize::Zeroizing;

/// The number of elements of GF(2^64) that are added without a reduction in between.
const CHUNK: usize = 1 << 10;

/// The number of weights 1, z, z^2, ... that make one random element from random bits.
pub const BASIS: usize = 64;

/// Appends to weights those of `BASIS` random bits that mask the sum.
pub fn with_masks(mut weights: Vec<u64>) -> Vec<u64> {
    weights.extend((0..BASIS).map(|power| 1 << power));
    weights
}

/// Returns the sum of the weights of the set bits, of one row; 0 for a shape.
pub fn of_bits(weights: &[u64], bits: &Bits) -> u64 {
    if bits.is_shape() { 0 } else { chosen::sum(weights, bits.words_of(0)) }
}

/// Charges a dry run with the weighing of `count` blocks: each takes as long as a loop over `WEIGHED_BYTES` bytes.
pub fn charge_blocks(count: usize) {
    const WEIGHED_BYTES: usize = 112;
    meter::stream(WEIGHED_BYTES * count);
}

/// Returns the weighted sum of blocks, in both halves alike.
pub fn of_blocks(weights: &[u64], blocks: &[u128]) -> u128 {
    let mut sum = [0; 2];
    let mut halves = Zeroizing::new([[0; CHUNK]; 2]);
    for (weights, blocks) in weights.chunks(CHUNK).zip(blocks.chunks(CHUNK)) {
        for (i, block) in blocks.iter().enumerate() {
            (halves[0][i], halves[1][i]) = split(*block);
        }
        for (sum, half) in sum.iter_mut().zip(&*halves) {
            *sum ^= gf64::inner_product(weights, &half[..weights.len()]);
        }
    }
    joined(sum)
}

/// Returns a block with both halves multiplied by the weight.
pub fn times(weight: u64, block: u128) -> u128 {
    let (low, high) = split(block);
    joined([gf64::mul(weight, low), gf64::mul(weight, high)])
}

fn split(block: u128) -> (u64, u64) {
    (block as u64, (block >> 64) as u64)
}

fn joined([low, high]: [u64; 2]) -> u128 {
    u128::from(high) << 64 | u128::from(low)
}

/// Returns z x in GF(2^128), modulo z^128 + z^7 + z^2 + z + 1.
pub fn doubled(x: u128) -> u128 {
    x << 1 ^ 0x87 & Masks::new().block((x >> 64) as u64, 63)
}

#[cfg(test)]
mod tests {
    use quorate_crypto::{Prg, Seed};

    use super::*;

    fn coins() -> Prg {
        Seed::from_bytes([9; 32]).prg("quorate/spdz2k/weights/test", b"")
    }

    #[test]
    fn sums_of_bits_and_blocks_are_sums_of_products() {
        let mut coins = coins();
        for len in [0, 1, 63, 64, 65, CHUNK - 1, CHUNK + 70] {
            let weights: Vec<u64> = (0..len).map(|_| coins.next_u64()).collect();
            let blocks: Vec<u128> = (0..len).map(|_| joined([coins.next_u64(), coins.next_u64()])).collect();
            let bits: Vec<bool> = blocks.iter().map(|block| block & 2 > 0).collect();
            let all = weights.iter().zip(&blocks);
            assert_eq!(of_blocks(&weights, &blocks), all.fold(0, |sum, (w, block)| sum ^ times(*w, *block)));
            let all = weights.iter().zip(&bits);
            let expected = all.fold(0, |sum, (w, bit)| sum ^ if *bit { *w } else { 0 });
            assert_eq!(of_bits(&weights, &Bits::from_bools(1, len, &bits)), expected);
        }
        assert_eq!(with_masks(vec![7, 5])[..4], [7, 5, 1, 2]);
        assert_eq!(with_masks(vec![]).last(), Some(&(1 << 63)));
    }

    /// Sums of MACs are MACs of the sums.
    #[test]
    fn sums_keep_macs() {
        let mut coins = coins();
        let delta = joined([coins.next_u64(), coins.next_u64()]);
        let weights: Vec<u64> = (0..100).map(|_| coins.next_u64()).collect();
        let keys: Vec<u128> = (0..100).map(|_| joined([coins.next_u64(), coins.next_u64()])).collect();
        let bits: Vec<bool> = keys.iter().map(|key| key & 1 > 0).collect();
        let macs: Vec<u128> = keys.iter().zip(&bits).map(|(key, bit)| key ^ if *bit { delta } else { 0 }).collect();
        let x = of_bits(&weights, &Bits::from_bools(1, 100, &bits));
        assert_eq!(of_blocks(&weights, &macs), of_blocks(&weights, &keys) ^ times(x, delta));
    }

    /// z^128 = z^7 + z^2 + z + 1.
    #[test]
    fn z_is_an_element_of_the_field() {
        assert_eq!((0..128).fold(1, |x, _| doubled(x)), 0x87);
        assert_eq!(doubled(3 << 126), 1 << 127 ^ 0x87);
        assert_eq!((doubled(0), doubled(5)), (0, 10));
    }
}
