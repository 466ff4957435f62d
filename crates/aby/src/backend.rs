//! `aby` behind the interface that gadgets are written in. Its futures are boxed where programs enter: gadgets nest
//! deeply.

use quorate_circuits::Program;
use quorate_engine::{
    Checked, Ctx, EdaBits, Form, Linear, LinearBits, Opened, Result, Sharing, TruncMasks, Update, UpdateBits,
};
use quorate_gadgets::{Functions, Gadgets, Garbles, Sign, Width, compare, select, trunc_prob, widen};
use quorate_ring::{Bits, Module, Ring, Vector};

use crate::input::check_party;
use crate::mul::NOT_OPENED;
use crate::setup::Aby;
use crate::share::Share;
use crate::yao::YaoLabels;

impl Functions for Aby {}

impl Garbles for Aby {
    type Y = YaoLabels;

    const GARBLES: bool = true;

    fn public_labels(&self, bits: &Bits) -> Result<Self::Y> {
        self.labels_known_to_garbler(bits)
    }

    async fn input_labels(
        &self,
        ctx: &Ctx,
        owner: usize,
        shape: (usize, usize),
        value: Option<&Bits>,
    ) -> Result<Self::Y> {
        Box::pin(self.share_labels(ctx, owner, shape, value)).await
    }

    async fn bits_to_labels(&self, ctx: &Ctx, x: &Self::B) -> Result<Self::Y> {
        Box::pin(self.labels_of_bits(ctx, x)).await
    }

    fn labels_to_bits(&self, x: &Self::Y) -> Result<Self::B> {
        Ok(Share(x.colours()))
    }

    async fn ring_to_labels(&self, ctx: &Ctx, x: &Self::A) -> Result<Self::Y> {
        Box::pin(self.labels_of_summands(ctx, x)).await
    }

    async fn garble(&self, ctx: &Ctx, program: &Program, inputs: &Self::Y) -> Result<Self::Y> {
        Box::pin(self.run_garbled(ctx, program, inputs)).await
    }
}

impl Gadgets for Aby {
    async fn msb(&self, ctx: &Ctx, x: &Self::A) -> Result<Self::B> {
        Box::pin(self.msb_of_summands(ctx, x)).await
    }

    async fn lt(&self, ctx: &Ctx, x: &Self::A, y: &Self::A, width: Width) -> Result<Self::B> {
        match width {
            Width::Difference(bits) if bits <= x.ring().bits() => compare::lt(self, ctx, x, y, width).await,
            _ => Box::pin(self.less_of_summands(ctx, x, y)).await,
        }
    }

    async fn eqz(&self, ctx: &Ctx, x: &Self::A) -> Result<Self::B> {
        Box::pin(self.eqz_of_summands(ctx, x)).await
    }

    async fn bit_decompose(&self, ctx: &Ctx, x: &Self::A) -> Result<Self::B> {
        Box::pin(self.decompose_summands(ctx, x)).await
    }

    async fn compose(&self, ctx: &Ctx, x: &Self::B, ring: Ring) -> Result<Self::A> {
        Box::pin(self.compose_bits(ctx, x, ring)).await
    }

    async fn trunc_exact(&self, ctx: &Ctx, x: &Self::A, shift: u32) -> Result<Self::A> {
        Box::pin(self.truncate_summands(ctx, x, shift)).await
    }

    async fn trunc_prob(&self, ctx: &Ctx, x: &Self::A, shift: u32) -> Result<Self::A> {
        trunc_prob::check_shift(x.ring(), shift)?;
        if shift == 0 { Ok(x.clone()) } else { Box::pin(self.round_summands(ctx, x, shift)).await }
    }

    async fn convert(&self, ctx: &Ctx, x: &Self::A, ring: Ring, sign: Sign) -> Result<Self::A> {
        match ring.bits() > x.ring().bits() {
            true => Box::pin(self.widen_summands(ctx, x, ring, sign.offset(x.ring()))).await,
            false => widen::convert(self, ctx, x, ring, sign).await,
        }
    }

    async fn mask(&self, ctx: &Ctx, bit: &Self::B, x: &Self::A) -> Result<Self::A> {
        Box::pin(self.select(ctx, bit, x)).await
    }

    async fn mux(&self, ctx: &Ctx, bit: &Self::B, x: &Self::A, y: &Self::A) -> Result<Self::A> {
        select::mux(self, ctx, bit, x, y).await
    }
}

impl Aby {
    fn public_share<M: Module>(&self, value: &M) -> Share<M> {
        match self.me {
            0 => Share(value.clone()),
            _ if value.is_shape() => Share(M::phantom(value.shape_of())),
            _ => Share(M::zeros(value.shape_of())),
        }
    }

    fn plus_public<M: Module>(&self, x: &Share<M>, value: &M) -> Share<M> {
        let mut sum = x.clone();
        if self.me == 0 {
            sum.add_assign(value);
        }
        sum
    }
}

fn merged<M: Module>(parts: &[&Share<M>], merge: impl Fn(&[&M]) -> M) -> Share<M> {
    Share(merge(&parts.iter().map(|part| &***part).collect::<Vec<_>>()))
}

impl Sharing for Aby {
    type A = Share<Vector>;
    type B = Share<Bits>;

    const CHECKED: bool = false;

    fn shape(&self, x: &Self::A) -> (Ring, usize) {
        x.shape_of()
    }

    fn bit_shape(&self, x: &Self::B) -> (usize, usize) {
        x.shape_of()
    }

    /// Party 0's share is the value, the other's is zero.
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

    /// The shares' low bits: their sum modulo 2 is that of the shares.
    fn low_bit(&self, x: &Self::A) -> Self::B {
        x.map(Vector::low_bit)
    }

    /// 2^(k-1) times a sum depends on that sum modulo 2 only.
    fn as_top_bit(&self, x: &Self::B, ring: Ring) -> Self::A {
        x.map(|share| {
            let mut top = share.to_vector(ring);
            top.shl(ring.bits() - 1);
            top
        })
    }

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

    async fn bilinear(&self, ctx: &Ctx, form: Form, x: &Self::A, y: &Self::A) -> Result<Self::A> {
        Box::pin(self.multiply(ctx, form, x, y)).await
    }

    async fn and(&self, ctx: &Ctx, x: &Self::B, y: &Self::B) -> Result<Self::B> {
        Box::pin(self.multiply_bits(ctx, x, y)).await
    }

    async fn open(&self, ctx: &Ctx, x: &Self::A) -> Result<Opened<Vector>> {
        Ok(ctx.opened(self.open_long(ctx, x, None).await?.ok_or(NOT_OPENED)?))
    }

    async fn open_bits(&self, ctx: &Ctx, x: &Self::B) -> Result<Opened<Bits>> {
        Ok(ctx.opened(self.open_share(ctx, x, None).await?.ok_or(NOT_OPENED)?))
    }

    async fn check(&self, _ctx: &Ctx) -> Result<Checked> {
        Ok(Checked::unneeded())
    }

    async fn reveal(
        &self,
        ctx: &Ctx,
        checked: &Checked,
        x: &Self::A,
        to: Option<usize>,
    ) -> Result<Option<Opened<Vector>>> {
        checked.allows_reveals(ctx)?;
        to.map_or(Ok(()), |to| check_party(ctx, to))?;
        Ok(self.open_long(ctx, x, to).await?.map(|value| ctx.revealed(value)))
    }

    async fn reveal_bits(
        &self,
        ctx: &Ctx,
        checked: &Checked,
        x: &Self::B,
        to: Option<usize>,
    ) -> Result<Option<Opened<Bits>>> {
        checked.allows_reveals(ctx)?;
        to.map_or(Ok(()), |to| check_party(ctx, to))?;
        Ok(self.open_share(ctx, x, to).await?.map(|bits| ctx.revealed(bits)))
    }

    async fn random_bits(&self, ctx: &Ctx, ring: Ring, len: usize) -> Result<Self::A> {
        Box::pin(self.draw_random_bits(ctx, ring, len)).await
    }

    async fn edabits(&self, ctx: &Ctx, ring: Ring, cut: Option<u32>, len: usize) -> Result<EdaBits<Self::A, Self::B>> {
        Box::pin(self.edabits_of_summands(ctx, ring, cut, len)).await
    }

    async fn trunc_masks(&self, ctx: &Ctx, ring: Ring, shift: u32, len: usize) -> Result<TruncMasks<Self::A>> {
        Box::pin(self.masks_of_summands(ctx, ring, shift, len)).await
    }

    async fn wide_edabits(&self, ctx: &Ctx, ring: Ring, wide: Ring, len: usize) -> Result<EdaBits<Self::A, Self::B>> {
        Box::pin(self.wide_edabits_of_summands(ctx, ring, wide, len)).await
    }

    async fn shuffle(&self, ctx: &Ctx, columns: &[&Self::A], rows: usize) -> Result<Vec<Self::A>> {
        Box::pin(self.shuffle_rows(ctx, columns, rows)).await
    }
}
