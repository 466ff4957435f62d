//! Numbers of one party each that are shorter than their ring, or wanted in parts, by cut and choose.
//!
//! **Source**: ours (docs/security/spdz2k.md), on numbers over all of Z_2^k with all of their bits
//! ([`crate::privateedabit`]). **Model**: malicious, all but one. **Notation**: a, h numbers of one party with bits
//! a_j, h_j; a number of w bits is wanted, and maybe its bits from d to e as a number of their own.
//!
//! | step | rounds | what |
//! |---|---|---|
//! | 1 | 13; 18 if n > 2 | a, and h where a part is wanted, over Z_2^k, with their bits |
//! | 2 | 1 | every party sends those of its bits that are not wanted; they are taken off: a - sum 2^j a_j |
//!
//! Without a part, the lowest w bits of a are left. With a part, the lowest e - d bits of h are left, and those of a
//! below d and from e to w; the number is a + 2^d h.

use quorate_adversary::Twist;
use quorate_authenticated::macs::MacBits;
use quorate_authenticated::{Authenticated, SharedBits, Tagged};
use quorate_engine::{Ctx, Linear, LinearBits, Result};
use quorate_ring::{Bits, Ring, Vector};

use crate::maker::Maker;
use crate::numbers::{OwnNumbers, Wanted};
use crate::privateedabit::{Sizes, chosen_numbers};

/// Runs all steps, by owner. Sizes are for a and h together.
pub(crate) async fn chosen_parts(
    maker: Maker<'_>,
    ctx: &Ctx,
    wanted: &Wanted,
    sizes: Sizes,
) -> Result<Vec<OwnNumbers>> {
    let lanes = sizes.count / wanted.numbers();
    let (numbers, bits) = chosen_numbers(maker, ctx, wanted.ring, sizes).await?;
    let told = tell_bits_of_numbers(maker.online, ctx, wanted, (&bits, lanes)).await?;
    let left = in_order(wanted, &bits, lanes);
    let ends = maker.tinyot()?;
    let own = |(owner, number): (usize, &Tagged)| {
        let number = match told.get(owner) {
            Some(told) => without(maker.online, number, told),
            None => number.clone(),
        };
        let [a, h] = [0, 1].map(|i| number.linear(&Linear::Slice(i * lanes..(i + 1).min(wanted.numbers()) * lanes)));
        let bits = SharedBits::macs(ends.part_of(owner, &left));
        match wanted.part {
            None => OwnNumbers { value: a, part: None, bits },
            Some([from, _]) => {
                OwnNumbers { value: a.zip(&h.linear(&Linear::Shl(from)), Vector::add_assign), part: Some(h), bits }
            }
        }
    };
    Ok(numbers.iter().enumerate().map(own).collect())
}

/// Step 2: returns, by owner, the bits that are taken off, in rows; nothing if all bits are wanted.
async fn tell_bits_of_numbers(
    online: &Authenticated,
    ctx: &Ctx,
    wanted: &Wanted,
    (bits, lanes): (&MacBits, usize),
) -> Result<Vec<Bits>> {
    let lists = wanted.told();
    if lists.iter().all(Vec::is_empty) {
        return Ok(vec![]);
    }
    let of_list = |(i, list): (usize, &Vec<u32>)| {
        let rows = bits.linear(&LinearBits::Lanes(i * lanes..(i + 1) * lanes)).linear(&LinearBits::GatherRows(list));
        rows.linear(&LinearBits::SideBySide)
    };
    let parts: Vec<MacBits> = lists.iter().enumerate().map(of_list).collect();
    let mut all = MacBits::concat_lanes(&parts.iter().collect::<Vec<_>>());
    online.keys().twisted(Twist::ToldBit, &mut all.own);
    let told = online.open_own_bits(ctx, &all).await?;
    Ok(told.iter().map(|told| in_their_rows(wanted.ring, &lists, (told, lanes))).collect())
}

/// Returns numbers less the numbers that public bits in rows make.
fn without(online: &Authenticated, numbers: &Tagged, bits: &Bits) -> Tagged {
    let mut off = bits.to_vector(numbers.share.ring());
    off.neg_assign();
    online.plus(numbers, &off)
}

/// Returns the bits that are left of all numbers, in the order of the bits of one number.
fn in_order(wanted: &Wanted, bits: &MacBits, lanes: usize) -> MacBits {
    let number = |i: usize| bits.linear(&LinearBits::Lanes(i * lanes..(i + 1) * lanes));
    let rows = |of: &MacBits, from: u32, to: u32| of.linear(&LinearBits::Rows(from as usize..to as usize));
    let a = number(0);
    match wanted.part {
        None if bits.shape() == (wanted.width as usize, lanes) => a,
        None => rows(&a, 0, wanted.width),
        Some([from, to]) => {
            let h = number(1);
            MacBits::concat_rows(&[&rows(&a, 0, from), &rows(&h, 0, to - from), &rows(&a, to, wanted.width)])
        }
    }
}

/// Returns bits that were sent, list by list and position by position, in the rows of their positions; zeros elsewhere.
fn in_their_rows(ring: Ring, lists: &[Vec<u32>], (told, lanes): (&Bits, usize)) -> Bits {
    let numbers = lists.len();
    if told.is_shape() {
        return Bits::shape(ring.bits() as usize, numbers * lanes);
    }
    let mut next = 0;
    let mut number = |list: &Vec<u32>| {
        let mut row = |position: u32| match list.contains(&position) {
            true => {
                next += lanes;
                told.slice_lanes(next - lanes..next)
            }
            false => Bits::zeros(1, lanes),
        };
        let rows: Vec<Bits> = (0..ring.bits()).map(&mut row).collect();
        Bits::concat_rows(&rows.iter().collect::<Vec<_>>())
    };
    let all: Vec<Bits> = lists.iter().map(&mut number).collect();
    Bits::concat_lanes(&all.iter().collect::<Vec<_>>())
}
