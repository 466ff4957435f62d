//! `pika` as the interface that gadgets use.

use quorate_circuits::Program;
use quorate_engine::{
    Checked, ComparisonMasks, Ctx, EdaBits, Form, Linear, LinearBits, Opened, Result, Sharing, TruncMasks, Update,
    UpdateBits,
};
use quorate_gadgets::{
    Gadgets, Garbles, NoLabels, Sign, Width, circuit, compare, compiled_here, convert, decompose, gadgets_here, select,
    trunc_prob, widen,
};
use quorate_ring::{Bits, Module, Ring, Vector};

use crate::input::check_party;
use crate::kept_factor::Factor;
use crate::lookup::MOST_ENTRIES;
use crate::setup::Pika;
use crate::share::{Share, blank};

type Values = Share<Vector>;
type Packed = Share<Bits>;

quorate_gadgets::functions_here! { Pika, Values, Packed, Pika::look_up, Pika::look_up_bit, MOST_ENTRIES }

impl Garbles for Pika {
    type Y = NoLabels;
}

impl Gadgets for Pika {
    gadgets_here! { Pika, Values, Packed }

    compiled_here! { Pika:
        fn msb(s, ctx, at x: Values) -> Packed { s.top_bit(ctx, x) }
        fn lt(s, ctx, at x: Values, at y: Values, val width: Width) -> Packed { compare::lt(s, ctx, x, y, width) }
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

impl Pika {
    fn public_share<M: Module>(&self, value: &M) -> Share<M> {
        match self.me {
            0 => Share::of(value.clone()),
            _ => Share::of(blank(value.is_shape() || self.deals(), value.shape_of())),
        }
    }

    fn plus_public<M: Module>(&self, x: &Share<M>, value: &M) -> Share<M> {
        let mut sum = x.map(M::clone);
        if self.me == 0 {
            sum.add_assign(value);
        }
        sum
    }
}

fn merged<M: Module>(parts: &[&Share<M>], merge: impl Fn(&[&M]) -> M) -> Share<M> {
    Share::of(merge(&parts.iter().map(|part| &***part).collect::<Vec<_>>()))
}

impl Pika {
    /// Returns the lowest bits of the shares: their sum modulo 2 is that of the shares.
    pub fn low_bit(&self, x: &Share<Vector>) -> Share<Bits> {
        x.map(Vector::low_bit)
    }

    /// Returns 2^(k-1) times the bits: 2^(k-1) times a sum depends on that sum modulo 2 only.
    pub fn as_top_bit(&self, x: &Share<Bits>, ring: Ring) -> Share<Vector> {
        x.map(|share| {
            let mut top = share.to_vector(ring);
            top.shl(ring.bits() - 1);
            top
        })
    }
}

impl Sharing for Pika {
    type A = Share<Vector>;
    type B = Share<Bits>;

    const CHECKED: bool = false;
    const MOST_BITS: u32 = 126;
    const KEEPS_FACTORS: bool = true;

    fn shape(&self, x: &Self::A) -> (Ring, usize) {
        x.shape_of()
    }

    fn bit_shape(&self, x: &Self::B) -> (usize, usize) {
        x.shape_of()
    }

    /// Party 0's share is the value, party 1's is zero.
    fn public(&self, value: &Vector) -> Self::A {
        self.public_share(value)
    }

    fn public_bits(&self, value: &Bits) -> Self::B {
        self.public_share(value)
    }

    fn add(&self, x: &Self::A, y: &Self::A) -> Self::A {
        x.zip(y, Vector::add_assign)
    }

    fn sub(&self, x: &Self::A, y: &Self::A) -> Self::A {
        x.zip(y, Vector::sub_assign)
    }

    fn add_public(&self, x: &Self::A, value: &Vector) -> Self::A {
        self.plus_public(x, value)
    }

    fn say_factor(&self, x: &mut Self::A, name: Option<u32>) {
        match name {
            Some(name) => *x = x.as_factor(Factor::shape(name, x.shape_of())),
            None => x.forget_factor(),
        }
    }

    fn linear(&self, x: &Self::A, map: &Linear<'_>) -> Self::A {
        x.map(|share| map.apply(share))
    }

    fn update(&self, x: &mut Self::A, y: &Self::A, update: &Update) {
        update.apply(x, y);
    }

    fn concat(&self, parts: &[&Self::A]) -> Self::A {
        merged(parts, Vector::concat)
    }

    fn xor(&self, x: &Self::B, y: &Self::B) -> Self::B {
        x.zip(y, Bits::xor_assign)
    }

    fn xor_public(&self, x: &Self::B, value: &Bits) -> Self::B {
        self.plus_public(x, value)
    }

    fn linear_bits(&self, x: &Self::B, map: &LinearBits<'_>) -> Self::B {
        x.map(|share| map.apply(share))
    }

    fn update_bits(&self, x: &mut Self::B, y: &Self::B, update: &UpdateBits<'_>) {
        update.apply(x, y);
    }

    fn concat_rows(&self, parts: &[&Self::B]) -> Self::B {
        merged(parts, Bits::concat_rows)
    }

    fn concat_lanes(&self, parts: &[&Self::B]) -> Self::B {
        merged(parts, Bits::concat_lanes)
    }

    async fn lsb(&self, _: &Ctx, x: &Self::A) -> Result<Self::B> {
        Ok(self.low_bit(x))
    }

    async fn bit_to_msb(&self, _: &Ctx, x: &Self::B, ring: Ring) -> Result<Self::A> {
        Ok(self.as_top_bit(x, ring))
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

    async fn check(&self, _ctx: &Ctx) -> Result<Checked> {
        Ok(Checked::unneeded())
    }
}
