//! The number of values that a party has opened: what is computed on, and what was revealed to it.

/// The number of values that a party has opened so far: without the results that were revealed to it (`opened`), and
/// with them (`all`).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Openings {
    pub(crate) opened: u64,
    pub(crate) all: u64,
}
