//! Uniform elements that one party alone knows, and numbers below them.
//!
//! Each draw is a use of its lane's randomness, from the seed of the party's own randomness. So all parties must draw
//! alike, whether they keep the result or not.

use quorate_authenticated::keys::Keys;
use quorate_engine::{Ctx, Randomness};
use quorate_ring::{Module, Ring, Vector, Wiped};

/// Draws uniform elements that this party alone knows.
pub(crate) fn own(ctx: &Ctx, keys: &Keys, shape: (Ring, usize)) -> Wiped<Vector> {
    drawn(keys, &ctx.randomness(), shape)
}

/// Draws uniform elements if this party is to have some. All parties must call it alike: each call is a use of the
/// lane's randomness.
pub(crate) fn own_if(ctx: &Ctx, keys: &Keys, here: bool, shape: (Ring, usize)) -> Option<Wiped<Vector>> {
    let coins = ctx.randomness();
    here.then(|| drawn(keys, &coins, shape))
}

fn drawn(keys: &Keys, coins: &Randomness, shape: (Ring, usize)) -> Wiped<Vector> {
    let mut drawn = Wiped(coins.stream(&keys.private).draw::<Vector>(shape));
    Module::reduce(&mut *drawn);
    drawn
}

/// Returns the lift of a value, over Z_2^V: random bits are put above the bits of its ring.
pub(crate) fn lifted(ctx: &Ctx, keys: &Keys, value: &Vector, words: Ring) -> Wiped<Vector> {
    below(own(ctx, keys, (words, value.len())), value)
}

/// Returns the lift of a value if this party has one. All parties must call it alike.
pub(crate) fn lifted_if(ctx: &Ctx, keys: &Keys, value: Option<&Vector>, words: Ring) -> Option<Wiped<Vector>> {
    let above = own_if(ctx, keys, value.is_some(), (words, value.map_or(0, Vector::len)));
    above.zip(value).map(|(above, value)| below(above, value))
}

/// Returns `value` with the bits of `above` above its ring.
fn below(mut above: Wiped<Vector>, value: &Vector) -> Wiped<Vector> {
    above.shl(value.ring().bits());
    let value = Wiped(value.convert(above.ring()));
    above.add_assign(&value);
    above
}
