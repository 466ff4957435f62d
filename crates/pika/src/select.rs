//! A bit times an element.
//!
//! **Source**: the MUX of ABY (section III-B2), with a dealt product in place of transfers. **Model**: semi-honest, 1
//! of 3. **Notation**: b a dealt bit, over Z_2 and Z_2^k; a and a b dealt. With f = bit xor b and g = x - a opened to
//! parties 0 and 1, bit x = f x + (1 - 2f)(a b + g b).
//!
//! Rounds: 1. Sent by each of parties 0 and 1: 1 + k bits. Dealt: 2 k bits.

use std::ops::Range;

use quorate_additive::stock::MISSING;
use quorate_engine::{Ctx, Result, Sharing, Stocks};
use quorate_gadgets::convert::signs;
use quorate_gadgets::stream;
use quorate_ring::{Bits, Vector};

use crate::kind::Kind;
use crate::setup::Pika;
use crate::share::Share;

type A = Share<Vector>;
type B = Share<Bits>;

impl Pika {
    /// Returns bit x: one row of bits times a vector.
    pub(crate) async fn select(&self, ctx: &Ctx, bit: &B, x: &A) -> Result<A> {
        let (ring, len) = (x.ring(), x.len());
        let work = async move |s: &Pika, ctx: &Ctx, (bit, x): (B, A)| {
            let mut dealt = s.draw(ctx, Kind::Selection { bits: ring.bits() }, x.len()).await?;
            let b = dealt.bits.pop().ok_or(MISSING)?;
            let [a, b_in_ring, product] = dealt.into_vectors()?;
            let (hidden, rest) = (s.xor(&bit, &b), s.sub(&x, &a));
            let (f, g) = ctx
                .join(
                    async |ctx: Ctx| s.open_share(&ctx, &hidden).await,
                    async |ctx: Ctx| s.open_share(&ctx, &rest).await,
                )
                .await?;
            let mut of_random = product;
            of_random.add_mul_assign(&g, &b_in_ring);
            of_random.mul_assign(&signs(&f, ring));
            let mut kept = x;
            kept.mul_assign(&f.to_vector(ring));
            Ok(s.add(&of_random, &kept))
        };
        let operands =
            |range: Range<usize>| (stream::slice_lanes(self, bit, range.clone()), stream::slice(self, x, range));
        stream::to_vector(self, ctx, stream::chunks(len, 2 * ring.bits()), operands, work).await
    }
}
