//! Errors between parties: the party, the place, and what to do.

use std::fmt;
use std::io;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use crate::release::Release;

/// The place of a peer: a network address, or this process.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Place(Option<Arc<str>>);

impl Place {
    /// A thread of this process.
    pub const HERE: Place = Place(None);

    /// Returns a network address, as configured.
    pub fn at(address: &str) -> Self {
        Place(Some(address.into()))
    }
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.0 {
            Some(address) => f.write_str(address),
            None => f.write_str("this process"),
        }
    }
}

/// A failure of a link, of a peer, or of this party's own configuration. Cheap to clone.
#[derive(Clone, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum NetError {
    /// The peer's process ended or its connection was cut.
    #[error(
        "party {peer} ({place}) is gone: its process ended or the connection was cut{}; look at that party's output \
         first",
        Tried(*tried)
    )]
    Lost {
        /// The peer's number.
        peer: usize,
        /// The peer's last place.
        place: Place,
        /// The time for which a new connection was tried; zero if none was.
        tried: Duration,
    },

    /// The peer was connected and left again before all parties were there.
    #[error(
        "party {peer} ({place}) left while party {missing} had not come: start party {missing}, or look at party \
         {peer}'s output"
    )]
    LeftEarly {
        /// The peer's number.
        peer: usize,
        /// The peer's last place.
        place: Place,
        /// A party that was never seen.
        missing: usize,
    },

    /// Nothing arrived from the peer for too long, not even heartbeats.
    #[error(
        "party {peer} ({place}) has been silent for {:.1} s: its process is frozen or the network drops its packets{}",
        silent.as_secs_f64(),
        Tried(*tried)
    )]
    Timeout {
        /// The peer's number.
        peer: usize,
        /// The peer's last place.
        place: Place,
        /// The length of the silence.
        silent: Duration,
        /// The time for which a new connection was tried; zero if none was.
        tried: Duration,
    },

    /// A frame above the limit, on the way out or announced by a peer.
    #[error("a frame of {bytes} bytes to or from party {peer} is above the limit of {limit} bytes")]
    FrameTooLarge {
        /// The peer's number.
        peer: usize,
        /// Size of the frame in bytes.
        bytes: usize,
        /// The limit in bytes.
        limit: usize,
    },

    /// The peer's bytes are not what this version of the program sends.
    #[error("party {peer} ({place}) sent bytes that are no Quorate frame: {what}; the connection is closed")]
    Malformed {
        /// The peer's number.
        peer: usize,
        /// The peer's place.
        place: Place,
        /// The fault.
        what: &'static str,
    },

    /// The number is this party's own, or not below the number of parties.
    #[error("there is no peer {peer} for party {me} of {parties}")]
    NoSuchPeer {
        /// The number asked for.
        peer: usize,
        /// This party's number.
        me: usize,
        /// The number of parties.
        parties: usize,
    },

    /// The caller's stop flag was raised while connecting.
    #[error("connecting was interrupted")]
    Interrupted,

    /// Every peer has failed and each failure has been reported.
    #[error("every peer has failed; nothing can arrive any more")]
    NoPeersLeft,

    /// The peer's certificate is not the one pinned for it, or the peer does not accept this party's.
    #[error(
        "{who} and this party do not accept each other's certificates ({why}); compare the fingerprints that `quorate \
         keygen` printed and exchange the .crt files again",
        who = Who(*peer, place)
    )]
    Refused {
        /// The peer's number, where known.
        peer: Option<usize>,
        /// The peer's place.
        place: Place,
        /// The side that refused, and its reason.
        why: Refusal,
    },

    /// Two processes claim one party's number.
    #[error(
        "two processes run as party {party} (seen at {place}); each party runs once: check `me` in the configurations"
    )]
    DuplicateParty {
        /// The number claimed twice.
        party: usize,
        /// The place where the second process was seen, or the peer that saw it.
        place: Place,
    },

    /// The peer has a different number of parties, or takes this party for another.
    #[error(
        "party {peer} ({place}) was set up for other parties ({what}); all parties must list the same parties in the \
         same order"
    )]
    Misconfigured {
        /// The peer's number.
        peer: usize,
        /// The peer's place.
        place: Place,
        /// The difference.
        what: &'static str,
    },

    /// Another process listens on this address already, and does not share the port.
    #[error("{address} is in use by another process{why}")]
    PortInUse {
        /// The address.
        address: String,
        /// Why the port is not shared, and what to do.
        why: InUse,
    },

    /// Another session of this party has the same name.
    #[error(
        "session {session:?} is open at this party already, {}; wait for its end, or give this one another name at all \
         parties (--session NAME, session=\"NAME\")",
        Process(*process)
    )]
    SessionOpen {
        /// The session.
        session: String,
        /// The process that opened it first.
        process: u32,
    },

    /// Parties run or ran, but have not opened the session.
    #[error(
        "{} not opened session {session:?} within {:.0} s, {}; start the same script there, or give the session \
         one name at all parties (--session NAME, session=\"NAME\")",
        Parties(parties, *gone),
        waited.as_secs_f64(),
        Others(*other_options),
    )]
    NotOpened {
        /// The parties.
        parties: Vec<usize>,
        /// The session.
        session: String,
        /// The time that this party waited.
        waited: Duration,
        /// Whether one of them has opened a session of this name with other options.
        other_options: bool,
        /// Whether one of them could not be reached any more.
        gone: bool,
    },

    /// The peer could not be reached in time.
    #[error(
        "party {peer} did not connect via {address} within {:.0} s ({last}); start it, and check the address and the \
         firewall",
        waited.as_secs_f64()
    )]
    ConnectTimeout {
        /// The peer's number.
        peer: usize,
        /// The address at which it should be.
        address: String,
        /// The time that this party waited.
        waited: Duration,
        /// The last event.
        last: Attempt,
    },

    /// The host name of a party, perhaps this one, does not resolve at any name service that this machine asks.
    #[error(
        "the host name in {address:?}, the address of party {party}, does not resolve: correct it, or look at the name \
         service of this machine"
    )]
    Unresolved {
        /// The party with this address.
        party: usize,
        /// The address, as configured.
        address: String,
    },

    /// The peer's messages have another version.
    #[error(
        "party {peer} ({place}) has {}, and this party has {}: install releases of one wire version at all parties, \
         such as the same release",
        Speaks(*theirs, *release), Speaks(*ours, Some(Release::OURS))
    )]
    VersionMismatch {
        /// The peer's number.
        peer: usize,
        /// The peer's place.
        place: Place,
        /// The peer's wire version.
        theirs: u32,
        /// This party's wire version.
        ours: u32,
        /// The peer's release; `None` if it is too old to state it.
        release: Option<Release>,
    },

    /// A key or certificate file that cannot be used.
    #[error("{}: {what}", path.display())]
    BadKey {
        /// The file.
        path: PathBuf,
        /// The fault, and what to do.
        what: KeyProblem,
    },

    /// A configuration that cannot work.
    #[error("cannot connect: {0}")]
    BadConfig(ConfigProblem),

    /// The operating system refused something.
    #[error("{} failed: {source}", action)]
    Io {
        /// The attempted action.
        action: &'static str,
        /// The system's error.
        #[source]
        source: Arc<io::Error>,
    },
}

impl NetError {
    /// Returns the peer at fault, if there is one.
    pub fn peer(&self) -> Option<usize> {
        match self {
            NetError::Lost { peer, .. }
            | NetError::LeftEarly { peer, .. }
            | NetError::Timeout { peer, .. }
            | NetError::FrameTooLarge { peer, .. }
            | NetError::Malformed { peer, .. }
            | NetError::NoSuchPeer { peer, .. }
            | NetError::Misconfigured { peer, .. }
            | NetError::ConnectTimeout { peer, .. }
            | NetError::Unresolved { party: peer, .. }
            | NetError::VersionMismatch { peer, .. } => Some(*peer),
            NetError::Refused { peer, .. } => *peer,
            NetError::NotOpened { parties, .. } => parties.first().copied(),
            _ => None,
        }
    }
}

/// The side that refused a certificate.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Refusal {
    /// The peer showed a certificate that is pinned for no party, or for another one.
    #[error("its certificate is not the pinned one")]
    ByUs,
    /// The peer refused the certificate of this party.
    #[error("it refused this party's certificate")]
    ByPeer,
}

/// The reason why a port in use is not shared.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum InUse {
    /// No session of this user has the port.
    #[error(
        "; stop it or choose another port (sessions share a port where they are of one party and one deployment, of \
         one user, and in one container)"
    )]
    Elsewhere,
    /// Sessions of this user have the port, as another party or in a deployment of another size.
    #[error(", whose sessions are of another party or another deployment; choose another port for this party")]
    OtherParties,
    /// A process of this user has the port, and does not answer.
    #[error(", which does not answer; continue or stop it if it is suspended (Ctrl-Z), and try again")]
    Silent,
    /// Processes cannot use the folder in which they find each other.
    #[error(", and sessions cannot share the port: the folder {} {fault}", folder.display())]
    NotShared {
        /// The folder.
        folder: PathBuf,
        /// The fault, and what to do.
        fault: FolderFault,
    },
}

/// The fault of the folder in which the processes of one user find each other.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum FolderFault {
    /// It is not there, and cannot be made.
    #[error("cannot be made ({0}); set XDG_RUNTIME_DIR to a folder of your own, the same one for all sessions")]
    NotMade(io::ErrorKind),
    /// A file or a link has its name.
    #[error("is a file or a link; remove it")]
    NoFolder,
    /// It belongs to another user.
    #[error("belongs to another user; set XDG_RUNTIME_DIR to a folder of your own, the same one for all sessions")]
    Foreign,
    /// Other users can enter it.
    #[error("is open to other users; run chmod 700 on it")]
    Open,
    /// Other users can replace it.
    #[error(
        "can be replaced by other users, who may write to the folder above it; set XDG_RUNTIME_DIR to a folder of your \
         own, the same one for all sessions"
    )]
    Exposed,
    /// Files in it cannot be made or locked.
    #[error(
        "takes no files or locks ({0}); make room in it, or set XDG_RUNTIME_DIR to a folder of your own, the same one \
         for all sessions"
    )]
    NoFiles(io::ErrorKind),
    /// The path of a socket in it has more bytes than the system takes.
    #[error(
        "has too long a path for a socket in it; set XDG_RUNTIME_DIR to a folder of your own with a path of at most 60 \
         bytes, the same one for all sessions"
    )]
    LongPath,
}

/// The fault of a key or certificate file.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum KeyProblem {
    /// The file cannot be read.
    #[error("cannot be read ({0}); make keys with `quorate keygen`")]
    Unreadable(io::ErrorKind),
    /// The file cannot be written.
    #[error("cannot be written ({0})")]
    Unwritable(io::ErrorKind),
    /// `keygen` would overwrite the file.
    #[error("exists already and is not overwritten; move it away to make a new one")]
    Exists,
    /// The PEM file lacks its expected content.
    #[error("holds no {0} in PEM form")]
    Empty(&'static str),
    /// The key is of a type that TLS cannot use here.
    #[error("is not a usable key; make one with `quorate keygen`")]
    Unusable,
    /// Key and certificate do not belong together.
    #[error("does not belong to the certificate configured for this party")]
    Mismatch,
    /// Other users may read the private key.
    #[error("can be read by other users; run chmod 600 on it")]
    TooOpen,
    /// The generator failed.
    #[error("could not be generated")]
    NotGenerated,
}

/// The fault of a configuration.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ConfigProblem {
    /// This party's number is not below the number of parties.
    #[error("this party's number is {me}, and the number of parties is {parties}: they are numbered from 0")]
    Me {
        /// The number.
        me: usize,
        /// The number of parties.
        parties: usize,
    },
    /// An address that cannot be parsed.
    #[error("the address {0:?} is not of the form host:port")]
    Address(String),
    /// A party without a certificate, or with more than two.
    #[error("party {party} has {count} certificates; it needs one, or two while one takes the other's place")]
    Certificates {
        /// The party's number.
        party: usize,
        /// The number of its certificates.
        count: usize,
    },
    /// Two parties have the same certificate.
    #[error("parties {0} and {1} have the same certificate; every party has its own")]
    SameCertificate(usize, usize),
    /// No parties, or more than can be numbered.
    #[error("the number of parties is {0}; it must be between 2 and 1000")]
    Parties(usize),
    /// A name that no session may have.
    #[error(
        "a session cannot be named {0:?}: a name has 1 to 64 bytes of letters, digits and punctuation, and spaces only \
         between them"
    )]
    Session(String),
    /// A time-out that is not longer than the heartbeat.
    #[error("the peer time-out must be at least twice the heartbeat")]
    Heartbeat,
}

/// The last event while connecting.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Attempt {
    /// This party waits for the peer to dial.
    #[error("it never called")]
    NeverCalled,
    /// The host name of the peer has not been resolved.
    #[error("its host name does not resolve")]
    Unresolved,
    /// Dialling failed.
    #[error("dialling it: {0}")]
    Dial(io::ErrorKind),
    /// This party and the peer are connected; the peer still waits for others.
    #[error("it is there, but still waits for another party")]
    WaitsForOthers,
    /// The connection was made, but the handshake did not end.
    #[error("it answered, but did not finish the handshake")]
    Handshake,
    /// The peer runs, but has not opened the session.
    #[error("it runs, but has not opened the session")]
    NotOpen {
        /// Whether it has opened a session of the same name with other options.
        other_options: bool,
        /// Whether it could not be reached after that.
        gone: bool,
    },
}

impl Attempt {
    /// Returns the event of a peer that runs and has not opened the session.
    pub(crate) fn not_open(other_options: bool) -> Attempt {
        Attempt::NotOpen { other_options, gone: false }
    }

    /// Returns the event to report after a next one. A peer that replied, and ended before this party gave up, explains
    /// more than a connection that is refused.
    pub(crate) fn followed_by(self, next: Attempt) -> Attempt {
        match (self, next) {
            (Attempt::NotOpen { other_options, .. }, Attempt::Dial(_)) => {
                Attempt::NotOpen { other_options, gone: true }
            }
            _ => next,
        }
    }
}

struct Process(u32);

impl fmt::Display for Process {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            this if this == std::process::id() => f.write_str("in this process"),
            other => write!(f, "in process {other}"),
        }
    }
}

/// The parties, and whether one of them is gone.
struct Parties<'a>(&'a [usize], bool);

impl fmt::Display for Parties<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (last, others) = self.0.split_last().unwrap_or((&0, &[]));
        match others {
            [] => write!(f, "party {last}")?,
            _ => {
                let others: Vec<String> = others.iter().map(usize::to_string).collect();
                write!(f, "parties {} and {last}", others.join(", "))?;
            }
        }
        let (verb, auxiliary) = match (self.1, others) {
            (true, _) => ("ran", "had"),
            (false, []) => ("runs", "has"),
            (false, _) => ("run", "have"),
        };
        write!(f, " {verb}, but {auxiliary}")
    }
}

struct Others(bool);

impl fmt::Display for Others {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self.0 {
            true => "but one of this name with another protocol or other options: compare those of all parties",
            false => "only others",
        })
    }
}

struct Tried(Duration);

impl fmt::Display for Tried {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            Duration::ZERO => Ok(()),
            tried => write!(f, ", and no new connection was made within {:.1} s", tried.as_secs_f64()),
        }
    }
}

struct Who<'a>(Option<usize>, &'a Place);

/// A party's wire version, and its release if that is known.
struct Speaks(u32, Option<Release>);

impl fmt::Display for Speaks {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.1 {
            Some(release) => write!(f, "wire version {} (release {release})", self.0),
            None => write!(f, "wire version {} (an older release)", self.0),
        }
    }
}

impl fmt::Display for Who<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            Some(peer) => write!(f, "party {peer} ({})", self.1),
            None => write!(f, "somebody at {}", self.1),
        }
    }
}
