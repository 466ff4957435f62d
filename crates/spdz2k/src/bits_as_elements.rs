//! Bits with MACs that are also elements.
//!
//! **Source**: Fig. 2 of Damgard et al. 2019 (ePrint 2019/599). **Model**: malicious, all but one. **Notation**: x_l
//! bits with MACs; [x_l]_2 the sum of what each party authenticates as its own bit, over Z_2^(1+s).
//!
//! | step | rounds, n = 2 | n > 2 | what |
//! |---|---|---|---|
//! | 1 | 3 | 7 | sg' more random bits with MACs r_q |
//! | 2 | 4 | 5 | each party authenticates its own of these bits, over Z_2^(1+s), where they are not elements yet |
//! | 3 | 2 | 2 | toss sg' rows of bits chi; c_q = r_q + sum chi_ql x_l |
//! | 4 | 3 | 3 | open all c_q as bits with MACs, checked, and as elements: the same, or the run ends |
//!
//! The openings of elements in this check are themselves checked with all other openings of the making, before anything
//! is used. If some element is not a share of its bit, each c_q differs with probability 1/2. Each r_q masks one row
//! and is thrown away.
//!
//! Such bits turn elements into bits, and bits into elements, by an opening (`links` of `quorate_authenticated`).

use std::ops::Range;

use quorate_adversary::Twist;
use quorate_authenticated::macs::MacBits;
use quorate_authenticated::shared::{Shared, sum};
use quorate_authenticated::{Authenticated, SharedBits, Tagged};
use quorate_engine::{Ctx, Error, Result};
use quorate_gadgets::convert::flip;
use quorate_ring::{Ring, Vector, Wiped};

use crate::authenticate::Own;
use crate::coins::Coins;
use crate::maker::Maker;

/// The number of bits that are made together.
const BATCH: usize = 1 << 16;
const SAME: &str = "bits that become elements";

/// Makes elements from these bits, of one row.
pub(crate) async fn elements_of(maker: Maker<'_>, ctx: &Ctx, bits: &MacBits) -> Result<Shared> {
    let own = Wiped(bits.own.to_vector(maker.keys.params.shares(Ring::of(1))));
    let elements = sum(&maker.keys.voles().authenticate(ctx, &[Own::each(&own)]).await?[0]);
    check_same(maker, ctx, bits, &elements).await?;
    Ok(elements)
}

/// Makes bits with MACs, by owner, from the lowest bits of elements that their owners know.
pub(crate) async fn macs_of(maker: Maker<'_>, ctx: &Ctx, elements: &[Shared]) -> Result<Vec<MacBits>> {
    let bit = maker.keys.params.shares(Ring::of(1));
    let own = maker.keys.twisted(Twist::MacBit, Wiped(elements[maker.keys.me].share.low_bit()));
    let bits = maker.tinyot()?.chosen(ctx, own).await?;
    let each: Vec<Shared> = elements.iter().map(|x| x.reduced(bit)).collect();
    let all = |of: fn(&Shared) -> &Vector| Vector::concat(&each.iter().map(of).collect::<Vec<_>>());
    let all = Shared { share: all(|shared| &shared.share), tag: all(|shared| &shared.tag) };
    check_same(maker, ctx, &MacBits::concat_lanes(&bits.iter().collect::<Vec<_>>()), &all).await?;
    Ok(bits)
}

/// Runs steps 1 to 4, for bits that are claimed to be elements already.
async fn check_same(maker: Maker<'_>, ctx: &Ctx, bits: &MacBits, elements: &Shared) -> Result<()> {
    let ends = maker.tinyot()?;
    let (rows, len) = (maker.keys.params.inner_bits() as usize, bits.len());
    let masks = ends.random(ctx, rows).await?;
    let own = Wiped(masks.own.to_vector(maker.keys.params.shares(Ring::of(1))));
    let mask_elements = sum(&maker.keys.voles().authenticate(ctx, &[Own::each(&own)]).await?[0]);
    let chosen = Coins::toss(ctx, &maker.keys.session).await?.bits((rows, len));

    let sums = elements.map(|x| x.sums_of_chosen(&chosen)).plus(&mask_elements);
    let sums = maker.open_elements(ctx, &Tagged::of(Ring::of(1), &sums)).await?;
    let of_bits = bits.sums_of_chosen(&chosen).xor(&masks);
    let opened = maker.keys.one_check(async || ends.open(ctx, &of_bits).await).await?;
    if !ctx.is_dry() && sums.low_bit().to_bools() != opened.to_bools() {
        return Err(Error::Cheating { check: SAME });
    }
    Ok(())
}

/// Makes random bits that are also elements of Z_2.
pub(crate) async fn links(maker: Maker<'_>, ctx: &Ctx, len: usize) -> Result<(Tagged, SharedBits)> {
    let bit = Ring::of(1);
    let batch = async |range: Range<usize>| {
        let bits = maker.tinyot()?.random(ctx, range.len()).await?;
        let elements = elements_of(maker, ctx, &bits).await?;
        Ok((Tagged::of(bit, &elements), SharedBits::macs(bits)))
    };
    Ok(maker.joined_pairs(ctx, bit, &ctx.in_turn(len, BATCH, batch).await?))
}

/// Returns bits of one row as elements; they are masked by random bits in both forms, which must have no other use.
pub(crate) async fn bits_below_masks(
    online: &Authenticated,
    ctx: &Ctx,
    x: &SharedBits,
    (elements, bits): &(Tagged, SharedBits),
) -> Result<Tagged> {
    let opened = online.open_shared_bits(ctx, &x.xor(bits)).await?;
    Ok(flip(online, elements, &opened))
}

#[cfg(test)]
mod tests {
    use quorate_engine::Phase;
    use quorate_engine::testing::parties;
    use quorate_ring::Bits;

    use super::*;
    use crate::params::Params;
    use crate::party::Spdz2k;

    /// Without masks, the opened sums of bits that are zero would be zeros.
    #[test]
    fn what_is_opened_of_links_is_masked() {
        const TIMES: usize = 4;
        let params = Params::new(32, true).unwrap();
        let heard = parties(2, |mut party| {
            party.insecure_record();
            let mut run = party.begin_alone().unwrap();
            let work = async |ctx: &Ctx| {
                let s = Spdz2k::set_up(ctx, params, None).await?;
                let maker = Maker::new(&s.online, &s.protocols.transfers)?;
                for _ in 0..TIMES {
                    let zeros = maker.tinyot()?.chosen(ctx, Wiped(Bits::zeros(1, 5))).await?.remove(0);
                    elements_of(maker, ctx, &zeros).await?;
                }
                Ok(())
            };
            run.phase(Phase::Offline, work).unwrap();
            run.finish();
            party.insecure_transcript()
        });
        let length = Ring::of(1).packed_bytes(params.inner_bits() as usize);
        for heard in heard {
            let said: Vec<_> = heard.iter().filter(|message| message.bytes.len() == length).collect();
            assert!(said.len() >= 2 * TIMES, "as bits and as elements, {} messages", said.len());
            assert!(said.iter().all(|message| message.bytes.iter().any(|&byte| byte != 0)), "nothing masks a row");
        }
    }
}
