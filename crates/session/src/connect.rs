//! The links of a session's parties: threads of this process, or peers across a network.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use quorate_graph::Network;
use quorate_net::tcp::{SessionName, TcpConfig, TcpNet};
use quorate_net::{Net, NetError, memory, shaped};

use crate::config::Config;
use crate::error::SessionError;

/// The links of a local session: its parties have one mesh for each track.
pub(crate) enum LocalLinks {
    /// Plain memory links between as many parties.
    Memory(usize),
    /// Links of a simulated network, whose bandwidth all meshes share.
    Shaped(shaped::Lines),
}

impl LocalLinks {
    pub fn new(parties: usize, network: Option<Network>) -> LocalLinks {
        let Some(network) = network else { return LocalLinks::Memory(parties) };
        let bytes_per_second = network.bits_per_second.map(|bits| bits / 8.0);
        LocalLinks::Shaped(shaped::Lines::new(parties, shaped::Shape { rtt: network.rtt, bytes_per_second }))
    }

    /// Returns the largest number of tracks that are worth opening beside the main one, for `parties` threads each. On
    /// links without a delay, more tracks than keep all cores busy cost time.
    pub fn most_side_tracks(&self, parties: usize) -> usize {
        let cores = std::thread::available_parallelism().map_or(1, usize::from);
        match self {
            LocalLinks::Memory(_) => (2 * cores / parties.max(1)).clamp(3, 63),
            LocalLinks::Shaped(_) => 63,
        }
    }

    /// Creates links between all parties.
    pub fn mesh(&self) -> Vec<Box<dyn Net>> {
        match self {
            LocalLinks::Memory(parties) => memory::mesh(*parties).into_iter().map(|net| Box::new(net) as _).collect(),
            LocalLinks::Shaped(lines) => lines.mesh().into_iter().map(|net| Box::new(net) as _).collect(),
        }
    }
}

/// Connects this party to its peers of a deployment, which have the same `shared` options where the session has a
/// default name. Setting `stop` gives up.
pub(crate) fn deployed(config: &Config, shared: &str, stop: Arc<AtomicBool>) -> Result<Box<dyn Net>, SessionError> {
    connected(config, config.tcp(shared), shared, stop)
}

/// Connects this party to its peers for a branch of a deployment's session, by the branch's name and number.
pub(crate) fn branch(
    config: &Config,
    shared: &str,
    (name, number): (&str, u32),
    stop: Arc<AtomicBool>,
) -> Result<Box<dyn Net>, SessionError> {
    let mut tcp = config.tcp(shared);
    tcp.session = tcp.session.branch(&SessionName::new(name).map_err(NetError::BadConfig)?, number);
    connected(config, tcp, shared, stop)
}

fn connected(
    config: &Config,
    mut tcp: TcpConfig,
    shared: &str,
    stop: Arc<AtomicBool>,
) -> Result<Box<dyn Net>, SessionError> {
    tcp.stop = Some(stop);
    Ok(Box::new(TcpNet::connect(&tcp).map_err(|error| config.naming(error, shared))?))
}
