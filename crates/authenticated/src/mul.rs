//! Products: [x y] = [c] + d [b] + [a] e + d e, where d = x - a and e = y - b are opened. A matrix product takes a
//! triple for each product of two elements.
//!
//! The kind of triples depends on who knows x and y. Products of values that one party knows always take triples that
//! it knows: that party alone opens their factors, on which proofs of an owner rest (`quorate_gadgets::one_hot`). The
//! other products follow this table, too, except over Z_2, where plain triples take less, and in sessions without marks
//! (`Params::without_marks`):
//!
//! | known | triple | opened, by whom |
//! |---|---|---|
//! | neither | any | d and e, by all |
//! | x to P_i, y to P_j | one-sided | d by P_i, e by P_j |
//! | both to P_i | one that P_i knows; P_i knows the product | d and e, by P_i |
//! | x to P_i | both: a_i, b_i of P_i; a_j, b_j of P_i and P_j | x - a_i, all x - a_j by P_i; e = y - sum b by all |
//!
//! Matrices may take matrix triples instead ([`crate::matmul`]); convolutions are products of matrices
//! ([`crate::convolve`]).
//!
//! In the last case [x y] = [x] e + sum over all j of [c_j] + (x - a_j) [b_j].

use std::borrow::Cow;

use quorate_engine::{Ctx, Error, Form, Linear, LinearBits, Misuse, Positions, Result, Stocks};
use quorate_ring::Vector;

use crate::bits::TaggedBits;
use crate::forms::{Form as Bits, SharedBits};
use crate::kind::Kind;
use crate::macs::MacBits;
use crate::party::Authenticated;
use crate::tagged::Tagged;

impl Authenticated {
    pub(crate) async fn multiply(&self, ctx: &Ctx, form: Form, x: &Tagged, y: &Tagged) -> Result<Tagged> {
        form.check(x.shape(), y.shape())?;
        if self.keys.dealt {
            return self.multiply_dealt(ctx, form, [x, y]).await;
        }
        if let Form::Conv(conv) = form {
            return self.convolve(ctx, &conv, x, y).await;
        }
        self.multiply_of_two(ctx, form, x, y).await
    }

    /// Computes products, sums of them, or a product of matrices.
    pub(crate) async fn multiply_of_two(&self, ctx: &Ctx, form: Form, x: &Tagged, y: &Tagged) -> Result<Tagged> {
        if let Some(product) = self.multiply_matrices(ctx, form, [x, y]).await? {
            return Ok(product);
        }
        // Sums of products are sums over products of elements.
        let Form::MatMul { m, k, n } = form else {
            return self.multiply_each(ctx, form, [x, y]).await;
        };
        let rows = || Cow::Owned((0..m * n * k).map(|at| (at / (n * k) * k + at % k) as u32).collect());
        let columns = || Cow::Owned((0..m * n * k).map(|at| (at % k * n + at / k % n) as u32).collect());
        let x = x.linear(&Linear::Gather(Positions::later(m * n * k, &rows)));
        let y = y.linear(&Linear::Gather(Positions::later(m * n * k, &columns)));
        self.multiply_each(ctx, Form::Dot { outer: m * n, axis: k, inner: 1 }, [&x, &y]).await
    }

    /// Computes products, or sums of them, with the triples for those who know the factors.
    async fn multiply_each(&self, ctx: &Ctx, form: Form, [x, y]: [&Tagged; 2]) -> Result<Tagged> {
        let shape @ (ring, len) = x.shape();
        let marks_count = self.keys.params.marks_count() && ring.bits() > 1;
        let triples = match (x.known, y.known) {
            (Some(of_x), Some(of_y)) if of_x == of_y => self.owned(ctx, of_x, shape).await?,
            _ if !marks_count => self.draw(ctx, Kind::Triple { bits: ring.bits() }, len).await?.into_vectors()?,
            (Some(of_x), Some(of_y)) => self.one_sided(ctx, [of_x, of_y], shape).await?,
            (Some(owner), None) => return self.multiply_known(ctx, form, owner, [x, y]).await,
            (None, Some(owner)) => return self.multiply_known(ctx, form, owner, [y, x]).await,
            (None, None) => self.draw(ctx, Kind::Triple { bits: ring.bits() }, len).await?.into_vectors()?,
        };
        let [a, b, c] = triples;
        self.multiply_with(ctx, form, [x, y], [a, b, summed(form, &c)]).await
    }

    /// Computes products, or sums of them, where one party knows x, and y is shared by all. Takes a triple that the
    /// party knows, and a one-sided one with each other party.
    async fn multiply_known(&self, ctx: &Ctx, form: Form, owner: usize, [x, y]: [&Tagged; 2]) -> Result<Tagged> {
        let shape = x.shape();
        let mut triples = vec![self.owned(ctx, owner, shape).await?];
        for other in (0..self.keys.parties).filter(|&other| other != owner) {
            triples.push(self.one_sided(ctx, [owner, other], shape).await?);
        }
        let triples: Vec<[Tagged; 3]> = triples.into_iter().map(|[a, b, c]| [a, b, summed(form, &c)]).collect();
        self.multiply_known_with(ctx, form, owner, [x, y], &triples).await
    }

    /// Computes products, or sums of them, where one party knows x, with given triples; their c has one element for
    /// each product or sum. x is the first or the second factor of the form, and the party knows the same factor of the
    /// triples.
    pub(crate) async fn multiply_known_with(
        &self,
        ctx: &Ctx,
        form: Form,
        owner: usize,
        factors: [&Tagged; 2],
        triples: &[[Tagged; 3]],
    ) -> Result<Tagged> {
        // The index of the factor that is known.
        let (known, other) = if factors[0].known == Some(owner) { (0, 1) } else { (1, 0) };
        let (x, y) = (factors[known], factors[other]);
        let (len, wide) = (x.shape().1, x.share.ring());
        let accumulate = |sum: &mut Vector, of_x: &Vector, of_y: &Vector| match known {
            0 => form.accumulate(sum, of_x, of_y),
            _ => form.accumulate(sum, of_y, of_x),
        };
        let differences: Vec<Tagged> = triples.iter().map(|triple| x.zip(&triple[known], Vector::sub_assign)).collect();
        let differences = Tagged::concat(&differences.iter().collect::<Vec<_>>());
        let rest =
            triples.iter().fold(y.clone().known_to(None), |rest, triple| rest.zip(&triple[other], Vector::sub_assign));
        let of_x = async |ctx: Ctx| self.open_known(&ctx, &[(owner, &differences)]).await;
        let of_y = async |ctx: Ctx| self.open_elements(&ctx, &rest).await;
        let (of_x, of_y) = ctx.join(of_x, of_y).await?;
        let e = of_y.convert(wide);
        let mut product = triples[0][2].clone().known_to(None);
        accumulate(&mut product.share, &x.share, &e);
        accumulate(&mut product.tag, &x.tag, &e);
        for (i, triple) in triples.iter().enumerate() {
            let d = of_x[0].slice(i * len..(i + 1) * len).convert(wide);
            accumulate(&mut product.share, &d, &triple[other].share);
            accumulate(&mut product.tag, &d, &triple[other].tag);
            if i > 0 {
                product.change(&triple[2], Vector::add_assign);
            }
        }
        Ok(product)
    }

    /// Computes products, or sums of them, with given triples, whose c has one element for each product or sum.
    pub async fn multiply_with(
        &self,
        ctx: &Ctx,
        form: Form,
        [x, y]: [&Tagged; 2],
        [a, b, c]: [Tagged; 3],
    ) -> Result<Tagged> {
        let len = x.shape().1;
        let [d, e] = [x.zip(&a, Vector::sub_assign), y.zip(&b, Vector::sub_assign)];
        let [d, e] = self.open_differences(ctx, [&d, &e]).await?;
        let mut product = c;
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

    /// Opens both differences, in the ring of shares. One round.
    async fn open_differences(&self, ctx: &Ctx, [d, e]: [&Tagged; 2]) -> Result<[Vector; 2]> {
        let (len, of_e, wide) = (d.shape().1, e.shape().1, d.share.ring());
        if let (Some(of_d), Some(of_e)) = (d.known, e.known) {
            let opened = self.open_known(ctx, &[(of_d, d), (of_e, e)]).await?;
            return Ok([0, 1].map(|i| opened[i].convert(wide)));
        }
        let both = self.open_elements(ctx, &Tagged::concat(&[d, e])).await?.convert(wide);
        Ok([both.slice(0..len), both.slice(len..len + of_e)])
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

    /// Computes x AND y with given triples, in one row.
    pub async fn multiply_bits_with(
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

/// Returns the products, or their sums.
fn summed(form: Form, c: &Tagged) -> Tagged {
    match form {
        Form::Dot { outer, axis, inner } => c.map(|c| c.sum_axis(outer, axis, inner)),
        Form::Product | Form::MatMul { .. } | Form::Conv(_) => c.clone(),
    }
}

const NO_TRIPLES: Error = Error::Bug { what: "a stock of triples of bits without them" };
