//! Products over Z_2^k and AND, with dealt triples.
//!
//! **Source**: Beaver 1991; matrix triples as in SecureML (Mohassel, Zhang 2017). **Model**: semi-honest, 1 of 3.
//! **Notation**: (a, b, c) the triple, d = x - a and e = y - b opened to parties 0 and 1, z = d e + d b + a e + c.
//!
//! | operation | rounds | bits sent by each of parties 0 and 1 | dealt |
//! |---|---|---|---|
//! | product | 1 | 2 k for each pair | a triple for each pair: k bits |
//! | sum of products | 1 | 2 k for each pair | k bits for each sum |
//! | (m x k) times (k x n) | 1 | m k + k n elements | a matrix triple: m n elements |
//! | convolution | 1 | images and filters, each element once | a triple: the elements of the result |
//! | AND | 1 | 2 | a bit triple: 1 bit |
//!
//! In a product by a factor that stays, only the other operand is opened (`kept_factor`).

use std::ops::Range;

use quorate_additive::product::{combined, in_rows};
use quorate_engine::{Ctx, Form, Result, Stocks};
use quorate_ring::{Bits, Module, Vector};

use crate::chunks;
use crate::kind::Kind;
use crate::setup::Pika;
use crate::share::Share;

type A = Share<Vector>;
type B = Share<Bits>;

impl Pika {
    /// Computes form(x, y) over Z_2^k.
    pub(crate) async fn multiply(&self, ctx: &Ctx, form: Form, x: &A, y: &A) -> Result<A> {
        form.check(x.shape_of(), y.shape_of())?;
        if let Some(product) = self.multiply_by_factor(ctx, form, [x, y]).await {
            return product;
        }
        let ring = x.ring();
        match form {
            Form::MatMul { .. } | Form::Conv(_) if x.is_empty() || y.is_empty() || form.len_out(x.len()) == 0 => {
                Ok(self.blank(ctx.is_dry(), (ring, form.len_out(x.len()))))
            }
            Form::MatMul { .. } | Form::Conv(_) => {
                let kind = whole(form, ring.bits());
                let triple = self.draw(ctx, kind, 1).await?.into_vectors()?;
                self.multiply_with(ctx, form, [x, y], triple).await
            }
            Form::Dot { outer, inner, .. } if x.is_empty() => Ok(self.blank(ctx.is_dry(), (ring, outer * inner))),
            Form::Dot { outer, axis, inner } if axis > 1 => {
                self.multiply_lines(ctx, (outer, axis, inner), [x, y]).await
            }
            Form::Product | Form::Dot { .. } => self.multiply_lines(ctx, (x.len(), 1, 1), [x, y]).await,
        }
    }

    /// Computes sums of products along the middle axis, as a stream of chunks of the first axis.
    async fn multiply_lines(
        &self,
        ctx: &Ctx,
        (outer, axis, inner): (usize, usize, usize),
        [x, y]: [&A; 2],
    ) -> Result<A> {
        let (ring, pairs) = (x.ring(), axis * inner);
        let chunks = chunks::of_products(ring, outer, pairs);
        if chunks.count() <= 1 {
            return self.multiply_chunk(ctx, (outer, axis, inner), [x, y]).await;
        }
        let mut result = self.blank(ctx.is_dry(), (ring, outer * inner));
        let parts = |range: Range<usize>| {
            (range.len(), [x, y].map(|v| v.map(|v| v.slice(range.start * pairs..range.end * pairs))))
        };
        let pika = self.clone();
        let work = async move |ctx: Ctx, (lines, [x, y]): (usize, [A; 2])| {
            pika.multiply_chunk(&ctx, (lines, axis, inner), [&x, &y]).await
        };
        ctx.spread(chunks, parts, work, |range, part| result.write_at(range.start * inner, &part)).await?;
        Ok(result)
    }

    async fn multiply_chunk(
        &self,
        ctx: &Ctx,
        (lines, axis, inner): (usize, usize, usize),
        [x, y]: [&A; 2],
    ) -> Result<A> {
        let bits = x.ring().bits();
        let (kind, form) = match axis * inner {
            1 => (Kind::Triple { bits }, Form::Product),
            _ => (Kind::DotTriple { bits, axis, inner }, Form::Dot { outer: lines, axis, inner }),
        };
        let triple = self.draw(ctx, kind, lines).await?.into_vectors()?;
        self.multiply_with(ctx, form, [x, y], triple).await
    }

    /// Opens d = x - a and e = y - b in one message, and returns the product.
    async fn multiply_with(&self, ctx: &Ctx, form: Form, [x, y]: [&A; 2], triple: [A; 3]) -> Result<A> {
        let (d, e) = (x.zip(&triple[0], Vector::sub_assign), y.zip(&triple[1], Vector::sub_assign));
        let both = Share::of(Vector::concat(&[&*d, &*e]));
        let opened = Share::of(self.open_long(ctx, &both).await?);
        let (d, e) = (opened.slice(0..d.len()), opened.slice(d.len()..d.len() + e.len()));
        Ok(combined(self.me, triple, (&d, &e), |z, a, b| form.accumulate(z, a, b)))
    }

    /// Computes x AND y: the same protocol over Z_2.
    pub(crate) async fn multiply_bits(&self, ctx: &Ctx, x: &B, y: &B) -> Result<B> {
        Form::Product.check(x.shape_of(), y.shape_of())?;
        let (rows, lanes) = x.shape_of();
        let flat: [B; 3] = self.draw(ctx, Kind::BitTriple, rows * lanes).await?.into_bits()?;
        let triple = flat.map(|flat| in_rows(&flat, rows, lanes));
        let (d, e) = (x.zip(&triple[0], Bits::xor_assign), y.zip(&triple[1], Bits::xor_assign));
        let both = Share::of(Bits::concat_rows(&[&*d, &*e]));
        let opened = Share::of(self.open_share(ctx, &both).await?);
        let (d, e) = (opened.slice_rows(0..rows), opened.slice_rows(rows..2 * rows));
        Ok(combined(self.me, triple, (&d, &e), Bits::add_and_assign))
    }
}

/// Returns the kind of the triple that serves a whole form.
fn whole(form: Form, bits: u32) -> Kind {
    match form {
        Form::MatMul { m, k, n } => Kind::MatrixTriple { bits, m, k, n },
        Form::Conv(conv) => Kind::ConvTriple { bits, conv },
        Form::Product | Form::Dot { .. } => unreachable!("the others are cut"),
    }
}
