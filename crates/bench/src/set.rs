//! Sets of workloads: those of a protocol, or the transfers that protocols of two parties are made of.

use std::fmt;

use quorate_engine::Misuse;
use quorate_gadgets::{Choices, Family};
use quorate_protocols::{Protocol, Visit};

use crate::cell::Workload;
use crate::error::BenchError;

/// A set of workloads, by the name that `quorate bench --protocol` takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Set {
    /// The workloads that a family's descriptor lists.
    Of(Protocol),
    /// Oblivious transfers of two parties.
    Transfers,
}

impl Set {
    /// Returns all sets, in the table's order.
    pub fn all() -> Vec<Set> {
        Protocol::ALL.iter().map(|&protocol| Set::Of(protocol)).chain([Set::Transfers]).collect()
    }

    /// Returns the set with this name.
    pub fn named(name: &str) -> Option<Set> {
        Set::all().into_iter().find(|set| set.name() == name)
    }

    /// Returns the set's name.
    pub fn name(self) -> &'static str {
        match self {
            Set::Of(protocol) => protocol.name(),
            Set::Transfers => "ot",
        }
    }

    /// Returns the numbers of parties that it is measured with.
    pub fn parties(self) -> &'static [usize] {
        match self {
            Set::Of(protocol) => protocol.descriptor().parties.usual,
            Set::Transfers => &[2],
        }
    }

    /// Returns the set with each of these numbers of parties, or with those that it is measured with.
    ///
    /// # Errors
    /// [`BenchError::Setup`] for a number of parties that it does not support.
    pub fn places(self, parties: &[usize]) -> Result<Vec<(Set, usize)>, BenchError> {
        let parties = if parties.is_empty() { self.parties() } else { parties };
        for &parties in parties {
            match self {
                Set::Of(protocol) => protocol.check_parties(parties),
                Set::Transfers if self.parties().contains(&parties) => Ok(()),
                Set::Transfers => Err(Misuse::Parties { protocol: self.name(), takes: "2", parties }.into()),
            }
            .map_err(BenchError::Setup)?;
        }
        Ok(parties.iter().map(|&parties| (self, parties)).collect())
    }

    /// Reads options of its family, by name.
    ///
    /// # Errors
    /// [`BenchError::Option`] for options that the family does not have, and [`BenchError::Choices`] for options that
    /// cannot be combined.
    pub fn choices(self, asked: &[(String, String)]) -> Result<Choices, BenchError> {
        struct Check<'a>(&'a Choices);
        impl Visit for Check<'_> {
            type Out = quorate_engine::Result<()>;
            fn family<F: Family>(self) -> Self::Out {
                F::check_choices(self.0)
            }
        }
        let mut choices = Choices::default();
        for (name, value) in asked {
            let option = match self {
                Set::Of(protocol) => protocol.descriptor().option(name),
                Set::Transfers => None,
            };
            if !option.is_some_and(|option| choices.choose(option, value)) {
                return Err(BenchError::Option { name: name.clone(), value: value.clone(), set: self });
            }
        }
        if let Set::Of(protocol) = self {
            protocol.visit(Check(&choices)).map_err(BenchError::Choices)?;
        }
        Ok(choices)
    }

    /// Returns the names of workloads, or of families of workloads.
    pub(crate) fn workloads(self) -> &'static [&'static str] {
        match self {
            Set::Of(protocol) => protocol.descriptor().workloads,
            Set::Transfers => &["ot-cot", "ot-triples", "ot-bit-triples"],
        }
    }

    /// Returns the largest number of elements of a batch.
    pub(crate) fn most_elements(self) -> usize {
        match self {
            Set::Of(protocol) => protocol.descriptor().most_elements,
            Set::Transfers => 100_000,
        }
    }

    /// Returns whether a workload belongs to the set.
    pub fn has(self, workload: Workload) -> bool {
        [workload.name(), workload.family()].iter().any(|name| self.workloads().contains(name))
    }
}

/// Returns the names of all sets, for messages.
pub(crate) fn names() -> String {
    Set::all().iter().map(|set| set.name()).collect::<Vec<_>>().join(", ")
}

impl fmt::Display for Set {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}
