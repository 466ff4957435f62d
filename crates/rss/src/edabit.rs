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

/// What to make of the contributions.
pub(crate) struct Recipe {
    /// Z_2^k: what r^(p) is drawn from.
    pub ring: Ring,
    /// Where r^(p) is shared.
    pub value_ring: Ring,
    /// Where to cut floor(r^(p) / 2^m).
    pub cut: Option<u32>,
    /// The carries wanted of every adder, by the positions that they go into.
    pub carries: Vec<usize>,
    pub len: usize,
}

/// The sum of all contributions, without corrections; the carries of one adder after the other.
pub(crate) struct Summed {
    pub value: Shared<Vector>,
    pub shifted: Option<Shared<Vector>>,
    pub bits: Shared<Bits>,
    pub carries: Vec<Shared<Bits>>,
}

/// What one party contributes, shared: r^(p), its bits, and floor(r^(p) / 2^m) where there is a cut.
struct Contribution {
    value: Shared<Vector>,
    shifted: Option<Shared<Vector>>,
    bits: Shared<Bits>,
}

/// A shared bit times 2^shift, or minus that.
pub(crate) struct Term<'b> {
    pub bit: &'b Shared<Bits>,
    pub shift: u32,
    pub negative: bool,
}

impl Rss {
    pub(crate) async fn make_edabits(
        &self,
        ctx: &Ctx,
        ring: Ring,
        cut: Option<u32>,
        len: usize,
    ) -> Result<EdaBits<Shared<Vector>, Shared<Bits>>> {
        let Some(cut) = cut else {
            let recipe = Recipe { ring, value_ring: ring, cut, carries: Vec::new(), len };
            let sums = self.sum_contributions(ctx, &recipe).await?;
            return Ok(EdaBits { value: sums.value, shifted: None, bits: sums.bits });
        };
        let k = ring.bits();
        let recipe = Recipe { ring, value_ring: ring, cut: Some(cut), carries: vec![cut as usize, k as usize], len };
        let (sums, random) = self.sum_beside_random_bits(ctx, &recipe, ring, 2 * self.maps.threshold * len).await?;
        let shifted = sums.shifted.ok_or(LOST_CUT)?;
        let (shifted, _) = self.add_terms(ctx, shifted, &cut_terms(&sums.carries, k, cut), &random).await?;
        Ok(EdaBits { value: sums.value, shifted: Some(shifted), bits: sums.bits })
    }

    /// The sum, and beside it so many random bits over `bit_ring` for converting its carries.
    pub(crate) async fn sum_beside_random_bits(
        &self,
        ctx: &Ctx,
        recipe: &Recipe,
        bit_ring: Ring,
        count: usize,
    ) -> Result<(Summed, Shared<Vector>)> {
        let sums = async |ctx: Ctx| self.sum_contributions(&ctx, recipe).await;
        ctx.join(sums, async |ctx: Ctx| self.make_random_bits(&ctx, bit_ring, count).await).await
    }

    /// Adds up the contributions.
    pub(crate) async fn sum_contributions(&self, ctx: &Ctx, recipe: &Recipe) -> Result<Summed> {
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

    /// Adds the contributions' bits pairwise. Returns the sum, and each adder's carries into the positions wanted.
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

    /// sum + all terms, by a random bit for each; also the terms' bits as elements.
    pub(crate) async fn add_terms(
        &self,
        ctx: &Ctx,
        sum: Shared<Vector>,
        terms: &[Term<'_>],
        random: &Shared<Vector>,
    ) -> Result<(Shared<Vector>, Vec<Shared<Vector>>)> {
        let len = sum.shape.1;
        let all = self.concat_lanes(&terms.iter().map(|term| term.bit).collect::<Vec<_>>());
        let all = bits_to_ring_with(self, ctx, &all, random).await?;
        let (mut total, mut bits) = (sum, Vec::with_capacity(terms.len()));
        for (i, term) in terms.iter().enumerate() {
            let bit = all.slice(i * len..(i + 1) * len);
            let weighted = bit.map(|share| {
                let mut share = share.clone();
                share.shl(term.shift);
                share
            });
            total = if term.negative { self.sub(&total, &weighted) } else { self.add(&total, &weighted) };
            bits.push(bit);
        }
        Ok((total, bits))
    }
}

pub(crate) const LOST_CUT: Error = Error::Bug { what: "an edaBit lost its cut" };

/// M - 2^(k-m) K, for the carries into bit m and out of bit k-1 of each adder.
pub(crate) fn cut_terms(carries: &[Shared<Bits>], k: u32, cut: u32) -> Vec<Term<'_>> {
    let term = |(i, bit)| match i % 2 {
        0 => Term { bit, shift: 0, negative: false },
        _ => Term { bit, shift: k - cut, negative: true },
    };
    carries.iter().enumerate().map(term).collect()
}
