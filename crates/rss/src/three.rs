//! Gadgets of three parties on the two summands of x, each of which some parties know, without correlations.
//!
//! **Source**: ours (see [`crate::split`] for A, B and the operations on them). **Model**: semi-honest, 1 of 3. x = A +
//! B. A is input as bits by the party that knows it, and the bits of B are shared without communication. g = A and B by
//! `paired`; p = A xor B is local.
//!
//! | gadget | rounds online | sent by all parties: elements, bits | ANDs | random bits |
//! |---|---|---|---|---|
//! | `msb` | 2 + ceil(log2(k-1)) | k + 2 (k-1) bits | 2 (k-2) - ceil(log2(k-1)) | none |
//! | `bit_decompose` | 2 + ceil(log2(k-1)) | k + 2 (k-1) bits | those of a prefix network | none |
//! | `eqz` | 1 + ceil(log2 k) | k bits: A is compared with -B, bit by bit | k - 1 | none |
//! | `trunc_exact` by d | 4 + ceil(log2 max(d, k-d)) | 1 element, 3 k bits | two carry trees, + 1 | Z_2^k, Z_2^d |
//! | `trunc_prob` by d | 2 | 1 element over Z_2^k, 3 over Z_2^d | none | none |
//! | `convert` to k' > k | 3 + ceil(log2 k) | 1 element over Z_2^k', 3 k bits | a carry tree | Z_2^(k'-k) |
//!
//! **Security**: a party receives only shares of an input of another party's summand, or of a product, masked by a key
//! that it lacks (`owned`, `paired`). Everything else is AND, B2A and local. The sharing of B has two shares that are
//! zero and one that its holders know anyway, so they learn nothing from it. The argument is in
//! docs/security/rss-arguments.md.
//!
//! `trunc_prob` first moves a number that all parties know from B to A: a fresh input has one share that is zero, and
//! its block would always be rounded down. So the parties that know B know the coin of a rounding, as they did without
//! this step.

use std::ops::Range;

use quorate_engine::{Ctx, Linear, Result, Sharing};
use quorate_gadgets::prefix::{self, Pairs};
use quorate_gadgets::{Gadgets, equality, stream, truncate};
use quorate_ring::{Bits, Ring, Vector};

use crate::forms::BitForm;
use crate::setup::Rss;
use crate::share::{Shared, Wiped};
use crate::split::Halves;

type A = Shared<Vector>;
type B = Shared<Bits>;

fn low_rows(bits: &Bits, count: usize) -> Bits {
    bits.slice_rows(0..count)
}

/// Returns x mod 2^k, negated.
fn negated(x: &Vector) -> Vector {
    let mut negative = x.clone();
    negative.neg_assign();
    negative
}

impl Rss {
    /// Returns whether gadgets work on summands in this session.
    pub(crate) fn uses_summands(&self) -> bool {
        self.maps.parties == 3 && self.forms().bits == BitForm::Summands
    }

    /// Returns generate and propagate of A + B; generates only for the lowest `generates` positions.
    async fn summand_pairs(&self, ctx: &Ctx, halves: &Halves<Bits>, generates: usize, len: usize) -> Result<Pairs<B>> {
        let a = self.owned(ctx, &*halves.mine, len).await?;
        let propagate = self.xor(&a, &self.placed(ctx, &halves.theirs, len));
        let low = a.map(|share| low_rows(share, generates));
        let theirs = [0, 1].map(|i| Wiped(low_rows(&halves.theirs[i], generates)));
        let generate = self.paired(ctx, &low, &theirs, len).await?;
        Ok(Pairs { generate, propagate })
    }

    fn bits_of_halves(&self, x: &A) -> Halves<Bits> {
        let (ring, len) = x.shape;
        self.halves(x, len).map(|half| half.to_bits(0..ring.bits()))
    }

    /// Returns the top bit of A + B.
    pub(crate) async fn msb_of_summands(&self, ctx: &Ctx, x: &A) -> Result<B> {
        let k = x.shape.0.bits();
        if k == 1 {
            return Ok(self.low_bit(x));
        }
        stream::to_bits(self, ctx, x, async |s: &Rss, ctx: &Ctx, x: A| s.msb_of_chunk(ctx, x).await).await
    }

    /// Returns whether x < y, for numbers whose difference is one of the small ring.
    pub(crate) async fn less_of_summands(&self, ctx: &Ctx, x: &A, y: &A, difference: Ring) -> Result<B> {
        let operands = |range: Range<usize>| [x, y].map(|x| x.slice(range.clone()));
        let work = async move |s: &Rss, ctx: &Ctx, [mut x, y]: [A; 2]| {
            x.shares.iter_mut().zip(&y.shares).for_each(|(x, y)| x.sub_assign(y));
            let reduced = s.linear(&x, &Linear::Reduce(difference));
            drop((x, y));
            s.msb_of_chunk(ctx, reduced).await
        };
        stream::to_lanes(self, ctx, stream::chunks(x.shape.1, difference.bits()), operands, work).await
    }

    /// Returns the top bit of A + B, which have two bits or more.
    async fn msb_of_chunk(&self, ctx: &Ctx, x: A) -> Result<B> {
        let ((ring, len), halves) = (x.shape, self.bits_of_halves(&x));
        drop(x);
        let low = ring.bits() as usize - 1;
        let Pairs { generate, propagate } = self.summand_pairs(ctx, &halves, low, len).await?;
        let top = propagate.map(|share| share.row(low));
        let propagate = propagate.map(|share| low_rows(share, low));
        Ok(self.xor(&top, &prefix::group(self, ctx, Pairs { generate, propagate }).await?))
    }

    /// Returns all bits of A + B.
    pub(crate) async fn decompose_summands(&self, ctx: &Ctx, x: &A) -> Result<B> {
        let k = x.shape.0.bits();
        if k == 1 {
            return Ok(self.low_bit(x));
        }
        stream::to_bits(self, ctx, x, async move |s: &Rss, ctx: &Ctx, x: A| {
            let (low, len) = (k as usize - 1, x.shape.1);
            let Pairs { generate, propagate } = s.summand_pairs(ctx, &s.bits_of_halves(&x), low, len).await?;
            let pairs = Pairs { generate, propagate: propagate.map(|share| low_rows(share, low)) };
            let carries = prefix::all(s, ctx, pairs).await?;
            let upper = s.xor(&propagate.map(|share| share.slice_rows(1..k as usize)), &carries);
            Ok(s.concat_rows(&[&propagate.map(|share| share.row(0)), &upper]))
        })
        .await
    }

    /// Returns whether A + B = 0: A equals -B in every bit.
    pub(crate) async fn eqz_of_summands(&self, ctx: &Ctx, x: &A) -> Result<B> {
        let k = x.shape.0.bits();
        stream::to_bits(self, ctx, x, async move |s: &Rss, ctx: &Ctx, x: A| {
            let len = x.shape.1;
            let Halves { mine, theirs } = s.halves(&x, len);
            let mine = Wiped(mine.to_bits(0..k));
            let theirs = [0, 1].map(|i| Wiped(negated(&theirs[i]).to_bits(0..k)));
            let a = s.owned(ctx, &*mine, len).await?;
            let ones = if ctx.is_dry() { Bits::shape(k as usize, len) } else { Bits::constant(true, k as usize, len) };
            let equal = s.xor_public(&s.xor(&a, &s.placed(ctx, &theirs, len)), &ones);
            equality::and_all(s, ctx, equal).await
        })
        .await
    }

    /// Returns floor(x / 2^d): the shifted summands, plus the carry into bit d, less 2^(k-d) for the carry out of bit
    /// k-1.
    pub(crate) async fn truncate_summands(&self, ctx: &Ctx, x: &A, shift: u32) -> Result<A> {
        let (ring, len) = x.shape;
        let (k, d) = (ring.bits(), shift.min(ring.bits() - 1));
        if d == 0 {
            return Ok(x.clone());
        }
        let work = async move |s: &Rss, ctx: &Ctx, x: A| {
            let (len, mut positive) = (x.shape.1, x);
            s.add_public_scalar(&mut positive, 1 << (k - 1));
            let sum = async |ctx: Ctx| s.sum_of_shifted(&ctx, &positive, ring, d).await;
            let carries = async |ctx: Ctx| {
                let halves = s.bits_of_halves(&positive);
                let pairs = s.summand_pairs(&ctx, &halves, k as usize, len).await?;
                truncate::two_carries(s, &ctx, pairs, d).await
            };
            let (sum, (into, out)) = ctx.join(sum, carries).await?;
            let low_ring = Ring::of(d);
            let (into, out) = ctx
                .join(
                    async |ctx: Ctx| s.bit_to_ring(&ctx, &into, ring).await,
                    async |ctx: Ctx| s.bit_to_ring(&ctx, &out, low_ring).await,
                )
                .await?;
            let mut result = s.sub(&s.add(&sum, &into), &lifted(&out, ring, k - d));
            s.add_public_scalar(&mut result, ring.mask() + 1 - (1 << (k - 1 - d)));
            Ok(result)
        };
        stream::to_vector(self, ctx, stream::chunks(len, 2 * k), |range| x.slice(range), work).await
    }

    /// Returns floor(A / 2^d) + floor(B / 2^d) as elements of `ring`, which may be larger than that of x.
    async fn sum_of_shifted(&self, ctx: &Ctx, x: &A, ring: Ring, d: u32) -> Result<A> {
        let len = x.shape.1;
        self.recombined(ctx, &self.halves(x, len).map(|half| shifted_into(half, ring, d)), len).await
    }

    /// Returns x in other summands: A + r and B - r, for an r that is uniform, fresh, and known to all parties.
    fn moved(&self, ctx: &Ctx, mut halves: Halves<Vector>, len: usize) -> Halves<Vector> {
        let ring = halves.mine.ring();
        let public: Vector = ctx.randomness().stream(&self.public).draw((ring, len));
        let [own, next, after] = self.turned_blocks(len);
        halves.mine.add_assign(&public.slice(own));
        halves.theirs[0].sub_assign(&public.slice(next));
        halves.theirs[1].sub_assign(&public.slice(after));
        halves
    }

    /// Returns x / 2^d rounded down or up, for -2^(k-2) <= x < 2^(k-2). x + 2^(k-2) = A - B' mod 2^k is below 2^(k-1),
    /// so the difference wraps exactly when the top bit of B' is 1 and that of A is 0.
    pub(crate) async fn round_summands(&self, ctx: &Ctx, x: &A, d: u32) -> Result<A> {
        let (ring, len) = x.shape;
        let (k, low_ring) = (ring.bits(), Ring::of(d));
        let work = async move |s: &Rss, ctx: &Ctx, x: A| {
            let (len, mut positive) = (x.shape.1, x);
            s.add_public_scalar(&mut positive, 1 << (k - 2));
            let Halves { mine, theirs } = s.moved(ctx, s.halves(&positive, len), len);
            let theirs = [0, 1].map(|i| Wiped(negated(&theirs[i])));
            let top = |half: &Vector| Wiped(half.to_bits(k - 1..k).to_vector(low_ring));
            let mut mine_low = top(&mine);
            mine_low.neg_assign();
            mine_low.add_scalar(1);
            let theirs_low = [0, 1].map(|i| top(&theirs[i]));
            let quotient = Wiped(shifted_into(&mine, ring, d));
            let less = [0, 1].map(|i| Wiped(negated(&shifted_into(&theirs[i], ring, d))));
            let wide = async |ctx: Ctx| s.owned(&ctx, &*quotient, len).await;
            let wrap = async |ctx: Ctx| {
                let not_top = s.owned(&ctx, &*mine_low, len).await?;
                s.paired(&ctx, &not_top, &theirs_low, len).await
            };
            let (quotient, wrap) = ctx.join(wide, wrap).await?;
            let difference = s.add(&quotient, &s.placed(ctx, &less, len));
            let mut result = s.add(&difference, &lifted(&wrap, ring, k - d));
            s.add_public_scalar(&mut result, ring.mask() + 1 - (1 << (k - 2 - d)));
            Ok(result)
        };
        stream::to_vector(self, ctx, stream::chunks(len, 2 * k), |range| x.slice(range), work).await
    }

    /// Returns x of Z_2^k in a larger ring: A + B - 2^k u, where u is the carry out of bit k-1. Signed numbers are
    /// moved up by 2^(k-1).
    pub(crate) async fn widen_summands(&self, ctx: &Ctx, x: &A, wide: Ring, offset: u128) -> Result<A> {
        let (ring, len) = x.shape;
        let k = ring.bits();
        let work = async move |s: &Rss, ctx: &Ctx, x: A| {
            let (len, mut positive) = (x.shape.1, x);
            s.add_public_scalar(&mut positive, offset);
            let carry = async |ctx: Ctx| {
                let pairs = s.summand_pairs(&ctx, &s.bits_of_halves(&positive), k as usize, len).await?;
                let carry = prefix::group(s, &ctx, pairs).await?;
                s.bit_to_ring(&ctx, &carry, Ring::of(wide.bits() - k)).await
            };
            let sum = async |ctx: Ctx| s.sum_of_shifted(&ctx, &positive, wide, 0).await;
            let (carry, sum) = ctx.join(carry, sum).await?;
            let mut result = s.sub(&sum, &lifted(&carry, wide, k));
            s.add_public_scalar(&mut result, wide.mask() + 1 - offset);
            Ok(result)
        };
        stream::to_vector(self, ctx, stream::chunks(len, 2 * wide.bits()), |range| x.slice(range), work).await
    }
}

/// Returns 2^shift x in a larger ring, for x that counts only modulo 2^(k - shift).
pub(crate) fn lifted(x: &A, ring: Ring, shift: u32) -> A {
    x.map(|share| {
        let mut lifted = share.convert(ring);
        lifted.shl(shift);
        lifted
    })
}

/// Returns floor(x / 2^d), of the reduced element, in another ring.
fn shifted_into(x: &Vector, ring: Ring, d: u32) -> Vector {
    let mut shifted = x.clone();
    shifted.reduce();
    shifted.shr_logical(d);
    shifted.convert(ring)
}
