//! `pika` as the interface that gadgets use.

use quorate_circuits::Program;
use quorate_engine::{Checked, ComparisonMasks, Ctx, EdaBits, Form, Opened, Result, Sharing, TruncMasks, check_party};
use quorate_gadgets::order::Keys;
use quorate_gadgets::{
    Gadgets, Garbles, NoLabels, Sign, Width, circuit, compare, compiled_here, convert, decompose, gadgets_here, order,
    select, trunc_prob, widen,
};
use quorate_ring::{Bits, Module, Ring, Vector};

use crate::lookup::MOST_ENTRIES;
use crate::setup::Pika;
use crate::share::{Factor, Share};

type Values = Share<Vector>;
type Packed = Share<Bits>;

quorate_gadgets::functions_here! { Pika, Values, Packed, Pika::look_up, Pika::look_up_bit, MOST_ENTRIES }

impl Garbles for Pika {
    type Y = NoLabels;
}

impl Gadgets for Pika {
    gadgets_here! { Pika, Values, Packed }

    compiled_here! { Pika:
        fn order(s, ctx, at key: Values, val keys: Keys, all columns: Values) -> Vec<Values> {
            order::order(s, ctx, key, keys, columns)
        }
        fn msb(s, ctx, at x: Values) -> Packed { s.top_bit(ctx, x) }
        fn lt(s, ctx, at x: Values, at y: Values, val width: Width) -> Packed {
            async move {
                match width {
                    Width::Difference(bits) if bits <= x.ring().bits() => compare::lt(s, ctx, x, y, width).await,
                    _ => compare::lt_at_once(s, ctx, x, y).await,
                }
            }
        }
        fn eqz(s, ctx, at x: Values) -> Packed { s.is_zero(ctx, x) }
        fn bit_decompose(s, ctx, at x: Values) -> Packed { decompose::bit_decompose(s, ctx, x) }
        fn compose(s, ctx, at x: Packed, val ring: Ring) -> Values { convert::compose(s, ctx, x, ring) }
        fn trunc_exact(s, ctx, at x: Values, val shift: u32) -> Values { s.floor(ctx, x, shift) }
        fn trunc_bounded(s, ctx, at x: Values, val shift: u32) -> Values { s.bounded_floor(ctx, x, shift) }
        fn trunc_prob(s, ctx, at x: Values, val shift: u32) -> Values { trunc_prob::trunc_prob(s, ctx, x, shift) }
        fn convert(s, ctx, at x: Values, val ring: Ring, val sign: Sign) -> Values {
            widen::convert(s, ctx, x, ring, sign)
        }
        fn mask(s, ctx, at bit: Packed, at x: Values) -> Values { s.select(ctx, bit, x) }
        fn mux(s, ctx, at bit: Packed, at x: Values, at y: Values) -> Values { select::mux(s, ctx, bit, x, y) }
        fn circuit(s, ctx, at program: Program, at inputs: Packed) -> Packed {
            circuit::evaluate(s, ctx, program, inputs)
        }
    }
}

impl Sharing for Pika {
    quorate_additive::local_here! { Values, Packed }

    const CHECKED: bool = false;
    const MOST_BITS: u32 = 126;
    const KEEPS_FACTORS: bool = true;
    const CHOOSES_BY_NUMBER: bool = true;

    fn say_factor(&self, x: &mut Values, name: Option<u32>) {
        match name {
            Some(name) if !self.pooled.get() => *x = x.keeping(Factor::shape(name, x.shape_of())),
            _ => x.forget_kept(),
        }
    }

    async fn check(&self, _: &Ctx) -> Result<Checked> {
        Ok(Checked::unneeded())
    }

    compiled_here! { Pika:
        fn input(s, ctx, val owner: usize, val shape: (Ring, usize), maybe value: Vector) -> Values {
            s.share_input(ctx, owner, shape, value)
        }
        fn input_bits(s, ctx, val owner: usize, val shape: (usize, usize), maybe value: Bits) -> Packed {
            s.share_input_bits(ctx, owner, shape, value)
        }
        fn as_factor(s, ctx, at x: Values, val name: u32) -> Values { s.open_factor(ctx, x, name) }
        fn bilinear(s, ctx, val form: Form, at x: Values, at y: Values) -> Values { s.multiply(ctx, form, x, y) }
        fn and(s, ctx, at x: Packed, at y: Packed) -> Packed { s.multiply_bits(ctx, x, y) }
        fn open(s, ctx, at x: Values) -> Opened<Vector> { async { Ok(ctx.opened(s.open_long(ctx, x).await?)) } }
        fn open_bits(s, ctx, at x: Packed) -> Opened<Bits> { async { Ok(ctx.opened(s.open_share(ctx, x).await?)) } }
        fn reveal(s, ctx, at checked: Checked, at x: Values, val to: Option<usize>) -> Option<Opened<Vector>> {
            async move {
                checked.allows_reveals(ctx)?;
                to.map_or(Ok(()), |to| check_party(ctx, to))?;
                Ok(s.reveal_long(ctx, x, to).await?.map(|value| ctx.revealed(value)))
            }
        }
        fn reveal_bits(s, ctx, at checked: Checked, at x: Packed, val to: Option<usize>) -> Option<Opened<Bits>> {
            async move {
                checked.allows_reveals(ctx)?;
                to.map_or(Ok(()), |to| check_party(ctx, to))?;
                Ok(s.reveal_share(ctx, x, to).await?.map(|bits| ctx.revealed(bits)))
            }
        }
        fn random_bits(s, ctx, val ring: Ring, val len: usize) -> Values {
            async move { s.draw_dabits(ctx, ring, len).await.map(|(values, _)| values) }
        }
        fn dabits(s, ctx, val ring: Ring, val len: usize) -> (Values, Packed) { s.draw_dabits(ctx, ring, len) }
        fn edabits(s, ctx, val ring: Ring, val cut: Option<u32>, val len: usize) -> EdaBits<Values, Packed> {
            s.draw_edabits(ctx, ring, cut, len)
        }
        fn comparison_masks(
            s, ctx, val ring: Ring, val pairs: usize, val len: usize
        ) -> ComparisonMasks<Values, Packed> {
            s.draw_comparison_masks(ctx, ring, pairs, len)
        }
        fn trunc_masks(s, ctx, val ring: Ring, val shift: u32, val len: usize) -> TruncMasks<Values> {
            s.draw_trunc_masks(ctx, ring, shift, len)
        }
        fn wide_edabits(s, ctx, val ring: Ring, val wide: Ring, val len: usize) -> EdaBits<Values, Packed> {
            s.draw_wide_edabits(ctx, ring, wide, len)
        }
        fn shuffle(s, ctx, all columns: Values, val rows: usize) -> Vec<Values> { s.shuffle_rows(ctx, columns, rows) }
    }
}
