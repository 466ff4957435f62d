//! What can end a benchmark.

use quorate_engine::{Cause, Error};
use quorate_net::NetError;

use crate::cell::Cell;

/// Why a benchmark stopped. A wrong result is an error like any other: no figure is reported for it.
#[derive(Debug, Clone, thiserror::Error)]
pub enum BenchError {
    #[error("there is no workload {name:?}; choose from {}", crate::cell::names().join(", "))]
    UnknownWorkload { name: String },
    #[error("no benchmarks for protocol {name:?}; there are some for {}", crate::set::names())]
    UnknownProtocol { name: String },
    #[error("workload {name:?} is one of another protocol than {protocol}")]
    UnderAnother { name: String, protocol: String },
    #[error("{cell}: wrong result at party {party}, element {element}. Please report this defect")]
    Wrong { cell: Cell, party: usize, element: usize },
    #[error("{cell}: {source}")]
    Run { cell: Cell, source: Error },
    #[error("opening the parties: {0}")]
    Setup(Error),
    #[error("opening the links: {0}")]
    Links(#[from] NetError),
    #[error("{action}: {kind}")]
    Io { action: &'static str, kind: std::io::ErrorKind },
    #[error("the thread of party {party} ended unexpectedly. Please report this defect")]
    PartyGone { party: usize },
    #[error("interrupted")]
    Interrupted,
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
