//! Gadgets and functions: those of the protocol for two parties, which P2 runs on shapes.

use quorate_circuits::Program;
use quorate_engine::{
    Axis, Checked, ComparisonMasks, Ctx, Demand, EdaBits, Form, Layout, Linear, LinearBits, Material, Misuse, Opened,
    Result, Sharing, Stock, Stocks, TruncMasks, Update, UpdateBits,
};
use quorate_gadgets::extremum::{Best, Field};
use quorate_gadgets::here::Local;
use quorate_gadgets::prefix::Pairs;
use quorate_gadgets::real::Softmax;
use quorate_gadgets::scale::Scale;
use quorate_gadgets::{
    Functions, Gadgets, Garbles, NoLabels, Sign, Width, compare, compiled_here, extremum, floor_div, int_div, real,
    scale,
};
use quorate_ring::{Bits, Ring, Vector};
use quorate_spdz2k::{Kind, SharedBits, Spdz2k, Tagged};

use super::PikaMalicious;
use super::lookup::MOST_ENTRIES;
use crate::setup::DEALER;

/// Defines methods that call the protocol for two parties.
macro_rules! forwarded {
    ($(fn $name:ident($($arg:ident: $type:ty),*) $(-> $out:ty)?;)*) => {$(
        fn $name(&self, $($arg: $type),*) $(-> $out)? {
            self.online.$name($($arg),*)
        }
    )*};
}

/// Defines methods that take messages and call the protocol for two parties.
macro_rules! run_online {
    ($(fn $name:ident($($arg:ident: $type:ty),* $(,)?) -> $out:ty;)*) => {$(
        async fn $name(&self, ctx: &Ctx, $($arg: $type),*) -> Result<$out> {
            self.online.$name(ctx, $($arg),*).await
        }
    )*};
}

impl Sharing for PikaMalicious {
    type A = Tagged;
    type B = SharedBits;

    const CHECKED: bool = true;
    const MOST_BITS: u32 = Spdz2k::MOST_BITS;

    forwarded! {
        fn most_bits() -> u32;
        fn shape(x: &Tagged) -> (Ring, usize);
        fn bit_shape(x: &SharedBits) -> (usize, usize);
        fn public(value: &Vector) -> Tagged;
        fn public_bits(value: &Bits) -> SharedBits;
        fn add(x: &Tagged, y: &Tagged) -> Tagged;
        fn sub(x: &Tagged, y: &Tagged) -> Tagged;
        fn add_public(x: &Tagged, value: &Vector) -> Tagged;
        fn say_who_knows(x: &mut Tagged, known: Option<usize>);
        fn who_knows(x: &Tagged) -> Option<usize>;
        fn linear(x: &Tagged, map: &Linear<'_>) -> Tagged;
        fn update(x: &mut Tagged, y: &Tagged, update: &Update);
        fn concat(parts: &[&Tagged]) -> Tagged;
        fn xor(x: &SharedBits, y: &SharedBits) -> SharedBits;
        fn xor_public(x: &SharedBits, value: &Bits) -> SharedBits;
        fn linear_bits(x: &SharedBits, map: &LinearBits<'_>) -> SharedBits;
        fn update_bits(x: &mut SharedBits, y: &SharedBits, update: &UpdateBits<'_>);
        fn concat_rows(parts: &[&SharedBits]) -> SharedBits;
        fn concat_lanes(parts: &[&SharedBits]) -> SharedBits;
    }

    run_online! {
        fn input(owner: usize, shape: (Ring, usize), value: Option<&Vector>) -> Tagged;
        fn input_bits(owner: usize, shape: (usize, usize), value: Option<&Bits>) -> SharedBits;
        fn bilinear(form: Form, x: &Tagged, y: &Tagged) -> Tagged;
        fn lsb(x: &Tagged) -> SharedBits;
        fn bit_to_msb(x: &SharedBits, ring: Ring) -> Tagged;
        fn and(x: &SharedBits, y: &SharedBits) -> SharedBits;
        fn open(x: &Tagged) -> Opened<Vector>;
        fn open_bits(x: &SharedBits) -> Opened<Bits>;
        fn reveal(checked: &Checked, x: &Tagged, to: Option<usize>) -> Option<Opened<Vector>>;
        fn reveal_bits(checked: &Checked, x: &SharedBits, to: Option<usize>) -> Option<Opened<Bits>>;
        fn random_bits(ring: Ring, len: usize) -> Tagged;
        fn dabits(ring: Ring, len: usize) -> (Tagged, SharedBits);
        fn edabits(ring: Ring, cut: Option<u32>, len: usize) -> EdaBits<Tagged, SharedBits>;
        fn comparison_masks(ring: Ring, pairs: usize, len: usize) -> ComparisonMasks<Tagged, SharedBits>;
        fn trunc_masks(ring: Ring, shift: u32, len: usize) -> TruncMasks<Tagged>;
        fn wide_edabits(ring: Ring, wide: Ring, len: usize) -> EdaBits<Tagged, SharedBits>;
        fn shuffle(columns: &[&Tagged], rows: usize) -> Vec<Tagged>;
    }

    async fn check(&self, ctx: &Ctx) -> Result<Checked> {
        self.online.check(ctx).await
    }
}

impl Garbles for PikaMalicious {
    type Y = NoLabels;
}

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
    run_online! {
        fn sigmoid(x: &Tagged, frac: u32) -> Tagged;
        fn tanh(x: &Tagged, frac: u32) -> Tagged;
        fn gelu(x: &Tagged, frac: u32) -> Tagged;
        fn exp(x: &Tagged, frac: u32) -> Tagged;
        fn log(x: &Tagged, fracs: (u32, u32)) -> Tagged;
        fn sqrt(x: &Tagged, fracs: (u32, u32), argument_bits: u32) -> Tagged;
        fn rsqrt(x: &Tagged, fracs: (u32, u32)) -> Tagged;
        fn reciprocal(x: &Tagged, fracs: (u32, u32)) -> Tagged;
        fn divide(x: &Tagged, y: &Tagged, up: u32, quotient_bits: u32) -> Tagged;
    }

    /// Uses keys if powers are looked up.
    async fn softmax(&self, ctx: &Ctx, x: &Tagged, of: &Softmax<'_>) -> Result<Tagged> {
        #[inline(never)]
        fn here<'a>(s: &'a PikaMalicious, ctx: &'a Ctx, x: &'a Tagged, of: &'a Softmax<'a>) -> Local<'a, Tagged> {
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

impl Stocks for PikaMalicious {
    type Kind = Kind;
    type Vectors = Tagged;
    type Matrices = SharedBits;

    forwarded! {
        fn stock() -> &Stock<Kind, Tagged, SharedBits>;
        fn layout(kind: &Kind) -> Layout;
        fn blank(dry: bool, shape: (Ring, usize)) -> Tagged;
        fn blank_bits(dry: bool, shape: (usize, usize)) -> SharedBits;
    }

    run_online! {
        fn make(kind: &Kind, len: usize) -> Material<Tagged, SharedBits>;
        fn make_all(demand: Demand<Kind>) -> ();
    }
}
