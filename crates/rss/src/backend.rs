//! `rss` behind the interface that gadgets are written in.

use quorate_engine::{
    Checked, Ctx, EdaBits, Form, Linear, LinearBits, Misuse, Opened, Result, Sharing, TruncMasks, Update, UpdateBits,
};
use quorate_gadgets::{
    Functions, Gadgets, Garbles, NoLabels, Sign, compare, decompose, equality, trunc_prob, truncate, widen,
};
use quorate_ring::{Bits, Module, Ring, Vector};

use crate::setup::Rss;
use crate::share::Shared;

impl Functions for Rss {}

impl Garbles for Rss {
    type Y = NoLabels;
}

/// Three parties work on the summands that parties know, unless [`Forms`](crate::Forms) say otherwise.
impl Gadgets for Rss {
    async fn msb(&self, ctx: &Ctx, x: &Self::A) -> Result<Self::B> {
        match self.uses_summands() {
            true => self.msb_of_summands(ctx, x).await,
            false => compare::msb(self, ctx, x).await,
        }
    }

    async fn eqz(&self, ctx: &Ctx, x: &Self::A) -> Result<Self::B> {
        match self.uses_summands() && x.shape.0.bits() > 1 {
            true => self.eqz_of_summands(ctx, x).await,
            false => equality::eqz(self, ctx, x).await,
        }
    }

    async fn bit_decompose(&self, ctx: &Ctx, x: &Self::A) -> Result<Self::B> {
        match self.uses_summands() {
            true => self.decompose_summands(ctx, x).await,
            false => decompose::bit_decompose(self, ctx, x).await,
        }
    }

    async fn trunc_exact(&self, ctx: &Ctx, x: &Self::A, shift: u32) -> Result<Self::A> {
        match self.uses_summands() {
            true => self.truncate_summands(ctx, x, shift).await,
            false => truncate::trunc_exact(self, ctx, x, shift).await,
        }
    }

    async fn trunc_prob(&self, ctx: &Ctx, x: &Self::A, shift: u32) -> Result<Self::A> {
        trunc_prob::check_shift(x.shape.0, shift)?;
        match self.uses_summands() && shift > 0 {
            true => self.round_summands(ctx, x, shift).await,
            false => trunc_prob::trunc_prob(self, ctx, x, shift).await,
        }
    }

    async fn convert(&self, ctx: &Ctx, x: &Self::A, ring: Ring, sign: Sign) -> Result<Self::A> {
        match self.uses_summands() && ring.bits() > x.shape.0.bits() {
            true => self.widen_summands(ctx, x, ring, sign.offset(x.shape.0)).await,
            false => widen::convert(self, ctx, x, ring, sign).await,
        }
    }
}

impl Rss {
    fn public_shares<M: Module>(&self, value: &M) -> Shared<M> {
        let shape = value.shape_of();
        let mut shared: Shared<M> = match value.is_shape() {
            true => Shared::phantom(shape, self.share_count()),
            false => Shared::zeros(shape, self.share_count()),
        };
        if let Some(own) = self.maps.public_share {
            shared.shares[own].add_assign(value);
        }
        shared
    }

    fn plus_public<M: Module>(&self, x: &Shared<M>, value: &M) -> Shared<M> {
        let mut sum = x.clone();
        if let Some(own) = self.maps.public_share {
            sum.shares[own].add_assign(value);
        }
        sum
    }

    /// One sharing made of several, share by share.
    fn merge<M: Module>(&self, parts: &[&Shared<M>], merge: impl Fn(&[&M]) -> M) -> Shared<M> {
        let share = |i: usize| merge(&parts.iter().map(|part| &part.shares[i]).collect::<Vec<_>>());
        let shares: Vec<M> = (0..self.share_count()).map(share).collect();
        Shared::new(shares[0].shape_of(), shares)
    }
}

impl Sharing for Rss {
    type A = Shared<Vector>;
    type B = Shared<Bits>;

    const CHECKED: bool = false;

    fn shape(&self, x: &Self::A) -> (Ring, usize) {
        x.shape
    }

    fn bit_shape(&self, x: &Self::B) -> (usize, usize) {
        x.shape
    }

    fn public(&self, value: &Vector) -> Self::A {
        self.public_shares(value)
    }

    fn public_bits(&self, value: &Bits) -> Self::B {
        self.public_shares(value)
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
        x.shares.iter_mut().zip(&y.shares).for_each(|(x, y)| update.apply(x, y));
        x.shape = x.shares[0].shape_of();
    }

    fn concat(&self, parts: &[&Self::A]) -> Self::A {
        self.merge(parts, Vector::concat)
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
        x.shares.iter_mut().zip(&y.shares).for_each(|(x, y)| update.apply(x, y));
        x.shape = x.shares[0].shape_of();
    }

    fn concat_rows(&self, parts: &[&Self::B]) -> Self::B {
        self.merge(parts, Bits::concat_rows)
    }

    fn concat_lanes(&self, parts: &[&Self::B]) -> Self::B {
        self.merge(parts, Bits::concat_lanes)
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
        self.share_long_input(ctx, owner, shape, value).await
    }

    async fn input_bits(
        &self,
        ctx: &Ctx,
        owner: usize,
        shape: (usize, usize),
        value: Option<&Bits>,
    ) -> Result<Self::B> {
        self.share_input(ctx, owner, shape, value).await
    }

    async fn bilinear(&self, ctx: &Ctx, form: Form, x: &Self::A, y: &Self::A) -> Result<Self::A> {
        self.multiply(ctx, form, x, y).await
    }

    async fn and(&self, ctx: &Ctx, x: &Self::B, y: &Self::B) -> Result<Self::B> {
        self.multiply_bits(ctx, x, y).await
    }

    async fn open(&self, ctx: &Ctx, x: &Self::A) -> Result<Opened<Vector>> {
        Ok(ctx.opened(self.open_long(ctx, x, |_| true).await?.ok_or(NOT_OPENED)?))
    }

    async fn open_bits(&self, ctx: &Ctx, x: &Self::B) -> Result<Opened<Bits>> {
        Ok(ctx.opened(self.open_where(ctx, x, |_| true).await?.ok_or(NOT_OPENED)?))
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
        let value = self.open_long(ctx, x, |party| to.is_none_or(|to| party == to)).await?;
        Ok(value.map(|value| ctx.revealed(value)))
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
        let bits = self.open_where(ctx, x, |party| to.is_none_or(|to| party == to)).await?;
        Ok(bits.map(|bits| ctx.revealed(bits)))
    }

    async fn random_bits(&self, ctx: &Ctx, ring: Ring, len: usize) -> Result<Self::A> {
        self.draw_random_bits(ctx, ring, len).await
    }

    async fn edabits(&self, ctx: &Ctx, ring: Ring, cut: Option<u32>, len: usize) -> Result<EdaBits<Self::A, Self::B>> {
        self.draw_edabits(ctx, ring, cut, len).await
    }

    async fn trunc_masks(&self, ctx: &Ctx, ring: Ring, shift: u32, len: usize) -> Result<TruncMasks<Self::A>> {
        self.draw_trunc_masks(ctx, ring, shift, len).await
    }

    async fn shuffle(&self, ctx: &Ctx, columns: &[&Self::A], rows: usize) -> Result<Vec<Self::A>> {
        self.shuffle_rows(ctx, columns, rows).await
    }

    async fn wide_edabits(&self, ctx: &Ctx, ring: Ring, wide: Ring, len: usize) -> Result<EdaBits<Self::A, Self::B>> {
        self.draw_wide_edabits(ctx, ring, wide, len).await
    }
}

fn check_party(ctx: &Ctx, party: usize) -> Result<()> {
    let parties = ctx.parties();
    if party < parties { Ok(()) } else { Err(Misuse::NoSuchParty { party, parties }.into()) }
}

const NOT_OPENED: quorate_engine::Error = quorate_engine::Error::Bug { what: "an opening to all gave nothing" };
