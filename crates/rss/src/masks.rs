//! Masks for truncation and for larger rings, also from random bits.
//!
//! **Source**: TruncPr and Convert (Protocols 3 and 4, sections 5 and 6.1) and Table 3, whose rows name a RandBit form
//! and an edaBit form of each. **Model**: semi-honest, t of n.
//!
//! | mask | from contributions, or summands | from random bits |
//! |---|---|---|
//! | r, bits, floor(r / 2^m) | see `edabit` | k RandBits over Z_2^k; one round |
//! | r, top bit, floor((r mod 2^(k-1)) / 2^m) | as that, and one more bit converted | the same |
//! | r of Z_2^k over Z_2^k', bits | t carries out, each converted into Z_2^(k'-k) | k RandBits over Z_2^k' |
//!
//! **Deviation**: rhat = sum floor(r^(p) / 2^m) + M - 2^(k-m) K - 2^(k-1-m) r_{k-1}, where M counts carries into bit m
//! and K those out of bit k-1 (Protocol 3 as printed takes carries into bit k-1, which is wrong). K and r_{k-1} are
//! only converted into Z_2^(m+1), since they are shifted up by at least k-1-m. An element r of Z_2^k in Z_2^k' is sum
//! r^(p) - 2^k K, and K counts modulo 2^(k'-k) only. From random bits, all of these are sums of powers of two times
//! bits.

use std::ops::Range;

use quorate_engine::{Ctx, EdaBits, Error, Result, Sharing, TruncMasks};
use quorate_gadgets::convert::bits_to_ring_with;
use quorate_ring::{Bits, Ring, Vector};

use crate::edabit::Recipe;
use crate::forms::Made;
use crate::setup::Rss;
use crate::share::Shared;
use crate::three::lifted;

type A = Shared<Vector>;
type B = Shared<Bits>;

impl Rss {
    pub(crate) async fn make_trunc_masks(
        &self,
        ctx: &Ctx,
        form: Made,
        ring: Ring,
        cut: u32,
        len: usize,
    ) -> Result<TruncMasks<A>> {
        let made = self.cut_sums(ctx, form, ring, cut, true, len).await?;
        let top = made.top.ok_or(Error::Bug { what: "a truncation mask lost its top bit" })?;
        Ok(TruncMasks { value: made.value, shifted: made.shifted, top })
    }

    pub(crate) async fn make_wide_edabits(
        &self,
        ctx: &Ctx,
        form: Made,
        ring: Ring,
        wide: Ring,
        len: usize,
    ) -> Result<EdaBits<A, B>> {
        let k = ring.bits();
        let recipe = Recipe { form, ring, value_ring: wide, cut: None, carries: vec![k as usize], len };
        let (t, carry_ring) = (self.maps.threshold, Ring::of(wide.bits() - k));
        // Over Z_2, a carry already is an element.
        let (sums, carries) = if carry_ring.bits() == 1 {
            let sums = self.sum_uniform(ctx, &recipe).await?;
            let carries = self.as_top_bit(&self.concat_lanes(&sums.carries.iter().collect::<Vec<_>>()), carry_ring);
            (sums, carries)
        } else {
            let (sums, random) = self.sum_beside_random_bits(ctx, &recipe, carry_ring, t * len).await?;
            let all = self.concat_lanes(&sums.carries.iter().collect::<Vec<_>>());
            let carries = bits_to_ring_with(self, ctx, &all, &self.as_dabits(random)).await?;
            (sums, carries)
        };
        let mut value = sums.value;
        for i in 0..t {
            value = self.sub(&value, &lifted(&carries.slice(i * len..(i + 1) * len), wide, k));
        }
        Ok(EdaBits { value, shifted: None, bits: sums.bits })
    }

    /// Returns random bits; row i of `len` elements is the bit of weight 2^i of r.
    async fn rows_of_random_bits(&self, ctx: &Ctx, ring: Ring, rows: u32, len: usize) -> Result<(A, B)> {
        let elements = self.square_roots(ctx, ring, rows as usize * len).await?;
        let row = |i: u32| self.low_bit(&elements.slice(i as usize * len..(i as usize + 1) * len));
        let rows: Vec<B> = (0..rows).map(row).collect();
        Ok((elements, self.concat_rows(&rows.iter().collect::<Vec<_>>())))
    }

    pub(crate) async fn edabits_of_random_bits(
        &self,
        ctx: &Ctx,
        (ring, value_ring): (Ring, Ring),
        cut: Option<u32>,
        len: usize,
    ) -> Result<EdaBits<A, B>> {
        let k = ring.bits();
        let (elements, bits) = self.rows_of_random_bits(ctx, value_ring, k, len).await?;
        let shifted = cut.map(|cut| weighted_sum(&elements, cut..k, len));
        Ok(EdaBits { value: weighted_sum(&elements, 0..k, len), shifted, bits })
    }

    pub(crate) async fn trunc_masks_of_random_bits(
        &self,
        ctx: &Ctx,
        ring: Ring,
        cut: u32,
        len: usize,
    ) -> Result<TruncMasks<A>> {
        let k = ring.bits();
        let elements = self.square_roots(ctx, ring, k as usize * len).await?;
        let value = weighted_sum(&elements, 0..k, len);
        let small = Ring::of(cut + 1);
        let top = elements.slice((k as usize - 1) * len..k as usize * len).map(|share| share.convert(small));
        Ok(TruncMasks { value, shifted: weighted_sum(&elements, cut..k - 1, len), top })
    }
}

/// Returns the sum of 2^(i - first) row_i over a range of rows.
fn weighted_sum(rows: &A, range: Range<u32>, len: usize) -> A {
    let first = range.start;
    rows.map(|share| {
        let mut sum = share.slice(first as usize * len..(first as usize + 1) * len);
        for i in range.clone().skip(1) {
            let mut row = share.slice(i as usize * len..(i as usize + 1) * len);
            row.shl(i - first);
            sum.add_assign(&row);
            row.wipe();
        }
        sum
    })
}
