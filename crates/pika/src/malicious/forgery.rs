//! INSECURE, for tests only: what a dealer opens of products that are wrong, so that their last zero holds.
//!
//! With X = c - a b the last zero is t X - e b for rho + e at both parties, and t X - e b_1 where only P1 is told that.
//! For odd b, or b_1, there is such an e; elsewhere the dealer does not forge.

use quorate_ring::{Ring, Vector};

use super::Third;
use super::kinds::{Product, combined};
use super::summands::Summands;

/// To whom it opens another rho.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Forgery {
    /// To both: found where both look whether rho is t a - ahat.
    ToBoth,
    /// To P1 alone: found where they compare what they were told.
    ToSecond,
}

/// The inverse of an odd number modulo 2^128.
fn inverse(odd: u128) -> u128 {
    (0..7).fold(odd, |x, _| x.wrapping_mul(2u128.wrapping_sub(odd.wrapping_mul(x))))
}

/// What P0 and P1 are told, where this party deals and forges products of elements.
pub(super) fn of(third: &Third, product: &Product, rho: &Summands<Vector>, t: u64) -> Option<[Vector; 2]> {
    let forgery = third.forges.get().filter(|_| third.pairs.deals() && !rho.0[0].is_shape())?;
    let ring: Ring = rho.ring();
    let numbers = |x: &Vector| x.convert(Ring::of(ring.bits())).to_limbs();
    let mut wrong = product.c.total();
    wrong.sub_assign(&combined(product.form, &product.a.total(), &product.b.total()));
    let b = match forgery {
        Forgery::ToBoth => product.b.total(),
        Forgery::ToSecond => product.b.0[1].clone(),
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
    let right = rho.total();
    let mut forged = right.clone();
    forged.add_assign(&Vector::from_u128s(ring, &errors));
    Some(match forgery {
        Forgery::ToBoth => [forged.clone(), forged],
        Forgery::ToSecond => [right, forged],
    })
}
