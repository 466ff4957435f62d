//! Bits with MACs are opened: all parties send their own bits, and later compare hashes of the MACs.
//!
//! The MACs of the bits that a peer sent must equal the keys that this party has, plus Delta where the peer sent a 1. A
//! party that sent another bit than it has must guess the Delta of its peer.

use std::borrow::Cow;

use quorate_adversary::Twist;
use quorate_crypto::ct_eq;
use quorate_engine::{Ctx, Error, Result};
use quorate_ot::Blocks;
use quorate_ring::Bits;

use crate::keys::{HASH_BYTES, Keys};
use crate::macs::{MacBits, WithPeer, charge_hash, xor_chosen};

/// The purpose of hashes of MACs (key derivation context of BLAKE3).
const HASH: &str = "quorate 2026 spdz2k macs v2";
const MACS: &str = "the MACs of opened bits";

/// What was sent to open bits.
pub struct Told {
    /// The opened bits.
    pub opened: Bits,
    /// The own bits that each party sent, by party.
    pub all: Vec<Bits>,
    /// The right MACs of the peers.
    expected: Vec<Blocks>,
}

impl Keys {
    /// Returns, by peer, hashes of this party's MACs of opened bits, and of the MACs that the peer must have. They are
    /// bound to the session, to the opening, and to sender and receiver.
    pub fn hashes_of_macs(&self, instance: u128, x: &MacBits, told: &Told) -> Vec<[[u8; HASH_BYTES]; 2]> {
        let hashed = |from_to: [usize; 2], blocks: &Blocks| {
            charge_hash(blocks);
            self.hash_told(HASH, instance, from_to, blocks.as_bytes())
        };
        let of_peer = |((&peer, with_peer), expected): ((&usize, &WithPeer), &Blocks)| {
            [hashed([self.me, peer], &with_peer.macs), hashed([peer, self.me], expected)]
        };
        self.peers().iter().zip(&x.peers).zip(&told.expected).map(of_peer).collect()
    }

    /// Sends all parties' own bits to all. The MACs must equal the keys, plus Delta where a peer sent a 1.
    pub async fn tell_bits(&self, ctx: &Ctx, x: &MacBits) -> Result<Told> {
        self.in_use()?;
        let peers = self.peers();
        let bits = self.twisted(Twist::OpenedBit, Cow::Borrowed(&*x.own));
        let own: Vec<_> = peers.iter().map(|&peer| self.told_to(peer, &*bits)).collect();
        let outgoing: Vec<_> = peers.iter().zip(&own).map(|(&peer, own)| (peer, &**own)).collect();
        let incoming: Vec<_> = peers.iter().map(|&peer| (peer, x.shape())).collect();
        let mut all = ctx.exchange::<Bits>(&outgoing, &incoming).await?;
        let mut opened = (*bits).clone();
        let mut expected = Vec::with_capacity(peers.len());
        for (told, with_peer) in all.iter().zip(&x.peers) {
            let mut macs = with_peer.keys.clone();
            xor_chosen(&mut macs, told, *self.delta);
            expected.push(macs);
            opened.xor_assign(told);
        }
        all.insert(self.me, bits.into_owned());
        Ok(Told { opened, all, expected })
    }

    /// Sends each peer a hash of MACs, and compares the peers' hashes. The hash of a party that sent its true bits
    /// shows the peer nothing new; a party that sent another bit has to guess the peer's Delta.
    pub async fn compare_hashes(&self, ctx: &Ctx, by_peer: &[[[u8; HASH_BYTES]; 2]]) -> Result<()> {
        self.in_use()?;
        let peers = self.peers();
        let outgoing: Vec<_> = peers.iter().zip(by_peer).map(|(&peer, [own, _])| (peer, &own[..])).collect();
        let incoming: Vec<_> = peers.iter().map(|&peer| (peer, HASH_BYTES)).collect();
        let told = ctx.exchange_bytes(&outgoing, &incoming).await?;
        let holds = told.iter().zip(by_peer).fold(true, |holds, (told, [_, expected])| holds & ct_eq(told, expected));
        match ctx.is_dry() || holds || self.adversary().goes_on() {
            true => Ok(()),
            false => Err(Error::Cheating { check: MACS }),
        }
    }
}
