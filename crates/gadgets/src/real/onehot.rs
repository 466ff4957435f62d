//! One-hot rows of numbers given by bits and of leading bits, and selections by them.

use quorate_engine::{Ctx, Result, Sharing};

use super::local::{not, row_sums};
use crate::prefix::rows;

/// Sets row i to 1 where the number (rows of bits, lowest first) is i. ceil(log2 rows) rounds; about 2^rows ANDs.
pub(crate) async fn decode<S: Sharing>(s: &S, ctx: &Ctx, x: &S::B) -> Result<S::B> {
    let width = s.bit_shape(x).0 as u32;
    if width == 1 {
        return Ok(s.concat_rows(&[&not(s, x), x]));
    }
    let half = width / 2;
    let part = |range: std::ops::Range<u32>| rows(s, x, &range.collect::<Vec<_>>());
    let (low, high) = (part(0..half), part(half..width));
    let (low, high) = ctx
        .join(
            async |ctx: Ctx| Box::pin(decode(s, &ctx, &low)).await,
            async |ctx: Ctx| Box::pin(decode(s, &ctx, &high)).await,
        )
        .await?;
    pairs(s, ctx, &low, &high).await
}

/// Sets row h L + l to low_l and high_h, for L rows of `low`. Rows of the last l follow from the others.
async fn pairs<S: Sharing>(s: &S, ctx: &Ctx, low: &S::B, high: &S::B) -> Result<S::B> {
    let (lows, highs) = (s.bit_shape(low).0 as u32, s.bit_shape(high).0 as u32);
    let multiplied = lows - 1;
    let left: Vec<u32> = (0..highs).flat_map(|_| 0..multiplied).collect();
    let right: Vec<u32> = (0..highs).flat_map(|h| (0..multiplied).map(move |_| h)).collect();
    let products = s.and(ctx, &rows(s, low, &left), &rows(s, high, &right)).await?;
    let lists: Vec<Vec<u32>> = (0..highs)
        .flat_map(|h| {
            let own = h * multiplied..(h + 1) * multiplied;
            let last: Vec<u32> = own.clone().chain([highs * multiplied + h]).collect();
            own.map(|i| vec![i]).chain([last])
        })
        .collect();
    Ok(row_sums(s, &s.concat_rows(&[&products, high]), &lists))
}

/// Sets row i to 1 where row i is the highest that is set; all rows are 0 where none is. ceil(log2 rows) rounds.
pub(super) async fn leading<S: Sharing>(s: &S, ctx: &Ctx, x: &S::B) -> Result<S::B> {
    let width = s.bit_shape(x).0 as u32;
    // Row i of `seen`: whether some row from width - 1 - i on is set. Sklansky's network, with or.
    let mut seen = rows(s, x, &(0..width).rev().collect::<Vec<_>>());
    let mut level = 0;
    while 1 << level < width {
        let moved: Vec<u32> = (0..width).filter(|i| i >> level & 1 == 1).collect();
        let below: Vec<u32> = moved.iter().map(|i| (i >> level << level) - 1).collect();
        let both = s.and(ctx, &rows(s, &seen, &moved), &rows(s, &seen, &below)).await?;
        let mut next = 0;
        let lists: Vec<Vec<u32>> = (0..width)
            .map(|i| {
                if i >> level & 1 == 0 {
                    return vec![i];
                }
                next += 1;
                vec![i, (i >> level << level) - 1, width + next - 1]
            })
            .collect();
        seen = row_sums(s, &s.concat_rows(&[&seen, &both]), &lists);
        level += 1;
    }
    let lists: Vec<Vec<u32>> = (0..width)
        .map(|i| match width - 1 - i {
            0 => vec![0],
            place => vec![place, place - 1],
        })
        .collect();
    Ok(row_sums(s, &seen, &lists))
}

/// A one-hot number 8 high + low, below 8 times the number of rows of `high`; all rows may be 0, which selects zeros.
pub(super) struct Number<B> {
    pub low: B,
    pub high: B,
}

impl<B> Number<B> {
    /// Returns the number `of(p)` for the place p of the set row; `None` selects zeros. `high` has 8 rows if no number
    /// is above 63, else 16.
    pub fn of_one_hot<S: Sharing<B = B>>(s: &S, one_hot: &B, of: impl Fn(u32) -> Option<u32>) -> Number<B> {
        let width = s.bit_shape(one_hot).0 as u32;
        let highs = if (0..width).any(|p| of(p).is_some_and(|u| u >= 64)) { 16 } else { 8 };
        let list = |wanted: &dyn Fn(u32) -> bool| (0..width).filter(|&p| of(p).is_some_and(wanted)).collect();
        let low: Vec<Vec<u32>> = (0..8).map(|l| list(&|u| u % 8 == l)).collect();
        let high: Vec<Vec<u32>> = (0..highs).map(|h| list(&|u| u / 8 == h)).collect();
        Number { low: row_sums(s, one_hot, &low), high: row_sums(s, one_hot, &high) }
    }

    /// Returns the number with these six or seven rows of bits.
    pub async fn of_bits<S: Sharing<B = B>>(s: &S, ctx: &Ctx, x: &B) -> Result<Number<B>> {
        let width = s.bit_shape(x).0 as u32;
        let part = |range: std::ops::Range<u32>| rows(s, x, &range.collect::<Vec<_>>());
        let (low, high) = (part(0..3), part(3..width));
        let (low, high) = ctx
            .join(async |ctx: Ctx| decode(s, &ctx, &low).await, async |ctx: Ctx| decode(s, &ctx, &high).await)
            .await?;
        Ok(Number { low, high })
    }
}

/// Sets row j to the row at(u, j) of `source`, where u is the number; to 0 if there is none. `at` is u (if `rising`) or
/// -u, plus `place(j)`. Two rounds.
pub(super) async fn shift<S: Sharing>(
    s: &S,
    ctx: &Ctx,
    source: &S::B,
    by: &Number<S::B>,
    rising: bool,
    count: usize,
    place: impl Fn(i64) -> i64,
) -> Result<S::B> {
    let sign = if rising { 1 } else { -1 };
    let (width, highs) = (s.bit_shape(source).0 as i64, s.bit_shape(&by.high).0 as i64);
    let ends: Vec<i64> = (0..count as i64).flat_map(|j| [place(j), place(j) + 7 * sign]).collect();
    let (first, last) = (ends.iter().min().copied().unwrap_or(0), ends.iter().max().copied().unwrap_or(0));
    let coarse: Vec<Vec<(u32, u32)>> = (first..=last)
        .map(|w| (0..highs).map(move |h| (h, 8 * h * sign + w)).filter(|&(_, at)| (0..width).contains(&at)))
        .map(|pairs| pairs.map(|(h, at)| (h as u32, at as u32)).collect())
        .collect();
    let coarse = select(s, ctx, &by.high, source, &coarse).await?;
    let fine: Vec<Vec<(u32, u32)>> =
        (0..count as i64).map(|j| (0..8).map(|l| (l as u32, (l * sign + place(j) - first) as u32)).collect()).collect();
    select(s, ctx, &by.low, &coarse, &fine).await
}

/// Returns one row for each list: the sum of chooser_a and source_b over its pairs (a, b). One round.
async fn select<S: Sharing>(
    s: &S,
    ctx: &Ctx,
    chooser: &S::B,
    source: &S::B,
    lists: &[Vec<(u32, u32)>],
) -> Result<S::B> {
    let left: Vec<u32> = lists.iter().flatten().map(|pair| pair.0).collect();
    let right: Vec<u32> = lists.iter().flatten().map(|pair| pair.1).collect();
    let products = s.and(ctx, &rows(s, chooser, &left), &rows(s, source, &right)).await?;
    let mut next = 0;
    let sums: Vec<Vec<u32>> = lists
        .iter()
        .map(|list| {
            let start = next;
            next += list.len() as u32;
            (start..next).collect()
        })
        .collect();
    Ok(row_sums(s, &products, &sums))
}
