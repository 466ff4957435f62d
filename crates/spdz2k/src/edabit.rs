//! Random numbers over Z_2^k with their bits: sums of numbers of which each party knows one.
//!
//! **Source**: Escudero et al. 2020 (edaBits, ePrint 2020/338): private numbers by cut and choose
//! ([`crate::privateedabit`], [`crate::short_numbers`]) where that takes less. Otherwise ours
//! (docs/security/spdz2k.md): bits that are proven over Z_2^k ([`crate::proved`]) also make the number, and any other
//! weighted sum. **Notation**: r^i the number of P_i, of w bits; c_j the carry into bit j of a sum.
//!
//! | step | rounds | what |
//! |---|---|---|
//! | 1 | 13, 18 if n > 2; 1 more where bits are opened | a number of every party, by cut and choose |
//! | | 22; 32 if n > 2 | or w proven bits of every party; with MACs, too, where bits have them (`bits_as_elements`) |
//! | 2 | w - 1; 1 more for a carry out | add the numbers up, bit by bit: n - 1 ANDs side by side |
//! | 3 | 1 | products of neighbouring bits of the sum, where they are wanted: an AND for each |
//! | 4 | 1 | carries that are wanted become elements, with a daBit each |
//! | 5 | 9 | check what was opened |
//!
//! r = sum of all r^i - 2^w (all carries out of the top). Its bits from d to e, as a number, are the sum of those of
//! all r^i, + all carries into bit d, - 2^(e-d) (all carries into bit e).
//!
//! Bit j of a sum is local once the carries into it are there, so all n - 1 additions go on together.

use std::ops::Range;

use quorate_authenticated::bits::TaggedBits;
use quorate_authenticated::shared::Shared;
use quorate_authenticated::{Material, SharedBits, Tagged};
use quorate_engine::{Ctx, Linear, LinearBits, Result, Stocks};
use quorate_ring::{Ring, Vector};

use crate::bits_as_elements::{bits_below_masks, macs_of};
use crate::bittriple::BitTriples;
use crate::maker::Maker;
use crate::numbers::{OwnNumbers, Wanted};
use crate::privateedabit::Sizes;
use crate::proved::own_bits;
use crate::random_bits;
use crate::short_numbers::chosen_parts;

/// The sums of the numbers of all parties.
struct Summed {
    value: Tagged,
    part: Option<Tagged>,
    /// A row for each position.
    bits: SharedBits,
    /// A row for each pair.
    products: Option<SharedBits>,
}

/// The bits of the sums of the numbers of all parties.
struct Sum {
    bits: SharedBits,
    /// By position: carries of all additions in one row, one after the other.
    carries: Vec<SharedBits>,
    products: Option<SharedBits>,
}

/// An adder of the parties' numbers: a party that makes correlations, and triples of bits for its ANDs.
pub(crate) struct Adder<'m> {
    pub maker: Maker<'m>,
    pub triples: BitTriples<'m>,
}

impl Adder<'_> {
    /// Makes random elements of Z_2^width over a ring with their bits; also shifted right by `cut` if that is not 0.
    pub async fn edabits(&self, ctx: &Ctx, (width, ring): (u32, Ring), cut: u32, len: usize) -> Result<Material> {
        let wanted = Wanted::edabits(width, ring, cut);
        let nothing = Material::new(
            vec![self.maker.blank(ctx.is_dry(), (ring, 0)); if cut > 0 { 2 } else { 1 }],
            vec![self.maker.blank_bits(ctx.is_dry(), (width as usize, 0))],
        );
        let batch = async |Summed { value, part, bits, .. }| {
            self.maker.check_made(ctx).await?;
            Ok(Material::new([value].into_iter().chain(part).collect(), vec![bits]))
        };
        self.in_batches(ctx, &wanted, (len, nothing), batch).await
    }

    /// Makes random elements of Z_2^k with their bits, and the products of the lowest pairs of neighbouring bits.
    pub async fn comparison_masks(&self, ctx: &Ctx, ring: Ring, pairs: usize, len: usize) -> Result<Material> {
        let (k, dry) = (ring.bits(), ctx.is_dry());
        let wanted = Wanted::comparison_masks(ring, pairs);
        let blank = |rows: usize| self.maker.blank_bits(dry, (rows, 0));
        let nothing = Material::new(vec![self.maker.blank(dry, (ring, 0))], vec![blank(k as usize), blank(pairs)]);
        let batch = async |Summed { value, bits, products, .. }| {
            self.maker.check_made(ctx).await?;
            Ok(Material::new(vec![value], [bits].into_iter().chain(products).collect()))
        };
        self.in_batches(ctx, &wanted, (len, nothing), batch).await
    }

    /// Makes random elements r of Z_2^k. With them come their lower k - 1 bits shifted right by `cut`, and their top
    /// bits modulo 2^(cut+1).
    pub async fn trunc_masks(&self, ctx: &Ctx, ring: Ring, cut: u32, len: usize) -> Result<Material> {
        let (wanted, top_ring) = (Wanted::trunc_masks(ring, cut), Ring::of(cut + 1));
        let blank = |ring| self.maker.blank(ctx.is_dry(), (ring, 0));
        let nothing = Material::of_vectors(vec![blank(ring), blank(ring), blank(top_ring)]);
        let batch = async |Summed { value, part, bits, .. }: Summed| {
            let top = self.bits_to_elements(ctx, &bits.row(ring.bits() as usize - 1), top_ring).await?;
            self.maker.check_made(ctx).await?;
            Ok(Material::of_vectors([value].into_iter().chain(part).chain([top]).collect()))
        };
        self.in_batches(ctx, &wanted, (len, nothing), batch).await
    }

    /// Makes sums of numbers in batches one after the other, turns each batch into correlations, and joins these.
    async fn in_batches(
        &self,
        ctx: &Ctx,
        wanted: &Wanted,
        (len, nothing): (usize, Material),
        batch: impl AsyncFn(Summed) -> Result<Material>,
    ) -> Result<Material> {
        let batches = wanted.batches((self.maker.keys.params, self.maker.keys.transfers.digits), len);
        let one = async |range: Range<usize>| {
            let lanes = range.len();
            batch(self.sum_numbers(ctx, wanted, (lanes, batches.chosen(lanes))).await?).await
        };
        let made = ctx.in_turn(len, batches.most, one).await?;
        let parts = [&[&nothing], &made.all()[..]].concat();
        Ok(Material::joined(&parts, Tagged::concat, SharedBits::concat_lanes))
    }

    /// Runs all steps but the check.
    async fn sum_numbers(&self, ctx: &Ctx, wanted: &Wanted, (lanes, chosen): (usize, Option<Sizes>)) -> Result<Summed> {
        let own = match chosen {
            Some(sizes) => chosen_parts(self.maker, ctx, wanted, sizes).await?,
            None => self.proven_numbers(ctx, wanted, lanes).await?,
        };
        let all = |of: fn(&OwnNumbers) -> Option<&Tagged>| {
            let mut all = own.iter().filter_map(of);
            let first = all.next().cloned();
            first.map(|first| all.fold(first, |sum, own| sum.zip(own, Vector::add_assign)))
        };
        let (value, part) = (all(|own| Some(&own.value)), all(|own| own.part.as_ref()));
        let numbers: Vec<&SharedBits> = own.iter().map(|own| &own.bits).collect();
        let Sum { bits, carries, products } = self.add_bits(ctx, &numbers, wanted).await?;
        let carries = self.carries_as_elements(ctx, &carries, (wanted.ring, lanes)).await?;
        let beyond = |sum: Tagged, bits: u32, carry: Option<&Tagged>| match carry {
            Some(carry) => sum.zip(&carry.linear(&Linear::Shl(bits)), Vector::sub_assign),
            None => sum,
        };
        let top = carries.last().filter(|_| wanted.ring.bits() > wanted.width);
        let value = beyond(value.unwrap_or_else(|| self.maker.nothing(ctx, wanted.ring)), wanted.width, top);
        let part = part
            .zip(wanted.part)
            .map(|(part, [from, to])| beyond(part.zip(&carries[0], Vector::add_assign), to - from, carries.last()));
        Ok(Summed { value, part, bits, products })
    }

    /// Step 1: makes proven numbers, by owner.
    async fn proven_numbers(&self, ctx: &Ctx, wanted: &Wanted, lanes: usize) -> Result<Vec<OwnNumbers>> {
        let &Wanted { width, ring, part, .. } = wanted;
        let own = own_bits(self.maker.keys.voles(), ctx, ring, width as usize * lanes).await?;
        let numbers = self.bits_by_owner(ctx, &own, (width as usize, lanes)).await?;
        let weighed = |own: &Tagged, [from, to]: [u32; 2]| {
            let rows = Linear::Slice(from as usize * lanes..to as usize * lanes);
            own.linear(&rows).linear(&Linear::Weigh { rows: (to - from) as usize, signed: false })
        };
        let number = |(own, bits): (&Shared, SharedBits)| {
            let own = Tagged::of(ring, own);
            OwnNumbers { value: weighed(&own, [0, width]), part: part.map(|part| weighed(&own, part)), bits }
        };
        Ok(own.iter().zip(numbers).map(number).collect())
    }

    /// Returns the proven bits of every party, in rows, in the form of the session's bits.
    async fn bits_by_owner(&self, ctx: &Ctx, own: &[Shared], shape: (usize, usize)) -> Result<Vec<SharedBits>> {
        if self.maker.has_macs() {
            let bits = macs_of(self.maker, ctx, own).await?;
            return Ok(bits.into_iter().map(|bits| SharedBits::macs(bits.in_rows(shape))).collect());
        }
        let (rows, lanes) = shape;
        let shares = self.maker.keys.params.shares(Ring::of(1));
        let as_bits =
            |own: &Shared| TaggedBits { rows, lanes, elements: Tagged::of(Ring::of(1), &own.reduced(shares)) };
        Ok(own.iter().map(|own| SharedBits::elements(as_bits(own))).collect())
    }

    /// Runs steps 2 and 3. All triples are made together.
    async fn add_bits(&self, ctx: &Ctx, numbers: &[&SharedBits], wanted: &Wanted) -> Result<Sum> {
        let (width, lanes) = numbers[0].shape();
        let (adders, ands, carries_to) = (numbers.len() - 1, wanted.ands(), wanted.carries());
        let made = self.triples.make(ctx, (adders * ands + wanted.pairs) * lanes).await?;
        let triples = |rows: Range<usize>| {
            let lanes = LinearBits::Lanes(rows.start * lanes..rows.end * lanes);
            made.each_ref().map(|part| part.linear(&lanes))
        };
        // One row for each addition.
        let mut carry = self.maker.blank_bits(ctx.is_dry(), (adders, lanes));
        let (mut sums, mut carries) = (Vec::new(), Vec::new());
        for i in 0..width {
            if carries_to.contains(&(i as u32)) {
                carries.push(carry.linear(&LinearBits::SideBySide));
            }
            let ([x, y], sum) = operands(numbers, &carry, i);
            sums.push(sum);
            if i < ands {
                // The carry out is x where x = y, and the carry in elsewhere.
                let both = [&x.xor(&y), &x.xor(&carry)];
                carry = x.xor(&self.maker.multiply_bits_with(ctx, both, triples(adders * i..adders * (i + 1))).await?);
            }
        }
        if ands == width {
            carries.push(carry.linear(&LinearBits::SideBySide));
        }
        let bits = SharedBits::concat_rows(&sums.iter().collect::<Vec<_>>());
        let products = match wanted.pairs {
            0 => None,
            pairs => {
                let triples = triples(adders * ands..adders * ands + pairs);
                Some(self.products_of_neighbours(ctx, &bits, pairs, triples).await?)
            }
        };
        Ok(Sum { bits, carries, products })
    }

    /// Step 4: returns, by position, the sums of the carries of all additions.
    async fn carries_as_elements(
        &self,
        ctx: &Ctx,
        carries: &[SharedBits],
        (ring, lanes): (Ring, usize),
    ) -> Result<Vec<Tagged>> {
        if carries.is_empty() {
            return Ok(vec![]);
        }
        let all = SharedBits::concat_lanes(&carries.iter().collect::<Vec<_>>());
        let (elements, adders) = (self.bits_to_elements(ctx, &all, ring).await?, self.maker.keys.parties - 1);
        let each = |i: usize| elements.linear(&Linear::Slice(i * lanes..(i + 1) * lanes));
        let sum = |first: usize| (1..adders).fold(each(first), |sum, i| sum.zip(&each(first + i), Vector::add_assign));
        Ok((0..carries.len()).map(|i| sum(i * adders)).collect())
    }

    /// Runs step 3, with a triple for each pair.
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
        self.maker.multiply_bits_with(ctx, [&lower, &upper], triples).await
    }

    /// Runs step 4 for bits of one row.
    async fn bits_to_elements(&self, ctx: &Ctx, x: &SharedBits, ring: Ring) -> Result<Tagged> {
        let dabits = random_bits::dabits(self.maker, ctx, ring, x.shape().1).await?;
        bits_below_masks(self.maker.online, ctx, x, &dabits).await
    }
}

/// Returns the operands of all additions at one position, a row for each, and the bit of the last sum.
fn operands(numbers: &[&SharedBits], carry: &SharedBits, i: usize) -> ([SharedBits; 2], SharedBits) {
    let others: Vec<SharedBits> = numbers[1..].iter().map(|number| number.row(i)).collect();
    let (mut sum, mut sums) = (numbers[0].row(i), Vec::new());
    for (adder, other) in others.iter().enumerate() {
        let next = sum.xor(other).xor(&carry.row(adder));
        sums.push(std::mem::replace(&mut sum, next));
    }
    let rows = |all: &[SharedBits]| SharedBits::concat_rows(&all.iter().collect::<Vec<_>>());
    ([rows(&sums), rows(&others)], sum)
}
