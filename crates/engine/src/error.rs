//! The errors of this crate, distinguished by who is at fault. A message says what happened, where, and what to do; it
//! never holds a secret.

use std::fmt;

use crate::costs::Phase;

/// The result type of this crate.
pub type Result<T> = std::result::Result<T, Error>;

/// A program step: the number that the executor gave it, and how to call it in a message.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Step {
    /// The step's number; smaller ones come first in the program.
    pub id: u32,
    /// The step's name in messages, for instance `lt at score.py:14`.
    pub name: std::sync::Arc<str>,
}

/// The reason why a run ended at another party. It travels in the abort message, so it has a fixed small encoding.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cause {
    /// That party lost contact with `peer`.
    Lost {
        /// The party that was lost.
        peer: usize,
    },
    /// That party received nothing from `peer` within the time-out.
    Silent {
        /// The party that was silent.
        peer: usize,
    },
    /// That party received nothing of what it waited for from `peer`, whose connection was alive.
    Stalled {
        /// The party that sent nothing.
        peer: usize,
    },
    /// That party's user stopped the run.
    Interrupted,
    /// That party refused its own input or request.
    Refused,
    /// A consistency check failed.
    Cheating,
    /// The parties are not running the same program.
    Mismatch,
    /// That party ran out of prepared correlations.
    Exhausted,
    /// That party needed more comparisons for an order than their schedule has.
    ScheduleOverflow,
    /// A defect of this software.
    Bug,
    /// That party ran out of memory.
    Memory,
    /// That party's session was over, by an earlier run that may have ended differently at this party.
    Over,
    /// `peer` left the session while that party waited for it.
    Left {
        /// The party that left.
        peer: usize,
    },
}

impl Cause {
    /// Returns whether the session is over after this cause, for every party.
    pub(crate) fn is_final(self) -> bool {
        use Cause::*;
        matches!(self, Lost { .. } | Silent { .. } | Cheating | Memory | Over | Left { .. })
    }
}

/// The reason why a run ended; the variants differ in who is at fault.
#[derive(Debug, thiserror::Error, Clone, PartialEq)]
pub enum Error {
    /// The caller's fault; nothing was sent.
    #[error("{what}")]
    Misuse {
        /// The mistake.
        what: Misuse,
    },
    /// A link failed, here or at another party.
    #[error("{}", link_message(*.peer, .fault, *.phase, .step, *.reported_by))]
    Net {
        /// The party at the other end of the link.
        peer: usize,
        /// The failure of the link.
        fault: Fault,
        /// The phase in which this party was.
        phase: Phase,
        /// The step at which this party waited.
        step: Option<std::sync::Arc<str>>,
        /// The party that found out, where it was not this one.
        reported_by: Option<usize>,
    },
    /// Another party gave up first.
    #[error("party {by} stopped the run: {}", cause_message(*.cause))]
    Aborted {
        /// The party that gave up.
        by: usize,
        /// The reason.
        cause: Cause,
    },
    /// A peer sent what no honest party sends.
    #[error(
        "party {peer} sent a malformed message ({what}); the run was stopped. Check that all parties run the same \
         version"
    )]
    Malformed {
        /// The party that sent it.
        peer: usize,
        /// The fault of the message.
        what: &'static str,
    },
    /// A check failed; nothing that depends on it was revealed.
    #[error("cheating detected: check `{check}` failed. Nothing was revealed; the session is closed")]
    Cheating {
        /// The check.
        check: &'static str,
    },
    /// A draw that no dry run recorded, or a second one of the same correlations.
    #[error(
        "a step wants {wanted} correlations, of which its plan left {left}. Nothing was revealed; please report this \
         defect with the program"
    )]
    Exhausted {
        /// Correlations asked for.
        wanted: usize,
        /// Correlations that are left.
        left: usize,
    },
    /// An order took more comparisons than its schedule has. That depends on the random shuffle alone.
    #[error(
        "an order took more comparisons than it makes room for. That happens in less than one of 500,000 orders, \
         whatever the data. Nothing was revealed; ask again"
    )]
    ScheduleOverflow,
    /// The parties do not run the same program.
    #[error("the parties are not running the same program: {0}")]
    Mismatch(Mismatch),
    /// A memory allocation failed during a run.
    #[error("out of memory: a piece of {bytes} bytes could not be had. The session is over")]
    OutOfMemory {
        /// The size of the piece; 0 if it was small.
        bytes: u64,
    },
    /// This party was interrupted.
    #[error("interrupted; every party was told to stop")]
    Interrupted,
    /// An earlier error closed the session.
    #[error(
        "this session can no longer be used: a peer was lost or cheated, a party ran out of memory, or a run was \
         stopped that is not to be done again. Open a new one"
    )]
    Poisoned,
    /// A defect of this software.
    #[error("internal defect: {what}. Please report it")]
    Bug {
        /// The failed expectation.
        what: &'static str,
    },
}

/// A caller's mistake, found before anything is sent.
#[derive(Debug, thiserror::Error, Clone, PartialEq, Eq)]
pub enum Misuse {
    /// A number of parties that the protocol does not run with.
    #[error("`{protocol}` runs with {takes} parties, not {parties}")]
    Parties {
        /// The protocol.
        protocol: &'static str,
        /// The numbers that it runs with.
        takes: &'static str,
        /// The number given.
        parties: usize,
    },
    /// A party that is not in the session, or this party where a peer is meant.
    #[error("party {party} does not exist: this session has {parties}")]
    NoSuchParty {
        /// The number given.
        party: usize,
        /// The number of parties.
        parties: usize,
    },
    /// A ring that is too small or too large.
    #[error("a ring of {bits} bits is too small or too large for this")]
    RingBits {
        /// k.
        bits: u32,
    },
    /// Operands that do not fit.
    #[error("{what}: operands have {left} and {right} elements")]
    Length {
        /// The operation.
        what: &'static str,
        /// Elements of the left operand.
        left: usize,
        /// Elements of the right operand.
        right: usize,
    },
    /// Anything else.
    #[error("{what}")]
    Other {
        /// The mistake, and what to do.
        what: &'static str,
    },
    /// Values that could not be read when a step needed them: their file changed, or is gone.
    #[error("{what}")]
    Source {
        /// The fault, and what to do.
        what: std::sync::Arc<str>,
    },
    /// A mistake at a step of the user's program.
    #[error("{step}: {what}")]
    Step {
        /// The step.
        step: std::sync::Arc<str>,
        /// The mistake.
        what: Box<Misuse>,
    },
    /// Values that their owner's own check refused.
    #[error("the input of step `{step}` was refused by its owner, party {owner}")]
    Input {
        /// The owner.
        owner: usize,
        /// The input's step.
        step: std::sync::Arc<str>,
    },
}

/// The way in which a link failed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Fault {
    /// The connection closed.
    Lost {
        /// The time for which a new connection was tried; 0 if none was, or if another party detected it.
        seconds: u64,
    },
    /// Nothing arrived, not even heartbeats.
    Silent {
        /// The length of the silence; 0 if another party detected it.
        seconds: u64,
    },
    /// Heartbeats arrived, but nothing of what this party waited for.
    Stalled {
        /// The length of the wait; 0 if another party detected it.
        seconds: u64,
    },
    /// Another failure, in the link's own words.
    Other(std::sync::Arc<str>),
}

/// The difference between the parties' programs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Mismatch {
    /// The first node that differs from `peer`'s program; `None` where one program is a prefix of the other.
    Program {
        /// The first party whose program differs from this party's.
        peer: usize,
        /// The node's number.
        node: Option<usize>,
        /// The node as it is in this party's program; empty where that has ended.
        here: std::sync::Arc<str>,
        /// The node as it is in `peer`'s program, in that party's words; empty where that has ended.
        there: std::sync::Arc<str>,
    },
    /// `peer` asks to reveal something else, or to another party.
    Request {
        /// The peer.
        peer: usize,
        /// This party's request; empty if it is not given.
        here: std::sync::Arc<str>,
    },
    /// `peer` chose other options for the session.
    Options {
        /// The peer.
        peer: usize,
        /// The peer's options.
        theirs: std::sync::Arc<str>,
        /// This party's options.
        ours: std::sync::Arc<str>,
    },
    /// `peer` is going to run the same program in another way.
    Plan {
        /// The peer.
        peer: usize,
    },
    /// `peer` left the session while another party waited for it.
    Left {
        /// The peer.
        peer: usize,
    },
}

/// A run may end well at one party and be interrupted at another. The interrupted party may then ask again for a step
/// that the first party has already finished.
const STEPS_APART: &str = "; where one party was interrupted at a step that others finished, and does it again, \
    interrupt all of them and start the script anew everywhere";

impl fmt::Display for Mismatch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Mismatch::Program { peer, node: Some(node), here, there } if here == there => {
                write!(
                    f,
                    "node {node} differs from that of party {peer}: it is {here} at both, with other public numbers, \
                     bounds or operands. Run the same script everywhere, with the same public values"
                )
            }
            Mismatch::Program { peer, node: Some(node), here, there } => {
                write!(
                    f,
                    "node {node} differs from that of party {peer}; here it is {here}, at party {peer} {there}. Run \
                     the same script everywhere"
                )
            }
            Mismatch::Program { peer, node: None, here, there } => {
                let more = match (here.is_empty(), there.is_empty()) {
                    (true, false) => format!(": it goes on with {there}, where this party's ends"),
                    (false, true) => format!(": it ends where this party's goes on with {here}"),
                    _ => String::new(),
                };
                write!(
                    f,
                    "party {peer}'s program has another length{more}. Run the same script everywhere{STEPS_APART}"
                )
            }
            Mismatch::Request { peer, here } => {
                let what = "reveals other values, or to another party";
                let asked = if here.is_empty() { String::new() } else { format!("; here it is {here}") };
                write!(f, "party {peer} {what}{asked}. Run the same script everywhere{STEPS_APART}")
            }
            Mismatch::Options { peer, theirs, ours } => {
                write!(f, "party {peer} chose {theirs}, this party {ours}. Give the same options at every party")
            }
            Mismatch::Plan { peer } => {
                write!(
                    f,
                    "party {peer} has another plan for it: other sharings, or other correlations. Say which sharings \
                     it shall run in, alike at every party, and please report this defect"
                )
            }
            Mismatch::Left { peer } => {
                write!(f, "party {peer} left the session while this party waits for it. Run the same script everywhere")
            }
        }
    }
}

/// The advice for a peer that is connected but sends nothing.
const ASK: &str = "Its program may hang, wait for another party, compute for longer, or hold a message back: ask who \
    runs it. Where it needs longer, raise stall_timeout_s in [limits] of party.toml; 0 waits for ever";

fn link_message(
    peer: usize,
    fault: &Fault,
    phase: Phase,
    step: &Option<std::sync::Arc<str>>,
    reported_by: Option<usize>,
) -> String {
    let what = match fault {
        Fault::Lost { seconds: 0 } => format!("party {peer} is gone: its connection closed"),
        Fault::Lost { seconds } => {
            format!("party {peer} is gone: its connection closed, and no new one was made within {seconds} s")
        }
        Fault::Silent { seconds: 0 } => format!("party {peer} was silent beyond the time-out"),
        Fault::Silent { seconds } => format!("party {peer} was silent for {seconds} s"),
        Fault::Stalled { seconds: 0 } => format!("party {peer} sent nothing that was waited for, within the time-out"),
        Fault::Stalled { seconds } => {
            format!("party {peer}, whose connection is alive, sent nothing that is waited for within {seconds} s")
        }
        Fault::Other(text) => format!("the link to party {peer} failed: {text}"),
    };
    let at = step.as_ref().map_or(String::new(), |s| format!(", at `{s}`"));
    let by = reported_by.map_or(String::new(), |p| format!(", as party {p} reports"));
    if let Fault::Stalled { .. } = fault {
        return format!("{what}{by} ({phase} phase{at}). {ASK}");
    }
    format!("{what}{by} ({phase} phase{at}). Check that party's process and network, then open a new session")
}

fn cause_message(cause: Cause) -> String {
    match cause {
        Cause::Lost { peer } => format!("it lost party {peer}"),
        Cause::Silent { peer } => format!("it heard nothing from party {peer}"),
        Cause::Stalled { peer } => format!("it got nothing that it waited for from party {peer}"),
        Cause::Interrupted => "its user interrupted it".into(),
        Cause::Refused => "it refused its own input or request; its own message says why".into(),
        Cause::Cheating => "a consistency check failed there".into(),
        Cause::Mismatch => "it runs another program, or in another way".into(),
        Cause::Exhausted => {
            "a step wants correlations that its plan did not count, a defect; its own message says more".into()
        }
        Cause::ScheduleOverflow => "an order took more comparisons than it makes room for; ask again".into(),
        Cause::Bug => "an internal defect; its own message says more".into(),
        Cause::Memory => "it ran out of memory, and the session is over".into(),
        Cause::Over => "there the session can no longer be used, after an earlier run. Open a new one".into(),
        Cause::Left { peer } => format!("party {peer} left the session while it waited"),
    }
}

impl Error {
    pub(crate) const fn bug(what: &'static str) -> Self {
        Error::Bug { what }
    }

    /// Returns the cause that is sent to the peers.
    pub(crate) fn cause(&self) -> Cause {
        match self {
            Error::Net { peer, fault: Fault::Silent { .. }, .. } => Cause::Silent { peer: *peer },
            Error::Net { peer, fault: Fault::Stalled { .. }, .. } => Cause::Stalled { peer: *peer },
            Error::Net { peer, .. } => Cause::Lost { peer: *peer },
            Error::Aborted { cause, .. } => *cause,
            Error::Misuse { .. } => Cause::Refused,
            Error::Cheating { .. } | Error::Malformed { .. } => Cause::Cheating,
            Error::Mismatch(Mismatch::Left { peer }) => Cause::Left { peer: *peer },
            Error::Mismatch(_) => Cause::Mismatch,
            Error::Exhausted { .. } => Cause::Exhausted,
            Error::ScheduleOverflow => Cause::ScheduleOverflow,
            Error::Interrupted => Cause::Interrupted,
            Error::OutOfMemory { .. } => Cause::Memory,
            Error::Poisoned => Cause::Over,
            Error::Bug { .. } => Cause::Bug,
        }
    }

    /// Returns the party that gave up first, as far as this party (`me`) can tell.
    pub(crate) fn origin(&self, me: usize) -> usize {
        match self {
            Error::Net { reported_by: Some(by), .. } | Error::Aborted { by, .. } => *by,
            _ => me,
        }
    }

    /// Returns whether the session is over: a peer was lost or left, a party cheated or sent a malformed message,
    /// memory ran out, or some party has keys that must not be used again. After any other error the session can be
    /// used again.
    pub fn is_final(&self) -> bool {
        match self {
            // A peer that hangs may come back. Families whose parties may cheat give up their keys by themselves.
            Error::Net { fault: Fault::Stalled { .. }, .. } => false,
            Error::Net { .. } | Error::Cheating { .. } | Error::Malformed { .. } | Error::Poisoned => true,
            // Work that was under way may be half done, and its correlations drawn again.
            Error::OutOfMemory { .. } => true,
            Error::Aborted { cause, .. } => cause.is_final(),
            Error::Mismatch(Mismatch::Left { .. }) => true,
            _ => false,
        }
    }
}

impl From<Misuse> for Error {
    fn from(what: Misuse) -> Self {
        Error::Misuse { what }
    }
}
