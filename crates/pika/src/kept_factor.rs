//! Values that stay factors of many products, such as the weights of a model: each is opened once for all of its
//! products.
//!
//! **Source**: Beaver 1991; SecureML (Mohassel, Zhang 2017, section IV) for a matrix that keeps its mask over many
//! products. **Model**: semi-honest, 1 of 3. **Notation**: w the factor, b its mask; (a, c) with c = a b of each
//! product; e = w - b, opened once, d = x - a, opened anew; x w = d w + a e + c.
//!
//! | | rounds | sent by each of parties 0 and 1 | dealt |
//! |---|---|---|---|
//! | a value becomes a factor | 1 | its elements | a mask: 0 bits |
//! | a product by it | 1 | the elements of the other operand | the elements of the result |
//!
//! Party 2 keeps b under the factor's name while it has a share of the factor, and deals c from it. Parties 0 and 1
//! keep e with their shares of w, and do not need b again. Every product has its own a and c, and uniform shares of
//! them; b masks only w. So the views of parties 0 and 1 are uniform, as with triples. A name identifies a mask but
//! does not determine it: a run that begins again draws another one.
//!
//! Values that are computed from a factor, slices of it included, are not factors.

use quorate_engine::{Ctx, Form, Result, Stocks};
use quorate_ring::{Module, Vector};

use crate::chunks;
use crate::kind::Kind;
use crate::setup::Pika;
use crate::share::{Factor, Share};

type A = Share<Vector>;

/// Returns the form in which a factor is an operand, if one triple serves all of it.
fn whole(form: Form, (x, y): (&A, &A)) -> Option<Form> {
    let is_some = !x.is_empty() && !y.is_empty() && form.len_out(x.len()) > 0;
    match form {
        Form::MatMul { .. } | Form::Conv(_) => is_some.then_some(form),
        Form::Product if chunks::of_products(x.ring(), x.len(), 1).count() <= 1 => {
            is_some.then_some(Form::Dot { outer: x.len(), axis: 1, inner: 1 })
        }
        Form::Product | Form::Dot { .. } => None,
    }
}

impl Pika {
    /// Makes x a factor of this name, unless marks of factors are ignored.
    pub(crate) async fn open_factor(&self, ctx: &Ctx, x: &A, name: u32) -> Result<A> {
        if x.is_empty() || self.pooled.get() {
            return Ok(x.keeping(None));
        }
        let (ring, len) = x.shape_of();
        let [mut difference] =
            self.draw(ctx, Kind::FactorMask { bits: ring.bits(), len, factor: name }, 1).await?.into_vectors()?;
        difference.neg_assign();
        difference.add_assign(x);
        let opened = Share::of(self.open_long(ctx, &difference).await?);
        let kept = if self.deals() && !ctx.is_dry() { Some(self.masks.of(name)?) } else { None };
        Ok(x.keeping(Some(Factor { name, opened, _mask: kept })))
    }

    /// Computes form(x, y) where one of them is a factor; if both are, the right one counts as the factor.
    pub(crate) async fn multiply_by_factor(&self, ctx: &Ctx, form: Form, [x, y]: [&A; 2]) -> Option<Result<A>> {
        let right = y.kept().is_some();
        let [other, by] = if right { [x, y] } else { [y, x] };
        let (factor, form) = (by.kept()?, whole(form, (x, y))?);
        let kind = Kind::TripleBy { bits: x.ring().bits(), form, right, factor: factor.name };
        Some(self.multiply_by(ctx, (kind, form, right), (other, by), factor).await)
    }

    /// Opens d = x - a, and returns c + d w + a e.
    async fn multiply_by(
        &self,
        ctx: &Ctx,
        (kind, form, right): (Kind, Form, bool),
        (x, w): (&A, &A),
        factor: &Factor,
    ) -> Result<A> {
        let [a, mut z] = self.draw(ctx, kind, 1).await?.into_vectors()?;
        let d = Share::of(self.open_long(ctx, &x.zip(&a, Vector::sub_assign)).await?);
        for (free, by) in [(&d, w), (&a, &factor.opened)] {
            let [left, right] = if right { [free, by] } else { [by, free] };
            form.accumulate(&mut z, left, right);
        }
        Ok(z)
    }
}
