//! Values that an earlier program kept: what is known of them, and how they enter a program.

use pyo3::prelude::*;

use quorate_graph::{Given, Interval, NodeId, Owners, Room, Submission};

use crate::arrays::{Dtype, Line, Of};
use crate::hold::Built;
use crate::session::Session;

/// Parties, and whether clients of campaigns are among them.
type Parties = (Vec<usize>, bool);

/// What is known of a value when it is kept, and lasts: its proven range, whether results grow and the range is
/// assumed, on whose inputs it depends, and of whose own inputs it may hold elements.
type Known = (Option<(i128, i128)>, (bool, bool), Parties, Parties);

fn read((parties, has_clients): Parties) -> Owners {
    let parties: Owners = parties.into_iter().collect();
    if has_clients { parties.with_clients() } else { parties }
}

fn told(owners: &Owners) -> Parties {
    (owners.parties().collect(), owners.has_clients())
}

#[pymethods]
impl Session {
    /// Returns what is known of a node, for `kept`.
    fn known(&self, py: Python<'_>, node: u32) -> PyResult<Known> {
        self.with_graph(py, |graph| {
            let (id, node) = (NodeId(node), graph.node(NodeId(node)));
            let range = node.interval.map(|proven| (proven.lo(), proven.hi()));
            let room = (node.room.grows, node.room.assumed);
            (range, room, told(graph.owners(id)), told(&graph.own_inputs_beside(id)))
        })
    }

    /// Builds what an earlier program kept under a name: the sum of parts that parties input.
    #[allow(clippy::too_many_arguments)] // the signature for Python
    fn kept(
        &self,
        py: Python<'_>,
        parts: Vec<u32>,
        dtype: Dtype<'_>,
        name: String,
        known: Known,
        column: Of,
        line: Line,
    ) -> PyResult<Built> {
        let (range, (grows, assumed), owners, own) = known;
        let dtype = self.dtype(py, dtype, &line)?;
        let parts: Vec<NodeId> = parts.into_iter().map(NodeId).collect();
        let given = Given::Before { name, owners: read(owners), own: read(own) };
        let from = Submission { given, column: column.read() };
        let interval = range.map(|(low, high)| Interval::new(low, high));
        self.add(py, line, |mut b| b.kept_before(&parts, dtype, from, (interval, Room { grows, assumed })))
    }
}
