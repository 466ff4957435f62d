//! Products: [x y] = [c] + d [b] + [a] e + d e, where d = x - a and e = y - b are opened. A matrix product takes a
//! triple for each product of two elements.
//!
//! Where one party knows x and another one y, as where both are inputs, a one-sided triple is enough, and each of the
//! two tells its difference: half as much online as otherwise, and little more than half as much offline. (Not over
//! Z_2, where triples of bits take less.)

use std::borrow::Cow;

use quorate_engine::{Ctx, Error, Form, Linear, LinearBits, Misuse, Positions, Result, Stocks};
use quorate_ring::Vector;

use crate::bits::TaggedBits;
use crate::forms::{Form as Bits, SharedBits};
use crate::macs::MacBits;
use crate::party::Spdz2k;
use crate::stock::Kind;
use crate::tagged::Tagged;

impl Spdz2k {
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
        let triples = |count| async move {
            match (x.known, y.known) {
                (Some(of_x), Some(of_y)) if of_x != of_y && ring.bits() > 1 => {
                    self.one_sided(ctx, [of_x, of_y], (ring, count)).await
                }
                _ => self.draw(ctx, Kind::Triple { bits: ring.bits() }, count).await?.into_vectors(),
            }
        };
        // A sum of products is that of products apart.
        let Form::MatMul { m, k, n } = form else {
            return self.multiply_with(ctx, form, [x, y], triples(left).await?).await;
        };
        let rows = || Cow::Owned((0..m * n * k).map(|at| (at / (n * k) * k + at % k) as u32).collect());
        let columns = || Cow::Owned((0..m * n * k).map(|at| (at % k * n + at / k % n) as u32).collect());
        let x = x.linear(&Linear::Gather(Positions::later(m * n * k, &rows)));
        let y = y.linear(&Linear::Gather(Positions::later(m * n * k, &columns)));
        let form = Form::Dot { outer: m * n, axis: k, inner: 1 };
        self.multiply_with(ctx, form, [&x, &y], triples(m * n * k).await?).await
    }

    /// Products, or sums of them, with triples that are at hand.
    pub(crate) async fn multiply_with(
        &self,
        ctx: &Ctx,
        form: Form,
        [x, y]: [&Tagged; 2],
        [a, b, c]: [Tagged; 3],
    ) -> Result<Tagged> {
        let len = x.shape().1;
        let [d, e] = [x.zip(&a, Vector::sub_assign), y.zip(&b, Vector::sub_assign)];
        let [d, e] = self.open_differences(ctx, [&d, &e]).await?;
        let mut product = match form {
            Form::Dot { outer, axis, inner } => c.map(|c| c.sum_axis(outer, axis, inner)),
            Form::Product | Form::MatMul { .. } => c,
        };
        for (of, a, b) in [(&mut product.share, &a.share, &b.share), (&mut product.tag, &a.tag, &b.tag)] {
            form.accumulate(of, &d, b);
            form.accumulate(of, a, &e);
        }
        let mut public = match d.is_shape() {
            true => Vector::shape(d.ring(), form.len_out(len)),
            false => Vector::zeros(d.ring(), form.len_out(len)),
        };
        form.accumulate(&mut public, &d, &e);
        Ok(self.plus(&product, &public))
    }

    /// Both differences, in the ring of shares. One round.
    async fn open_differences(&self, ctx: &Ctx, [d, e]: [&Tagged; 2]) -> Result<[Vector; 2]> {
        let (len, wide) = (d.shape().1, d.share.ring());
        if let (Some(of_d), Some(of_e)) = (d.known, e.known) {
            return Ok(self.open_known(ctx, [(of_d, d), (of_e, e)]).await?.map(|opened| opened.convert(wide)));
        }
        let both = self.open_elements(ctx, &Tagged::concat(&[d, e])).await?.convert(wide);
        Ok([both.slice(0..len), both.slice(len..2 * len)])
    }

    pub(crate) async fn multiply_bits(&self, ctx: &Ctx, x: &SharedBits, y: &SharedBits) -> Result<SharedBits> {
        let ((rows, lanes), other) = (x.shape(), y.shape());
        if (rows, lanes) != other {
            return Err(Misuse::Length { what: "an AND", left: rows * lanes, right: other.0 * other.1 }.into());
        }
        let len = rows * lanes;
        let triples = match self.has_macs() {
            true => {
                let bits = self.draw(ctx, Kind::BitTriple, len).await?.bits;
                bits.try_into().map_err(|_| NO_TRIPLES)?
            }
            false => {
                let [a, b, c] = self.draw(ctx, Kind::Triple { bits: 1 }, len).await?.into_vectors()?;
                [a, b, c].map(|elements| SharedBits::elements(TaggedBits { rows: 1, lanes: len, elements }))
            }
        };
        self.multiply_bits_with(ctx, [x, y], triples).await
    }

    /// x and y, with triples that are at hand, in one row.
    pub(crate) async fn multiply_bits_with(
        &self,
        ctx: &Ctx,
        [x, y]: [&SharedBits; 2],
        triples: [SharedBits; 3],
    ) -> Result<SharedBits> {
        let shape = x.shape();
        let triples = triples.map(|part| part.in_rows(shape));
        if let (Bits::Elements(x), Bits::Elements(y)) = (&x.0, &y.0) {
            let triples = triples.map(|part| part.into_elements());
            let elements = self.multiply_with(ctx, Form::Product, [&x.elements, &y.elements], triples).await?;
            return Ok(SharedBits::elements(TaggedBits { elements, ..*x }));
        }
        let [x, y] = [x.as_macs(), y.as_macs()];
        let [a, b, mut c] = triples.map(|part| part.into_macs());
        let both = SharedBits::macs(MacBits::sums_below_each_other([[x, &a], [y, &b]]));
        let opened = self.open_shared_bits(ctx, &both).await?;
        let rows = |range| LinearBits::Rows(range).apply(&opened);
        let (mut d, e) = (rows(0..shape.0), rows(shape.0..2 * shape.0));
        c.add_chosen(&b, &d);
        c.add_chosen(&a, &e);
        d.and_assign(&e);
        Ok(SharedBits::macs(c.flipped(&d, (self.keys.me == 0, *self.keys.delta))))
    }
}

const NO_TRIPLES: Error = Error::Bug { what: "a stock of triples of bits without them" };
