//! Whatever a session can refuse or fail with.

use std::path::PathBuf;

use quorate_engine::Error;
use quorate_graph::{BuildError, NetworkError};
use quorate_net::NetError;
use quorate_ring::memory::OutOfMemory;

#[derive(Debug, Clone, thiserror::Error)]
pub enum SessionError {
    #[error("{0}")]
    Engine(#[from] Error),
    #[error("{0}")]
    Net(#[from] NetError),
    #[error("{0}")]
    Build(#[from] BuildError),
    #[error("{0}")]
    Network(#[from] NetworkError),
    #[error("unknown protocol {name:?}; this release has {known}")]
    UnknownProtocol { name: String, known: String },
    #[error("{name}={given:?} is not known; there is {known}")]
    Option { name: String, given: String, known: String },
    #[error("{name}={given:?} is for the protocol {takes}; {protocol:?} has no use for it")]
    OtherProtocol { name: String, given: String, takes: String, protocol: &'static str },
    #[error("{}: {what}", path.display())]
    ConfigFile { path: PathBuf, what: String },
    #[error("{}: `me` is {me}, but the file lists {parties} parties (numbered from 0)", path.display())]
    ConfigMe { path: PathBuf, me: usize, parties: usize },
    #[error("{}, line {line}: {error}", path.display())]
    ConfigLine { path: PathBuf, line: usize, error: NetError },
    #[error("{0}")]
    Threads(quorate_ring::RingError),
    #[error("this session is closed; open a new one")]
    Closed,
    #[error(
        "this session was opened in the process that was forked, and its parties' threads are there: open one in this \
         process, or start processes without fork (multiprocessing's \"spawn\")"
    )]
    Forked,
    #[error(
        "{at} needs {} at one party, with its operands, its result and what the session holds, but max_memory is {}: \
         allow more, let go of arrays (del), or run the computation in parts",
        size(*need_bytes, true), size(*limit_bytes, false)
    )]
    Memory { at: String, need_bytes: u64, limit_bytes: u64 },
    #[error(
        "{at} needs {} at each party beside what the session holds, with its operands and its result, but {} {}: \
         run the computation in parts, let go of arrays (del), or run it where there is more memory",
        size(*need_bytes, true), who(*party, *sharing), size(*free_bytes, false)
    )]
    TooLittle { at: String, need_bytes: u64, free_bytes: u64, party: usize, sharing: usize },
    #[error(
        "out of memory: {} could not be had; the plan of this run is {} at each party. The session is over. Run \
         the computation in parts, under a smaller max_memory, or where there is more memory",
        piece(*asked_bytes), size(*planned_bytes, true)
    )]
    OutOfMemory { asked_bytes: u64, planned_bytes: u64 },
    #[error("out of memory: {} for these values could not be had", piece(*asked_bytes))]
    NoRoom { asked_bytes: u64 },
    #[error("no values were given for {what}; pass them to `input` at party {owner}")]
    NoValues { what: String, owner: usize },
    #[error("a party's thread ended unexpectedly; please report this defect")]
    WorkerGone,
}

impl SessionError {
    /// This error of a party, or an earlier one of another that tells more about the reason: an abort only says who
    /// stopped.
    pub(crate) fn or_more_telling(self, earlier: Option<SessionError>) -> SessionError {
        let rank = |error: &SessionError| match error {
            SessionError::Engine(Error::Aborted { .. }) => 3,
            SessionError::Engine(Error::Net { reported_by: Some(_), .. }) => 2,
            SessionError::Engine(Error::Net { .. }) => 1,
            _ => 0,
        };
        match earlier {
            Some(earlier) if rank(&earlier) <= rank(&self) => earlier,
            _ => self,
        }
    }

    /// An error of a run whose plan was so many bytes at a party.
    pub(crate) fn beside_plan(error: Error, planned_bytes: u64) -> Self {
        match error {
            Error::OutOfMemory { bytes: asked_bytes } => SessionError::OutOfMemory { asked_bytes, planned_bytes },
            error => error.into(),
        }
    }
}

impl From<OutOfMemory> for SessionError {
    fn from(short: OutOfMemory) -> Self {
        SessionError::NoRoom { asked_bytes: short.bytes as u64 }
    }
}

/// A piece of memory; of a small one nobody knows the size.
fn piece(bytes: u64) -> String {
    if bytes == 0 { "a small piece".into() } else { format!("a piece of {}", size(bytes, true)) }
}

/// Who has too little: a party, or all those that share this process.
fn who(party: usize, sharing: usize) -> String {
    match sharing {
        1 => format!("party {party} has"),
        _ => format!("each of the {sharing} parties in this process has"),
    }
}

/// Megabytes, or kilobytes of less than ten of them: what is needed rounds up, what is allowed down.
fn size(bytes: u64, up: bool) -> String {
    let (unit, name) = if bytes < 10_000_000 { (1_000, "kB") } else { (1_000_000, "MB") };
    let whole = if up { bytes.div_ceil(unit) } else { bytes / unit };
    format!("{whole} {name}")
}
