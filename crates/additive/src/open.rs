//! Openings of vectors, whole or as a stream of chunks. What is sent, and to whom, depends on the family.

use std::ops::Range;

use quorate_engine::{Chunks, Ctx, Error, Result};
use quorate_ring::{Module, Ring, Vector};

use crate::share::{Share, blank};

/// The error of an opening that returned no value to a party that gets one.
pub const NOT_OPENED: Error = Error::Bug { what: "an opening to both gave nothing" };

/// Returns chunks of a vector that is sent or opened: two vectors of their length at a time.
pub fn opening((ring, len): (Ring, usize)) -> Chunks {
    Chunks::of_bytes(len, 2 * ring.carrier().bytes())
}

/// Opens a vector by `open`, chunk by chunk if it is long. Returns the value if this party `learns` it. All parties
/// call this, including one that gets only shapes or nothing: lanes must be alike.
///
/// # Errors
/// Those of `open`.
pub async fn in_chunks<K>(
    ctx: &Ctx,
    x: &Share<Vector, K>,
    learns: bool,
    open: impl AsyncFn(&Ctx, &Share<Vector, K>) -> Result<Option<Vector>>,
) -> Result<Option<Vector>> {
    let chunks = opening(x.shape_of());
    if chunks.count() <= 1 {
        return open(ctx, x).await;
    }
    let mut value: Option<Vector> = learns.then(|| blank(ctx.is_dry(), x.shape_of()));
    let work = async |ctx: Ctx, range: Range<usize>| open(&ctx, &x.map(|x| x.slice(range))).await;
    ctx.stream_alike(chunks, work, |range, part: Option<Vector>| {
        if let (Some(value), Some(part)) = (&mut value, part) {
            value.write_at(range.start, &part);
        }
    })
    .await?;
    Ok(value)
}
