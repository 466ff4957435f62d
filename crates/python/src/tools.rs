//! What the command line needs beside sessions.

use std::path::PathBuf;

use pyo3::prelude::*;

use quorate_graph::Network;
use quorate_net::tcp;
use quorate_session::{Config, Protocol, SessionError};

use crate::errors::raise;

/// Makes a party's key and certificate; returns the certificate's fingerprint.
#[pyfunction]
pub(crate) fn keygen(py: Python<'_>, folder: PathBuf, party: usize) -> PyResult<String> {
    let made = tcp::keygen(&folder, party);
    made.map(|fingerprint| fingerprint.to_string()).map_err(|error| raise(py, &SessionError::Net(error)))
}

/// Checks a configuration file; (me, protocol, parties).
#[pyfunction]
pub(crate) fn read_config(py: Python<'_>, path: PathBuf) -> PyResult<(usize, String, usize)> {
    let config = Config::read(&path).map_err(|error| raise(py, &error))?;
    Ok((config.me, config.protocol.clone(), config.parties.len()))
}

/// Checks a protocol's name and its number of parties; that number, or where none is given its usual one.
#[pyfunction]
#[pyo3(signature = (protocol, parties=None))]
pub(crate) fn check_protocol(py: Python<'_>, protocol: &str, parties: Option<usize>) -> PyResult<usize> {
    let checked = || -> Result<usize, SessionError> {
        let protocol: Protocol = protocol.parse()?;
        let parties = parties.unwrap_or(protocol.default_parties());
        protocol.check_parties(parties)?;
        Ok(parties)
    };
    checked().map_err(|error| raise(py, &error))
}

/// Checks the name of a network; (round-trip milliseconds, Mbit/s).
#[pyfunction]
pub(crate) fn check_network(py: Python<'_>, text: &str) -> PyResult<(f64, Option<f64>)> {
    let network: Network =
        text.parse().map_err(|error: quorate_graph::NetworkError| raise(py, &SessionError::Network(error)))?;
    Ok((network.rtt.as_secs_f64() * 1e3, network.bits_per_second.map(|bits| bits / 1e6)))
}

/// Forgets how fast this machine is; the next prediction measures it anew.
#[pyfunction]
pub(crate) fn recalibrate() {
    quorate_engine::Rates::forget();
}
