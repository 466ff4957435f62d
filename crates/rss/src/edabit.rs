//! edaBit: a uniform element of Z_2^k together with its bits, shared over Z_2.
//!
//! **Source**: Protocol 7 (Appendix A.2); with a cut, the corrections of Protocol 3 (section 5). **Model**: semi-honest, t
//! of n. Rounds: log(t+1) times those of an adder, + 1. Sent: inputs 2 t (t+1) elements in all, and t bits per AND.
//!
//! **Notation**: party p < t+1 contributes r^(p); r = sum r^(p) mod 2^k. With a cut m, the sum of floor(r^(p) / 2^m) lacks
//! the carries into bit m (M of them over the t adders) and holds 2^(k-m) for each carry out of bit k-1 (K of them):
//! floor(r / 2^m) = sum floor(r^(p) / 2^m) + M - 2^(k-m) K.
//!
//! **Deviation**: Protocol 3 as printed also clears the top bit, and takes carries at bit k-1 for those out of the ring; the
//! formula above is exact (tested for every cut). Contributions of t+1 parties: one is honest. With a cut: one more input a
//! contributor, adders with a carry out, and 2t random bits, made beside all that, which turn the carries into elements of
//! Z_2^k in one more round.

use quorate_engine::{Ctx, EdaBits, Error, Result, Sharing};
use quorate_gadgets::adder;
use quorate_gadgets::convert::bits_to_ring_with;
use quorate_ring::{Bits, Ring, Vector};

use crate::setup::Rss;
use crate::share::{Shared, Wiped};

/// What one party contributes, shared: r^(p), its bits, and floor(r^(p) / 2^m) where there is a cut.
struct Contribution {
    value: Shared<Vector>,
    shifted: Option<Shared<Vector>>,
    bits: Shared<Bits>,
}

/// Value, floors, bits, carries.
type Summed = (Shared<Vector>, Option<Shared<Vector>>, Shared<Bits>, Vec<Shared<Bits>>);

impl Rss {
    pub(crate) async fn make_edabits(
        &self,
        ctx: &Ctx,
        ring: Ring,
        cut: Option<u32>,
        len: usize,
    ) -> Result<EdaBits<Shared<Vector>, Shared<Bits>>> {
        let Some(cut) = cut else {
            let (value, _, bits, _) = self.sum_contributions(ctx, ring, None, len).await?;
            return Ok(EdaBits { value, shifted: None, bits });
        };
        let carries = 2 * self.maps.threshold * len;
        let sums = async |ctx: Ctx| self.sum_contributions(&ctx, ring, Some(cut), len).await;
        let (sums, random) = ctx.join(sums, async |ctx: Ctx| self.make_random_bits(&ctx, ring, carries).await).await?;
        let (value, shifted, bits, carries) = sums;
        let shifted = shifted.ok_or(Error::Bug { what: "an edaBit lost its cut" })?;
        let shifted = self.correct(ctx, shifted, &carries, &random, cut).await?;
        Ok(EdaBits { value, shifted: Some(shifted), bits })
    }

    /// Adds up the contributions; `shifted` lacks its corrections, for which the carries are returned.
    async fn sum_contributions(&self, ctx: &Ctx, ring: Ring, cut: Option<u32>, len: usize) -> Result<Summed> {
        let contribute = async |ctx: Ctx, owner: usize| self.contribute(&ctx, owner, ring, cut, len).await;
        let mut parts = ctx.join_all(self.maps.threshold + 1, contribute).await?;
        let first = parts.remove(0);
        let (mut value, mut shifted) = (first.value, first.shifted);
        let mut summands = vec![first.bits];
        for part in parts {
            value = self.add(&value, &part.value);
            shifted = shifted.zip(part.shifted).map(|(a, b)| self.add(&a, &b));
            summands.push(part.bits);
        }
        let (bits, carries) = self.add_in_a_tree(ctx, summands, cut).await?;
        Ok((value, shifted, bits, carries))
    }

    async fn contribute(
        &self,
        ctx: &Ctx,
        owner: usize,
        ring: Ring,
        cut: Option<u32>,
        len: usize,
    ) -> Result<Contribution> {
        let own = ctx.randomness();
        let mine = (owner == ctx.me()).then(|| Wiped(own.stream(&self.private).draw::<Vector>((ring, len))));
        let bits = mine.as_ref().map(|r| Wiped(r.to_bits(0..ring.bits())));
        let shifted = mine.as_ref().zip(cut).map(|(r, cut)| {
            let mut shifted = Wiped(Vector::clone(r));
            shifted.shr_logical(cut);
            shifted
        });
        let rows = (ring.bits() as usize, len);
        let input = async |ctx: Ctx, what: usize| match what {
            0 => Ok((Some(self.share_input(&ctx, owner, (ring, len), mine.as_deref()).await?), None)),
            1 => Ok((None, Some(self.share_input(&ctx, owner, rows, bits.as_deref()).await?))),
            _ => Ok((Some(self.share_input(&ctx, owner, (ring, len), shifted.as_deref()).await?), None)),
        };
        let mut inputs = ctx.join_all(2 + usize::from(cut.is_some()), input).await?.into_iter();
        let (value, bits) = (inputs.next().and_then(|i| i.0), inputs.next().and_then(|i| i.1));
        let shifted = inputs.next().and_then(|i| i.0);
        match (value, bits) {
            (Some(value), Some(bits)) => Ok(Contribution { value, shifted, bits }),
            _ => Err(Error::Bug { what: "an edaBit lost a contribution" }),
        }
    }

    /// Adds the contributions' bits pairwise. Returns the sum, and each adder's carries (into the cut; out of the ring).
    async fn add_in_a_tree(
        &self,
        ctx: &Ctx,
        mut summands: Vec<Shared<Bits>>,
        cut: Option<u32>,
    ) -> Result<(Shared<Bits>, Vec<Shared<Bits>>)> {
        let mut carries = Vec::new();
        let wanted: Vec<usize> = match (cut, summands[0].shape.0) {
            (Some(cut), k) => vec![cut as usize, k],
            (None, _) => Vec::new(),
        };
        while summands.len() > 1 {
            let pairs = summands.len() / 2;
            let add = async |ctx: Ctx, i: usize| {
                adder::add(self, &ctx, &summands[2 * i], &summands[2 * i + 1], &wanted).await
            };
            let sums = ctx.join_all(pairs, add).await?;
            let odd = (summands.len() % 2 == 1).then(|| summands.remove(2 * pairs));
            summands = Vec::with_capacity(pairs + 1);
            for sum in sums {
                summands.push(sum.bits);
                carries.extend(sum.carries);
            }
            summands.extend(odd);
        }
        Ok((summands.remove(0), carries))
    }

    /// sum + M - 2^(k-m) K, by a random bit for each carry.
    async fn correct(
        &self,
        ctx: &Ctx,
        sum: Shared<Vector>,
        carries: &[Shared<Bits>],
        random: &Shared<Vector>,
        cut: u32,
    ) -> Result<Shared<Vector>> {
        let (ring, len) = sum.shape;
        let all = self.concat_lanes(&carries.iter().collect::<Vec<_>>());
        let all = bits_to_ring_with(self, ctx, &all, random).await?;
        let mut shifted = sum;
        for (i, _) in carries.iter().enumerate() {
            let carry = all.slice(i * len..(i + 1) * len);
            shifted = if i % 2 == 0 {
                self.add(&shifted, &carry)
            } else {
                let weighted = self.linear(&carry, &|share: &Vector| {
                    let mut share = share.clone();
                    share.shl(ring.bits() - cut);
                    share
                });
                self.sub(&shifted, &weighted)
            };
        }
        Ok(shifted)
    }
}
