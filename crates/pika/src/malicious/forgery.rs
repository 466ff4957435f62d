//! INSECURE, for tests only: a dealer's openings of wrong values, made so that its last zero holds.
//!
//! For products of bits, t X - e b is zero with e = t for b = 1. Tags of x + 1 fit rows that are larger by the coins
//! that select that element. Keys that are off by Delta fit a sum that is larger by the bit's weight.
//!
//! With X = c - a b the last zero is t X - e b for rho + e at both parties, and t X - e b_1 if only P1 is sent that.
//! For odd b, or b_1, there is such an e; otherwise the dealer does not forge.

use quorate_engine::Form;
use quorate_ot::Blocks;
use quorate_ring::{Ring, Vector};

use super::Third;
use super::kinds::{BitProduct, Product, combined};
use super::summands::Summands;

/// The opening that the dealer changes: rho of products, for both or for P1; or of other wrong values.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Forgery {
    /// rho of products of elements, for both: found since both check that rho is t a - ahat.
    ToBoth,
    /// rho of products of elements, for P1 alone: found since both compare what they were sent.
    ToSecond,
    /// rho of products of bits.
    Bits,
    /// Rows: all tags of first elements are those of elements larger by 1.
    Tags,
    /// Sums of bits of P0: all keys of first bits are those of the other bit.
    Keys,
}

impl Third {
    fn forges(&self, forgery: Forgery) -> bool {
        self.pairs.deals() && self.forges.get() == Some(forgery)
    }
}

/// Returns the error of the values that tags belong to, with [`Forgery::Tags`]: 1 in the first place.
pub(super) fn unit(third: &Third, x: &Vector) -> Option<Vector> {
    if x.is_shape() || x.is_empty() || !third.forges(Forgery::Tags) {
        return None;
    }
    let mut unit = Vector::zeros(x.ring(), x.len());
    unit.add_at(0, &Vector::constant(x.ring(), 1, 1));
    Some(unit)
}

/// Changes keys of a party's bits, with [`Forgery::Keys`].
pub(super) fn keys(third: &Third, of: usize, keys: &mut Blocks, delta: u128) {
    if of == 0 && !keys.is_shape() && third.forges(Forgery::Keys) {
        keys.as_mut_slice().iter_mut().take(1).for_each(|key| *key ^= delta);
    }
}

/// Returns the sum of a party's bits that fits such keys; the first mask has weight 1.
pub(super) fn of_sum(third: &Third, of: usize, sum: u64, weights: &[Vec<u64>]) -> u64 {
    match of == 0 && third.forges(Forgery::Keys) {
        true => weights.iter().filter_map(|weights| weights.first()).fold(sum ^ 1, |sum, weight| sum ^ weight),
        false => sum,
    }
}

/// Changes rho of products of bits, with [`Forgery::Bits`].
pub(super) fn of_bits(third: &Third, product: &BitProduct, rho: &mut [u64], t: u64) {
    if rho.is_empty() || !third.forges(Forgery::Bits) {
        return;
    }
    let [a, b, c] = [&product.a, &product.b, &product.c].map(|x| x.total().to_bools());
    for (i, rho) in rho.iter_mut().enumerate() {
        if b[i] && c[i] != (a[i] && b[i]) {
            *rho ^= t;
        }
    }
}

/// Returns the inverse of an odd number modulo 2^128.
fn inverse(odd: u128) -> u128 {
    (0..7).fold(odd, |x, _| x.wrapping_mul(2u128.wrapping_sub(odd.wrapping_mul(x))))
}

/// Returns what P0 and P1 are sent, if this party deals and forges products of elements.
pub(super) fn of(third: &Third, product: &Product, rho: &Summands<Vector>, t: u64) -> Option<[Vector; 2]> {
    let of_products = [Forgery::ToBoth, Forgery::ToSecond].into_iter().find(|forgery| third.forges(*forgery));
    let forgery = of_products.filter(|_| product.form == Form::Product && !rho.0[0].is_shape())?;
    let ring: Ring = rho.ring();
    let numbers = |x: &Vector| x.convert(Ring::of(ring.bits())).to_limbs();
    let mut wrong = product.c.total();
    wrong.sub_assign(&combined(product.form, &product.a.total(), &product.b.total()));
    let b = match forgery {
        Forgery::ToSecond => product.b.0[1].clone(),
        _ => product.b.total().into_inner(),
    };
    let low = |limbs: &[u64; 4]| u128::from(limbs[1]) << 64 | u128::from(limbs[0]);
    let errors: Vec<u128> = numbers(&wrong)
        .iter()
        .zip(&numbers(&b))
        .map(|(x, b)| match low(b) % 2 {
            0 => 0,
            _ => low(x).wrapping_mul(t.into()).wrapping_mul(inverse(low(b))),
        })
        .collect();
    let right = rho.total().into_inner();
    let mut forged = right.clone();
    forged.add_assign(&Vector::from_u128s(ring, &errors));
    Some(match forgery {
        Forgery::ToSecond => [right, forged],
        _ => [forged.clone(), forged],
    })
}
