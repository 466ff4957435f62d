//! Gadgets and functions: those of the protocol for two parties, which P2 runs on shapes.

use quorate_authenticated::{SharedBits, Tagged, real_functions_online, run_online};
use quorate_circuits::Program;
use quorate_engine::{Axis, Ctx, Misuse, Result, Sharing};
use quorate_gadgets::extremum::{Best, Field};
use quorate_gadgets::here::Local;
use quorate_gadgets::prefix::Pairs;
use quorate_gadgets::real::Softmax;
use quorate_gadgets::scale::Scale;
use quorate_gadgets::{
    Functions, Gadgets, Sign, Width, compare, compiled_here, extremum, floor_div, int_div, real, scale,
};
use quorate_ring::Ring;

use super::PikaMalicious;
use super::lookup::MOST_ENTRIES;
use crate::setup::DEALER;

// Chunks are as large as usual.
quorate_authenticated::shares_online! { PikaMalicious, finer: 1 }

impl Gadgets for PikaMalicious {
    const PROVES_NOTHING: Option<usize> = Some(DEALER);

    /// Proves choices of one, but refuses those that party 2 knows. Both others have shares of them and open factors of
    /// them: either could read them by a lie.
    async fn assert_one_hot(&self, ctx: &Ctx, x: &Tagged, axis: Axis) -> Result<()> {
        if self.online.who_knows(x) == Self::PROVES_NOTHING {
            let what = "party 2 deals, and cannot prove a choice of one: let party 0 or 1 input it";
            return Err(Misuse::Other { what }.into());
        }
        self.online.assert_one_hot(ctx, x, axis).await
    }

    // These are computed from comparisons by keys of digits.
    compiled_here! { PikaMalicious:
        fn msb(s, ctx, at x: Tagged) -> SharedBits { s.top_bit(ctx, x) }
        fn eqz(s, ctx, at x: Tagged) -> SharedBits { s.is_zero(ctx, x) }
        fn trunc_exact(s, ctx, at x: Tagged, val shift: u32) -> Tagged { s.floor(ctx, x, shift, false) }
        fn trunc_bounded(s, ctx, at x: Tagged, val shift: u32) -> Tagged { s.floor(ctx, x, shift, true) }
        fn lt(s, ctx, at x: Tagged, at y: Tagged, val width: Width) -> SharedBits { compare::lt(s, ctx, x, y, width) }
        fn floor_div(s, ctx, at x: Tagged, at divisors: [i128], val range: floor_div::Range) -> Tagged {
            floor_div::floor_div(s, ctx, x, divisors, range)
        }
        fn best(s, ctx, val field: Field<Tagged>, val best: Best, val width: Width) -> Field<Tagged> {
            extremum::tournament(s, ctx, field, best, width)
        }
    }

    async fn scale(&self, ctx: &Ctx, x: &Tagged, by: &Scale<'_>) -> Result<Tagged> {
        #[inline(never)]
        fn here<'a>(s: &'a PikaMalicious, ctx: &'a Ctx, x: &'a Tagged, by: &'a Scale<'a>) -> Local<'a, Tagged> {
            Box::pin(scale::scale(s, ctx, x, by))
        }
        here(self, ctx, x, by).await
    }

    run_online! {
        fn bit_decompose(x: &Tagged) -> SharedBits;
        fn bit_to_ring(x: &SharedBits, ring: Ring) -> Tagged;
        fn compose(x: &SharedBits, ring: Ring) -> Tagged;
        fn trunc_prob(x: &Tagged, shift: u32) -> Tagged;
        fn convert(x: &Tagged, ring: Ring, sign: Sign) -> Tagged;
        fn carry(pairs: Pairs<SharedBits>) -> SharedBits;
        fn mask(bit: &SharedBits, x: &Tagged) -> Tagged;
        fn mux(bit: &SharedBits, x: &Tagged, y: &Tagged) -> Tagged;
        fn int_quotient(x: &Tagged, y: &Tagged, known: int_div::Known) -> Tagged;
        fn int_remainder(x: &Tagged, y: &Tagged, quotient: &Tagged, known: int_div::Known) -> Tagged;
        fn circuit(program: &Program, inputs: &SharedBits) -> SharedBits;
    }
}

impl Functions for PikaMalicious {
    real_functions_online! {}

    /// Uses keys if powers are looked up.
    async fn softmax(&self, ctx: &Ctx, x: &Tagged, of: &Softmax) -> Result<Tagged> {
        #[inline(never)]
        fn here<'a>(s: &'a PikaMalicious, ctx: &'a Ctx, x: &'a Tagged, of: &'a Softmax) -> Local<'a, Tagged> {
            Box::pin(real::softmax(s, ctx, x, of))
        }
        match of.powers {
            Some(_) => here(self, ctx, x, of).await,
            None => self.online.softmax(ctx, x, of).await,
        }
    }

    fn most_entries(&self) -> usize {
        MOST_ENTRIES
    }

    quorate_gadgets::lookups_here! { PikaMalicious, lookup, Tagged, Tagged, PikaMalicious::look_up }
    quorate_gadgets::lookups_here! { PikaMalicious, lookup_bit, Tagged, SharedBits, PikaMalicious::look_up_bit }
}
