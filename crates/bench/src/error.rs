//! What can end a benchmark.

use quorate_engine::{Cause, Error};
use quorate_net::NetError;

use crate::cell::Cell;
use crate::set::Set;

/// Why a benchmark stopped. A wrong result is an error like any other: no figure is reported for it.
#[derive(Debug, Clone, thiserror::Error)]
pub enum BenchError {
    /// A workload that there is not.
    #[error("there is no workload {name:?}; choose from {}", crate::cell::names().join(", "))]
    UnknownWorkload {
        /// The name given.
        name: String,
    },
    /// A protocol that nothing is measured for.
    #[error("no benchmarks for protocol {name:?}; there are some for {}", crate::set::names())]
    UnknownProtocol {
        /// The name given.
        name: String,
    },
    /// A workload that the protocol asked for does not have.
    #[error("workload {name:?} is one of another protocol than {protocol}")]
    UnderAnother {
        /// The workload.
        name: String,
        /// The protocol.
        protocol: String,
    },
    /// An option that the protocol does not have.
    #[error("{set} has no option {name}={value}; `quorate protocols` lists what there is")]
    Option {
        /// Its name.
        name: String,
        /// The value asked for.
        value: String,
        /// What is measured.
        set: Set,
    },
    /// Options that do not go together.
    #[error("{0}")]
    Choices(Error),
    /// Links that there are not.
    #[error("there are no links {name:?}: memory, tls, lan, wan, or RTT_MS/MBIT, as 70/100")]
    UnknownLinks {
        /// The name given.
        name: String,
    },
    /// Rings over which nothing of what is asked for is measured.
    #[error("nothing here is measured over the rings asked for; there is k = {}", listed(there))]
    NoSuchRing {
        /// Bits of those that there are.
        there: Vec<u32>,
    },
    /// A result that is not what its operands give in the clear: a defect.
    #[error("{cell}: wrong result at party {party}, element {element}. Please report this defect")]
    Wrong {
        /// Where.
        cell: Cell,
        /// The party that has it.
        party: usize,
        /// Its place among the results, from 0.
        element: usize,
    },
    /// An execution that failed at some party.
    #[error("{cell}: {source}")]
    Run {
        /// What was executed.
        cell: Cell,
        /// Why it failed.
        source: Error,
    },
    /// Parties that could not be opened.
    #[error("opening the parties: {0}")]
    Setup(Error),
    /// Links between the parties that could not be opened.
    #[error("opening the links: {0}")]
    Links(#[from] NetError),
    /// The system refused something.
    #[error("{action}: {kind}")]
    Io {
        /// What was being done, for messages.
        action: &'static str,
        /// How it was refused.
        kind: std::io::ErrorKind,
    },
    /// The thread of a party ended without a word: a defect.
    #[error("the thread of party {party} ended unexpectedly. Please report this defect")]
    PartyGone {
        /// Whose thread.
        party: usize,
    },
    /// The user stopped it.
    #[error("interrupted")]
    Interrupted,
}

fn listed(numbers: &[u32]) -> String {
    numbers.iter().map(u32::to_string).collect::<Vec<_>>().join(", ")
}

impl BenchError {
    pub(crate) fn io(action: &'static str) -> impl FnOnce(std::io::Error) -> BenchError {
        move |error| BenchError::Io { action, kind: error.kind() }
    }

    /// Whether this only says that another party failed.
    pub(crate) fn is_echo(&self) -> bool {
        match self {
            BenchError::Run { source, .. } | BenchError::Setup(source) => {
                matches!(source, Error::Aborted { .. } | Error::Net { .. })
            }
            _ => false,
        }
    }

    pub(crate) fn is_interrupt(&self) -> bool {
        match self {
            BenchError::Interrupted => true,
            BenchError::Run { source, .. } | BenchError::Setup(source) => {
                matches!(source, Error::Interrupted | Error::Aborted { cause: Cause::Interrupted, .. })
            }
            _ => false,
        }
    }
}
