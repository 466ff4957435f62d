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
//! | open | 1, and 2 for the check | a bit each |

use quorate_crypto::SessionId;
use quorate_engine::{Ctx, Error, Result};
use quorate_ot::{Blocks, Ot};
use quorate_ring::{Bits, Ring, Wiped};

use crate::keys::Keys;

const MACS: &str = "the MACs of opened bits";
const HASH: &str = "quorate 2026 spdz2k tinyot v1";

/// One party's part of bits: its own, their MACs, and keys of the peer's.
pub(crate) struct MacBits {
    pub own: Wiped<Bits>,
    pub macs: Blocks,
    pub keys: Blocks,
}

/// The two ends of bits with MACs.
pub(crate) struct TinyOt<'k> {
    ot: &'k Ot,
    session: &'k SessionId,
    pub peer: usize,
    /// Whether this is party 0.
    pub first: bool,
}

impl Keys {
    /// Between two parties.
    pub(crate) fn tinyot(&self) -> Result<TinyOt<'_>> {
        let peer = 1 - self.me;
        Ok(TinyOt { ot: self.ot(peer)?, session: &self.session, peer, first: self.me == 0 })
    }
}

impl TinyOt<'_> {
    /// The difference between keys of 0 and 1.
    pub fn delta(&self) -> u128 {
        if self.first { self.ot.delta() } else { self.ot.delta() & !1 }
    }

    /// Bits that nobody chooses.
    pub async fn random(&self, ctx: &Ctx, len: usize) -> Result<MacBits> {
        let keys = async |ctx: Ctx| self.ot.send_cots(&ctx, len).await;
        let bits = async |ctx: Ctx| self.ot.receive_cots(&ctx, len).await;
        let (mut keys, (own, mut macs)) = self.ot.both(ctx, keys, bits).await?;
        let under_party_1 = if self.first { &mut macs } else { &mut keys };
        under_party_1.as_mut_slice().iter_mut().for_each(|block| *block &= !1);
        Ok(MacBits { own: Wiped(own), macs, keys })
    }

    /// Opens bits: what they are. Their MACs are checked at once.
    pub async fn open(&self, ctx: &Ctx, x: &MacBits) -> Result<Bits> {
        let told = ctx.exchange::<Bits>(&[(self.peer, &*x.own)], &[(self.peer, (1, x.len()))]).await?;
        let told = told.into_iter().next().ok_or(Error::Bug { what: "no bits were told" })?;
        // The peer's MACs, as they have to be: keys, and Delta where it told a 1.
        let mut expected = x.keys.clone();
        if !ctx.is_dry() {
            xor_chosen(&mut expected, &told, self.delta());
        }
        let [own, other] = [hash(&x.macs), hash(&expected)];
        let said = ctx.commit_and_open(self.session, "quorate/spdz2k/tinyot/open", &own).await?;
        if !ctx.is_dry() && said[self.peer] != other {
            return Err(Error::Cheating { check: MACS });
        }
        let mut opened = told;
        opened.xor_assign(&x.own);
        Ok(opened)
    }
}

impl MacBits {
    pub fn len(&self) -> usize {
        self.own.lanes()
    }

    /// The bits of a range.
    pub fn slice(&self, range: std::ops::Range<usize>) -> MacBits {
        let part = |blocks: &Blocks| match blocks.is_shape() {
            true => Blocks::shape(range.len()),
            false => Blocks::new(blocks.as_slice()[range.clone()].to_vec()),
        };
        MacBits { own: Wiped(self.own.slice_lanes(range.clone())), macs: part(&self.macs), keys: part(&self.keys) }
    }

    /// The bits at these places.
    pub fn gather(&self, places: &[u32]) -> MacBits {
        let part = |blocks: &Blocks| match blocks.is_shape() {
            true => Blocks::shape(places.len()),
            false => Blocks::new(places.iter().map(|&at| blocks.as_slice()[at as usize]).collect()),
        };
        MacBits { own: Wiped(self.own.gather_lanes(places)), macs: part(&self.macs), keys: part(&self.keys) }
    }

    /// All of them, one after the other.
    pub fn concat(parts: &[&MacBits]) -> MacBits {
        let len = parts.iter().map(|part| part.len()).sum();
        let all = |of: fn(&MacBits) -> &Blocks| match parts.iter().any(|part| of(part).is_shape()) {
            true => Blocks::shape(len),
            false => Blocks::new(parts.iter().flat_map(|&part| of(part).as_slice()).copied().collect()),
        };
        let own = Wiped(Bits::concat_lanes(&parts.iter().map(|part| &*part.own).collect::<Vec<_>>()));
        MacBits { own, macs: all(|part| &part.macs), keys: all(|part| &part.keys) }
    }

    /// For each row of public bits the xor of those that it chooses.
    pub fn sums_of_chosen(&self, chosen: &Bits) -> MacBits {
        let rows = chosen.rows();
        if self.macs.is_shape() {
            return MacBits { own: Wiped(Bits::shape(1, rows)), macs: Blocks::shape(rows), keys: Blocks::shape(rows) };
        }
        let own = Wiped(self.own.to_vector(Ring::of(1)));
        let own = Wiped(own.sums_of_chosen(chosen).low_bit());
        let sum = |blocks: &Blocks, row: usize| {
            let words = blocks.as_slice().chunks(u64::BITS as usize).zip(chosen.words_of(row));
            let each = words.flat_map(|(blocks, &word)| {
                blocks.iter().enumerate().map(move |(i, block)| block & 0u128.wrapping_sub((word >> i & 1).into()))
            });
            each.fold(0, |sum, block| sum ^ block)
        };
        let sums = |blocks: &Blocks| Blocks::new((0..rows).map(|row| sum(blocks, row)).collect());
        MacBits { own, macs: sums(&self.macs), keys: sums(&self.keys) }
    }

    /// Their xor with as many others.
    pub fn xor(mut self, other: &MacBits) -> MacBits {
        self.own.xor_assign(&other.own);
        let each = [(&mut self.macs, &other.macs), (&mut self.keys, &other.keys)];
        for (into, from) in each {
            into.as_mut_slice().iter_mut().zip(from.as_slice()).for_each(|(into, from)| *into ^= from);
        }
        self
    }

    /// Those that public bits choose, and zeros.
    pub fn masked(mut self, chosen: &Bits) -> MacBits {
        self.own.and_assign(chosen);
        keep_chosen(&mut self.macs, chosen);
        keep_chosen(&mut self.keys, chosen);
        self
    }

    /// Their xor with public bits: party 0 changes its own, and the other one its keys.
    pub fn flipped(mut self, by: &Bits, ends: &TinyOt<'_>) -> MacBits {
        match ends.first {
            true => self.own.xor_assign(by),
            false if by.is_shape() => (),
            false => xor_chosen(&mut self.keys, by, ends.delta()),
        }
        self
    }
}

/// Zeros where a bit is not set.
pub(crate) fn keep_chosen(blocks: &mut Blocks, bits: &Bits) {
    if !blocks.is_shape() {
        let each = blocks.as_mut_slice().iter_mut().zip(bits.to_bools());
        each.for_each(|(block, bit)| *block &= 0u128.wrapping_sub(bit.into()));
    }
}

/// Adds a block where a bit is set.
pub(crate) fn xor_chosen(blocks: &mut Blocks, bits: &Bits, block: u128) {
    for (into, bit) in blocks.as_mut_slice().iter_mut().zip(bits.to_bools()) {
        *into ^= block & 0u128.wrapping_sub(bit.into());
    }
}

pub(crate) fn hash(blocks: &Blocks) -> [u8; 32] {
    let mut hasher = blake3::Hasher::new_derive_key(HASH);
    blocks.as_slice().iter().for_each(|block| {
        hasher.update(&block.to_le_bytes());
    });
    *hasher.finalize().as_bytes()
}
