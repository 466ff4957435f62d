//! Signs, equality and truncation by keys of a mask.
//!
//! **Source**: parities of intervals (Storrier et al. 2023, "Grotto") in place of carries: a key of r gives what a
//! gadget computes by a tree of ANDs over the bits of r. **Deviation**: c = Open(r - x) in place of x + r, so that each
//! question is whether r lies in [0, c), one path through a tree. **Model**: semi-honest, 1 of 3; party 2 has dealt.
//! **Notation**: x over Z_2^k; r uniform; x = r - c; [..] a bit, xor-shared.
//!
//! - **Sign**: bit k-1 of r, of c, and the borrow [r mod 2^(k-1) < c mod 2^(k-1)]: their xor.
//! - **Equality**: [r = c].
//! - **floor(x / 2^d)**: as [`truncate`], with both bits, v = [r mod 2^d < c mod 2^d] and u = [r < c], from keys.
//! - **floor(x / 2^d) for -2^(k-2) <= x < 2^(k-2)**: u = c_{k-1} (1 - r_{k-1}), of which the second factor is dealt
//!   over Z_2^d: no key of all of r.
//!
//! | | dealt to each of parties 0 and 1, more to party 1 | rounds | bits sent by each of parties 0 and 1 |
//! |---|---|---|---|
//! | sign | a key of k - 1 bits; 1 bit | 1 | k |
//! | equality | a key of k bits | 1 | k |
//! | truncation | keys of k and d bits; k bits, and random bits mod 2^k and 2^d | 2 | k + 2 |
//! | bounded truncation | a key of d bits; k + d bits, and a random bit mod 2^k | 2 | k + 1 |
//!
//! Keys are large and take few rounds: the form that runs is [predicted](crate::predicted).

use quorate_additive::stock::MISSING;
use quorate_engine::{Ctx, Linear, Result, Sharing, Stocks};
use quorate_fss::{Shape, intervals};
use quorate_gadgets::{Gadgets, compare, equality, stream, truncate};
use quorate_ring::meter::{Kernel, charge};
use quorate_ring::{Bits, Module, Ring, Vector};

use crate::cost;
use crate::kind::{Kind, Material};
use crate::lookup::chunks;
use crate::setup::Pika;
use crate::share::Share;

type A = Share<Vector>;
type B = Share<Bits>;

impl Pika {
    /// Returns the top bit of each element.
    pub(crate) async fn top_bit(&self, ctx: &Ctx, x: &A) -> Result<B> {
        let (bits, len) = (x.ring().bits(), x.len());
        let by_key = self.takes_keys(bits, len, || [cost::msb(bits, len), cost::msb_by_key(bits, len)]);
        if !by_key {
            return compare::msb(self, ctx, x).await;
        }
        let kind = Kind::SignKey { bits };
        let chunks = chunks(len, &kind);
        let work = async move |s: &Pika, ctx: &Ctx, x: A| {
            let dealt = s.draw(ctx, kind.clone(), x.len()).await?;
            let Material { vectors, bits: tops, .. } = dealt;
            let [r, roots, corrections] = vectors.try_into().map_err(|_| MISSING)?;
            let [top] = tops.try_into().map_err(|_| MISSING)?;
            let c = s.less(ctx, &r, &x).await?;
            let borrow = s.below(Ring::of(bits - 1), &c, [&roots, &corrections])?;
            Ok(s.xor_public(&s.xor(&top, &borrow), &c.to_bits(bits - 1..bits)))
        };
        stream::to_lanes(self, ctx, chunks, |range| stream::slice(self, x, range), work).await
    }

    /// Returns whether each element is zero.
    pub(crate) async fn is_zero(&self, ctx: &Ctx, x: &A) -> Result<B> {
        let (bits, len) = (x.ring().bits(), x.len());
        let by_key = self.takes_keys(bits, len, || [cost::eqz(bits, len), cost::eqz_by_key(bits, len)]);
        if !by_key {
            return equality::eqz(self, ctx, x).await;
        }
        let kind = Kind::Point { place_bits: bits };
        let chunks = chunks(len, &kind);
        let work = async move |s: &Pika, ctx: &Ctx, x: A| {
            let [r, roots, corrections] = s.draw(ctx, kind.clone(), x.len()).await?.into_vectors()?;
            let c = s.less(ctx, &r, &x).await?;
            s.among(kind.keys()[0], &c, [&roots, &corrections], |c, next| [c, next])
        };
        stream::to_lanes(self, ctx, chunks, |range| stream::slice(self, x, range), work).await
    }

    /// Returns floor(x / 2^shift) over the full signed range.
    pub(crate) async fn floor(&self, ctx: &Ctx, x: &A, shift: u32) -> Result<A> {
        let ((ring, len), cut) = (x.shape_of(), shift.min(x.ring().bits() - 1));
        let bits = ring.bits();
        let costs = || [cost::trunc_exact(bits, cut, len), cost::trunc_exact_by_keys(bits, cut, len)];
        if cut == 0 || !self.takes_keys(bits, len, costs) {
            return truncate::trunc_exact(self, ctx, x, shift).await;
        }
        let kind = Kind::FloorKeys { bits, cut };
        let chunks = chunks(len, &kind);
        let work = async move |s: &Pika, ctx: &Ctx, x: A| {
            let dealt = s.draw(ctx, kind.clone(), x.len()).await?.into_vectors()?;
            let [r, roots, low_roots, shifted, corrections, low_corrections] = dealt;
            let c = s.less(ctx, &r, &truncate::moved(s, ctx, &x, bits - 1)).await?;
            let v = s.below(Ring::of(cut), &c, [&low_roots, &low_corrections])?;
            let u = s.below(ring, &c, [&roots, &corrections])?;
            let (v, u) = truncate::as_elements(s, ctx, (&v, &u), ring, cut).await?;
            let constant = truncate::minus_quotient(c, cut, bits - 1 - cut);
            Ok(truncate::quotient(s, &shifted, &constant, (&v, &u), cut))
        };
        stream::to_vector(self, ctx, chunks, |range| stream::slice(self, x, range), work).await
    }

    /// Returns floor(x / 2^shift) for -2^(k-2) <= x < 2^(k-2).
    pub(crate) async fn bounded_floor(&self, ctx: &Ctx, x: &A, shift: u32) -> Result<A> {
        let ((ring, len), cut) = (x.shape_of(), shift.min(x.ring().bits().saturating_sub(2)));
        let bits = ring.bits();
        let costs = || [cost::trunc_bounded(bits, cut, len), cost::trunc_bounded_by_key(bits, cut, len)];
        if cut == 0 || !self.takes_keys(bits, len, costs) {
            return truncate::trunc_bounded(self, ctx, x, shift).await;
        }
        let kind = Kind::BoundedFloorKey { bits, cut };
        let chunks = chunks(len, &kind);
        let work = async move |s: &Pika, ctx: &Ctx, x: A| {
            let dealt = s.draw(ctx, kind.clone(), x.len()).await?.into_vectors()?;
            let [r, roots, shifted, top, corrections] = dealt;
            let c = s.less(ctx, &r, &truncate::moved(s, ctx, &x, bits - 2)).await?;
            let v = s.below(Ring::of(cut), &c, [&roots, &corrections])?;
            let v = s.bit_to_ring(ctx, &v, ring).await?;
            // c_{k-1} (1 - r_{k-1}).
            let c_top = c.to_bits(bits - 1..bits).to_vector(Ring::of(cut));
            let mut minus = c_top.clone();
            minus.neg_assign();
            let u = s.add_public(&s.linear(&top, &Linear::Factors(&minus)), &c_top);
            let constant = truncate::minus_quotient(c, cut, bits - 2 - cut);
            Ok(truncate::quotient(s, &shifted, &constant, (&v, &u), cut))
        };
        stream::to_vector(self, ctx, chunks, |range| stream::slice(self, x, range), work).await
    }

    /// Opens r - x.
    async fn less(&self, ctx: &Ctx, r: &A, x: &A) -> Result<Vector> {
        self.open_long(ctx, &self.sub(r, x)).await
    }

    /// Returns [r < c] for the lowest bits of both, by keys of that number of bits.
    fn below(&self, low: Ring, c: &Vector, keys: [&A; 2]) -> Result<B> {
        let shape = Shape::narrow(low.bits()).map_err(|_| MISSING)?;
        self.among(shape, &c.convert(low), keys, |c, _| [0, c])
    }

    /// Returns whether r lies in the interval that `ends` makes from c and the number after it.
    fn among(&self, shape: Shape, c: &Vector, keys: [&A; 2], ends: impl Fn(u64, u64) -> [u64; 2] + Sync) -> Result<B> {
        if c.is_shape() {
            if !self.deals() {
                charge(Kernel::Draw, 2 * shape.key_bytes() * c.len());
            }
            return Ok(Share::shape((1, c.len())));
        }
        let (keys, c) = (self.keys(shape, keys)?, c.to_u64s());
        let ends = |_: usize, key: usize| ends(c[key], c[key].wrapping_add(1) & shape.mask());
        Ok(Share::of((*intervals(&self.evaluating(), &keys, 1, ends)).clone()))
    }
}
