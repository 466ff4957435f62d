//! Whatever a session can refuse or fail with.

use std::path::PathBuf;

use quorate_engine::Error;
use quorate_graph::{BuildError, NetworkError};
use quorate_net::NetError;
use quorate_ring::memory::OutOfMemory;

/// Why a session cannot be opened, refuses what is asked of it, or ended.
#[derive(Debug, Clone, thiserror::Error)]
pub enum SessionError {
    /// A call or a run that failed in the protocol, here or at another party.
    #[error("{0}")]
    Engine(#[from] Error),
    /// Connecting to the other parties failed.
    #[error("{0}")]
    Net(#[from] NetError),
    /// A line of the user's program that is wrong.
    #[error("{0}")]
    Build(#[from] BuildError),
    /// A text that names no network.
    #[error("{0}")]
    Network(#[from] NetworkError),
    /// A name that no protocol has.
    #[error("unknown protocol {name:?}; this release has {known}")]
    UnknownProtocol {
        /// The name given.
        name: String,
        /// The names that there are, with commas between.
        known: String,
    },
    /// A choice that its option does not have.
    #[error("{name}={given:?} is not known; there is {known}")]
    Option {
        /// The option, as a keyword of the session.
        name: String,
        /// What was chosen.
        given: String,
        /// The choices that there are, quoted, with commas between.
        known: String,
    },
    /// A choice that only other protocols have.
    #[error("{name}={given:?} is for the protocol {takes}; {protocol:?} has no use for it")]
    OtherProtocol {
        /// The option, as a keyword of the session.
        name: String,
        /// What was chosen.
        given: String,
        /// The protocols that have the option, quoted.
        takes: String,
        /// The protocol of this session.
        protocol: &'static str,
    },
    /// A configuration that cannot be read or is wrong.
    #[error("{}: {what}", path.display())]
    ConfigFile {
        /// Of the file.
        path: PathBuf,
        /// The mistake, with its place in the file where there is one.
        what: String,
    },
    /// A configuration of a party that it does not list.
    #[error(
        "{}: `me` is {me}, and the number of parties in the file is {parties} (they are numbered from 0)",
        path.display()
    )]
    ConfigMe {
        /// Of the file.
        path: PathBuf,
        /// The party's number in it.
        me: usize,
        /// How many parties it lists.
        parties: usize,
    },
    /// An address of the configuration that does not resolve.
    #[error("{}, line {line}: {error}", path.display())]
    ConfigLine {
        /// Of the file.
        path: PathBuf,
        /// The line that has the address, from 1.
        line: usize,
        /// What kept this party from connecting.
        error: NetError,
    },
    /// The system has no more threads to give.
    #[error("{0}")]
    Threads(quorate_ring::RingError),
    /// Something was asked of a session that was closed.
    #[error("this session is closed; open a new one")]
    Closed,
    /// Something was asked of a session whose parties' threads are in the process that this one was forked from.
    #[error(
        "this session was opened in the process that was forked, and its parties' threads are there: open one in this \
         process, or start processes without fork (multiprocessing's \"spawn\")"
    )]
    Forked,
    /// A run that does not fit the limit which the user set.
    #[error(
        "{at} needs {} at one party, with its operands, its result and what the session holds{}, but max_memory is {}: \
         allow more, let go of arrays (del), or run the computation in parts",
        size(*need_bytes, true), turns(*of_turns), size(*limit_bytes, false)
    )]
    Memory {
        /// The step that needs the most, with its line, or what the session holds.
        at: String,
        /// Predicted memory of one party at that step, with what the session holds.
        need_bytes: u64,
        /// What of it is for the largest turn of correlations that are made in turns, for whichever step.
        of_turns: u64,
        /// What the user allows one party (`max_memory`).
        limit_bytes: u64,
    },
    /// A run that does not fit the memory that is free.
    #[error(
        "{at} needs {} at each party beside what the session holds, with its operands and its result, but {} {}: \
         run the computation in parts, let go of arrays (del), or run it where there is more memory",
        size(*need_bytes, true), who(*party, *sharing), size(*free_bytes, false)
    )]
    TooLittle {
        /// The step that needs the most, with its line, or what the session holds.
        at: String,
        /// Predicted memory of one party at that step, beside what the session holds.
        need_bytes: u64,
        /// What the party with the least has for that.
        free_bytes: u64,
        /// That party.
        party: usize,
        /// How many parties share this process, and its memory.
        sharing: usize,
    },
    /// The system gave no memory during a run. The session is over.
    #[error(
        "out of memory: {} could not be had; the plan of this run is {} at each party. The session is over. Run \
         the computation in parts, under a smaller max_memory, or where there is more memory",
        piece(*asked_bytes), size(*planned_bytes, true)
    )]
    OutOfMemory {
        /// The piece that could not be had; 0 where its size is not known.
        asked_bytes: u64,
        /// What the run was predicted to take at one party.
        planned_bytes: u64,
    },
    /// The system gave no memory for values outside of a run.
    #[error("out of memory: {} for these values could not be had", piece(*asked_bytes))]
    NoRoom {
        /// The piece that could not be had; 0 where its size is not known.
        asked_bytes: u64,
    },
    /// A run whose plan nobody has approved.
    #[error(
        "this run is not approved, so nothing of it is sent: program {hash}, which reveals {reveals}. As far as hashes \
         tell, {differs}. `quorate explain` shows the whole plan; what is approved stands in --approve or in `approve` \
         of party.toml"
    )]
    NotApproved {
        /// Of the run, after those before.
        hash: String,
        /// What it would reveal, to whom, and of whose inputs.
        reveals: String,
        /// What is known of the difference.
        differs: String,
    },
    /// The log of what is revealed cannot be written.
    #[error(
        "the audit log {} cannot be written: {what}; a run that is not logged does not begin, and shows nothing",
        path.display()
    )]
    Audit {
        /// Of the file.
        path: PathBuf,
        /// What the system says.
        what: String,
    },
    /// A run needs an input of this party's that has no values.
    #[error("no values were given for {what}; pass them to `input` at party {owner}")]
    NoValues {
        /// The input as messages describe it, with its line.
        what: String,
        /// The party whose input it is.
        owner: usize,
    },
    /// A party's thread ended without a word: a defect of this software.
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

/// What the correlations that are made in turns take of it.
fn turns(bytes: u64) -> String {
    match bytes {
        0 => String::new(),
        _ => format!(" ({} of it for correlations, which are made in turns)", size(bytes, true)),
    }
}

/// Megabytes, or kilobytes of less than ten of them: what is needed rounds up, what is allowed down.
fn size(bytes: u64, up: bool) -> String {
    let (unit, name) = if bytes < 10_000_000 { (1_000, "kB") } else { (1_000_000, "MB") };
    let whole = if up { bytes.div_ceil(unit) } else { bytes / unit };
    format!("{whole} {name}")
}
