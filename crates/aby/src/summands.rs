//! Gadgets on the two summands of x, without masked openings and edaBits. Each party knows one summand.
//!
//! **Source**: ours; three parties of `rss` do the same with the summands that they know. The carries are those of
//! [`crate::carry`]. **Model**: semi-honest, 1 of 2. **Notation**: x = A + B mod 2^k, A at party 0 and B at party 1.
//!
//! | gadget | rounds online | what is looked up and sent |
//! |---|---|---|
//! | `msb` | 2 + ceil(log2 D) | a carry over k - 1 bits |
//! | `lt`, full signed range | 2 + ceil(log2 D) | three carries over k bits, side by side |
//! | `eqz` | 2 + ceil(log2 D) | A against -B, digit by digit; D - 1 ANDs |
//! | `bit_decompose` | 3 + ceil(log2 D) | all carries over k - 1 bits |
//! | `trunc_exact` by d | 4 + ceil(log2 D) | the carries into bit d and out of bit k - 1; two bits converted |
//! | `trunc_prob` by d | 1 | 1 bit by each party |
//! | `convert` up to k' | 3 + ceil(log2 D) | the carry out of bit k - 1, converted into Z_2^(k'-k) |
//!
//! D is the number of digits of four bits.
//!
//! **Less-than**: with X = x + 2^(k-1) and Y likewise, as numbers from 0 on, X - Y as a number of k + 1 bits is D_0 +
//! D_1 - 2^k (w_x - w_y), where D_p is the difference of the party's summands and w_x, w_y are the carries out of those
//! of X and Y. Its sign is the top bits of D_0 and D_1, the carry into them, w_x and w_y, all xored.
//!
//! **Probabilistic truncation**: a = x + 2^(k-2) lies below 2^(k-1), and a = A - B' mod 2^k for B' = -B. The difference
//! wraps exactly when the top bit of B' is 1 and that of A is 0: one product of two bits, each known to a party, modulo
//! 2^d. Then a / 2^d is floor(A / 2^d) - floor(B' / 2^d) + 2^(k-d) wrap, or that less one, which happens with
//! probability (a mod 2^d) / 2^d where B' is uniform. It never fails where -2^(k-2) <= x < 2^(k-2).

use std::ops::Range;

use quorate_additive::local;
use quorate_engine::{Ctx, Result, Sharing};
use quorate_gadgets::{Gadgets, equality, stream};
use quorate_ring::{Bits, Ring, Vector};

use crate::Share;
use crate::setup::Aby;

type A = Share<Vector>;
type B = Share<Bits>;

/// Returns floor(x / 2^d) of the reduced element, in another ring.
fn shifted_into(x: &Vector, ring: Ring, d: u32) -> Share<Vector> {
    let mut shifted = Share::of(x.clone());
    shifted.reduce();
    shifted.shr_logical(d);
    shifted.map(|x| x.convert(ring))
}

/// Returns 2^shift x in a larger ring, for an x that counts modulo 2^(k - shift) only.
pub(crate) fn lifted(x: &A, ring: Ring, shift: u32) -> A {
    x.map(|share| {
        let mut lifted = share.convert(ring);
        lifted.shl(shift);
        lifted
    })
}

fn negated(x: &Vector) -> Vector {
    let mut negative = x.clone();
    negative.neg_assign();
    negative
}

impl Aby {
    /// Adds a public number to every element: to party 0's share.
    fn add_public_scalar(&self, x: &mut A, value: u128) {
        if self.me == 0 {
            x.add_scalar(value);
        }
    }

    /// Returns the elements of a range, with a public number added.
    fn moved_up(&self, x: &A, range: Range<usize>, by: u128) -> A {
        let mut moved = x.map(|x| x.slice(range.clone()));
        self.add_public_scalar(&mut moved, by);
        moved
    }

    pub(crate) async fn msb_of_summands(&self, ctx: &Ctx, x: &A) -> Result<B> {
        let k = x.ring().bits();
        if k == 1 {
            return Ok(local::low_bit(x));
        }
        stream::to_bits(self, ctx, x, async move |s: &Aby, ctx: &Ctx, x: A| {
            let carry = s.carry(ctx, &x.map(|x| x.to_bits(0..k - 1))).await?;
            Ok(s.xor(&x.map(|x| x.to_bits(k - 1..k)), &carry))
        })
        .await
    }

    /// Computes x < y over the full signed range.
    pub(crate) async fn less_of_summands(&self, ctx: &Ctx, x: &A, y: &A) -> Result<B> {
        let (ring, len) = (x.ring(), x.len());
        let (k, wide) = (ring.bits(), Ring::of(ring.bits() + 1));
        let work = async move |s: &Aby, ctx: &Ctx, [x, y]: [A; 2]| {
            let difference = x.map(|x| x.convert(wide)).zip(&y.map(|y| y.convert(wide)), Vector::sub_assign);
            let bits = [x.map(|x| x.to_bits(0..k)), y.map(|y| y.to_bits(0..k)), difference.map(|d| d.to_bits(0..k))];
            let together = Share::of(Bits::concat_lanes(&[&*bits[0], &*bits[1], &*bits[2]]));
            let carries = s.carry(ctx, &together).await?;
            let n = x.len();
            let part = |i: usize| carries.map(|c| c.slice_lanes(i * n..(i + 1) * n));
            let wraps = s.xor(&part(0), &part(1));
            let top = s.xor(&difference.map(|d| d.to_bits(k..k + 1)), &part(2));
            Ok(s.xor(&wraps, &top))
        };
        let half = 1 << (k - 1);
        let operands = |range: Range<usize>| [x, y].map(|x| self.moved_up(x, range.clone(), half));
        stream::to_lanes(self, ctx, stream::chunks(len, 3 * k), operands, work).await
    }

    /// Computes A + B = 0: A equals -B in every bit.
    pub(crate) async fn eqz_of_summands(&self, ctx: &Ctx, x: &A) -> Result<B> {
        let k = x.ring().bits();
        stream::to_bits(self, ctx, x, async move |s: &Aby, ctx: &Ctx, x: A| {
            let own = if s.me == 0 { x } else { x.map(negated) };
            equality::and_all(s, ctx, s.equal_digits(ctx, &own.map(|x| x.to_bits(0..k))).await?).await
        })
        .await
    }

    /// Returns all bits of A + B.
    pub(crate) async fn decompose_summands(&self, ctx: &Ctx, x: &A) -> Result<B> {
        let k = x.ring().bits();
        if k == 1 {
            return Ok(local::low_bit(x));
        }
        stream::to_bits(self, ctx, x, async move |s: &Aby, ctx: &Ctx, x: A| {
            let bits = x.map(|x| x.to_bits(0..k));
            let carries = s.all_carries(ctx, &bits.map(|b| b.slice_rows(0..k as usize - 1))).await?;
            let upper = s.xor(&bits.map(|b| b.slice_rows(1..k as usize)), &carries);
            Ok(s.concat_rows(&[&bits.map(|b| b.row(0)), &upper]))
        })
        .await
    }

    /// Returns floor(x / 2^shift) of signed numbers.
    pub(crate) async fn truncate_summands(&self, ctx: &Ctx, x: &A, shift: u32) -> Result<A> {
        let ring = x.ring();
        let (k, d) = (ring.bits(), shift.min(ring.bits() - 1));
        if d == 0 {
            return Ok(x.clone());
        }
        let mut result = self.shift_unsigned(ctx, x, d, 1 << (k - 1)).await?;
        self.add_public_scalar(&mut result, ring.mask() + 1 - (1 << (k - 1 - d)));
        Ok(result)
    }

    /// Returns floor((x + offset mod 2^k) / 2^d) for 0 < d < k.
    pub(crate) async fn shift_unsigned(&self, ctx: &Ctx, x: &A, d: u32, offset: u128) -> Result<A> {
        let (ring, len) = (x.ring(), x.len());
        let (k, low_ring) = (ring.bits(), Ring::of(d));
        let work = async move |s: &Aby, ctx: &Ctx, x: A| {
            let (into, out) = s.carries(ctx, &x.map(|x| x.to_bits(0..k)), d).await?;
            let (into, out) = ctx
                .join(
                    async |ctx: Ctx| s.bit_to_ring(&ctx, &into, ring).await,
                    async |ctx: Ctx| s.bit_to_ring(&ctx, &out, low_ring).await,
                )
                .await?;
            Ok(s.sub(&s.add(&shifted_into(&x, ring, d), &into), &lifted(&out, ring, k - d)))
        };
        let operands = |range| self.moved_up(x, range, offset);
        stream::to_vector(self, ctx, stream::chunks(len, 2 * k), operands, work).await
    }

    /// Returns x / 2^d rounded down or up, for -2^(k-2) <= x < 2^(k-2).
    pub(crate) async fn round_summands(&self, ctx: &Ctx, x: &A, d: u32) -> Result<A> {
        let (ring, len) = (x.ring(), x.len());
        let (k, low_ring) = (ring.bits(), Ring::of(d));
        let work = async move |s: &Aby, ctx: &Ctx, x: A| {
            let own = if s.me == 0 { x } else { x.map(negated) };
            let mut top = own.map(|x| x.to_bits(k - 1..k));
            if s.me == 0 {
                top.not_assign();
            }
            let wrap = s.product_of_bits(ctx, &top, low_ring).await?;
            let mut quotient = shifted_into(&own, ring, d);
            if s.me == 1 {
                quotient.neg_assign();
            }
            let mut result = s.add(&quotient, &lifted(&wrap, ring, k - d));
            s.add_public_scalar(&mut result, ring.mask() + 1 - (1 << (k - 2 - d)));
            Ok(result)
        };
        let operands = |range| self.moved_up(x, range, 1 << (k - 2));
        stream::to_vector(self, ctx, stream::chunks(len, 2 * k), operands, work).await
    }

    /// Converts x of Z_2^k to a larger ring: A + B - 2^k u, u the carry out of bit k-1. Signed numbers are moved up by
    /// 2^(k-1).
    pub(crate) async fn widen_summands(&self, ctx: &Ctx, x: &A, wide: Ring, offset: u128) -> Result<A> {
        let (ring, len) = (x.ring(), x.len());
        let k = ring.bits();
        let work = async move |s: &Aby, ctx: &Ctx, x: A| {
            let carry = s.carry(ctx, &x.map(|x| x.to_bits(0..k))).await?;
            let carry = s.bit_to_ring(ctx, &carry, Ring::of(wide.bits() - k)).await?;
            let mut result = s.sub(&x.map(|x| x.convert(wide)), &lifted(&carry, wide, k));
            s.add_public_scalar(&mut result, wide.mask() + 1 - offset);
            Ok(result)
        };
        let operands = |range| self.moved_up(x, range, offset);
        stream::to_vector(self, ctx, stream::chunks(len, 2 * wide.bits()), operands, work).await
    }
}
