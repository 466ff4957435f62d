//! Operations on shares without messages, and these as methods of a family.

use quorate_ring::{Bits, Module, Ring, Vector};

use crate::share::{Share, blank};

/// Returns party `me`'s share of a public value: the value at party 0, zero at party 1, a shape at any other.
pub fn public<M: Module, K>(me: usize, value: &M) -> Share<M, K> {
    Share::of(match me {
        0 => value.clone(),
        _ => blank(value.is_shape() || me > 1, value.shape_of()),
    })
}

/// Returns the sum of a shared and a public value: party 0 adds it to its share.
pub fn plus_public<M: Module, K>(me: usize, x: &Share<M, K>, value: &M) -> Share<M, K> {
    let mut sum = x.map(M::clone);
    if me == 0 {
        sum.add_assign(value);
    }
    sum
}

/// Joins the values of several shares.
pub fn merged<M: Module, K>(parts: &[&Share<M, K>], merge: impl Fn(&[&M]) -> M) -> Share<M, K> {
    Share::of(merge(&parts.iter().map(|part| &***part).collect::<Vec<_>>()))
}

/// Returns the lowest bits of the shares: their sum modulo 2 is that of the shares.
pub fn low_bit<K>(x: &Share<Vector, K>) -> Share<Bits, K> {
    x.map(Vector::low_bit)
}

/// Returns 2^(k-1) times the bits: 2^(k-1) times a sum depends on that sum modulo 2 only.
pub fn as_top_bit<K>(x: &Share<Bits, K>, ring: Ring) -> Share<Vector, K> {
    x.map(|share| {
        let mut top = share.to_vector(ring);
        top.shl(ring.bits() - 1);
        top
    })
}

/// Defines the local methods of `Sharing` in an `impl` for a family, whose field `me` is the party's number.
#[macro_export]
macro_rules! local_here {
    ($values:ty, $bits:ty) => {
        type A = $values;
        type B = $bits;

        fn shape(&self, x: &$values) -> (quorate_ring::Ring, usize) {
            quorate_ring::Module::shape_of(&**x)
        }

        fn bit_shape(&self, x: &$bits) -> (usize, usize) {
            quorate_ring::Module::shape_of(&**x)
        }

        fn public(&self, value: &quorate_ring::Vector) -> $values {
            $crate::local::public(self.me, value)
        }

        fn public_bits(&self, value: &quorate_ring::Bits) -> $bits {
            $crate::local::public(self.me, value)
        }

        fn add(&self, x: &$values, y: &$values) -> $values {
            x.zip(y, quorate_ring::Vector::add_assign)
        }

        fn sub(&self, x: &$values, y: &$values) -> $values {
            x.zip(y, quorate_ring::Vector::sub_assign)
        }

        fn add_public(&self, x: &$values, value: &quorate_ring::Vector) -> $values {
            $crate::local::plus_public(self.me, x, value)
        }

        fn linear(&self, x: &$values, map: &quorate_engine::Linear<'_>) -> $values {
            x.map(|share| map.apply(share))
        }

        fn update(&self, x: &mut $values, y: &$values, update: &quorate_engine::Update) {
            update.apply(x, y);
        }

        fn concat(&self, parts: &[&$values]) -> $values {
            $crate::local::merged(parts, quorate_ring::Vector::concat)
        }

        fn xor(&self, x: &$bits, y: &$bits) -> $bits {
            x.zip(y, quorate_ring::Bits::xor_assign)
        }

        fn xor_public(&self, x: &$bits, value: &quorate_ring::Bits) -> $bits {
            $crate::local::plus_public(self.me, x, value)
        }

        fn linear_bits(&self, x: &$bits, map: &quorate_engine::LinearBits<'_>) -> $bits {
            x.map(|share| map.apply(share))
        }

        fn update_bits(&self, x: &mut $bits, y: &$bits, update: &quorate_engine::UpdateBits<'_>) {
            update.apply(x, y);
        }

        fn concat_rows(&self, parts: &[&$bits]) -> $bits {
            $crate::local::merged(parts, quorate_ring::Bits::concat_rows)
        }

        fn concat_lanes(&self, parts: &[&$bits]) -> $bits {
            $crate::local::merged(parts, quorate_ring::Bits::concat_lanes)
        }

        async fn lsb(&self, _: &quorate_engine::Ctx, x: &$values) -> quorate_engine::Result<$bits> {
            Ok($crate::local::low_bit(x))
        }

        async fn bit_to_msb(
            &self,
            _: &quorate_engine::Ctx,
            x: &$bits,
            ring: quorate_ring::Ring,
        ) -> quorate_engine::Result<$values> {
            Ok($crate::local::as_top_bit(x, ring))
        }
    };
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_public_value_is_added_once() {
        let (ring, words) = (Ring::of(12), [5, 4000, 0]);
        let value = Vector::from_u64s(ring, &words);
        let [mut sum, other]: [Share<Vector>; 2] = [0, 1].map(|me| public(me, &value));
        sum.add_assign(&other);
        assert_eq!(sum.to_u64s(), words);
        assert!(public::<_, ()>(2, &value).is_shape());
        let zero: Share<Vector> = Share::of(Vector::zeros(ring, words.len()));
        let [mut sum, other] = [0, 1].map(|me| plus_public(me, &zero, &value));
        sum.add_assign(&other);
        assert_eq!(sum.to_u64s(), words);
    }

    #[test]
    fn lowest_and_top_bits_of_shares_are_those_of_the_value() {
        let ring = Ring::of(7);
        for (first, second) in (0..128).flat_map(|first| (0..128).map(move |second| (first, second))) {
            let shares: [Share<Vector>; 2] = [first, second].map(|word| Share::of(Vector::from_u64s(ring, &[word])));
            let low = shares.each_ref().map(low_bit).map(|bits| bits.to_bools()[0]);
            assert_eq!(low[0] ^ low[1], (first + second) & 1 == 1);
            let [mut top, other] = shares.map(|share| as_top_bit(&low_bit(&share), ring));
            top.add_assign(&other);
            top.reduce();
            assert_eq!(top.to_u64s()[0], ((first + second) & 1) << 6);
        }
    }
}
