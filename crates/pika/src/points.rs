//! Keys of function secret sharing, dealt.
//!
//! **Source**: Pika (Wagh 2022), Fig. 2 (F_Lookup's preprocessing), with keys of `quorate-fss` in place of those of its
//! Fig. 4; seeds for all that is uniform. **Model**: semi-honest, 1 of 3. **Notation**: r = r_0 + r_1 the mask; the
//! point of a key is the lowest n bits of r; w, which is 1 or -1, is leaf r of the first key less leaf r of the second.
//!
//! Parties 0 and 1 draw the roots of their keys from seeds that they have in common with party 2, as they draw their
//! summands of r. Party 2 sends both of them the corrections of the keys.
//!
//! | | leaves | sent by party 2 to each of parties 0 and 1 |
//! |---|---|---|
//! | look-up, point | 512 bits | n > 9: 16 (n - 5) bytes, 176 for n = 16; else 16 ceil(2^n / 128) |
//! | key of a comparison, truncation | 128 bits | n > 7: 16 (n - 6) bytes, 912 for n = 63; else 16 |

use quorate_additive::stock::MISSING;
use quorate_engine::{Ctx, Result};
use quorate_fss::{Corrections, Dealt, Keys, Roots, Shape, Side, deal};
use quorate_ring::meter::{Kernel, charge};
use quorate_ring::{Bits, Ring, Vector};
use zeroize::Zeroizing;

use crate::kind::BLOCK;
use crate::setup::{DEALER, Pika};
use crate::share::Share;

type A = Share<Vector>;

const BLOCK_BYTES: usize = 16;

/// Returns the shape of keys of places of `place_bits` bits, at most [`MOST_BITS`](crate::lookup::MOST_BITS).
pub(crate) fn shape(place_bits: u32) -> Result<Shape> {
    Shape::wide(place_bits).map_err(|_| MISSING)
}

/// Returns, for each key, leaf r of the first key less leaf r of the second: 1 or -1.
pub(crate) fn signs(first_bits: &Bits, ring: Ring) -> A {
    let mut signs = Share::of(first_bits.to_vector(ring));
    signs.shl(1);
    signs.add_scalar(1u128.wrapping_neg());
    signs
}

/// Returns a side's roots from the blocks that it drew.
fn roots(side: Side, blocks: &Vector) -> Roots {
    Roots::new(side, blocks.wide_words().to_vec())
}

impl Pika {
    /// Makes keys at the lowest bits of `r`, one for each element; `None` in a dry run. At party 2.
    pub(crate) fn deal_keys(&self, shape: Shape, r: &Vector, [first, second]: [&Vector; 2]) -> Option<Dealt> {
        if r.is_shape() {
            charge(Kernel::Draw, 4 * (shape.levels() + shape.blocks()) * BLOCK_BYTES * r.len());
            return None;
        }
        let points = Zeroizing::new(r.convert(Ring::of(shape.bits())).to_u64s());
        Some(deal(self.hash(), shape, &points, roots(Side::First, first), roots(Side::Second, second)))
    }

    /// Passes the corrections of keys from party 2 to parties 0 and 1; returns a shape at party 2.
    pub(crate) async fn pass_corrections(
        &self,
        ctx: &Ctx,
        shape: Shape,
        dealt: Option<&Dealt>,
        len: usize,
    ) -> Result<A> {
        let corrections = match dealt {
            Some(dealt) => Share::of(Vector::from_u128s(BLOCK, &dealt.corrections.to_blocks())),
            None => Share::shape((BLOCK, shape.key_blocks() * len)),
        };
        let mut received = None;
        for party in 0..2 {
            received = self.pass_long(ctx, (DEALER, party), &corrections).await?.or(received);
        }
        match self.deals() {
            true => Ok(Share::shape((BLOCK, shape.key_blocks() * len))),
            false => received.ok_or(MISSING),
        }
    }

    /// Returns the side of the two keys that this party holds.
    pub(crate) fn side(&self) -> Side {
        if self.me == 0 { Side::First } else { Side::Second }
    }

    /// Returns this party's keys from their roots and corrections.
    pub(crate) fn keys(&self, shape: Shape, [blocks, corrections]: [&A; 2]) -> Result<Keys> {
        let corrections = Corrections::from_blocks(shape, blocks.len(), corrections.wide_words());
        Keys::new(roots(self.side(), blocks), corrections.map_err(|_| MISSING)?).map_err(|_| MISSING)
    }
}
