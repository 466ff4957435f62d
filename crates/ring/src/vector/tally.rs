//! Sums of many vectors, and sums of their running sums.

use super::{Vector, on_words};
use crate::simd::multiversion;
use crate::{Ring, Wiped, wipe_words};

/// The largest number of vectors for which halves of limbs do not overflow, nor the sums of their sums: 2^32 (2^16)^2
/// is 2^64.
const MOST: usize = 1 << 16;

/// The sum of the vectors so far, and the sum of all earlier values of that sum: for x_n to x_0, added in this order,
/// the sum of x_i and that of i x_i. Wiped on drop.
///
/// Long words are summed up as halves of limbs, which need no carries before the end, so a register sums many at once.
pub struct Tally {
    count: usize,
    sums: Sums,
}

enum Sums {
    /// The sums of words of at most 64 bits.
    Words([Vector; 2]),
    /// The sums of all limbs of longer words: the lower and upper halves of the sum, and of the sum of sums.
    Halves([Vec<u64>; 4]),
}

multiversion! {
    fn add_halves[](x: &[u64], low: &mut [u64], high: &mut [u64], all_low: &mut [u64], all_high: &mut [u64]) {
        let len = x.len();
        let (low, high) = (&mut low[..len], &mut high[..len]);
        let (all_low, all_high) = (&mut all_low[..len], &mut all_high[..len]);
        for i in 0..len {
            all_low[i] = all_low[i].wrapping_add(low[i]);
            all_high[i] = all_high[i].wrapping_add(high[i]);
            low[i] = low[i].wrapping_add(x[i] & u64::from(u32::MAX));
            high[i] = high[i].wrapping_add(x[i] >> 32);
        }
    }
}

multiversion! {
    /// Returns the words from sums of the halves of their limbs.
    fn carry[const N: usize](words: &mut [[u64; N]], low: &[[u64; N]], high: &[[u64; N]]) {
        let len = words.len().min(low.len());
        let (words, low, high) = (&mut words[..len], &low[..len], &high[..len]);
        for i in 0..len {
            let mut carry = 0;
            for j in 0..N {
                let sum = u128::from(low[i][j]) + (u128::from(high[i][j]) << 32) + u128::from(carry);
                words[i][j] = sum as u64;
                carry = (sum >> 64) as u64;
            }
        }
    }
}

fn carry_limbs<const N: usize>(words: &mut [u64], low: &[u64], high: &[u64]) {
    carry::<N>(words.as_chunks_mut().0, low.as_chunks().0, high.as_chunks().0);
}

impl Tally {
    /// Creates a tally of no vectors.
    pub fn new(ring: Ring, len: usize) -> Tally {
        let limbs = len * ring.carrier().bytes() / 8;
        let sums = match ring.carrier().bits() > 64 {
            true => Sums::Halves([0; 4].map(|_| vec![0; limbs])),
            false => Sums::Words([0; 2].map(|_| Vector::zeros(ring, len))),
        };
        Tally { count: 0, sums }
    }

    /// Removes all vectors.
    pub fn clear(&mut self) {
        self.count = 0;
        match &mut self.sums {
            Sums::Words(sums) => sums.iter_mut().for_each(Vector::wipe),
            Sums::Halves(halves) => halves.iter_mut().for_each(|half| wipe_words(half)),
        }
    }

    /// Adds a vector.
    ///
    /// # Panics
    /// If there are more than 2^16, or a length differs, or it is a shape.
    pub fn add(&mut self, x: &Vector) {
        self.count += 1;
        assert!(self.count <= MOST && !x.is_shape(), "a tally of too many vectors");
        match &mut self.sums {
            Sums::Words([sum, all]) => {
                all.add_assign(sum);
                sum.add_assign(x);
            }
            Sums::Halves([low, high, all_low, all_high]) => on_words!(&x.data, words => {
                let limbs: &[u64] = if size_of_val(&words[..]) % 8 == 0 { bytemuck::cast_slice(words) } else { &[] };
                assert!(limbs.len() == low.len(), "a tally of a {x:?}");
                add_halves(limbs, low, high, all_low, all_high)
            }, _len => ()),
        }
    }

    /// Writes the first elements of both sums into vectors, from `start` to their ends.
    ///
    /// # Panics
    /// If a vector is a shape, or over another ring.
    pub fn write(&self, start: usize, [sum, all]: [&mut Vector; 2]) {
        match &self.sums {
            Sums::Words([own_sum, own_all]) => {
                for (to, from) in [(sum, own_sum), (all, own_all)] {
                    to.write_at(start, &Wiped(from.slice(0..from.len().min(to.len() - start))));
                }
            }
            Sums::Halves([low, high, all_low, all_high]) => {
                for (to, low, high) in [(sum, low, high), (all, all_low, all_high)] {
                    let limbs = to.ring.carrier().bytes() / 8;
                    let words: &mut [u64] = bytemuck::cast_slice_mut(to.bytes_mut());
                    let words = &mut words[start * limbs..];
                    match limbs {
                        2 => carry_limbs::<2>(words, low, high),
                        3 => carry_limbs::<3>(words, low, high),
                        _ => carry_limbs::<4>(words, low, high),
                    }
                }
            }
        }
    }
}

impl Drop for Tally {
    fn drop(&mut self) {
        self.clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::simd::forced;

    #[test]
    fn sums_and_weighed_sums_are_those_of_the_definition() {
        for (bits, len, count) in [(5, 33, 4), (32, 16, 9), (64, 48, 32), (65, 16, 256), (128, 32, 3), (180, 16, 32)]
            .into_iter()
            .chain([(192, 80, 256), (250, 16, 5), (134, 32, 0)])
        {
            let ring = Ring::of(bits);
            let limb = |i: usize| (i as u64 + 3).wrapping_mul(0x9e37_79b9_7f4a_7c15) | u64::MAX << 40;
            let vector = |x: usize| {
                let values: Vec<_> = (0..len).map(|i| std::array::from_fn(|j| limb(x * 999 + i * 7 + j))).collect();
                Vector::from_limbs(ring, &values)
            };
            let vectors: Vec<Vector> = (0..count).map(vector).collect();
            let [mut sum, mut weighed] = [0; 2].map(|_| Vector::zeros(ring, len));
            for (x, vector) in vectors.iter().enumerate() {
                sum.add_assign(vector);
                let mut times = vector.clone();
                times.scale(x as u128);
                weighed.add_assign(&times);
            }
            for (path, sums) in forced::on_all(|| {
                let mut tally = Tally::new(ring, len);
                tally.add(&vector(5));
                tally.clear();
                vectors.iter().rev().for_each(|vector| tally.add(vector));
                let [mut whole, mut all] = [0; 2].map(|_| Vector::constant(ring, 1, len + 3));
                tally.write(5, [&mut whole, &mut all]);
                [whole, all].map(|sums| sums.to_limbs())
            }) {
                for (sums, wanted) in sums.iter().zip([&sum, &weighed]) {
                    assert!(sums[..5].iter().all(|limbs| *limbs == [1, 0, 0, 0]));
                    assert_eq!(sums[5..], wanted.to_limbs()[..len - 2], "{path:?}, {bits} bits");
                }
            }
        }
    }
}
