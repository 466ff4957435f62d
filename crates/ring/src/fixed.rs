//! Numbers from outside as ring elements: fixed point and integers, refused unless they fit.

use crate::{Ring, RingError, Vector, memory};

/// Fixed point: x is the k-bit two's complement number round(x 2^f).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Codec {
    ring: Ring,
    frac_bits: u32,
}

impl Codec {
    /// Returns the format of `frac_bits` fractional bits in `ring`.
    ///
    /// # Errors
    /// [`RingError::WideFormat`] unless k <= 128, [`RingError::BadFraction`] unless frac_bits < k.
    pub fn new(ring: Ring, frac_bits: u32) -> Result<Codec, RingError> {
        if ring.bits() > 128 {
            return Err(RingError::WideFormat { ring_bits: ring.bits() });
        }
        if frac_bits >= ring.bits() {
            return Err(RingError::BadFraction { ring_bits: ring.bits(), frac_bits });
        }
        Ok(Codec { ring, frac_bits })
    }

    /// Returns the ring.
    pub fn ring(&self) -> Ring {
        self.ring
    }

    /// Returns the number of fractional bits.
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
        let encoded: Result<Vec<i128>, RingError> = memory::tried(values.iter().enumerate().map(encode));
        Ok(Vector::from_i128s(self.ring, &encoded?))
    }

    /// Returns the numbers that the elements represent, each rounded once to the nearest f64; empty for a shape.
    pub fn decode(&self, elements: &Vector) -> Vec<f64> {
        let unit = 2f64.powi(-(self.frac_bits as i32));
        elements.to_i128s().into_iter().map(|value| value as f64 * unit).collect()
    }
}

fn overflow(index: usize, ring: Ring, frac_bits: u32) -> RingError {
    RingError::Overflow { index, ring_bits: ring.bits(), frac_bits }
}

/// Encodes integers as k-bit two's complement numbers.
///
/// # Errors
/// [`RingError::Overflow`] with the position of the first value outside -2^(k-1)..2^(k-1).
pub fn encode_ints<T: Copy + Into<i128>>(ring: Ring, values: &[T]) -> Result<Vector, RingError> {
    let unused_bits = 128u32.saturating_sub(ring.bits());
    let fits = |value: i128| value << unused_bits >> unused_bits == value;
    match values.iter().position(|&value| !fits(value.into())) {
        Some(index) => Err(overflow(index, ring, 0)),
        None => Ok(Vector::from_i128s(ring, &memory::collected(values.iter().map(|&value| value.into())))),
    }
}

/// Encodes integers as unsigned k-bit numbers.
///
/// # Errors
/// [`RingError::Overflow`] with the position of the first value outside 0..2^k.
pub fn encode_uints<T: Copy + TryInto<u128>>(ring: Ring, values: &[T]) -> Result<Vector, RingError> {
    let most = if ring.bits() > 128 { u128::MAX } else { ring.mask() };
    let encode = |(index, &value): (usize, &T)| match value.try_into() {
        Ok(value) if value <= most => Ok(value),
        _ => Err(overflow(index, ring, 0)),
    };
    let encoded: Result<Vec<u128>, RingError> = memory::tried(values.iter().enumerate().map(encode));
    Ok(Vector::from_u128s(ring, &encoded?))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn codec(bits: u32, frac_bits: u32) -> Codec {
        Codec::new(Ring::of(bits), frac_bits).unwrap()
    }

    #[test]
    fn every_number_of_small_formats_returns() {
        for bits in 1..=10 {
            for frac_bits in 0..bits {
                let codec = codec(bits, frac_bits);
                let unit = 0.5f64.powi(frac_bits as i32);
                let half = 1i64 << (bits - 1);
                let numbers: Vec<f64> = (-half..half).map(|i| i as f64 * unit).collect();
                let encoded = codec.encode(&numbers).unwrap();
                assert_eq!(encoded.to_i64s(), (-half..half).collect::<Vec<_>>());
                assert_eq!(codec.decode(&encoded), numbers);
                for beyond in [half as f64 * unit, (-half as f64 - 0.51) * unit, (half as f64 - 0.4) * unit] {
                    let error = RingError::Overflow { index: 1, ring_bits: bits, frac_bits };
                    assert_eq!(codec.encode(&[0.0, beyond]).unwrap_err(), error, "{bits} bits, {frac_bits}");
                }
            }
        }
    }

    #[test]
    fn ties_go_to_even() {
        let encoded = codec(16, 1).encode(&[0.25, 0.75, 1.25, -0.25, -0.75, 0.26, -0.0]).unwrap();
        assert_eq!(encoded.to_i64s(), [0, 2, 2, 0, -2, 1, 0]);
    }

    #[test]
    fn infinities_nans_and_large_numbers_are_refused_with_their_index() {
        let codec = codec(64, 16);
        for value in [f64::NAN, f64::INFINITY, f64::NEG_INFINITY] {
            assert_eq!(codec.encode(&[1.0, 2.0, value]).unwrap_err(), RingError::NotFinite { index: 2 });
        }
        let overflow = RingError::Overflow { index: 0, ring_bits: 64, frac_bits: 16 };
        for value in [2f64.powi(47), -2f64.powi(47) - 1.0, f64::MAX, f64::MIN] {
            assert_eq!(codec.encode(&[value]).unwrap_err(), overflow);
        }
        assert_eq!(overflow.to_string(), "the value at position 0 does not fit into 64 bits, 16 of them fractional");
        assert_eq!(codec.encode(&[-2f64.powi(47)]).unwrap().to_i64s(), [i64::MIN]);
        assert_eq!(codec.encode(&[f64::MIN_POSITIVE, 5e-324]).unwrap().to_i64s(), [0, 0]);
        let error = RingError::BadFraction { ring_bits: 8, frac_bits: 8 };
        assert_eq!(Codec::new(Ring::of(8), 8), Err(error));
    }

    #[test]
    fn the_widest_format() {
        let codec = codec(128, 64);
        let numbers = [1.5, -2.25, 2f64.powi(62), -2f64.powi(63), 2f64.powi(-64)];
        assert_eq!(codec.decode(&codec.encode(&numbers).unwrap()), numbers);
        assert!(codec.encode(&[2f64.powi(63)]).is_err());
        assert!(codec.decode(&Vector::shape(Ring::of(128), 3)).is_empty());
    }

    #[test]
    fn integers() {
        for bits in 1..=128 {
            let ring = Ring::of(bits);
            let top = (u128::MAX >> (129 - bits).min(127)) as i128 * i128::from(bits > 1);
            let bottom = -top - 1;
            assert_eq!(encode_ints(ring, &[0i128, top, bottom]).unwrap().to_i128s(), [0, top, bottom]);
            assert_eq!(encode_uints(ring, &[ring.mask()]).unwrap().to_u128s(), [ring.mask()]);
            if bits < 128 {
                let error = RingError::Overflow { index: 1, ring_bits: bits, frac_bits: 0 };
                assert_eq!(encode_ints(ring, &[0, top + 1]).unwrap_err(), error);
                assert_eq!(encode_ints(ring, &[0, bottom - 1]).unwrap_err(), error);
                assert_eq!(encode_uints(ring, &[0, ring.mask() + 1]).unwrap_err(), error);
            }
        }
        assert_eq!(encode_ints(Ring::of(64), &[i64::MIN, i64::MAX]).unwrap().to_i64s(), [i64::MIN, i64::MAX]);
        assert!(encode_uints(Ring::of(64), &[-1i64]).is_err());
    }
}
