//! **Insecure**: a dealer whose seed every party knows, short keys, and what tests look at.

mod dealer;

use quorate_ring::Bits;

use crate::forms::{Form, SharedBits};
use crate::params::Params;
use crate::party::Authenticated;
use crate::shared::Shared;
use crate::tagged::Tagged;

pub use dealer::MatrixBytes;

/// One party's part of bits, for tests that put parts together.
#[derive(Clone)]
pub enum InsecureBits {
    /// Shares and tags.
    Elements(Shared),
    /// Bits with MACs, row after row.
    Macs {
        /// The party's own bits.
        own: Bits,
        /// MACs of the party's own bits, by peer.
        macs: Vec<Vec<u128>>,
        /// Keys of the peers' bits, by peer.
        keys: Vec<Vec<u128>>,
    },
}

impl Authenticated {
    /// Returns this party's share and tag, for tests that put shares together.
    pub fn insecure_shared(x: &Tagged) -> Shared {
        Shared { share: x.share.clone(), tag: x.tag.clone() }
    }

    /// Returns this party's part of bits, row after row, for tests that put parts together.
    pub fn insecure_bits(x: &SharedBits) -> InsecureBits {
        match &x.0 {
            Form::Elements(bits) => InsecureBits::Elements(Self::insecure_shared(&bits.elements)),
            Form::Macs(bits) => InsecureBits::Macs {
                own: (*bits.own).clone(),
                macs: bits.peers.iter().map(|peer| peer.macs.as_slice().to_vec()).collect(),
                keys: bits.peers.iter().map(|peer| peer.keys.as_slice().to_vec()).collect(),
            },
        }
    }

    /// Returns the difference between this party's keys of a 0 bit and of a 1 bit.
    pub fn insecure_delta(&self) -> u128 {
        *self.keys.delta
    }

    /// Returns this party's share of alpha, for tests that look at tags.
    pub fn insecure_alpha(&self) -> u64 {
        self.keys.key() as u64
    }
}

impl Params {
    /// Returns keys and an inner security so short that forgeries pass often enough to be counted. As for real keys,
    /// `inner_bits` is less than `key_bits`, on which the making of triples depends (W < V in `quorate_spdz2k`).
    pub fn insecure(key_bits: u32, inner_bits: u32) -> Params {
        assert!(0 < inner_bits && inner_bits < key_bits, "W is less than V");
        let mut params = Params::with_keys(64);
        (params.key_bits, params.inner_bits) = (key_bits, inner_bits);
        params
    }
}
