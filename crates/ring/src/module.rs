//! The common interface of vectors over Z_2^k and packed bits.

use crate::{Bits, Ring, RingError, Vector};

/// A module over Z_2^k, held as a vector: [`Vector`] over any ring, [`Bits`] over Z_2. One protocol text serves both.
///
/// Operations on two values panic when their shapes differ; if either is a shape without data, so is the result.
pub trait Module: Clone + Sized {
    /// The public part of a value: ring and length, or rows and lanes.
    type Shape: Copy + Eq + Send + Sync + std::fmt::Debug;

    /// Returns the shape.
    fn shape_of(&self) -> Self::Shape;
    /// Returns zeros.
    fn zeros(shape: Self::Shape) -> Self;
    /// Returns the shape without data.
    fn phantom(shape: Self::Shape) -> Self;
    /// Returns whether this is a shape without data.
    fn is_shape(&self) -> bool;
    /// self += other.
    fn add_assign(&mut self, other: &Self);
    /// self -= other.
    fn sub_assign(&mut self, other: &Self);
    /// self += a b, element by element.
    fn add_mul_assign(&mut self, a: &Self, b: &Self);
    /// Returns the bytes of a packed value.
    fn packed_bytes(shape: Self::Shape) -> usize;
    /// Appends exactly [`packed_bytes`](Self::packed_bytes) bytes; a shape without data appends none.
    fn pack(&self, out: &mut Vec<u8>);
    /// Reads the output of `pack`.
    ///
    /// # Errors
    /// [`RingError::BadLength`] if the number of bytes is wrong.
    fn unpack(shape: Self::Shape, bytes: &[u8]) -> Result<Self, RingError>;
    /// Charges [`meter`](crate::meter) the costs of unpacking a value of this shape.
    fn charge_unpack(shape: Self::Shape);
    /// Returns the bytes of memory of a value of this shape.
    fn carried_bytes(shape: Self::Shape) -> usize;
    /// Returns the memory, for a generator to fill; empty for a shape without data.
    fn bytes_mut(&mut self) -> &mut [u8];
    /// Overwrites the memory with zeros; the compiler does not remove this.
    fn wipe(&mut self);
    /// Clears the bits above bit k (none for `Bits`).
    fn reduce(&mut self);
}

impl Module for Vector {
    type Shape = (Ring, usize);

    fn shape_of(&self) -> Self::Shape {
        (self.ring(), self.len())
    }
    fn zeros((ring, len): Self::Shape) -> Self {
        Vector::zeros(ring, len)
    }
    fn phantom((ring, len): Self::Shape) -> Self {
        Vector::shape(ring, len)
    }
    fn is_shape(&self) -> bool {
        self.is_shape()
    }
    fn add_assign(&mut self, other: &Self) {
        self.add_assign(other);
    }
    fn sub_assign(&mut self, other: &Self) {
        self.sub_assign(other);
    }
    fn add_mul_assign(&mut self, a: &Self, b: &Self) {
        self.add_mul_assign(a, b);
    }
    fn packed_bytes((ring, len): Self::Shape) -> usize {
        ring.packed_bytes(len)
    }
    fn pack(&self, out: &mut Vec<u8>) {
        self.pack(out);
    }
    fn unpack((ring, len): Self::Shape, bytes: &[u8]) -> Result<Self, RingError> {
        Vector::unpack(ring, len, bytes)
    }
    fn charge_unpack((ring, len): Self::Shape) {
        Vector::charge_unpack(ring, len);
    }
    fn carried_bytes((ring, len): Self::Shape) -> usize {
        len.saturating_mul(ring.carrier().bytes())
    }
    fn bytes_mut(&mut self) -> &mut [u8] {
        self.bytes_mut()
    }
    fn wipe(&mut self) {
        self.wipe();
    }
    fn reduce(&mut self) {
        self.reduce();
    }
}

impl Module for Bits {
    type Shape = (usize, usize);

    fn shape_of(&self) -> Self::Shape {
        (self.rows(), self.lanes())
    }
    fn zeros((rows, lanes): Self::Shape) -> Self {
        Bits::zeros(rows, lanes)
    }
    fn phantom((rows, lanes): Self::Shape) -> Self {
        Bits::shape(rows, lanes)
    }
    fn is_shape(&self) -> bool {
        self.is_shape()
    }
    fn add_assign(&mut self, other: &Self) {
        self.xor_assign(other);
    }
    fn sub_assign(&mut self, other: &Self) {
        self.xor_assign(other);
    }
    fn add_mul_assign(&mut self, a: &Self, b: &Self) {
        self.add_and_assign(a, b);
    }
    fn packed_bytes((rows, lanes): Self::Shape) -> usize {
        Bits::packed_bytes(rows, lanes)
    }
    fn pack(&self, out: &mut Vec<u8>) {
        self.pack(out);
    }
    fn unpack((rows, lanes): Self::Shape, bytes: &[u8]) -> Result<Self, RingError> {
        Bits::unpack(rows, lanes, bytes)
    }
    fn charge_unpack((rows, lanes): Self::Shape) {
        Bits::charge_unpack(rows, lanes);
    }
    fn carried_bytes((rows, lanes): Self::Shape) -> usize {
        Bits::carried_bytes(rows, lanes)
    }
    fn bytes_mut(&mut self) -> &mut [u8] {
        self.bytes_mut()
    }
    fn wipe(&mut self) {
        self.wipe();
    }
    fn reduce(&mut self) {}
}
