//! Mul, DotProd, MatMul and other bilinear forms: a local product, of which one element is reshared.
//!
//! **Source**: Protocol 1 (section 4.2). **Model**: semi-honest, t of n. **Notation**: v^(p) is `product`, G_T a
//! stream, chi(p) the share that p sends. Rounds: 1. Sent per party: t elements of the result.
//!
//! **Deviation**: none in the messages. A party draws, for each share T that it holds, one element for each holder p'
//! of T with chi(p') != T, in the order of p'. It also subtracts its own draws from its product.

use std::cell::RefCell;
use std::ops::Range;

use quorate_engine::{Chunks, Ctx, Form, Result, counted_as_shared};
use quorate_ring::{Bits, Module, Vector};

use crate::parts::{Chunk, Parts};
use crate::setup::Rss;
use crate::share::{Shared, Wiped};

/// The number of vectors of a chunk's length that a product works on at a time, without those that it reads in place.
const CHUNK_VECTORS: usize = 16;
/// The number of vectors of a chunk's length that a resharing works on at a time, without the product, besides the
/// shares of the result.
const RESHARE_VECTORS: usize = 4;

impl Rss {
    /// Returns this party's additive share v^(p) of the product (steps 1 to 4).
    pub(crate) fn local_product<M: Module>(
        &self,
        zero: M,
        x: &Shared<M>,
        y: &Shared<M>,
        accumulate: impl Fn(&mut M, &M, &M),
    ) -> Wiped<M> {
        let mut product = Wiped(zero);
        for (firsts, seconds) in &self.maps.products {
            with_sum(x, firsts, |x| with_sum(y, seconds, |y| accumulate(&mut product, x, y)));
        }
        product
    }

    /// Turns additive shares v^(p) into a replicated sharing of their sum (steps 5 to 22).
    pub(crate) async fn reshare<M: Module>(&self, ctx: &Ctx, mut product: Wiped<M>) -> Result<Shared<M>> {
        let maps = &self.maps;
        let shape = product.shape_of();
        let mut streams = self.streams(ctx);
        let mut result: Shared<M> = Shared::new(shape, Vec::with_capacity(maps.held.len()));
        let mut mask: Option<Wiped<M>> = None;
        for (&set, stream) in maps.held.iter().zip(&mut streams) {
            // Since n >= 3, every share has a holder that sends another one: there is a first draw.
            let mut holders = maps.holders(set).filter(|&p| maps.chi(p) != set);
            let first = holders.next();
            let mut share: M = stream.draw(shape);
            if first == Some(maps.me) {
                product.sub_assign(&share);
            }
            for holder in holders {
                let mask = mask.get_or_insert_with(|| Wiped(self.blank(ctx, shape)));
                stream.fill(&mut **mask);
                if holder == maps.me {
                    product.sub_assign(mask);
                }
                share.add_assign(mask);
            }
            result.shares.push(share);
        }
        let received = self.exchange_products(ctx, &*product).await?;
        result.shares[maps.sent_share].add_assign(&product);
        for ((_, own), share) in maps.received.iter().zip(&received) {
            result.shares[*own].add_assign(share);
        }
        Ok(result)
    }

    /// Multiplies all elements at once.
    async fn multiply_elements(&self, ctx: &Ctx, x: &Shared<Vector>, y: &Shared<Vector>) -> Result<Shared<Vector>> {
        let result = RefCell::new(self.vector_of_shape(ctx, x.shape));
        self.multiply_range(ctx, x, y, &result, 0..x.shape.1).await?;
        Ok(result.into_inner())
    }

    /// Multiplies in chunks at whichever worker is free. Unlike a chunk here, which works in place, such a chunk has
    /// copies of its operands and a result of its own.
    async fn multiply_elsewhere(
        &self,
        ctx: &Ctx,
        chunks: Chunks,
        operands: [&Shared<Vector>; 2],
    ) -> Result<Shared<Vector>> {
        let mut result = self.vector_of_shape(ctx, operands[0].shape);
        let rss = self.clone();
        let work = async move |ctx: Ctx, [x, y]: [Shared<Vector>; 2]| rss.multiply_elements(&ctx, &x, &y).await;
        let parts = |range: Range<usize>| operands.map(|operand| operand.slice(range.clone()));
        ctx.spread(chunks, parts, work, |range, part| result.write_at(range.start, &part)).await?;
        Ok(result)
    }

    /// Multiplies the elements of a range and writes them into the result.
    async fn multiply_range(
        &self,
        ctx: &Ctx,
        x: &Shared<Vector>,
        y: &Shared<Vector>,
        result: &RefCell<Shared<Vector>>,
        range: Range<usize>,
    ) -> Result<()> {
        let maps = &self.maps;
        let shape = (x.shape.0, range.len());
        let mut product = Wiped(self.blank::<Vector>(ctx, shape));
        let streams = self.streams(ctx);
        let chunk = Chunk { maps, streams: &streams, x, y, units: range.clone(), dry: ctx.is_dry() };
        let places = |share| Vector::bytes_of_mut(share, range.clone());
        chunk.compute(product.bytes_mut(), result.borrow_mut().shares.iter_mut().map(places).collect());
        let received = self.exchange_products(ctx, &*product).await?;
        let mut result = result.borrow_mut();
        result.shares[maps.sent_share].add_at(range.start, &product);
        for ((_, own), share) in maps.received.iter().zip(&received) {
            result.shares[*own].add_at(range.start, share);
        }
        Ok(())
    }

    /// Sends the masked product, and receives those of others (steps 16 to 22).
    async fn exchange_products<M: Module>(&self, ctx: &Ctx, product: &M) -> Result<Vec<Wiped<M>>> {
        let maps = &self.maps;
        let outgoing: Vec<(usize, &M)> = maps.sent_to.iter().map(|&to| (to, product)).collect();
        let incoming: Vec<_> = maps.received.iter().map(|&(from, _)| (from, product.shape_of())).collect();
        Ok(ctx.exchange(&outgoing, &incoming).await?.into_iter().map(Wiped).collect())
    }

    /// Returns form(x, y) over Z_2^k; long products run, or are reshared, as a stream of chunks.
    pub(crate) async fn multiply(
        &self,
        ctx: &Ctx,
        form: Form,
        x: &Shared<Vector>,
        y: &Shared<Vector>,
    ) -> Result<Shared<Vector>> {
        form.check(x.shape, y.shape)?;
        let (ring, len) = x.shape;
        if form == Form::Product {
            let chunks = Chunks::of_bytes(len, ring.carrier().bytes() * CHUNK_VECTORS);
            return match chunks.count() {
                0 | 1 => self.multiply_elements(ctx, x, y).await,
                _ if ctx.has_other_workers() => self.multiply_elsewhere(ctx, chunks, [x, y]).await,
                _ => {
                    let result = RefCell::new(self.vector_of_shape(ctx, (ring, len)));
                    let work = async |ctx: Ctx, range| {
                        counted_as_shared(self.multiply_range(&ctx, x, y, &result, range)).await
                    };
                    ctx.stream_alike(chunks, work, |_, ()| ()).await?;
                    Ok(result.into_inner())
                }
            };
        }
        let zero = self.blank(ctx, (ring, form.len_out(len)));
        self.reshare_long(ctx, self.local_product(zero, x, y, |sum, a, b| form.accumulate(sum, a, b))).await
    }

    /// Reshares a vector like [`Rss::reshare`], as a stream of chunks where it is long. Otherwise a party that is
    /// behind would have to store the whole message before it reads it.
    async fn reshare_long(&self, ctx: &Ctx, product: Wiped<Vector>) -> Result<Shared<Vector>> {
        let (ring, len) = product.shape_of();
        let chunks = Chunks::of_bytes(len, ring.carrier().bytes() * (self.share_count() + RESHARE_VECTORS));
        if chunks.count() <= 1 {
            return self.reshare(ctx, product).await;
        }
        let mut result = self.vector_of_shape(ctx, (ring, len));
        let rss = self.clone();
        let work = async move |ctx: Ctx, part| rss.reshare(&ctx, part).await;
        ctx.spread(
            chunks,
            |range| Wiped(product.slice(range)),
            work,
            |range, part| result.write_at(range.start, &part),
        )
        .await?;
        Ok(result)
    }

    /// Returns x AND y, bit by bit, by this protocol over Z_2.
    pub(crate) async fn multiply_bits(&self, ctx: &Ctx, x: &Shared<Bits>, y: &Shared<Bits>) -> Result<Shared<Bits>> {
        Form::Product.check(x.shape, y.shape)?;
        let maps = &self.maps;
        let mut product = Wiped(self.blank::<Bits>(ctx, x.shape));
        let shares = (0..self.share_count()).map(|_| self.blank(ctx, x.shape)).collect();
        let mut result = Shared::new(x.shape, shares);
        let (streams, units) = (self.streams(ctx), 0..Bits::units(x.shape));
        let chunk = Chunk { maps, streams: &streams, x, y, units, dry: ctx.is_dry() };
        chunk.compute(product.bytes_mut(), result.shares.iter_mut().map(Bits::bytes_mut).collect());
        let received = self.exchange_products(ctx, &*product).await?;
        result.shares[maps.sent_share].xor_assign(&product);
        for ((_, own), share) in maps.received.iter().zip(&received) {
            result.shares[*own].xor_assign(share);
        }
        Ok(result)
    }

    /// Returns zeros, or a shape in a dry run.
    pub(crate) fn blank<M: Module>(&self, ctx: &Ctx, shape: M::Shape) -> M {
        if ctx.is_dry() { M::phantom(shape) } else { M::zeros(shape) }
    }

    /// Returns an empty vector for shares that arrive in chunks.
    pub(crate) fn vector_of_shape(&self, ctx: &Ctx, shape: (quorate_ring::Ring, usize)) -> Shared<Vector> {
        let count = self.share_count();
        if ctx.is_dry() { Shared::phantom(shape, count) } else { Shared::zeros(shape, count) }
    }
}

/// Calls `work` with the sum of some shares; a single share is passed as it is.
fn with_sum<M: Module>(x: &Shared<M>, shares: &[usize], work: impl FnOnce(&M)) {
    match shares {
        [] => {}
        [only] => work(&x.shares[*only]),
        [first, others @ ..] => {
            let mut sum = Wiped(x.shares[*first].clone());
            others.iter().for_each(|&other| sum.add_assign(&x.shares[other]));
            work(&sum);
        }
    }
}

impl Shared<Vector> {
    pub(crate) fn write_at(&mut self, start: usize, part: &Shared<Vector>) {
        self.shares.iter_mut().zip(&part.shares).for_each(|(whole, part)| whole.write_at(start, part));
    }
}
