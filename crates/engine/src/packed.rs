//! Correlations as bytes, for stocks that outlive the session that made them.
//!
//! A share is packed without gaps: ceil(bits / 8) bytes for each of its parts, padded with zeros. The bytes state no
//! shapes and no lengths; a layout gives them. The bytes are as secret as the shares.

use quorate_ring::{Bits, Module, Vector, Wiped};

use crate::error::{Misuse, Result};
use crate::stock::{Layout, Material, Stored};

/// Shares that are written as bytes and read back.
pub trait Packed: Stored {
    /// Appends the packed bytes of all parts. A shape without data appends none.
    fn pack(&self, out: &mut Vec<u8>);

    /// Overwrites all parts with those at the beginning of `bytes`, and advances `bytes` past them. The shape stays; a
    /// shape without data reads nothing.
    ///
    /// # Errors
    /// [`Misuse`] where bytes are missing, or where padding is not zero.
    fn unpack(&mut self, bytes: &mut &[u8]) -> Result<()>;
}

/// A vector or a matrix of bits, whose shape states the number of its bits.
pub trait Part: Module {
    /// Returns the number of bits of a value of this shape.
    fn bits(shape: Self::Shape) -> usize;
}

impl Part for Vector {
    fn bits((ring, len): Self::Shape) -> usize {
        len.saturating_mul(ring.bits() as usize)
    }
}

impl Part for Bits {
    fn bits((rows, lanes): Self::Shape) -> usize {
        rows.saturating_mul(lanes)
    }
}

/// Overwrites a part of a share with that at the beginning of `bytes`, as [`Packed::unpack`] does.
///
/// # Errors
/// Those of [`Packed::unpack`].
pub fn unpack_part<M: Part>(part: &mut M, bytes: &mut &[u8]) -> Result<()> {
    const SHORT: Misuse = Misuse::Other { what: "stored correlations have fewer bytes than their layout" };
    const PADDING: Misuse = Misuse::Other { what: "stored correlations have bits beyond their layout" };
    if part.is_shape() {
        return Ok(());
    }
    let shape = part.shape_of();
    let (own, rest) = bytes.split_at_checked(M::packed_bytes(shape)).ok_or(SHORT)?;
    let padding = own.last().map_or(0, |last| match M::bits(shape) % 8 {
        0 => 0,
        used => last >> used,
    });
    if padding != 0 {
        return Err(PADDING.into());
    }
    part.wipe();
    *part = M::unpack(shape, own).map_err(|_| SHORT)?;
    *bytes = rest;
    Ok(())
}

impl Layout {
    /// Returns the packed bytes of `len` correlations, at a party that holds `shares` shares of each value.
    pub fn packed_bytes(&self, len: usize, shares: usize) -> usize {
        let vectors = self.vectors.iter().map(|(ring, count)| ring.packed_bytes(count.saturating_mul(len)));
        let bits = self.bits.iter().map(|&rows| Bits::packed_bytes(rows, len));
        let of_one = vectors.chain(bits).fold(0, usize::saturating_add);
        of_one.saturating_mul(shares).saturating_add(usize::try_from(self.block_bytes(len)).unwrap_or(usize::MAX))
    }
}

impl<V: Packed, B: Packed> Material<V, B> {
    /// Appends the packed bytes of all correlations: vectors, matrices of bits and blocks, one after the other.
    pub fn pack(&self, out: &mut Vec<u8>) {
        self.vectors.iter().for_each(|vector| vector.pack(out));
        self.bits.iter().for_each(|bits| bits.pack(out));
        self.blocks.iter().for_each(|blocks| Vector::pack(blocks, out));
    }

    /// Overwrites all correlations with those in `bytes`.
    ///
    /// # Errors
    /// [`Misuse`] unless `bytes` has exactly the bytes of these correlations, with zeros as padding.
    pub fn unpack(&mut self, mut bytes: &[u8]) -> Result<()> {
        self.vectors.iter_mut().try_for_each(|vector| vector.unpack(&mut bytes))?;
        self.bits.iter_mut().try_for_each(|bits| bits.unpack(&mut bytes))?;
        self.blocks.iter_mut().try_for_each(|Wiped(blocks)| unpack_part(blocks, &mut bytes))?;
        match bytes {
            [] => Ok(()),
            _ => Err(Misuse::Other { what: "stored correlations have more bytes than their layout" }.into()),
        }
    }
}

#[cfg(test)]
mod tests {
    use quorate_ring::Ring;

    use super::*;

    fn read<M: Part>(mut part: M, mut bytes: &[u8]) -> Result<(M, usize)> {
        unpack_part(&mut part, &mut bytes).map(|()| (part, bytes.len()))
    }

    #[test]
    fn parts_of_every_ring_and_length_are_read_back() {
        for bits in [1, 3, 8, 13, 32, 33, 64, 100, 128, 200, 256] {
            for len in [0, 1, 7, 64, 65] {
                let ring = Ring::of(bits);
                let values: Vec<u128> = (0..len).map(|i| (i as u128 + 1).wrapping_mul(u128::MAX / 5)).collect();
                let vector = Vector::from_u128s(ring, &values);
                let mut bytes = Vec::new();
                vector.pack(&mut bytes);
                assert_eq!(bytes.len(), (bits as usize * len).div_ceil(8));
                bytes.extend([7; 3]);
                let (back, left) = read(Vector::zeros(ring, len), &bytes).unwrap();
                assert_eq!((back.shape_of(), back.to_u128s(), left), ((ring, len), vector.to_u128s(), 3));
            }
        }
        for (rows, lanes) in [(0, 5), (1, 1), (3, 5), (2, 64), (5, 67)] {
            let bools: Vec<bool> = (0..rows * lanes).map(|i| i % 3 == 1).collect();
            let bits = Bits::from_bools(rows, lanes, &bools);
            let mut bytes = Vec::new();
            bits.pack(&mut bytes);
            assert_eq!(bytes.len(), (rows * lanes).div_ceil(8));
            let (back, left) = read(Bits::zeros(rows, lanes), &bytes).unwrap();
            assert_eq!((back.to_bools(), left), (bools, 0));
        }
    }

    #[test]
    fn bits_beyond_a_part_and_missing_bytes_are_refused() {
        let ring = Ring::of(3);
        assert!(read(Vector::zeros(ring, 3), &[0xff, 1]).is_ok());
        assert!(read(Vector::zeros(ring, 3), &[0xff, 2]).unwrap_err().to_string().contains("beyond"));
        assert!(read(Vector::zeros(ring, 3), &[0xff]).unwrap_err().to_string().contains("fewer"));
        assert!(read(Bits::zeros(3, 3), &[0xff, 1]).is_ok());
        assert!(read(Bits::zeros(3, 3), &[0, 128]).is_err());
        assert!(read(Bits::zeros(3, 3), &[0]).is_err());
    }

    #[test]
    fn a_shape_reads_nothing() {
        let (shape, left) = read(Vector::shape(Ring::of(64), 5), &[1, 2]).unwrap();
        assert!(shape.is_shape() && left == 2);
    }
}
