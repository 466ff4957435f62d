//! Protocols composed of a backend's basic operations: comparison, equality, bits, truncation, selection, extrema.
//!
//! Each gadget is one generic function on [`Sharing`]; [`Gadgets`] offers them as methods with default bodies, which a
//! backend may override. Gadgets call each other through the trait, never the free functions, so overrides take effect
//! everywhere.
//!
//! Long vectors are cut into chunks that run side by side: rounds do not grow with the batch, memory stays bounded.
//!
//! To add a protocol, implement [`Sharing`] and [`Stocks`](quorate_engine::Stocks) for its type, then the traits of
//! this crate: [`Gadgets`], [`Garbles`], [`Functions`] and [`Family`]. All methods of the first three of these, and
//! many of [`Family`], have default bodies. The crate `quorate-protocols` lists the families. CONTRIBUTING.md, "Add a
//! family", has all steps.
//!
//! **Notation**, in all modules:
//!
//! - Z_2^k: the ring of a value, with k bits; Open(x): x becomes known to all parties.
//! - edaBit(k): a random r in Z_2^k, shared as an element and as its bits ([`EdaBits`](quorate_engine::EdaBits)).
//!   daBit: a random bit, shared as an element and as a bit. Mask: a random number that is added before an opening.
//! - \[P\]: 1 if P holds, otherwise 0. BitLT: less-than of numbers given by their bits.
//! - A row of bits has one bit of every number; a lane has all bits of one number, lowest first.
//!
//! **Papers**, by their short names:
//!
//! - rss-ring: "Secure multi-party computation over rings with replicated secret sharing";
//! - spdz2k-primitives: Damgard et al. 2019 (ePrint 2019/599);
//! - aby: "ABY - A Framework for Efficient Mixed-Protocol Secure Two-Party Computation" (Demmler, Schneider, Zohner
//!   2015).
#![forbid(unsafe_code)]

pub mod adder;
pub mod circuit;
pub mod compare;
pub mod convert;
pub mod cost;
pub mod decompose;
pub mod equality;
pub mod extremum;
pub mod family;
pub mod floor_div;
pub mod functions;
pub mod here;
pub mod int_div;
pub mod labels;
pub mod lookup;
pub mod one_hot;
pub mod order;
pub mod prefix;
pub mod real;
pub mod scale;
pub mod select;
pub mod stream;
#[cfg(feature = "testing")]
pub mod testing;
pub mod trunc_prob;
pub mod truncate;
pub mod widen;

use quorate_circuits::Program;
use quorate_engine::{Axis, Ctx, Result, Sharing};
use quorate_ring::Ring;

pub use compare::Width;
pub use family::{
    Choice, Choices, Computes, Descriptor, Family, Footprint, GarblesAhead, MakesAhead, Parties, Pools, Revokes,
    streamed_lookup_bytes, streaming_bytes,
};
pub use functions::Functions;
pub use labels::{Garbles, Labels, NoLabels};
pub use widen::Sign;

/// Gadgets over a sharing. The default bodies are the general protocols; costs are those of their primitives.
#[allow(async_fn_in_trait)] // futures are single-threaded on purpose
pub trait Gadgets: Sharing + Sized {
    /// Returns the top bit of each element of Z_2^k: whether it is negative as a two's complement number. One row of
    /// bits.
    async fn msb(&self, ctx: &Ctx, x: &Self::A) -> Result<Self::B> {
        compare::msb(self, ctx, x).await
    }

    /// Returns x < y as two's complement numbers. One row of bits.
    async fn lt(&self, ctx: &Ctx, x: &Self::A, y: &Self::A, width: Width) -> Result<Self::B> {
        compare::lt(self, ctx, x, y, width).await
    }

    /// Returns x = 0. One row of bits.
    async fn eqz(&self, ctx: &Ctx, x: &Self::A) -> Result<Self::B> {
        equality::eqz(self, ctx, x).await
    }

    /// Returns the bits of x: k rows, lowest first.
    async fn bit_decompose(&self, ctx: &Ctx, x: &Self::A) -> Result<Self::B> {
        decompose::bit_decompose(self, ctx, x).await
    }

    /// Converts one row of bits to elements 0 and 1 of Z_2^k.
    async fn bit_to_ring(&self, ctx: &Ctx, x: &Self::B, ring: Ring) -> Result<Self::A> {
        convert::bits_to_ring(self, ctx, x, ring).await
    }

    /// Returns the number with these bits, lowest first, in a ring of the same number of bits.
    async fn compose(&self, ctx: &Ctx, x: &Self::B, ring: Ring) -> Result<Self::A> {
        convert::compose(self, ctx, x, ring).await
    }

    /// Returns floor(x / 2^shift) for the full signed range of Z_2^k.
    async fn trunc_exact(&self, ctx: &Ctx, x: &Self::A, shift: u32) -> Result<Self::A> {
        truncate::trunc_exact(self, ctx, x, shift).await
    }

    /// Returns floor(x / 2^shift) for -2^(k-2) <= x < 2^(k-2) only: this is not checked.
    async fn trunc_bounded(&self, ctx: &Ctx, x: &Self::A, shift: u32) -> Result<Self::A> {
        self.trunc_exact(ctx, x, shift).await
    }

    /// Returns x / 2^shift for -2^(k-2) <= x < 2^(k-2) only: this is not checked. The result is rounded down or up, up
    /// with probability (x mod 2^shift) / 2^shift, and never off by more.
    ///
    /// # Errors
    /// [`Misuse`](quorate_engine::Misuse) for a shift above k - 2.
    async fn trunc_prob(&self, ctx: &Ctx, x: &Self::A, shift: u32) -> Result<Self::A> {
        trunc_prob::trunc_prob(self, ctx, x, shift).await
    }

    /// Returns a bound on the probability that one [`Gadgets::trunc_prob`] of a value of `bits` signed bits is off by
    /// more than a unit. TruncPr never fails within its domain; outside of it the bound is 1.
    fn trunc_prob_failure(&self, ring: Ring, shift: u32, bits: u32) -> f64 {
        f64::from(u8::from(bits >= ring.bits() || trunc_prob::check_shift(ring, shift).is_err()))
    }

    /// Converts elements of Z_2^k to another ring. A smaller ring takes them modulo its size, locally; a larger ring
    /// takes them as numbers by `sign`.
    async fn convert(&self, ctx: &Ctx, x: &Self::A, ring: Ring, sign: Sign) -> Result<Self::A> {
        widen::convert(self, ctx, x, ring, sign).await
    }

    /// Returns the carry out of all positions.
    async fn carry(&self, ctx: &Ctx, pairs: prefix::Pairs<Self::B>) -> Result<Self::B> {
        prefix::group(self, ctx, pairs).await
    }

    /// Returns `bit` times x: the element where the bit is 1, zero elsewhere.
    async fn mask(&self, ctx: &Ctx, bit: &Self::B, x: &Self::A) -> Result<Self::A> {
        select::mask(self, ctx, bit, x).await
    }

    /// Returns x where the bit is 1, y elsewhere.
    async fn mux(&self, ctx: &Ctx, bit: &Self::B, x: &Self::A, y: &Self::A) -> Result<Self::A> {
        select::mux(self, ctx, bit, x, y).await
    }

    /// The party whose one-hot inputs cannot be proven to the others (see [`Gadgets::assert_one_hot`]), if there is
    /// one.
    const PROVES_NOTHING: Option<usize> = None;

    /// Ends the run unless one element of each row along the axis is 1 and all others are 0. The values that it opens
    /// must be checked later. If all parties follow the protocol, it trusts them and sends nothing.
    async fn assert_one_hot(&self, ctx: &Ctx, x: &Self::A, axis: Axis) -> Result<()> {
        one_hot::assert_one_hot(self, ctx, x, axis).await
    }

    /// Returns floor(x / y) modulo 2^k, for operands within the bounds `known`; 0 where y is 0.
    async fn int_quotient(&self, ctx: &Ctx, x: &Self::A, y: &Self::A, known: int_div::Known) -> Result<Self::A> {
        int_div::quotient(self, ctx, x, y, known).await
    }

    /// Returns the remainder of x / y, with the sign of y; 0 where y is 0.
    async fn int_remainder(
        &self,
        ctx: &Ctx,
        x: &Self::A,
        y: &Self::A,
        quotient: &Self::A,
        known: int_div::Known,
    ) -> Result<Self::A> {
        int_div::remainder(self, ctx, x, y, quotient, known).await
    }

    /// Returns floor(x / d) for public divisors, one for all elements or one for each.
    async fn floor_div(&self, ctx: &Ctx, x: &Self::A, divisors: &[i128], range: floor_div::Range) -> Result<Self::A> {
        floor_div::floor_div(self, ctx, x, divisors, range).await
    }

    /// Returns multiples of x by public reals.
    async fn scale(&self, ctx: &Ctx, x: &Self::A, by: &scale::Scale<'_>) -> Result<Self::A> {
        scale::scale(self, ctx, x, by).await
    }

    /// Returns the best candidate of every lane, as a [`Field`](extremum::Field) of one row.
    async fn best(
        &self,
        ctx: &Ctx,
        field: extremum::Field<Self::A>,
        best: extremum::Best,
        width: Width,
    ) -> Result<extremum::Field<Self::A>> {
        extremum::tournament(self, ctx, field, best, width).await
    }

    /// Returns the rows of all columns in the order of the keys; equal keys keep their order. Only where no party may
    /// cheat.
    async fn order(&self, ctx: &Ctx, key: &Self::A, keys: order::Keys, columns: &[&Self::A]) -> Result<Vec<Self::A>> {
        order::order(self, ctx, key, keys, columns).await
    }

    /// Evaluates a circuit on shared bits, in a round for each layer of ANDs.
    async fn circuit(&self, ctx: &Ctx, program: &Program, inputs: &Self::B) -> Result<Self::B> {
        circuit::evaluate(self, ctx, program, inputs).await
    }
}
