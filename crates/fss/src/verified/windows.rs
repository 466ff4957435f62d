//! Sums of values of leaves with windows of a public table: the look-up for holders of keys at a place's lower digit.
//!
//! **Notation**: D a table of 2^k places, X a public place, b bits of the key's domain, e one of its two vectors of
//! values: g_i = sum_j e(j) D[X - 2^b i - j mod 2^k], for i below 2^(k-b). Entries count as one integer each, the same
//! on both sides, so that sums of second values are alpha times those of first ones if the values are.
//!
//! 3 AES calls a leaf; 2^(k+1) products of an entry with a value.

use std::ops::Range;

use quorate_ring::meter::{self, Kernel as Charged};
use quorate_ring::threads::{side_by_side, threads};
use quorate_ring::{Ring, Vector, Wiped, memory, wipe_words};

use super::leaves::visit_some;
use super::{Keys, Shape};
use crate::hash::{Hash, Kernel};
use crate::kernel::{self, windows};

/// The number of products from which work uses several threads.
const GRAIN: usize = 1 << 19;

/// A public table of 2^k places, in the form in which its windows are summed.
pub struct Windows {
    ring: Ring,
    place_bits: u32,
    form: Form,
}

/// The entries in reverse: entry n is D[-n mod 2^k], for all places and then for one more window.
enum Form {
    Words(Vec<i64>),
    #[cfg(target_arch = "x86_64")]
    Digits(windows::Digits),
}

impl Windows {
    /// Makes a table of these entries, modulo 2^l with l up to 64, and zeros up to 2^k; for keys on `key_bits` bits.
    /// # Panics
    /// For more entries than places, keys of more bits than places, or entries of more than 64 bits.
    pub fn new(kernel: Kernel, place_bits: u32, key_bits: u32, ring: Ring, entries: &[u64]) -> Windows {
        assert!(ring.bits() <= 64 && key_bits <= place_bits && entries.len() <= 1 << place_bits, "windows of a table");
        let unused = 64 - ring.bits();
        let places = 1usize << place_bits;
        let entry = |n: usize| {
            let entry = entries.get(n.wrapping_neg() & (places - 1)).copied().unwrap_or(0);
            (entry << unused) as i64 >> unused
        };
        let turned: Vec<i64> = (0..places + (1usize << key_bits).max(windows::REGISTER)).map(entry).collect();
        #[cfg(target_arch = "x86_64")]
        if let Some(digits) = windows::Digits::new(kernel, ring.bits(), &turned) {
            return Windows { ring, place_bits, form: Form::Digits(digits) };
        }
        let _ = kernel;
        Windows { ring, place_bits, form: Form::Words(turned) }
    }

    /// Returns Z_2^l.
    pub fn ring(&self) -> Ring {
        self.ring
    }

    /// Returns k.
    pub fn place_bits(&self) -> u32 {
        self.place_bits
    }

    /// Returns this side's sums g_i of first and of second values, for each key all windows, one key after the other,
    /// modulo 2^L. The X of each key, in `places`, is public.
    ///
    /// # Panics
    /// Unless there is an X for each key.
    pub fn sums(&self, hash: &Hash, keys: &Keys, places: &[u64]) -> [Wiped<Vector>; 2] {
        let shape = keys.shape();
        assert_eq!(places.len(), keys.count(), "a place for each key");
        let count = 1usize << (self.place_bits - shape.bits());
        let mut sums: Vec<[u128; 2]> = memory::zeros(count * places.len());
        let work = places.len() << self.place_bits;
        let threads = if work < GRAIN { 1 } else { threads() };
        let part = places.len().div_ceil(threads).next_multiple_of(4).max(4);
        side_by_side(sums.chunks_mut(part * count).enumerate().collect(), |(i, sums)| {
            self.sums_of(hash, keys, i * part..(i * part + sums.len() / count), places, sums);
        });
        let both = [0, 1].map(|which| {
            let mut each: Vec<u128> = sums.iter().map(|both| both[which]).collect();
            let vector = Wiped(Vector::from_u128s(shape.ring(), &each));
            wipe_words(&mut each);
            vector
        });
        wipe_words(sums.as_flattened_mut());
        both
    }

    /// Computes the sums of these keys, on this thread.
    fn sums_of(&self, hash: &Hash, keys: &Keys, range: Range<usize>, places: &[u64], sums: &mut [[u128; 2]]) {
        let shape = keys.shape();
        let (leaves, count) = (shape.points(), 1usize << (self.place_bits - shape.bits()));
        let mask = (1u64 << self.place_bits) - 1;
        let starts = |key: usize| -> Vec<usize> {
            (0..count as u64).map(|i| ((i << shape.bits()).wrapping_sub(places[key]) & mask) as usize).collect()
        };
        match &self.form {
            Form::Words(entries) => visit_some(hash, keys, range.clone(), |first, place, values| {
                for (q, values) in values.iter().enumerate() {
                    let starts: Vec<usize> = starts(first + q).iter().map(|start| start + place).collect();
                    let sums = &mut sums[(first + q - range.start) * count..][..count];
                    kernel::windows::add_words(*values, entries, &starts, sums);
                }
            }),
            #[cfg(target_arch = "x86_64")]
            Form::Digits(digits) => {
                let mut bytes: Vec<_> = (0..4).map(|_| windows::Bytes::new(shape.ring().bits(), leaves)).collect();
                visit_some(hash, keys, range.clone(), |first, place, values| {
                    for (q, (values, bytes)) in values.iter().zip(&mut bytes).enumerate() {
                        values.iter().enumerate().for_each(|(i, values)| bytes.write(digits, i, place, values));
                        if place + values[0].len() == leaves {
                            let sums = &mut sums[(first + q - range.start) * count..][..count];
                            windows::sums_of_digits(bytes, digits, &starts(first + q), sums);
                        }
                    }
                });
            }
        }
    }
}

/// Charges a dry run for the sums of `count` keys with a table of 2^`place_bits` places.
pub fn charge_windows(shape: Shape, place_bits: u32, count: usize) {
    meter::charge(Charged::Draw, 3 * 16 * shape.points() * count);
    // Digits of a byte: 64 products at a time, some 20 of them for an entry and a value.
    meter::stream((count << place_bits) * 2);
}
