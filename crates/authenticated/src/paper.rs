//! Masks as in the paper (`bits="paper"`): random numbers are weighted sums of random bits that are shared as elements.
//! The lowest bits of these shares are shares of the numbers' bits over Z_2.
//!
//! **Source**: spdz2k-primitives, Fig. 3 (A2B, local), Fig. 6 (MSB), section IV (EQZ), Fig. 10 (truncation). A mask of
//! w bits takes w random bits and no message online. A comparison of k bits as a number takes k + 1 random bits and
//! 2 k - 4 triples of bits. Equality takes k + 1 and k - 1 (Table IV). The last random bit is that of B2A.

use quorate_engine::{Ctx, EdaBits, Linear, Result, Stocks, TruncMasks};
use quorate_gadgets::prefix::{self, Pairs};
use quorate_ring::Ring;

use crate::bits::TaggedBits;
use crate::forms::SharedBits;
use crate::kind::Kind;
use crate::party::Authenticated;
use crate::tagged::Tagged;

/// Random bits of numbers, row after row: the lowest bits first.
struct Rows {
    elements: Tagged,
    len: usize,
}

impl Rows {
    /// Returns the number that these rows make.
    fn number(&self, rows: std::ops::Range<u32>) -> Tagged {
        let all = self.elements.linear(&Linear::Slice(rows.start as usize * self.len..rows.end as usize * self.len));
        all.linear(&Linear::Weigh { rows: rows.len(), signed: false })
    }
}

impl Authenticated {
    async fn random_rows(&self, ctx: &Ctx, (rows, ring): (u32, Ring), len: usize) -> Result<Rows> {
        let kind = Kind::RandomBit { bits: ring.bits() };
        let [elements] = self.draw(ctx, kind, rows as usize * len).await?.into_vectors()?;
        Ok(Rows { elements, len })
    }

    /// Returns the carry out of all positions. The circuit of the paper also computes whether the lowest group
    /// propagates a carry, which is not used.
    pub(crate) async fn carry_out(&self, ctx: &Ctx, pairs: Pairs<SharedBits>) -> Result<SharedBits> {
        match self.keys.params.is_paper() {
            true => Ok(prefix::group_with_propagate(self, ctx, pairs).await?.generate),
            false => prefix::group(self, ctx, pairs).await,
        }
    }

    /// Makes random numbers with their bits; also shifted right by `cut`, if it is given.
    pub(crate) async fn edabits_from_bits(
        &self,
        ctx: &Ctx,
        (width, ring): (Ring, Ring),
        cut: Option<u32>,
        len: usize,
    ) -> Result<EdaBits<Tagged, SharedBits>> {
        let rows = self.random_rows(ctx, (width.bits(), ring), len).await?;
        let elements = rows.elements.linear(&Linear::Reduce(Ring::of(1)));
        Ok(EdaBits {
            value: rows.number(0..width.bits()),
            shifted: cut.map(|cut| rows.number(cut..width.bits())),
            bits: SharedBits::elements(TaggedBits { rows: width.bits() as usize, lanes: len, elements }),
        })
    }

    /// Makes masks for truncation: a number, its bits from `cut` on without the top one, and the top one.
    pub(crate) async fn trunc_masks_from_bits(
        &self,
        ctx: &Ctx,
        ring: Ring,
        cut: u32,
        len: usize,
    ) -> Result<TruncMasks<Tagged>> {
        let k = ring.bits();
        let rows = self.random_rows(ctx, (k, ring), len).await?;
        let top = rows.number(k - 1..k).linear(&Linear::Reduce(Ring::of(cut + 1)));
        Ok(TruncMasks { value: rows.number(0..k), shifted: rows.number(cut..k - 1), top })
    }
}
