//! Proofs that one element of a line is 1 and all others are 0, where a party may have input something else.
//!
//! **Source**: spdz2k-primitives, section V-A and Fig. 14, steps 2 to 5. **Deviation**: sums and products are opened in
//! one round. **Model**: parties that may cheat; if all follow the protocol, nothing is sent. **Notation**: x over
//! Z_2^k, in lines of m elements.
//!
//! | step | rounds | what |
//! |---|---|---|
//! | 4 | 1 | x x, a product for each element |
//! | 3, 5 | 1 | open x x - x, and the sum of each row less 1: all of them 0, or the run ends |
//!
//! x x - x = x (x - 1) is 0 modulo 2^k only for 0 and 1, since one of x and x - 1 is odd. A sum of m bits that is 1
//! modulo 2^k is 1, as m is at most 2^k. If no party cheats, all opened values are 0 and reveal nothing. As with all
//! openings, the caller has to run a check before it relies on them.
//!
//! Only a vector that one party alone knows is proven, by that party. For a product of a vector that no party knows,
//! each party would open a part that is not checked yet. A part that is off by 1 turns x x - x into an x, which the
//! cheater would read before it is caught.

use quorate_engine::{Axis, Ctx, Error, Linear, Misuse, Result, Sharing};
use quorate_ring::Vector;

const ONE_HOT: &str = "one element of each row is 1 and all others are 0";

/// Ends the run unless one element of each row along the axis is 1 and all others are 0.
///
/// # Errors
/// [`Error::Cheating`] if they are not; [`Misuse::Other`] for lines of more than 2^k elements, and, where parties may
/// cheat, for a vector that no party alone knows; any error that ends a run.
pub async fn assert_one_hot<S: Sharing>(s: &S, ctx: &Ctx, x: &S::A, axis: Axis) -> Result<()> {
    let (ring, _) = s.shape(x);
    if axis.len as u128 > ring.mask().saturating_add(1) {
        return Err(Misuse::Other { what: "rows with one 1 have at most as many elements as the ring" }.into());
    }
    if !S::CHECKED {
        return Ok(());
    }
    if s.who_knows(x).is_none() {
        let what =
            "who inputs a choice of one proves it: rows that are computed, or of several owners, cannot be proven";
        return Err(Misuse::Other { what }.into());
    }
    let rest = s.sub(&s.mul(ctx, x, x).await?, x);
    let sums = s.linear(x, &Linear::SumAxis(axis));
    let lines = s.shape(&sums).1;
    let minus_one = match ctx.is_dry() {
        true => Vector::shape(ring, lines),
        false => Vector::constant(ring, ring.mask(), lines),
    };
    let zeros = s.open(ctx, &s.concat(&[&rest, &s.add_public(&sums, &minus_one)])).await?;
    match zeros.is_shape() || zeros.to_limbs().iter().flatten().fold(0, |all, limb| all | limb) == 0 {
        true => Ok(()),
        false => Err(Error::Cheating { check: ONE_HOT }),
    }
}
