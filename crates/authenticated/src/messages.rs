//! Vectors as bytes of messages, and sums of what all parties sent.

use quorate_engine::{Ctx, Error, Result};
use quorate_ring::{Ring, Vector};

const SHORT: Error = Error::Bug { what: "a vector of a wrong length in a message" };

/// Appends a vector, or the same number of zero bytes in a dry run.
pub fn pack(x: &Vector, bytes: &mut Vec<u8>) {
    x.pack(bytes);
    if x.is_shape() {
        bytes.resize(bytes.len() + x.ring().packed_bytes(x.len()), 0);
    }
}

/// Reads a vector of a message.
///
/// # Errors
/// [`Error::Bug`] for another number of bytes.
pub fn unpack(ring: Ring, len: usize, bytes: &[u8]) -> Result<Vector> {
    Vector::unpack(ring, len, bytes).map_err(|_| SHORT)
}

/// Returns whether all elements are zero in their ring.
pub fn is_zero(x: &Vector) -> bool {
    x.to_limbs().iter().flatten().fold(0, |all, limb| all | limb) == 0
}

/// Returns the sum of what all parties sent.
pub fn total(ctx: &Ctx, said: &[Vec<u8>], (ring, len): (Ring, usize)) -> Result<Vector> {
    if ctx.is_dry() {
        said.iter().for_each(|_| Vector::charge_unpack(ring, len));
        return Ok(Vector::shape(ring, len));
    }
    let mut sum = Vector::zeros(ring, len);
    for said in said {
        sum.add_assign(&Vector::unpack(ring, len, said).map_err(|_| SHORT)?);
    }
    Ok(sum)
}
