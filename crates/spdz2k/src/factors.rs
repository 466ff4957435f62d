//! The parts of triples: products of one party's factor with another's, by oblivious transfer.
//!
//! **Source**: that of [`crate::triple`], whose steps 1 and 2 these are parts of. **Notation** as there: P_i chooses
//! bits x, xh, y, and has a and ahat from them; P_j has B = beta + 2^sg' b.

use std::borrow::Cow;
use std::ops::Range;

use quorate_adversary::Twist;
use quorate_engine::{Ctx, Linear, Result};
use quorate_ot::correlated::Row;
use quorate_ot::source::Choices;
use quorate_ring::{Bits, Ring, Vector, Wiped};

use crate::coins::Coins;
use crate::draws::own_if;
use crate::keys::Keys;
use crate::params::Params;
use crate::transfers::Ots;

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
    /// Draws factors, with beta over Z_2^V, if this party is to have some.
    pub fn own(ctx: &Ctx, keys: Keys<'_>, here: bool, (ring, len): (Ring, usize)) -> Option<Factor> {
        let (inner, words) = (keys.params.inner_bits(), keys.params.words(ring));
        let beta = own_if(ctx, &keys, here, (Ring::of(inner), len));
        let b = own_if(ctx, &keys, here, (Ring::of(words.bits() - inner), len));
        Some(Factor { beta: Wiped(beta?.convert(words)), b: b? })
    }

    /// Returns B modulo 2^W.
    pub fn whole(&self, params: Params, values: Ring) -> Wiped<Vector> {
        let mut whole = Wiped(self.b.convert(values));
        whole.shl(params.inner_bits());
        whole.add_assign(&Wiped(Linear::Reduce(values).apply(&self.beta)));
        whole
    }
}

/// Runs the end of P_j in the transfers: returns shares of the products of the peer's bits with its factors.
pub(crate) async fn send(
    ots: Ots<'_>,
    ctx: &Ctx,
    peer: usize,
    whole: &Vector,
    (rows, given): (Rows, bool),
) -> Result<Shares> {
    let mut shares = rows.none(ctx.is_dry(), (whole.ring(), whole.len()));
    let sink = |[_, row]: [usize; 2], share| shares.add(rows, row, share);
    let whole = ots.keys.twisted(Twist::Factors { peer }, Cow::Borrowed(whole));
    let element = |row| ots.keys.twisted(Twist::Transfer { peer, factor: 0, row }, Cow::Borrowed(&*whole));
    let bits = rows.bits(whole.ring());
    let elements: Vec<_> = (0..bits.len()).map(element).collect();
    let factor: Vec<Row<'_>> = elements.iter().zip(bits).map(|(element, bits)| Row { element, bits }).collect();
    let shape = (factor.len(), whole.len());
    ots.with(peer)?.send_products_of_bits(ctx, shape, &[&factor], given, sink).await?;
    Ok(shares)
}

/// Runs the end of P_i, with its bits.
pub(crate) async fn receive(
    ots: Ots<'_>,
    ctx: &Ctx,
    peer: usize,
    choices: Choices<'_>,
    (rows, shape): (Rows, (Ring, usize)),
) -> Result<(Wiped<Bits>, Shares)> {
    let mut shares = rows.none(ctx.is_dry(), shape);
    let sink = |row, share| shares.add(rows, row, share);
    let choices = ots.with(peer)?.receive_correlated(ctx, choices, &rows.bits(shape.0), sink).await?;
    Ok((Wiped(choices), shares))
}
