//! Signs and equality by verified keys of a mask's digits.
//!
//! **Source**: ours (docs/security/pika-malicious.md); each digit of a mask is a one-hot vector. **Model**: malicious, one of three. **Notation**: x over Z_2^k; r = sum of 2^(o_d) r_d, digits r_d of
//! five or six bits, dealt as [places](super::digits), so that e_d, one-hot at r_d, has tags; X = x + r.
//!
//! 1. Open X mod 2^k, of digits X_d.
//! 2. g_d = sum of e_d(j) over j > X_d, and p_d = e_d(X_d), with tags, local; of the top digit all but its top bit counts,
//!    whose sum t = sum of e(j) over j that have it is local, too.
//! 3. X - r borrows at bit k - 1 where the digits below generate a borrow: (g, p) o (g', p') = (g + p g', p p') by a tree
//!    of products over Z_2.
//! 4. The top bit of x is that of X, plus t, plus the borrow, over Z_2; as a bit it takes one opening.
//!
//! x = 0 is the product of all e_d(X_d). Rounds: 1, one for each level of the tree, 1. Sent by each of P0 and P1: k bits,
//! 2 for each product, and what a bit takes.

use std::ops::Range;

use quorate_engine::{Chunks, Ctx, Error, Form, Linear, Result, Sharing, Stocks};
use quorate_fss::verified;
use quorate_gadgets::{Gadgets, stream};
use quorate_ring::meter::{Kernel, charge};
use quorate_ring::{Ring, Vector, wipe_words};
use quorate_spdz2k::{Kind, Params, Shared, SharedBits, Tagged};

use super::PikaMalicious;
use super::digits::{Digits, keys_of};

/// The most bits of a digit: leaves of keys, against products of digits.
const DIGIT_BITS: u32 = 6;
const BIT: Ring = Ring::of(1);
const NO_DIGITS: Error = Error::Bug { what: "a mask without digits" };

/// The digits of masks over Z_2^k, the lowest first; none where there are no such keys.
pub(super) struct Mask {
    ring: Ring,
    /// Of how many bits, and how many of them: the longer ones first.
    groups: Vec<(Digits, usize)>,
}

impl Mask {
    pub fn new(params: Params, ring: Ring) -> Option<Mask> {
        let k = ring.bits();
        let count = k.div_ceil(DIGIT_BITS);
        let longer = k % count;
        let groups = [(k / count + 1, longer), (k / count, count - longer)].into_iter().filter(|(_, count)| *count > 0);
        let groups: Option<Vec<_>> =
            groups.map(|(bits, count)| Some((Digits::new(params, bits, ring)?, count as usize))).collect();
        groups.map(|groups| Mask { ring, groups }).filter(|_| k > 1)
    }

    /// Bits of each digit.
    fn widths(&self) -> Vec<u32> {
        self.groups.iter().flat_map(|(digits, count)| vec![digits.lower_bits(); *count]).collect()
    }

    /// What is held of each: keys twice, and some elements with tags.
    fn chunks(&self, len: usize) -> Chunks {
        let of = |(digits, count): &(Digits, usize)| {
            let keys: usize = digits.shapes().iter().map(|shape| 2 * shape.key_bytes() + 320).sum();
            keys * count
        };
        Chunks::of_bytes(len, self.groups.iter().map(of).sum())
    }

    /// The products of a tree over the digits, level by level, of borrows or of equality.
    pub fn products(&self, borrows: bool) -> Vec<u64> {
        let (mut width, mut levels) = (self.widths().len() as u64, Vec::new());
        while width > 1 {
            levels.push(if borrows { 2 * (width / 2) - 1 } else { width / 2 });
            width = width.div_ceil(2);
        }
        levels
    }

    /// The places of one mask.
    pub fn kinds(&self) -> Vec<(Kind, usize)> {
        self.groups.iter().map(|(digits, count)| (digits.kind(), *count)).collect()
    }
}

/// What masked numbers say of each digit, over Z_2.
struct Compared {
    /// X; a shape at P2.
    opened: Vector,
    /// Whether the digit generates a borrow at bit k - 1, and whether it passes one on.
    generate: Vec<Tagged>,
    propagate: Vec<Tagged>,
    /// Whether it is that of X.
    equal: Vec<Tagged>,
    /// The top bit of r.
    top: Tagged,
}

impl PikaMalicious {
    /// The top bit of each element.
    pub(super) async fn top_bit(&self, ctx: &Ctx, x: &Tagged) -> Result<SharedBits> {
        let (ring, len) = self.shape(x);
        let Some(mask) = Mask::new(self.third.params, ring) else { return self.online.msb(ctx, x).await };
        let work = async |ctx: Ctx, range: Range<usize>| {
            let of = self.compared(&ctx, &mask, &stream::slice(self, x, range)).await?;
            let borrow = self.borrow(&ctx, of.generate, of.propagate).await?;
            let above = of.opened.to_bits(ring.bits() - 1..ring.bits()).to_vector(BIT);
            self.lsb(&ctx, &self.add_public(&self.add(&of.top, &borrow), &above)).await
        };
        stream::to_lanes(self, ctx, mask.chunks(len), work).await
    }

    /// Whether each element is zero.
    pub(super) async fn is_zero(&self, ctx: &Ctx, x: &Tagged) -> Result<SharedBits> {
        let (ring, len) = self.shape(x);
        let Some(mask) = Mask::new(self.third.params, ring) else { return self.online.eqz(ctx, x).await };
        let work = async |ctx: Ctx, range: Range<usize>| {
            let mut all = self.compared(&ctx, &mask, &stream::slice(self, x, range)).await?.equal;
            while all.len() > 1 {
                let upper: Vec<&Tagged> = all.iter().skip(1).step_by(2).collect();
                let lower: Vec<&Tagged> = all.iter().step_by(2).take(upper.len()).collect();
                let mut both = self.products(&ctx, &upper, &lower).await?;
                both.extend((all.len() % 2 == 1).then(|| all.pop()).flatten());
                all = both;
            }
            self.lsb(&ctx, &all.pop().ok_or(NO_DIGITS)?).await
        };
        stream::to_lanes(self, ctx, mask.chunks(len), work).await
    }

    /// Steps 1 and 2.
    async fn compared(&self, ctx: &Ctx, mask: &Mask, x: &Tagged) -> Result<Compared> {
        let len = self.shape(x).1;
        let (mut masked, mut keys, mut offset) = (x.clone(), Vec::new(), 0);
        for (digits, count) in &mask.groups {
            let [places, blocks] = self.draw(ctx, digits.kind(), count * len).await?.into_vectors()?;
            for i in 0..*count {
                let digit = stream::slice(self, &places, i * len..(i + 1) * len);
                masked = self.add(&masked, &self.linear(&digit, &Linear::Scale(1 << offset)));
                offset += digits.lower_bits();
            }
            keys.push(blocks);
        }
        let opened = self.open(ctx, &masked).await?.clone();
        let top = self.online.blank(true, (BIT, 0));
        let mut all = Compared { opened, generate: vec![], propagate: vec![], equal: vec![], top };
        let mut offset = 0;
        for ((digits, count), blocks) in mask.groups.iter().zip(&keys) {
            let ends_at = offset + *count as u32 * digits.lower_bits();
            let sums = self.leaf_sums((*digits, *count), blocks, (&all.opened, offset), ends_at == mask.ring.bits())?;
            let digit = |sum: &Tagged, i: usize| stream::slice(self, sum, i * len..(i + 1) * len);
            let [generate, propagate, equal, top] = &sums;
            all.generate.extend((0..*count).map(|i| digit(generate, i)));
            all.propagate.extend((0..*count).map(|i| digit(propagate, i)));
            all.equal.extend((0..*count).map(|i| digit(equal, i)));
            all.top = digit(top, count - 1);
            offset = ends_at;
        }
        Ok(all)
    }

    /// Of digits of one width, one after the other: sums of values of leaves, as [`Compared`] has them. `first` is the
    /// place of the lowest digit; the last digit may be the top one.
    fn leaf_sums(
        &self,
        (digits, count): (Digits, usize),
        blocks: &Tagged,
        (opened, first): (&Vector, u32),
        has_top: bool,
    ) -> Result<[Tagged; 4]> {
        let (bits, len) = (digits.lower_bits(), opened.len());
        let wide = self.third.params.shares(BIT);
        if opened.is_shape() {
            if !self.third.pairs.deals() {
                charge(Kernel::Draw, 3 * 16 * (count * len) << bits);
            }
            let shape = || Vector::shape(wide, count * len);
            return Ok([(); 4].map(|()| Tagged::of(BIT, &Shared { share: shape(), tag: shape() })));
        }
        let keys = keys_of(digits, self.third.pairs.me, &blocks.shared(), count * len)?;
        let opened = opened.to_u64s();
        // For each key and kind of sum, of first and of second values.
        let mut sums = [(); 4].map(|()| [(); 2].map(|()| quorate_ring::memory::zeros::<u128>(count * len)));
        verified::visit(&self.third.pairs.hash, &keys[0], |key, place, each| {
            for (q, both) in each.iter().enumerate() {
                let (digit, element) = ((key + q) / len, (key + q) % len);
                let x = opened[element] >> (first + digit as u32 * bits) & ((1 << bits) - 1);
                let below = (1u64 << (bits - u32::from(has_top && digit == count - 1))) - 1;
                for (which, values) in both.iter().enumerate() {
                    for (j, value) in (place as u64..).zip(*values) {
                        let counts = [j & below > x & below, j & below == x & below, j == x, j > below];
                        for (sums, counts) in sums.iter_mut().zip(counts) {
                            let sum = &mut sums[which][key + q];
                            *sum = sum.wrapping_add(value & 0u128.wrapping_sub(counts.into()));
                        }
                    }
                }
            }
        });
        Ok(sums.map(|mut both| {
            let [share, tag] = both.each_mut().map(|sums| {
                sums.iter_mut().for_each(|sum| *sum &= wide.mask());
                let vector = Vector::from_u128s(wide, sums);
                wipe_words(sums);
                vector
            });
            Tagged::of(BIT, &Shared { share, tag })
        }))
    }

    /// Step 3: generate of all digits.
    async fn borrow(&self, ctx: &Ctx, mut generate: Vec<Tagged>, mut propagate: Vec<Tagged>) -> Result<Tagged> {
        while generate.len() > 1 {
            let pairs = generate.len() / 2;
            let passing: Vec<&Tagged> = propagate.iter().skip(1).step_by(2).collect();
            // Of the lowest pair nobody asks what it passes on.
            let left: Vec<&Tagged> = passing.iter().chain(&passing[1..]).copied().collect();
            let lower = generate.iter().step_by(2).take(pairs);
            let right: Vec<&Tagged> = lower.chain(propagate.iter().step_by(2).take(pairs).skip(1)).collect();
            let products = self.products(ctx, &left, &right).await?;
            let (of_generate, of_propagate) = products.split_at(pairs);
            let joined = generate.iter().skip(1).step_by(2).zip(of_generate);
            let mut next: Vec<Tagged> = joined.map(|(own, passed)| self.add(own, passed)).collect();
            let mut passing: Vec<Tagged> = propagate[..1].iter().chain(of_propagate).cloned().collect();
            if generate.len() % 2 == 1 {
                next.extend(generate.pop());
                passing.extend(propagate.pop());
            }
            (generate, propagate) = (next, passing);
        }
        generate.pop().ok_or(NO_DIGITS)
    }

    /// Products side by side.
    async fn products(&self, ctx: &Ctx, left: &[&Tagged], right: &[&Tagged]) -> Result<Vec<Tagged>> {
        let (x, y) = (self.concat(left), self.concat(right));
        let product = self.bilinear(ctx, Form::Product, &x, &y).await?;
        let len = self.shape(&product).1 / left.len();
        Ok((0..left.len()).map(|i| stream::slice(self, &product, i * len..(i + 1) * len)).collect())
    }
}
