//! Random tables: 2^w random entries at the sender, and one of them at the chooser, which knows its place.
//!
//! **Source**: 1-of-N oblivious transfer from log N ones (Naor, Pinkas 1999), for entries of few bits without a
//! generator: **Deviation**, the keys' own bits are the pads. **Model**: semi-honest, 1 of 2.
//!
//! **Notation**: w random transfers of keys K_i^0, K_i^1 of 128 bits. Every key has a slot of o bits for each of the
//! 2^w entries, so 2^w o <= 128. Entry j is the xor over i of slot j of K_i^b, b bit i of j. The chooser has the keys
//! of its choices c_i, and so the entry at c. For any other j it lacks some K_i^b whose slot j is in entry j and
//! nowhere else: given what it has, the other entries are uniform and independent.
//!
//! | rounds | transfers | sent |
//! |---|---|---|
//! | that of random transfers | w a table | nothing besides them |

use quorate_additive::product::in_rows;
use quorate_engine::{Ctx, Result};
use quorate_ring::meter::{Kernel, charge};
use quorate_ring::{Bits, Ring, Vector};
use zeroize::Zeroizing;

use crate::Share;
use crate::digits::{Digit, Table};
use crate::kind::Material;
use crate::setup::Aby;

type B = Share<Bits>;

/// The number of bits of a key.
const KEY_BITS: usize = 128;

/// Returns the bits of a key that belong to entries whose bit `bit` is 1.
fn slots(digit: Digit, bit: u32) -> u128 {
    let outputs = digit.outputs() as u32;
    let slot = |j: u32| ((1u128 << outputs) - 1) << (j * outputs);
    (0..digit.entries() as u32).filter(|j| j >> bit & 1 == 1).map(slot).fold(0, |all, slot| all | slot)
}

/// Returns words of `bits` bits as rows.
fn to_rows(words: &Zeroizing<Vec<u128>>, bits: usize) -> B {
    let ring = Ring::of(bits as u32);
    let vector = Share::of(match bits {
        ..=64 => Vector::from_u64s(ring, &Zeroizing::new(words.iter().map(|&word| word as u64).collect::<Vec<_>>())),
        _ => Vector::from_u128s(ring, words),
    });
    vector.map(|v| v.to_bits(0..bits as u32))
}

/// Returns the tables of one digit from the keys of its transfers, bit by bit: rows entry by entry.
fn entries(digit: Digit, keys: [&[u128]; 2], len: usize) -> B {
    let bits = digit.entries() * digit.outputs();
    debug_assert!(bits <= KEY_BITS);
    let mut words = Zeroizing::new(vec![0u128; len]);
    for bit in 0..digit.width {
        let (ones, at) = (slots(digit, bit), bit as usize * len);
        let [zero_keys, one_keys] = keys.map(|keys| &keys[at..at + len]);
        for ((word, zero), one) in words.iter_mut().zip(zero_keys).zip(one_keys) {
            *word ^= zero ^ (zero ^ one) & ones;
        }
    }
    let low = if bits == KEY_BITS { u128::MAX } else { (1 << bits) - 1 };
    words.iter_mut().for_each(|word| *word &= low);
    to_rows(&words, bits)
}

/// Returns the entry that the chosen keys give, at the place in the rows of `place`.
fn entry(digit: Digit, keys: &[u128], place: &Bits) -> B {
    let len = place.lanes();
    let outputs = digit.outputs();
    let mut words = Zeroizing::new(vec![0u128; len]);
    for bit in 0..digit.width as usize {
        words.iter_mut().zip(&keys[bit * len..]).for_each(|(word, key)| *word ^= key);
    }
    let places = Share::of(place.to_vector(Ring::of(digit.width)));
    let places = Zeroizing::new(places.to_u64s());
    // A word's slot is taken by a shift, whose time does not depend on the distance.
    for (word, place) in words.iter_mut().zip(places.iter()) {
        *word = *word >> (*place as u32 * outputs as u32) & ((1 << outputs) - 1);
    }
    to_rows(&words, outputs)
}

/// Returns the shape of these bits in a dry run, and charges passes over the keys, and a transposition.
fn shape(digit: Digit, passes: usize, bits: usize, len: usize) -> B {
    charge(Kernel::Stream, (passes * digit.width as usize + 2) * len * KEY_BITS / 8);
    Share::of(Vector::shape(Ring::of(bits as u32), len).to_bits(0..bits as u32))
}

impl Aby {
    /// Makes the sender's tables of `len` numbers.
    pub(crate) async fn make_tables(&self, ctx: &Ctx, table: Table, len: usize) -> Result<Material> {
        let transfers = table.choice_bits() * len;
        let [zeros, ones] = self.ot.send_random(ctx, transfers).await?;
        let of_digit = |digit: &Digit| {
            let bits = digit.entries() * digit.outputs();
            let range = digit.low as usize * len..(digit.low + digit.width) as usize * len;
            match ctx.is_dry() {
                true => shape(*digit, 2, bits, len),
                false => entries(*digit, [&zeros, &ones].map(|keys| &keys.as_slice()[range.clone()]), len),
            }
        };
        Ok(Material::of_bits(vec![stacked(table.digits().iter().map(of_digit).collect())]))
    }

    /// Makes the chooser's places and entries.
    pub(crate) async fn take_tables(&self, ctx: &Ctx, table: Table, len: usize) -> Result<Material> {
        let bits = table.choice_bits();
        let (choices, keys) = self.ot.receive_random(ctx, bits * len).await?;
        let places = in_rows(&Share::of(choices), bits, len);
        let of_digit = |digit: &Digit| {
            let (from, to) = (digit.low as usize, (digit.low + digit.width) as usize);
            match ctx.is_dry() {
                true => shape(*digit, 1, digit.outputs(), len),
                false => {
                    let place = places.map(|places| places.slice_rows(from..to));
                    entry(*digit, &keys.as_slice()[from * len..to * len], &place)
                }
            }
        };
        let known = stacked(table.digits().iter().map(of_digit).collect());
        Ok(Material::of_bits(vec![places, known]))
    }
}

fn stacked(parts: Vec<B>) -> B {
    Share::of(Bits::concat_rows(&parts.iter().map(|part| &**part).collect::<Vec<_>>()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::digits::{Entry, WIDTH, chosen};

    fn noise(seed: u128, len: usize) -> Vec<u128> {
        (1..=len as u128).map(|i| (i * seed).wrapping_mul(0x9e37_79b9_7f4a_7c15_f39c_c060_5ced_c835)).collect()
    }

    #[test]
    fn the_chooser_has_its_entry_and_each_key_matters_to_others() {
        for kind in [Entry::Generate, Entry::Pair, Entry::Generates, Entry::Pairs, Entry::Equal] {
            for width in 1..=WIDTH {
                let digit = Digit { low: 0, width, entry: kind };
                let len = digit.entries();
                let (zeros, ones) = (noise(3, width as usize * len), noise(77, width as usize * len));
                let places: Vec<u64> = (0..len as u64).collect();
                let place = Vector::from_u64s(Ring::of(width), &places).to_bits(0..width);
                let keys: Vec<u128> = (0..width as usize)
                    .flat_map(|bit| (0..len).map(move |lane| (bit, lane)))
                    .map(|(bit, lane)| [&zeros, &ones][lane >> bit & 1][bit * len + lane])
                    .collect();
                let tables = entries(digit, [&zeros, &ones], len);
                assert!(chosen(digit, &tables, &place).to_bools() == entry(digit, &keys, &place).to_bools());
                // Another key that the chooser lacks changes only entries that differ in that bit from its place.
                for bit in 0..width as usize {
                    let (mut other_zeros, mut other_ones) = (zeros.clone(), ones.clone());
                    for lane in 0..len {
                        let lacked = if lane >> bit & 1 == 0 { &mut other_ones } else { &mut other_zeros };
                        lacked[bit * len + lane] ^= u128::MAX;
                    }
                    let changed = entries(digit, [&other_zeros, &other_ones], len);
                    for j in 0..len {
                        for t in 0..digit.outputs() {
                            let row = j * digit.outputs() + t;
                            let (now, before) = (changed.row(row).to_bools(), tables.row(row).to_bools());
                            for lane in 0..len {
                                assert_eq!(now[lane] != before[lane], (lane ^ j) >> bit & 1 == 1, "{digit:?}");
                            }
                        }
                    }
                }
            }
        }
    }
}
