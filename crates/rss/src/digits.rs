//! edaBits of three parties: the sum of a number that one party knows and one that the others know, as bits and as an
//! element.
//!
//! **Source**: ours, on the summands of [`crate::split`]; the prefix network is that of Ladner and Fischer 1980.
//! **Model**: semi-honest, 1 of 3. **Notation**: bits x = a xor b that all keys give (PRandR over Z_2); A and B are the
//! numbers whose bits are a, which one party knows, and b, which the others know. r = A + B mod 2^k is uniform, since B
//! is.
//!
//! 1. The words A and B are shared as elements, `recombined`; with a cut also those of A and B shifted.
//! 2. Carries by digits of two bits, h above l. A digit generates a carry, or passes one on, by g = a_h b_h + a_h a_l
//!    b_l + a_l b_h b_l and p = (a_h + b_h)(a_l + b_l). Both are bilinear in what the one party knows (a_h, a_l, a_h
//!    a_l) and what the others know: `recombined` shares a_h a_l, and one exchange as in `paired` gives all g and p.
//!    The two shares of x that are those of a exist already: each is known to one of the parties that know b.
//! 3. The prefix network gives the carries out of all digits. One more AND gives those into their upper bits.
//! 4. The bits of r are x xor the carries into them.
//!
//! With c positions that carry (k - 1, or k where the carry out is wanted), f = floor(c / 2) and u = ceil(c / 2):
//!
//! | step | rounds | sent by all parties |
//! |---|---|---|
//! | 1, in parallel with 2 | 1 | a word, and one for the cut |
//! | 2 | 2 (1 if f = 0) | f bits, then 2 (u + 2f) |
//! | 3, 4 | 2 + ceil(log2 f) or less | 3 bits an AND |
//!
//! An edaBit of 64 bits takes 10 elements less 6 bits, 26.4 bytes a party in 9 rounds; Protocol 7 takes 57.3 in 8.

use quorate_engine::{Ctx, Error, Result, Sharing, UpdateBits};
use quorate_gadgets::prefix::{self, Pairs, rows};
use quorate_ring::{Bits, Ring, Vector};

use crate::edabit::{Recipe, Summed};
use crate::setup::Rss;
use crate::share::{Shared, Wiped};
use crate::split::Halves;

/// The positions that carry, in pairs: the lower ones of all digits, and the upper ones, the last of which may be
/// missing.
#[derive(Clone, Copy)]
struct Digits {
    lower: usize,
    upper: usize,
}

/// Returns `count` rows, every second one from `first` on.
fn every_second(bits: &Bits, first: u32, count: usize) -> Wiped<Bits> {
    Wiped(bits.gather_rows(&(0..count as u32).map(|i| first + 2 * i).collect::<Vec<_>>()))
}

impl Digits {
    fn of(positions: usize) -> Digits {
        Digits { lower: positions.div_ceil(2), upper: positions / 2 }
    }

    /// Returns the product of both bits of every digit.
    fn both(self, bits: &Bits) -> Bits {
        let mut both = every_second(bits, 0, self.upper);
        both.and_assign(&every_second(bits, 1, self.upper));
        both.into_inner()
    }

    /// Returns the terms that are bilinear in (a, a_h a_l) and (b, b_h b_l). They are the generates of lower bits,
    /// those of digits, and the mixed terms a_h b_l + a_l b_h of the digits' propagates.
    fn pairs(self, (a, a_both): (&Bits, &Bits), (b, b_both): (&Bits, &Bits)) -> Wiped<Bits> {
        let mut lower = every_second(a, 0, self.lower);
        lower.and_assign(&every_second(b, 0, self.lower));
        let [a_low, b_low] = [a, b].map(|bits| every_second(bits, 0, self.upper));
        let [a_high, b_high] = [a, b].map(|bits| every_second(bits, 1, self.upper));
        let mut mixed = Wiped((*a_high).clone());
        mixed.and_assign(&b_low);
        mixed.add_and_assign(&a_low, &b_high);
        let mut generate = a_high;
        generate.and_assign(&b_high);
        generate.add_and_assign(a_both, &b_low);
        generate.add_and_assign(&a_low, b_both);
        Wiped(Bits::concat_rows(&[&lower, &generate, &mixed]))
    }
}

/// The carries into every second position: into 1, 3, ..., and into 2, 4, ....
struct Carries {
    odd: Shared<Bits>,
    even: Option<Shared<Bits>>,
}

impl Carries {
    /// Returns the carry into this position.
    fn at(&self, position: usize) -> Option<Shared<Bits>> {
        let row = |carries: &Shared<Bits>| carries.map(|share| share.row((position - 1) / 2));
        if position % 2 == 1 { Some(row(&self.odd)) } else { self.even.as_ref().map(row) }
    }
}

impl Rss {
    /// Returns a uniform sum of a number that one party knows and one that the others know, without corrections.
    pub(crate) async fn sum_summands(&self, ctx: &Ctx, recipe: &Recipe) -> Result<Summed> {
        let &Recipe { ring, value_ring, cut, len, .. } = recipe;
        let k = ring.bits() as usize;
        let mut bits: Shared<Bits> = self.prandr(ctx, (k, len));
        let halves = self.halves(&bits, len);
        let wanted: Vec<(Ring, u32)> = std::iter::once((value_ring, 0)).chain(cut.map(|cut| (ring, cut))).collect();
        let word = |(ring, cut): (Ring, u32)| halves.map(|bits| word_of(bits, ring, cut));
        let words = async |ctx: Ctx, i: usize| self.recombined(&ctx, &word(wanted[i]), len).await;
        let positions = if recipe.carries.contains(&k) { k } else { k - 1 };
        let (words, carries) = ctx
            .join(
                async |ctx: Ctx| ctx.join_all(wanted.len(), words).await,
                async |ctx: Ctx| self.carries_of_summands(&ctx, &bits, &halves, positions).await,
            )
            .await?;
        let mut words = words.into_iter();
        let value = words.next().ok_or(Error::Bug { what: "an edaBit lost its value" })?;
        let Some(into) = carries else {
            return Ok(Summed { value, shifted: words.next(), bits, carries: Vec::new() });
        };
        let carries = recipe.carries.iter().filter_map(|&position| into.at(position)).collect();
        for (first, carries) in [(1, Some(&into.odd)), (2, into.even.as_ref())] {
            let positions: Vec<u32> = (first..k as u32).step_by(2).collect();
            if let Some(carries) = carries {
                self.update_bits(&mut bits, carries, &UpdateBits::Rows { xored: &positions, set: &[] });
            }
        }
        Ok(Summed { value, shifted: words.next(), bits, carries })
    }

    /// Returns the carries into positions 1 to `positions` of A + B, for the bits x = a xor b; none where there are no
    /// such positions.
    async fn carries_of_summands(
        &self,
        ctx: &Ctx,
        x: &Shared<Bits>,
        halves: &Halves<Bits>,
        positions: usize,
    ) -> Result<Option<Carries>> {
        if positions == 0 {
            return Ok(None);
        }
        let (len, digits) = (x.shape.1, Digits::of(positions));
        let Digits { lower, upper } = digits;
        let both = halves.map(|bits| digits.both(bits));
        let shared_both = match upper {
            0 => Shared::zeros((0, len), self.share_count()),
            _ => self.recombined(ctx, &both, len).await?,
        };
        let (a, a_both) = (self.shares_of_owned(x, len), self.shares_of_owned(&shared_both, len));
        let pairs = [0, 1].map(|i| digits.pairs((&a[i], &a_both[i]), (&halves.theirs[i], &both.theirs[i])));
        let pairs = self.sum_of_others(ctx, pairs, len).await?;
        let part = |from: usize, to: usize| pairs.map(|share| share.slice_rows(from..to));
        let mut odd = part(0, lower);
        if upper == 0 {
            return Ok(Some(Carries { odd, even: None }));
        }
        let propagate = self.xor(&shared_both, &part(lower + upper, lower + 2 * upper));
        let generate = part(lower, lower + upper);
        let even = prefix::all_by_pairs(self, ctx, Pairs { generate, propagate }).await?;
        if lower > 1 {
            // The carry into the upper bit of every digit but the lowest is g_l + x_l times the carry into the digit.
            let above: Vec<u32> = (1..lower as u32).collect();
            let passing: Vec<u32> = above.iter().map(|digit| 2 * digit).collect();
            let into_digits = even.map(|share| share.slice_rows(0..lower - 1));
            let passed = self.and(ctx, &rows(self, x, &passing), &into_digits).await?;
            self.update_bits(&mut odd, &passed, &UpdateBits::Rows { xored: &above, set: &[] });
        }
        Ok(Some(Carries { odd, even: Some(even) }))
    }
}

/// Returns the number with these bits, without the lowest `cut`.
fn word_of(bits: &Bits, ring: Ring, cut: u32) -> Vector {
    match cut {
        0 => bits.to_vector(ring),
        cut => Wiped(bits.slice_rows(cut as usize..bits.rows())).to_vector(ring),
    }
}
