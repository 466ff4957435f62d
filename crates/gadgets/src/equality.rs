//! Equality with zero.
//!
//! **Source**: the masked-opening idea of Protocol 8 of rss-ring, with an AND tree (as EQZ of spdz2k-primitives,
//! section IV). x = 0 exactly when c = Open(x + r) equals r bit by bit. Correlations: edaBit(k). Online rounds: 1 +
//! ceil(log2 k). Opened: k bits; ANDs: k - 1. **Model**: that of the sharing.
//!
//! If masks come with the products of neighbouring bits, the first level of the tree is linear in these, since c is
//! public. This saves a round and leaves ceil(k/2) - 1 ANDs.

use quorate_engine::{Ctx, Result, Sharing};
use quorate_ring::Bits;

use crate::compare::ands_of_neighbours;
use crate::prefix::rows;
use crate::stream;

/// Returns x = 0, one row of bits.
pub async fn eqz<S: Sharing>(s: &S, ctx: &Ctx, x: &S::A) -> Result<S::B> {
    let (ring, len) = s.shape(x);
    if ring.bits() == 1 {
        return Ok(s.xor_public(&s.lsb(ctx, x).await?, &Bits::constant(true, 1, len)));
    }
    stream::to_bits(s, ctx, x, async |s: &S, ctx: &Ctx, x: S::A| eqz_chunk(s, ctx, &x).await).await
}

async fn eqz_chunk<S: Sharing>(s: &S, ctx: &Ctx, x: &S::A) -> Result<S::B> {
    let (ring, len) = s.shape(x);
    let k = ring.bits();
    let r = s.comparison_masks(ctx, ring, k as usize / 2, len).await?;
    let mut differs_not = s.open(ctx, &s.add(x, &r.value)).await?.to_bits(0..k);
    differs_not.not_assign();
    let Some(products) = &r.products else {
        return and_all(s, ctx, s.xor_public(&r.bits, &differs_not)).await;
    };
    let mut same = ands_of_neighbours(s, &differs_not, &r.bits, products);
    if k % 2 == 1 {
        let top = s.xor_public(&rows(s, &r.bits, &[k - 1]), &differs_not.row(k as usize - 1));
        same = s.concat_rows(&[&same, &top]);
    }
    and_all(s, ctx, same).await
}

/// Returns the AND of all rows, in log depth.
pub async fn and_all<S: Sharing>(s: &S, ctx: &Ctx, mut x: S::B) -> Result<S::B> {
    loop {
        let width = s.bit_shape(&x).0 as u32;
        if width == 1 {
            return Ok(x);
        }
        let half = width / 2;
        let left: Vec<u32> = (0..half).collect();
        let right: Vec<u32> = (half..2 * half).collect();
        let product = s.and(ctx, &rows(s, &x, &left), &rows(s, &x, &right)).await?;
        x = match width % 2 {
            0 => product,
            _ => s.concat_rows(&[&product, &rows(s, &x, &[width - 1])]),
        };
    }
}
