//! B2A: a bit over Z_2 as an element of Z_2^k.
//!
//! **Source**: step 10 of Protocol 8 of rss-ring; Fig. 4 of spdz2k-primitives. With a random bit b known over both
//! rings (its low bit over Z_2): c = Open(x xor b), x = c + b - 2 c b. Correlations: 1 daBit mod 2^k. Online
//! rounds: 1. Opened: 1 bit, where the paper opens k. **Model**: that of the sharing.

use quorate_engine::{Ctx, Error, Linear, LinearBits, Misuse, Result, Sharing};
use quorate_ring::{Bits, Ring, Vector};

use crate::{Gadgets, stream};

/// The error of a gadget that got no row of bits.
pub(crate) const NO_BITS: Error = Error::Misuse { what: Misuse::Other { what: "a number without bits" } };

/// Converts one row of bits to elements 0 and 1 of the ring.
pub async fn bits_to_ring<S: Sharing>(s: &S, ctx: &Ctx, x: &S::B, ring: Ring) -> Result<S::A> {
    if ring.bits() == 1 {
        return s.bit_to_msb(ctx, x, ring).await;
    }
    let chunks = stream::chunks(s.bit_shape(x).1, 2 * ring.bits());
    let operands = |range| stream::slice_lanes(s, x, range);
    let work = async move |s: &S, ctx: &Ctx, x: S::B| {
        let dabits = s.dabits(ctx, ring, s.bit_shape(&x).1).await?;
        bits_to_ring_with(s, ctx, &x, &dabits).await
    };
    stream::to_vector(s, ctx, chunks, operands, work).await
}

/// Returns the number with these bits, lowest first, in a ring of the same number of bits. Each bit is converted to an
/// element, weighted and added.
pub async fn compose<S: Gadgets>(s: &S, ctx: &Ctx, x: &S::B, ring: Ring) -> Result<S::A> {
    let rows = s.bit_shape(x).0;
    if rows != ring.bits() as usize {
        return Err(NO_BITS);
    }
    weighed(s, ctx, x, false, ring).await
}

/// Returns the numbers with these bits, lowest first, in any ring. If `signed`, the last row weighs -2^(rows - 1).
/// Rounds of [`Gadgets::bit_to_ring`].
pub async fn weighed<S: Gadgets>(s: &S, ctx: &Ctx, x: &S::B, signed: bool, ring: Ring) -> Result<S::A> {
    let rows = s.bit_shape(x).0;
    if rows == 0 {
        return Err(NO_BITS);
    }
    let ones = s.bit_to_ring(ctx, &s.linear_bits(x, &LinearBits::SideBySide), ring).await?;
    Ok(s.linear(&ones, &Linear::Weigh { rows, signed }))
}

/// Converts one row of bits like [`bits_to_ring`], but in one piece and with fresh random bits from the caller, as
/// elements and as bits.
pub async fn bits_to_ring_with<S: Sharing>(s: &S, ctx: &Ctx, x: &S::B, (b, as_bits): &(S::A, S::B)) -> Result<S::A> {
    let c = s.open_bits(ctx, &s.xor(x, as_bits)).await?;
    Ok(flip(s, b, &c))
}

/// Returns c xor b for public bits c and shared b in {0, 1}: c + (1 - 2c) b.
pub fn flip<S: Sharing>(s: &S, b: &S::A, c: &Bits) -> S::A {
    let ring = s.shape(b).0;
    let signs = signs(c, ring);
    let signed = s.linear(b, &Linear::Factors(&signs));
    s.add_public(&signed, &c.to_vector(ring))
}

/// Returns 1 - 2c.
pub fn signs(c: &Bits, ring: Ring) -> Vector {
    let mut signs = c.to_vector(ring);
    signs.shl(1);
    signs.neg_assign();
    signs.add_scalar(1);
    signs
}
