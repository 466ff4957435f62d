//! The types of elements, and how a user's numbers become ring units.

use std::fmt;

use crate::error::Fault;
use crate::interval::Interval;

/// The type of an array's elements. Values are kept in *ring units*: the two's complement integer that the ring
/// holds (for unsigned integers that from 0 to 2^bits - 1), which for fixed point is the real number times 2^frac.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Dtype {
    /// One bit, 0 or 1.
    Bit,
    /// Two's complement integers of `bits` bits, 2 to 64.
    Int { bits: u32 },
    /// Integers of `bits` bits without a sign, 1 to 64.
    Uint { bits: u32 },
    /// Fixed point: `bits` bits in all (2 to 64), `frac` of them fractional (`frac < bits`).
    Fixed { bits: u32, frac: u32 },
}

impl Dtype {
    /// What integers become when nothing else is said.
    pub const INT64: Dtype = Dtype::Int { bits: 64 };
    /// What real numbers become when nothing else is said.
    pub const FIXED64: Dtype = Dtype::Fixed { bits: 64, frac: 16 };

    /// `int(bits)`. Fails with [`Fault::Bits`] unless 2 <= bits <= 64.
    pub fn int(bits: u32) -> Result<Dtype, Fault> {
        Dtype::Int { bits }.checked()
    }

    /// `uint(bits)`. Fails with [`Fault::UnsignedBits`] unless 1 <= bits <= 64.
    pub fn uint(bits: u32) -> Result<Dtype, Fault> {
        Dtype::Uint { bits }.checked()
    }

    /// `fixed(bits, frac)`. Fails with [`Fault::Bits`] or [`Fault::Frac`].
    pub fn fixed(bits: u32, frac: u32) -> Result<Dtype, Fault> {
        Dtype::Fixed { bits, frac }.checked()
    }

    /// This type, if its parameters are allowed.
    pub fn checked(self) -> Result<Dtype, Fault> {
        match self {
            Dtype::Bit => Ok(self),
            Dtype::Int { bits } | Dtype::Fixed { bits, .. } if !(2..=64).contains(&bits) => Err(Fault::Bits { bits }),
            Dtype::Uint { bits } if !(1..=64).contains(&bits) => Err(Fault::UnsignedBits { bits }),
            Dtype::Fixed { bits, frac } if frac >= bits => Err(Fault::Frac { bits, frac }),
            _ => Ok(self),
        }
    }

    /// Bits of the ring; 1 for a bit.
    pub fn bits(self) -> u32 {
        match self {
            Dtype::Bit => 1,
            Dtype::Int { bits } | Dtype::Uint { bits } | Dtype::Fixed { bits, .. } => bits,
        }
    }

    /// Fractional bits; 0 for bits and integers.
    pub fn frac(self) -> u32 {
        match self {
            Dtype::Fixed { frac, .. } => frac,
            _ => 0,
        }
    }

    /// Whether this is `fixed(k, f)`, with any f (0 included).
    pub fn is_fixed(self) -> bool {
        matches!(self, Dtype::Fixed { .. })
    }

    /// Whether this is `int(k)` or `uint(k)`.
    pub fn is_integer(self) -> bool {
        matches!(self, Dtype::Int { .. } | Dtype::Uint { .. })
    }

    /// Whether this is `uint(k)`.
    pub fn is_unsigned(self) -> bool {
        matches!(self, Dtype::Uint { .. })
    }

    /// All values that the type can hold, in ring units.
    pub fn range(self) -> Interval {
        match self {
            Dtype::Bit => Interval::BIT,
            Dtype::Uint { bits } => Interval::new(0, (1 << bits) - 1),
            Dtype::Int { bits } | Dtype::Fixed { bits, .. } => Interval::signed(bits),
        }
    }

    /// The value of the type that is congruent to `value` modulo 2^bits.
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

    /// Integers as ring units. Fails with [`Fault::OutOfRange`], which names the first value that does not fit.
    pub fn encode_ints(self, values: &[i128]) -> Result<Vec<i128>, Fault> {
        let range = self.range();
        let one = 1i128 << self.frac();
        let encode = |(index, &value): (usize, &i128)| match value.checked_mul(one) {
            Some(units) if range.contains(units) => Ok(units),
            _ => Err(self.out_of_range(index, value as f64, value.to_string())),
        };
        values.iter().enumerate().map(encode).collect()
    }

    /// Real numbers as ring units of a fixed-point type, rounded to the nearest, ties to even. Fails with
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
            let units = (value * scale).round_ties_even() as i128; // saturates, which the range check sees
            if range.contains(units) { Ok(units) } else { Err(self.out_of_range(index, value, shown(value))) }
        };
        values.iter().enumerate().map(encode).collect()
    }

    /// What is lost where public `values` were encoded as `units`: the first that is not 0 and became 0, or changed by
    /// more than 2^-8 of itself.
    pub(crate) fn lost(self, values: &[f64], units: &[i128]) -> Option<Fault> {
        let lossy = |(&value, &units): (&f64, &i128)| (self.decode(units) - value).abs() > value.abs() / 256.0;
        let index = values.iter().zip(units).position(lossy)?;
        let (given, becomes) = (shown(values[index]), shown(self.decode(units[index])));
        Some(Fault::Rounded { index, given, becomes, dtype: self })
    }

    /// The number that `units` stands for (rounded to the nearest double where it has more than 53 bits).
    pub fn decode(self, units: i128) -> f64 {
        units as f64 / f64::from(self.frac()).exp2()
    }

    fn out_of_range(self, index: usize, value: f64, shown: String) -> Fault {
        Fault::OutOfRange { index, value, shown, dtype: self }
    }

    /// The range in the user's units, as text.
    pub(crate) fn shown_range(self) -> String {
        let range = self.range();
        if self.is_fixed() {
            format!("{} to {}", shown(self.decode(range.lo())), shown(self.decode(range.hi())))
        } else {
            format!("{} to {}", range.lo(), range.hi())
        }
    }
}

/// A real number for a message, short however large or small it is.
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
