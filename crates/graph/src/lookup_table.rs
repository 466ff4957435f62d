//! Public tables in which secret numbers are looked up.

use std::any::Any;
use std::fmt;
use std::sync::{Arc, OnceLock};

use crate::interval::Interval;
use crate::units::Units;

/// The largest number of entries of a table; with more, a look-up takes seconds for each number.
pub const MOST_ENTRIES: usize = 1 << 26;

/// A table: entries in units of the result, for the numbers `first`, `first + 1`, ... in units of the operand. Lower
/// numbers have the first entry, higher ones the last.
#[derive(Clone)]
pub struct Table {
    first: i128,
    entries: Units,
    kept: OnceLock<Arc<dyn Any + Send + Sync>>,
}

impl PartialEq for Table {
    fn eq(&self, other: &Table) -> bool {
        (self.first, &self.entries) == (other.first, &other.entries)
    }
}

impl fmt::Debug for Table {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Table({} from {} on)", self.entries.len(), self.first)
    }
}

impl Table {
    /// Returns a table of the entries for `first` and the numbers after it, at least one.
    pub(crate) fn new(first: i128, entries: &[i128]) -> Table {
        debug_assert!(!entries.is_empty(), "a table has an entry");
        Table { first, entries: entries.into(), kept: OnceLock::new() }
    }

    /// Returns the number of the first entry.
    pub fn first(&self) -> i128 {
        self.first
    }

    /// Returns the number of the last entry.
    pub fn last(&self) -> i128 {
        self.first + self.entries.len() as i128 - 1
    }

    /// Returns all entries.
    pub fn entries(&self) -> &Units {
        &self.entries
    }

    /// Returns whether any of these numbers lies below those that have entries, and whether any lies above.
    pub fn leaves_out(&self, numbers: Interval) -> (bool, bool) {
        (numbers.lo() < self.first, numbers.hi() > self.last())
    }

    /// Returns the form in which an executor looks numbers up, made once for all runs and parties of this process.
    pub fn kept<T: Any + Send + Sync>(&self, make: impl Fn() -> T) -> Arc<T> {
        let kept = self.kept.get_or_init(|| Arc::new(make())).clone();
        kept.downcast().unwrap_or_else(|_| Arc::new(make()))
    }

    /// Returns the entries of these numbers.
    pub(crate) fn apply(&self, numbers: &[i128]) -> Vec<i128> {
        let entries = self.entries.to_vec();
        let place = |x: i128| (x.clamp(self.first, self.last()) - self.first) as usize;
        numbers.iter().map(|&x| entries[place(x)]).collect()
    }

    /// Returns the range of the entries of these numbers.
    pub(crate) fn reach(&self, numbers: Interval) -> Interval {
        let place = |x: i128| (x.clamp(self.first, self.last()) - self.first) as usize;
        Interval::spanning(&self.entries.slice(place(numbers.lo())..place(numbers.hi()) + 1))
    }
}
