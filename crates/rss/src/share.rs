//! A party's shares of a value.

use std::ops::Range;

use quorate_engine::{Packed, Result, Stored, unpack_part};
use quorate_ring::{Bits, Module, Vector};

pub(crate) use quorate_ring::Wiped;

/// The shares x_T that one party holds, in the order of its maps. Wiped when dropped; never printed.
#[derive(Clone)]
pub struct Shared<M: Module> {
    pub(crate) shape: M::Shape,
    pub(crate) shares: Vec<M>,
}

impl<M: Module> Shared<M> {
    pub(crate) fn new(shape: M::Shape, shares: Vec<M>) -> Self {
        debug_assert!(shares.iter().all(|share| share.shape_of() == shape));
        Shared { shape, shares }
    }

    /// Returns shares of zero that are all zero.
    pub(crate) fn zeros(shape: M::Shape, count: usize) -> Self {
        Shared { shape, shares: (0..count).map(|_| M::zeros(shape)).collect() }
    }

    pub(crate) fn phantom(shape: M::Shape, count: usize) -> Self {
        Shared { shape, shares: (0..count).map(|_| M::phantom(shape)).collect() }
    }

    /// Applies a linear map to every share.
    pub(crate) fn map<N: Module>(&self, map: impl Fn(&M) -> N) -> Shared<N> {
        let shares: Vec<N> = self.shares.iter().map(map).collect();
        Shared { shape: shares[0].shape_of(), shares }
    }

    pub(crate) fn zip(&self, other: &Self, combine: impl Fn(&mut M, &M)) -> Self {
        let mut out = self.clone();
        out.shares.iter_mut().zip(&other.shares).for_each(|(a, b)| combine(a, b));
        out.shape = out.shares[0].shape_of();
        out
    }
}

impl Shared<Vector> {
    pub(crate) fn slice(&self, range: Range<usize>) -> Self {
        self.map(|share| share.slice(range.clone()))
    }
}

impl<M: Module> Drop for Shared<M> {
    fn drop(&mut self) {
        self.shares.iter_mut().for_each(M::wipe);
    }
}

impl Stored for Shared<Vector> {
    fn part(&self, range: Range<usize>) -> Self {
        self.slice(range)
    }

    fn write_part(&mut self, start: usize, part: &Self) {
        self.shares.iter_mut().zip(&part.shares).for_each(|(whole, part)| whole.write_at(start, part));
    }
}

impl Stored for Shared<Bits> {
    fn part(&self, range: Range<usize>) -> Self {
        self.map(|share| share.slice_lanes(range.clone()))
    }

    fn write_part(&mut self, start: usize, part: &Self) {
        self.shares.iter_mut().zip(&part.shares).for_each(|(whole, part)| whole.write_lanes_at(start, part));
    }
}

impl Packed for Shared<Vector> {
    fn pack(&self, out: &mut Vec<u8>) {
        self.shares.iter().for_each(|share| share.pack(out));
    }

    fn unpack(&mut self, bytes: &mut &[u8]) -> Result<()> {
        self.shares.iter_mut().try_for_each(|share| unpack_part(share, bytes))
    }
}

impl Packed for Shared<Bits> {
    fn pack(&self, out: &mut Vec<u8>) {
        self.shares.iter().for_each(|share| share.pack(out));
    }

    fn unpack(&mut self, bytes: &mut &[u8]) -> Result<()> {
        self.shares.iter_mut().try_for_each(|share| unpack_part(share, bytes))
    }
}
