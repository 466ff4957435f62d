//! **Insecure**: what tests look at, and values that they choose.

use quorate_authenticated::{Authenticated, Params};
use quorate_crypto::Seed;
use quorate_engine::Result;
use quorate_ring::Vector;

use crate::malicious::PikaMalicious;
use crate::malicious::digits::{self, Digits};
use crate::setup::{PARTIES, Pika};

impl Pika {
    /// Returns a party with these seeds, by party, for tests that enumerate all randomness.
    pub fn insecure_with_seeds(me: usize, seed_of: impl Fn(usize) -> Seed) -> Result<Pika> {
        Ok(Self::with(me, std::array::from_fn(seed_of), *Self::dry(PARTIES, me)?.session()))
    }

    /// Returns the names of the masks of factors that exist.
    pub fn insecure_masks(&self) -> Vec<u32> {
        self.masks.kept.lock().keys().chain(self.masks.new.lock().keys()).copied().collect()
    }
}

impl PikaMalicious {
    /// Returns the malicious form of a party, with the keys that grow from its seeds of pairs.
    pub fn insecure_with(pairs: Pika, params: Params) -> Result<PikaMalicious> {
        Self::with(pairs, params)
    }

    /// Returns this party's first and second values of all leaves of dealt places, by digit.
    pub fn insecure_leaves(&self, digits: Digits, blocks: &Vector, len: usize) -> Vec<[Vector; 2]> {
        let keys = digits::keys_of(digits, self.third.pairs.me, blocks, len).unwrap_or_default();
        let each = |keys| digits::values(self.third.pairs.hash(), keys).map(|values| (*values).clone());
        keys.iter().map(each).collect()
    }

    /// Returns the protocol for two parties, for tests in which one of them deviates.
    pub fn insecure_online(&self) -> &Authenticated {
        &self.online
    }
}
