//! What is known of the values of an operand.

use crate::dtype::Dtype;
use crate::graph::Graph;
use crate::interval::Interval;
use crate::node::{Node, NodeId};
use crate::shape::Axis;

/// The known range of an operand.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Known {
    pub dtype: Dtype,
    /// The range of the values; `None`: anywhere in the dtype.
    pub interval: Option<Interval>,
    /// The axis along which at most one element of each line is not 0.
    pub sparse: Option<Axis>,
}

impl Known {
    pub fn of(node: &Node) -> Known {
        Known { dtype: node.dtype, interval: node.interval, sparse: node.sparse_along() }
    }

    pub fn range(self) -> Interval {
        self.interval.unwrap_or_else(|| self.dtype.range())
    }
}

impl Graph {
    /// Returns the known ranges of the operands' values.
    pub(crate) fn known(&self, inputs: &[NodeId]) -> Vec<Known> {
        inputs.iter().map(|&id| Known::of(self.node(id))).collect()
    }
}
