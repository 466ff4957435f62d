//! Errors as exceptions of `quorate.errors`.

use pyo3::exceptions::PyKeyboardInterrupt;
use pyo3::prelude::*;

use quorate_engine::{Cause, Error, Fault};
use quorate_graph::Category;
use quorate_net::NetError;
use quorate_ring::memory::guarded;
use quorate_session::SessionError;

/// Returns the exception for an error, with its message.
pub(crate) fn raise(py: Python<'_>, error: &SessionError) -> PyErr {
    match class_of(error) {
        Some(name) => instance(py, name, error.to_string()),
        None => PyKeyboardInterrupt::new_err(()),
    }
}

/// Calls `work`, which may run out of memory.
///
/// # Errors
/// `ResourceError`.
pub(crate) fn roomy<T>(work: impl FnOnce() -> T) -> PyResult<T> {
    guarded(work).map_err(|short| Python::attach(|py| raise(py, &short.into())))
}

/// Returns the exception for a thread that asks for values while a request of its own to this session is checked.
pub(crate) fn nested(py: Python<'_>) -> PyErr {
    let what = "a request of this thread is being checked: do not ask for other values in a hook for warnings, or in \
                a signal handler";
    instance(py, "SessionBusy", what.into())
}

/// Returns the exception for a request that this program has cancelled.
pub(crate) fn cancelled(py: Python<'_>) -> PyErr {
    instance(py, "RunAborted", "this request was cancelled".into())
}

/// Returns an exception of `quorate.errors` by its name.
pub(crate) fn instance(py: Python<'_>, name: &str, message: String) -> PyErr {
    match py.import("quorate.errors").and_then(|module| module.getattr(name)).and_then(|c| c.call1((message,))) {
        Ok(instance) => PyErr::from_value(instance),
        Err(import) => import,
    }
}

/// Returns the name of the class; `None` for an interrupt.
fn class_of(error: &SessionError) -> Option<&'static str> {
    Some(match error {
        SessionError::Engine(error) => return class_of_engine(error),
        SessionError::Net(error) | SessionError::OtherOptions { error, .. } => class_of_link(error),
        SessionError::Build(error) => match error.kind() {
            Category::Shape => "ShapeError",
            Category::Dtype => "DtypeError",
            Category::Range => "RangeError",
            Category::Config => "ConfigError",
        },
        SessionError::Network(_)
        | SessionError::UnknownProtocol { .. }
        | SessionError::Option { .. }
        | SessionError::OtherProtocol { .. }
        | SessionError::ConfigFile { .. }
        | SessionError::ConfigMe { .. }
        | SessionError::ConfigLine { .. }
        | SessionError::Threads(_)
        | SessionError::Audit { .. }
        | SessionError::NoValues { .. }
        | SessionError::Memory { .. } => "ConfigError",
        SessionError::NoPools
        | SessionError::NoPool { .. }
        | SessionError::PoolsUnlike
        | SessionError::OldPool { .. }
        | SessionError::PoolClosed
        | SessionError::PoolDeadThere { .. }
        | SessionError::PoolNumbers { .. }
        | SessionError::PoolBehind { .. }
        | SessionError::PoolCampaign
        | SessionError::PoolNotClosed { .. }
        | SessionError::NotPoolable { .. }
        | SessionError::PoolBranch
        | SessionError::MakesPool
        | SessionError::MakesNoPool
        | SessionError::Pool(_) => "ConfigError",
        SessionError::PoolExhausted { .. } => "PoolExhausted",
        SessionError::NotApproved { .. } | SessionError::OtherProgram { .. } => "NotApproved",
        SessionError::NoBranches | SessionError::MostBranches | SessionError::NotAdopted => "ConfigError",
        SessionError::Busy => "SessionBusy",
        SessionError::TooLittle { .. } | SessionError::OutOfMemory { .. } | SessionError::NoRoom { .. } => {
            "ResourceError"
        }
        SessionError::Closed | SessionError::Forked | SessionError::BranchOver | SessionError::WornOut => {
            "SessionClosed"
        }
        SessionError::WorkerGone => "QuorateError",
    })
}

fn class_of_engine(error: &Error) -> Option<&'static str> {
    Some(match error {
        Error::Misuse { .. } => "ConfigError",
        Error::Net { fault: Fault::Silent { .. } | Fault::Stalled { .. }, .. } => "PeerTimeout",
        Error::Net { .. } => "PeerLost",
        Error::Aborted { cause: Cause::Memory, .. } | Error::OutOfMemory { .. } => "ResourceError",
        Error::Aborted { cause: Cause::Cheating, .. } | Error::Cheating { .. } => "CheatingDetected",
        Error::Aborted { cause: Cause::Mismatch, .. } | Error::Mismatch(_) => "ProgramMismatch",
        Error::Aborted { cause: Cause::Lost { .. }, .. } => "PeerLost",
        Error::Aborted { cause: Cause::Silent { .. } | Cause::Stalled { .. }, .. } => "PeerTimeout",
        Error::Aborted { cause: Cause::Over, .. } | Error::Poisoned => "SessionClosed",
        Error::Aborted { cause: Cause::Interrupted | Cause::Refused, .. } => "PeerEnded",
        Error::Aborted { .. } | Error::Malformed { .. } | Error::ScheduleOverflow => "RunAborted",
        Error::Exhausted { .. } => "PoolExhausted",
        Error::Interrupted => return None,
        Error::Bug { .. } => "QuorateError",
    })
}

fn class_of_link(error: &NetError) -> &'static str {
    match error {
        NetError::Timeout { .. } | NetError::ConnectTimeout { .. } | NetError::NotOpened { .. } => "PeerTimeout",
        NetError::Lost { .. }
        | NetError::LeftEarly { .. }
        | NetError::NoPeersLeft
        | NetError::Io { .. }
        | NetError::Malformed { .. } => "PeerLost",
        _ => "ConfigError",
    }
}

/// Issues a `RangeWarning` at the user's line.
///
/// # Errors
/// The warning itself, where the user's filters turn it into an exception.
pub(crate) fn warn(py: Python<'_>, warning: &quorate_graph::BuildError) -> PyResult<()> {
    let category = py.import("quorate.errors")?.getattr("RangeWarning")?;
    let (file, line) = (warning.at.file.to_string(), warning.at.line);
    py.import("warnings")?.call_method1("warn_explicit", (warning.to_string(), category, file, line))?;
    Ok(())
}
