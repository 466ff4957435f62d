//! Products over Z_2^k and AND, with multiplication triples.
//!
//! **Source**: aby, sections III-A2 and III-B2; Beaver 1991; matrix triples as in SecureML (Mohassel, Zhang 2017).
//! **Model**: semi-honest, 1 of 2. **Notation**: (a, b, c) the triple, d = x - a and e = y - b opened, z = d e + d b +
//! a e + c.
//!
//! | operation | rounds | bits sent by each party | correlations |
//! |---|---|---|---|
//! | product, sum of products | 1 | 2 k for each pair | a triple for each pair |
//! | (m x k) times (k x n) | 1 | m k + k n elements | a matrix triple |
//! | convolution | 1 | images and filters, each element once | a triple of the convolution |
//! | AND | 1 | 2 | a bit triple |

use std::ops::Range;

use quorate_additive::blank;
use quorate_additive::open::{NOT_OPENED, opening};
use quorate_additive::product::{combined, in_rows};
use quorate_engine::{Chunks, Ctx, Form, Result, Stocks};
use quorate_ring::{Bits, Module, Vector};

use crate::Share;
use crate::kind::Kind;
use crate::setup::Aby;

/// The number of vectors of a chunk's length that a product works on at a time.
const CHUNK_VECTORS: usize = 12;

impl Aby {
    /// Computes form(x, y) over Z_2^k.
    pub(crate) async fn multiply(
        &self,
        ctx: &Ctx,
        form: Form,
        x: &Share<Vector>,
        y: &Share<Vector>,
    ) -> Result<Share<Vector>> {
        form.check(x.shape_of(), y.shape_of())?;
        match form {
            Form::Product => self.multiply_elements(ctx, x, y).await,
            Form::Dot { outer, axis, inner } => {
                let products = self.multiply_elements(ctx, x, y).await?;
                Ok(products.map(|z| z.sum_axis(outer, axis, inner)))
            }
            Form::MatMul { .. } | Form::Conv(_) if x.is_empty() || y.is_empty() || form.len_out(x.len()) == 0 => {
                Ok(Share::of(blank(ctx.is_dry(), (x.ring(), form.len_out(x.len())))))
            }
            Form::MatMul { m, k, n } => {
                let kind = Kind::MatrixTriple { bits: x.ring().bits(), m, k, n };
                self.multiply_whole(ctx, form, kind, [x, y]).await
            }
            Form::Conv(conv) => {
                let kind = Kind::ConvTriple { bits: x.ring().bits(), conv };
                self.multiply_whole(ctx, form, kind, [x, y]).await
            }
        }
    }

    /// Computes a form with one triple for all of it.
    async fn multiply_whole(
        &self,
        ctx: &Ctx,
        form: Form,
        kind: Kind,
        [x, y]: [&Share<Vector>; 2],
    ) -> Result<Share<Vector>> {
        let triple: [Share<Vector>; 3] = self.draw(ctx, kind, 1).await?.into_vectors()?;
        let (d, e) = self.open_differences(ctx, [x, y], &triple).await?;
        Ok(combined(self.me, triple, (&d, &e), |sum, a, b| form.accumulate(sum, a, b)))
    }

    /// Computes x y, element by element, as a stream of chunks.
    async fn multiply_elements(&self, ctx: &Ctx, x: &Share<Vector>, y: &Share<Vector>) -> Result<Share<Vector>> {
        let (ring, len) = x.shape_of();
        let chunks = Chunks::of_bytes(len, ring.carrier().bytes() * CHUNK_VECTORS);
        if chunks.count() <= 1 {
            return self.multiply_chunk(ctx, x, y).await;
        }
        let mut result = Share::of(blank::<Vector>(ctx.is_dry(), (ring, len)));
        let parts = |range: Range<usize>| [x, y].map(|v| v.map(|v| v.slice(range.clone())));
        let aby = self.clone();
        let work = async move |ctx: Ctx, [x, y]: [Share<Vector>; 2]| aby.multiply_chunk(&ctx, &x, &y).await;
        ctx.spread(chunks, parts, work, |range, part| result.write_at(range.start, &part)).await?;
        Ok(result)
    }

    async fn multiply_chunk(&self, ctx: &Ctx, x: &Share<Vector>, y: &Share<Vector>) -> Result<Share<Vector>> {
        let kind = Kind::Triple { bits: x.ring().bits() };
        let triple: [Share<Vector>; 3] = self.draw(ctx, kind, x.len()).await?.into_vectors()?;
        let (d, e) = self.open_differences(ctx, [x, y], &triple).await?;
        Ok(combined(self.me, triple, (&d, &e), Vector::add_mul_assign))
    }

    /// Opens x - a and y - b: in one message, or each by itself if they are long.
    async fn open_differences(
        &self,
        ctx: &Ctx,
        [x, y]: [&Share<Vector>; 2],
        [a, b, _]: &[Share<Vector>; 3],
    ) -> Result<(Share<Vector>, Share<Vector>)> {
        let (d, e) = (x.zip(a, Vector::sub_assign), y.zip(b, Vector::sub_assign));
        if opening((d.ring(), d.len() + e.len())).count() > 1 {
            let open_d = async |ctx: Ctx| self.open_in_place(&ctx, d).await;
            return ctx.join(open_d, async |ctx: Ctx| self.open_in_place(&ctx, e).await).await;
        }
        let both = Share::of(Vector::concat(&[&*d, &*e]));
        let opened = self.open_share(ctx, &both, None).await?.map(Share::of).ok_or(NOT_OPENED)?;
        Ok((opened.map(|o| o.slice(0..d.len())), opened.map(|o| o.slice(d.len()..d.len() + e.len()))))
    }

    /// Computes x AND y: the same protocol over Z_2.
    pub(crate) async fn multiply_bits(&self, ctx: &Ctx, x: &Share<Bits>, y: &Share<Bits>) -> Result<Share<Bits>> {
        Form::Product.check(x.shape_of(), y.shape_of())?;
        let (rows, lanes) = x.shape_of();
        let flat: [Share<Bits>; 3] = self.draw(ctx, Kind::BitTriple, rows * lanes).await?.into_bits()?;
        let triple = flat.map(|flat| in_rows(&flat, rows, lanes));
        let (d, e) = (x.zip(&triple[0], Bits::xor_assign), y.zip(&triple[1], Bits::xor_assign));
        let both = Share::of(Bits::concat_rows(&[&*d, &*e]));
        let opened = self.open_share(ctx, &both, None).await?.map(Share::of).ok_or(NOT_OPENED)?;
        let (d, e) = (opened.map(|o| o.slice_rows(0..rows)), opened.map(|o| o.slice_rows(rows..2 * rows)));
        Ok(combined(self.me, triple, (&d, &e), Bits::add_and_assign))
    }
}
