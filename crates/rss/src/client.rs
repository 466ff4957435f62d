//! Input by an outside client, at the client: its packets, and what their readers check alike. A party reads its packet
//! in `accept`. The transport of packets is not part of it.
//!
//! **Source**: Protocol 5 (Appendix A.1; Theorem 3). **Model**: semi-honest, t of n; the client is only honest about
//! its format. Rounds: one message from the client to each party. Sent by the client: C(n-1, t) or C(n-1, t) - 1 seeds
//! of 32 bytes to each party, once a packet, and t + 1 elements for each element.
//!
//! For every set T except T* = {0, ..., t-1}, the client draws a seed and sends it to the parties outside T, which
//! expand it to x_T. x_{T*} is the value less the sum of all of those, and goes to the t + 1 parties outside T*. A
//! coalition misses one share: either a stream under a fresh seed that it lacks, or x_{T*}. In the second case it holds
//! every mask of x_{T*}, but x_{T*} is not sent to it.
//!
//! **Wire**: `QRS1`, n, the receiver, k (a byte each), a zero byte, the number of elements (8 bytes, little-endian),
//! the packet's number (16 bytes, random, the same in all packets of one input), seeds in the order of the sets that
//! the receiver holds, then the packed elements of x_{T*} if the receiver holds it. Every length is checked before
//! memory is allocated.
//!
//! A packet must travel to its party over a link that no other party can read. Each packet number is accepted once in a
//! session: a second packet with the same number may be a copy that its client did not make.

use std::collections::BTreeSet;

use quorate_crypto::{CryptoError, Seed, os_random};
use quorate_ring::{Ring, Vector};
use zeroize::Zeroizing;

use crate::maps::{Maps, Set, all_sets};
use crate::share::Wiped;

pub(crate) const MAGIC: &[u8; 4] = b"QRS1";
pub(crate) const SEED_BYTES: usize = 32;
pub(crate) const NUMBER_BYTES: usize = 16;
pub(crate) const HEADER_BYTES: usize = 4 + 4 + 8 + NUMBER_BYTES;
const DOMAIN: &str = "quorate/rss/client";

/// The errors of a client's input.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum ClientError {
    /// A number of parties that the protocol does not support.
    #[error("`rss` runs with 3, 5 or 7 parties, not {parties}")]
    Parties {
        /// The number.
        parties: usize,
    },
    /// A ring that values cannot be over.
    #[error("the ring must have 1 to 64 bits, not {bits}")]
    RingBits {
        /// k.
        bits: u32,
    },
    /// A shape without values.
    #[error("a client shares values, not a shape")]
    NoValues,
    /// Bytes that are not a packet of this version.
    #[error("this is no input packet of this version")]
    NotAPacket,
    /// A packet for another party or another number of parties.
    #[error("the packet is for party {party} of {parties}")]
    NotForUs {
        /// The receiver in the packet.
        party: usize,
        /// The number of parties in the packet.
        parties: usize,
    },
    /// A packet whose ring or length is not the agreed one.
    #[error("the packet has {len} elements of {bits} bits, which is not what was agreed")]
    Shape {
        /// The number of elements in the packet.
        len: u64,
        /// k.
        bits: u32,
    },
    /// A packet with too few bytes or too many.
    #[error("the packet has {found} bytes instead of {expected}")]
    Length {
        /// The bytes that its header requires.
        expected: usize,
        /// The bytes of the packet.
        found: usize,
    },
    /// A packet whose number was accepted before.
    #[error("this packet was used before in this session; the client must share its values again")]
    UsedBefore,
    /// The session has stored the largest number of packet numbers.
    #[error("this session accepted {most} packets, and cannot tell any longer which were used: open a new one")]
    TooMany {
        /// The number of packets that a session accepts.
        most: usize,
    },
    /// The operating system provides no randomness.
    #[error("the operating system has no randomness to give")]
    Randomness,
}

impl From<CryptoError> for ClientError {
    fn from(_: CryptoError) -> Self {
        ClientError::Randomness
    }
}

/// The number of packets whose numbers a session remembers.
pub(crate) const MOST_ACCEPTED: usize = 1 << 20;

/// The numbers of the packets that were accepted.
#[derive(Default)]
pub(crate) struct Accepted(BTreeSet<[u8; NUMBER_BYTES]>);

impl Accepted {
    /// Checks that a number is new, and that it is not beyond the `most` numbers that are remembered.
    pub(crate) fn check(&self, number: &[u8; NUMBER_BYTES], most: usize) -> Result<(), ClientError> {
        if self.0.contains(number) {
            return Err(ClientError::UsedBefore);
        }
        if self.0.len() >= most {
            return Err(ClientError::TooMany { most });
        }
        Ok(())
    }

    /// Remembers a number, after its check.
    pub(crate) fn add(&mut self, number: [u8; NUMBER_BYTES], most: usize) -> Result<(), ClientError> {
        self.check(&number, most)?;
        self.0.insert(number);
        Ok(())
    }
}

/// One packet, wiped when dropped.
pub type Packet = Zeroizing<Vec<u8>>;

/// Returns T*, the set of the share that is not drawn.
pub(crate) fn special(n: usize) -> Set {
    all_sets(n, (n - 1) / 2)[0]
}

fn check(n: usize, ring: Ring) -> Result<(), ClientError> {
    if !matches!(n, 3 | 5 | 7) {
        return Err(ClientError::Parties { parties: n });
    }
    if ring.bits() > 64 {
        return Err(ClientError::RingBits { bits: ring.bits() });
    }
    Ok(())
}

/// Returns the bytes of the packet for a party.
///
/// # Errors
/// [`ClientError::Parties`], [`ClientError::RingBits`].
pub fn packet_bytes(parties: usize, party: usize, ring: Ring, len: usize) -> Result<usize, ClientError> {
    check(parties, ring)?;
    if party >= parties {
        return Err(ClientError::NotForUs { party, parties });
    }
    let maps = Maps::new(parties, party);
    let special = maps.index(special(parties)).is_some();
    let seeds = (maps.held.len() - usize::from(special)) * SEED_BYTES;
    Ok(HEADER_BYTES + seeds + if special { ring.packed_bytes(len) } else { 0 })
}

pub(crate) fn expand(seed: &Seed, number: &[u8], shape: (Ring, usize)) -> Wiped<Vector> {
    let mut share = Wiped(Vector::zeros(shape.0, shape.1));
    seed.prg(DOMAIN, number).fill(share.bytes_mut());
    share
}

/// Shares a vector; returns the packet of each party, in their order.
///
/// # Errors
/// [`ClientError::Parties`], [`ClientError::RingBits`], [`ClientError::NoValues`], [`ClientError::Randomness`].
pub fn share(value: &Vector, parties: usize) -> Result<Vec<Packet>, ClientError> {
    let shape = (value.ring(), value.len());
    check(parties, shape.0)?;
    if value.is_shape() {
        return Err(ClientError::NoValues);
    }
    let mut number = [0; NUMBER_BYTES];
    os_random(&mut number)?;
    let mut rest = Wiped(value.clone());
    let mut seeds: Vec<(Set, Seed)> = Vec::new();
    for set in all_sets(parties, (parties - 1) / 2).into_iter().filter(|&set| set != special(parties)) {
        let seed = Seed::random()?;
        rest.sub_assign(&expand(&seed, &number, shape));
        seeds.push((set, seed));
    }
    let packet = |party: usize| {
        let maps = Maps::new(parties, party);
        let mut packet = Zeroizing::new(Vec::with_capacity(packet_bytes(parties, party, shape.0, shape.1)?));
        packet.extend_from_slice(MAGIC);
        packet.extend_from_slice(&[parties as u8, party as u8, shape.0.bits() as u8, 0]);
        packet.extend_from_slice(&(shape.1 as u64).to_le_bytes());
        packet.extend_from_slice(&number);
        for &held in &maps.held {
            seeds.iter().filter(|(set, _)| *set == held).for_each(|(_, seed)| packet.extend_from_slice(seed.expose()));
        }
        if maps.index(special(parties)).is_some() {
            rest.pack(&mut packet);
        }
        Ok(packet)
    };
    (0..parties).map(packet).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn packets_beyond_the_record_are_not_accepted() {
        let mut accepted = Accepted::default();
        for number in 0..3 {
            accepted.add([number; NUMBER_BYTES], 3).unwrap();
        }
        assert_eq!(accepted.add([1; NUMBER_BYTES], 3), Err(ClientError::UsedBefore));
        assert_eq!(accepted.add([9; NUMBER_BYTES], 3), Err(ClientError::TooMany { most: 3 }));
    }
}
