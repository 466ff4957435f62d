//! Pools of correlations: what `Session.preprocess` gets and returns, what a pool has, and changed certificates.

use std::path::PathBuf;

use pyo3::prelude::*;
use pyo3::types::PyDict;

use quorate_session::pool::{self, Content as Inner, Held, Level, Location, Supply};

use crate::errors::raise;

/// The correlations of a run, from its plan.
#[pyclass(module = "quorate._quorate", frozen)]
pub(crate) struct Content(pub Inner);

#[pymethods]
impl Content {
    /// Returns the number of correlations by kind.
    fn counts(&self) -> std::collections::BTreeMap<String, u64> {
        self.0.by_name().clone()
    }

    /// Returns the name of the lot of such runs, as `pool_levels` has it.
    fn lot(&self) -> String {
        digits(&self.0.lot().0)
    }

    fn __eq__(&self, other: &Content) -> bool {
        self.0 == other.0
    }
}

/// Returns what is asked for, from contents with the number of bundles of each.
pub(crate) fn supplies(asked: Vec<(Py<Content>, u32)>) -> Vec<Supply> {
    asked.into_iter().map(|(content, times)| Supply { content: content.get().0.clone(), times }).collect()
}

/// A content's bundles after a making: those made, those that all parties can use, and the bytes of one.
pub(crate) type Made = (u32, u32, u64);

pub(crate) fn made(levels: &[Level]) -> Vec<Made> {
    levels.iter().map(|level| (level.made, level.left, level.bundle_bytes)).collect()
}

/// Returns what the pool in a folder has, without its lock: its name, its state ("free", "idle", "in use" or "dead: "
/// and the reason), and for each lot the bundles that can be reserved, those that were, the bytes of one, and the
/// number of correlations in one by kind. None if there is no pool.
#[pyfunction]
pub(crate) fn pool_levels<'py>(
    py: Python<'py>,
    folder: PathBuf,
    mut key: Vec<u8>,
) -> PyResult<Option<Bound<'py, PyDict>>> {
    let read = py.detach(|| Location::new(folder, &mut key).and_then(|at| pool::levels(&at)));
    let Some(Held { id, state, lots }) = read.map_err(|error| raise(py, &error))? else { return Ok(None) };
    let (told, by_lot) = (PyDict::new(py), PyDict::new(py));
    for lot in lots {
        by_lot.set_item(digits(&lot.id.0), (lot.left, lot.reserved, lot.bundle_bytes, lot.contents))?;
    }
    told.set_item("id", digits(&id))?;
    told.set_item("state", state)?;
    told.set_item("lots", by_lot)?;
    Ok(Some(told))
}

/// Binds the pool in a folder to the certificates of another `party.toml` of the same party. Returns whether it was
/// bound to those of the old one; otherwise it was bound to the new ones already. None if there is no pool.
#[pyfunction]
pub(crate) fn rebind_pool(
    py: Python<'_>,
    folder: PathBuf,
    mut key: Vec<u8>,
    old: PathBuf,
    new: PathBuf,
) -> PyResult<Option<bool>> {
    let rebound = py.detach(|| Location::new(folder, &mut key).and_then(|at| pool::rebind(&at, &old, &new)));
    rebound.map_err(|error| raise(py, &error))
}

fn digits(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}
