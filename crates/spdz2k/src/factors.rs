//! The parts of triples: products of one party's factor with another's, by oblivious transfer.
//!
//! **Source**: that of [`crate::triple`], whose steps 1, 2 and 5 these are parts of. **Notation** as there: P_i chooses
//! bits x, xh, y, and has a and ahat from them; P_j has B = beta + 2^sg' b; w and v modulo 2^W are the two shares of a
//! B.

use std::borrow::Cow;
use std::ops::Range;

use quorate_engine::{Ctx, Error, Linear, Randomness, Result};
use quorate_ot::correlated::Row;
use quorate_ot::source::Choices;
use quorate_ring::{Bits, Module, Ring, Vector, Wiped};

use crate::coins::Coins;
use crate::keys::Keys;
use crate::params::Params;
use crate::words::is_zero;
use quorate_adversary::Twist;

pub(crate) const DIVIDED: &str = "the divided multiplication triples";

/// The rows of the OTs: numbers of rows of x, of y, and of xh.
#[derive(Clone, Copy)]
pub(crate) struct Rows {
    of_x: usize,
    of_y: usize,
    of_xh: usize,
}

impl Rows {
    pub fn new(params: Params, ring: Ring) -> Rows {
        let (of_x, of_xh) = (ring.bits() as usize, params.values(ring).bits() as usize);
        Rows { of_x, of_y: params.noise_bits(), of_xh }
    }

    pub fn count(self) -> usize {
        self.of_x + self.of_y + self.of_xh
    }

    /// Returns the first row of xh.
    fn first_of_xh(self) -> usize {
        self.of_x + self.of_y
    }

    /// Returns the number of bits that the product with each row needs, where the sum is over a ring; rows of xh that
    /// do not count there are left out.
    pub fn bits(self, ring: Ring) -> Vec<u32> {
        let falling = |count: usize| (0..ring.bits().min(count as u32)).map(move |weight| ring.bits() - weight);
        falling(self.of_x).chain(vec![ring.bits(); self.of_y]).chain(falling(self.of_xh)).collect()
    }

    /// Returns the bits of x and of xh as numbers, and those of y by row.
    pub fn chosen(self, choices: &Bits, (ring, len): (Ring, usize)) -> Chosen {
        let row = |row: usize| Wiped(choices.slice_lanes(row * len..(row + 1) * len));
        let number = |rows: Range<usize>| {
            let rows: Vec<Wiped<Bits>> = rows.map(row).collect();
            Wiped(Wiped(Bits::concat_rows(&rows.iter().map(|row| &**row).collect::<Vec<_>>())).to_vector(ring))
        };
        let both = [number(0..self.of_x), number(self.first_of_xh()..self.count())];
        Chosen { both, y: (self.of_x..self.first_of_xh()).map(row).collect() }
    }

    /// Returns shares of no rows yet.
    pub fn none(self, is_dry: bool, (ring, len): (Ring, usize)) -> Shares {
        let zeros = || if is_dry { Vector::shape(ring, len) } else { Vector::zeros(ring, len) };
        Shares { both: [0; 2].map(|_| Wiped(zeros())), y: Vec::with_capacity(self.of_y) }
    }
}

/// A party's bits: a and ahat without the part of y, and the rows of y.
pub(crate) struct Chosen {
    pub both: [Wiped<Vector>; 2],
    y: Vec<Wiped<Bits>>,
}

/// A party's shares of products with such bits: of a and ahat without the part of y, and of the rows of y.
pub(crate) struct Shares {
    pub both: [Wiped<Vector>; 2],
    y: Vec<Wiped<Vector>>,
}

impl Shares {
    /// Adds the next row: rows of x and xh have their weights.
    pub fn add(&mut self, rows: Rows, row: usize, share: Wiped<Vector>) {
        let [of_a, of_hat] = &mut self.both;
        match row.checked_sub(rows.first_of_xh()) {
            None if row < rows.of_x => of_a.add_raised(&share, row as u32),
            None => self.y.push(share),
            Some(weight) => of_hat.add_raised(&share, weight as u32),
        }
    }
}

/// Adds the rows of y to bits and shares, weighed for each triple by r and by rh, which are drawn from the coins.
/// Shares may be over a smaller ring.
pub(crate) fn weigh(
    coins: &mut Coins,
    rows: Rows,
    shape: (Ring, usize),
    mut bits: Option<&mut Chosen>,
    mut shares: Vec<&mut Shares>,
) {
    for row in 0..rows.of_y {
        let drawn = [0; 2].map(|_| coins.draw(shape.0.bits(), shape));
        if let Some(Chosen { both, y }) = bits.as_deref_mut() {
            both.iter_mut().zip(&drawn).for_each(|(sum, factor)| sum.add_chosen(factor, &y[row]));
        }
        for Shares { both, y } in &mut shares {
            for (sum, factor) in both.iter_mut().zip(&drawn) {
                let ring = sum.ring();
                let converted = (ring != factor.ring()).then(|| factor.convert(ring));
                sum.add_mul_assign(&y[row], converted.as_ref().unwrap_or(factor));
            }
        }
    }
}

/// The factors B of one party, in two parts.
pub(crate) struct Factor {
    pub beta: Wiped<Vector>,
    pub b: Wiped<Vector>,
}

impl Factor {
    /// Returns B modulo 2^W.
    pub fn whole(&self, keys: &Keys, values: Ring) -> Wiped<Vector> {
        let mut whole = Wiped(self.b.convert(values));
        whole.shl(keys.params.inner_bits());
        whole.add_assign(&Wiped(Linear::Reduce(values).apply(&self.beta)));
        whole
    }
}

impl Keys {
    /// Draws uniform elements that this party alone knows.
    pub(crate) fn own(&self, ctx: &Ctx, shape: (Ring, usize)) -> Wiped<Vector> {
        self.drawn(&ctx.randomness(), shape)
    }

    /// Draws uniform elements if this party is to have some. All parties must call it alike: each call is a use of the
    /// lane's randomness.
    pub(crate) fn own_if(&self, ctx: &Ctx, here: bool, shape: (Ring, usize)) -> Option<Wiped<Vector>> {
        let coins = ctx.randomness();
        here.then(|| self.drawn(&coins, shape))
    }

    fn drawn(&self, coins: &Randomness, shape: (Ring, usize)) -> Wiped<Vector> {
        let mut drawn = Wiped(coins.stream(&self.private).draw::<Vector>(shape));
        Module::reduce(&mut *drawn);
        drawn
    }

    /// Draws factors, with beta over Z_2^V, if this party is to have some.
    pub(crate) fn own_factor(&self, ctx: &Ctx, here: bool, (ring, len): (Ring, usize)) -> Option<Factor> {
        let (inner, words) = (self.params.inner_bits(), self.params.words(ring));
        let beta = self.own_if(ctx, here, (Ring::of(inner), len));
        let b = self.own_if(ctx, here, (Ring::of(words.bits() - inner), len));
        Some(Factor { beta: Wiped(beta?.convert(words)), b: b? })
    }

    /// Returns the lift of a value, over Z_2^V: random bits are put above the bits of its ring.
    pub(crate) fn lifted(&self, ctx: &Ctx, value: &Vector, words: Ring) -> Wiped<Vector> {
        below(self.own(ctx, (words, value.len())), value)
    }

    /// Returns the lift of a value if this party has one. All parties must call it alike.
    pub(crate) fn lifted_if(&self, ctx: &Ctx, value: Option<&Vector>, words: Ring) -> Option<Wiped<Vector>> {
        let above = self.own_if(ctx, value.is_some(), (words, value.map_or(0, Vector::len)));
        above.zip(value).map(|(above, value)| below(above, value))
    }

    /// Runs the end of P_j in the transfers: returns shares of the products of the peer's bits with its factors.
    pub(crate) async fn send_factors(
        &self,
        ctx: &Ctx,
        peer: usize,
        whole: &Vector,
        (rows, given): (Rows, bool),
    ) -> Result<Shares> {
        let mut shares = rows.none(ctx.is_dry(), (whole.ring(), whole.len()));
        let sink = |[_, row]: [usize; 2], share| shares.add(rows, row, share);
        let whole = self.twisted(Twist::Factors { peer }, Cow::Borrowed(whole));
        let element = |row| self.twisted(Twist::Transfer { peer, factor: 0, row }, Cow::Borrowed(&*whole));
        let bits = rows.bits(whole.ring());
        let elements: Vec<_> = (0..bits.len()).map(element).collect();
        let factor: Vec<Row<'_>> = elements.iter().zip(bits).map(|(element, bits)| Row { element, bits }).collect();
        let shape = (factor.len(), whole.len());
        self.ot(peer)?.send_products_of_bits(ctx, shape, &[&factor], given, sink).await?;
        Ok(shares)
    }

    /// Runs the end of P_i, with its bits.
    pub(crate) async fn receive_factors(
        &self,
        ctx: &Ctx,
        peer: usize,
        choices: Choices<'_>,
        (rows, shape): (Rows, (Ring, usize)),
    ) -> Result<(Wiped<Bits>, Shares)> {
        let mut shares = rows.none(ctx.is_dry(), shape);
        let sink = |row, share| shares.add(rows, row, share);
        let choices = self.ot(peer)?.receive_correlated(ctx, choices, &rows.bits(shape.0), sink).await?;
        Ok((Wiped(choices), shares))
    }

    /// Returns the remainder of -v modulo 2^sg', which P_j sends P_i.
    pub(crate) fn remainder(&self, v: &Vector) -> Wiped<Vector> {
        Wiped(negated(v).convert(Ring::of(self.params.inner_bits())))
    }

    /// Returns the rest of -v, divided by 2^sg'; the part of P_j is its negative.
    pub(crate) fn rest_divided(&self, v: &Vector, quotients: Ring) -> Wiped<Vector> {
        let mut rest = negated(v);
        rest.shr_logical(self.params.inner_bits());
        Wiped(rest.convert(quotients))
    }

    /// Returns the part of P_i, of all peers together, divided by 2^sg'. The run ends if 2^sg' does not divide it.
    pub(crate) fn exactly_divided(&self, ctx: &Ctx, mut part: Wiped<Vector>, quotients: Ring) -> Result<Wiped<Vector>> {
        let inner = self.params.inner_bits();
        let divides = is_zero(&Wiped(part.convert(Ring::of(inner))));
        if !ctx.is_dry() && !divides {
            return Err(Error::Cheating { check: DIVIDED });
        }
        part.shr_logical(inner);
        Ok(Wiped(part.convert(quotients)))
    }
}

/// Returns `value` with the bits of `above` above its ring.
fn below(mut above: Wiped<Vector>, value: &Vector) -> Wiped<Vector> {
    above.shl(value.ring().bits());
    let value = Wiped(value.convert(above.ring()));
    above.add_assign(&value);
    above
}

/// Returns w - a beta - R: the part of P_i towards one peer before the division.
pub(crate) fn before_division(w: &Vector, a: &Vector, (beta, rest): (&Vector, &Vector)) -> Wiped<Vector> {
    let values = w.ring();
    let mut known = Wiped(Linear::Reduce(values).apply(beta));
    known.mul_assign(a);
    known.add_assign(&rest.convert(values));
    known.rsub_assign(w);
    known
}

/// Returns -x.
fn negated(x: &Vector) -> Wiped<Vector> {
    let mut negated = Wiped(x.clone());
    negated.neg_assign();
    negated
}
