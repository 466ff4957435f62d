//! The check of the extension: digests of the columns under a hash that the sender picks after the corrections are
//! fixed.

use quorate_crypto::{ct_eq, gf64};
use quorate_ring::chosen::Masks;
use quorate_ring::threads::{side_by_side, threads};
use zeroize::Zeroize;

use super::columns::{Columns, GROUP_WORDS};
use super::{Batch, TILE_GROUPS};
use crate::domains;
use crate::options::COLUMNS;

/// Two elements of GF(2^64).
pub(super) const CHALLENGE_BYTES: usize = 16;
/// The digest of u, and the hash of the digests of V.
pub(super) const ANSWER_BYTES: usize = 16 + 32;
/// The name of the check in an error.
pub(super) const CHECK: &str = "consistency of the OT extension";

/// The hash of a column. For each of two points it is a polynomial in the point whose coefficients are the column's
/// words, without a constant term, plus a word of the masking group. (With a constant term, an error in that word and
/// the same one in both masks would cancel under every challenge.)
pub(super) type Digest = [u64; 2];

/// The hash that one challenge determines.
pub(super) struct Hash {
    /// The powers of each point, from 0 on, for a tile, and the next one.
    powers: [Vec<u64>; 2],
}

impl Hash {
    pub fn new(challenge: &[u8; CHALLENGE_BYTES]) -> Hash {
        let powers = challenge.as_chunks::<8>().0.iter().map(|point| {
            let mut powers = vec![0; TILE_GROUPS * GROUP_WORDS + 1];
            gf64::powers(u64::from_le_bytes(*point), &mut powers);
            powers
        });
        let mut powers = powers;
        Hash { powers: [0, 1].map(|_| powers.next().unwrap_or_default()) }
    }

    /// Returns the digest of one column; `part` returns its part in a tile.
    pub fn column<'w>(&self, batch: Batch, part: impl Fn((usize, usize)) -> &'w [u64]) -> Digest {
        let mut digest = [0; 2];
        batch.tiles().for_each(|tile| self.extend(&mut digest, part(tile), tile.0 == batch.groups));
        digest
    }

    /// Extends the digest by another tile's part; the last part is the `mask`.
    fn extend(&self, digest: &mut Digest, words: &[u64], mask: bool) {
        if mask {
            for ((digest, powers), mask) in digest.iter_mut().zip(&self.powers).zip(words) {
                *digest = gf64::mul(*digest, powers[1]) ^ mask;
            }
            return;
        }
        for (digest, powers) in digest.iter_mut().zip(&self.powers) {
            let width = words.len();
            *digest = gf64::mul(*digest, powers[width]) ^ gf64::inner_product(words, &powers[..width]);
        }
    }

    /// Returns the digests of all columns, tile by tile; none for a shape.
    pub fn columns(&self, batch: Batch, columns: &Columns) -> Vec<Digest> {
        if columns.is_shape() {
            return Vec::new();
        }
        let mut digests = vec![[0; 2]; COLUMNS];
        let each = if batch.groups > TILE_GROUPS { COLUMNS.div_ceil(threads()) } else { COLUMNS };
        side_by_side(digests.chunks_mut(each).enumerate().collect(), |(part, digests)| {
            for tile in batch.tiles() {
                let all = columns.tile(tile).chunks_exact(tile.1 * GROUP_WORDS).skip(part * each);
                digests.iter_mut().zip(all).for_each(|(digest, words)| {
                    self.extend(digest, words, tile.0 == batch.groups);
                });
            }
        });
        digests
    }
}

/// Returns the receiver's answer.
pub(super) fn answer(instance: u128, u: Digest, mut columns: Vec<Digest>) -> [u8; ANSWER_BYTES] {
    let mut answer = [0; ANSWER_BYTES];
    answer[..8].copy_from_slice(&u[0].to_le_bytes());
    answer[8..16].copy_from_slice(&u[1].to_le_bytes());
    answer[16..].copy_from_slice(&hash_of(instance, &columns));
    columns.as_flattened_mut().zeroize();
    answer
}

/// Returns whether an answer is that of a receiver whose columns are the sender's, less u Delta.
pub(super) fn holds(instance: u128, delta: u128, mut columns: Vec<Digest>, answer: &[u8]) -> bool {
    let Some((u, hash)) = answer.split_at_checked(16) else { return false };
    let u = u.as_chunks::<8>().0;
    let masks = Masks::new();
    for (j, column) in columns.iter_mut().enumerate() {
        let bit = masks.word((delta >> j) as u64, 0);
        column.iter_mut().zip(u).for_each(|(digest, u)| *digest ^= u64::from_le_bytes(*u) & bit);
    }
    let expected = hash_of(instance, &columns);
    columns.as_flattened_mut().zeroize();
    ct_eq(&expected, hash)
}

fn hash_of(instance: u128, columns: &[Digest]) -> [u8; 32] {
    let mut hasher = blake3::Hasher::new_derive_key(domains::COLUMN_CHECK);
    hasher.update(&instance.to_le_bytes());
    for digest in columns {
        hasher.update(&digest[0].to_le_bytes()).update(&digest[1].to_le_bytes());
    }
    let hash = hasher.finalize().into();
    hasher.zeroize();
    hash
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::options::Options;

    /// Tests that the n data words have coefficients point^1 to point^n, in some order, and that each mask word counts
    /// once.
    #[test]
    fn digests_are_polynomials() {
        let hash = Hash::new(&std::array::from_fn(|i| 7 * i as u8 + 1));
        for groups in [1usize, 2, TILE_GROUPS, TILE_GROUPS + 3, 2 * TILE_GROUPS + 1] {
            let batch = Batch::new(groups * super::super::GROUP, Options::MALICIOUS);
            let words = batch.all_groups() * GROUP_WORDS;
            let digest_of_unit = |at: usize| {
                let mut column = vec![0; words];
                column[at] = 1;
                hash.column(batch, |(first, count)| &column[first * GROUP_WORDS..(first + count) * GROUP_WORDS])
            };
            let units: Vec<Digest> = (0..words).map(digest_of_unit).collect();
            let (data, masks) = units.split_at(words - GROUP_WORDS);
            assert_eq!(masks, [[1, 0], [0, 1]]);
            for i in 0..2 {
                let mut powers = vec![0; data.len() + 1];
                gf64::powers(hash.powers[i][1], &mut powers);
                powers.remove(0);
                let mut seen: Vec<u64> = data.iter().map(|digest| digest[i]).collect();
                seen.sort_unstable();
                powers.sort_unstable();
                assert_eq!(seen, powers, "{groups} groups");
            }
        }
    }

    #[test]
    fn a_flip_of_any_bit_of_the_answer_is_seen() {
        let columns: Vec<Digest> = (0..128u64).map(|j| [j * j + 1, j << 40]).collect();
        let (u, delta) = ([0x1234, 0xffff_0000_1111], 0x5555_0000_1234_5679_u128);
        let masked = |j: usize, i: usize| columns[j][i] ^ if delta >> j & 1 == 1 { u[i] } else { 0 };
        let theirs: Vec<Digest> = (0..128).map(|j| [masked(j, 0), masked(j, 1)]).collect();
        let good = answer(9, u, theirs);
        assert!(holds(9, delta, columns.clone(), &good));
        assert!(!holds(8, delta, columns.clone(), &good) && !holds(9, delta, columns.clone(), &good[..20]));
        assert!(!holds(9, delta, columns.clone(), &[]));
        for j in 0..columns.len() {
            for i in 0..2 {
                let mut other = columns.clone();
                other[j][i] ^= 1 << (j % 64);
                assert!(!holds(9, delta, other, &good), "digest {i} of column {j}");
            }
        }
        for bit in 0..8 * good.len() {
            let mut bad = good;
            bad[bit / 8] ^= 1 << (bit % 8);
            assert!(!holds(9, delta, columns.clone(), &bad), "bit {bit}");
        }
    }
}
