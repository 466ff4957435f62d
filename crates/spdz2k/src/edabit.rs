//! Random numbers over Z_2^k with their bits: sums of numbers that one party knows each.
//!
//! **Source**: Escudero et al. 2020 (edaBits, ePrint 2020/338): private numbers are cut and chosen
//! ([`crate::privateedabit`]) where a number of k bits and its bits are all that is wanted, and that takes less.
//! Otherwise ours (docs/security/spdz2k.md): bits that are proven over Z_2^k ([`crate::proved`]) are the number, too,
//! and whatever else they weigh together. **Notation**: r^i the number of P_i, of w bits; c_j the carry into bit j of a
//! sum.
//!
//! | step | rounds | what |
//! |---|---|---|
//! | 1 | 13; 18 if n > 2 | a number of every party, by cut and choose |
//! | | 22; 32 if n > 2 | or w proven bits of every party; with MACs, too, where bits have them (`link`) |
//! | 2 | w - 1 for each party but one, 1 more for a carry out | add the numbers up, bit by bit: an AND for each |
//! | 3 | 1 | products of neighbouring bits of the sum, where they are wanted: an AND for each |
//! | 4 | 1 | carries that are wanted become elements, with a daBit each |
//! | 5 | 9 | check what was opened |
//!
//! r = sum of all r^i - 2^w (all carries out of the top); shifted right by d, it is the sum of all r^i shifted, + all
//! carries into bit d, - 2^(w-d) (all carries out of the top).

use std::ops::Range;

use quorate_engine::{Ctx, Linear, LinearBits, Result, Stocks};
use quorate_ring::{Ring, Vector};

use crate::bits::TaggedBits;
use crate::forms::SharedBits;
use crate::party::Spdz2k;
use crate::shared::Shared;
use crate::stock::{Kind, Material};
use crate::tagged::Tagged;

/// Bits that are made together.
const BATCH: usize = 1 << 17;

/// What is wanted of sums beside their bits.
#[derive(Clone, Copy, Default)]
struct Wanted<'w> {
    /// Positions: the carries into them.
    carries: &'w [u32],
    /// How many of the lowest pairs of neighbouring bits: their products.
    pairs: usize,
}

/// Two numbers added up.
struct Sum {
    bits: SharedBits,
    /// Carries that are wanted.
    carries: Vec<SharedBits>,
    /// Products that are wanted, a row for each pair.
    products: Option<SharedBits>,
}

/// Numbers of all parties, and their sums modulo 2^w.
struct Summed {
    /// By party: its bits as elements, row after row; or its numbers, where no other weights are asked for.
    own: Vec<Tagged>,
    /// Bits of the sums, a row for each position.
    bits: SharedBits,
    /// Products of the sums' bits, where they are wanted.
    products: Option<SharedBits>,
    /// For each position that was asked for, what all carries into it add up to.
    carries: Vec<Tagged>,
}

impl Spdz2k {
    /// How many triples of bits, with MACs, one of a kind takes.
    pub(crate) fn bit_triples_of(&self, kind: &Kind) -> usize {
        let adders = self.keys.parties - 1;
        match *kind {
            Kind::BitTriple => 1,
            Kind::EdaBit { bits, ring, cut } => adders * ands(bits as usize, cut > 0 || ring > bits),
            Kind::ComparisonMask { bits, pairs } => adders * ands(bits as usize, false) + pairs as usize,
            Kind::TruncMask { bits, .. } => adders * ands(bits as usize, false),
            _ => 0,
        }
    }

    /// Random elements of Z_2^width over a ring, with their bits, and shifted right by `cut` where that is not 0.
    pub(crate) async fn make_edabits(
        &self,
        ctx: &Ctx,
        (width, ring): (u32, Ring),
        cut: u32,
        len: usize,
    ) -> Result<Material> {
        let carries: &[u32] = match (cut, ring.bits() > width) {
            (0, false) => &[],
            (0, true) => &[width],
            _ => &[cut, width],
        };
        let mut parts = vec![Material {
            vectors: vec![self.blank(ctx.is_dry(), (ring, 0)); if cut > 0 { 2 } else { 1 }],
            bits: vec![self.blank_bits(ctx.is_dry(), (width as usize, 0))],
        }];
        let most = (BATCH / width as usize).max(1);
        for start in (0..len).step_by(most) {
            let lanes = most.min(len - start);
            let wanted = Wanted { carries, ..Wanted::default() };
            let summed = self.sum_numbers(ctx, (width, ring), wanted, lanes).await?;
            self.check_made(ctx).await?;
            let mut value = summed.weighed(lanes, 0..width);
            if let (Some(top), true) = (summed.carries.last(), ring.bits() > width) {
                value = value.zip(&top.linear(&Linear::Shl(width)), Vector::sub_assign);
            }
            let shifted = (cut > 0).then(|| summed.shifted(lanes, (cut, width)));
            let vectors = [value].into_iter().chain(shifted).collect();
            parts.push(Material { vectors, bits: vec![summed.bits] });
        }
        Ok(joined(&parts))
    }

    /// Random elements of Z_2^k, with their bits, and the products of the lowest pairs of neighbouring bits.
    pub(crate) async fn make_comparison_masks(
        &self,
        ctx: &Ctx,
        ring: Ring,
        pairs: usize,
        len: usize,
    ) -> Result<Material> {
        let (k, dry) = (ring.bits(), ctx.is_dry());
        let blank = |rows: usize| self.blank_bits(dry, (rows, 0));
        let vectors = vec![self.blank(dry, (ring, 0))];
        let mut parts = vec![Material { vectors, bits: vec![blank(k as usize), blank(pairs)] }];
        let most = (BATCH / k as usize).max(1);
        for start in (0..len).step_by(most) {
            let lanes = most.min(len - start);
            let wanted = Wanted { pairs, ..Wanted::default() };
            let summed = self.sum_numbers(ctx, (k, ring), wanted, lanes).await?;
            self.check_made(ctx).await?;
            let value = summed.weighed(lanes, 0..k);
            parts.push(Material {
                vectors: vec![value],
                bits: [summed.bits].into_iter().chain(summed.products).collect(),
            });
        }
        Ok(joined(&parts))
    }

    /// Random elements r of Z_2^k, what their lower k - 1 bits shifted right by `cut` are, and their top bits modulo
    /// 2^(cut+1).
    pub(crate) async fn make_trunc_masks(&self, ctx: &Ctx, ring: Ring, cut: u32, len: usize) -> Result<Material> {
        let (k, top_ring) = (ring.bits(), Ring::of(cut + 1));
        let blank = |ring| self.blank(ctx.is_dry(), (ring, 0));
        let mut parts = vec![Material { vectors: vec![blank(ring), blank(ring), blank(top_ring)], bits: vec![] }];
        let most = (BATCH / k as usize).max(1);
        for start in (0..len).step_by(most) {
            let lanes = most.min(len - start);
            let wanted = Wanted { carries: &[cut, k - 1], ..Wanted::default() };
            let summed = self.sum_numbers(ctx, (k, ring), wanted, lanes).await?;
            let top = self.bits_to_elements(ctx, &summed.bits.row(k as usize - 1), top_ring).await?;
            self.check_made(ctx).await?;
            let vectors = vec![summed.weighed(lanes, 0..k), summed.shifted(lanes, (cut, k - 1)), top];
            parts.push(Material { vectors, bits: vec![] });
        }
        Ok(joined(&parts))
    }

    /// All steps but the check.
    async fn sum_numbers(
        &self,
        ctx: &Ctx,
        (width, ring): (u32, Ring),
        wanted: Wanted<'_>,
        lanes: usize,
    ) -> Result<Summed> {
        let sizes = self.cut_and_choose((width, ring), lanes).filter(|_| wanted.carries.is_empty());
        let (own, numbers) = match sizes {
            Some(sizes) => self.chosen_numbers(ctx, ring, sizes).await?,
            None => self.proven_numbers(ctx, ring, (width as usize, lanes)).await?,
        };
        let (adders, positions) = (own.len() - 1, wanted.carries.len());
        let (mut bits, mut products, mut carries) = (numbers[0].clone(), None, vec![Vec::new(); positions]);
        for (i, number) in numbers[1..].iter().enumerate() {
            // Products are those of the last sum's bits.
            let pairs = if i + 1 == adders { wanted.pairs } else { 0 };
            let sum = self.add_bits(ctx, [&bits, number], Wanted { pairs, ..wanted }).await?;
            (bits, products) = (sum.bits, sum.products);
            carries.iter_mut().zip(sum.carries).for_each(|(all, carry)| all.push(carry));
        }
        let none = self.blank_bits(ctx.is_dry(), (1, 0));
        let all = SharedBits::concat_lanes(&carries.iter().flatten().chain([&none]).collect::<Vec<_>>());
        let all = match wanted.carries.is_empty() {
            true => self.nothing(ctx, ring),
            false => self.bits_to_elements(ctx, &all, ring).await?,
        };
        let each = |i: usize| all.linear(&Linear::Slice(i * lanes..(i + 1) * lanes));
        let sum = |first: usize| (1..adders).fold(each(first), |sum, i| sum.zip(&each(first + i), Vector::add_assign));
        Ok(Summed { own, bits, products, carries: (0..positions).map(|i| sum(i * adders)).collect() })
    }

    /// Step 1: by owner, bits as elements, row after row, and in the form of the session's bits.
    async fn proven_numbers(
        &self,
        ctx: &Ctx,
        ring: Ring,
        (width, lanes): (usize, usize),
    ) -> Result<(Vec<Tagged>, Vec<SharedBits>)> {
        let own = self.keys.own_bits(ctx, ring, width * lanes).await?;
        let numbers = self.bits_by_owner(ctx, &own, (width, lanes)).await?;
        Ok((own.iter().map(|shared| Tagged::of(ring, shared)).collect(), numbers))
    }

    /// The proven bits of every party, in rows, in the form of the session's bits.
    async fn bits_by_owner(&self, ctx: &Ctx, own: &[Shared], shape: (usize, usize)) -> Result<Vec<SharedBits>> {
        if self.has_macs() {
            let bits = self.macs_of(ctx, own).await?;
            return Ok(bits.into_iter().map(|bits| SharedBits::macs(bits.in_rows(shape))).collect());
        }
        let (rows, lanes) = shape;
        let shares = self.keys.params.shares(Ring::of(1));
        let as_bits =
            |own: &Shared| TaggedBits { rows, lanes, elements: Tagged::of(Ring::of(1), &own.reduced(shares)) };
        Ok(own.iter().map(|own| SharedBits::elements(as_bits(own))).collect())
    }

    /// Steps 2 and 3, for two numbers. Triples for both are made together.
    async fn add_bits(&self, ctx: &Ctx, [x, y]: [&SharedBits; 2], wanted: Wanted<'_>) -> Result<Sum> {
        let (width, lanes) = x.shape();
        let ands = ands(width, wanted.carries.contains(&(width as u32)));
        let made = self.bit_triples(ctx, (ands + wanted.pairs) * lanes).await?;
        let part = |rows: Range<usize>| {
            let lanes = LinearBits::Lanes(rows.start * lanes..rows.end * lanes);
            made.each_ref().map(|part| part.linear(&lanes))
        };
        let mut carry = self.blank_bits(ctx.is_dry(), (1, lanes));
        let (mut sums, mut carries) = (Vec::new(), Vec::new());
        for i in 0..width {
            if wanted.carries.contains(&(i as u32)) {
                carries.push(carry.clone());
            }
            let (x, y) = (x.row(i), y.row(i));
            sums.push(x.xor(&y).xor(&carry));
            if i < ands {
                // The carry out is x where x = y, and the carry in elsewhere.
                let both = [&x.xor(&y), &x.xor(&carry)];
                carry = x.xor(&self.multiply_bits_with(ctx, both, part(i..i + 1)).await?);
            }
        }
        if ands == width {
            carries.push(carry);
        }
        let bits = SharedBits::concat_rows(&sums.iter().collect::<Vec<_>>());
        let products = match wanted.pairs {
            0 => None,
            pairs => Some(self.products_of_neighbours(ctx, &bits, pairs, part(ands..ands + pairs)).await?),
        };
        Ok(Sum { bits, carries, products })
    }

    /// Step 3, with a triple for each pair.
    async fn products_of_neighbours(
        &self,
        ctx: &Ctx,
        bits: &SharedBits,
        pairs: usize,
        triples: [SharedBits; 3],
    ) -> Result<SharedBits> {
        let [lower, upper] = [0, 1].map(|first| {
            let positions: Vec<u32> = (0..pairs as u32).map(|i| 2 * i + first).collect();
            bits.linear(&LinearBits::GatherRows(&positions))
        });
        self.multiply_bits_with(ctx, [&lower, &upper], triples).await
    }

    /// Step 4.
    async fn bits_to_elements(&self, ctx: &Ctx, x: &SharedBits, ring: Ring) -> Result<Tagged> {
        let dabits = self.make_dabits(ctx, ring, x.shape().1).await?;
        self.bits_below_masks(ctx, x, &dabits).await
    }
}

impl Summed {
    /// What the bits of all numbers in this range weigh together.
    fn weighed(&self, lanes: usize, range: std::ops::Range<u32>) -> Tagged {
        // Numbers are in one row.
        let range = if self.own[0].shape().1 == lanes { 0..1 } else { range };
        let rows = range.len();
        let part = Linear::Slice(range.start as usize * lanes..range.end as usize * lanes);
        let each = |own: &Tagged| own.linear(&part).linear(&Linear::Weigh { rows, signed: false });
        self.own[1..].iter().fold(each(&self.own[0]), |sum, own| sum.zip(&each(own), Vector::add_assign))
    }

    /// The lowest `width` bits of the sums, shifted right by `cut`: carries into both are there.
    fn shifted(&self, lanes: usize, (cut, width): (u32, u32)) -> Tagged {
        let [into, out] = [&self.carries[0], &self.carries[1]];
        let beyond = out.linear(&Linear::Shl(width - cut));
        self.weighed(lanes, cut..width).zip(into, Vector::add_assign).zip(&beyond, Vector::sub_assign)
    }
}

/// ANDs of an addition, with the carry out of the top or without.
fn ands(width: usize, carries_out: bool) -> usize {
    if carries_out { width } else { width - 1 }
}

/// Parts of one layout, one after the other.
fn joined(parts: &[Material]) -> Material {
    let vector = |i: usize| Tagged::concat(&parts.iter().map(|part| &part.vectors[i]).collect::<Vec<_>>());
    let bits = |i: usize| SharedBits::concat_lanes(&parts.iter().map(|part| &part.bits[i]).collect::<Vec<_>>());
    Material {
        vectors: (0..parts[0].vectors.len()).map(vector).collect(),
        bits: (0..parts[0].bits.len()).map(bits).collect(),
    }
}
