//! The links of a session's parties: threads of this process, or peers across a network.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use quorate_graph::Network;
use quorate_net::tcp::TcpNet;
use quorate_net::{Net, memory, shaped};

use crate::config::Config;
use crate::error::SessionError;

/// Creates links between all parties of a local session.
pub(crate) fn local(parties: usize, network: Option<Network>) -> Vec<Box<dyn Net>> {
    match network {
        None => memory::mesh(parties).into_iter().map(|net| Box::new(net) as Box<dyn Net>).collect(),
        Some(network) => {
            let bytes_per_second = network.bits_per_second.map(|bits| bits / 8.0);
            let shape = shaped::Shape { rtt: network.rtt, bytes_per_second };
            shaped::mesh(parties, shape).into_iter().map(|net| Box::new(net) as Box<dyn Net>).collect()
        }
    }
}

/// Connects this party to its peers of a deployment, which have the same `shared` options where the session has a
/// default name. Setting `stop` gives up.
pub(crate) fn deployed(config: &Config, shared: &str, stop: Arc<AtomicBool>) -> Result<Box<dyn Net>, SessionError> {
    let mut tcp = config.tcp(shared);
    tcp.stop = Some(stop);
    Ok(Box::new(TcpNet::connect(&tcp).map_err(|error| config.naming(error))?))
}
