//! Records of a party for `benches/replay.py`, which computes again, alone, against its record. Only under the feature
//! `replay`.

use std::sync::{Arc, Mutex, PoisonError};

use pyo3::exceptions::PyRuntimeError;
use pyo3::prelude::*;

use quorate_circuits::catalog;
use quorate_engine::testing::Played;
use quorate_session::replay::Recording as Inner;
use quorate_session::{LocalOptions, Session as Open, protocol};

use crate::circuit::Circuit;
use crate::errors::raise;
use crate::session::{Given, Session};

/// The record of a party, and what it sent when it was replayed last.
#[pyclass(module = "quorate._quorate", frozen)]
pub(crate) struct Recording {
    inner: Inner,
    played: Mutex<Option<Played>>,
}

#[pymethods]
impl Recording {
    /// Opens a local session that records `party`. Returns it, and the record.
    #[staticmethod]
    fn record(
        py: Python<'_>,
        name: &str,
        parties: Option<usize>,
        options: Given,
        party: usize,
    ) -> PyResult<(Session, Recording)> {
        let open = || {
            let protocol = protocol(name)?;
            let parties = parties.unwrap_or(protocol.default_parties());
            let (insecure_seed, options) = (Some("replay".into()), options.read()?);
            Open::recorded(
                LocalOptions { protocol, parties, network: None, insecure_seed, check: false, options },
                party,
            )
        };
        let (session, inner) = py.detach(open).map_err(|error| raise(py, &error))?;
        Ok((Session::new(session), Recording { inner, played: Mutex::default() }))
    }

    /// Opens a session of the party alone, on a number of threads. With `hashes`, `check` compares every message.
    fn replay(&self, py: Python<'_>, threads: usize, hashes: bool) -> PyResult<Session> {
        let open = || Open::replayed(&self.inner, threads, hashes);
        let (session, played) = py.detach(open).map_err(|error| raise(py, &error))?;
        *self.played.lock().unwrap_or_else(PoisonError::into_inner) = Some(played);
        Ok(Session::new(session))
    }

    /// Raises `RuntimeError` if the party sent anything else in the last replay than the record has.
    fn check(&self) -> PyResult<()> {
        let played = self.played.lock().unwrap_or_else(PoisonError::into_inner);
        let played = played.as_ref().ok_or_else(|| PyRuntimeError::new_err("there was no replay"))?;
        played.compare().map_err(|differs| PyRuntimeError::new_err(differs.to_string()))
    }

    /// Returns the number of frames that the party received, and their bytes.
    fn frames(&self) -> (usize, usize) {
        self.inner.frames()
    }
}

#[pymethods]
impl Circuit {
    /// Returns the circuit of AES-128, of key and block.
    #[staticmethod]
    fn aes128() -> Circuit {
        Circuit { inner: Arc::new(catalog::aes128()) }
    }
}
