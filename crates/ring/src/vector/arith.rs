//! Arithmetic on vectors; everything wraps in the carrier.

use super::{Data, Vector, on_words};
use crate::simd::multiversion;
use crate::threads::{on_parts, on_parts_with};
use crate::word::Word;
use crate::{matmul, meter};

multiversion! {
    /// a_i = f(a_i).
    words W;
    fn map1[W: Word, F: Fn(W) -> W + Copy](a: &mut [W], f: F) {
        for x in a {
            *x = f(*x);
        }
    }
}

multiversion! {
    /// a_i = f(a_i, b_i).
    words W;
    fn map2[W: Word, F: Fn(W, W) -> W + Copy](a: &mut [W], b: &[W], f: F) {
        for (x, y) in a.iter_mut().zip(b) {
            *x = f(*x, *y);
        }
    }
}

multiversion! {
    /// a_i += b_i c_i.
    words W;
    fn add_products[W: Word](a: &mut [W], b: &[W], c: &[W]) {
        for ((x, y), z) in a.iter_mut().zip(b).zip(c) {
            *x = x.add(y.mul(*z));
        }
    }
}

multiversion! {
    /// Sums along the middle axis of `outer` x `axis` x `inner`; `out` starts as zeros.
    words W;
    fn add_slabs[W: Word](out: &mut [W], words: &[W], axis: usize, inner: usize) {
        for (row, slab) in out.chunks_exact_mut(inner).zip(words.chunks_exact(axis * inner)) {
            for line in slab.chunks_exact(inner) {
                for (sum, word) in row.iter_mut().zip(line) {
                    *sum = sum.add(*word);
                }
            }
        }
    }
}

multiversion! {
    /// Sums of consecutive runs of `axis` words.
    words W;
    fn add_runs[W: Word](out: &mut [W], words: &[W], axis: usize) {
        for (sum, run) in out.iter_mut().zip(words.chunks_exact(axis)) {
            *sum = run.iter().fold(W::default(), |sum, word| sum.add(*word));
        }
    }
}

multiversion! {
    /// The sum of all words times their factors.
    words W;
    fn weighed_sum[W: Word](words: &[W], factors: &[u64]) -> W {
        words.iter().zip(factors).fold(W::default(), |sum, (word, factor)| sum.add(word.mul64(*factor)))
    }
}

/// Keeps the low `bits` bits of each word and shifts them right.
fn mask_and_shift<W: Word>(words: &mut [W], bits: u32, shift: u32) {
    let mask = W::mask(bits);
    match shift {
        0 => on_parts(words, |words| map1(words, move |x| x & mask)),
        _ => on_parts(words, |words| map1(words, move |x| (x & mask) >> shift)),
    }
}

/// Multiplies each word by a public one, which takes less time for long words where it is `short`.
fn scale_words<W: Word>(words: &mut [W], factor: W, short: Option<u64>) {
    match short {
        Some(short) if const { W::BITS > 128 } => on_parts(words, |words| map1(words, move |x| x.mul64(short))),
        _ => on_parts(words, |words| map1(words, move |x| x.mul(factor))),
    }
}

/// Computes a_i = f(a_i, b_i) on the common carrier of both vectors; a shape if either is one.
macro_rules! combine {
    ($self:ident, $other:ident, $f:expr) => {{
        $self.assert_fits($other);
        if $other.is_shape() {
            $self.become_shape();
        }
        on_words!(&mut $self.data, words => on_parts_with(words, $other.data.words(), |a, b| map2(a, b, $f)),
            len => meter::stream(len.saturating_mul(3 * $self.ring.carrier().bytes())))
    }};
}

impl Vector {
    /// Checks that vectors have one ring and length: anything else is a mistake of the caller.
    pub(crate) fn assert_fits(&self, other: &Vector) {
        assert!(
            self.ring == other.ring && self.len() == other.len(),
            "local operation on a {self:?} and a {other:?}: rings and lengths must agree"
        );
    }

    /// Clears all bits above bit k.
    pub fn reduce(&mut self) {
        let bits = self.ring.bits();
        if bits == self.ring.carrier().bits() {
            return;
        }
        if self.is_shape() {
            return self.charge_stream(2, self.len());
        }
        on_words!(&mut self.data, words => mask_and_shift(words, bits, 0), _len => ());
    }

    /// self += other.
    ///
    /// # Panics
    /// If rings or lengths differ, as in all operations on two vectors in this module.
    pub fn add_assign(&mut self, other: &Vector) {
        combine!(self, other, |x, y| x.add(y));
    }

    /// self -= other.
    pub fn sub_assign(&mut self, other: &Vector) {
        combine!(self, other, |x, y| x.sub(y));
    }

    /// self = other - self.
    pub fn rsub_assign(&mut self, other: &Vector) {
        combine!(self, other, |x, y| y.sub(x));
    }

    /// self = -self.
    pub fn neg_assign(&mut self) {
        if self.is_shape() {
            return self.charge_stream(2, self.len());
        }
        on_words!(&mut self.data, words => on_parts(words, |words| map1(words, |x| x.neg())), _len => ());
    }

    /// self *= other, element by element.
    pub fn mul_assign(&mut self, other: &Vector) {
        if self.is_shape() || other.is_shape() {
            self.charge_products(self.len());
        }
        combine!(self, other, |x, y| x.mul(y));
    }

    /// self += a b, element by element.
    pub fn add_mul_assign(&mut self, a: &Vector, b: &Vector) {
        self.assert_fits(a);
        self.assert_fits(b);
        if a.is_shape() || b.is_shape() {
            self.become_shape();
        }
        if self.is_shape() {
            self.charge_products(self.len());
            return self.charge_stream(4, self.len());
        }
        on_words!(&mut self.data, words => add_products(words, a.data.words(), b.data.words()), _len => ());
    }

    /// Adds a public number to every element.
    pub fn add_scalar(&mut self, value: u128) {
        if self.is_shape() {
            return self.charge_stream(2, self.len());
        }
        on_words!(&mut self.data, words => {
            let value = Word::low(value);
            on_parts(words, |words| map1(words, move |x| x.add(value)))
        }, _len => ());
    }

    /// Multiplies every element by a public number.
    pub fn scale(&mut self, factor: u128) {
        if self.is_shape() {
            self.charge_products(self.len());
            return self.charge_stream(2, self.len());
        }
        let short = u64::try_from(factor).ok();
        on_words!(&mut self.data, words => scale_words(words, Word::low(factor), short), _len => ());
    }

    /// Multiplies every element by a public number that may be negative.
    pub fn scale_signed(&mut self, factor: i128) {
        if self.is_shape() {
            return self.scale(0);
        }
        let short = u64::try_from(factor).ok();
        on_words!(&mut self.data, words => scale_words(words, Word::low_signed(factor), short), _len => ());
    }

    /// Multiplies every element by 2^shift; zeros when shift >= k.
    pub fn shl(&mut self, shift: u32) {
        if self.is_shape() {
            return self.charge_stream(2, self.len());
        }
        if shift >= self.ring.bits() {
            return self.bytes_mut().fill(0);
        }
        on_words!(&mut self.data, words => on_parts(words, |words| map1(words, move |x| x << shift)), _len => ());
    }

    /// Reduces, then divides every element by 2^shift, rounding down; zeros when shift >= k.
    pub fn shr_logical(&mut self, shift: u32) {
        if self.is_shape() {
            return self.charge_stream(2, self.len());
        }
        if shift >= self.ring.bits() {
            return self.bytes_mut().fill(0);
        }
        let bits = self.ring.bits();
        on_words!(&mut self.data, words => mask_and_shift(words, bits, shift), _len => ());
    }

    /// Returns the sums along the middle axis of a row-major `outer` x `axis` x `inner` array: `outer` x `inner`
    /// elements.
    ///
    /// # Panics
    /// If the length is not `outer` x `axis` x `inner`.
    pub fn sum_axis(&self, outer: usize, axis: usize, inner: usize) -> Vector {
        assert!(self.len() == outer * axis * inner, "{self:?} is not an array of {outer} x {axis} x {inner}");
        let sums = outer * inner;
        if self.is_shape() {
            self.charge_stream(1, self.len());
            return Vector::shape(self.ring, sums);
        }
        let mut result = Vector::zeros(self.ring, sums);
        if self.is_empty() {
            return result;
        }
        on_words!(&mut result.data, out => match inner {
            1 => add_runs(out, self.data.words(), axis),
            _ => add_slabs(out, self.data.words(), axis, inner),
        }, _len => ());
        result
    }

    /// Returns the sum of all elements times public factors: one element. A shape accepts any factors.
    ///
    /// # Panics
    /// Unless the numbers of factors and elements are equal.
    pub fn weighed(&self, factors: &[u64]) -> Vector {
        if self.is_shape() {
            self.charge_products(self.len());
            self.charge_stream(1, self.len());
            return Vector::shape(self.ring, 1);
        }
        assert!(self.len() == factors.len(), "{} factors for a {self:?}", factors.len());
        let mut sum = Vector::zeros(self.ring, 1);
        on_words!(&mut sum.data, sum => sum[0] = weighed_sum(self.data.words(), factors), _len => ());
        sum
    }

    /// Returns the product of the row-major matrices a (m x k) and b (k x n): m x n elements.
    ///
    /// # Panics
    /// If the rings differ or the lengths are not mk and kn.
    pub fn matmul(a: &Vector, b: &Vector, (m, k, n): (usize, usize, usize)) -> Vector {
        assert!(
            a.ring == b.ring && a.len() == m * k && b.len() == k * n,
            "{a:?} and {b:?} are not matrices of {m} x {k} and {k} x {n} over one ring"
        );
        if a.is_shape() || b.is_shape() {
            matmul::charge(a.ring.carrier(), (m, k, n), 1);
            return Vector::shape(a.ring, m * n);
        }
        let data = match &a.data {
            Data::Shape(_) => Data::Shape(m * n),
            Data::U8(words) => Data::U8(matmul::product_u8(words, b.data.words(), (m, k, n))),
            Data::U16(words) => Data::U16(matmul::product_u16(words, b.data.words(), (m, k, n))),
            Data::U32(words) => Data::U32(matmul::product_u32(words, b.data.words(), (m, k, n))),
            Data::U64(words) => Data::U64(matmul::product_u64(words, b.data.words(), (m, k, n))),
            Data::U128(words) => Data::U128(matmul::product_u128(words, b.data.words(), (m, k, n))),
            Data::U192(words) => Data::U192(matmul::product_of_lines(words, b.data.words(), (m, k, n))),
            Data::U256(words) => Data::U256(matmul::product_of_lines(words, b.data.words(), (m, k, n))),
        };
        Vector { ring: a.ring, data }
    }
}
