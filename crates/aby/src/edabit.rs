//! Random numbers with their bits: sums of a number of each party, which no party knows, decomposed as any shared
//! number.
//!
//! **Source**: edaBits (Escudero et al. 2020), whose contributions are summands here. **Model**: semi-honest, 1 of 2.
//! No gadget of this backend opens masked values, so no gadget draws edaBits. A caller of `edabits` pays at the call
//! for the bits, the shift, and the conversions of a shared number.

use quorate_engine::{Ctx, EdaBits, Linear, Misuse, Result, Sharing, TruncMasks, check_edabit_cut};
use quorate_gadgets::Gadgets;
use quorate_ring::{Bits, Ring, Vector};

use crate::Share;
use crate::setup::Aby;

type A = Share<Vector>;
type B = Share<Bits>;

impl Aby {
    /// Draws a uniform number in shares that are this party's own coins.
    fn uniform(&self, ctx: &Ctx, ring: Ring, len: usize) -> A {
        Share::of(ctx.randomness().stream(&self.private).draw((ring, len)))
    }

    pub(crate) async fn edabits_of_summands(
        &self,
        ctx: &Ctx,
        ring: Ring,
        cut: Option<u32>,
        len: usize,
    ) -> Result<EdaBits<A, B>> {
        check_edabit_cut(ring, cut)?;
        let value = self.uniform(ctx, ring, len);
        let shift = async |ctx: Ctx| match cut {
            Some(cut) => Ok(Some(self.shift_unsigned(&ctx, &value, cut, 0).await?)),
            None => Ok(None),
        };
        let (bits, shifted) = ctx.join(async |ctx: Ctx| self.bit_decompose(&ctx, &value).await, shift).await?;
        Ok(EdaBits { value, shifted, bits })
    }

    pub(crate) async fn wide_edabits_of_summands(
        &self,
        ctx: &Ctx,
        ring: Ring,
        wide: Ring,
        len: usize,
    ) -> Result<EdaBits<A, B>> {
        let narrow = self.uniform(ctx, ring, len);
        let (bits, value) = ctx
            .join(
                async |ctx: Ctx| self.bit_decompose(&ctx, &narrow).await,
                async |ctx: Ctx| self.widen_summands(&ctx, &narrow, wide, 0).await,
            )
            .await?;
        Ok(EdaBits { value, shifted: None, bits })
    }

    pub(crate) async fn masks_of_summands(&self, ctx: &Ctx, ring: Ring, m: u32, len: usize) -> Result<TruncMasks<A>> {
        let (k, small) = (ring.bits(), Ring::of(m + 1));
        if m == 0 || m + 2 > k {
            return Err(Misuse::Other { what: "a truncation mask must leave at least two bits" }.into());
        }
        let value = self.uniform(ctx, ring, len);
        let top = async |ctx: Ctx| {
            let top = self.msb(&ctx, &value).await?;
            self.bit_to_ring(&ctx, &top, small).await
        };
        let (shifted, top) = ctx.join(async |ctx: Ctx| self.shift_unsigned(&ctx, &value, m, 0).await, top).await?;
        let weighted = self.linear(&top, &Linear::Raise(ring, k - 1 - m));
        Ok(TruncMasks { shifted: self.sub(&shifted, &weighted), value, top })
    }
}
