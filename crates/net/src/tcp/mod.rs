//! Links over TCP: TLS 1.3, with both ends identified by pinned certificates.
//!
//! ```text
//!   scheduler's thread                      service thread
//!   send ──► seal ──► socket                every few ms, while the scheduler computes:
//!   recv ◄── open ◄── socket ◄── poll         drain sockets into inboxes, hand queued bytes over
//!                                           every second: heartbeats
//! ```
//! The scheduler drives the sockets itself, without a thread switch. While it computes, the service thread keeps
//! draining the links and sending heartbeats. Each link is one socket with its TLS state and queues behind one lock,
//! held for a few records at a time.
//!
//! | file | what |
//! |---|---|
//! | `keys` | key and certificate files |
//! | `pinned` | the accepted certificates |
//! | `names`, `draws` | addresses of parties; random numbers and pauses |
//! | `knock`, `callers` | what strangers can take up before they are known |
//! | `session` | the names of sessions |
//! | `port`, `door`, `neighbours`, `folder` | one port for all sessions of a party, in one process or several |
//! | `connect`, `handshake`, `hello` | from addresses to connections |
//! | `channel`, `frames`, `incoming`, `exporter` | bytes on the wire to frames and back, without I/O |
//! | `inherited`, `per_process` | the sockets that forks of the process close; what each fork has for itself |
//! | `wire`, `link` | one connection; one link, over one connection after the other |
//! | `resend`, `claim`, `resume` | what a new connection needs to continue a link |
//! | `net`, `service` | the two threads that drive the links |

pub(crate) mod callers;
pub(crate) mod channel;
pub(crate) mod claim;
mod connect;
mod door;
mod draws;
mod exporter;
#[cfg(target_os = "linux")]
mod folder;
pub(crate) mod frames;
mod handshake;
pub(crate) mod hello;
mod incoming;
mod inherited;
pub(crate) mod keys;
pub(crate) mod knock;
mod link;
mod names;
#[cfg(target_os = "linux")]
pub(crate) mod neighbours;
#[cfg(not(target_os = "linux"))]
#[path = "no_neighbours.rs"]
pub(crate) mod neighbours;
mod net;
mod per_process;
pub(crate) mod pinned;
mod port;
mod resend;
mod resume;
mod service;
pub(crate) mod session;
mod wire;

use std::io;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

pub use hello::VERSION as WIRE_VERSION;
pub use inherited::inherited_sockets;
pub use keys::{Fingerprint, keygen};
pub use net::TcpNet;
pub use session::SessionName;

use crate::{ConfigProblem, NetError};

/// The largest number of parties in a configuration.
const MAX_PARTIES: usize = 1000;

/// The public configuration of one party.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PartyConfig {
    /// `host:port` at which it can be reached.
    pub address: String,
    /// The party's certificate (PEM), or two while one takes the other's place: only holders of these are accepted as
    /// this party.
    pub certificates: Vec<PathBuf>,
}

/// A party's configuration for connecting.
#[derive(Clone, Debug)]
pub struct TcpConfig {
    /// This party's number.
    pub me: usize,
    /// Every party, this one included, in the order of their numbers.
    pub parties: Vec<PartyConfig>,
    /// This party's private key (PEM).
    pub key: PathBuf,
    /// The address to listen at, if it is not this party's own.
    pub listen: Option<String>,
    /// The session to open. Sessions of several programs share the parties' ports, and those of one name meet.
    pub session: SessionName,
    /// The time to wait for all peers together.
    pub connect_timeout: Duration,
    /// The silence after which a connection counts as lost. A slow peer is not silent: a party sends heartbeats while
    /// it computes.
    pub peer_timeout: Duration,
    /// The time to try for a new connection after one was lost, before the peer counts as lost; zero: none is tried.
    /// It should exceed `peer_timeout`, since one end may notice a loss that much later than the other.
    pub reconnect_timeout: Duration,
    /// The time between two heartbeats on a link on which nothing else is sent.
    pub heartbeat: Duration,
    /// A flag that another thread raises to give up connecting.
    pub stop: Option<Arc<AtomicBool>>,
}

impl TcpConfig {
    /// Returns a configuration with the usual time-outs: 30 s to connect, 10 s of silence, 30 s for another connection,
    /// a heartbeat every second.
    pub fn new(me: usize, parties: Vec<PartyConfig>, key: PathBuf) -> Self {
        TcpConfig {
            me,
            parties,
            key,
            listen: None,
            session: SessionName::default(),
            connect_timeout: Duration::from_secs(30),
            peer_timeout: Duration::from_secs(10),
            reconnect_timeout: Duration::from_secs(30),
            heartbeat: Duration::from_secs(1),
            stop: None,
        }
    }

    fn check(&self) -> Result<(), NetError> {
        let parties = self.parties.len();
        let problem = if !(2..=MAX_PARTIES).contains(&parties) {
            ConfigProblem::Parties(parties)
        } else if self.me >= parties {
            ConfigProblem::Me { me: self.me, parties }
        } else if self.peer_timeout < self.heartbeat * 2 {
            ConfigProblem::Heartbeat
        } else if let Some(party) = self.parties.iter().position(|one| !matches!(one.certificates.len(), 1 | 2)) {
            ConfigProblem::Certificates { party, count: self.parties[party].certificates.len() }
        } else {
            return Ok(());
        };
        Err(NetError::BadConfig(problem))
    }
}

fn io_error(action: &'static str, source: io::Error) -> NetError {
    NetError::Io { action, source: Arc::new(source) }
}
