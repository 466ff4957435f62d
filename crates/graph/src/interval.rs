//! Proven ranges of values, in ring units, with saturating arithmetic.

/// All integers from `lo` to `hi`, both included. Arithmetic saturates at the ends of `i128`. These are far beyond
/// every dtype, so an interval with a saturated end still does not fit any dtype.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Interval {
    lo: i128,
    hi: i128,
}

impl Interval {
    /// The values of a bit.
    pub const BIT: Interval = Interval { lo: 0, hi: 1 };

    /// Returns the interval with these ends, in either order.
    pub fn new(a: i128, b: i128) -> Interval {
        Interval { lo: a.min(b), hi: a.max(b) }
    }

    /// Returns the interval of one value.
    pub fn point(value: i128) -> Interval {
        Interval { lo: value, hi: value }
    }

    /// Returns [-2^(bits-1), 2^(bits-1)), for 1 <= bits <= 127.
    pub fn signed(bits: u32) -> Interval {
        let half = 1i128 << (bits - 1);
        Interval { lo: -half, hi: half - 1 }
    }

    /// Returns the smallest interval with all `values`; the point 0 where there are none.
    pub fn spanning(values: &[i128]) -> Interval {
        let lo = values.iter().copied().min().unwrap_or(0);
        let hi = values.iter().copied().max().unwrap_or(0);
        Interval { lo, hi }
    }

    /// Returns the smallest value.
    pub fn lo(self) -> i128 {
        self.lo
    }

    /// Returns the largest value.
    pub fn hi(self) -> i128 {
        self.hi
    }

    /// Returns the number of integers in it, up to 2^128 - 1.
    pub(crate) fn count(self) -> u128 {
        (self.hi as u128).wrapping_sub(self.lo as u128).saturating_add(1)
    }

    /// Returns all integers in it.
    pub(crate) fn all(self) -> impl Iterator<Item = i128> {
        self.lo..=self.hi
    }

    /// Returns whether `value` lies inside.
    pub fn contains(self, value: i128) -> bool {
        self.lo <= value && value <= self.hi
    }

    /// Returns whether all of `other` lies inside.
    pub fn covers(self, other: Interval) -> bool {
        self.lo <= other.lo && other.hi <= self.hi
    }

    /// Returns the smallest interval that covers both.
    pub fn union(self, other: Interval) -> Interval {
        Interval { lo: self.lo.min(other.lo), hi: self.hi.max(other.hi) }
    }

    /// Returns the smallest interval with all `values`; `None` where there are none.
    pub fn of(values: &[i128]) -> Option<Interval> {
        (!values.is_empty()).then(|| Interval::spanning(values))
    }

    /// Returns the interval with each end moved to the nearest number of `within`.
    pub(crate) fn clamped(self, within: Interval) -> Interval {
        Interval { lo: self.lo.clamp(within.lo, within.hi), hi: self.hi.clamp(within.lo, within.hi) }
    }

    /// Returns the number of bits of the smallest two's complement integer that holds every value (at least 1).
    pub fn signed_bits(self) -> u32 {
        let bits = |v: i128| 129 - if v < 0 { v.leading_ones() } else { v.leading_zeros() };
        bits(self.lo).max(bits(self.hi))
    }

    /// Returns the number of bits of the largest difference from the lower end (at least 1).
    pub fn span_bits(self) -> u32 {
        (self.hi - self.lo).unsigned_abs().max(1).ilog2() + 1
    }

    pub(crate) fn add(self, other: Interval) -> Interval {
        Interval { lo: self.lo.saturating_add(other.lo), hi: self.hi.saturating_add(other.hi) }
    }

    pub(crate) fn neg(self) -> Interval {
        Interval { lo: 0i128.saturating_sub(self.hi), hi: 0i128.saturating_sub(self.lo) }
    }

    pub(crate) fn sub(self, other: Interval) -> Interval {
        Interval { lo: self.lo.saturating_sub(other.hi), hi: self.hi.saturating_sub(other.lo) }
    }

    pub(crate) fn mul(self, other: Interval) -> Interval {
        let corners = [
            self.lo.saturating_mul(other.lo),
            self.lo.saturating_mul(other.hi),
            self.hi.saturating_mul(other.lo),
            self.hi.saturating_mul(other.hi),
        ];
        Interval::spanning(&corners)
    }

    /// Returns the range of sums of `count` values of this interval.
    pub(crate) fn times(self, count: usize) -> Interval {
        self.mul(Interval::point(count as i128))
    }

    pub(crate) fn shl(self, bits: u32) -> Interval {
        self.mul(Interval::point(1i128 << bits.min(126)))
    }

    /// Returns the interval shifted right; values are rounded down or up.
    pub(crate) fn shr_up(self, bits: u32) -> Interval {
        let low = (1i128 << bits) - 1;
        Interval { lo: self.lo >> bits, hi: (self.hi >> bits) + i128::from(self.hi & low != 0) }
    }

    pub(crate) fn shr(self, bits: u32) -> Interval {
        Interval { lo: self.lo >> bits, hi: self.hi >> bits }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn signed_bits_is_the_smallest_ring() {
        for (lo, hi, bits) in
            [(0, 0, 1), (-1, 0, 1), (0, 1, 2), (-2, 1, 2), (-2, 2, 3), (-128, 127, 8), (-129, 0, 9), (0, 128, 9)]
        {
            assert_eq!(Interval::new(lo, hi).signed_bits(), bits, "[{lo}, {hi}]");
        }
        for bits in 1..=127 {
            assert_eq!(Interval::signed(bits).signed_bits(), bits);
        }
        assert_eq!(Interval::new(i128::MIN, i128::MAX).signed_bits(), 128);
    }

    #[test]
    fn rounding_up_reaches_the_next_unit_unless_nothing_is_dropped() {
        assert_eq!(Interval::new(-5, 5).shr_up(1), Interval::new(-3, 3));
        assert_eq!(Interval::new(-4, 4).shr_up(1), Interval::new(-2, 2));
        assert_eq!(Interval::new(-1, i128::MAX).shr_up(0), Interval::new(-1, i128::MAX));
        assert_eq!(Interval::new(i128::MIN, i128::MAX).shr_up(4).hi(), 1 << 123);
    }

    #[test]
    fn saturates_instead_of_wrapping() {
        let wide = Interval::new(i128::MIN, i128::MAX);
        assert_eq!(wide.neg(), Interval::new(-i128::MAX, i128::MAX));
        assert_eq!(wide.mul(wide), wide);
        assert_eq!(wide.add(wide), wide);
        assert_eq!(Interval::new(-1, 1).shl(200).hi(), 1 << 126);
    }
}
