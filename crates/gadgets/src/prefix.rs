//! Carry propagation: pairs (generate, propagate) combined in log depth.
//!
//! (G, P) o (g, p) = (G xor P g, P p), the upper group first. Generate and propagate exclude each other, so xor is or.
//!
//! | function | result | ANDs for w positions | rounds |
//! |---|---|---|---|
//! | [`group`] | generate of the whole group | 2 (w - 1) - ceil(log w) | ceil(log w) |
//! | [`group_with_propagate`] | generate and propagate of the group | 2 (w - 1) | ceil(log w) |
//! | [`all`] | generate of every prefix (Sklansky) | see [`all`] | ceil(log w) |

use quorate_engine::{Ctx, Result, Sharing};
use quorate_ring::Bits;

/// Generate and propagate bits, one row per position, lowest first.
pub struct Pairs<B> {
    /// Whether a position gives a carry by itself.
    pub generate: B,
    /// Whether it passes one on.
    pub propagate: B,
}

/// The rows at these positions, in this order.
pub fn rows<S: Sharing>(s: &S, x: &S::B, indices: &[u32]) -> S::B {
    s.linear_bits(x, &|share: &Bits| share.gather_rows(indices))
}

/// Generate of the whole group.
pub async fn group<S: Sharing>(s: &S, ctx: &Ctx, pairs: Pairs<S::B>) -> Result<S::B> {
    Ok(tree(s, ctx, pairs, false).await?.generate)
}

/// Generate and propagate of the whole group.
pub async fn group_with_propagate<S: Sharing>(s: &S, ctx: &Ctx, pairs: Pairs<S::B>) -> Result<Pairs<S::B>> {
    tree(s, ctx, pairs, true).await
}

/// Combines neighbours until one is left. The lowest group's propagate is computed only if it is wanted.
async fn tree<S: Sharing>(s: &S, ctx: &Ctx, mut pairs: Pairs<S::B>, propagate: bool) -> Result<Pairs<S::B>> {
    loop {
        let width = s.bit_shape(&pairs.generate).0 as u32;
        if width == 1 {
            return Ok(pairs);
        }
        let lower: Vec<u32> = (0..width / 2).map(|i| 2 * i).collect();
        let upper: Vec<u32> = lower.iter().map(|i| i + 1).collect();
        let skipped = usize::from(!propagate);
        let upper_propagate = rows(s, &pairs.propagate, &upper);
        let left = s.concat_rows(&[&upper_propagate, &rows(s, &pairs.propagate, &upper[skipped..])]);
        let right = s.concat_rows(&[&rows(s, &pairs.generate, &lower), &rows(s, &pairs.propagate, &lower[skipped..])]);
        let products = s.and(ctx, &left, &right).await?;
        let half = width / 2;
        let carried = rows(s, &products, &(0..half).collect::<Vec<_>>());
        let mut generate = s.xor(&rows(s, &pairs.generate, &upper), &carried);
        // Row 0 stands for the lowest group; without `propagate` its value is never used, so any row will do.
        let kept: Vec<u32> = (0..half).map(|i| if propagate { half + i } else { half + i.saturating_sub(1) }).collect();
        let mut combined = match propagate || half > 1 {
            true => rows(s, &products, &kept),
            false => rows(s, &pairs.propagate, &upper),
        };
        if width % 2 == 1 {
            generate = s.concat_rows(&[&generate, &rows(s, &pairs.generate, &[width - 1])]);
            combined = s.concat_rows(&[&combined, &rows(s, &pairs.propagate, &[width - 1])]);
        }
        pairs = Pairs { generate, propagate: combined };
    }
}

/// Generate of every prefix 0..=i, by Sklansky's network: in level l, every position whose bit l is set takes in the group
/// that ends just below its block. A propagate is kept only while the group does not reach position 0.
pub async fn all<S: Sharing>(s: &S, ctx: &Ctx, mut pairs: Pairs<S::B>) -> Result<S::B> {
    let width = s.bit_shape(&pairs.generate).0 as u32;
    let mut level = 0;
    while 1 << level < width {
        let moved: Vec<u32> = (0..width).filter(|i| i >> level & 1 == 1).collect();
        let below = |i: &u32| (i >> level << level) - 1;
        let open: Vec<u32> = moved.iter().copied().filter(|i| i >> (level + 1) > 0).collect();
        let left = s.concat_rows(&[&rows(s, &pairs.propagate, &moved), &rows(s, &pairs.propagate, &open)]);
        let lower: Vec<u32> = moved.iter().map(below).collect();
        let lower_open: Vec<u32> = open.iter().map(below).collect();
        let right = s.concat_rows(&[&rows(s, &pairs.generate, &lower), &rows(s, &pairs.propagate, &lower_open)]);
        let products = s.and(ctx, &left, &right).await?;
        let carried: Vec<u32> = (0..moved.len() as u32).collect();
        let generate = s.xor(&rows(s, &pairs.generate, &moved), &rows(s, &products, &carried));
        pairs.generate = replace(s, &pairs.generate, &moved, &generate);
        let combined: Vec<u32> = (moved.len()..moved.len() + open.len()).map(|i| i as u32).collect();
        pairs.propagate = replace(s, &pairs.propagate, &open, &rows(s, &products, &combined));
        level += 1;
    }
    Ok(pairs.generate)
}

/// `old` with the rows `at` taken from `new`, in order.
fn replace<S: Sharing>(s: &S, old: &S::B, at: &[u32], new: &S::B) -> S::B {
    if at.is_empty() {
        return old.clone();
    }
    let width = s.bit_shape(old).0 as u32;
    let mut next = width;
    let order: Vec<u32> = (0..width)
        .map(|i| {
            if at.contains(&i) {
                next += 1;
                next - 1
            } else {
                i
            }
        })
        .collect();
    rows(s, &s.concat_rows(&[old, new]), &order)
}
