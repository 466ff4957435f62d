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

    /// Returns the difference between elements and those that their tags fit.
    #[inline(always)]
    pub fn error_of<M>(&self, _elements: &M) -> Option<M> {
        None
    }

    /// Passes on the peer's keys of the bits of party `of`, row by row.
    #[inline(always)]
    pub fn keys<B>(&self, _of: usize, _keys: &mut B, _delta: u128) {}

    /// Returns the weighted sum of the bits of party `of`.
    #[inline(always)]
    pub fn sum_of_bits(&self, _of: usize, sum: u64, _weights: &[Vec<u64>]) -> u64 {
        sum
    }

    /// Passes on rho of products of bits. `values` gives a, b and c of the products, and t is the coin.
    #[inline(always)]
    pub fn rho_of_bits<V>(&self, _rho: &mut [u64], _t: u64, _values: impl FnOnce() -> V) {}

    /// Returns the wrong rho that the dealer sends P0 and P1, for products of elements; `None` if it sends the right
    /// one. `values` gives rho, a, b, c, and P1's summand of b; t is the coin.
    #[inline(always)]
    pub fn rho<V, M>(&self, _t: u64, _values: impl FnOnce() -> Option<V>) -> Option<[M; 2]> {
        None
    }
}

/// The adversary in a batch of messages.
#[derive(Debug)]
pub struct BatchAdversary;

impl BatchAdversary {
    /// Passes on the next value that the dealer sends one party.
    #[inline(always)]
    pub fn told<M: Told>(&mut self, _value: &mut M) {}

    /// Returns the bytes that the dealer sends each party.
    #[inline(always)]
    pub fn told_both(&mut self, bytes: Vec<u8>) -> [Vec<u8>; 2] {
        [bytes.clone(), bytes]
    }

    /// Returns the corrections of keys that the dealer sends each party. `dealt` gives the hash, the shape of the keys,
    /// alpha and both parties' roots.
    #[inline(always)]
    pub fn keys_told<V>(&mut self, corrections: Vec<u8>, _dealt: impl FnOnce() -> V) -> [Vec<u8>; 2] {
        [corrections.clone(), corrections]
    }
}
