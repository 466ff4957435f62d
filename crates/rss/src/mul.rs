//! Mul, DotProd, MatMul and any bilinear form: one local product, one reshared element.
//!
//! **Source**: Protocol 1 (section 4.2). **Model**: semi-honest, t of n. **Notation**: v^(p) is `product`, G_T a stream,
//! chi(p) the share that p sends. Rounds: 1. Sent per party: t elements of the result.
//!
//! **Deviation**: none in the messages. A party draws, for each share T that it holds, one element per holder p' of T with
//! chi(p') != T, in the order of p'; its own draws are also taken off its product.

use quorate_engine::{Chunks, Ctx, Form, Result};
use quorate_ring::{Module, Vector};

use crate::setup::Rss;
use crate::share::Shared;

impl Rss {
    /// This party's additive share v^(p) of the product (steps 1 to 4).
    pub(crate) fn local_product<M: Module>(
        &self,
        zero: M,
        x: &Shared<M>,
        y: &Shared<M>,
        accumulate: impl Fn(&mut M, &M, &M),
    ) -> M {
        let mut product = zero;
        for (first, seconds) in &self.maps.products {
            match seconds.as_slice() {
                [second] => accumulate(&mut product, &x.shares[*first], &y.shares[*second]),
                [second, others @ ..] => {
                    let mut sum = y.shares[*second].clone();
                    others.iter().for_each(|&other| sum.add_assign(&y.shares[other]));
                    accumulate(&mut product, &x.shares[*first], &sum);
                    sum.wipe();
                }
                [] => {}
            }
        }
        product
    }

    /// Turns additive shares v^(p) into a replicated sharing of their sum (steps 5 to 22).
    pub(crate) async fn reshare<M: Module>(&self, ctx: &Ctx, mut product: M) -> Result<Shared<M>> {
        let maps = &self.maps;
        let shape = product.shape_of();
        let mut streams = self.streams(ctx);
        let mut result = Vec::with_capacity(maps.held.len());
        for (&set, stream) in maps.held.iter().zip(&mut streams) {
            let mut share: Option<M> = None;
            for holder in maps.holders(set).filter(|&p| maps.chi(p) != set) {
                let mask: M = stream.draw(shape);
                if holder == maps.me {
                    product.sub_assign(&mask);
                }
                match &mut share {
                    Some(share) => share.add_assign(&mask),
                    None => share = Some(mask),
                }
            }
            result.push(share.unwrap_or_else(|| M::zeros(shape)));
        }
        let outgoing: Vec<(usize, &M)> = maps.sent_to.iter().map(|&to| (to, &product)).collect();
        let incoming: Vec<(usize, M::Shape)> = maps.received.iter().map(|&(from, _)| (from, shape)).collect();
        let received = ctx.exchange(&outgoing, &incoming).await?;
        result[maps.sent_share].add_assign(&product);
        for ((_, own), share) in maps.received.iter().zip(&received) {
            result[*own].add_assign(share);
        }
        product.wipe();
        Ok(Shared::new(shape, result))
    }

    /// form(x, y) over Z_2^k; long element-wise products run as a stream of chunks.
    pub(crate) async fn multiply(
        &self,
        ctx: &Ctx,
        form: Form,
        x: &Shared<Vector>,
        y: &Shared<Vector>,
    ) -> Result<Shared<Vector>> {
        let (ring, len) = x.shape;
        let chunks = Chunks::of_bytes(len, ring.carrier().bytes() * 4 * self.share_count());
        if form == Form::Product && chunks.count() > 1 {
            let mut result = self.vector_of_shape(ctx, (ring, len));
            let work = async |ctx: Ctx, range: std::ops::Range<usize>| {
                self.multiply_chunk(&ctx, form, &x.slice(range.clone()), &y.slice(range)).await
            };
            ctx.stream(chunks, work, |range, part| result.write_at(range.start, &part)).await?;
            return Ok(result);
        }
        self.multiply_chunk(ctx, form, x, y).await
    }

    async fn multiply_chunk(
        &self,
        ctx: &Ctx,
        form: Form,
        x: &Shared<Vector>,
        y: &Shared<Vector>,
    ) -> Result<Shared<Vector>> {
        let (ring, len) = x.shape;
        let zero = self.blank(ctx, (ring, form.len_out(len)));
        self.reshare(ctx, self.local_product(zero, x, y, |sum, a, b| form.accumulate(sum, a, b))).await
    }

    /// x and y: the same protocol over Z_2.
    pub(crate) async fn multiply_bits(
        &self,
        ctx: &Ctx,
        x: &Shared<quorate_ring::Bits>,
        y: &Shared<quorate_ring::Bits>,
    ) -> Result<Shared<quorate_ring::Bits>> {
        let zero = self.blank(ctx, x.shape);
        self.reshare(ctx, self.local_product(zero, x, y, |sum, a, b| sum.add_mul_assign(a, b))).await
    }

    /// Zeros, or a shape in a dry run.
    pub(crate) fn blank<M: Module>(&self, ctx: &Ctx, shape: M::Shape) -> M {
        if ctx.is_dry() { M::phantom(shape) } else { M::zeros(shape) }
    }

    /// A place for shares that arrive in chunks.
    pub(crate) fn vector_of_shape(&self, ctx: &Ctx, shape: (quorate_ring::Ring, usize)) -> Shared<Vector> {
        let count = self.share_count();
        if ctx.is_dry() { Shared::phantom(shape, count) } else { Shared::zeros(shape, count) }
    }
}

impl Shared<Vector> {
    pub(crate) fn write_at(&mut self, start: usize, part: &Shared<Vector>) {
        self.shares.iter_mut().zip(&part.shares).for_each(|(whole, part)| whole.write_at(start, part));
    }
}
