//! Carries from generates and propagates, with one left operand for both products of a pair.
//!
//! **Source**: vector triples as in section III-B2 of aby (Mohassel, Sadeghian 2013): shares of a, b, b' and a b, a b'.
//! The trees are those of [`quorate_gadgets::prefix`]. **Model**: semi-honest, 1 of 2.
//!
//! (G, P) o (g, p) = (G xor P g, P p): 3 opened bits for both products instead of 4, and the transfers of one. A
//! product whose propagate is not needed is made, too, except in the last level of a tree without a propagate.
//!
//! | function | pairs of products, for w positions | ANDs | rounds |
//! |---|---|---|---|
//! | `group` | w - 2 | 1 | ceil(log w) |
//! | `group_with_propagate` | w - 1 | 0 | ceil(log w) |
//! | `prefixes` | those of level l: the positions whose bit l is set | 0 | ceil(log w) |

use quorate_additive::open::NOT_OPENED;
use quorate_additive::product::in_rows;
use quorate_engine::{Ctx, Result, Sharing, Stocks};
use quorate_gadgets::prefix::Pairs;
use quorate_ring::{Bits, Module};

use crate::Share;
use crate::kind::Kind;
use crate::setup::Aby;

type B = Share<Bits>;

pub(crate) fn rows(bits: &B, indices: &[u32]) -> B {
    bits.map(|b| b.gather_rows(indices))
}

fn stacked(parts: &[&B]) -> B {
    Share::of(Bits::concat_rows(&parts.iter().map(|part| &***part).collect::<Vec<_>>()))
}

impl Aby {
    /// Computes x y and x y', row by row. One round.
    pub(crate) async fn and_both(&self, ctx: &Ctx, x: &B, y: [&B; 2]) -> Result<[B; 2]> {
        let (count, lanes) = x.shape_of();
        let flat: [B; 3] = self.draw(ctx, Kind::BitPair, count * lanes).await?.into_bits()?;
        let in_two = |flat: &B| {
            let half = |which: usize| in_rows(&flat.map(|bits| bits.row(which)), count, lanes);
            stacked(&[&half(0), &half(1)])
        };
        let (a, b, mut c) = (in_rows(&flat[0], count, lanes), in_two(&flat[1]), in_two(&flat[2]));
        let hidden = stacked(&[&self.xor(x, &a), &self.xor(&stacked(&y), &b)]);
        let opened = self.open_share(ctx, &hidden, None).await?.map(Share::of).ok_or(NOT_OPENED)?;
        let (d, e) = (opened.map(|o| o.slice_rows(0..count)), opened.map(|o| o.slice_rows(count..3 * count)));
        let left = if self.me == 0 { self.xor(&a, &d) } else { a };
        c.add_and_assign(&stacked(&[&d, &d]), &b);
        c.add_and_assign(&stacked(&[&left, &left]), &e);
        Ok([c.map(|c| c.slice_rows(0..count)), c.map(|c| c.slice_rows(count..2 * count))])
    }

    /// Returns the generate of the whole group.
    pub(crate) async fn group(&self, ctx: &Ctx, mut pairs: Pairs<B>) -> Result<B> {
        while pairs.generate.rows() > 2 {
            pairs = self.halved(ctx, pairs).await?;
        }
        if pairs.generate.rows() == 1 {
            return Ok(pairs.generate);
        }
        let carried = self.and(ctx, &rows(&pairs.propagate, &[1]), &rows(&pairs.generate, &[0])).await?;
        Ok(self.xor(&rows(&pairs.generate, &[1]), &carried))
    }

    /// Returns the generate and propagate of the whole group.
    pub(crate) async fn group_with_propagate(&self, ctx: &Ctx, mut pairs: Pairs<B>) -> Result<Pairs<B>> {
        while pairs.generate.rows() > 1 {
            pairs = self.halved(ctx, pairs).await?;
        }
        Ok(pairs)
    }

    /// Joins neighbours; the last one stays alone if their number is odd.
    async fn halved(&self, ctx: &Ctx, pairs: Pairs<B>) -> Result<Pairs<B>> {
        let Pairs { generate, propagate } = pairs;
        let width = generate.rows() as u32;
        let lower: Vec<u32> = (0..width / 2).map(|i| 2 * i).collect();
        let upper: Vec<u32> = lower.iter().map(|i| i + 1).collect();
        let below = [rows(&generate, &lower), rows(&propagate, &lower)];
        let [carried, propagated] = self.and_both(ctx, &rows(&propagate, &upper), [&below[0], &below[1]]).await?;
        let generated = self.xor(&rows(&generate, &upper), &carried);
        Ok(match width % 2 {
            0 => Pairs { generate: generated, propagate: propagated },
            _ => Pairs {
                generate: stacked(&[&generated, &rows(&generate, &[width - 1])]),
                propagate: stacked(&[&propagated, &rows(&propagate, &[width - 1])]),
            },
        })
    }

    /// Returns the generate of every prefix 0..=i, by Sklansky's network.
    pub(crate) async fn prefixes(&self, ctx: &Ctx, pairs: Pairs<B>) -> Result<B> {
        let Pairs { mut generate, mut propagate } = pairs;
        let (width, mut level) = (generate.rows() as u32, 0);
        while 1 << level < width {
            let moved: Vec<u32> = (0..width).filter(|i| i >> level & 1 == 1).collect();
            let below: Vec<u32> = moved.iter().map(|i| (i >> level << level) - 1).collect();
            let taken = [rows(&generate, &below), rows(&propagate, &below)];
            let [carried, propagated] = self.and_both(ctx, &rows(&propagate, &moved), [&taken[0], &taken[1]]).await?;
            generate.xor_rows(&moved, &carried, 0);
            propagate.set_rows(&moved, &propagated, 0);
            level += 1;
        }
        Ok(generate)
    }
}
