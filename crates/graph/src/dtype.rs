//! Dtypes, and the conversion of a user's numbers into ring units.

use std::fmt;

use crate::error::Fault;
use crate::interval::Interval;

/// The type of an array's elements. Values are kept in *ring units*: the two's complement integer that the ring holds
/// (for unsigned integers, the integer from 0 to 2^bits - 1). For fixed point, that is the real number times 2^frac.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Dtype {
    /// One bit, 0 or 1.
    Bit,
    /// Two's complement integers of `bits` bits, 2 to [`MAX_BITS`].
    Int {
        /// Bits of a number, including the sign.
        bits: u32,
    },
    /// Integers of `bits` bits without a sign, 1 to [`MAX_BITS`].
    Uint {
        /// Bits of a number.
        bits: u32,
    },
    /// Fixed point: `bits` bits in all (2 to [`MAX_BITS`]), `frac` of them fractional (`frac < bits`).
    Fixed {
        /// Bits of a number, including sign and fraction.
        bits: u32,
        /// The number of bits after the point: the unit is 2^-frac.
        frac: u32,
    },
}

/// The largest number of bits of a dtype that users state. Products before their cut may have more, up to the family's
/// largest ring ([`Rings`](crate::Rings)).
pub const MAX_BITS: u32 = 120;
/// The largest magnitude of reals that have neither a dtype nor a bound. With it, sums of 10^6 of them fit 64 bits, and
/// the terms of variances and regressions over that number of reals are proven to fit 120.
pub const REAL_BOUND: i128 = 1 << 26;
/// The widths that are used where one is to be chosen.
pub(crate) const USUAL_BITS: [u32; 6] = [8, 16, 32, 64, 96, MAX_BITS];

impl Dtype {
    /// The default dtype of integers.
    pub const INT64: Dtype = Dtype::Int { bits: 64 };
    /// The default dtype of real numbers.
    pub const FIXED64: Dtype = Dtype::Fixed { bits: 64, frac: 16 };

    /// Returns `int(bits)`. Fails with [`Fault::Bits`] unless 2 <= bits <= 120.
    pub fn int(bits: u32) -> Result<Dtype, Fault> {
        Dtype::Int { bits }.checked()
    }

    /// Returns `uint(bits)`. Fails with [`Fault::UnsignedBits`] unless 1 <= bits <= 120.
    pub fn uint(bits: u32) -> Result<Dtype, Fault> {
        Dtype::Uint { bits }.checked()
    }

    /// Returns `fixed(bits, frac)`. Fails with [`Fault::Bits`] or [`Fault::Frac`].
    pub fn fixed(bits: u32, frac: u32) -> Result<Dtype, Fault> {
        Dtype::Fixed { bits, frac }.checked()
    }

    /// Returns this type, if its parameters are allowed.
    pub fn checked(self) -> Result<Dtype, Fault> {
        match self {
            Dtype::Bit => Ok(self),
            Dtype::Int { bits } | Dtype::Fixed { bits, .. } if !(2..=MAX_BITS).contains(&bits) => {
                Err(Fault::Bits { bits })
            }
            Dtype::Uint { bits } if !(1..=MAX_BITS).contains(&bits) => Err(Fault::UnsignedBits { bits }),
            Dtype::Fixed { bits, frac } if frac >= bits => Err(Fault::Frac { bits, frac }),
            _ => Ok(self),
        }
    }

    /// Returns the bits of the ring; 1 for a bit.
    pub fn bits(self) -> u32 {
        match self {
            Dtype::Bit => 1,
            Dtype::Int { bits } | Dtype::Uint { bits } | Dtype::Fixed { bits, .. } => bits,
        }
    }

    /// Returns the same type with `bits` bits; a bit stays a bit.
    pub fn with_bits(self, bits: u32) -> Dtype {
        match self {
            Dtype::Bit => Dtype::Bit,
            Dtype::Int { .. } => Dtype::Int { bits },
            Dtype::Uint { .. } => Dtype::Uint { bits },
            Dtype::Fixed { frac, .. } => Dtype::Fixed { bits, frac },
        }
    }

    /// Returns the same type in the first usual width (8, 16, 32, 64, 96, 120 bits) that is at least the present one
    /// and holds `values`, in ring units; `None` where none does.
    pub(crate) fn holding(self, values: Interval) -> Option<Dtype> {
        if self.range().covers(values) {
            return Some(self);
        }
        let kind = match self {
            Dtype::Bit => Dtype::Int { bits: 1 },
            Dtype::Uint { bits } if values.lo() < 0 => Dtype::Int { bits },
            kind => kind,
        };
        if kind != self && kind != (Dtype::Int { bits: 1 }) && kind.range().covers(values) {
            return Some(kind);
        }
        let mut wider = USUAL_BITS.into_iter().filter(|&bits| bits > kind.bits()).map(|bits| kind.with_bits(bits));
        wider.find(|dtype| dtype.range().covers(values))
    }

    /// Returns the fractional bits; 0 for bits and integers.
    pub fn frac(self) -> u32 {
        match self {
            Dtype::Fixed { frac, .. } => frac,
            _ => 0,
        }
    }

    /// Returns whether this is `fixed(k, f)`, with any f (0 included).
    pub fn is_fixed(self) -> bool {
        matches!(self, Dtype::Fixed { .. })
    }

    /// Returns whether this is `int(k)` or `uint(k)`.
    pub fn is_integer(self) -> bool {
        matches!(self, Dtype::Int { .. } | Dtype::Uint { .. })
    }

    /// Returns whether this is `uint(k)`.
    pub fn is_unsigned(self) -> bool {
        matches!(self, Dtype::Uint { .. })
    }

    /// Returns the range of all values that the type can hold, in ring units.
    pub fn range(self) -> Interval {
        match self {
            Dtype::Bit => Interval::BIT,
            Dtype::Uint { bits } => Interval::new(0, (1 << bits) - 1),
            Dtype::Int { bits } | Dtype::Fixed { bits, .. } => Interval::signed(bits),
        }
    }

    /// Returns the value of the type that is congruent to `value` modulo 2^bits.
    pub fn wrap(self, value: i128) -> i128 {
        match self {
            Dtype::Bit => value & 1,
            Dtype::Uint { bits } => value & ((1 << bits) - 1),
            _ => {
                let unused = 128 - self.bits();
                value << unused >> unused
            }
        }
    }

    /// Returns integers as ring units. Fails with [`Fault::OutOfRange`], which names the first value that does not fit.
    pub fn encode_ints(self, values: &[i128]) -> Result<Vec<i128>, Fault> {
        let range = self.range();
        let one = 1i128 << self.frac();
        let encode = |(index, &value): (usize, &i128)| match value.checked_mul(one) {
            Some(units) if range.contains(units) => Ok(units),
            _ => {
                let all: Vec<i128> = values.iter().map(|v| v.saturating_mul(one)).collect();
                Err(self.out_of_range(index, value as f64, value.to_string(), &all))
            }
        };
        values.iter().enumerate().map(encode).collect()
    }

    /// Returns units of fixed point with `up` fractional bits fewer, as units of this type. Fails with
    /// [`Fault::OutOfRange`].
    pub(crate) fn shifted_units(self, units: &[i128], up: u32) -> Result<Vec<i128>, Fault> {
        let (range, all) = (self.range(), units);
        let shifted = |(index, &units): (usize, &i128)| match units.checked_mul(1 << up) {
            Some(units) if range.contains(units) => Ok(units),
            _ => {
                let value = units as f64 / f64::from(self.frac() - up).exp2();
                let all: Vec<i128> = all.iter().map(|v| v.saturating_mul(1 << up)).collect();
                Err(self.out_of_range(index, value, shown(value), &all))
            }
        };
        units.iter().enumerate().map(shifted).collect()
    }

    /// Returns real numbers as ring units of a fixed-point type, rounded to the nearest, ties to even. Fails with
    /// [`Fault::NotFinite`], [`Fault::OutOfRange`], or [`Fault::FloatWithInt`] where the type is not fixed point.
    pub fn encode_reals(self, values: &[f64]) -> Result<Vec<i128>, Fault> {
        if !self.is_fixed() {
            return Err(Fault::FloatWithInt { dtype: self });
        }
        let range = self.range();
        let scale = f64::from(self.frac()).exp2();
        let encode = |(index, &value): (usize, &f64)| {
            if !value.is_finite() {
                return Err(Fault::NotFinite { index, value });
            }
            // The cast saturates, which the range check detects.
            let in_units = |value: f64| (value * scale).round_ties_even() as i128;
            let units = in_units(value);
            if range.contains(units) {
                return Ok(units);
            }
            let all: Vec<i128> = values.iter().map(|&v| in_units(v)).collect();
            Err(self.out_of_range(index, value, shown(value), &all))
        };
        values.iter().enumerate().map(encode).collect()
    }

    /// Returns the loss where `values` were encoded as `units`: the first value other than 0 that became 0, or changed
    /// by more than 2^-8 of itself.
    pub fn lost(self, values: &[f64], units: &[i128]) -> Option<Fault> {
        self.lost_in_columns(1, usize::MAX, values, units)
    }

    /// Returns the loss in the first of `width` columns in which more than one in `among` values other than 0 loses
    /// digits (see [`lost`](Self::lost)). A few values that are nearly 0 next to others lose digits in any data.
    pub fn lost_in_columns(self, width: usize, among: usize, values: &[f64], units: &[i128]) -> Option<Fault> {
        let is_lost = |i: usize| (self.decode(units[i]) - values[i]).abs() > values[i].abs() / 256.0;
        let (mut lost, mut others) = (vec![0usize; width], vec![0usize; width]);
        for row in (0..values.len()).step_by(width.max(1)) {
            for column in 0..width {
                lost[column] += usize::from(is_lost(row + column));
                others[column] += usize::from(values[row + column] != 0.0);
            }
        }
        let column = (0..width).find(|&column| lost[column].saturating_mul(among) > others[column])?;
        let index = (column..values.len()).step_by(width).find(|&i| is_lost(i))?;
        let (given, becomes) = (shown(values[index]), shown(self.decode(units[index])));
        Some(Fault::Rounded { index, given, becomes, dtype: self })
    }

    /// Returns the number that `units` stands for (rounded to the nearest double where it has more than 53 bits).
    pub fn decode(self, units: i128) -> f64 {
        units as f64 / f64::from(self.frac()).exp2()
    }

    fn out_of_range(self, index: usize, value: f64, shown: String, all: &[i128]) -> Fault {
        let fits = self.holding(Interval::spanning(all));
        Fault::OutOfRange { index, value, shown, dtype: self, fits }
    }

    /// Returns the range in the user's units, as text.
    pub(crate) fn shown_range(self) -> String {
        let range = self.range();
        format!("{} to {}", self.shown_units(range.lo()), self.shown_units(range.hi()))
    }

    /// Returns the number that `units` stands for, as text. It is that of a double if this is precise enough, otherwise
    /// it has six digits after the point, rounded towards zero.
    pub(crate) fn shown_units(self, units: i128) -> String {
        let frac = self.frac();
        if frac == 0 {
            return units.to_string();
        }
        if units.unsigned_abs() < 1 << 53 || units.trailing_zeros() >= frac {
            return shown(self.decode(units));
        }
        let (whole, part) = (units.unsigned_abs() >> frac, units.unsigned_abs() & ((1 << frac) - 1));
        // With more than 100 fractional bits, the lowest do not reach the sixth digit.
        let (part, frac) = (part >> frac.saturating_sub(100), frac.min(100));
        let digits = (part * 1_000_000) >> frac;
        let sign = if units < 0 { "-" } else { "" };
        format!("{sign}{whole}.{digits:06}")
    }
}

/// Formats a real number for a message, briefly for every magnitude.
pub(crate) fn shown(value: f64) -> String {
    match value.abs() {
        0.0 | 1e-6..1e17 => value.to_string(),
        _ => format!("{value:.5e}"),
    }
}

impl fmt::Display for Dtype {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Dtype::Bit => write!(f, "bit"),
            Dtype::Int { bits } => write!(f, "int({bits})"),
            Dtype::Uint { bits } => write!(f, "uint({bits})"),
            Dtype::Fixed { bits, frac } => write!(f, "fixed({bits}, {frac})"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn real_numbers_are_shown_short() {
        for (value, text) in [(0.0, "0"), (-2.5, "-2.5"), (1e15, "1000000000000000"), (1e300, "1.00000e300")] {
            assert_eq!(shown(value), text);
        }
        assert_eq!(shown(-1.234_567_89e-9), "-1.23457e-9");
        let Err(fault) = Dtype::FIXED64.encode_reals(&[1e300]) else { panic!("10^300 does not fit") };
        assert!(fault.to_string().starts_with("value 1.00000e300 (index 0) does not fit fixed(64, 16)"));
    }
}
