//! Roots of keys: from a seed that the dealer shares with a side, so that no root has to be sent.

use quorate_crypto::Prg;
use quorate_ring::{memory, wipe_words};

/// One of the two holders of a pair of keys. With y the leaves as bits, y of the first minus y of the second is 1 or -1
/// at the point, and 0 elsewhere.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Side {
    /// Its root's control bit is 0.
    First,
    /// Its root's control bit is 1.
    Second,
}

impl Side {
    /// Returns the control bit of the root.
    pub(crate) fn bit(self) -> u128 {
        (self == Side::Second).into()
    }
}

/// A side's roots of a batch of keys: secret, wiped on drop.
pub struct Roots {
    side: Side,
    nodes: Vec<u128>,
}

impl Roots {
    /// Draws the next roots from a stream that the dealer and this side share; 16 bytes each.
    pub fn draw(prg: &mut Prg, side: Side, count: usize) -> Roots {
        let mut nodes: Vec<u128> = memory::zeros(count);
        prg.fill(bytemuck::cast_slice_mut(&mut nodes));
        Self::new(side, nodes)
    }

    /// Makes roots from random blocks that the dealer and this side share: 127 bits of each are the root's, the lowest
    /// is the side's control bit.
    pub fn new(side: Side, mut nodes: Vec<u128>) -> Roots {
        nodes.iter_mut().for_each(|node| *node = *node & !1 | side.bit());
        Roots { side, nodes }
    }

    /// Takes roots as received, control bits included.
    pub(crate) fn unchecked(side: Side, nodes: Vec<u128>) -> Roots {
        Roots { side, nodes }
    }

    /// Returns the side that they belong to.
    pub fn side(&self) -> Side {
        self.side
    }

    /// Returns the number of roots.
    pub fn count(&self) -> usize {
        self.nodes.len()
    }

    pub(crate) fn nodes(&self) -> &[u128] {
        &self.nodes
    }
}

impl Drop for Roots {
    fn drop(&mut self) {
        wipe_words(&mut self.nodes);
    }
}

impl std::fmt::Debug for Roots {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Roots({:?}, {})", self.side, self.nodes.len())
    }
}
