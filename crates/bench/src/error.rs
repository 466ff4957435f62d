//! The errors of a benchmark.

use quorate_engine::{Cause, Error};
use quorate_net::NetError;

use crate::cell::Cell;
use crate::set::Set;

/// The defect of a job without a task.
pub(crate) const NO_TASK: Error = Error::Bug { what: "a benchmark's jobs came out of order" };

/// The reason why a benchmark stopped. A wrong result is an error, and has no figure.
#[derive(Debug, Clone, thiserror::Error)]
pub enum BenchError {
    /// An unknown workload.
    #[error("there is no workload {name:?}; choose from {}", crate::cell::names().join(", "))]
    UnknownWorkload {
        /// The name that was given.
        name: String,
    },
    /// A protocol without measurements.
    #[error("no benchmarks for protocol {name:?}; there are some for {}", crate::set::names())]
    UnknownProtocol {
        /// The name that was given.
        name: String,
    },
    /// A workload that the selected protocol does not have.
    #[error("workload {name:?} is one of another protocol than {protocol}")]
    UnderAnother {
        /// The workload.
        name: String,
        /// The protocol.
        protocol: String,
    },
    /// A workload of homomorphic encryption, in a build without it.
    #[error(
        "workload {name} needs homomorphic encryption, which released wheels lack: build the package from its source \
         with `make build FEATURES=he`, or leave the workload out"
    )]
    NoCiphertexts {
        /// The workload.
        name: &'static str,
    },
    /// An option that the protocol does not have.
    #[error("{set} has no option {name}={value}; `quorate protocols` lists what there is")]
    Option {
        /// The name of the option.
        name: String,
        /// The value that was given.
        value: String,
        /// The set that is measured.
        set: Set,
    },
    /// Options that cannot be combined.
    #[error("{0}")]
    Choices(Error),
    /// Unknown links.
    #[error("there are no links {name:?}: memory, tls, lan, wan, or RTT_MS/MBIT, as 70/100")]
    UnknownLinks {
        /// The name that was given.
        name: String,
    },
    /// Rings over which no selected workload is measured.
    #[error("nothing here is measured over the rings asked for; there is k = {}", listed(there))]
    NoSuchRing {
        /// The bits of the rings that are measured.
        there: Vec<u32>,
    },
    /// A result that differs from that of its operands in the clear: a defect.
    #[error("{cell}: wrong result at party {party}, element {element}. Please report this defect")]
    Wrong {
        /// The cell of the result.
        cell: Cell,
        /// The party that has the result.
        party: usize,
        /// The place of the result among all, from 0.
        element: usize,
    },
    /// An execution that failed at a party.
    #[error("{cell}: {source}")]
    Run {
        /// The cell that was executed.
        cell: Cell,
        /// The reason of the failure.
        source: Error,
    },
    /// The setup of the parties failed.
    #[error("opening the parties: {0}")]
    Setup(Error),
    /// The links between the parties could not be opened.
    #[error("opening the links: {0}")]
    Links(#[from] NetError),
    /// The system refused an action.
    #[error("{action}: {kind}")]
    Io {
        /// The action, for messages.
        action: &'static str,
        /// The kind of the error.
        kind: std::io::ErrorKind,
    },
    /// The thread of a party ended without a reply: a defect.
    #[error("the thread of party {party} ended unexpectedly. Please report this defect")]
    PartyGone {
        /// The party of the thread.
        party: usize,
    },
    /// The user stopped the benchmark.
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

    /// Returns whether the error only says that another party failed.
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
