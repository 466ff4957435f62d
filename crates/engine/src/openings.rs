//! The number of values that a party has opened: what is computed on, and what was revealed to it.

use quorate_sync::{Mutex, PoisonError};

/// The number of values that a party has opened so far: without the results that were revealed to it (`opened`), and
/// with them (`all`).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Openings {
    opened: u64,
    all: u64,
}

impl Openings {
    /// Returns the number of values that are computed on.
    pub(crate) fn opened(self) -> u64 {
        self.opened
    }

    /// Returns the number of all values.
    pub(crate) fn all(self) -> u64 {
        self.all
    }

    /// Returns the numbers after one more value that is computed on.
    pub(crate) fn with_opened(self) -> Openings {
        Openings { opened: self.opened + 1, all: self.all + 1 }
    }

    /// Returns the numbers after one more result that was revealed.
    pub(crate) fn with_revealed(self) -> Openings {
        Openings { all: self.all + 1, ..self }
    }
}

/// The openings of all workers of a party.
#[derive(Default)]
pub(crate) struct AllOpenings(Mutex<Openings>);

impl AllOpenings {
    /// Notes one more value. Returns the numbers before it.
    pub fn note(&self, with: impl FnOnce(Openings) -> Openings) -> Openings {
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let before = *all;
        *all = with(before);
        before
    }

    /// Returns the numbers so far.
    pub fn so_far(&self) -> Openings {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
