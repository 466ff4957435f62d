//! Triples, in the form that the parameters of the session choose.

use std::ops::Range;

use quorate_engine::{Ctx, Result};
use quorate_ring::Ring;

use crate::keys::Keys;
use crate::params::TripleForm;
use crate::triple::{BATCH, Triples};
use crate::{bucket_triple, triple, two_keys};

/// Makes triples over Z_2^k.
///
/// # Errors
/// [`Error::Cheating`](quorate_engine::Error::Cheating) where a peer does not follow the protocol; any error that
/// ends a run.
pub(crate) async fn make(keys: Keys<'_>, ctx: &Ctx, ring: Ring, len: usize) -> Result<Triples> {
    keys.params.check_triples(ring)?;
    if len == 0 {
        return Ok(Triples::none(keys.params.shares(ring)));
    }
    let form = keys.params.triples();
    if form == TripleForm::Buckets {
        return bucket_triple::make(keys, ctx, ring, len).await;
    }
    let batch = async |range: Range<usize>| match form {
        TripleForm::TwoKeys => two_keys::batch(keys, ctx, ring, range.len()).await,
        _ => triple::batch(keys, ctx, ring, range.len()).await,
    };
    Ok(Triples::joined(&ctx.in_turn(len, BATCH, batch).await?.all()))
}
