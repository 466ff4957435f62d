//! Conversions of elements to bytes and back.

use super::{Vector, on_carrier, on_words};
use crate::{Ring, RingError, memory, meter, pack, wipe};

impl Vector {
    /// Appends exactly ceil(len k / 8) bytes: element i in bits ik to (i+1)k - 1, little-endian, the last byte padded
    /// with zeros. A shape appends nothing.
    pub fn pack(&self, out: &mut Vec<u8>) {
        let bits = self.ring.bits();
        on_words!(&self.data, words => pack::pack(out, words, bits), len => charge(self.ring, *len));
    }

    /// Reads the output of [`pack`](Self::pack); padding bits are ignored.
    ///
    /// # Errors
    /// [`RingError::BadLength`] unless there are exactly ceil(len k / 8) bytes; memory is allocated only then.
    pub fn unpack(ring: Ring, len: usize, bytes: &[u8]) -> Result<Vector, RingError> {
        let expected_bytes = ring.packed_bytes(len);
        if bytes.len() != expected_bytes {
            return Err(RingError::BadLength { expected_bytes, got_bytes: bytes.len() });
        }
        Ok(on_carrier!(ring.carrier(), W => {
            let mut words: Vec<W> = memory::zeros(len);
            pack::unpack(&mut words, bytes, ring.bits());
            Vector::of_words(ring, words)
        }))
    }

    /// Charges the costs of unpacking `len` elements.
    pub fn charge_unpack(ring: Ring, len: usize) {
        charge(ring, len);
    }

    /// Returns the memory of the carrier words, for a generator to fill; empty for a shape. Reduce afterwards if
    /// garbage above bit k matters.
    pub fn bytes_mut(&mut self) -> &mut [u8] {
        on_words!(&mut self.data, words => bytemuck::cast_slice_mut(words.as_mut_slice()), _len => &mut [])
    }

    /// Overwrites the elements with zeros in a way that the compiler keeps.
    pub fn wipe(&mut self) {
        if self.is_shape() {
            return self.charge_stream(1, self.len());
        }
        wipe::wipe(self.bytes_mut());
    }
}

/// Charges the costs of packing or unpacking `len` elements: a copy, unless they leave part of their carrier empty.
fn charge(ring: Ring, len: usize) {
    if ring.bits() == ring.carrier().bits() {
        meter::stream(len.saturating_mul(2 * ring.carrier().bytes()));
    } else {
        let each = ring.carrier().bytes().div_ceil(16);
        meter::charge(meter::Kernel::Pack, len.saturating_mul(each));
    }
}
