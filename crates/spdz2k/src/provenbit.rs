//! Random bits of two parties, from a bit that each of them proves.
//!
//! **Source**: ours (docs/security/spdz2k.md); the xor in the ring as in Rotaru, Wood 2019 (ePrint 2019/207).
//! **Model**: malicious, 1 of 2. **Notation**: b^0 and b^1 the parties' own bits, b their xor.
//!
//! | step | rounds | what |
//! |---|---|---|
//! | 1 | 7 | a proven bit of each party over Z_2^k (`proved`) |
//! | 2 | 9, for daBits | the same bits with MACs (`bits_as_elements`); their xor is local |
//! | 3 | 37 | one-sided triples over Z_2^(k-1) |
//! | 4 | 1 | b = b^0 + b^1 - 2 b^0 b^1 |
//! | 5 | 9 | check what was opened |
//!
//! The product is doubled, so it has to be right only modulo 2^(k-1). Modulo 2 a random element is a random bit.
//!
//! Bytes to the peer for a bit, k = s = 64: 5.4 kB.

use std::ops::Range;

use quorate_authenticated::shared::Shared;
use quorate_authenticated::{SharedBits, Tagged};
use quorate_engine::{Ctx, Error, Form, Linear, Result};
use quorate_ring::{Ring, Vector};

use crate::bits_as_elements::{links, macs_of};
use crate::maker::Maker;
use crate::proved::own_bits;

/// The number of bits that are made together.
const BATCH: usize = 1 << 14;
const NO_BITS: Error = Error::Bug { what: "no party has bits" };

/// Makes random bits as elements, and checks them.
pub(crate) async fn bits(maker: Maker<'_>, ctx: &Ctx, ring: Ring, len: usize) -> Result<Tagged> {
    if ring.bits() == 1 {
        return maker.random_elements(ctx, None, (ring, len)).await;
    }
    let batch = async |range: Range<usize>| {
        let own = own_bits(maker.keys.voles(), ctx, ring, range.len()).await?;
        let bits = xor_of_owned(maker, ctx, ring, &own).await?;
        maker.check_made(ctx).await?;
        Ok(bits)
    };
    Ok(maker.joined(ctx, ring, &ctx.in_turn(len, BATCH, batch).await?))
}

/// Makes random bits as elements and with MACs, and checks them.
pub(crate) async fn dabits(maker: Maker<'_>, ctx: &Ctx, ring: Ring, len: usize) -> Result<(Tagged, SharedBits)> {
    if ring.bits() == 1 {
        return links(maker, ctx, len).await;
    }
    let batch = async |range: Range<usize>| {
        let own = own_bits(maker.keys.voles(), ctx, ring, range.len()).await?;
        let mut with_macs = macs_of(maker, ctx, &own).await?.into_iter();
        let first = with_macs.next().ok_or(NO_BITS)?;
        let bits = SharedBits::macs(with_macs.fold(first, |sum, own| sum.xor(&own)));
        let elements = xor_of_owned(maker, ctx, ring, &own).await?;
        maker.check_made(ctx).await?;
        Ok((elements, bits))
    };
    Ok(maker.joined_pairs(ctx, ring, &ctx.in_turn(len, BATCH, batch).await?))
}

/// Runs steps 3 and 4.
async fn xor_of_owned(maker: Maker<'_>, ctx: &Ctx, ring: Ring, own: &[Shared]) -> Result<Tagged> {
    let below = Ring::of(ring.bits() - 1);
    let known = |owner: usize| Tagged::of(ring, &own[owner]).known_to(Some(owner));
    let bits = [known(0), known(1)];
    let [x, y] = bits.each_ref().map(|bits| bits.linear(&Linear::Reduce(below)));
    let triples = maker.one_sided_triples(ctx, [0, 1], (below, x.shape().1)).await?;
    let product = maker.multiply_with(ctx, Form::Product, [&x, &y], triples).await?;
    let twice = product.linear(&Linear::Raise(ring, 1));
    let [x, y] = bits;
    Ok(x.zip(&y, Vector::add_assign).zip(&twice, Vector::sub_assign))
}
