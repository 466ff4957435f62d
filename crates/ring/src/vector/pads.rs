//! Bits times elements: the operations on pads of oblivious transfers, in one pass.

use std::hint::black_box;
use std::ops::Range;

use super::{Vector, on_words};
use crate::simd::multiversion;
use crate::word::Word;
use crate::{Bits, memory, pack};

/// Numbers whose lower 128 bits and upper ones are in separate slices; rings of at most 128 bits need no upper ones.
#[derive(Clone, Copy)]
pub struct Halves<'h> {
    /// Bits 0 to 127 of each number.
    pub low: &'h [u128],
    /// Bits 128 to 255 of each number.
    pub high: &'h [u128],
}

impl<'h> Halves<'h> {
    /// Returns the first `len` numbers, for carriers of `bits` bits.
    fn first(self, len: usize, bits: u32) -> Halves<'h> {
        Halves { low: &self.low[..len], high: if bits > 128 { &self.high[..len] } else { &[] } }
    }

    #[inline(always)]
    fn word<W: Word>(self, i: usize) -> W {
        let (low, high) = (self.low[i], if const { W::BITS > 128 } { self.high[i] } else { 0 });
        W::of_limbs([low as u64, (low >> 64) as u64, high as u64, (high >> 64) as u64])
    }
}

/// Returns ones if the bit of a lane is set. `one` is 1, which the compiler must not know: it would branch on a bit
/// that selects a word or zero.
#[inline(always)]
fn mask_of<W: Word>(bits: &[u64], lane: usize, one: u64) -> W {
    W::of_limbs([0u64.wrapping_sub(bits[lane / 64] >> (lane % 64) & one); 4])
}

multiversion! {
    /// shares = -p, masked = p - q + x.
    words W;
    fn mask[W: Word](shares: &mut [W], masked: &mut [W], x: &[W], p: Halves<'_>, q: Halves<'_>) {
        let len = shares.len();
        let (masked, x) = (&mut masked[..len], &x[..len]);
        for i in 0..len {
            let pad: W = p.word(i);
            masked[i] = pad.sub(q.word(i)).add(x[i]);
            shares[i] = pad.neg();
        }
    }
}

multiversion! {
    /// shares = p + c y.
    words W;
    fn unmask[W: Word](shares: &mut [W], y: &[W], chosen: &[u64], p: Halves<'_>) {
        let (len, one) = (shares.len(), black_box(1));
        let y = &y[..len];
        for i in 0..len {
            shares[i] = p.word::<W>(i).add(y[i] & mask_of(chosen, i, one));
        }
    }
}

multiversion! {
    /// a += c b.
    words W;
    fn add_masked[W: Word](a: &mut [W], b: &[W], chosen: &[u64]) {
        let (len, one) = (a.len(), black_box(1));
        let b = &b[..len];
        for i in 0..len {
            a[i] = a[i].add(b[i] & mask_of(chosen, i, one));
        }
    }
}

fn mask_and_pack<W: Word>(shares: &mut [W], x: &[W], [p, q]: [Halves<'_>; 2], bits: u32, packed: &mut [u8]) {
    let mut masked: Vec<W> = memory::zeros(shares.len());
    let [p, q] = [p, q].map(|pads| pads.first(shares.len(), W::BITS));
    mask(shares, &mut masked, x, p, q);
    pack::pack_at(packed, &masked, bits);
}

fn unpack_and_unmask<W: Word>(shares: &mut [W], packed: &[u8], chosen: &[u64], pads: Halves<'_>, bits: u32) {
    let mut y: Vec<W> = memory::zeros(shares.len());
    pack::unpack(&mut y, packed, bits);
    unmask(shares, &y, chosen, pads.first(shares.len(), W::BITS));
}

impl Vector {
    /// Sets, in a range, self = -p, and `packed` = p - q + x for the pads p and q, in the format of [`Vector::pack`].
    /// The range also applies to `x`, which may be over a larger ring of the same carrier.
    ///
    /// # Panics
    /// If carriers or lengths do not fit, or `self` is a shape.
    pub fn set_masked(&mut self, range: Range<usize>, x: &Vector, pads: [Halves<'_>; 2], packed: &mut [u8]) {
        let bits = self.ring.bits();
        assert!(x.ring.bits() >= bits && packed.len() == self.ring.packed_bytes(range.len()), "masks of a {x:?}");
        on_words!(&mut self.data, shares => {
            mask_and_pack(&mut shares[range.clone()], &x.data.words()[range], pads, bits, packed)
        }, _len => panic!("masks of a shape"));
    }

    /// Sets self = p + c y in a range that starts at a multiple of 64, for the bits c of one row, and y as `packed`.
    ///
    /// # Panics
    /// If lengths do not fit, or `self` is a shape.
    pub fn set_unmasked(&mut self, range: Range<usize>, chosen: &Bits, pads: Halves<'_>, packed: &[u8]) {
        let bits = self.ring.bits();
        let fits = range.start.is_multiple_of(64) && chosen.lanes() == self.len();
        assert!(fits && packed.len() == self.ring.packed_bytes(range.len()), "choices of a {self:?}");
        let chosen = &chosen.words_of(0)[range.start / 64..];
        on_words!(&mut self.data, shares => {
            unpack_and_unmask(&mut shares[range], packed, chosen, pads, bits)
        }, _len => panic!("choices of a shape"));
    }

    /// self += c x, for the bits c of one row.
    ///
    /// # Panics
    /// If rings or lengths differ.
    pub fn add_chosen(&mut self, x: &Vector, chosen: &Bits) {
        self.assert_fits(x);
        assert!(chosen.lanes() == self.len(), "{} choices of a {x:?}", chosen.lanes());
        if x.is_shape() || chosen.is_shape() {
            self.become_shape();
        }
        on_words!(&mut self.data, sums => add_masked(sums, x.data.words(), chosen.words_of(0)), _len => {
            self.charge_stream(3, self.len())
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Ring;
    use crate::simd::forced;

    const LEN: usize = 200;

    fn blocks(seed: u128) -> Vec<u128> {
        let block = |i: u128| (i + seed).wrapping_mul(0x9e37_79b9_7f4a_7c15_f39c_c060_5ced_c835).rotate_left(77);
        (0..LEN as u128).map(block).collect()
    }

    /// Tests a bit times an element, on every path, in rings of all carriers and in parts.
    #[test]
    fn shares_of_products_add_up() {
        let [low, high, other_low, other_high] = [1, 1000, 5000, 9000].map(blocks);
        let zero = Halves { low: &low, high: &high };
        let one = Halves { low: &other_low, high: &other_high };
        let picks: Vec<bool> = (0..LEN).map(|i| i * i % 5 < 2).collect();
        let chosen = Bits::from_bools(1, LEN, &picks);
        for bits in [1, 7, 8, 13, 32, 33, 64, 65, 100, 128, 129, 180, 192, 193, 256] {
            let ring = Ring::of(bits);
            let x = Vector::from_halves(ring, &blocks(77), &blocks(78));
            let zeros = Vector::zeros(ring, LEN);
            for (path, sums) in forced::on_all(|| {
                let (mut sent, mut received) = (zeros.clone(), zeros.clone());
                for range in [0..128, 128..LEN] {
                    let part = |halves: Halves<'_>| {
                        let part = |half: &[u128]| half[range.clone()].to_vec();
                        (part(halves.low), part(halves.high))
                    };
                    let ((p, p2), (q, q2)) = (part(zero), part(one));
                    let pads = [Halves { low: &p, high: &p2 }, Halves { low: &q, high: &q2 }];
                    let mut packed = vec![0; ring.packed_bytes(range.len())];
                    sent.set_masked(range.clone(), &x, pads, &mut packed);
                    // The receiver's pads: of each element the one that it chose.
                    let of = |a: &[u128], b: &[u128]| -> Vec<u128> {
                        range.clone().zip(a.iter().zip(b)).map(|(i, (a, b))| if picks[i] { *b } else { *a }).collect()
                    };
                    let (low, high) = (of(&p, &q), of(&p2, &q2));
                    received.set_unmasked(range, &chosen, Halves { low: &low, high: &high }, &packed);
                }
                sent.add_assign(&received);
                let mut sums = x.clone();
                sums.add_chosen(&x, &chosen);
                (sent.to_limbs(), sums.to_limbs())
            }) {
                let mut doubled = x.clone();
                doubled.add_assign(&x);
                let wanted = |chosen: &Vector, other: &Vector| -> Vec<[u64; 4]> {
                    let both = chosen.to_limbs().into_iter().zip(other.to_limbs());
                    picks.iter().zip(both).map(|(pick, (yes, no))| if *pick { yes } else { no }).collect()
                };
                assert_eq!(sums.0, wanted(&x, &zeros), "{path:?}, {bits} bits");
                assert_eq!(sums.1, wanted(&doubled, &x), "{path:?}, {bits} bits");
            }
        }
    }

    #[test]
    fn choices_of_shapes_are_shapes() {
        let ring = Ring::of(180);
        let mut sums = Vector::zeros(ring, 9);
        sums.add_chosen(&Vector::shape(ring, 9), &Bits::zeros(1, 9));
        assert!(sums.is_shape() && sums.len() == 9);
    }
}
