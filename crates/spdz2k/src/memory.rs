//! The memory of a party while correlations are made, beside those correlations.
//!
//! Kinds are made one after the other, in batches, and take their ANDs from common batches ([`crate::bittriple`]). So
//! the peak is the largest batch, of ANDs or of another kind, together with what waits for its ANDs and with ANDs that
//! wait for their turn. The constants are bytes with each peer, measured for k = s = 64.

use std::collections::BTreeMap;

use quorate_authenticated::{Authenticated, Kind};
use quorate_gadgets::streaming_bytes;
use quorate_ring::Ring;

use crate::bucket::{MOST, Sizes};
use crate::bucket_triple;
use crate::keys::Transfers;
use crate::matrix;
use crate::numbers::{Wanted, bit_triples_of};
use crate::params::TripleForm;
use crate::provenproduct;
use crate::randbit;
use crate::triple;

/// A bit with MACs: a MAC and a key.
const BIT: usize = 32;
/// A triple under two keys.
const TWO_KEYS: usize = 30_000;
/// A leaky triple that waits for its bucket, and its difference from another one.
const LEAKY_TRIPLE: usize = 200;
/// A leaky AND in the making: three bits, and what one step adds.
const LEAKY_AND: usize = 175;
/// A bit of a number that is made by cut and choose.
const CHOSEN_BIT: usize = 110;
/// A proven bit.
const PROVEN_BIT: usize = 800;
/// A bit with MACs that becomes an element.
const LINKED_BIT: usize = 350;

/// The memory of the making at one party.
pub(crate) struct Memory<'m> {
    pub online: &'m Authenticated,
    pub transfers: &'m Transfers,
}

impl Memory<'_> {
    /// Returns the bytes that this party holds beside the stock while all of this is made.
    pub fn bytes_of_making(&self, totals: &BTreeMap<Kind, usize>) -> u64 {
        let all = totals.iter().map(|(kind, len)| len * self.ands_of(kind)).sum::<usize>().min(MOST);
        let ands = match all {
            0 => 0,
            _ => self.with_peers(Sizes::of(all, self.transfers.params.inner_bits()).all() * LEAKY_AND),
        };
        let linked = if self.transfers.params.bits_have_macs() { 0 } else { self.with_peers(3 * all * LINKED_BIT) };
        let batches: Vec<[u64; 2]> = totals.iter().map(|(kind, &len)| self.bytes_of_batch(kind, len)).collect();
        let largest = |i: usize| batches.iter().map(|batch| batch[i]).max().unwrap_or_default();
        largest(0).max(ands).max(linked) + largest(1) + self.with_peers(3 * all * BIT)
    }

    fn parties(&self) -> usize {
        self.online.keys().parties
    }

    fn with_peers(&self, bytes: usize) -> u64 {
        (bytes * (self.parties() - 1)) as u64
    }

    /// Returns the number of ANDs that one correlation of a kind takes.
    fn ands_of(&self, kind: &Kind) -> usize {
        match kind {
            Kind::Triple { bits: 1 } => 1,
            _ => bit_triples_of(kind, self.parties()),
        }
    }

    /// Returns the bytes that the largest batch of a kind takes beside its ANDs, and those of it that wait for the
    /// ANDs.
    fn bytes_of_batch(&self, kind: &Kind, len: usize) -> [u64; 2] {
        let [made, waiting] = match *kind {
            Kind::Triple { bits: 1 } => [3 * len.min(MOST) * LINKED_BIT, 0],
            Kind::Triple { .. } => [self.bytes_of_triples(len), 0],
            Kind::DaBit { .. } | Kind::RandomBit { .. } if !self.transfers.params.bits_from_proofs(self.parties()) => {
                [self.bytes_of_triples(len.min(randbit::BATCH)), 0]
            }
            Kind::OneSided { .. } | Kind::DaBit { .. } | Kind::RandomBit { .. } => {
                [len.min(triple::BATCH) * triple::BYTES, 0]
            }
            Kind::KnownMatrices { bits, m, k, n, .. } => {
                [matrix::bytes_held(self.transfers.params, Ring::of(bits), (m, k, n), len), 0]
            }
            Kind::Owned { .. } => [3 * len.min(provenproduct::BATCH) * matrix::AUTHENTICATED, 0],
            Kind::OwnedMatrices { m, k, n, .. } => [(m * k + k * n + m * n) * matrix::AUTHENTICATED, 0],
            _ => Wanted::of(kind).map_or([0; 2], |wanted| self.bytes_of_numbers(&wanted, len)),
        };
        [self.with_peers(made).max(streaming_bytes(self.online.stock_bytes(kind, len))), self.with_peers(waiting)]
    }

    /// Returns the bytes that the largest batch of triples takes, in the form of this session's triples.
    fn bytes_of_triples(&self, len: usize) -> usize {
        match self.transfers.params.triples() {
            TripleForm::T3 => len.min(triple::BATCH) * triple::BYTES,
            TripleForm::TwoKeys => len.min(triple::BATCH) * TWO_KEYS,
            TripleForm::Buckets => {
                let leaky = bucket_triple::leaky(len.min(bucket_triple::MOST), self.transfers.params.inner_bits());
                leaky.min(triple::BATCH) * triple::BYTES + leaky * LEAKY_TRIPLE
            }
        }
    }

    /// Returns the bytes of the largest batch of all parties' numbers that are to be added up, and those of it that
    /// wait.
    fn bytes_of_numbers(&self, wanted: &Wanted, len: usize) -> [usize; 2] {
        let params = (self.transfers.params, self.transfers.digits);
        if len == 0 {
            return [0; 2];
        }
        let batches = wanted.batches(params, len);
        let lanes = batches.most.min(len);
        let chosen = batches.chosen(lanes);
        let bits = lanes * wanted.width as usize;
        let made = match chosen {
            Some(sizes) => sizes.all() * wanted.ring.bits() as usize * CHOSEN_BIT,
            None => bits * PROVEN_BIT,
        };
        [made, self.parties() * bits * BIT]
    }
}
