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

    /// The same kind of limit, of half as many bytes, or half of these where that is less.
    pub fn halved(self, most: u64) -> Limit {
        let half = |bytes: u64| bytes.min(most) / 2;
        match self {
            Limit::None => Limit::None,
            Limit::Named(bytes) => Limit::Named(half(bytes)),
            Limit::Free(bytes) => Limit::Free(half(bytes)),
        }
    }
}
