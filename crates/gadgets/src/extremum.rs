//! Maximum, minimum and arg-max along an axis, as a tournament: log rounds of comparisons.
//!
//! Values are `rows` candidates of `lanes` elements each (row-major). Among equal candidates the first wins: the right
//! one replaces the left only if it is strictly better. Rounds: ceil(log2 rows) times those of a comparison and a
//! selection.

use std::borrow::Cow;
use std::ops::Range;

use quorate_engine::{Ctx, Linear, Misuse, Positions, Result};
use quorate_ring::{Ring, Vector};

use crate::{Gadgets, Width, stream};

/// The candidate that wins a comparison.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Best {
    /// The largest candidate.
    Largest,
    /// The smallest candidate.
    Smallest,
}

/// Returns the best of `rows` candidates in each lane.
///
/// # Errors
/// [`Misuse::Length`] without candidates, or if their lengths differ.
pub async fn extremum<S: Gadgets>(s: &S, ctx: &Ctx, x: &S::A, rows: usize, best: Best, width: Width) -> Result<S::A> {
    Ok(s.best(ctx, Field { values: x.clone(), places: None, rows }, best, width).await?.values)
}

/// Returns the row of the first best candidate in each lane, as elements of `index_ring` (which must hold `rows - 1`).
///
/// # Errors
/// Those of [`extremum`].
pub async fn arg_extremum<S: Gadgets>(
    s: &S,
    ctx: &Ctx,
    x: &S::A,
    rows: usize,
    best: Best,
    width: Width,
    index_ring: Ring,
) -> Result<S::A> {
    let lanes = check_rows(s.shape(x).1, rows)?;
    let places = Some(places(s, ctx, index_ring, 0..rows, lanes));
    let field = s.best(ctx, Field { values: x.clone(), places, rows }, best, width).await?;
    field.places.ok_or(quorate_engine::Error::Bug { what: "a tournament lost its places" })
}

/// Returns the row numbers of candidates, for each of their lanes: the initial places.
pub fn places<S: Gadgets>(s: &S, ctx: &Ctx, index_ring: Ring, rows: Range<usize>, lanes: usize) -> S::A {
    if ctx.is_dry() {
        return s.public(&Vector::shape(index_ring, rows.len() * lanes));
    }
    let places: Vec<u64> = rows.flat_map(|row| std::iter::repeat_n(row as u64, lanes)).collect();
    s.public(&Vector::from_u64s(index_ring, &places))
}

/// Returns the best candidate of every lane, as a [`Field`] of one row. A tournament of 2^m rows at a time, followed by
/// one of the winners, gives the same result: candidates meet in the same pairs, in the same number of rounds.
///
/// # Errors
/// Those of [`extremum`].
pub async fn tournament<S: Gadgets>(
    s: &S,
    ctx: &Ctx,
    mut field: Field<S::A>,
    best: Best,
    width: Width,
) -> Result<Field<S::A>> {
    check_rows(s.shape(&field.values).1, field.rows)?;
    while field.rows > 1 {
        field = play(s, ctx, field, best, width).await?;
    }
    Ok(field)
}

/// Returns the number of lanes of `len` elements in `rows` rows.
fn check_rows(len: usize, rows: usize) -> Result<usize> {
    match len.checked_rem(rows) {
        Some(0) => Ok(len / rows),
        _ => Err(Misuse::Length { what: "a tournament of rows", left: rows, right: len }.into()),
    }
}

/// The candidates that are left in a round of a tournament, and their places.
pub struct Field<A> {
    /// The values, rows of lanes.
    pub values: A,
    /// The number of each candidate, if the number of the best one is requested.
    pub places: Option<A>,
    /// The number of candidates of each lane.
    pub rows: usize,
}

/// Plays one round: the candidates of rows 2i and 2i + 1 meet.
async fn play<S: Gadgets>(s: &S, ctx: &Ctx, field: Field<S::A>, best: Best, width: Width) -> Result<Field<S::A>> {
    let lanes = s.shape(&field.values).1 / field.rows;
    let pairs = field.rows / 2;
    let side = |x: &S::A, odd: usize| {
        let positions = || (0..pairs).flat_map(|i| (0..lanes).map(move |lane| ((2 * i + odd) * lanes + lane) as u32));
        let positions = || Cow::Owned(positions().collect());
        s.linear(x, &Linear::Gather(Positions::later(pairs * lanes, &positions)))
    };
    let (left, right) = (side(&field.values, 0), side(&field.values, 1));
    let replaced = match best {
        Best::Largest => s.lt(ctx, &left, &right, width).await?,
        Best::Smallest => s.lt(ctx, &right, &left, width).await?,
    };
    let choose_value = async |ctx: Ctx| s.mux(&ctx, &replaced, &right, &left).await;
    let choose_place = async |ctx: Ctx| match &field.places {
        Some(places) => Ok(Some(s.mux(&ctx, &replaced, &side(places, 1), &side(places, 0)).await?)),
        None => Ok(None),
    };
    let (mut values, mut places) = ctx.join(choose_value, choose_place).await?;
    if field.rows % 2 == 1 {
        let last = (field.rows - 1) * lanes..field.rows * lanes;
        values = s.concat(&[&values, &stream::slice(s, &field.values, last.clone())]);
        places = match (&places, &field.places) {
            (Some(chosen), Some(all)) => Some(s.concat(&[chosen, &stream::slice(s, all, last)])),
            _ => None,
        };
    }
    Ok(Field { values, places, rows: field.rows.div_ceil(2) })
}
