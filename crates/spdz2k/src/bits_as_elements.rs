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

use quorate_adversary::Twist;
use quorate_authenticated::SharedBits;
use quorate_authenticated::Tagged;
use quorate_authenticated::macs::MacBits;
use quorate_authenticated::shared::{Shared, sum};
use quorate_engine::{Ctx, Error, Result, Stocks};
use quorate_gadgets::convert::flip;
use quorate_ring::{Ring, Vector, Wiped};

use crate::authenticate::Own;
use crate::coins::Coins;
use crate::make::Maker;

/// The number of bits that are made together.
const BATCH: usize = 1 << 16;
const SAME: &str = "bits that become elements";

impl Maker<'_> {
    /// Makes elements from these bits, of one row.
    pub(crate) async fn elements_of(&self, ctx: &Ctx, bits: &MacBits) -> Result<Shared> {
        let own = Wiped(bits.own.to_vector(self.keys.params.shares(Ring::of(1))));
        let elements = sum(&self.keys.authenticate(ctx, &[Own::each(&own)]).await?[0]);
        self.check_same(ctx, bits, &elements).await?;
        Ok(elements)
    }

    /// Makes bits with MACs, by owner, from the lowest bits of elements that their owners know.
    pub(crate) async fn macs_of(&self, ctx: &Ctx, elements: &[Shared]) -> Result<Vec<MacBits>> {
        let bit = self.keys.params.shares(Ring::of(1));
        let own = self.keys.twisted(Twist::MacBit, Wiped(elements[self.keys.me].share.low_bit()));
        let bits = self.keys.tinyot()?.chosen(ctx, own).await?;
        let each: Vec<Shared> = elements.iter().map(|x| x.reduced(bit)).collect();
        let all = |of: fn(&Shared) -> &Vector| Vector::concat(&each.iter().map(of).collect::<Vec<_>>());
        let all = Shared { share: all(|shared| &shared.share), tag: all(|shared| &shared.tag) };
        self.check_same(ctx, &MacBits::concat_lanes(&bits.iter().collect::<Vec<_>>()), &all).await?;
        Ok(bits)
    }

    /// Runs steps 1 to 4, for bits that are claimed to be elements already.
    async fn check_same(&self, ctx: &Ctx, bits: &MacBits, elements: &Shared) -> Result<()> {
        let ends = self.keys.tinyot()?;
        let (rows, len) = (self.keys.params.inner_bits() as usize, bits.len());
        let masks = ends.random(ctx, rows).await?;
        let own = Wiped(masks.own.to_vector(self.keys.params.shares(Ring::of(1))));
        let mask_elements = sum(&self.keys.authenticate(ctx, &[Own::each(&own)]).await?[0]);
        let chosen = Coins::toss(ctx, &self.keys.session).await?.bits((rows, len));

        let sums = elements.map(|x| x.sums_of_chosen(&chosen)).plus(&mask_elements);
        let sums = self.open_elements(ctx, &Tagged::of(Ring::of(1), &sums)).await?;
        let of_bits = bits.sums_of_chosen(&chosen).xor(&masks);
        let opened = self.keys.one_check(async || ends.open(ctx, &of_bits).await).await?;
        if !ctx.is_dry() && sums.low_bit().to_bools() != opened.to_bools() {
            return Err(Error::Cheating { check: SAME });
        }
        Ok(())
    }

    /// Makes random bits that are also elements of Z_2.
    pub(crate) async fn links(&self, ctx: &Ctx, len: usize) -> Result<(Tagged, SharedBits)> {
        let bit = Ring::of(1);
        let mut parts = vec![(self.nothing(ctx, bit), self.blank_bits(ctx.is_dry(), (1, 0)))];
        for start in (0..len).step_by(BATCH) {
            let bits = self.keys.tinyot()?.random(ctx, BATCH.min(len - start)).await?;
            let elements = self.elements_of(ctx, &bits).await?;
            parts.push((Tagged::of(bit, &elements), SharedBits::macs(bits)));
        }
        let bits: Vec<&SharedBits> = parts.iter().map(|(_, bits)| bits).collect();
        Ok((
            Tagged::concat(&parts.iter().map(|(elements, _)| elements).collect::<Vec<_>>()),
            SharedBits::concat_lanes(&bits),
        ))
    }

    /// Makes random bits as elements, and in the form of the session's bits.
    pub(crate) async fn make_dabits(&self, ctx: &Ctx, ring: Ring, len: usize) -> Result<(Tagged, SharedBits)> {
        if self.keys.params.bits_from_proofs(self.keys.parties) {
            return self.dabits_by_proofs(ctx, ring, len).await;
        }
        let elements = self.bits_by_roots(ctx, ring, len).await?;
        if !self.has_macs() {
            return Ok((elements.clone(), self.low_bits(&elements)));
        }
        let links = self.links(ctx, len).await?;
        let bits = self.lowest_with(ctx, &elements, links).await?;
        Ok((elements, bits))
    }

    /// Makes random bits that one party knows.
    pub(crate) async fn random_bits_of(&self, ctx: &Ctx, owner: usize, len: usize) -> Result<SharedBits> {
        Ok(SharedBits::macs(self.keys.tinyot()?.random_of(ctx, owner, len).await?))
    }

    /// Makes sharings of zero.
    pub(crate) async fn zero_bits(&self, ctx: &Ctx, len: usize) -> Result<SharedBits> {
        Ok(SharedBits::macs(self.keys.tinyot()?.zeros(ctx, len).await?))
    }

    /// Returns bits of one row as elements; they are masked by random bits in both forms, which must have no other use.
    pub(crate) async fn bits_below_masks(
        &self,
        ctx: &Ctx,
        x: &SharedBits,
        (elements, bits): &(Tagged, SharedBits),
    ) -> Result<Tagged> {
        let opened = self.open_shared_bits(ctx, &x.xor(bits)).await?;
        Ok(flip(self.online, elements, &opened))
    }
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
                let s = s.maker();
                for _ in 0..TIMES {
                    let zeros = s.keys.tinyot()?.chosen(ctx, Wiped(Bits::zeros(1, 5))).await?.remove(0);
                    s.elements_of(ctx, &zeros).await?;
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
