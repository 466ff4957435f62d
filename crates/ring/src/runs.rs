//! Public positions in long runs, to gather from.

use crate::memory;

/// Runs of positions, all of one length: neighbours, or repeats of one position.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Runs {
    /// The first position of each run.
    pub starts: Vec<u32>,
    /// The number of positions of a run.
    pub width: u32,
    /// Whether a run repeats its first position. Otherwise it goes on to the next ones.
    pub repeats: bool,
}

impl Runs {
    /// Returns the number of positions.
    pub fn len(&self) -> usize {
        self.starts.len() * self.width as usize
    }

    /// Returns whether there are no positions.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Returns all positions.
    pub fn list(&self) -> Vec<u32> {
        let step = u32::from(!self.repeats);
        let mut list = memory::with_room(self.len());
        self.starts.iter().for_each(|start| list.extend((0..self.width).map(|i| start + i * step)));
        list
    }
}
