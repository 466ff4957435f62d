//! [`Authenticated`] as a `Sharing`, the interface of gadgets. All gadgets are the general ones.

use quorate_circuits::Program;
use quorate_engine::{
    Checked, ComparisonMasks, EdaBits, Form, Linear, LinearBits, Misuse, Opened, Sharing, Stocks, TruncMasks, Update,
    UpdateBits,
};
use quorate_gadgets::prefix::Pairs;
use quorate_gadgets::{
    Gadgets, Garbles, NoLabels, Sign, Width, circuit, compare, compiled_here, convert, decompose, equality,
    gadgets_here, lookup, select, trunc_prob, truncate, widen,
};
use quorate_ring::{Bits, Ring, Vector};

use crate::forms::SharedBits;
use crate::kind::Kind;
use crate::party::Authenticated;
use crate::tagged::Tagged;

/// The largest number of entries of a table in which a real function is looked up. Beyond it, gadgets take less time.
const MOST_ENTRIES: usize = (1 << 14) + 1;
/// The largest number of entries of a table of quotients of integers.
const MOST_QUOTIENTS: usize = 1 << 10;

quorate_gadgets::functions_here! {
    Authenticated, Tagged, SharedBits, lookup::lookup, lookup::lookup_bit, MOST_ENTRIES, MOST_QUOTIENTS
}

impl Garbles for Authenticated {
    type Y = NoLabels;
}

impl Gadgets for Authenticated {
    gadgets_here! { Authenticated, Tagged, SharedBits }

    compiled_here! { Authenticated:
        fn msb(s, ctx, at x: Tagged) -> SharedBits { compare::msb(s, ctx, x) }
        fn lt(s, ctx, at x: Tagged, at y: Tagged, val width: Width) -> SharedBits { compare::lt(s, ctx, x, y, width) }
        fn eqz(s, ctx, at x: Tagged) -> SharedBits { equality::eqz(s, ctx, x) }
        fn bit_decompose(s, ctx, at x: Tagged) -> SharedBits { decompose::bit_decompose(s, ctx, x) }
        fn compose(s, ctx, at x: SharedBits, val ring: Ring) -> Tagged { convert::compose(s, ctx, x, ring) }
        fn trunc_exact(s, ctx, at x: Tagged, val shift: u32) -> Tagged { truncate::trunc_exact(s, ctx, x, shift) }
        fn trunc_bounded(s, ctx, at x: Tagged, val shift: u32) -> Tagged { truncate::trunc_bounded(s, ctx, x, shift) }
        fn trunc_prob(s, ctx, at x: Tagged, val shift: u32) -> Tagged { trunc_prob::trunc_prob(s, ctx, x, shift) }
        fn convert(s, ctx, at x: Tagged, val ring: Ring, val sign: Sign) -> Tagged {
            widen::convert(s, ctx, x, ring, sign)
        }
        fn carry(s, ctx, val pairs: Pairs<SharedBits>) -> SharedBits { s.carry_out(ctx, pairs) }
        fn mask(s, ctx, at bit: SharedBits, at x: Tagged) -> Tagged { select::mask(s, ctx, bit, x) }
        fn mux(s, ctx, at bit: SharedBits, at x: Tagged, at y: Tagged) -> Tagged { select::mux(s, ctx, bit, x, y) }
        fn circuit(s, ctx, at program: Program, at inputs: SharedBits) -> SharedBits {
            circuit::evaluate(s, ctx, program, inputs)
        }
    }
}

impl Sharing for Authenticated {
    type A = Tagged;
    type B = SharedBits;

    const CHECKED: bool = true;
    const MOST_BITS: u32 = 126;
    /// A bit takes 32 bytes with each peer.
    const FINER: usize = 8;

    fn most_bits(&self) -> u32 {
        self.keys.params.most_bits_inside()
    }

    fn shape(&self, x: &Tagged) -> (Ring, usize) {
        x.shape()
    }

    fn bit_shape(&self, x: &SharedBits) -> (usize, usize) {
        x.shape()
    }

    fn public(&self, value: &Vector) -> Tagged {
        let nothing = self.blank(value.is_shape(), (value.ring(), value.len()));
        self.add_public(&nothing, value)
    }

    fn public_bits(&self, value: &Bits) -> SharedBits {
        self.xor_with(&self.blank_bits(value.is_shape(), (value.rows(), value.lanes())), value)
    }

    fn add(&self, x: &Tagged, y: &Tagged) -> Tagged {
        x.zip(y, Vector::add_assign)
    }

    fn sub(&self, x: &Tagged, y: &Tagged) -> Tagged {
        x.zip(y, Vector::sub_assign)
    }

    fn add_public(&self, x: &Tagged, value: &Vector) -> Tagged {
        self.plus(x, &value.convert(x.share.ring()))
    }

    fn who_knows(&self, x: &Tagged) -> Option<usize> {
        x.known
    }

    fn say_who_knows(&self, x: &mut Tagged, known: Option<usize>) {
        // Computed values are not marked as known later: other parties may have shares of them.
        if known.is_none() || x.share.is_shape() {
            x.known = known;
        }
    }

    fn linear(&self, x: &Tagged, map: &Linear<'_>) -> Tagged {
        x.linear(map)
    }

    fn update(&self, x: &mut Tagged, y: &Tagged, update: &Update) {
        x.update(y, update);
    }

    fn concat(&self, parts: &[&Tagged]) -> Tagged {
        Tagged::concat(parts)
    }

    fn xor(&self, x: &SharedBits, y: &SharedBits) -> SharedBits {
        x.xor(y)
    }

    fn xor_public(&self, x: &SharedBits, value: &Bits) -> SharedBits {
        self.xor_with(x, value)
    }

    fn linear_bits(&self, x: &SharedBits, map: &LinearBits<'_>) -> SharedBits {
        x.linear(map)
    }

    fn update_bits(&self, x: &mut SharedBits, y: &SharedBits, update: &UpdateBits<'_>) {
        x.update(y, update);
    }

    fn concat_rows(&self, parts: &[&SharedBits]) -> SharedBits {
        SharedBits::concat_rows(parts)
    }

    fn concat_lanes(&self, parts: &[&SharedBits]) -> SharedBits {
        SharedBits::concat_lanes(parts)
    }

    compiled_here! { Authenticated:
        fn input(s, ctx, val owner: usize, val shape: (Ring, usize), maybe value: Vector) -> Tagged {
            s.share_input(ctx, owner, shape, value)
        }
        fn input_bits(s, ctx, val owner: usize, val shape: (usize, usize), maybe value: Bits) -> SharedBits {
            s.share_input_bits(ctx, owner, shape, value)
        }
        fn bilinear(s, ctx, val form: Form, at x: Tagged, at y: Tagged) -> Tagged { s.multiply(ctx, form, x, y) }
        fn lsb(s, ctx, at x: Tagged) -> SharedBits { s.lowest(ctx, x) }
        fn bit_to_msb(s, ctx, at x: SharedBits, val ring: Ring) -> Tagged { s.at_top(ctx, x, ring) }
        fn and(s, ctx, at x: SharedBits, at y: SharedBits) -> SharedBits { s.multiply_bits(ctx, x, y) }
        fn open(s, ctx, at x: Tagged) -> Opened<Vector> {
            async { Ok(ctx.opened(s.open_elements(ctx, x).await?)) }
        }
        fn open_bits(s, ctx, at x: SharedBits) -> Opened<Bits> {
            async { Ok(ctx.opened(s.open_any_bits(ctx, x).await?)) }
        }
        fn check(s, ctx) -> Checked { s.check_openings(ctx) }
        fn reveal(s, ctx, at checked: Checked, at x: Tagged, val to: Option<usize>) -> Option<Opened<Vector>> {
            s.reveal_vector(ctx, checked, x, to)
        }
        fn reveal_bits(s, ctx, at checked: Checked, at x: SharedBits, val to: Option<usize>) -> Option<Opened<Bits>> {
            s.reveal_matrix(ctx, checked, x, to)
        }
        fn random_bits(s, ctx, val ring: Ring, val len: usize) -> Tagged {
            async move {
                let [bits] = s.draw(ctx, Kind::RandomBit { bits: ring.bits() }, len).await?.into_vectors()?;
                Ok(bits)
            }
        }
        fn dabits(s, ctx, val ring: Ring, val len: usize) -> (Tagged, SharedBits) { s.draw_dabits(ctx, ring, len) }
        fn edabits(s, ctx, val ring: Ring, val cut: Option<u32>, val len: usize) -> EdaBits<Tagged, SharedBits> {
            s.draw_edabits(ctx, (ring, ring), cut, len)
        }
        fn comparison_masks(
            s, ctx, val ring: Ring, val pairs: usize, val len: usize
        ) -> ComparisonMasks<Tagged, SharedBits> {
            s.draw_comparison_masks(ctx, ring, pairs, len)
        }
        fn trunc_masks(s, ctx, val ring: Ring, val shift: u32, val len: usize) -> TruncMasks<Tagged> {
            s.draw_trunc_masks(ctx, ring, shift, len)
        }
        fn wide_edabits(s, ctx, val ring: Ring, val wide: Ring, val len: usize) -> EdaBits<Tagged, SharedBits> {
            async move {
                if wide.bits() <= ring.bits() {
                    return Err(Misuse::Other { what: "a wide edaBit needs a ring larger than its bits" }.into());
                }
                s.draw_edabits(ctx, (ring, wide), None, len).await
            }
        }
        fn shuffle(s, ctx, all columns: Tagged, val rows: usize) -> Vec<Tagged> { s.shuffle_rows(ctx, columns, rows) }
    }
}
