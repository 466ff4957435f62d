//! The memory of shares.

use quorate_engine::Stocks;
use quorate_ring::Ring;

use crate::kind::Kind;
use crate::party::Authenticated;

impl Authenticated {
    /// A share and a tag, each at least twice as wide as the value.
    pub const SHARES: u64 = 4;

    /// Returns the shares that a party holds of each value that it works on.
    pub fn work_shares(&self) -> u64 {
        64 * self.peers_of(1)
    }

    /// Returns the bytes of a party's shares of values of `bits` bits.
    pub fn value_bytes(&self, bits: u32, len: usize) -> u64 {
        self.peers_of(bits) * self.bytes_of(bits, len)
    }

    /// Returns the bytes of correlations of a kind.
    pub fn stock_bytes(&self, kind: &Kind, len: usize) -> u64 {
        let layout = self.layout(kind);
        let elements = layout.vectors.iter().map(|(ring, count)| self.bytes_of(ring.bits(), count * len));
        let bits = layout.bits.iter().map(|rows| self.value_bytes(1, rows * len));
        elements.chain(bits).sum::<u64>().saturating_add(layout.block_bytes(len))
    }

    /// Returns the number of peers with which each value of `bits` bits has shares of its own: bits with MACs have some
    /// with each peer.
    fn peers_of(&self, bits: u32) -> u64 {
        if bits == 1 && self.has_macs() { self.keys.parties as u64 - 1 } else { 1 }
    }

    /// Returns the bytes of a party's shares of a vector and of their tags; for bits with MACs, of the bits, and of
    /// keys and MACs with one peer.
    pub fn bytes_of(&self, bits: u32, len: usize) -> u64 {
        if bits == 1 && self.has_macs() {
            return (2 * size_of::<u128>() * len + len.div_ceil(8)) as u64;
        }
        2 * (len * self.keys.params.shares(Ring::of(bits)).carrier().bytes()) as u64
    }
}
