//! Conversions of bits to bytes and back.

use super::Bits;
use super::copy::or_bits;
use crate::{RingError, memory, meter, wipe};

impl Bits {
    /// Returns the bytes of a packed matrix: ceil(rows lanes / 8), at most `usize::MAX`.
    pub const fn packed_bytes(rows: usize, lanes: usize) -> usize {
        let bytes = (rows as u128 * lanes as u128).div_ceil(8);
        if bytes > usize::MAX as u128 { usize::MAX } else { bytes as usize }
    }

    /// Appends exactly ceil(rows lanes / 8) bytes: the rows one after the other without gaps, bit 0 first, the last
    /// byte padded with zeros. A shape appends nothing.
    pub fn pack(&self, out: &mut Vec<u8>) {
        if self.is_shape() {
            return Self::charge_unpack(self.rows, self.lanes);
        }
        let bytes = Self::packed_bytes(self.rows, self.lanes);
        if self.lanes.is_multiple_of(64) {
            memory::make_room(out, bytes);
            out.extend_from_slice(bytemuck::cast_slice(self.words()));
            return;
        }
        let mut packed = memory::zeros::<u64>(bytes.div_ceil(8));
        for row in 0..self.rows {
            or_bits(&mut packed, row * self.lanes, self.words_of(row), 0, self.lanes);
        }
        out.extend_from_slice(&bytemuck::cast_slice(&packed)[..bytes]);
        wipe::wipe(bytemuck::cast_slice_mut(&mut packed));
    }

    /// Reads the output of [`pack`](Self::pack); padding bits are ignored.
    ///
    /// # Errors
    /// [`RingError::BadLength`] unless there are exactly ceil(rows lanes / 8) bytes; memory is allocated only then.
    pub fn unpack(rows: usize, lanes: usize, bytes: &[u8]) -> Result<Bits, RingError> {
        let expected_bytes = Self::packed_bytes(rows, lanes);
        if bytes.len() != expected_bytes {
            return Err(RingError::BadLength { expected_bytes, got_bytes: bytes.len() });
        }
        let mut result = Self::zeros(rows, lanes);
        if lanes.is_multiple_of(64) {
            result.bytes_mut().copy_from_slice(bytes);
            return Ok(result);
        }
        let mut packed = memory::zeros::<u64>(expected_bytes.div_ceil(8));
        bytemuck::cast_slice_mut(&mut packed)[..expected_bytes].copy_from_slice(bytes);
        let row_words = result.row_words();
        for (row, target) in result.words_mut().chunks_exact_mut(row_words).enumerate() {
            or_bits(target, 0, &packed, row * lanes, lanes);
        }
        wipe::wipe(bytemuck::cast_slice_mut(&mut packed));
        Ok(result)
    }

    /// Charges the costs of unpacking a matrix of this shape.
    pub fn charge_unpack(rows: usize, lanes: usize) {
        let copies = if lanes.is_multiple_of(64) { 2 } else { 6 };
        meter::stream(Self::packed_bytes(rows, lanes).saturating_mul(copies));
    }

    /// Returns the memory of the words, for a generator to fill; empty for a shape. Padding may become garbage.
    pub fn bytes_mut(&mut self) -> &mut [u8] {
        bytemuck::cast_slice_mut(self.words_mut())
    }

    /// Overwrites the bits with zeros in a way that the compiler keeps.
    pub fn wipe(&mut self) {
        if self.is_shape() {
            return self.charge_stream(1);
        }
        wipe::wipe(self.bytes_mut());
    }
}
