//! Functions for the command line that need no session.

use std::path::PathBuf;

use pyo3::prelude::*;
use pyo3::types::PyDict;

use quorate_graph::Network;
use quorate_net::tcp;
use quorate_session::{Config, Descriptor, Protocol, SessionError};

use crate::errors::raise;

/// Makes a party's key and certificate; returns the certificate's fingerprint.
#[pyfunction]
pub(crate) fn keygen(py: Python<'_>, folder: PathBuf, party: usize) -> PyResult<String> {
    let made = tcp::keygen(&folder, party);
    made.map(|fingerprint| fingerprint.to_string()).map_err(|error| raise(py, &SessionError::Net(error)))
}

/// Checks a configuration file; returns (me, protocol, parties).
#[pyfunction]
pub(crate) fn read_config(py: Python<'_>, path: PathBuf) -> PyResult<(usize, String, usize)> {
    let config = Config::read(&path).map_err(|error| raise(py, &error))?;
    Ok((config.me, config.protocol.clone(), config.parties.len()))
}

/// Checks a protocol's name and its number of parties; returns that number, or, if none is given, the usual one.
#[pyfunction]
#[pyo3(signature = (protocol, parties=None))]
pub(crate) fn check_protocol(py: Python<'_>, protocol: &str, parties: Option<usize>) -> PyResult<usize> {
    let checked = || -> Result<usize, SessionError> {
        let protocol = quorate_session::protocol(protocol)?;
        let parties = parties.unwrap_or(protocol.default_parties());
        protocol.check_parties(parties)?;
        Ok(parties)
    };
    checked().map_err(|error| raise(py, &error))
}

/// Returns the numbers of the sockets that a fork of the process has to close.
#[pyfunction]
pub(crate) fn inherited_sockets() -> Vec<i32> {
    tcp::inherited_sockets()
}

/// Returns the description and the options of every family of protocols.
#[pyfunction]
pub(crate) fn families(py: Python<'_>) -> PyResult<Vec<Bound<'_, PyDict>>> {
    let one = |protocol: &Protocol| {
        let Descriptor { name, about, parties, sharings, options, .. } = protocol.descriptor();
        let family = PyDict::new(py);
        family.set_item("name", name)?;
        family.set_item("about", about)?;
        family.set_item("parties", parties.usual)?;
        family.set_item("takes", parties.takes)?;
        family.set_item("sharings", sharings)?;
        let options: Vec<_> = options.iter().map(|option| (option.name, option.values, option.help)).collect();
        family.set_item("options", options)?;
        family.set_item("has_secrets", protocol.has_secrets())?;
        Ok(family)
    };
    Protocol::ALL.iter().map(one).collect()
}

/// Checks the name of a network; returns (round-trip milliseconds, Mbit/s).
#[pyfunction]
pub(crate) fn check_network(py: Python<'_>, text: &str) -> PyResult<(f64, Option<f64>)> {
    let network: Network =
        text.parse().map_err(|error: quorate_graph::NetworkError| raise(py, &SessionError::Network(error)))?;
    Ok((network.rtt.as_secs_f64() * 1e3, network.bits_per_second.map(|bits| bits / 1e6)))
}

/// Forgets the measured speed of this machine, and measures it again for each of these numbers of parties that share
/// it. For other numbers the next prediction does.
#[pyfunction]
#[pyo3(signature = (*sharing))]
pub(crate) fn recalibrate(sharing: Vec<usize>) {
    quorate_engine::Rates::forget();
    for parties in sharing {
        quorate_engine::Rates::of_this_machine(parties);
    }
}
