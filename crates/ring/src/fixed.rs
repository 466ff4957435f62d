//! Numbers from outside as ring elements: fixed point and integers, refused unless they fit.

use crate::{Ring, RingError, Vector};

/// Fixed point: x is the k-bit two's complement number round(x 2^f).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Codec {
    ring: Ring,
    frac_bits: u32,
}

impl Codec {
    /// `frac_bits` fractional bits in `ring`.
    ///
    /// # Errors
    /// [`RingError::BadFraction`] unless frac_bits < k.
    pub fn new(ring: Ring, frac_bits: u32) -> Result<Codec, RingError> {
        if frac_bits >= ring.bits() {
            return Err(RingError::BadFraction { ring_bits: ring.bits(), frac_bits });
        }
        Ok(Codec { ring, frac_bits })
    }

    /// The ring.
    pub fn ring(&self) -> Ring {
        self.ring
    }

    /// Fractional bits.
    pub fn frac_bits(&self) -> u32 {
        self.frac_bits
    }

    /// Rounds to the nearest multiple of 2^-f, ties to the even one.
    ///
    /// # Errors
    /// [`RingError::NotFinite`] or [`RingError::Overflow`] with the position of the first value that does not fit.
    pub fn encode(&self, values: &[f64]) -> Result<Vector, RingError> {
        let scale = 2f64.powi(self.frac_bits as i32);
        let limit = 2f64.powi(self.ring.bits() as i32 - 1);
        let encode = |(index, &value): (usize, &f64)| {
            if !value.is_finite() {
                return Err(RingError::NotFinite { index });
            }
            // Scaling by a power of two is exact unless it overflows to infinity, which the range check refuses.
            let scaled = (value * scale).round_ties_even();
            if scaled < -limit || scaled >= limit {
                return Err(overflow(index, self.ring, self.frac_bits));
            }
            Ok(scaled as i128)
        };
        let encoded: Result<Vec<i128>, RingError> = values.iter().enumerate().map(encode).collect();
        Ok(Vector::from_i128s(self.ring, &encoded?))
    }

    /// The numbers that the elements stand for, each rounded once to the nearest f64; nothing for a shape.
    pub fn decode(&self, elements: &Vector) -> Vec<f64> {
        let unit = 2f64.powi(-(self.frac_bits as i32));
        elements.to_i128s().into_iter().map(|value| value as f64 * unit).collect()
    }
}

fn overflow(index: usize, ring: Ring, frac_bits: u32) -> RingError {
    RingError::Overflow { index, ring_bits: ring.bits(), frac_bits }
}

/// Integers as k-bit two's complement numbers.
///
/// # Errors
/// [`RingError::Overflow`] with the position of the first value outside -2^(k-1)..2^(k-1).
pub fn encode_ints<T: Copy + Into<i128>>(ring: Ring, values: &[T]) -> Result<Vector, RingError> {
    let unused_bits = 128 - ring.bits();
    let fits = |value: i128| value << unused_bits >> unused_bits == value;
    match values.iter().position(|&value| !fits(value.into())) {
        Some(index) => Err(overflow(index, ring, 0)),
        None => Ok(Vector::from_i128s(ring, &values.iter().map(|&value| value.into()).collect::<Vec<i128>>())),
    }
}

/// Integers as unsigned k-bit numbers.
///
/// # Errors
/// [`RingError::Overflow`] with the position of the first value outside 0..2^k.
pub fn encode_uints<T: Copy + TryInto<u128>>(ring: Ring, values: &[T]) -> Result<Vector, RingError> {
    let encode = |(index, &value): (usize, &T)| match value.try_into() {
        Ok(value) if value <= ring.mask() => Ok(value),
        _ => Err(overflow(index, ring, 0)),
    };
    let encoded: Result<Vec<u128>, RingError> = values.iter().enumerate().map(encode).collect();
    Ok(Vector::from_u128s(ring, &encoded?))
}
