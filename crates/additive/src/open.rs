//! Openings of vectors, whole or as a stream of chunks. What is sent, and to whom, depends on the family.

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
pub async fn in_chunks<K: Send + Sync + 'static>(
    ctx: &Ctx,
    x: &Share<Vector, K>,
    learns: bool,
    open: impl AsyncFn(&Ctx, &Share<Vector, K>) -> Result<Option<Vector>> + Send + Sync + 'static,
) -> Result<Option<Vector>> {
    let chunks = opening(x.shape_of());
    if chunks.count() <= 1 {
        return open(ctx, x).await;
    }
    let mut value: Option<Vector> = learns.then(|| blank(ctx.is_dry(), x.shape_of()));
    let work = async move |ctx: Ctx, x: Share<Vector, K>| open(&ctx, &x).await;
    ctx.spread(
        chunks,
        |range| x.map(|x| x.slice(range)),
        work,
        |range, part: Option<Vector>| {
            if let (Some(value), Some(part)) = (&mut value, part) {
                value.write_at(range.start, &part);
            }
        },
    )
    .await?;
    Ok(value)
}

#[cfg(test)]
mod tests {
    use std::sync::{Arc, Mutex};

    use quorate_engine::{Phase, dry};

    use super::*;

    const RING: Ring = Ring::of(64);

    /// Opens x by doubling its chunks, in a dry run or with values; returns also the lengths of the chunks.
    fn opened(is_dry: bool, x: &Share<Vector>, learns: bool) -> (Option<Vector>, Vec<usize>) {
        let lens = Arc::new(Mutex::new(Vec::new()));
        let note = lens.clone();
        let open = async move |_: &Ctx, x: &Share<Vector>| {
            note.lock().unwrap().push(x.len());
            Ok(learns.then(|| (*x.zip(x, Vector::add_assign)).clone()))
        };
        let work = async |ctx: &Ctx| match is_dry {
            true => in_chunks(ctx, x, learns, open).await,
            false => ctx.alone(Phase::Online, async |ctx| in_chunks(ctx, x, learns, open).await),
        };
        let (value, _) = dry::run(0, 2, Phase::Online, work).unwrap();
        let lens = lens.lock().unwrap().clone();
        (value, lens)
    }

    #[test]
    fn an_opening_is_whole_or_its_chunks_joined() {
        for count in [0, 1, 2, 3] {
            let len = count * opening((RING, 0)).chunk;
            let words: Vec<u64> = (0..len as u64).collect();
            let x = Share::of(Vector::from_u64s(RING, &words));
            let (value, lens) = opened(false, &x, true);
            assert_eq!((lens.len(), lens.iter().sum()), (count.max(1), len));
            assert_eq!(value.unwrap().to_u64s(), words.iter().map(|word| 2 * word).collect::<Vec<_>>());
            let (nothing, others) = opened(false, &x, false);
            assert!(nothing.is_none() && others == lens, "a party that learns nothing takes part in every chunk");
            let (shape, others) = opened(true, &Share::shape((RING, len)), true);
            assert!(shape.is_some_and(|shape| shape.is_shape() && shape.len() == len) && others == lens);
        }
    }
}
