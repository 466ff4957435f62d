//! Random bits, by proofs or by square roots, as the parameters of the session choose.

use quorate_authenticated::{SharedBits, Tagged};
use quorate_engine::{Ctx, Result};
use quorate_ring::Ring;

use crate::bits_as_elements::links;
use crate::maker::Maker;
use crate::{provenbit, randbit};

/// Makes random bits as elements, and checks them.
pub(crate) async fn elements(maker: Maker<'_>, ctx: &Ctx, ring: Ring, len: usize) -> Result<Tagged> {
    match maker.keys.params.bits_from_proofs(maker.keys.parties) {
        true => provenbit::bits(maker, ctx, ring, len).await,
        false => randbit::bits(maker, ctx, ring, len).await,
    }
}

/// Makes random bits as elements, and in the form of the session's bits.
pub(crate) async fn dabits(maker: Maker<'_>, ctx: &Ctx, ring: Ring, len: usize) -> Result<(Tagged, SharedBits)> {
    if maker.keys.params.bits_from_proofs(maker.keys.parties) {
        return provenbit::dabits(maker, ctx, ring, len).await;
    }
    let elements = randbit::bits(maker, ctx, ring, len).await?;
    if !maker.has_macs() {
        return Ok((elements.clone(), maker.low_bits(&elements)));
    }
    let links = links(maker, ctx, len).await?;
    let bits = maker.lowest_with(ctx, &elements, links).await?;
    Ok((elements, bits))
}
