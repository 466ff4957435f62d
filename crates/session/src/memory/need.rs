//! The bound on the memory of a request.

use quorate_graph::NodeId;

use crate::memory::limit::Limit;
use crate::memory::schedule::Schedule;

/// The bound for one request at one party, alike at all parties.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Need {
    /// Bytes at the worst moment, without correlations made ahead.
    pub peak_bytes: u64,
    /// The step at that moment; `None` where it is the values that the session held before.
    pub at: Option<NodeId>,
    /// Bytes of the values that the session holds already.
    pub held_bytes: u64,
    /// Bytes that are held before anything is computed.
    pub base_bytes: u64,
    /// Bytes of the correlations, if all were made ahead, and what making them takes beside.
    pub stock_bytes: u64,
    pub making_bytes: u64,
    /// Bytes of those of the largest turn and of making them, where they are made in turns.
    pub turn_bytes: u64,
    /// Whether they are made ahead or not at all.
    pub only_ahead: bool,
}

impl Need {
    /// Of a program, with the bytes of its correlations, and of what making them takes beside; `only_ahead` as its
    /// family says.
    pub fn of(schedule: &Schedule, stock_bytes: u64, making_bytes: u64, only_ahead: bool) -> Need {
        Need {
            peak_bytes: schedule.peak_bytes,
            at: schedule.at,
            held_bytes: schedule.held_bytes,
            base_bytes: schedule.base_bytes,
            stock_bytes,
            making_bytes,
            turn_bytes: 0,
            only_ahead,
        }
    }

    /// Bytes at the worst moment if correlations are made ahead.
    fn with_stock(&self) -> u64 {
        self.peak_bytes.max(self.base_bytes + self.making_bytes).saturating_add(self.stock_bytes)
    }

    /// Whether correlations can be made ahead under this limit.
    pub fn makes_ahead(&self, limit: Limit) -> bool {
        self.only_ahead || limit.bytes().is_none_or(|limit| self.with_stock() <= limit)
    }

    /// Bytes at the worst moment, with the correlations where they are made ahead.
    pub fn total(&self, limit: Limit) -> u64 {
        if self.makes_ahead(limit) { self.with_stock() } else { self.peak_bytes.saturating_add(self.turn_bytes) }
    }

    /// Bytes for correlations that are made in turns while the program runs: what the limit leaves.
    pub fn left_for_turns(&self, limit: Limit) -> u64 {
        limit.bytes().unwrap_or(0).saturating_sub(self.peak_bytes)
    }

    /// Whether the run fits.
    pub fn fits(&self, limit: Limit) -> bool {
        limit.bytes().is_none_or(|most| self.total(limit) <= most)
    }

    /// What a run takes beside what is there already.
    pub fn more(&self, limit: Limit) -> u64 {
        self.total(limit).saturating_sub(self.held_bytes)
    }

    /// What the limit leaves for steps before their turn.
    pub fn room(&self, limit: Limit) -> Option<u64> {
        limit.bytes().map(|most| most.saturating_sub(self.total(limit)))
    }
}
