//! What a program states of its inputs, and ranges that it states for its intermediate values.

use std::sync::Arc;

use super::{Builder, Built};
use crate::column::Column;
use crate::error::Fault;
use crate::interval::Interval;
use crate::node::{Node, NodeId, Op};

impl Builder<'_> {
    /// Marks the next input as this column of a table.
    #[must_use]
    pub fn of_column(self, column: Option<Column>) -> Self {
        Builder { column: column.map(Arc::new), ..self }
    }

    /// States whether the next input is one that is read in parts. Where parties may cheat, its owner could give each
    /// step that reads it other values, so there it is an input like others.
    #[must_use]
    pub fn streamed(self, streamed: bool) -> Self {
        Builder { streamed: streamed && !self.graph.rules().proves_bounds, ..self }
    }

    /// Builds the values of `a`, which the program states to lie between `low` and `high`, in units. Like the bound of
    /// an input, this is a promise: if it is broken, results may be any numbers, and what an order of such keys opens
    /// depends on them. It is part of the program's hash.
    pub fn stated(&mut self, a: NodeId, low: i128, high: i128) -> Built {
        self.attempt(|b| b.build_stated(a, Interval::new(low, high)))
    }

    /// Builds a node of its own with the values of `a` and the meaning of `like`.
    pub(super) fn build_like_column(&mut self, a: NodeId, like: NodeId) -> Result<NodeId, Fault> {
        let column = self.graph.get(like)?.origin.column.clone();
        let node = self.graph.get(a)?;
        if column.is_none() || node.is_public() {
            return Ok(a);
        }
        let same = node.like(Op::Reshape, vec![a], &self.at);
        let id = self.graph.append(same)?;
        self.graph.give_column(id, column);
        Ok(id)
    }

    fn build_stated(&mut self, a: NodeId, stated: Interval) -> Result<NodeId, Fault> {
        let node = self.graph.get(a)?;
        let interval = Some(node.range().clamped(stated));
        if node.interval == interval || node.is_public() {
            return Ok(a);
        }
        let stated = Node { interval, ..node.like(Op::Reshape, vec![a], &self.at) };
        self.graph.append(stated)
    }
}
