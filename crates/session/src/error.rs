//! The errors of a session.

use std::path::PathBuf;

use quorate_engine::{BRANCH_RUNS, BRANCHES, Cause, Error};
use quorate_graph::{BuildError, NetworkError};
use quorate_net::NetError;
use quorate_pool::PoolError;
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
    /// A line of the user's program is wrong.
    #[error("{0}")]
    Build(#[from] BuildError),
    /// A text that does not name a network.
    #[error("{0}")]
    Network(#[from] NetworkError),
    /// A name that is not that of a protocol.
    #[error("unknown protocol {name:?}; this release has {known}")]
    UnknownProtocol {
        /// The name that was given.
        name: String,
        /// The names of all protocols, with commas between.
        known: String,
    },
    /// A value that its option does not have.
    #[error("{name}={given:?} is not known; there is {known}")]
    Option {
        /// The option, as a keyword of the session.
        name: String,
        /// The value that was given.
        given: String,
        /// The values of the option, quoted, with commas between.
        known: String,
    },
    /// An option that only other protocols have.
    #[error("{name}={given:?} is for the protocol {takes}; {protocol:?} has no use for it")]
    OtherProtocol {
        /// The option, as a keyword of the session.
        name: String,
        /// The value that was given.
        given: String,
        /// The protocols that have the option, quoted.
        takes: String,
        /// The protocol of this session.
        protocol: &'static str,
    },
    /// A configuration that cannot be read or is wrong.
    #[error("{}: {what}", path.display())]
    ConfigFile {
        /// The path of the file.
        path: PathBuf,
        /// The mistake, with its place in the file where there is one.
        what: String,
    },
    /// A configuration whose `me` is not the number of a party in it.
    #[error(
        "{}: `me` is {me}, and the number of parties in the file is {parties} (they are numbered from 0)",
        path.display()
    )]
    ConfigMe {
        /// The path of the file.
        path: PathBuf,
        /// The party's number in it.
        me: usize,
        /// The number of parties in it.
        parties: usize,
    },
    /// An address of the configuration that does not resolve.
    #[error("{}, line {line}: {error}", path.display())]
    ConfigLine {
        /// The path of the file.
        path: PathBuf,
        /// The line that contains the address, from 1.
        line: usize,
        /// The error of connecting.
        error: NetError,
    },
    /// Parties opened a session of the same default name with other options.
    #[error("{error}. This party has {options}")]
    OtherOptions {
        /// The error of connecting.
        error: NetError,
        /// The options of this party that must agree.
        options: String,
    },
    /// The system cannot start another thread.
    #[error("{0}")]
    Threads(quorate_ring::RingError),
    /// A call that changes the program of a deployment, or asks for values, while another request is under way.
    #[error(
        "a request of this session is under way, and requests of several threads may come in another order at another \
         party: wait for it, or give each thread a branch (mpc.branch) or a session of its own (session=)"
    )]
    Busy,
    /// A branch of a session that can have none.
    #[error(
        "a branch needs a session of \"rss\", \"aby\" or semi-honest \"pika\", without max_memory, that is no branch \
         itself: open a session of another name (session=)"
    )]
    NoBranches,
    /// A branch of a session with a pool.
    #[error(
        "a session with a pool has no branches, which would take correlations a second time: open a session of another \
         name with a pool of its own (session=, pool=)"
    )]
    PoolBranch,
    /// The storage of the pool.
    #[error("{0}")]
    Pool(#[from] PoolError),
    /// A pool of a protocol without pools, or of a local session.
    #[error("a pool is for deployments, with a protocol that has pools: open this session without pool=")]
    NoPools,
    /// A session whose pool some parties do not have.
    #[error(
        "the pool of this session is not there at every party (not at {parties}): name the same pool at all parties; \
         or remove its folder where it is, and all parties make one together with `quorate preprocess`"
    )]
    NoPool {
        /// The numbers of the parties without a pool, with commas between.
        parties: String,
    },
    /// Parties with pools that were not made together.
    #[error(
        "the pools of the parties were not made together: name the same pool at all parties, or remove its folder at \
         all parties and make it again with `quorate preprocess`"
    )]
    PoolsUnlike,
    /// A party whose pool is older than that of the others.
    #[error(
        "the pool of party {party} is behind those of the others, as after the restore of a backup: what it still has \
         may have been used. Remove the pool's folder at all parties, and make the pool again"
    )]
    OldPool {
        /// The party.
        party: usize,
    },
    /// A pool is to be made where another one with secrets has correlations left.
    #[error(
        "the pool of this party has correlations left. Where parties may cheat, a pool is made in one session, and \
         cannot be added to: give `quorate preprocess` another folder, or all scripts at once"
    )]
    PoolClosed,
    /// Another party says that this pool is dead. It is erased here, too.
    #[error(
        "the pool of this session has ended at party {party}, and was erased here, too: make the pool again, at all \
         parties"
    )]
    PoolDeadThere {
        /// The party.
        party: usize,
    },
    /// A party states other numbers of its pool than this party can confirm.
    #[error(
        "party {party} states that {theirs} bundles of a lot of the pool were {what}, and this party has made {ours}: \
         one of the two has another disk than when the pool was made, or states a wrong number. Nothing was given up"
    )]
    PoolNumbers {
        /// The party.
        party: usize,
        /// What the numbers are of, as a participle.
        what: &'static str,
        /// That party's number.
        theirs: u32,
        /// This party's number.
        ours: u32,
    },
    /// A party whose pool with secrets is older than that of another one, if both state what is right.
    #[error(
        "the pools of parties {party} and {most} do not fit: party {party} states that it has reserved {reserved} \
         bundles of a lot, and party {most} states {other}. One has restored a backup, or states a wrong number. \
         Nothing was given up; make the pool again if a backup was restored"
    )]
    PoolBehind {
        /// The party that has reserved less.
        party: usize,
        /// Its number.
        reserved: u32,
        /// A party that has reserved most.
        most: usize,
        /// Its number.
        other: u32,
    },
    /// A pool that could not be changed at the end of a session, or after a run that failed.
    #[error(
        "the pool of this session was not closed, and what was not used of it is lost: {why}. Where parties may cheat, \
         remove its folder at all parties and make the pool again"
    )]
    PoolNotClosed {
        /// The reason.
        why: String,
    },
    /// Submissions of clients in a session with a pool, where parties may cheat.
    #[error(
        "a session with a pool reads no submissions of clients where parties may cheat: open this session without pool="
    )]
    PoolCampaign,
    /// A run for which the pool has no correlations left.
    #[error(
        "the pool has {}: this run needs {needs}. Make more with `quorate preprocess` for this script at all parties{}",
        if *has_lot { "no correlations left for this run" } else { "never had correlations for this run" },
        levels(others)
    )]
    PoolExhausted {
        /// The correlations of the run, with commas between.
        needs: String,
        /// Whether the pool had correlations for such runs.
        has_lot: bool,
        /// The numbers of other runs for which all parties have correlations, with commas between.
        others: String,
    },
    /// A step whose correlations a pool cannot hold.
    #[error(
        "{step} needs {kind}, which no pool can hold: compute it without garbled circuits (no .to(\"Y\")), or open the \
         session without pool="
    )]
    NotPoolable {
        /// The description of the step, with its line.
        step: String,
        /// The kind of correlation.
        kind: String,
    },
    /// A run in a session that makes correlations for a pool.
    #[error("this session makes correlations for a pool, and reveals nothing: plan the runs of the program instead")]
    MakesPool,
    /// Correlations for a pool are asked for in another session than one that makes them.
    #[error("this session makes no correlations for a pool: open it with a pool to make")]
    MakesNoPool,
    /// A call on a branch in which a request was interrupted.
    #[error(
        "a request of this branch was interrupted, here or at another party, which ends the branch: make another branch"
    )]
    BranchOver,
    /// A request of a branch that has had all requests that there are numbers for.
    #[error("this branch has had {} requests, the most that it may have: make another branch", BRANCH_RUNS / 2)]
    WornOut,
    /// A session has had all the branches that there are numbers for.
    #[error("this session has had {BRANCHES} branches, the most that there may be: open a new session")]
    MostBranches,
    /// An array that a branch does not have from its session.
    #[error(
        "adopt: the array had no value when the branch was made: reveal something that depends on it before that, or \
         build it in the branch"
    )]
    NotAdopted,
    /// A call on a session that is closed.
    #[error("this session is closed; open a new one")]
    Closed,
    /// A call on a session whose parties' threads are in the process that this one was forked from.
    #[error(
        "this session was opened in the process that was forked, and its parties' threads are there: open one in this \
         process, or start processes without fork (multiprocessing's \"spawn\")"
    )]
    Forked,
    /// A run that does not fit the limit that the user set.
    #[error(
        "{at} needs {} at one party, with its operands, its result and what the session holds{}, but max_memory is {}: \
         allow more, let go of arrays (del), or run the computation in parts",
        size(*need_bytes, true), turns(*of_turns), size(*limit_bytes, false)
    )]
    Memory {
        /// The step that needs the most memory, with its line, or what the session holds.
        at: String,
        /// Predicted memory of one party at that step, including what the session holds.
        need_bytes: u64,
        /// The part of it for the largest turn of correlations made in turns, for any step.
        of_turns: u64,
        /// The limit for one party (`max_memory`).
        limit_bytes: u64,
    },
    /// A run that does not fit the free memory.
    #[error(
        "{at} needs {} at each party beside what the session holds, with its operands and its result, but {} {}: \
         run the computation in parts, let go of arrays (del), or run it where there is more memory",
        size(*need_bytes, true), who(*party, *sharing), size(*free_bytes, false)
    )]
    TooLittle {
        /// The step that needs the most memory, with its line, or what the session holds.
        at: String,
        /// Predicted memory of one party at that step, without what the session holds.
        need_bytes: u64,
        /// The memory that is free at the party with the least.
        free_bytes: u64,
        /// The party with the least free memory.
        party: usize,
        /// The number of parties that share this process, and its memory.
        sharing: usize,
    },
    /// The system refused memory during a run. The session is over.
    #[error(
        "out of memory: {} could not be had; the plan of this run is {} at each party. The session is over. Run \
         the computation in parts, under a smaller max_memory, or where there is more memory",
        piece(*asked_bytes), size(*planned_bytes, true)
    )]
    OutOfMemory {
        /// The size of the allocation that failed; 0 where it is not known.
        asked_bytes: u64,
        /// The predicted memory of the run at one party.
        planned_bytes: u64,
    },
    /// The system refused memory for values outside of a run.
    #[error("out of memory: {} for these values could not be had", piece(*asked_bytes))]
    NoRoom {
        /// The size of the allocation that failed; 0 where it is not known.
        asked_bytes: u64,
    },
    /// A run whose plan is not approved.
    #[error(
        "this run is not approved, so nothing of it is sent: program {hash}, which reveals {reveals}. As far as hashes \
         tell, {differs}. `quorate explain` shows the whole plan; what is approved stands in --approve or in `approve` \
         of party.toml"
    )]
    NotApproved {
        /// The hash of the run, after those before it.
        hash: String,
        /// The reveals of the run: values, receivers, and whose inputs they depend on.
        reveals: String,
        /// The difference from what is approved, as far as it is known.
        differs: String,
    },
    /// A run that reveals what depends on submissions, and is not among those that the campaign names.
    #[error(
        "this run reveals what depends on clients of a campaign, and the campaign does not name its program, {hash}: \
         nothing of it is sent. `quorate explain` shows its plan; clients can give their values to a campaign that \
         names it"
    )]
    OtherProgram {
        /// The hash of the run, after those before it.
        hash: String,
    },
    /// The log of reveals cannot be written.
    #[error(
        "the audit log {} cannot be written: {what}; a run that is not logged does not begin, and shows nothing",
        path.display()
    )]
    Audit {
        /// The path of the file.
        path: PathBuf,
        /// The message of the system.
        what: String,
    },
    /// An input of this party that a run needs has no values.
    #[error("no values were given for {what}; pass them to `input` at party {owner}")]
    NoValues {
        /// The description of the input, with its line.
        what: String,
        /// The owner of the input.
        owner: usize,
    },
    /// A party's thread ended without a reply: a defect of this software.
    #[error("a party's thread ended unexpectedly; please report this defect")]
    WorkerGone,
}

impl SessionError {
    /// Returns whether a request that failed so ends the branch that it was of. Parties that interrupt several requests
    /// in a row could take one for another.
    pub(crate) fn ends_branch(&self) -> bool {
        matches!(self, SessionError::Engine(Error::Interrupted | Error::Aborted { cause: Cause::Interrupted, .. }))
    }

    /// Returns whether all parties refuse a session or a run for this reason or a related one, before anything of it is
    /// sent. Each finds it by what all have told, and goes on once all have.
    pub(crate) fn is_of_all_parties(&self) -> bool {
        use SessionError::{NoPool, NotPoolable, OldPool, Pool, PoolBehind, PoolDeadThere, PoolExhausted};
        use SessionError::{PoolNumbers, PoolsUnlike};
        matches!(
            self,
            PoolExhausted { .. }
                | NotPoolable { .. }
                | NoPool { .. }
                | PoolsUnlike
                | OldPool { .. }
                | PoolDeadThere { .. }
                | PoolNumbers { .. }
                | PoolBehind { .. }
                | Pool(PoolError::Dead { .. })
        )
    }

    /// Returns whether a run ended so because a party did not follow the protocol, or was said not to.
    pub(crate) fn is_deviation(&self) -> bool {
        use Error::{Aborted, Cheating, Malformed};
        matches!(
            self,
            SessionError::Engine(Cheating { .. } | Malformed { .. } | Aborted { cause: Cause::Cheating, .. })
        )
    }

    /// Returns this error of a party, or an earlier one of another party that explains more. An abort only says which
    /// party stopped.
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

    /// Turns an error of a run into one of the session; the run was predicted to take `planned_bytes` at a party.
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

/// Describes an allocation by its size; the size of small ones is not known.
fn piece(bytes: u64) -> String {
    if bytes == 0 { "a small piece".into() } else { format!("a piece of {}", size(bytes, true)) }
}

/// Describes which parties have too little memory: one, or all that share this process.
fn who(party: usize, sharing: usize) -> String {
    match sharing {
        1 => format!("party {party} has"),
        _ => format!("each of the {sharing} parties in this process has"),
    }
}

/// Describes how much of the memory is for correlations made in turns.
fn turns(bytes: u64) -> String {
    match bytes {
        0 => String::new(),
        _ => format!(" ({} of it for correlations, which are made in turns)", size(bytes, true)),
    }
}

/// Describes what a pool has for other runs.
fn levels(others: &str) -> String {
    match others {
        "" => String::new(),
        _ => format!(" (it has correlations for other runs: {others} times)"),
    }
}

/// Formats a size in megabytes, or in kilobytes below ten megabytes. `up`: rounds up, for what is needed; otherwise
/// down, for what is allowed.
fn size(bytes: u64, up: bool) -> String {
    let (unit, name) = if bytes < 10_000_000 { (1_000, "kB") } else { (1_000_000, "MB") };
    let whole = if up { bytes.div_ceil(unit) } else { bytes / unit };
    format!("{whole} {name}")
}
