//! Pools of correlations: what `Session.preprocess` gets and returns.

use pyo3::prelude::*;

use quorate_session::pool::{Content as Inner, Level, Supply};

/// The correlations of a run, from its plan.
#[pyclass(module = "quorate._quorate", frozen)]
pub(crate) struct Content(pub Inner);

#[pymethods]
impl Content {
    /// Returns the number of correlations by kind.
    fn counts(&self) -> std::collections::BTreeMap<String, u64> {
        self.0.by_name().clone()
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
