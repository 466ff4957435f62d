//! edaBit: a uniform element of Z_2^k together with its bits, shared over Z_2.
//!
//! **Source**: Protocol 7 (Appendix A.2); with a cut, the corrections of Protocol 3 (section 5). **Model**:
//! semi-honest, t of n. Rounds: log(t+1) times those of an adder, + 1. Sent: inputs 2 t (t+1) elements in all, and t
//! bits per AND. Three parties add up two summands by `digits` instead, unless this form is selected.
//!
//! **Notation**: party p < t+1 contributes r^(p); r = sum r^(p) mod 2^k. With a cut m, the sum of floor(r^(p) / 2^m)
//! lacks the carries into bit m (M of them over the t adders) and holds 2^(k-m) for each carry out of bit k-1 (K of
//! them): floor(r / 2^m) = sum floor(r^(p) / 2^m) + M - 2^(k-m) K.
//!
//! **Deviation**: Protocol 3 as printed also clears the top bit, and takes carries at bit k-1 for those out of the
//! ring. The formula above is exact (tested for every cut). There are contributions of t+1 parties, so one is honest. A
//! cut takes one more input for each contributor, adders with a carry out, and 2t random bits, made at the same time.
//! In one more round, these turn the carries into elements: of Z_2^k for carries into bit m, of Z_2^m for carries out
//! of bit k-1, which are shifted up by k-m.

use quorate_engine::{Ctx, EdaBits, Error, Result, Sharing};
use quorate_gadgets::adder;
use quorate_gadgets::convert::bits_to_ring_with;
use quorate_ring::{Bits, Ring, Vector};

use crate::forms::Made;
use crate::setup::Rss;
use crate::share::{Shared, Wiped};
use crate::three::lifted;

/// The values to make from the contributions, or from the summands of three parties.
pub(crate) struct Recipe {
    pub form: Made,
    /// Z_2^k, from which r^(p) is drawn.
    pub ring: Ring,
    /// The ring over which r^(p) is shared.
    pub value_ring: Ring,
    /// The cut m of floor(r^(p) / 2^m).
    pub cut: Option<u32>,
    /// The positions into which the carries of every adder are wanted.
    pub carries: Vec<usize>,
    pub len: usize,
}

/// The sum of all contributions, without corrections, and the carries of one adder after the other.
pub(crate) struct Summed {
    pub value: Shared<Vector>,
    pub shifted: Option<Shared<Vector>>,
    pub bits: Shared<Bits>,
    pub carries: Vec<Shared<Bits>>,
}

/// The contribution of one party, shared: r^(p), its bits, and floor(r^(p) / 2^m) where there is a cut.
struct Contribution {
    value: Shared<Vector>,
    shifted: Option<Shared<Vector>>,
    bits: Shared<Bits>,
}

/// A mask with a cut, corrected; and bit k-1 of r over the smaller ring, where `top` is set.
pub(crate) struct Cut {
    pub value: Shared<Vector>,
    pub shifted: Shared<Vector>,
    pub bits: Shared<Bits>,
    pub top: Option<Shared<Vector>>,
}

impl Rss {
    pub(crate) async fn make_edabits(
        &self,
        ctx: &Ctx,
        form: Made,
        ring: Ring,
        cut: Option<u32>,
        len: usize,
    ) -> Result<EdaBits<Shared<Vector>, Shared<Bits>>> {
        let Some(cut) = cut else {
            let recipe = Recipe { form, ring, value_ring: ring, cut, carries: Vec::new(), len };
            let sums = self.sum_uniform(ctx, &recipe).await?;
            return Ok(EdaBits { value: sums.value, shifted: None, bits: sums.bits });
        };
        let cut = self.cut_sums(ctx, form, ring, cut, false, len).await?;
        Ok(EdaBits { value: cut.value, shifted: Some(cut.shifted), bits: cut.bits })
    }

    /// Returns sum floor(r^(p) / 2^m) + M - 2^(k-m) K; with `top`, less 2^(k-1-m) r_{k-1}, that is, without the top
    /// bit. K and that bit are converted only into a ring of m bits (m + 1 with `top`), since they are shifted up to
    /// the end of the other ring.
    pub(crate) async fn cut_sums(
        &self,
        ctx: &Ctx,
        form: Made,
        ring: Ring,
        cut: u32,
        top: bool,
        len: usize,
    ) -> Result<Cut> {
        let (k, t) = (ring.bits(), self.maps.threshold);
        let small = Ring::of(cut + u32::from(top));
        let recipe =
            Recipe { form, ring, value_ring: ring, cut: Some(cut), carries: vec![cut as usize, k as usize], len };
        let rest = t + usize::from(top);
        let sums = async |ctx: Ctx| self.sum_beside_random_bits(&ctx, &recipe, ring, t * len).await;
        let ((sums, wide_bits), small_bits) =
            ctx.join(sums, async |ctx: Ctx| self.make_random_bits(&ctx, form, small, rest * len).await).await?;
        let [wide_bits, small_bits] = [wide_bits, small_bits].map(|bits| self.as_dabits(bits));
        let into: Vec<&Shared<Bits>> = sums.carries.iter().step_by(2).collect();
        let top_row = top.then(|| sums.bits.map(|share| share.row(k as usize - 1)));
        let out: Vec<&Shared<Bits>> = sums.carries.iter().skip(1).step_by(2).chain(&top_row).collect();
        let (into, out) = (self.concat_lanes(&into), self.concat_lanes(&out));
        let (into, out) = ctx
            .join(
                async |ctx: Ctx| bits_to_ring_with(self, &ctx, &into, &wide_bits).await,
                async |ctx: Ctx| bits_to_ring_with(self, &ctx, &out, &small_bits).await,
            )
            .await?;
        let part = |x: &Shared<Vector>, i: usize| x.slice(i * len..(i + 1) * len);
        let mut shifted = sums.shifted.ok_or(Error::Bug { what: "an edaBit lost its cut" })?;
        for i in 0..t {
            shifted = self.add(&shifted, &part(&into, i));
            shifted = self.sub(&shifted, &lifted(&part(&out, i), ring, k - cut));
        }
        let top = top.then(|| part(&out, t));
        if let Some(top) = &top {
            shifted = self.sub(&shifted, &lifted(top, ring, k - 1 - cut));
        }
        Ok(Cut { value: sums.value, shifted, bits: sums.bits, top })
    }

    /// Returns bits as elements, and as bits.
    pub(crate) fn as_dabits(&self, elements: Shared<Vector>) -> (Shared<Vector>, Shared<Bits>) {
        let bits = self.low_bit(&elements);
        (elements, bits)
    }

    /// Returns the sum and, made at the same time, `count` random bits over `bit_ring` for converting its carries.
    pub(crate) async fn sum_beside_random_bits(
        &self,
        ctx: &Ctx,
        recipe: &Recipe,
        bit_ring: Ring,
        count: usize,
    ) -> Result<(Summed, Shared<Vector>)> {
        let sums = async |ctx: Ctx| self.sum_uniform(&ctx, recipe).await;
        ctx.join(sums, async |ctx: Ctx| self.make_random_bits(&ctx, recipe.form, bit_ring, count).await).await
    }

    /// Returns a uniform sum of numbers, some of which every coalition lacks.
    pub(crate) async fn sum_uniform(&self, ctx: &Ctx, recipe: &Recipe) -> Result<Summed> {
        match recipe.form {
            Made::OfSummands => self.sum_summands(ctx, recipe).await,
            Made::OfContributions | Made::OfRandomBits => self.sum_contributions(ctx, recipe).await,
        }
    }

    /// Adds up the contributions.
    async fn sum_contributions(&self, ctx: &Ctx, recipe: &Recipe) -> Result<Summed> {
        let contribute = async |ctx: Ctx, owner: usize| self.contribute(&ctx, owner, recipe).await;
        let mut parts = ctx.join_all(self.maps.threshold + 1, contribute).await?;
        let first = parts.remove(0);
        let (mut value, mut shifted) = (first.value, first.shifted);
        let mut summands = vec![first.bits];
        for part in parts {
            value = self.add(&value, &part.value);
            shifted = shifted.zip(part.shifted).map(|(a, b)| self.add(&a, &b));
            summands.push(part.bits);
        }
        let (bits, carries) = self.add_in_a_tree(ctx, summands, &recipe.carries).await?;
        Ok(Summed { value, shifted, bits, carries })
    }

    async fn contribute(&self, ctx: &Ctx, owner: usize, recipe: &Recipe) -> Result<Contribution> {
        let &Recipe { ring, value_ring, cut, len, .. } = recipe;
        let own = ctx.randomness();
        let mine = (owner == ctx.me()).then(|| Wiped(own.stream(&self.private).draw::<Vector>((ring, len))));
        let bits = mine.as_ref().map(|r| Wiped(r.to_bits(0..ring.bits())));
        let value = mine.as_ref().map(|r| Wiped(r.convert(value_ring)));
        let shifted = mine.as_ref().zip(cut).map(|(r, cut)| {
            let mut shifted = Wiped(Vector::clone(r));
            shifted.shr_logical(cut);
            shifted
        });
        let rows = (ring.bits() as usize, len);
        let input = async |ctx: Ctx, what: usize| match what {
            0 => Ok((Some(self.share_input(&ctx, owner, (value_ring, len), value.as_deref()).await?), None)),
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

    /// Adds the contributions' bits pairwise; returns the sum, and each adder's carries into the wanted positions.
    async fn add_in_a_tree(
        &self,
        ctx: &Ctx,
        mut summands: Vec<Shared<Bits>>,
        wanted: &[usize],
    ) -> Result<(Shared<Bits>, Vec<Shared<Bits>>)> {
        let mut carries = Vec::new();
        while summands.len() > 1 {
            let pairs = summands.len() / 2;
            let add =
                async |ctx: Ctx, i: usize| adder::add(self, &ctx, &summands[2 * i], &summands[2 * i + 1], wanted).await;
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
}
