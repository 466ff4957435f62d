//! Bits with MACs, from which triples of bits are made.
//!
//! **Source**: TinyOT (Nielsen et al. 2012, ePrint 2011/091), from correlated oblivious transfer; among more than two
//! parties a bit towards all peers, as in Wang, Ranellucci, Katz 2017 (ePrint 2017/189), with a check of its own.
//! **Model**: malicious, all but one. **Notation**: a bit x is the xor of all parties' own bits x^i. For x^i P_i has M
//! towards each P_j, which has K = M xor x^i Delta^j. So a party that opens another bit than it has must guess Delta^j.
//!
//! Delta is that of the session's OTs, one towards all peers, whose lowest bit is 1. Except under the Delta of party 0,
//! the lowest bit of all blocks is cleared. So the lowest bit of the sum of all Delta is 1, which `leaky` needs; 127
//! bits of each Delta are left.
//!
//! | protocol | rounds, n = 2 | n > 2 | bytes by each to each peer |
//! |---|---|---|---|
//! | random bits | 3 | 7 | 3.9 a bit, 4 if n > 2 |
//! | random bits of one party | 3 | 7 | 3.9 a bit, 4 if n > 2, by that party |
//! | bits that the parties choose | 3 | 7 | 4 a bit |
//! | sharings of zero | | 7 | 4 a bit |
//! | open, checked at once | 2 | 2 | a bit each |
//!
//! Among more than two parties a cheater may choose other bits for each peer. Steps, with 64 further bits that are
//! dropped:
//!
//! | step | rounds | what |
//! |---|---|---|
//! | 1 | 3 | P_i chooses the same bits towards all; for sharings of zero, pairs of parties draw them alike |
//! | 2 | 2 | toss chi in GF(2^64) for each bit; the dropped bits have 1, z, z^2, .. |
//! | 3 | 2 | P_i sends all X^i = sum chi x^i, and each P_j the sum of chi M, half by half |
//! | 4 | | P_j: sum chi M = sum chi K + X^i Delta^j, or the run ends; for sharings of zero all X^i add up to 0 |
//!
//! This check does not cover a Delta that differs from peer to peer: the check of `leaky` finds it.

use std::borrow::Cow;

use quorate_adversary::Twist;
use quorate_authenticated::keys::Keys;
use quorate_authenticated::macs::{MacBits, WithPeer, nothing};
use quorate_authenticated::weights::{self, BASIS};
use quorate_crypto::ct_eq;
use quorate_engine::{Ctx, Error, Result};
use quorate_ot::Blocks;
use quorate_ring::{Bits, Module, Wiped};

use crate::coins::Coins;
use crate::transfers::Ots;

const SAME: &str = "bits that are the same towards all peers";
const SILENT: Error = Error::Bug { what: "nothing was told" };
const BLOCK_BYTES: usize = 16;

/// One party's end of bits with MACs.
pub(crate) struct TinyOt<'k> {
    pub keys: &'k Keys,
    ots: Ots<'k>,
    pub peers: Vec<usize>,
    /// Whether this is party 0.
    pub first: bool,
}

/// The owner of bits, and a rule that the bits obey.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Rule {
    /// Every party has bits.
    Each,
    /// One party has bits.
    Of(usize),
    /// Every party has bits, and they add up to 0.
    Zero,
}

impl<'k> TinyOt<'k> {
    /// Returns this party's end. Fails without OTs to make bits from.
    pub fn new(ots: Ots<'k>) -> Result<TinyOt<'k>> {
        let keys = ots.keys;
        let peers = keys.peers();
        peers.iter().try_for_each(|&peer| ots.with(peer).map(drop))?;
        Ok(TinyOt { keys, ots, peers, first: keys.me == 0 })
    }

    /// Returns the difference between this party's keys of a 0 bit and of a 1 bit.
    pub fn delta(&self) -> u128 {
        *self.keys.delta
    }

    /// Returns whether there are several peers, towards which bits could differ.
    pub fn has_several_peers(&self) -> bool {
        self.peers.len() > 1
    }

    /// Makes random bits that no party chooses.
    pub async fn random(&self, ctx: &Ctx, len: usize) -> Result<MacBits> {
        if self.has_several_peers() {
            let own = self.drawn(ctx, len + BASIS);
            return self.towards_all(ctx, Rule::Each, own).await;
        }
        let ot = self.ots.with(self.peers[0])?;
        let keys = async |ctx: Ctx| ot.send_cots(&ctx, len).await;
        let bits = async |ctx: Ctx| ot.receive_cots(&ctx, len).await;
        let (keys, (own, macs)) = ot.both(ctx, keys, bits).await?;
        Ok(self.bits(Wiped(own), vec![WithPeer { macs, keys }]))
    }

    /// Makes random bits that one party knows: the own bits of the others are 0.
    pub async fn random_of(&self, ctx: &Ctx, owner: usize, len: usize) -> Result<MacBits> {
        let mine = owner == self.keys.me;
        if self.has_several_peers() {
            // All parties draw, so that later uses have the same numbers at all of them.
            let drawn = self.drawn(ctx, len + BASIS);
            let own = if mine { drawn } else { zeros(ctx.is_dry(), len + BASIS) };
            return self.towards_all(ctx, Rule::Of(owner), own).await;
        }
        let ot = self.ots.with(self.peers[0])?;
        if mine {
            let (own, macs) = ot.receive_cots(ctx, len).await?;
            let keys = nothing(&macs);
            return Ok(self.bits(Wiped(own), vec![WithPeer { macs, keys }]));
        }
        let keys = ot.send_cots(ctx, len).await?;
        let macs = nothing(&keys);
        Ok(self.bits(zeros(ctx.is_dry(), len), vec![WithPeer { macs, keys }]))
    }

    /// Makes MACs for bits that each party chooses for itself, the same number at each: by owner.
    pub async fn chosen(&self, ctx: &Ctx, own: Wiped<Bits>) -> Result<Vec<MacBits>> {
        let all = match self.has_several_peers() {
            true => {
                let masks = self.drawn(ctx, BASIS);
                let own = Wiped(Bits::concat_lanes(&[&own, &masks]));
                self.towards_all(ctx, Rule::Each, own).await?
            }
            false => self.transferred(ctx, Rule::Each, own).await?,
        };
        Ok((0..self.keys.parties).map(|owner| self.part_of(owner, &all)).collect())
    }

    /// Makes bits of all parties that add up to 0, and show nothing of any honest party's, among more than two parties.
    pub async fn zeros(&self, ctx: &Ctx, len: usize) -> Result<MacBits> {
        let coins = ctx.randomness();
        let mut own = zeros(ctx.is_dry(), len + BASIS);
        for seed in self.keys.shared.iter().flatten() {
            own.xor_assign(&Wiped(coins.stream(seed).draw::<Bits>((1, len + BASIS))));
        }
        own.0.reduce();
        self.towards_all(ctx, Rule::Zero, self.keys.twisted(Twist::BitZero, own)).await
    }

    /// Draws uniform bits that this party alone knows.
    fn drawn(&self, ctx: &Ctx, len: usize) -> Wiped<Bits> {
        let mut own = Wiped(ctx.randomness().stream(&self.keys.private).draw::<Bits>((1, len)));
        own.0.reduce();
        own
    }

    /// Returns the part of one owner from the bits of all owners.
    pub fn part_of(&self, owner: usize, all: &MacBits) -> MacBits {
        let mine = owner == self.keys.me;
        let kept = |is_kept: bool, blocks: &Blocks| if is_kept { blocks.clone() } else { nothing(blocks) };
        let part = |(&peer, all): (&usize, &WithPeer)| WithPeer {
            macs: kept(mine, &all.macs),
            keys: kept(peer == owner, &all.keys),
        };
        let own = match (mine, all.own.is_shape(), all.shape()) {
            (true, ..) => Wiped((*all.own).clone()),
            (false, true, (rows, lanes)) => Wiped(Bits::shape(rows, lanes)),
            (false, false, (rows, lanes)) => Wiped(Bits::zeros(rows, lanes)),
        };
        MacBits { own, peers: self.peers.iter().zip(&all.peers).map(part).collect() }
    }

    /// Runs all steps for bits of one row, and drops the last 64 bits.
    async fn towards_all(&self, ctx: &Ctx, rule: Rule, own: Wiped<Bits>) -> Result<MacBits> {
        let kept = own.lanes() - BASIS;
        let bits = self.transferred(ctx, rule, own).await?;
        self.keys.one_check(async || self.check_same(ctx, rule, &bits).await).await?;
        Ok(bits.slice(0..kept))
    }

    /// Runs step 1.
    async fn transferred(&self, ctx: &Ctx, rule: Rule, own: Wiped<Bits>) -> Result<MacBits> {
        let (len, dry) = (own.lanes(), ctx.is_dry());
        let none = || if dry { Blocks::shape(len) } else { Blocks::new(vec![0; len]) };
        let transfer = async |ctx: Ctx, i: usize| {
            let ot = self.ots.with(self.peers[i])?;
            let keys = async |ctx: Ctx| ot.send_cots_for(&ctx, len).await;
            let told = self.keys.twisted(Twist::Bits { peer: self.peers[i] }, Cow::Borrowed(&*own));
            let macs = async |ctx: Ctx| ot.receive_cots_for(&ctx, &told).await;
            let (keys, macs) = match rule {
                Rule::Each | Rule::Zero => ot.both(&ctx, keys, macs).await?,
                Rule::Of(owner) if owner == self.keys.me => (none(), macs(ctx).await?),
                Rule::Of(owner) if owner == self.peers[i] => (keys(ctx).await?, none()),
                Rule::Of(_) => (none(), none()),
            };
            Ok(WithPeer { macs, keys })
        };
        let peers = self.ots.with_each_peer(ctx, transfer).await?;
        Ok(self.bits(own, peers))
    }

    /// Returns bits with MACs from the results of OTs; clears the lowest bit of what is not under the Delta of party 0.
    fn bits(&self, own: Wiped<Bits>, mut peers: Vec<WithPeer>) -> MacBits {
        let clear = |blocks: &mut Blocks| blocks.as_mut_slice().iter_mut().for_each(|block| *block &= !1);
        for (&peer, with_peer) in self.peers.iter().zip(&mut peers) {
            if peer != 0 {
                clear(&mut with_peer.macs);
            }
            if !self.first {
                clear(&mut with_peer.keys);
            }
        }
        MacBits { own, peers }
    }

    /// Runs steps 2 to 4.
    async fn check_same(&self, ctx: &Ctx, rule: Rule, bits: &MacBits) -> Result<()> {
        let weights = Coins::toss(ctx, &self.keys.session).await?.words(bits.len() - BASIS);
        let weights = weights.map_or_else(Vec::new, weights::with_masks);
        // MACs and keys.
        weights::charge_blocks(2 * bits.len() * bits.peers.len());
        let own = weights::of_bits(&weights, &bits.own).to_le_bytes();
        let sum = |blocks: &Blocks| weights::of_blocks(&weights, blocks.as_slice());
        let macs: Vec<[u8; BLOCK_BYTES]> = bits.peers.iter().map(|peer| sum(&peer.macs).to_le_bytes()).collect();
        let outgoing: Vec<_> = self.peers.iter().zip(&macs).map(|(&peer, macs)| (peer, &macs[..])).collect();
        let incoming: Vec<_> = self.peers.iter().map(|&peer| (peer, BLOCK_BYTES)).collect();
        let all = async |ctx: Ctx| ctx.broadcast(Some(&self.keys.session), &own).await;
        let each = async |ctx: Ctx| ctx.exchange_bytes(&outgoing, &incoming).await;
        let (said, told) = ctx.join(all, each).await?;
        let said: Vec<u64> = said
            .iter()
            .map(|said| said[..].try_into().map(u64::from_le_bytes).map_err(|_| SILENT))
            .collect::<Result<_>>()?;
        let mut holds = rule != Rule::Zero || said.iter().fold(0, |sum, said| sum ^ said) == 0;
        for ((&peer, told), with_peer) in self.peers.iter().zip(&told).zip(&bits.peers) {
            let expected = sum(&with_peer.keys) ^ weights::times(said[peer], self.delta());
            holds &= ct_eq(told, &expected.to_le_bytes());
        }
        match ctx.is_dry() || holds || self.keys.adversary().goes_on() {
            true => Ok(()),
            false => Err(Error::Cheating { check: SAME }),
        }
    }

    /// Opens bits, and checks their MACs at once. What parties send of their own bits must be uniform given the opened
    /// bits.
    pub async fn open(&self, ctx: &Ctx, x: &MacBits) -> Result<Bits> {
        let told = self.keys.tell_bits(ctx, x).await?;
        let hashes = self.keys.hashes_of_macs(ctx.randomness().instance(), x, &told);
        self.keys.compare_hashes(ctx, &hashes).await?;
        Ok(told.opened)
    }
}

/// Returns zeros, or their shape in a dry run.
fn zeros(dry: bool, len: usize) -> Wiped<Bits> {
    Wiped(if dry { Bits::shape(1, len) } else { Bits::zeros(1, len) })
}

#[cfg(test)]
mod tests {
    use quorate_engine::Phase;
    use quorate_engine::testing::parties;

    use super::*;
    use crate::params::Params;
    use crate::party::Spdz2k;

    /// Without masks, the sums of chosen bits that are zero would be zeros.
    #[test]
    fn what_parties_tell_of_chosen_bits_is_masked() {
        const TIMES: usize = 3;
        let heard = parties(3, |mut party| {
            let mut run = party.begin_alone().unwrap();
            let params = Params::new(32, true).unwrap();
            let s = run.phase(Phase::Offline, async |ctx| Spdz2k::set_up(ctx, params, None).await).unwrap();
            let keys = s.keys();
            run.finish();
            party.insecure_record();
            let mut run = party.begin_alone().unwrap();
            let work = async |ctx: &Ctx| {
                for _ in 0..TIMES {
                    TinyOt::new(keys.ots())?.chosen(ctx, Wiped(Bits::zeros(1, 5))).await?;
                }
                Ok(())
            };
            run.phase(Phase::Offline, work).unwrap();
            run.finish();
            party.insecure_transcript()
        });
        for heard in heard {
            let said: Vec<_> = heard.iter().filter(|message| message.bytes.len() == BASIS / 8).collect();
            assert!(said.len() >= 2 * TIMES, "{} sums", said.len());
            assert!(said.iter().all(|message| message.bytes.iter().any(|&byte| byte != 0)), "nothing masks a sum");
        }
    }
}
