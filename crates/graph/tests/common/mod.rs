//! A short way to write programs in tests.
#![allow(dead_code)] // each test file uses a part of it

pub mod random_steps;

use std::collections::BTreeMap;

use quorate_graph::{BuildError, Builder, Dtype, Graph, NodeId, Source, eval_clear};

pub const INT8: Dtype = Dtype::Int { bits: 8 };
pub const FIX: Dtype = Dtype::Fixed { bits: 16, frac: 4 };

/// A program and the values of its inputs.
pub struct Program {
    pub graph: Graph,
    /// The line of the operations that are built next.
    pub line: u32,
    pub inputs: BTreeMap<NodeId, Vec<i128>>,
}

impl Default for Program {
    fn default() -> Program {
        Program { graph: Graph::default(), line: 7, inputs: BTreeMap::new() }
    }
}

impl Program {
    pub fn input(&mut self, shape: &[usize], dtype: Dtype, units: &[i128]) -> NodeId {
        let id = self.at().input(0, 3, shape, dtype, None).unwrap();
        self.inputs.insert(id, units.to_vec());
        id
    }

    pub fn at(&mut self) -> Builder<'_> {
        self.graph.at(Source::new("t.py", self.line))
    }

    /// Returns the values of a node, which must have this type and shape.
    pub fn values(&self, id: NodeId, dtype: Dtype, shape: &[usize]) -> Vec<i128> {
        let node = self.graph.node(id);
        assert_eq!((node.dtype, node.shape.as_slice()), (dtype, shape), "{}", self.graph.describe(id));
        eval_clear(&self.graph, &self.inputs).unwrap().swap_remove(id.index())
    }
}

/// Returns the message of a failure, without the line, and the exception that it becomes.
pub fn message(result: Result<NodeId, BuildError>) -> String {
    let error = result.unwrap_err();
    assert!(error.to_string().ends_with(" (at t.py:7)"), "{error}");
    format!("{:?}: {}", error.kind(), error.fault)
}
