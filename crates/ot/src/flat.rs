//! Conversions between matrices of bits and one row of all their rows, one after the other without gaps.

use quorate_ring::Bits;
use zeroize::Zeroizing;

fn reshaped(bits: &Bits, rows: usize, lanes: usize) -> Bits {
    if bits.is_shape() {
        bits.pack(&mut Vec::new());
        return Bits::shape(rows, lanes);
    }
    let mut packed = Zeroizing::new(Vec::with_capacity(Bits::packed_bytes(rows, lanes)));
    bits.pack(&mut packed);
    Bits::unpack(rows, lanes, &packed).unwrap_or_else(|_| Bits::zeros(rows, lanes))
}

/// Returns all rows in one.
pub(crate) fn flat(bits: &Bits) -> Bits {
    reshaped(bits, 1, bits.rows() * bits.lanes())
}

/// Splits one row into `rows` rows of `lanes` lanes.
pub(crate) fn tall(bits: &Bits, rows: usize, lanes: usize) -> Bits {
    reshaped(bits, rows, lanes)
}

#[cfg(test)]
mod tests {
    use super::*;
    use quorate_ring::Module;

    #[test]
    fn flat_and_tall_are_inverse() {
        for (rows, lanes) in [(1usize, 1usize), (3, 5), (64, 64), (7, 130), (0, 4), (4, 0)] {
            let bits: Vec<bool> = (0..rows * lanes).map(|i| i * i % 7 < 3).collect();
            let matrix = Bits::from_bools(rows, lanes, &bits);
            let row = flat(&matrix);
            assert_eq!((row.shape_of(), row.to_bools()), ((1, rows * lanes), bits.clone()));
            let back = tall(&row, rows, lanes);
            assert_eq!((back.shape_of(), back.to_bools()), ((rows, lanes), bits));
            assert!(flat(&Bits::shape(rows, lanes)).is_shape());
        }
    }
}
