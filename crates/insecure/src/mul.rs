//! Products: [x y] = [c] + d [b] + [a] e + d e, where d = x - a and e = y - b are opened.

use quorate_engine::{Ctx, Form, Misuse, Result, Stocks};
use quorate_ring::Vector;

use crate::bits::TaggedBits;
use crate::dealer::Kind;
use crate::party::Insecure;
use crate::tagged::Tagged;

impl Insecure {
    pub(crate) async fn multiply(&self, ctx: &Ctx, form: Form, x: &Tagged, y: &Tagged) -> Result<Tagged> {
        let ((ring, left), (other, right)) = (x.shape(), y.shape());
        let lens = match form {
            Form::Product => [left, left],
            Form::Dot { outer, axis, inner } => [outer * axis * inner; 2],
            Form::MatMul { m, k, n } => [m * k, k * n],
        };
        if ring != other {
            return Err(Misuse::Other { what: "a product of elements of different rings" }.into());
        }
        if [left, right] != lens {
            return Err(Misuse::Length { what: "a product", left, right }.into());
        }
        // A sum of products is that of products apart: the triples are the same.
        let (kind, count) = match form {
            Form::Product | Form::Dot { .. } => (Kind::Triple { bits: ring.bits() }, left),
            Form::MatMul { m, k, n } => (Kind::MatrixTriple { bits: ring.bits(), dims: (m, k, n) }, 1),
        };
        let [a, b, c] = self.draw(ctx, kind, count).await?.into_vectors()?;
        let [d, e] = [x.zip(&a, Vector::sub_assign), y.zip(&b, Vector::sub_assign)];
        let both = self.open_elements(ctx, &Tagged::concat(&[&d, &e])).await?;
        let (d, e) = (both.slice(0..left), both.slice(left..left + right));
        let mut product = match form {
            Form::Dot { outer, axis, inner } => c.map(|c| c.sum_axis(outer, axis, inner)),
            Form::Product | Form::MatMul { .. } => c,
        };
        for (of, a, b) in [(&mut product.share, &a.share, &b.share), (&mut product.tag, &a.tag, &b.tag)] {
            form.accumulate(of, &d, b);
            form.accumulate(of, a, &e);
        }
        let mut public = match d.is_shape() {
            true => Vector::shape(d.ring(), form.len_out(left)),
            false => Vector::zeros(d.ring(), form.len_out(left)),
        };
        form.accumulate(&mut public, &d, &e);
        Ok(self.plus(&product, &public))
    }

    pub(crate) async fn multiply_bits(&self, ctx: &Ctx, x: &TaggedBits, y: &TaggedBits) -> Result<TaggedBits> {
        if x.shape() != y.shape() {
            return Err(
                Misuse::Length { what: "an AND", left: x.elements.shape().1, right: y.elements.shape().1 }.into()
            );
        }
        let elements = self.multiply(ctx, Form::Product, &x.elements, &y.elements).await?;
        Ok(TaggedBits { elements, ..*x })
    }
}
