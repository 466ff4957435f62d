//! `aby` as the interface that gadgets use.

use quorate_additive::open::NOT_OPENED;
use quorate_circuits::Program;
use quorate_engine::{Checked, Ctx, EdaBits, Form, Opened, Result, Sharing, TruncMasks, check_party};
use quorate_gadgets::order::Keys;
use quorate_gadgets::{
    Gadgets, Garbles, Sign, Width, circuit, compare, compiled_here, gadgets_here, order, select, trunc_prob, widen,
};
use quorate_ring::{Bits, Ring, Vector};

use crate::Share;
use crate::public_table::MOST_ENTRIES;
use crate::setup::Aby;
use crate::yao::YaoLabels;

type Values = Share<Vector>;
type Packed = Share<Bits>;

quorate_gadgets::functions_here! { Aby, Values, Packed, Aby::look_up_public, Aby::look_up_public_bit, MOST_ENTRIES }

impl Garbles for Aby {
    type Y = YaoLabels;

    const GARBLES: bool = true;

    fn public_labels(&self, bits: &Bits) -> Result<Self::Y> {
        self.labels_known_to_garbler(bits)
    }

    compiled_here! { Aby:
        fn input_labels(s, ctx, val owner: usize, val shape: (usize, usize), maybe value: Bits) -> YaoLabels {
            s.share_labels(ctx, owner, shape, value)
        }
        fn bits_to_labels(s, ctx, at x: Packed) -> YaoLabels { s.labels_of_bits(ctx, x) }
        fn ring_to_labels(s, ctx, at x: Values) -> YaoLabels { s.labels_of_summands(ctx, x) }
        fn garble(s, ctx, at program: Program, at inputs: YaoLabels) -> YaoLabels {
            s.run_garbled(ctx, program, inputs)
        }
    }

    fn labels_to_bits(&self, x: &Self::Y) -> Result<Self::B> {
        Ok(Share::of(x.colours()))
    }
}

impl Gadgets for Aby {
    gadgets_here! { Aby, Values, Packed }

    compiled_here! { Aby:
        fn order(s, ctx, at key: Values, val keys: Keys, all columns: Values) -> Vec<Values> {
            order::order(s, ctx, key, keys, columns)
        }
        fn msb(s, ctx, at x: Values) -> Packed { s.msb_of_summands(ctx, x) }
        fn lt(s, ctx, at x: Values, at y: Values, val width: Width) -> Packed {
            async move {
                match width {
                    Width::Difference(bits) if bits <= x.ring().bits() => compare::lt(s, ctx, x, y, width).await,
                    _ => s.less_of_summands(ctx, x, y).await,
                }
            }
        }
        fn eqz(s, ctx, at x: Values) -> Packed { s.eqz_of_summands(ctx, x) }
        fn bit_decompose(s, ctx, at x: Values) -> Packed { s.decompose_summands(ctx, x) }
        fn compose(s, ctx, at x: Packed, val ring: Ring) -> Values { s.compose_bits(ctx, x, ring) }
        fn trunc_exact(s, ctx, at x: Values, val shift: u32) -> Values { s.truncate_summands(ctx, x, shift) }
        fn trunc_prob(s, ctx, at x: Values, val shift: u32) -> Values {
            async move {
                trunc_prob::check_shift(x.ring(), shift)?;
                if shift == 0 { Ok(x.clone()) } else { s.round_summands(ctx, x, shift).await }
            }
        }
        fn convert(s, ctx, at x: Values, val ring: Ring, val sign: Sign) -> Values {
            async move {
                match ring.bits() > x.ring().bits() {
                    true => s.widen_summands(ctx, x, ring, sign.offset(x.ring())).await,
                    false => widen::convert(s, ctx, x, ring, sign).await,
                }
            }
        }
        fn mask(s, ctx, at bit: Packed, at x: Values) -> Values { s.select(ctx, bit, x) }
        fn mux(s, ctx, at bit: Packed, at x: Values, at y: Values) -> Values { select::mux(s, ctx, bit, x, y) }
        fn circuit(s, ctx, at program: Program, at inputs: Packed) -> Packed {
            circuit::evaluate(s, ctx, program, inputs)
        }
    }
}

impl Sharing for Aby {
    quorate_additive::local_here! { Values, Packed }

    const CHECKED: bool = false;
    const MOST_BITS: u32 = 126;

    async fn input(&self, ctx: &Ctx, owner: usize, shape: (Ring, usize), value: Option<&Vector>) -> Result<Self::A> {
        self.share_input(ctx, owner, shape, value)
    }

    async fn input_bits(
        &self,
        ctx: &Ctx,
        owner: usize,
        shape: (usize, usize),
        value: Option<&Bits>,
    ) -> Result<Self::B> {
        self.share_input(ctx, owner, shape, value)
    }

    async fn check(&self, _: &Ctx) -> Result<Checked> {
        Ok(Checked::unneeded())
    }

    compiled_here! { Aby:
        fn bilinear(s, ctx, val form: Form, at x: Values, at y: Values) -> Values { s.multiply(ctx, form, x, y) }
        fn and(s, ctx, at x: Packed, at y: Packed) -> Packed { s.multiply_bits(ctx, x, y) }
        fn open(s, ctx, at x: Values) -> Opened<Vector> {
            async { Ok(ctx.opened(s.open_long(ctx, x, None).await?.ok_or(NOT_OPENED)?)) }
        }
        fn open_bits(s, ctx, at x: Packed) -> Opened<Bits> {
            async { Ok(ctx.opened(s.open_share(ctx, x, None).await?.ok_or(NOT_OPENED)?)) }
        }
        fn reveal(s, ctx, at checked: Checked, at x: Values, val to: Option<usize>) -> Option<Opened<Vector>> {
            async move {
                checked.allows_reveals(ctx)?;
                to.map_or(Ok(()), |to| check_party(ctx, to))?;
                Ok(s.open_long(ctx, x, to).await?.map(|value| ctx.revealed(value)))
            }
        }
        fn reveal_bits(s, ctx, at checked: Checked, at x: Packed, val to: Option<usize>) -> Option<Opened<Bits>> {
            async move {
                checked.allows_reveals(ctx)?;
                to.map_or(Ok(()), |to| check_party(ctx, to))?;
                Ok(s.open_share(ctx, x, to).await?.map(|bits| ctx.revealed(bits)))
            }
        }
        fn random_bits(s, ctx, val ring: Ring, val len: usize) -> Values { s.draw_random_bits(ctx, ring, len) }
        fn edabits(s, ctx, val ring: Ring, val cut: Option<u32>, val len: usize) -> EdaBits<Values, Packed> {
            s.edabits_of_summands(ctx, ring, cut, len)
        }
        fn trunc_masks(s, ctx, val ring: Ring, val shift: u32, val len: usize) -> TruncMasks<Values> {
            s.masks_of_summands(ctx, ring, shift, len)
        }
        fn wide_edabits(s, ctx, val ring: Ring, val wide: Ring, val len: usize) -> EdaBits<Values, Packed> {
            s.wide_edabits_of_summands(ctx, ring, wide, len)
        }
        fn shuffle(s, ctx, all columns: Values, val rows: usize) -> Vec<Values> { s.shuffle_rows(ctx, columns, rows) }
    }
}
