//! Bits of two parties with MACs: what triples of bits are made from.
//!
//! **Source**: TinyOT (Nielsen et al. 2012, ePrint 2011/091), from correlated oblivious transfer. **Model**: malicious,
//! 1 of 2. **Notation**: a bit x is the xor of x_A and x_B. For its own bit a party has M, and the peer K = M xor x_A
//! Delta_B: so whoever tells another bit than it has must guess Delta.
//!
//! Delta is that of the session's OTs, whose lowest bit is 1. The lowest bit of the blocks under party 1's Delta is
//! cleared, so that the lowest bit of Delta_A xor Delta_B is 1, which `leaky` needs; 127 bits are left.
//!
//! | protocol | rounds | bytes by each |
//! |---|---|---|
//! | random bits | 3 | 3.9 a bit |
//! | random bits of one party | 3 | 3.9 a bit, by that party |
//! | bits that the parties choose | 3 | 4 a bit |
//! | open, checked at once | 1, and 2 for the check | a bit each |

use quorate_crypto::SessionId;
use quorate_engine::{Ctx, Error, Result};
use quorate_ot::{Blocks, Ot};
use quorate_ring::{Bits, Wiped};

use crate::keys::Keys;
use crate::macs::{MacBits, hash, nothing, xor_chosen};

const MACS: &str = "the MACs of opened bits";

/// The two ends of bits with MACs.
pub(crate) struct TinyOt<'k> {
    ot: &'k Ot,
    session: &'k SessionId,
    delta: &'k u128,
    pub peer: usize,
    /// Whether this is party 0.
    pub first: bool,
}

impl Keys {
    /// Between two parties.
    pub(crate) fn tinyot(&self) -> Result<TinyOt<'_>> {
        let peer = 1 - self.me;
        Ok(TinyOt { ot: self.ot(peer)?, session: &self.session, delta: &self.delta, peer, first: self.me == 0 })
    }
}

impl TinyOt<'_> {
    /// The difference between keys of 0 and 1.
    pub fn delta(&self) -> u128 {
        *self.delta
    }

    /// Bits that nobody chooses.
    pub async fn random(&self, ctx: &Ctx, len: usize) -> Result<MacBits> {
        let keys = async |ctx: Ctx| self.ot.send_cots(&ctx, len).await;
        let bits = async |ctx: Ctx| self.ot.receive_cots(&ctx, len).await;
        let (keys, (own, macs)) = self.ot.both(ctx, keys, bits).await?;
        Ok(self.bits(Wiped(own), macs, keys))
    }

    /// Random bits that one party knows: the other's share is 0.
    pub async fn random_of(&self, ctx: &Ctx, owner: usize, len: usize) -> Result<MacBits> {
        match owner == self.peer {
            true => {
                let keys = self.ot.send_cots(ctx, len).await?;
                let own = if ctx.is_dry() { Bits::shape(1, len) } else { Bits::zeros(1, len) };
                Ok(self.bits(Wiped(own), nothing(&keys), keys))
            }
            false => {
                let (own, macs) = self.ot.receive_cots(ctx, len).await?;
                let keys = nothing(&macs);
                Ok(self.bits(Wiped(own), macs, keys))
            }
        }
    }

    /// Bits that each party chooses for itself, as many of both: by owner.
    pub async fn chosen(&self, ctx: &Ctx, own: Wiped<Bits>) -> Result<[MacBits; 2]> {
        let keys = async |ctx: Ctx| self.ot.send_cots_for(&ctx, own.lanes()).await;
        let macs = async |ctx: Ctx| self.ot.receive_cots_for(&ctx, &own).await;
        let (keys, macs) = self.ot.both(ctx, keys, macs).await?;
        let mut none = (*own).clone();
        none.and_assign(&Bits::constant(false, 1, own.lanes()));
        let mine = self.bits(Wiped((*own).clone()), macs, nothing(&keys));
        let theirs = self.bits(Wiped(none), nothing(&keys), keys);
        Ok(if self.first { [mine, theirs] } else { [theirs, mine] })
    }

    /// Of what OTs give; the lowest bit of what is under party 1's Delta is cleared.
    fn bits(&self, own: Wiped<Bits>, mut macs: Blocks, mut keys: Blocks) -> MacBits {
        let under_party_1 = if self.first { &mut macs } else { &mut keys };
        under_party_1.as_mut_slice().iter_mut().for_each(|block| *block &= !1);
        MacBits { own, macs, keys }
    }

    /// Opens bits: what they are. Their MACs are checked at once.
    pub async fn open(&self, ctx: &Ctx, x: &MacBits) -> Result<Bits> {
        let (opened, expected) = x.tell(ctx, self.peer, self.delta()).await?;
        let [own, other] = [hash(&x.macs), hash(&expected)];
        let said = ctx.commit_and_open(self.session, "quorate/spdz2k/tinyot/open", &own).await?;
        if !ctx.is_dry() && said[self.peer] != other {
            return Err(Error::Cheating { check: MACS });
        }
        Ok(opened)
    }
}

impl MacBits {
    /// Both parties tell their own bits: what all bits are, and the peer's MACs as they have to be, which are keys, and
    /// Delta where it told a 1.
    pub async fn tell(&self, ctx: &Ctx, peer: usize, delta: u128) -> Result<(Bits, Blocks)> {
        let told = ctx.exchange::<Bits>(&[(peer, &*self.own)], &[(peer, self.shape())]).await?;
        let mut opened = told.into_iter().next().ok_or(Error::Bug { what: "no bits were told" })?;
        let mut expected = self.keys.clone();
        xor_chosen(&mut expected, &opened, delta);
        opened.xor_assign(&self.own);
        Ok((opened, expected))
    }
}
