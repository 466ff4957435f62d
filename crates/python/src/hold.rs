//! The user's arrays, as Python holds them.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, PoisonError};

use pyo3::prelude::*;
use pyo3::types::PyTuple;

use quorate_graph::{Graph, NodeId};

use crate::operands::dtype_parts;

/// Python's references to the nodes of a session. They have a lock of their own, since threads and the garbage
/// collector release arrays at any time, also during a run.
#[derive(Clone)]
pub(crate) struct Arrays {
    counts: Arc<Mutex<Counts>>,
    /// The process that opened the session.
    process: u32,
}

#[derive(Default)]
struct Counts {
    /// The number of arrays that refer to each node.
    held: BTreeMap<u32, usize>,
    /// Nodes without arrays; passed on when the next run or plan starts.
    released: Vec<NodeId>,
}

impl Arrays {
    pub fn of(process: u32) -> Self {
        Arrays { counts: Arc::default(), process }
    }

    /// Counts one more array for a node. It runs no Python code, so that read and update are atomic.
    fn hold(&self, node: NodeId) -> Hold {
        *self.counts.lock().unwrap_or_else(PoisonError::into_inner).held.entry(node.0).or_default() += 1;
        Hold { arrays: self.clone(), node }
    }

    /// Returns the nodes before `end` that arrays refer to.
    pub fn held_before(&self, end: u32) -> BTreeSet<u32> {
        let counts = self.counts.lock().unwrap_or_else(PoisonError::into_inner);
        counts.held.range(..end).map(|(&node, _)| node).collect()
    }

    /// Returns the nodes that lost their last array since the last call.
    pub fn take_released(&self) -> Vec<NodeId> {
        std::mem::take(&mut self.counts.lock().unwrap_or_else(PoisonError::into_inner).released)
    }
}

/// Keeps the value of a node, which is released when Python drops the last hold on it.
#[pyclass(module = "quorate._quorate", frozen)]
pub(crate) struct Hold {
    arrays: Arrays,
    node: NodeId,
}

impl Drop for Hold {
    fn drop(&mut self) {
        // In a fork of the process nothing is released, and another thread may have held the lock at the fork.
        if self.arrays.process != std::process::id() {
            return;
        }
        let mut counts = self.arrays.counts.lock().unwrap_or_else(PoisonError::into_inner);
        match counts.held.get_mut(&self.node.0) {
            Some(count) if *count > 1 => *count -= 1,
            _ => {
                counts.held.remove(&self.node.0);
                counts.released.push(self.node);
            }
        }
    }
}

/// The shape of an array; a tuple in Python.
struct Shape(Vec<usize>);

impl<'py> IntoPyObject<'py> for Shape {
    type Target = PyTuple;
    type Output = Bound<'py, PyTuple>;
    type Error = PyErr;

    fn into_pyobject(self, py: Python<'py>) -> PyResult<Bound<'py, PyTuple>> {
        PyTuple::new(py, self.0)
    }
}

/// Shape and dtype of a node, and whether its values are secret.
pub(crate) struct Seen {
    pub node: NodeId,
    shape: Vec<usize>,
    dtype: (&'static str, u32, u32),
    is_secret: bool,
}

impl Seen {
    pub fn of(graph: &Graph, id: NodeId) -> Self {
        let node = graph.node(id);
        let (kind, bits, frac) = dtype_parts(node.dtype);
        let dtype = (if node.room.grows { "real" } else { kind }, bits, frac);
        Seen { node: id, shape: node.shape.clone(), dtype, is_secret: !node.is_public() }
    }

    /// Returns the node as an array of the user's.
    pub fn held(self, arrays: &Arrays) -> Built {
        Built(arrays.hold(self.node), self.node.0, Shape(self.shape), self.dtype, self.is_secret)
    }
}

/// An array as Python receives it, in one tuple: the hold on its node, the node, shape and dtype, and whether it is
/// secret.
#[derive(IntoPyObject)]
pub(crate) struct Built(Hold, u32, Shape, (&'static str, u32, u32), bool);

impl Built {
    pub fn node(&self) -> NodeId {
        NodeId(self.1)
    }
}
