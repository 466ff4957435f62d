//! Random bits, edaBits and masks. They are dealt, so nothing is sent where they are used.
//!
//! **Source**: daBits (Rotaru, Wood 2019), edaBits (Escudero et al. 2020), from a dealer. **Model**: semi-honest,
//! 1 of 3. **Notation**: r = r_0 + r_1, both summands from seeds; what is dealt beside it follows from r. An edaBit in
//! a larger ring is r_0 + r_1 - 2^k u, with the dealt carry u of r_0 + r_1.

use quorate_additive::stock::MISSING;
use quorate_engine::{
    ComparisonMasks, Ctx, EdaBits, Linear, Misuse, Result, Sharing, Stocks, TruncMasks, check_edabit_cut,
};
use quorate_gadgets::convert::flip;
use quorate_ring::{Bits, Ring, Vector};

use crate::kind::{Kind, Material};
use crate::setup::Pika;
use crate::share::Share;

type A = Share<Vector>;
type B = Share<Bits>;

fn pair((values, bits): (Vec<A>, Vec<B>)) -> Result<(A, B)> {
    let [value] = <[A; 1]>::try_from(values).map_err(|_| MISSING)?;
    let [bits] = <[B; 1]>::try_from(bits).map_err(|_| MISSING)?;
    Ok((value, bits))
}

impl Pika {
    /// Draws uniform bits over Z_2^k and over Z_2 that no party knows: the dealt bits are flipped by coins of parties 0
    /// and 1. Over Z_2 alone they are coins of both.
    pub(crate) async fn draw_dabits(&self, ctx: &Ctx, ring: Ring, len: usize) -> Result<(A, B)> {
        let coins = ctx.randomness();
        if ring.bits() > 1 {
            let Material { vectors, bits, .. } = self.draw(ctx, Kind::DaBit { bits: ring.bits() }, len).await?;
            let (value, bit) = pair((vectors, bits))?;
            let flips = match self.deals() {
                true => Bits::shape(1, len),
                false => coins.stream(self.coins_with(self.peer())).draw((1, len)),
            };
            return Ok((flip(self, &value, &flips), self.xor_public(&bit, &flips)));
        }
        let bit: B = match self.deals() {
            true => Share::shape((1, len)),
            false => Share::of(coins.stream(self.own_coins()).draw((1, len))),
        };
        Ok((bit.map(|bit| bit.to_vector(ring)), bit))
    }

    pub(crate) async fn draw_edabits(
        &self,
        ctx: &Ctx,
        ring: Ring,
        cut: Option<u32>,
        len: usize,
    ) -> Result<EdaBits<A, B>> {
        check_edabit_cut(ring, cut)?;
        let kind = Kind::EdaBit { bits: ring.bits(), cut: cut.unwrap_or(0) };
        let Material { mut vectors, bits, .. } = self.draw(ctx, kind, len).await?;
        let shifted = if cut.is_some() { vectors.pop() } else { None };
        let (value, bits) = pair((vectors, bits))?;
        Ok(EdaBits { value, shifted, bits })
    }

    pub(crate) async fn draw_comparison_masks(
        &self,
        ctx: &Ctx,
        ring: Ring,
        pairs: usize,
        len: usize,
    ) -> Result<ComparisonMasks<A, B>> {
        if pairs == 0 {
            let EdaBits { value, bits, .. } = self.draw_edabits(ctx, ring, None, len).await?;
            return Ok(ComparisonMasks { value, bits, products: None });
        }
        if pairs > ring.bits() as usize / 2 {
            return Err(Misuse::Other { what: "more pairs of neighbours than a mask has" }.into());
        }
        let kind = Kind::ComparisonMask { bits: ring.bits(), pairs };
        let Material { vectors, mut bits, .. } = self.draw(ctx, kind, len).await?;
        let products = bits.pop();
        let (value, bits) = pair((vectors, bits))?;
        Ok(ComparisonMasks { value, bits, products })
    }

    pub(crate) async fn draw_trunc_masks(&self, ctx: &Ctx, ring: Ring, m: u32, len: usize) -> Result<TruncMasks<A>> {
        if m == 0 || m + 2 > ring.bits() {
            return Err(Misuse::Other { what: "a truncation mask must leave at least two bits" }.into());
        }
        let kind = Kind::TruncMask { bits: ring.bits(), cut: m };
        let [value, shifted, top] = self.draw(ctx, kind, len).await?.into_vectors()?;
        Ok(TruncMasks { value, shifted, top })
    }

    pub(crate) async fn draw_wide_edabits(
        &self,
        ctx: &Ctx,
        ring: Ring,
        wide: Ring,
        len: usize,
    ) -> Result<EdaBits<A, B>> {
        if wide.bits() <= ring.bits() {
            return Err(Misuse::Other { what: "a wide edaBit needs a ring larger than its bits" }.into());
        }
        let kind = Kind::WideEdaBit { bits: ring.bits(), wide: wide.bits() };
        let Material { mut vectors, bits, .. } = self.draw(ctx, kind, len).await?;
        let carry = vectors.pop().ok_or(MISSING)?;
        let (narrow, bits) = pair((vectors, bits))?;
        let carried = self.linear(&carry, &Linear::Raise(wide, ring.bits()));
        let value = self.sub(&narrow.map(|r| r.convert(wide)), &carried);
        Ok(EdaBits { value, shifted: None, bits })
    }
}
