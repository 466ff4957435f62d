//! What a party has of a dealt value: its own summand; at P2, which knows both, the two of them. P2 applies each step
//! of P0 and P1 to both summands, and the sum of its results is the value that the two would open.

use quorate_ring::{Bits, Module, Ring, Vector, Wiped};
use zeroize::Zeroize;

/// Summands of a vector, or xor summands of bits. Wiped when dropped.
#[derive(Clone)]
pub(crate) struct Summands<M: Module>(pub Vec<M>);

impl<M: Module> Drop for Summands<M> {
    fn drop(&mut self) {
        self.0.iter_mut().for_each(Module::wipe);
    }
}

impl<M: Module> Summands<M> {
    /// Applies a linear map to each summand.
    pub fn map<N: Module>(&self, map: impl Fn(&M) -> N) -> Summands<N> {
        Summands(self.0.iter().map(map).collect())
    }

    /// Returns the sum: the value at P2.
    pub fn total(&self) -> Wiped<M> {
        let mut sum = Wiped(self.0[0].clone());
        self.0[1..].iter().for_each(|other| sum.add_assign(other));
        sum
    }
}

impl Summands<Vector> {
    /// Returns the lowest bits, which are xor summands of the value's lowest bits; elements lie row after row.
    pub fn low_bits(&self, shape: (usize, usize)) -> Summands<Bits> {
        self.map(|share| quorate_authenticated::bits::from_elements(share, shape))
    }

    pub fn ring(&self) -> Ring {
        self.0[0].ring()
    }
}

/// Elements of GF(2^64), one for each bit, as xor summands; empty in a dry run.
#[derive(Clone)]
pub(crate) struct Fields(pub Vec<Vec<u64>>);

impl Drop for Fields {
    fn drop(&mut self) {
        self.0.iter_mut().for_each(|words| words.zeroize());
    }
}
