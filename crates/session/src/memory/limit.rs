//! The limit on the memory of a run.

/// The limit on the memory of a run, at one party.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Limit {
    /// No limit but the defaults.
    None,
    /// The limit that users set.
    Named(u64),
    /// The free memory of the party that has the least.
    Free(u64),
}

impl Limit {
    pub fn named(bytes: Option<u64>) -> Limit {
        bytes.map_or(Limit::None, Limit::Named)
    }

    pub fn bytes(self) -> Option<u64> {
        match self {
            Limit::None => None,
            Limit::Named(bytes) | Limit::Free(bytes) => Some(bytes),
        }
    }

    /// Returns the same variant, lower by `by` bytes.
    pub fn less(self, by: u64) -> Limit {
        match self {
            Limit::None => Limit::None,
            Limit::Named(bytes) => Limit::Named(bytes.saturating_sub(by)),
            Limit::Free(bytes) => Limit::Free(bytes.saturating_sub(by)),
        }
    }
}
