//! What workloads are listed under: a protocol, or the transfers that protocols of two parties are made of.

use std::fmt;

use quorate_protocols::Protocol;

use crate::cell::Workload;

/// A set of workloads, by the name that `quorate bench --protocol` takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Set {
    /// Those that a family's descriptor names.
    Of(Protocol),
    /// Oblivious transfers of two parties.
    Transfers,
}

impl Set {
    /// All of them, in the table's order.
    pub fn all() -> Vec<Set> {
        Protocol::ALL.iter().map(|&protocol| Set::Of(protocol)).chain([Set::Transfers]).collect()
    }

    /// The one that users call so.
    pub fn named(name: &str) -> Option<Set> {
        Set::all().into_iter().find(|set| set.name() == name)
    }

    /// How users call it.
    pub fn name(self) -> &'static str {
        match self {
            Set::Of(protocol) => protocol.name(),
            Set::Transfers => "ot",
        }
    }

    /// The numbers of parties that it is measured with.
    pub fn parties(self) -> &'static [usize] {
        match self {
            Set::Of(protocol) => protocol.descriptor().parties.usual,
            Set::Transfers => &[2],
        }
    }

    /// Workloads, or families of workloads.
    pub(crate) fn workloads(self) -> &'static [&'static str] {
        match self {
            Set::Of(protocol) => protocol.descriptor().workloads,
            Set::Transfers => &["ot-cot", "ot-triples", "ot-bit-triples"],
        }
    }

    /// The most elements that a batch has of it.
    pub(crate) fn most_elements(self) -> usize {
        match self {
            Set::Of(protocol) => protocol.descriptor().most_elements,
            Set::Transfers => 100_000,
        }
    }

    /// Whether a workload is one of it.
    pub fn has(self, workload: Workload) -> bool {
        [workload.name(), workload.family()].iter().any(|name| self.workloads().contains(name))
    }
}

/// The names of all of them, for messages.
pub(crate) fn names() -> String {
    Set::all().iter().map(|set| set.name()).collect::<Vec<_>>().join(", ")
}

impl fmt::Display for Set {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}
