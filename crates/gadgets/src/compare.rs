//! Comparison: BitLT with a public operand, the most significant bit, and less-than over the full signed range.
//!
//! **Source**: Protocol 8 of rss-ring (Appendix A.3). **Deviation**: the result stays a bit over Z_2: with c = Open(x +
//! r), the top bit of x = c - r is c_{k-1} xor r_{k-1} xor borrow. This needs no RandBit, no second opening and no
//! k-bit word. A conversion to Z_2^k, where one is needed, opens one bit. **Model**: that of the sharing; openings are
//! masked by a fresh uniform r.
//!
//! | gadget | correlations | online rounds | opened, ANDs |
//! |---|---|---|---|
//! | `msb` | edaBit(k) | 1 + ceil(log2(k-1)) | k bits; 2 (k-2) - ceil(log2(k-1)) |
//! | `msb`, with products | and floor((k-1)/2) products | 1 + ceil(log2 m) | k bits; 2 (m-1) - ceil(log2 m) |
//! | `lt`, difference proven to fit w <= k bits | edaBit(w) | as `msb` for w | |
//! | `lt`, full signed range | 3 edaBit(k) | 2 + ceil(log2(k-1)) | three `msb`, 1 AND |
//!
//! Some families give masks with the products of neighbouring bits of r. Since c is public, the lowest level of the
//! tree is linear in these products, and takes neither ANDs nor a round: of k - 1 positions m = ceil((k-1)/2) are left.
//!
//! Timing depends only on lengths, k and the proven width.

use std::ops::Range;

use quorate_engine::{Ctx, Linear, LinearBits, Result, Sharing};
use quorate_ring::{Bits, Ring};

use crate::Gadgets;
use crate::prefix::{Pairs, rows};
use crate::stream;

/// The proven range of the operands of a comparison.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Width {
    /// No bound: the operands are any two elements of the ring.
    Full,
    /// The difference of the operands fits a two's complement number of this many bits, at most k; 0 bits hold only 0.
    Difference(u32),
}

/// Returns generate and propagate of the borrow of `c - r` (or, swapped, of `r - c`). They are linear in r, since c is
/// public.
pub(crate) fn borrow_pairs<S: Sharing>(s: &S, c: &Bits, r: &S::B, swapped: bool) -> Pairs<S::B> {
    // c - r borrows where c = 0, r = 1; r - c where r = 0, c = 1. Both propagate a borrow where the bits are equal.
    let mut not_c = c.clone();
    not_c.not_assign();
    let propagate = s.xor_public(r, &not_c);
    let generate = if swapped {
        let masked = s.linear_bits(r, &LinearBits::Mask(c));
        s.xor_public(&masked, c)
    } else {
        s.linear_bits(r, &LinearBits::Mask(&not_c))
    };
    Pairs { generate, propagate }
}

/// Returns generate and propagate of the borrow of `c - r` after the first level of the tree. There is a position for
/// each pair of neighbours, whose products of bits of r are given, and one for the top position if their number is odd.
/// They are linear in r and in these products, since c is public.
fn borrow_of_neighbours<S: Sharing>(s: &S, c: &Bits, r: &S::B, products: &S::B) -> Pairs<S::B> {
    let mut not_c = c.clone();
    not_c.not_assign();
    let (lower, upper) = neighbours(c.rows());
    let [low, high] = [&lower, &upper].map(|list| not_c.gather_rows(list));
    // With n = not c the group generates n1 r1 xor (r1 xor n1) n0 r0 = n1 r1 xor n0 (r1 r0) xor n1 n0 r0.
    let mut both = high.clone();
    both.and_assign(&low);
    let masked = |x: &S::B, mask: &Bits| s.linear_bits(x, &LinearBits::Mask(mask));
    let own = s.xor(&masked(&rows(s, r, &upper), &high), &masked(products, &low));
    let generate = s.xor(&own, &masked(&rows(s, r, &lower), &both));
    // The group propagates a borrow where both positions do.
    let propagate = ands_of_neighbours(s, &not_c, r, products);
    let last = c.rows() as u32 - 1;
    if last % 2 == 1 {
        return Pairs { generate, propagate };
    }
    let top = borrow_pairs(s, &c.row(last as usize), &rows(s, r, &[last]), false);
    Pairs {
        generate: s.concat_rows(&[&generate, &top.generate]),
        propagate: s.concat_rows(&[&propagate, &top.propagate]),
    }
}

/// Returns (r1 xor n1) (r0 xor n0) of all pairs of neighbours, for public n: r1 r0 xor n0 r1 xor n1 r0 xor n1 n0.
pub(crate) fn ands_of_neighbours<S: Sharing>(s: &S, n: &Bits, r: &S::B, products: &S::B) -> S::B {
    let (lower, upper) = neighbours(n.rows());
    let [low, mut high] = [&lower, &upper].map(|list| n.gather_rows(list));
    let of_upper = s.linear_bits(&rows(s, r, &upper), &LinearBits::Mask(&low));
    let of_lower = s.linear_bits(&rows(s, r, &lower), &LinearBits::Mask(&high));
    high.and_assign(&low);
    s.xor_public(&s.xor(products, &s.xor(&of_upper, &of_lower)), &high)
}

/// Returns the positions of pairs of neighbours: the lower ones and the upper ones.
fn neighbours(width: usize) -> (Vec<u32>, Vec<u32>) {
    let lower = (0..width as u32 / 2).map(|i| 2 * i);
    (lower.clone().collect(), lower.map(|i| i + 1).collect())
}

/// Returns c < r for public c (BitLT), as unsigned numbers with a bit for each row. One row of bits.
pub async fn bit_lt_public<S: Gadgets>(s: &S, ctx: &Ctx, c: &Bits, r: &S::B) -> Result<S::B> {
    s.carry(ctx, borrow_pairs(s, c, r, false)).await
}

/// Returns the top bit of every element.
pub async fn msb<S: Gadgets>(s: &S, ctx: &Ctx, x: &S::A) -> Result<S::B> {
    let k = s.shape(x).0.bits();
    if k == 1 {
        return s.lsb(ctx, x).await;
    }
    stream::to_bits(s, ctx, x, async |s: &S, ctx: &Ctx, x: S::A| msb_chunk(s, ctx, &x).await).await
}

async fn msb_chunk<S: Gadgets>(s: &S, ctx: &Ctx, x: &S::A) -> Result<S::B> {
    let (ring, len) = s.shape(x);
    let k = ring.bits();
    let r = s.comparison_masks(ctx, ring, (k as usize - 1) / 2, len).await?;
    let c = s.open(ctx, &s.add(x, &r.value)).await?.to_bits(0..k);
    let low: Vec<u32> = (0..k - 1).collect();
    let (low_c, low_r) = (c.gather_rows(&low), rows(s, &r.bits, &low));
    let borrow = match &r.products {
        Some(products) => s.carry(ctx, borrow_of_neighbours(s, &low_c, &low_r, products)).await?,
        None => bit_lt_public(s, ctx, &low_c, &low_r).await?,
    };
    let top = s.xor_public(&rows(s, &r.bits, &[k - 1]), &c.row(k as usize - 1));
    Ok(s.xor(&top, &borrow))
}

/// Returns x < y as two's complement numbers of k bits.
pub async fn lt<S: Gadgets>(s: &S, ctx: &Ctx, x: &S::A, y: &S::A, width: Width) -> Result<S::B> {
    let (ring, len) = s.shape(x);
    match width {
        Width::Difference(bits) if bits == ring.bits() => s.msb(ctx, &s.sub(x, y)).await,
        Width::Difference(bits) if bits < ring.bits() => {
            let narrow = Ring::of(bits.max(1));
            s.msb(ctx, &s.linear(&s.sub(x, y), &Linear::Reduce(narrow))).await
        }
        _ => {
            let operands = |range: Range<usize>| [x, y].map(|x| stream::slice(s, x, range.clone()));
            let work = async |s: &S, ctx: &Ctx, [x, y]: [S::A; 2]| lt_at_once(s, ctx, &x, &y).await;
            stream::to_lanes(s, ctx, stream::chunks(len, 3 * ring.bits()), operands, work).await
        }
    }
}

/// Returns x < y for any two elements of the ring, with the signs of all elements by one call of `msb`. For families
/// whose `msb` chooses a protocol by the number of elements.
///
/// Equal signs: the difference cannot wrap. Different signs: x < y exactly when x is the negative one.
pub async fn lt_at_once<S: Gadgets>(s: &S, ctx: &Ctx, x: &S::A, y: &S::A) -> Result<S::B> {
    let len = s.shape(x).1;
    let signs = s.msb(ctx, &s.concat(&[x, y, &s.sub(x, y)])).await?;
    let part = |i: usize| stream::slice_lanes(s, &signs, i * len..(i + 1) * len);
    let (x_sign, y_sign, sign) = (part(0), part(1), part(2));
    let chosen = s.and(ctx, &s.xor(&x_sign, &y_sign), &s.xor(&x_sign, &sign)).await?;
    Ok(s.xor(&sign, &chosen))
}
