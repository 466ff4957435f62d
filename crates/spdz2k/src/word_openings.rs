//! Openings of whole words, and their check: for values in the making, whose upper bits are masked or thrown away.
//!
//! **Source**: the batch check of Cramer et al. 2018 (ePrint 2018/482), Fig. 4, where shares are opened with all of
//! their bits, so that nothing is chosen after the coins. **Model**: malicious, all but one.
//!
//! | step | rounds | what |
//! |---|---|---|
//! | 1 | 1; 2 if n > 2 | send shares with all of their bits to all; or commit to them and open, 2 rounds |
//! | 2 | 2 | toss chi in Z_2^s |
//! | 3 | 2 | commit to and open z^j = sum chi_l (m_l^j - alpha^j x_l); they add up to 0, or the run ends |

use std::borrow::Cow;

use quorate_adversary::Twist;
use quorate_authenticated::keys::Keys;
use quorate_authenticated::messages::{is_zero, pack, total};
use quorate_authenticated::shared::Shared;
use quorate_engine::{Ctx, Error, Result};
use quorate_ring::{Ring, Vector, Wiped};

use crate::coins::Coins;

/// An opened word, with this party's share of its tag.
pub(crate) struct Opened {
    pub value: Vector,
    pub tag: Vector,
}

/// Openings under the keys of a party.
#[derive(Clone, Copy)]
pub(crate) struct Words<'k> {
    pub keys: &'k Keys,
}

impl Words<'_> {
    /// Step 1: sends all bits of the shares to all.
    pub(crate) async fn open(&self, ctx: &Ctx, x: &Shared) -> Result<Opened> {
        self.keys.in_use()?;
        let mut bytes = Vec::new();
        pack(&x.share, &mut bytes);
        let said = ctx.broadcast(Some(&self.keys.session), &bytes).await?;
        Ok(Opened { value: total(ctx, &said, (x.share.ring(), x.share.len()))?, tag: x.tag.clone() })
    }

    /// Step 1 for words of which no party may choose its share by those of others.
    pub(crate) async fn commit_and_open(&self, ctx: &Ctx, x: &Shared) -> Result<Opened> {
        self.keys.in_use()?;
        let mut bytes = Vec::new();
        pack(&x.share, &mut bytes);
        let said = ctx.commit_and_open(&self.keys.session, "quorate/spdz2k/words", &bytes).await?;
        Ok(Opened { value: total(ctx, &said, (x.share.ring(), x.share.len()))?, tag: x.tag.clone() })
    }

    /// Step 1 for one vector of every party, each opened by itself: by owner.
    pub(crate) async fn open_owned(&self, ctx: &Ctx, by_owner: &[Shared]) -> Result<Vec<Opened>> {
        self.keys.in_use()?;
        let own = self.keys.twisted(Twist::Beta, Cow::Borrowed(&by_owner[self.keys.me].share));
        let mut bytes = Vec::new();
        pack(&own, &mut bytes);
        let said = ctx.broadcast(Some(&self.keys.session), &bytes).await?;
        let each = said.iter().zip(by_owner).map(|(said, shared)| {
            let value = total(ctx, std::slice::from_ref(said), (own.ring(), own.len()))?;
            Ok(Opened { value, tag: shared.tag.clone() })
        });
        each.collect()
    }

    /// Runs steps 2 and 3 for all words of one step.
    pub(crate) async fn check(&self, ctx: &Ctx, opened: &[&Opened], check: &'static str) -> Result<()> {
        self.keys.one_check(async || self.check_opened(ctx, opened, check).await).await
    }

    async fn check_opened(&self, ctx: &Ctx, opened: &[&Opened], check: &'static str) -> Result<()> {
        let mut coins = Coins::toss(ctx, &self.keys.session).await?;
        let mut bytes = Vec::new();
        for Opened { value, tag } in opened {
            let (ring, len) = (value.ring(), value.len());
            let chi = coins.draw(self.keys.params.key_bits(), (ring, len));
            let mut rest = Wiped(value.clone());
            rest.scale(self.keys.key());
            rest.rsub_assign(tag);
            rest.mul_assign(&chi);
            pack(&self.keys.twisted(Twist::WordTag, rest.sum_axis(1, len, 1)), &mut bytes);
        }
        let said = ctx.commit_and_open(&self.keys.session, "quorate/spdz2k/words/check", &bytes).await?;
        let (mut holds, mut at) = (true, 0);
        for Opened { value, .. } in opened {
            let (ring, bytes) = (value.ring(), value.ring().packed_bytes(1));
            let parts: Vec<Vec<u8>> = said.iter().map(|said| said[at..at + bytes].to_vec()).collect();
            holds &= is_zero(&total(ctx, &parts, (ring, 1))?);
            at += bytes;
        }
        match ctx.is_dry() || holds {
            true => Ok(()),
            false => Err(Error::Cheating { check }),
        }
    }
}

/// Refuses words that are not zero modulo the size of a smaller ring.
pub(crate) fn zero_below(ctx: &Ctx, opened: &Opened, ring: Ring, check: &'static str) -> Result<()> {
    match ctx.is_dry() || is_zero(&opened.value.convert(ring)) {
        true => Ok(()),
        false => Err(Error::Cheating { check }),
    }
}
