//! `rss` that records everything that is opened: each opening's bits, lowest row first.

use std::sync::{Arc, Mutex};

use quorate_engine::{
    Checked, Ctx, EdaBits, Form, Linear, LinearBits, Opened, Result, Sharing, TruncMasks, Update, UpdateBits,
};
use quorate_gadgets::Gadgets;
use quorate_ring::{Bits, Ring, Vector};
use quorate_rss::{Rss, Shared};

#[derive(Clone)]
pub struct Spy {
    rss: Rss,
    opened: Arc<Mutex<Vec<Vec<bool>>>>,
}

impl Spy {
    pub fn new(rss: &Rss) -> Self {
        Spy { rss: rss.clone(), opened: Arc::default() }
    }

    /// Returns what was opened since the last call.
    pub fn take_opened(&self) -> Vec<Vec<bool>> {
        std::mem::take(&mut *self.opened.lock().unwrap())
    }

    fn note(&self, bits: &Bits) {
        self.opened.lock().unwrap().push(bits.to_bools());
    }
}

impl Gadgets for Spy {}

impl Sharing for Spy {
    type A = Shared<Vector>;
    type B = Shared<Bits>;
    const CHECKED: bool = false;
    const MOST_BITS: u32 = Rss::MOST_BITS;

    fn shape(&self, x: &Self::A) -> (Ring, usize) {
        self.rss.shape(x)
    }
    fn bit_shape(&self, x: &Self::B) -> (usize, usize) {
        self.rss.bit_shape(x)
    }
    fn public(&self, value: &Vector) -> Self::A {
        self.rss.public(value)
    }
    fn public_bits(&self, value: &Bits) -> Self::B {
        self.rss.public_bits(value)
    }
    fn add(&self, x: &Self::A, y: &Self::A) -> Self::A {
        self.rss.add(x, y)
    }
    fn sub(&self, x: &Self::A, y: &Self::A) -> Self::A {
        self.rss.sub(x, y)
    }
    fn add_public(&self, x: &Self::A, value: &Vector) -> Self::A {
        self.rss.add_public(x, value)
    }
    fn linear(&self, x: &Self::A, map: &Linear<'_>) -> Self::A {
        self.rss.linear(x, map)
    }
    fn update(&self, x: &mut Self::A, y: &Self::A, update: &Update) {
        self.rss.update(x, y, update);
    }
    fn concat(&self, parts: &[&Self::A]) -> Self::A {
        self.rss.concat(parts)
    }
    fn xor(&self, x: &Self::B, y: &Self::B) -> Self::B {
        self.rss.xor(x, y)
    }
    fn xor_public(&self, x: &Self::B, value: &Bits) -> Self::B {
        self.rss.xor_public(x, value)
    }
    fn linear_bits(&self, x: &Self::B, map: &LinearBits<'_>) -> Self::B {
        self.rss.linear_bits(x, map)
    }
    fn update_bits(&self, x: &mut Self::B, y: &Self::B, update: &UpdateBits<'_>) {
        self.rss.update_bits(x, y, update);
    }
    fn concat_rows(&self, parts: &[&Self::B]) -> Self::B {
        self.rss.concat_rows(parts)
    }
    fn concat_lanes(&self, parts: &[&Self::B]) -> Self::B {
        self.rss.concat_lanes(parts)
    }
    async fn lsb(&self, ctx: &Ctx, x: &Self::A) -> Result<Self::B> {
        self.rss.lsb(ctx, x).await
    }
    async fn bit_to_msb(&self, ctx: &Ctx, x: &Self::B, ring: Ring) -> Result<Self::A> {
        self.rss.bit_to_msb(ctx, x, ring).await
    }
    async fn input(&self, ctx: &Ctx, owner: usize, shape: (Ring, usize), value: Option<&Vector>) -> Result<Self::A> {
        self.rss.input(ctx, owner, shape, value).await
    }
    async fn input_bits(
        &self,
        ctx: &Ctx,
        owner: usize,
        shape: (usize, usize),
        value: Option<&Bits>,
    ) -> Result<Self::B> {
        self.rss.input_bits(ctx, owner, shape, value).await
    }
    async fn bilinear(&self, ctx: &Ctx, form: Form, x: &Self::A, y: &Self::A) -> Result<Self::A> {
        self.rss.bilinear(ctx, form, x, y).await
    }
    async fn and(&self, ctx: &Ctx, x: &Self::B, y: &Self::B) -> Result<Self::B> {
        self.rss.and(ctx, x, y).await
    }
    async fn open(&self, ctx: &Ctx, x: &Self::A) -> Result<Opened<Vector>> {
        let value = self.rss.open(ctx, x).await?;
        self.note(&value.to_bits(0..value.ring().bits()));
        Ok(value)
    }
    async fn open_bits(&self, ctx: &Ctx, x: &Self::B) -> Result<Opened<Bits>> {
        let bits = self.rss.open_bits(ctx, x).await?;
        self.note(&bits);
        Ok(bits)
    }
    async fn check(&self, ctx: &Ctx) -> Result<Checked> {
        self.rss.check(ctx).await
    }
    async fn reveal(
        &self,
        ctx: &Ctx,
        checked: &Checked,
        x: &Self::A,
        to: Option<usize>,
    ) -> Result<Option<Opened<Vector>>> {
        self.rss.reveal(ctx, checked, x, to).await
    }
    async fn reveal_bits(
        &self,
        ctx: &Ctx,
        checked: &Checked,
        x: &Self::B,
        to: Option<usize>,
    ) -> Result<Option<Opened<Bits>>> {
        self.rss.reveal_bits(ctx, checked, x, to).await
    }
    async fn random_bits(&self, ctx: &Ctx, ring: Ring, len: usize) -> Result<Self::A> {
        self.rss.random_bits(ctx, ring, len).await
    }
    async fn edabits(&self, ctx: &Ctx, ring: Ring, cut: Option<u32>, len: usize) -> Result<EdaBits<Self::A, Self::B>> {
        self.rss.edabits(ctx, ring, cut, len).await
    }
    async fn trunc_masks(&self, ctx: &Ctx, ring: Ring, shift: u32, len: usize) -> Result<TruncMasks<Self::A>> {
        self.rss.trunc_masks(ctx, ring, shift, len).await
    }
    async fn shuffle(&self, ctx: &Ctx, columns: &[&Self::A], rows: usize) -> Result<Vec<Self::A>> {
        self.rss.shuffle(ctx, columns, rows).await
    }

    async fn wide_edabits(&self, ctx: &Ctx, ring: Ring, wide: Ring, len: usize) -> Result<EdaBits<Self::A, Self::B>> {
        self.rss.wide_edabits(ctx, ring, wide, len).await
    }
}
