//! Square roots of odd squares modulo 2^k.

use crate::meter::{self, Kernel};
use crate::vector::on_words;
use crate::word::Word;
use crate::{Vector, memory};

/// The number of products of words of 128 bits that take as long as a step over words of at most 64 bits. Narrow
/// products are no measure: they are computed side by side if instructions allow, and steps are not.
const STEP: usize = 4;
/// The number of products of words of 128 bits that take as long as a step over such words.
const STEP_WIDE: usize = 10;

impl Vector {
    /// Returns for each element e = a^2 with odd a the smallest of its four square roots modulo 2^k, and that root's
    /// inverse.
    ///
    /// Newton's iteration for 1/sqrt(e), y <- y (3 - e y^2) / 2, from y = 1: if e y^2 = 1 modulo 2^j, it is 1 modulo
    /// 2^(2j-2) afterwards. The roots are +-c and +-c + 2^(k-1). Elements that are not 1 modulo 8 give garbage. The
    /// time depends only on k and the length.
    ///
    /// # Panics
    /// If k < 3, where there are no four roots.
    pub fn odd_square_roots(&self) -> (Vector, Vector) {
        let ring = self.ring;
        let bits = ring.bits();
        assert!(bits >= 3, "square roots need a ring of at least 3 bits");
        let mut roots = self.clone();
        roots.reduce();
        let inverses = on_words!(&mut roots.data, words => Vector::of_words(ring, smallest_roots(words, bits)), len => {
            let (product, each) = meter::product(ring.carrier());
            let step = if product == Kernel::MultiplyWide { STEP_WIDE * each } else { STEP };
            meter::charge(Kernel::MultiplyWide, len.saturating_mul(step * newton_steps(bits)));
            self.clone()
        });
        (roots, inverses)
    }
}

/// Returns the number of steps of the iteration, which starts from 3 bits.
fn newton_steps(bits: u32) -> usize {
    let (mut steps, mut exact) = (0, 3);
    while exact < bits {
        (steps, exact) = (steps + 1, 2 * exact - 2);
    }
    steps
}

/// Turns the squares in `words` into roots and returns their inverses.
fn smallest_roots<W: Word>(words: &mut [W], bits: u32) -> Vec<W> {
    let top = W::low(1) << (bits - 1);
    let one = |root: &mut W| {
        let (mut c, mut y) = root_and_inverse(*root, bits);
        let beyond = W::low(0).sub((c >> (bits - 1)) & W::low(1));
        c = c.add(top & beyond);
        y = y.add(top & beyond);
        c = c & W::mask(bits);
        let upper = W::low(0).sub((c >> (bits - 2)) & W::low(1));
        c = (c & !upper) | (top.sub(c) & upper);
        y = (y & !upper) | (top.sub(y) & upper);
        *root = c & W::mask(bits);
        y & W::mask(bits)
    };
    memory::collected(words.iter_mut().map(one))
}

#[inline(always)]
fn root_and_inverse<W: Word>(square: W, bits: u32) -> (W, W) {
    let (mut y, mut exact) = (W::low(1), 3);
    while exact < bits {
        y = y.mul(W::low(3).sub(square.mul(y).mul(y)) >> 1);
        exact = 2 * exact - 2;
    }
    (square.mul(y), y)
}

#[cfg(test)]
mod tests {
    use crate::{Ring, Vector};

    #[test]
    fn smallest_root_and_its_inverse_for_every_odd_element_of_small_rings() {
        for bits in 3..=10 {
            let ring = Ring::of(bits);
            let modulus = 1u128 << bits;
            let odd: Vec<u128> = (0..modulus).filter(|a| a % 2 == 1).collect();
            let squares: Vec<u128> = odd.iter().map(|a| a * a % modulus).collect();
            let (roots, inverses) = Vector::from_u128s(ring, &squares).odd_square_roots();
            for ((square, root), inverse) in squares.iter().zip(roots.to_u128s()).zip(inverses.to_u128s()) {
                let smallest = (1..modulus).find(|c| c * c % modulus == *square).unwrap();
                assert_eq!((root, root * inverse % modulus), (smallest, 1), "square {square} modulo 2^{bits}");
            }
        }
    }

    #[test]
    fn roots_in_every_ring() {
        for bits in 3..=128u32 {
            let ring = Ring::of(bits);
            let odd: Vec<u128> =
                (0..50u128).map(|i| (i.wrapping_mul(0x9e37_79b9_7f4a_7c15_f39c_c060_5ced_c835) >> 3) | 1).collect();
            let mut squares = Vector::from_u128s(ring, &odd);
            squares.mul_assign(&Vector::from_u128s(ring, &odd));
            let (roots, inverses) = squares.odd_square_roots();
            let (mut again, mut one) = (roots.clone(), roots.clone());
            again.mul_assign(&roots);
            one.mul_assign(&inverses);
            assert_eq!(again.to_u128s(), squares.to_u128s());
            assert!(one.to_u128s().iter().all(|&x| x == 1));
            assert!(roots.to_u128s().iter().all(|&c| c >> (bits - 2) == 0), "not the smallest root modulo 2^{bits}");
        }
    }

    #[test]
    fn shapes_stay_shapes() {
        let (roots, inverses) = Vector::shape(Ring::of(66), 5).odd_square_roots();
        assert!(roots.is_shape() && inverses.is_shape());
    }
}
