//! The bound on the memory of a request.

use quorate_graph::NodeId;

use crate::memory::limit::Limit;
use crate::memory::schedule::Schedule;

/// The bound on the memory of one request at one party; the same at all parties.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Need {
    /// Bytes at the peak, without correlations made ahead.
    pub peak_bytes: u64,
    /// The step at the peak; `None` where the peak is the values that the session held before.
    pub at: Option<NodeId>,
    /// Bytes of the values that the session holds already.
    pub held_bytes: u64,
    /// Bytes that are held before anything is computed.
    pub base_bytes: u64,
    /// Bytes of all correlations, if they are made ahead, and what making them takes in addition.
    pub stock_bytes: u64,
    pub making_bytes: u64,
    /// Bytes of the correlations of the largest turn, including making them, where correlations are made in turns (a
    /// few draws at a time, while the program runs).
    pub turn_bytes: u64,
    /// Whether correlations can only be made ahead.
    pub only_ahead: bool,
}

impl Need {
    /// Returns the bound for a schedule, with the bytes of its correlations and what making them takes in addition.
    /// `only_ahead` is a constant of the family.
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

    /// Changes all sums of bytes that include the values which the session holds already.
    pub fn change_held(&mut self, change: impl Fn(u64) -> u64) {
        for bytes in [&mut self.peak_bytes, &mut self.held_bytes, &mut self.base_bytes] {
            *bytes = change(*bytes);
        }
    }

    /// Returns the bytes at the peak if correlations are made ahead.
    fn with_stock(&self) -> u64 {
        self.peak_bytes.max(self.base_bytes + self.making_bytes).saturating_add(self.stock_bytes)
    }

    /// Returns whether correlations can be made ahead under this limit.
    pub fn makes_ahead(&self, limit: Limit) -> bool {
        self.only_ahead || limit.bytes().is_none_or(|limit| self.with_stock() <= limit)
    }

    /// Returns the bytes at the peak, with the correlations where they are made ahead.
    pub fn total(&self, limit: Limit) -> u64 {
        if self.makes_ahead(limit) { self.with_stock() } else { self.peak_bytes.saturating_add(self.turn_bytes) }
    }

    /// Returns the bytes that the limit leaves for correlations made in turns while the program runs.
    pub fn left_for_turns(&self, limit: Limit) -> u64 {
        limit.bytes().unwrap_or(0).saturating_sub(self.peak_bytes)
    }

    /// Returns whether the run fits the limit.
    pub fn fits(&self, limit: Limit) -> bool {
        limit.bytes().is_none_or(|most| self.total(limit) <= most)
    }

    /// Returns the bytes that a run takes besides those that the session holds already.
    pub fn more(&self, limit: Limit) -> u64 {
        self.total(limit).saturating_sub(self.held_bytes)
    }

    /// Returns the bytes that the limit leaves for steps before their turn.
    pub fn room(&self, limit: Limit) -> Option<u64> {
        limit.bytes().map(|most| most.saturating_sub(self.total(limit)))
    }
}
