//! Comparison: BitLT with a public operand, the most significant bit, and less-than over the full signed range.
//!
//! **Source**: Protocol 8 of rss-ring (Appendix A.3). **Deviation**: the result stays a bit over Z_2: with c = Open(x +
//! r), the top bit of x = c - r is c_{k-1} xor r_{k-1} xor borrow, so that no RandBit, no second opening and no k-bit
//! word are needed; converting it to Z_2^k, where it is needed, opens one bit. **Model**: that of the sharing; what is
//! opened is masked by a fresh uniform r.
//!
//! | gadget | correlations | online rounds | opened, ANDs |
//! |---|---|---|---|
//! | `msb` | edaBit(k) | 1 + ceil(log2(k-1)) | k bits; 2 (k-2) - ceil(log2(k-1)) |
//! | `lt`, difference proven to fit w <= k bits | edaBit(w) | as `msb` for w | |
//! | `lt`, full signed range | 3 edaBit(k) | 2 + ceil(log2(k-1)) | three `msb`, 1 AND |
//!
//! Timing depends on lengths, k and the proven width only.

use quorate_engine::{Ctx, Linear, LinearBits, Result, Sharing};
use quorate_ring::{Bits, Ring};

use crate::Gadgets;
use crate::prefix::{Pairs, rows};
use crate::stream;

/// What is proven about the operands of a comparison.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Width {
    /// Nothing: any two elements of the ring.
    Full,
    /// The difference of the operands fits a two's complement number of so many bits, at most k; 0 bits hold only 0.
    Difference(u32),
}

/// Generate and propagate of the borrow of `c - r` (or, swapped, of `r - c`): linear in r, since c is public.
pub(crate) fn borrow_pairs<S: Sharing>(s: &S, c: &Bits, r: &S::B, swapped: bool) -> Pairs<S::B> {
    // c - r borrows where c = 0, r = 1; r - c where r = 0, c = 1. Either passes a borrow on where the bits are equal.
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

/// BitLT: c < r for public c, as unsigned numbers of as many bits as there are rows. One row of bits.
pub async fn bit_lt_public<S: Gadgets>(s: &S, ctx: &Ctx, c: &Bits, r: &S::B) -> Result<S::B> {
    s.carry(ctx, borrow_pairs(s, c, r, false)).await
}

/// The top bit of every element.
pub async fn msb<S: Gadgets>(s: &S, ctx: &Ctx, x: &S::A) -> Result<S::B> {
    let k = s.shape(x).0.bits();
    if k == 1 {
        return s.lsb(ctx, x).await;
    }
    stream::to_bits(s, ctx, x, async |ctx: Ctx, x: S::A| msb_chunk(s, &ctx, &x).await).await
}

async fn msb_chunk<S: Gadgets>(s: &S, ctx: &Ctx, x: &S::A) -> Result<S::B> {
    let (ring, len) = s.shape(x);
    let k = ring.bits();
    let r = s.edabits(ctx, ring, None, len).await?;
    let c = s.open(ctx, &s.add(x, &r.value)).await?.to_bits(0..k);
    let low: Vec<u32> = (0..k - 1).collect();
    let borrow = bit_lt_public(s, ctx, &c.gather_rows(&low), &rows(s, &r.bits, &low)).await?;
    let top = s.xor_public(&rows(s, &r.bits, &[k - 1]), &c.row(k as usize - 1));
    Ok(s.xor(&top, &borrow))
}

/// x < y as two's complement numbers of k bits.
pub async fn lt<S: Gadgets>(s: &S, ctx: &Ctx, x: &S::A, y: &S::A, width: Width) -> Result<S::B> {
    let (ring, len) = s.shape(x);
    let difference = s.sub(x, y);
    match width {
        Width::Difference(bits) if bits == ring.bits() => s.msb(ctx, &difference).await,
        Width::Difference(bits) if bits < ring.bits() => {
            let narrow = Ring::of(bits.max(1));
            s.msb(ctx, &s.linear(&difference, &Linear::Reduce(narrow))).await
        }
        _ => {
            // Equal signs: the difference cannot wrap. Different signs: x < y exactly when x is the negative one.
            let signs = s.msb(ctx, &s.concat(&[x, y, &difference])).await?;
            let part = |i: usize| stream::slice_lanes(s, &signs, i * len..(i + 1) * len);
            let (x_sign, y_sign, sign) = (part(0), part(1), part(2));
            let chosen = s.and(ctx, &s.xor(&x_sign, &y_sign), &s.xor(&x_sign, &sign)).await?;
            Ok(s.xor(&sign, &chosen))
        }
    }
}
