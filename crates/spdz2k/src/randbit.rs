//! Random bits over Z_2^k, by square roots.
//!
//! **Source**: RandBit of Damgard et al. 2019 (ePrint 2019/599), Fig. 5. **Notation**: u uniform over Z_2^(k+2).
//!
//! | step | rounds | what |
//! |---|---|---|
//! | 1 | 1 | a = 2 u + 1; its square, with a triple over Z_2^(k+2) |
//! | 2 | 1 | e = Open(a^2); c the smallest of its square roots |
//! | 3 | | d = a / c + 1 is 0 or 2 modulo 2^(k+1); all shares and tags are even, and are halved |
//! | 4 | 9 | check what was opened |
//!
//! a / c is 1 or -1 modulo 2^(k+1), each with probability 1/2. Modulo 2^(k+2) it may be off by 2^(k+1), which halving
//! leaves as 2^k. Before step 1, u is authenticated (4 rounds) and the triples are made (37 rounds). Bytes to each peer
//! for a bit: those of a triple over Z_2^(k+2), of a random element over it, and 3 elements.

use quorate_authenticated::Tagged;
use quorate_engine::{Ctx, Form, Linear, Result};
use quorate_ring::{Ring, Vector};

use crate::maker::Maker;

/// The number of bits that are made together.
pub(crate) const BATCH: usize = 1 << 12;

/// Makes random bits, and checks them.
pub(crate) async fn bits(maker: Maker<'_>, ctx: &Ctx, ring: Ring, len: usize) -> Result<Tagged> {
    let made = ctx.in_turn(len, BATCH, async |range| some_bits(maker, ctx, ring, range.len()).await).await?;
    Ok(maker.joined(ctx, ring, &made))
}

async fn some_bits(maker: Maker<'_>, ctx: &Ctx, ring: Ring, len: usize) -> Result<Tagged> {
    let large = Ring::of(ring.bits() + 2);
    let u = maker.random_elements(ctx, None, (large, len)).await?;
    let triples = maker.triples(ctx, large, len).await?;
    let one = ones(ctx, maker.keys.params.shares(large), len);
    let a = maker.plus(&u.linear(&Linear::Scale(2)), &one);
    let square = maker.multiply_with(ctx, Form::Product, [&a, &a], triples).await?;
    let (_, inverses) = maker.open_elements(ctx, &square).await?.odd_square_roots();
    let ratio = a.linear(&Linear::Factors(&inverses));
    let bits = maker.plus(&ratio, &one).halved();
    maker.check_made(ctx).await?;
    Ok(bits.linear(&Linear::Reduce(ring)))
}

/// Returns ones in a ring of shares.
fn ones(ctx: &Ctx, shares: Ring, len: usize) -> Vector {
    if ctx.is_dry() { Vector::shape(shares, len) } else { Vector::constant(shares, 1, len) }
}
