//! Signs, equality and exact truncation by verified keys of a mask's digits.
//!
//! **Source**: ours (docs/security/pika-malicious.md). **Model**: malicious, one of three. **Notation**: x over Z_2^k;
//! r = sum of 2^(o_d) r_d, digits r_d of at most six bits, dealt as [places](super::digits), so that e_d, one-hot at
//! r_d, has tags; X = x + r, of digits X_d.
//!
//! 1. Open X.
//! 2. g_d = sum of e_d(j) over j > X_d, and p_d = e_d(X_d), with tags, local: digit d of X - r borrows, or propagates a
//!    borrow. A part of a digit's bits can be compared alone, too, and any function of r_d is such a sum.
//! 3. Borrows of several digits: (g, p) o (g', p') = (g + p g', p p'), by a tree of products.
//!
//! - **Sign**: bit k-1 of X, of r, and the borrow into it; over Z_2. As a bit it takes one more opening.
//! - **Equality**: the product of all e_d(X_d), over Z_2.
//! - **floor(x / 2^c)** of a = x + 2^(k-1): floor(X / 2^c) - floor(r / 2^c) - v + 2^(k-c) u, v the borrow into bit c
//!   over Z_2^k, u the one out of the top over Z_2^c. Where -2^(k-2) <= x < 2^(k-2), a = x + 2^(k-2), and u is (1 -
//!   X_{k-1}) r_{k-1}: local.
//!
//! Rounds: 1, one for each level of the tree, for signs and equality 1; truncation over the full range 1 more. Sent by
//! each of P0 and P1: k bits, two elements for each product, and 1 bit for the last opening.

use std::ops::Range;

use quorate_authenticated::shared::Shared;
use quorate_authenticated::{Kind, Params, SharedBits, Tagged};
use quorate_engine::{Chunks, Ctx, Error, Form, Linear, Result, Sharing, Stocks};
use quorate_fss::verified;
use quorate_gadgets::{Gadgets, stream, truncate};
use quorate_ring::meter::{Kernel, charge};
use quorate_ring::{Ring, Vector, Wiped, wipe_words};

use super::PikaMalicious;
use super::digits::{Digits, charge_copies, keys_of};

/// The largest number of bits of a digit: more bits mean more leaves of keys, fewer bits more products of digits.
const DIGIT_BITS: u32 = 6;
const BIT: Ring = Ring::of(1);
const NO_DIGITS: Error = Error::Bug { what: "a mask without digits" };

/// The digits of masks over Z_2^k, the lowest first.
#[derive(Clone, Debug)]
pub struct Mask {
    /// The kinds of digits, and the number of each: the longer ones first.
    groups: Vec<(Digits, usize)>,
}

/// A digit: its first bit, and the number of its bits.
#[derive(Clone, Copy)]
struct Digit {
    first: u32,
    bits: u32,
}

impl Mask {
    /// Returns the digits, or `None` if such keys do not exist or are not needed.
    pub fn new(params: Params, ring: Ring) -> Option<Mask> {
        let k = ring.bits();
        let count = k.div_ceil(DIGIT_BITS);
        let longer = k % count;
        let groups = [(k / count + 1, longer), (k / count, count - longer)].into_iter().filter(|(_, count)| *count > 0);
        let groups: Option<Vec<_>> =
            groups.map(|(bits, count)| Some((Digits::new(params, bits, ring)?, count as usize))).collect();
        groups.map(|groups| Mask { groups }).filter(|_| k > 1)
    }

    /// Returns the places of one mask.
    pub fn kinds(&self) -> Vec<(Kind, usize)> {
        self.groups.iter().map(|(digits, count)| (digits.kind(), *count)).collect()
    }

    /// Returns the number of digits.
    pub fn digits(&self) -> usize {
        self.groups.iter().map(|(_, count)| count).sum()
    }

    /// Returns the number of digits with bits below `cut`, and the number of those with bits from `cut` on.
    pub fn cut(&self, cut: u32) -> (usize, usize) {
        let all = || (0..self.groups.len()).flat_map(|group| self.group(group));
        let lower = all().filter(|digit| digit.first < cut).count();
        (lower, all().filter(|digit| digit.first + digit.bits > cut).count())
    }

    /// Returns the digits of a group, which are adjacent.
    fn group(&self, group: usize) -> Vec<Digit> {
        let before: u32 = self.groups[..group].iter().map(|(digits, count)| digits.lower_bits() * *count as u32).sum();
        let (digits, count) = self.groups[group];
        let bits = digits.lower_bits();
        (0..count as u32).map(|i| Digit { first: before + i * bits, bits }).collect()
    }

    /// Returns chunks; each number takes keys twice, and some elements with tags.
    fn chunks(&self, len: usize) -> Chunks {
        let of = |(digits, count): &(Digits, usize)| {
            let keys: usize = digits.shapes().iter().map(|shape| 2 * shape.key_bytes() + 320).sum();
            keys * count
        };
        Chunks::of_bytes(len, self.groups.iter().map(of).sum())
    }
}

/// Masked numbers, and the parts of their masks.
struct Masked {
    /// X; a shape at P2 and in dry runs.
    opened: Vector,
    /// r_d, over Z_2^k.
    digits: Vec<Tagged>,
    /// The keys, by group.
    keys: Vec<Wiped<Vector>>,
}

/// Borrows of digits, the lowest first.
#[derive(Default)]
struct Borrows {
    generate: Vec<Tagged>,
    propagate: Vec<Tagged>,
}

impl PikaMalicious {
    /// Returns the top bit of each element.
    pub(super) async fn top_bit(&self, ctx: &Ctx, x: &Tagged) -> Result<SharedBits> {
        let (ring, len) = self.shape(x);
        let Some(mask) = Mask::new(self.third.params, ring) else { return self.online.msb(ctx, x).await };
        let k = ring.bits();
        let chunks = mask.chunks(len);
        let work = async move |s: &PikaMalicious, ctx: &Ctx, x: Tagged| {
            let masked = s.open_masked(ctx, &mask, &x).await?;
            let sums = s.leaf_sums(&mask, &masked, BIT, |digit: Digit, x, j| {
                let [g, p] = borrows(x, j, 0..digit.bits.min(k - 1 - digit.first));
                [g, p, u64::from(digit.first + digit.bits == k) & (j >> (digit.bits - 1))]
            })?;
            let [generate, propagate, mut top] = sums;
            let borrow = s.borrow(ctx, Borrows { generate, propagate }).await?.generate;
            let above = masked.opened.to_bits(k - 1..k).to_vector(BIT);
            let below = s.add(&top.pop().ok_or(NO_DIGITS)?, &borrow);
            s.lsb(ctx, &s.add_public(&below, &above)).await
        };
        stream::to_lanes(self, ctx, chunks, |range| stream::slice(self, x, range), work).await
    }

    /// Returns whether each element is zero.
    pub(super) async fn is_zero(&self, ctx: &Ctx, x: &Tagged) -> Result<SharedBits> {
        let (ring, len) = self.shape(x);
        let Some(mask) = Mask::new(self.third.params, ring) else { return self.online.eqz(ctx, x).await };
        let chunks = mask.chunks(len);
        let work = async move |s: &PikaMalicious, ctx: &Ctx, x: Tagged| {
            let masked = s.open_masked(ctx, &mask, &x).await?;
            let [mut all] = s.leaf_sums(&mask, &masked, BIT, |_, x, j| [u64::from(x == j)])?;
            while all.len() > 1 {
                let upper: Vec<&Tagged> = all.iter().skip(1).step_by(2).collect();
                let lower: Vec<&Tagged> = all.iter().step_by(2).take(upper.len()).collect();
                let mut both = s.products(ctx, &upper, &lower).await?;
                both.extend((all.len() % 2 == 1).then(|| all.pop()).flatten());
                all = both;
            }
            s.lsb(ctx, &all.pop().ok_or(NO_DIGITS)?).await
        };
        stream::to_lanes(self, ctx, chunks, |range| stream::slice(self, x, range), work).await
    }

    /// Returns floor(x / 2^shift), for all numbers, or for those that fit k - 1 bits.
    pub(super) async fn floor(&self, ctx: &Ctx, x: &Tagged, shift: u32, bounded: bool) -> Result<Tagged> {
        let (ring, len) = self.shape(x);
        // The bit that is added to make the numbers positive.
        let top = ring.bits().saturating_sub(if bounded { 2 } else { 1 });
        let cut = shift.min(top);
        if cut == 0 {
            return Ok(x.clone());
        }
        let Some(mask) = Mask::new(self.third.params, ring) else {
            return match bounded {
                true => self.online.trunc_bounded(ctx, x, shift).await,
                false => self.online.trunc_exact(ctx, x, shift).await,
            };
        };
        let chunks = mask.chunks(len);
        let work = async move |s: &PikaMalicious, ctx: &Ctx, x: Tagged| {
            let x = truncate::moved(s, ctx, &x, top);
            let masked = s.open_masked(ctx, &mask, &x).await?;
            let sums = s.leaf_sums(&mask, &masked, ring, |digit: Digit, x, j| {
                let below = cut.saturating_sub(digit.first).min(digit.bits);
                let [g, p] = borrows(x, j, 0..below);
                let [upper_g, upper_p] = borrows(x, j, below..digit.bits);
                [g, p, upper_g, upper_p, j >> below, j >> (digit.bits - 1)]
            })?;
            let [mut generate, mut propagate, upper_g, upper_p, shifted, tops] = sums;
            // Digits below the cut, and from the cut on: the digit that contains the cut is in both lists.
            let (all, digits) = ((0..mask.groups.len()).flat_map(|i| mask.group(i)), mask.digits());
            let all: Vec<Digit> = all.collect();
            let (lower, upper) = mask.cut(cut);
            generate.truncate(lower);
            propagate.truncate(lower);
            let low = Borrows { generate, propagate };
            let mut quotient = s.linear(&masked.digits[0], &Linear::Scale(0));
            for (i, digit) in all.iter().enumerate().skip(digits - upper) {
                let (part, at) = match digit.first.checked_sub(cut) {
                    Some(at) => (&masked.digits[i], at),
                    None => (&shifted[i], 0),
                };
                quotient = s.add(&quotient, &s.linear(part, &Linear::Scale(1 << at)));
            }
            let low_ring = Ring::of(cut);
            let reduced = |x: Tagged| s.linear(&x, &Linear::Reduce(low_ring));
            let (v, u) = if bounded {
                let top = reduced(tops.into_iter().next_back().ok_or(NO_DIGITS)?);
                let mut not_above = masked.opened.to_bits(ring.bits() - 1..ring.bits());
                not_above.not_assign();
                let u = s.linear(&top, &Linear::Factors(&not_above.to_vector(low_ring)));
                (s.borrow(ctx, low).await?.generate, u)
            } else {
                let [generate, propagate] =
                    [upper_g, upper_p].map(|mut all| all.split_off(digits - upper).into_iter().map(reduced).collect());
                s.both_borrows(ctx, low, Borrows { generate, propagate }).await?
            };
            let mut constant = masked.opened;
            constant.shr_logical(cut);
            constant.add_scalar(ring.mask() + 1 - (1 << (top - cut)));
            let u = s.linear(&u, &Linear::Raise(ring, ring.bits() - cut));
            let taken = s.add(&quotient, &v);
            Ok(s.add_public(&s.sub(&u, &taken), &constant))
        };
        stream::to_vector(self, ctx, chunks, |range| stream::slice(self, x, range), work).await
    }

    /// Runs step 1.
    async fn open_masked(&self, ctx: &Ctx, mask: &Mask, x: &Tagged) -> Result<Masked> {
        let len = self.shape(x).1;
        let (mut sum, mut digits, mut keys) = (x.clone(), Vec::new(), Vec::new());
        for (group, (kind, count)) in mask.kinds().into_iter().enumerate() {
            let mut drawn = self.draw(ctx, kind, count * len).await?;
            keys.push(drawn.blocks.pop().ok_or(NO_DIGITS)?);
            let [places] = drawn.into_vectors()?;
            for (i, Digit { first, .. }) in mask.group(group).into_iter().enumerate() {
                let digit = stream::slice(self, &places, i * len..(i + 1) * len);
                sum = self.add(&sum, &self.linear(&digit, &Linear::Scale(1 << first)));
                digits.push(digit);
            }
        }
        let opened = self.open(ctx, &sum).await?.clone();
        Ok(Masked { opened, digits, keys })
    }

    /// Step 2: returns, for each digit, the sums of e_d(j) times the weights that `weights` gives for the digit, X_d
    /// and j.
    fn leaf_sums<const N: usize>(
        &self,
        mask: &Mask,
        masked: &Masked,
        ring: Ring,
        weights: impl Fn(Digit, u64, u64) -> [u64; N],
    ) -> Result<[Vec<Tagged>; N]> {
        let (len, wide) = (masked.opened.len(), self.third.params.shares(ring));
        let mut all = [(); N].map(|()| Vec::new());
        for (group, (digits, count)) in mask.groups.iter().enumerate() {
            let (bits, keys) = (digits.lower_bits(), count * len);
            if masked.opened.is_shape() {
                if !self.third.pairs.deals() {
                    charge(Kernel::Draw, (3 * 16 * keys) << bits);
                    // Each leaf has a value and a tag, which are weighted and added to sums in memory.
                    charge(Kernel::MultiplyWide, (2 * 2 * N * keys) << bits);
                    charge_copies(*digits, keys);
                }
                let shape = || Vector::shape(wide, len);
                let blank = || Tagged::of(ring, &Shared { share: shape(), tag: shape() });
                all.iter_mut().for_each(|all| all.extend((0..*count).map(|_| blank())));
                continue;
            }
            let (places, opened) = (mask.group(group), masked.opened.to_u64s());
            let held = keys_of(*digits, self.third.pairs.me, &masked.keys[group], keys)?;
            let mut sums = [(); N].map(|()| [(); 2].map(|()| quorate_ring::memory::zeros::<u128>(keys)));
            verified::visit(&self.evaluating(), held.first().ok_or(NO_DIGITS)?, |key, place, each| {
                for (key, both) in (key..).zip(each) {
                    let digit = places[key / len];
                    let x = opened[key % len] >> digit.first & ((1 << bits) - 1);
                    for (j, (&value, &tag)) in (place as u64..).zip(both[0].iter().zip(both[1])) {
                        for (sums, weight) in sums.iter_mut().zip(weights(digit, x, j)) {
                            for (sums, value) in sums.iter_mut().zip([value, tag]) {
                                sums[key] = sums[key].wrapping_add(value.wrapping_mul(weight.into()));
                            }
                        }
                    }
                }
            });
            for (all, mut both) in all.iter_mut().zip(sums) {
                for i in 0..*count {
                    let part = |sums: &mut Vec<u128>| {
                        let part = &mut sums[i * len..(i + 1) * len];
                        part.iter_mut().for_each(|sum| *sum &= wide.mask());
                        let vector = Vector::from_u128s(wide, part);
                        wipe_words(part);
                        vector
                    };
                    let [share, tag] = both.each_mut().map(part);
                    all.push(Tagged::of(ring, &Shared { share, tag }));
                }
            }
        }
        Ok(all)
    }
}

/// Returns whether x - j borrows, and whether it propagates a borrow, in these bits of both. X is public.
fn borrows(x: u64, j: u64, bits: Range<u32>) -> [u64; 2] {
    let part = |word: u64| word >> bits.start & ((1 << (bits.end - bits.start)) - 1);
    [u64::from(part(j) > part(x)), u64::from(part(j) == part(x))]
}

/// A borrow out of several digits, and whether they propagate one.
struct Group {
    generate: Tagged,
    propagate: Tagged,
}

/// Step 3.
impl PikaMalicious {
    /// Returns the borrow out of the lowest digits. Whether they propagate one is not needed: `propagate` has no
    /// meaning.
    async fn borrow(&self, ctx: &Ctx, digits: Borrows) -> Result<Group> {
        self.tree(ctx, digits, 1).await
    }

    async fn borrow_and_pass(&self, ctx: &Ctx, digits: Borrows) -> Result<Group> {
        self.tree(ctx, digits, 0).await
    }

    /// Returns the borrow out of the lower digits, and out of all of them, over the ring of the upper ones.
    async fn both_borrows(&self, ctx: &Ctx, low: Borrows, high: Borrows) -> Result<(Tagged, Tagged)> {
        let low = async |ctx: Ctx| self.borrow(&ctx, low).await;
        let (low, high) = ctx.join(low, async |ctx: Ctx| self.borrow_and_pass(&ctx, high).await).await?;
        let low = low.generate;
        let ring = self.shape(&high.generate).0;
        let reduced = self.linear(&low, &Linear::Reduce(ring));
        let passed = self.mul(ctx, &high.propagate, &reduced).await?;
        let out = self.add(&high.generate, &passed);
        Ok((low, out))
    }

    /// Joins neighbours until one is left; for the lowest `skipped` pairs, `propagate` is not computed.
    async fn tree(&self, ctx: &Ctx, digits: Borrows, skipped: usize) -> Result<Group> {
        let Borrows { mut generate, mut propagate } = digits;
        while generate.len() > 1 {
            let pairs = generate.len() / 2;
            let passing: Vec<&Tagged> = propagate.iter().skip(1).step_by(2).collect();
            let left: Vec<&Tagged> = passing.iter().chain(&passing[skipped..]).copied().collect();
            let lower = generate.iter().step_by(2).take(pairs);
            let right: Vec<&Tagged> = lower.chain(propagate.iter().step_by(2).take(pairs).skip(skipped)).collect();
            let products = self.products(ctx, &left, &right).await?;
            let (of_generate, of_propagate) = products.split_at(pairs);
            let joined = generate.iter().skip(1).step_by(2).zip(of_generate);
            let mut next: Vec<Tagged> = joined.map(|(own, passed)| self.add(own, passed)).collect();
            let mut passing: Vec<Tagged> = propagate[..skipped].iter().chain(of_propagate).cloned().collect();
            if generate.len() % 2 == 1 {
                next.extend(generate.pop());
                passing.extend(propagate.pop());
            }
            (generate, propagate) = (next, passing);
        }
        match (generate.pop(), propagate.pop()) {
            (Some(generate), Some(propagate)) => Ok(Group { generate, propagate }),
            _ => Err(NO_DIGITS),
        }
    }

    /// Returns products, computed side by side.
    async fn products(&self, ctx: &Ctx, left: &[&Tagged], right: &[&Tagged]) -> Result<Vec<Tagged>> {
        let product = self.bilinear(ctx, Form::Product, &self.concat(left), &self.concat(right)).await?;
        let len = self.shape(&product).1 / left.len();
        Ok((0..left.len()).map(|i| stream::slice(self, &product, i * len..(i + 1) * len)).collect())
    }
}
