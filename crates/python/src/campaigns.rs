//! What clients of a campaign gave, and results for them.

use std::collections::BTreeSet;
use std::sync::Arc;

use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

use quorate_graph::{Given, Hash, HashError, NodeId, Submission};
use quorate_session::Seen;

use crate::arrays::{Dtype, Line, Of, words_of};
use crate::hold::Built;
use crate::session::Session;

/// A function of Python's that keeps the mark that results of a campaign are looked at, at a party.
struct Marking(Py<PyAny>);

impl Seen for Marking {
    fn mark(&self, party: usize, again: bool) -> Result<(), String> {
        let call = |py: Python<'_>| self.0.call1(py, (party, again)).map(|_| ()).map_err(|error| words_of(py, &error));
        Python::try_attach(call).unwrap_or_else(|| Err("the interpreter ends".into()))
    }
}

#[pymethods]
impl Session {
    /// Adds a campaign whose submissions the program reads. Only runs of these hashes (none: any run) may then reveal
    /// what depends on submissions. The function is called with a party's number, and whether this is another look,
    /// before that party sends its share.
    fn read_campaign(&self, py: Python<'_>, mark: Py<PyAny>, programs: Vec<String>) -> PyResult<()> {
        let parsed = programs.iter().map(|text| text.parse()).collect::<Result<BTreeSet<Hash>, HashError>>();
        let programs = parsed.map_err(|error| PyValueError::new_err(error.to_string()))?;
        self.with(py, |session| {
            session.read_campaign(Arc::new(Marking(mark)), programs);
            Ok(())
        })
    }

    /// Lets any run reveal a node that depends on submissions, without a mark.
    fn exempt(&self, py: Python<'_>, node: u32) -> PyResult<()> {
        self.with(py, |session| {
            session.exempt(NodeId(node));
            Ok(())
        })
    }

    /// Builds what clients gave for a column of a campaign: the sum of parts that parties input.
    fn submitted(
        &self,
        py: Python<'_>,
        parts: Vec<u32>,
        dtype: Dtype<'_>,
        campaign: (String, [u8; 32]),
        column: Of,
        line: Line,
    ) -> PyResult<Built> {
        let dtype = self.dtype(py, dtype, &line)?;
        let parts: Vec<NodeId> = parts.into_iter().map(NodeId).collect();
        let (campaign, hash) = campaign;
        let from = Submission { given: Given::ByClients { campaign, hash }, column: column.read() };
        self.add(py, line, |mut b| b.submitted(&parts, dtype, from))
    }

    /// Builds results for clients: the words of `x` plus masks that clients gave.
    fn masked(&self, py: Python<'_>, x: u32, masks: u32, line: Line) -> PyResult<Built> {
        self.add(py, line, |mut b| b.masked(NodeId(x), NodeId(masks)))
    }

    /// Builds random combinations of what each holder inputs for clients: the coins, then the sums.
    fn combined(
        &self,
        py: Python<'_>,
        held: Vec<u32>,
        seeds: Vec<u32>,
        rows: usize,
        coin_bits: u32,
        line: Line,
    ) -> PyResult<Built> {
        let [held, seeds] = [held, seeds].map(|ids| ids.into_iter().map(NodeId).collect::<Vec<_>>());
        self.add(py, line, |mut b| b.combined(&held, &seeds, rows, coin_bits))
    }

    /// Builds the rows of `x` that count, as all parties state it; zeros elsewhere.
    fn counted(&self, py: Python<'_>, x: u32, stated: Vec<u32>, line: Line) -> PyResult<Built> {
        let stated: Vec<NodeId> = stated.into_iter().map(NodeId).collect();
        self.add(py, line, |mut b| b.counted(NodeId(x), &stated))
    }

    /// Builds a bit for each element: whether it lies outside these bounds, in units, over the whole ring.
    fn outside_bounds(&self, py: Python<'_>, x: u32, low: i128, high: i128, line: Line) -> PyResult<Built> {
        self.add(py, line, |mut b| b.outside_bounds(NodeId(x), low, high))
    }
}
