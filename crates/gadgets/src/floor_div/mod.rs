//! Division by public numbers: floor(x / d), exact for every x of a proven range, with or without signs.
//!
//! **Source**: multiplication by a reciprocal (Granlund, Montgomery 1994), here with the rounding moved to the middle
//! of the gap between multiples, so that no case depends on a sign. For each divisor [`plan`] chooses one of these: a
//! constant, one comparison, a truncation, or u m + b truncated (u is x less the middle of its range, m and b are
//! public). That product is taken in the ring itself if it fits, else in a larger one into which u is converted. In the
//! largest, where no ring holds the exact reciprocal, the quotient may be one too small; a comparison of the remainder
//! corrects it. Numbers of 65 to 126 bits that are too long for that are shortened first: the quotient of their leading
//! bits is subtracted, and the rest is divided. **Model**: that of the sharing.
//!
//! Rounds and bytes are those of the gadgets named. Divisors with the same type of plan and the same shift share a
//! batch; all batches run side by side. Timing depends only on lengths, the range and the divisors. The result does not
//! depend on the rounding of inner truncations.

mod plan;

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;

use quorate_engine::{Ctx, Linear, Misuse, Positions, Result};
use quorate_ring::{Ring, Vector};

use crate::{Gadgets, Sign, Width};
pub use plan::Range;
pub(crate) use plan::signed_bits;
use plan::{Multiply, Plan, Reduce};

/// The key of a batch: the type of its plans, and their shift.
type Key = (u8, u32);

fn key(plan: &Plan) -> Key {
    match plan {
        Plan::Constant(_) => (0, 0),
        Plan::Step { .. } => (1, 0),
        Plan::Shift(shift) => (2, *shift),
        Plan::Multiply(multiply) => (if multiply.late { 4 } else { 3 }, multiply.shift),
        Plan::Reduce(reduce) => (5, reduce.shift),
    }
}

/// Numbers whose quotients are computed in the same way.
struct Batch<A> {
    x: A,
    range: Range,
    /// The distinct plans, and the index of each number's plan; all numbers have the first plan if that list is empty.
    plans: Vec<Plan>,
    which: Vec<u32>,
}

/// Returns floor(x / d), modulo 2^k. `divisors` has one number for all or one for each. Every x lies in `range`, which
/// fits the ring, of at most 126 bits.
///
/// # Errors
/// [`Misuse`] for a divisor of 0 or a wrong number of divisors; for some divisors beyond 2^118 of ranges of more than
/// 123 bits.
pub async fn floor_div<S: Gadgets>(s: &S, ctx: &Ctx, x: &S::A, divisors: &[i128], range: Range) -> Result<S::A> {
    let len = s.shape(x).1;
    if divisors.contains(&0) {
        return Err(Misuse::Other { what: "a division by zero" }.into());
    }
    if let [d] = divisors {
        let plans = vec![plan::plan(range, *d, s.most_bits())?];
        return Batch { x: x.clone(), range, plans, which: vec![] }.run(s, ctx).await;
    }
    if divisors.len() != len {
        return Err(Misuse::Length { what: "a division", left: len, right: divisors.len() }.into());
    }
    let (places, mut batches) = sorted(s, x, divisors, range)?;
    if batches.len() == 1 {
        return batches.remove(0).run(s, ctx).await;
    }
    let parts = ctx.join_all(batches.len(), async |ctx: Ctx, i: usize| batches[i].run(s, &ctx).await).await?;
    let mut back = vec![0u32; len];
    places.iter().enumerate().for_each(|(i, &place)| back[place as usize] = i as u32);
    match parts.is_empty() {
        true => Ok(x.clone()),
        false => Ok(s.linear(&s.concat(&parts.iter().collect::<Vec<_>>()), &Linear::Gather(Positions::Given(&back)))),
    }
}

/// A batch under construction: places in x, and the plans for the numbers there.
#[derive(Default)]
struct Gathered {
    places: Vec<u32>,
    plans: Vec<Plan>,
    which: Vec<u32>,
}

/// Places in x, one batch after the other, and the batches of the numbers there.
type Sorted<A> = (Vec<u32>, Vec<Batch<A>>);

/// Returns the batches, and the places in x of their numbers.
fn sorted<S: Gadgets>(s: &S, x: &S::A, divisors: &[i128], range: Range) -> Result<Sorted<S::A>> {
    let mut known: BTreeMap<i128, (Key, u32)> = BTreeMap::new();
    let mut batches: BTreeMap<Key, Gathered> = BTreeMap::new();
    for (i, &d) in divisors.iter().enumerate() {
        let (key, which) = match known.entry(d) {
            Entry::Occupied(entry) => *entry.get(),
            Entry::Vacant(entry) => {
                let plan = plan::plan(range, d, s.most_bits())?;
                let plans = &mut batches.entry(key(&plan)).or_default().plans;
                plans.push(plan);
                *entry.insert((key(&plan), plans.len() as u32 - 1))
            }
        };
        if let Some(batch) = batches.get_mut(&key) {
            batch.places.push(i as u32);
            batch.which.push(which);
        }
    }
    let mut all = Vec::with_capacity(divisors.len());
    let of = |Gathered { places, plans, which }| {
        let x = s.linear(x, &Linear::Gather(Positions::Given(&places)));
        all.extend(places);
        Batch { x, range, plans, which }
    };
    let batches = batches.into_values().map(of).collect();
    Ok((all, batches))
}

impl<A: Clone> Batch<A> {
    async fn run<S: Gadgets<A = A>>(&self, s: &S, ctx: &Ctx) -> Result<A> {
        let ring = s.shape(&self.x).0;
        match self.plans[0] {
            Plan::Constant(_) => Ok(s.public(&self.numbers(s, ctx, ring, |plan| match plan {
                Plan::Constant(quotient) => *quotient,
                _ => 0,
            }))),
            Plan::Step { .. } => self.step(s, ctx).await,
            Plan::Shift(shift) => {
                // Truncation takes signed numbers; half the range is a multiple of 2^shift.
                let half = self.half(ring);
                let moved = s.add_public(&self.x, &self.numbers(s, ctx, ring, |_| -half));
                let quotient = s.trunc_exact(ctx, &moved, shift).await?;
                Ok(s.add_public(&quotient, &self.numbers(s, ctx, ring, |_| half >> shift)))
            }
            Plan::Multiply(Multiply { shift, late, .. }) => self.multiply(s, ctx, shift, late).await,
            Plan::Reduce(Reduce { shift, .. }) => self.reduced(s, ctx, shift).await,
        }
    }

    /// Returns the number to subtract from numbers of `range` to make them signed: half the ring if the range exceeds
    /// the signed numbers, otherwise 0.
    fn half(&self, ring: Ring) -> i128 {
        if self.range.hi >> (ring.bits() - 1) > 0 { 1 << (ring.bits() - 1) } else { 0 }
    }

    /// Returns a public number for each x, computed from its plan.
    fn numbers<S: Gadgets<A = A>>(&self, s: &S, ctx: &Ctx, ring: Ring, of: impl Fn(&Plan) -> i128) -> Vector {
        let len = s.shape(&self.x).1;
        match (ctx.is_dry(), self.which.is_empty()) {
            (true, _) => Vector::shape(ring, len),
            (_, true) => Vector::constant(ring, of(&self.plans[0]) as u128 & ring.mask(), len),
            _ => {
                let each: Vec<i128> = self.plans.iter().map(of).collect();
                let all: Vec<i128> = self.which.iter().map(|&plan| each[plan as usize]).collect();
                Vector::from_i128s(ring, &all)
            }
        }
    }

    fn most_bits(&self, of: impl Fn(&Plan) -> u32) -> u32 {
        self.plans.iter().map(of).max().unwrap_or(1)
    }

    /// Selects one of two quotients by a comparison.
    async fn step<S: Gadgets<A = A>>(&self, s: &S, ctx: &Ctx) -> Result<A> {
        let ring = s.shape(&self.x).0;
        let of = |plan: &Plan| match plan {
            Plan::Step { below, step, at } => (*below, *step, *at),
            _ => (0, 0, 0),
        };
        let bits = self.most_bits(|plan| signed_bits(self.range.lo - of(plan).2, self.range.hi - of(plan).2));
        let width = if bits <= ring.bits() { Width::Difference(bits) } else { Width::Full };
        let half = self.half(ring);
        let x = s.add_public(&self.x, &self.numbers(s, ctx, ring, |_| -half));
        let at = s.public(&self.numbers(s, ctx, ring, |plan| of(plan).2 - half));
        let under = s.bit_to_ring(ctx, &s.lt(ctx, &x, &at, width).await?, ring).await?;
        let less = times(s, &under, &self.numbers(s, ctx, ring, |plan| -of(plan).1));
        Ok(s.add_public(&less, &self.numbers(s, ctx, ring, |plan| of(plan).0 + of(plan).1)))
    }

    /// Returns u m + b, truncated; corrected where it may be one too small.
    async fn multiply<S: Gadgets<A = A>>(&self, s: &S, ctx: &Ctx, shift: u32, late: bool) -> Result<A> {
        let ring = s.shape(&self.x).0;
        let work = Ring::of(self.most_bits(|plan| of(plan).wide_bits).max(ring.bits()));
        let center = self.range.center();
        let mut u = s.add_public(&self.x, &self.numbers(s, ctx, ring, |_| -center));
        if work != ring {
            let narrow = Ring::of(signed_bits(self.range.lo - center, self.range.hi - center).min(ring.bits()));
            u = s.convert(ctx, &s.linear(&u, &Linear::Reduce(narrow)), work, Sign::Signed).await?;
        }
        let product = times(s, &u, &self.numbers(s, ctx, work, |plan| of(plan).factor));
        let product = s.add_public(&product, &self.numbers(s, ctx, work, |plan| of(plan).addend));
        let quotient = s.trunc_exact(ctx, &product, shift).await?;
        let quotient = s.linear(&quotient, &Linear::Reduce(ring));
        let mut quotient = s.add_public(&quotient, &self.numbers(s, ctx, ring, |plan| of(plan).offset));
        if late {
            quotient = self.corrected(s, ctx, quotient).await?;
        }
        let signed = times(s, &quotient, &self.numbers(s, ctx, ring, |plan| if of(plan).negative { -1 } else { 1 }));
        Ok(s.add_public(&signed, &self.numbers(s, ctx, ring, |plan| -i128::from(of(plan).negative))))
    }

    /// Returns the quotient, or one more where the rest is not below the divisor.
    async fn corrected<S: Gadgets<A = A>>(&self, s: &S, ctx: &Ctx, quotient: A) -> Result<A> {
        let ring = s.shape(&self.x).0;
        let taken = times(s, &quotient, &self.numbers(s, ctx, ring, |plan| of(plan).divisor));
        let extra = |plan: &Plan| -of(plan).divisor - i128::from(of(plan).negative);
        // From -D to D - 1: negative where no correction is needed.
        let left = s.add_public(&s.sub(&self.x, &taken), &self.numbers(s, ctx, ring, extra));
        let bits = self.most_bits(|plan| signed_bits(-of(plan).divisor, of(plan).divisor - 1)).min(ring.bits());
        let left = s.linear(&left, &Linear::Reduce(Ring::of(bits)));
        let right = s.bit_to_ring(ctx, &s.msb(ctx, &left).await?, ring).await?;
        Ok(s.add_public(&s.sub(&quotient, &right), &self.numbers(s, ctx, ring, |_| 1)))
    }
}

/// Quotients of long numbers: a quotient of the leading bits, plus that of the shorter rest.
impl<A: Clone> Batch<A> {
    async fn reduced<S: Gadgets<A = A>>(&self, s: &S, ctx: &Ctx, shift: u32) -> Result<A> {
        let ring = s.shape(&self.x).0;
        let center = self.range.center();
        let u = s.add_public(&self.x, &self.numbers(s, ctx, ring, |_| -center));
        let leading = self.leading(s, ctx, &u, shift).await?;
        let product = times(s, &leading, &self.numbers(s, ctx, ring, |plan| reduce_of(plan).factor));
        let quotient = s.add_public(&product, &self.numbers(s, ctx, ring, |plan| reduce_of(plan).whole));
        let taken = times(s, &quotient, &self.numbers(s, ctx, ring, |plan| reduce_of(plan).divisor));
        let rest = s.sub(&self.x, &taken);
        let signed = |plan: &Plan| if reduce_of(plan).negative { -1 } else { 1 };
        let each: Vec<i128> = self.plans.iter().map(|plan| signed(plan) * reduce_of(plan).divisor).collect();
        let divisors: Vec<i128> = match self.which.is_empty() {
            true => each,
            false => self.which.iter().map(|&plan| each[plan as usize]).collect(),
        };
        let ends = self.plans.iter().map(|plan| reduce_of(plan).rest);
        let range = ends.reduce(|a, b| Range { lo: a.lo.min(b.lo), hi: a.hi.max(b.hi) }).unwrap_or(self.range);
        let more = Box::pin(floor_div(s, ctx, &rest, &divisors, range)).await?;
        Ok(s.add(&times(s, &quotient, &self.numbers(s, ctx, ring, signed)), &more))
    }

    /// Returns u / 2^shift: rounded down or up where that never fails and is cheaper, otherwise down.
    async fn leading<S: Gadgets<A = A>>(&self, s: &S, ctx: &Ctx, u: &A, shift: u32) -> Result<A> {
        let center = self.range.center();
        let bits = signed_bits(self.range.lo - center, self.range.hi - center);
        match s.trunc_prob_failure(s.shape(u).0, shift, bits) == 0.0 {
            true => s.trunc_prob(ctx, u, shift).await,
            false => s.trunc_exact(ctx, u, shift).await,
        }
    }
}

/// Returns the plan of a batch of long numbers.
fn reduce_of(plan: &Plan) -> Reduce {
    match plan {
        Plan::Reduce(reduce) => *reduce,
        _ => Reduce::default(),
    }
}

/// Returns the plan of a batch of products.
fn of(plan: &Plan) -> Multiply {
    match plan {
        Plan::Multiply(multiply) => *multiply,
        _ => Multiply::default(),
    }
}

fn times<S: Gadgets>(s: &S, x: &S::A, factors: &Vector) -> S::A {
    s.linear(x, &Linear::Factors(factors))
}
