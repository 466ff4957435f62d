//! Keys in messages and files: a header that describes them, then the bytes that it requires.
//!
//! | byte | |
//! |---|---|
//! | 0 | version, 1 |
//! | 1 | kind: corrections, or whole keys of the first or the second side; verified ones |
//! | 2 | n |
//! | 3 | blocks of a leaf, or bits of a payload |
//! | 4..8 | number of keys, little-endian |
//!
//! The reader knows shape and number, and compares them before it allocates memory: a message cannot make it allocate
//! more.

use zeroize::Zeroizing;

use crate::keys::{Corrections, Form, Keys};
use crate::shape::HEADER_BYTES;
use crate::{FssError, Roots, Shape, Side};

const VERSION: u8 = 1;
pub(crate) const CORRECTIONS: u8 = 1;
const FIRST: u8 = 2;
const SECOND: u8 = 3;
pub(crate) const VERIFIED: u8 = 4;

/// The description of the content after a header.
pub struct Header {
    pub kind: u8,
    pub bits: u8,
    pub form: u8,
    pub count: usize,
}

impl Header {
    pub(crate) fn of(kind: u8, shape: Shape, count: usize) -> Header {
        Header { kind, bits: shape.bits() as u8, form: shape.blocks() as u8, count }
    }

    pub(crate) fn write(&self, out: &mut Vec<u8>) {
        let count = u32::try_from(self.count).expect("a batch has fewer than 2^32 keys");
        out.extend_from_slice(&[VERSION, self.kind, self.bits, self.form]);
        out.extend_from_slice(&count.to_le_bytes());
    }

    /// Returns the content after a header, which must be this one, and of exactly `body_bytes` bytes.
    pub(crate) fn read<'a>(&self, bytes: &'a [u8], body_bytes: usize) -> Result<&'a [u8], FssError> {
        let length =
            FssError::Length { expected_bytes: HEADER_BYTES.saturating_add(body_bytes), got_bytes: bytes.len() };
        let (&[version, kind, bits, form, count @ ..], body) =
            bytes.split_first_chunk::<HEADER_BYTES>().ok_or(length)?;
        if version != VERSION {
            return Err(FssError::Version { expected: VERSION, got: version });
        }
        let same = |what, expected: u64, got: u64| {
            if got == expected { Ok(()) } else { Err(FssError::Form { what, expected, got }) }
        };
        same("kind", self.kind.into(), kind.into())?;
        same("the logarithm of the domain", self.bits.into(), bits.into())?;
        same("the form of leaves", self.form.into(), form.into())?;
        same("the number of keys", self.count as u64, u32::from_le_bytes(count).into())?;
        if body.len() == body_bytes { Ok(body) } else { Err(length) }
    }
}

impl<S: Form> Corrections<S> {
    /// Appends these corrections as a message: a header, then their bytes.
    ///
    /// # Panics
    /// For 2^32 keys or more.
    pub fn write(&self, out: &mut Vec<u8>) {
        self.shape.header(self.count).write(out);
        out.extend_from_slice(&self.bytes);
    }

    /// Reads the corrections of `count` keys of this shape.
    ///
    /// # Errors
    /// [`FssError::Version`], [`FssError::Form`] or [`FssError::Length`] if the message is not of this form.
    pub fn read(shape: S, count: usize, message: &[u8]) -> Result<Corrections<S>, FssError> {
        let body_bytes = count.saturating_mul(shape.correction_bytes());
        let body = shape.header(count).read(message, body_bytes)?;
        Corrections::from_bytes(shape, count, body)
    }
}

fn kind(side: Side) -> u8 {
    match side {
        Side::First => FIRST,
        Side::Second => SECOND,
    }
}

impl Keys {
    /// Appends these keys, secret roots included, as a message of [`Shape::keys_bytes`]: for a store, or for a side
    /// without a seed shared with the dealer. The content of `out` may move: reserve room for several batches at once.
    ///
    /// # Panics
    /// For 2^32 keys or more.
    pub fn write(&self, out: &mut Vec<u8>) {
        // Reserved at once, so that no copy of roots stays behind where bytes moved to a larger place.
        out.reserve(self.shape().keys_bytes(self.count()));
        Header::of(kind(self.side()), self.shape(), self.count()).write(out);
        for root in self.roots.nodes() {
            out.extend_from_slice(&*Zeroizing::new(root.to_le_bytes()));
        }
        out.extend_from_slice(&self.corrections.bytes);
    }

    /// Reads the keys of a side, of this shape and number.
    ///
    /// # Errors
    /// [`FssError::Version`], [`FssError::Form`] or [`FssError::Length`] if the message is not of this form, and
    /// [`FssError::Root`] if its roots cannot be this side's.
    pub fn read(shape: Shape, side: Side, count: usize, message: &[u8]) -> Result<Keys, FssError> {
        let body_bytes = count.saturating_mul(shape.key_bytes().saturating_add(16));
        let body = Header::of(kind(side), shape, count).read(message, body_bytes)?;
        let (roots, corrections) = body.split_at(16 * count);
        let mut nodes = quorate_ring::memory::with_room(count);
        nodes.extend(roots.as_chunks().0.iter().map(|root| u128::from_le_bytes(*root)));
        let roots = Roots::unchecked(side, nodes);
        // Control bits of roots are public: they identify the side.
        if roots.nodes().iter().fold(0, |differ, root| differ | root & 1 ^ side.bit()) != 0 {
            return Err(FssError::Root);
        }
        Ok(Keys { roots, corrections: Corrections::from_bytes(shape, count, corrections)? })
    }
}
