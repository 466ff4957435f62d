//! What limits the memory of a run.

/// What limits the memory of a run, at one party.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Limit {
    /// Nothing but what is sane.
    None,
    /// What users named.
    Named(u64),
    /// What is free where there is least.
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

    /// The same kind of limit, of so many bytes less.
    pub fn less(self, by: u64) -> Limit {
        match self {
            Limit::None => Limit::None,
            Limit::Named(bytes) => Limit::Named(bytes.saturating_sub(by)),
            Limit::Free(bytes) => Limit::Free(bytes.saturating_sub(by)),
        }
    }
}
