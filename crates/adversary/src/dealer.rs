//! The adversary of a dealer of correlations.

/// Values that a dealer sends one party.
pub trait Told {}

impl<T> Told for T {}

/// The adversary of a dealer that follows the protocol.
#[derive(Debug)]
pub struct DealerAdversary;

impl DealerAdversary {
    /// Returns the adversary of a dealer that follows the protocol.
    #[inline(always)]
    pub fn none() -> DealerAdversary {
        DealerAdversary
    }

    /// Returns the adversary for a batch.
    #[inline(always)]
    pub fn batch(&self) -> BatchAdversary {
        BatchAdversary
    }

    /// Returns the difference between elements and those that the dealer has their tags fit.
    #[inline(always)]
    pub fn error_of<M>(&self, _elements: &M) -> Option<M> {
        None
    }

    /// Passes the peer's keys of the bits of party `of`, row after row, on.
    #[inline(always)]
    pub fn keys<B>(&self, _of: usize, _keys: &mut B, _delta: u128) {}

    /// Returns the weighted sum of the bits of party `of`.
    #[inline(always)]
    pub fn sum_of_bits(&self, _of: usize, sum: u64, _weights: &[Vec<u64>]) -> u64 {
        sum
    }

    /// Passes rho of products of bits on. `values` gives a, b and c of the products, and t is the coin.
    #[inline(always)]
    pub fn rho_of_bits<V>(&self, _rho: &mut [u64], _t: u64, _values: impl FnOnce() -> V) {}

    /// Returns what P0 and P1 are sent for rho of products of elements where the dealer has it wrong. `values` gives
    /// rho, a, b, c, and P1's summand of b; t is the coin.
    #[inline(always)]
    pub fn rho<V, M>(&self, _t: u64, _values: impl FnOnce() -> Option<V>) -> Option<[M; 2]> {
        None
    }
}

/// The adversary in a batch of messages.
#[derive(Debug)]
pub struct BatchAdversary;

impl BatchAdversary {
    /// Passes the next value on that one party is sent.
    #[inline(always)]
    pub fn told<M: Told>(&mut self, _value: &mut M) {}

    /// Returns the bytes that each party is sent.
    #[inline(always)]
    pub fn told_both(&mut self, bytes: Vec<u8>) -> [Vec<u8>; 2] {
        [bytes.clone(), bytes]
    }

    /// Returns the corrections of keys that each party is sent. `dealt` gives the hash, the shape of the keys, alpha
    /// and both parties' roots.
    #[inline(always)]
    pub fn keys_told<V>(&mut self, corrections: Vec<u8>, _dealt: impl FnOnce() -> V) -> [Vec<u8>; 2] {
        [corrections.clone(), corrections]
    }
}
