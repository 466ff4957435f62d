//! Carry propagation: pairs (generate, propagate) combined in log depth.
//!
//! (G, P) o (g, p) = (G xor P g, P p), the upper group first. Generate and propagate exclude each other, so xor equals
//! or.
//!
//! | function | result | ANDs for w positions | rounds |
//! |---|---|---|---|
//! | [`group`] | generate of the whole group | 2 (w - 1) - ceil(log w) | ceil(log w) |
//! | [`group_with_propagate`] | generate and propagate of the group | 2 (w - 1) | ceil(log w) |
//! | [`all`] | generate of every prefix (Sklansky) | see [`all`] | ceil(log w) |
//! | [`all_by_pairs`] | the same (Ladner, Fischer) | `cost::by_pairs` | ceil(log w) + 1 at most |

use quorate_engine::{Ctx, LinearBits, Result, Sharing, UpdateBits};

/// Generate and propagate bits, one row per position, lowest first.
pub struct Pairs<B> {
    /// Whether a position generates a carry.
    pub generate: B,
    /// Whether a position propagates a carry.
    pub propagate: B,
}

/// Returns the rows at these positions, in this order.
pub fn rows<S: Sharing>(s: &S, x: &S::B, indices: &[u32]) -> S::B {
    s.linear_bits(x, &LinearBits::GatherRows(indices))
}

/// Returns generate of the whole group.
pub async fn group<S: Sharing>(s: &S, ctx: &Ctx, pairs: Pairs<S::B>) -> Result<S::B> {
    Ok(tree(s, ctx, pairs, false).await?.generate)
}

/// Returns generate and propagate of the whole group.
pub async fn group_with_propagate<S: Sharing>(s: &S, ctx: &Ctx, pairs: Pairs<S::B>) -> Result<Pairs<S::B>> {
    tree(s, ctx, pairs, true).await
}

/// Combines neighbours until one is left. The lowest group's propagate is computed only on request. The state holds all
/// generates above all propagates, so each level copies every operand once.
async fn tree<S: Sharing>(s: &S, ctx: &Ctx, pairs: Pairs<S::B>, propagate: bool) -> Result<Pairs<S::B>> {
    let mut width = s.bit_shape(&pairs.generate).0 as u32;
    let mut state = s.concat_rows(&[&pairs.generate, &pairs.propagate]);
    drop(pairs);
    while width > 1 {
        let (half, odd) = (width / 2, width % 2 == 1);
        let skipped = if propagate { 0 } else { 1 };
        let lower = |first: u32| (first..half).map(|i| 2 * i);
        let upper = |first: u32| lower(first).map(|i| i + 1);
        let of_propagate = |i: u32| width + i;
        let left: Vec<u32> = upper(0).chain(upper(skipped)).map(of_propagate).collect();
        let right: Vec<u32> = lower(0).chain(lower(skipped).map(of_propagate)).collect();
        let products = s.and(ctx, &rows(s, &state, &left), &rows(s, &state, &right)).await?;
        let last = odd.then_some(width - 1);
        // The rows of propagates are overwritten; without `propagate` the lowest one is never used, so any row will do.
        let kept: Vec<u32> = upper(0).chain(last).chain(upper(0).chain(last).map(of_propagate)).collect();
        let next = half + u32::from(odd);
        let (generates, propagates): (Vec<u32>, Vec<u32>) =
            ((0..half).collect(), (next + skipped..next + half).collect());
        state = rows(s, &state, &kept);
        s.update_bits(&mut state, &products, &UpdateBits::Rows { xored: &generates, set: &propagates });
        width = next;
    }
    Ok(Pairs { generate: rows(s, &state, &[0]), propagate: rows(s, &state, &[1]) })
}

/// Returns generate of every prefix 0..=i, by Sklansky's network. In level l, every position whose bit l is set is
/// combined with the group that ends just below its block. A propagate is kept only while the group does not reach
/// position 0.
pub async fn all<S: Sharing>(s: &S, ctx: &Ctx, pairs: Pairs<S::B>) -> Result<S::B> {
    let width = s.bit_shape(&pairs.generate).0 as u32;
    if width == 1 {
        return Ok(pairs.generate);
    }
    let mut state = s.concat_rows(&[&pairs.generate, &pairs.propagate]);
    drop(pairs);
    let mut level = 0;
    while 1 << level < width {
        let moved: Vec<u32> = (0..width).filter(|i| i >> level & 1 == 1).collect();
        let open: Vec<u32> = moved.iter().copied().filter(|i| i >> (level + 1) > 0).collect();
        let below = |i: &u32| (i >> level << level) - 1;
        let open_propagates: Vec<u32> = open.iter().map(|i| width + i).collect();
        let left: Vec<u32> = moved.iter().map(|i| width + i).chain(open_propagates.iter().copied()).collect();
        let right: Vec<u32> = moved.iter().map(below).chain(open.iter().map(|i| width + below(i))).collect();
        let products = s.and(ctx, &rows(s, &state, &left), &rows(s, &state, &right)).await?;
        s.update_bits(&mut state, &products, &UpdateBits::Rows { xored: &moved, set: &open_propagates });
        level += 1;
    }
    Ok(s.linear_bits(&state, &LinearBits::Rows(0..width as usize)))
}

/// Returns generate of every prefix 0..=i by the network of Ladner and Fischer, with fewer ANDs and a round more than
/// [`all`]. Neighbours are combined, and [`all`] gives the prefixes that end with a pair. A prefix that ends within a
/// pair combines its last position with the prefix below.
pub async fn all_by_pairs<S: Sharing>(s: &S, ctx: &Ctx, pairs: Pairs<S::B>) -> Result<S::B> {
    let width = s.bit_shape(&pairs.generate).0 as u32;
    if width == 1 {
        return Ok(pairs.generate);
    }
    let mut state = s.concat_rows(&[&pairs.generate, &pairs.propagate]);
    drop(pairs);
    let half = width / 2;
    let (lower, upper) = (|i: u32| 2 * i, |i: u32| 2 * i + 1);
    let propagate = |i: u32| width + i;
    // Nothing is below the lowest pair: whether it propagates a carry is never used.
    let left: Vec<u32> = (0..half).chain(1..half).map(upper).map(propagate).collect();
    let right: Vec<u32> = (0..half).map(lower).chain((1..half).map(lower).map(propagate)).collect();
    let products = s.and(ctx, &rows(s, &state, &left), &rows(s, &state, &right)).await?;
    let kept: Vec<u32> = (0..half).map(upper).chain((0..half).map(upper).map(propagate)).collect();
    let mut joined = rows(s, &state, &kept);
    let (generates, propagates): (Vec<u32>, Vec<u32>) = ((0..half).collect(), (half + 1..2 * half).collect());
    s.update_bits(&mut joined, &products, &UpdateBits::Rows { xored: &generates, set: &propagates });
    let of =
        |rows: std::ops::Range<u32>| s.linear_bits(&joined, &LinearBits::Rows(rows.start as usize..rows.end as usize));
    let ends = all(s, ctx, Pairs { generate: of(0..half), propagate: of(half..2 * half) }).await?;
    let within: Vec<u32> = (1..width.div_ceil(2)).map(lower).collect();
    if !within.is_empty() {
        let passing: Vec<u32> = within.iter().copied().map(propagate).collect();
        let below: Vec<u32> = (0..within.len() as u32).collect();
        let products = s.and(ctx, &rows(s, &state, &passing), &rows(s, &ends, &below)).await?;
        s.update_bits(&mut state, &products, &UpdateBits::Rows { xored: &within, set: &[] });
    }
    let order: Vec<u32> = (0..width).map(|i| if i % 2 == 1 { 2 * width + i / 2 } else { i }).collect();
    Ok(rows(s, &s.concat_rows(&[&state, &ends]), &order))
}
