//! Values of a campaign's clients, who are no parties: the sum of parts that parties input, and whether it is within
//! the campaign's bounds.
//!
//! A client divides its values into uniform summands, one for each of the parties that it chose. The sum wraps in the
//! ring on purpose, so nothing is proven of it: whoever relies on bounds compares first, over the whole ring.

use std::sync::Arc;

use super::{Builder, Built};
use crate::column::Submission;
use crate::dtype::Dtype;
use crate::error::Fault;
use crate::interval::Interval;
use crate::node::{Node, NodeId, Op};

impl Builder<'_> {
    /// Builds the values that clients gave for a column: the sum of `parts` in the ring of `dtype`, or the exclusive or
    /// of bits. Parts of numbers are unsigned integers with the bits of `dtype`.
    ///
    /// # Errors
    /// No part, or one of another shape or dtype.
    pub fn submitted(&mut self, parts: &[NodeId], dtype: Dtype, from: Submission) -> Built {
        self.attempt(|b| b.build_submitted(parts, dtype.checked()?, from))
    }

    /// Builds a bit for each element: whether it lies outside `low` to `high`, in units, over the whole ring, whatever
    /// is proven of `a`.
    ///
    /// # Errors
    /// [`Fault::Bounds`]: bounds that the dtype does not hold.
    pub fn outside_bounds(&mut self, a: NodeId, low: i128, high: i128) -> Built {
        self.attempt(|b| {
            let dtype = b.graph.get(a)?.dtype;
            let is_held = low <= high && [low, high].iter().all(|&end| dtype.range().contains(end));
            if dtype == Dtype::Bit || !is_held {
                return Err(Fault::Bounds { low: low as f64, high: high as f64, dtype });
            }
            b.outside_range(a, Interval::new(low, high))
        })
    }

    fn build_submitted(&mut self, parts: &[NodeId], dtype: Dtype, from: Submission) -> Result<NodeId, Fault> {
        let of_part = if dtype == Dtype::Bit { Dtype::Bit } else { Dtype::Uint { bits: dtype.bits() } };
        let shape = match parts {
            [first, ..] => self.graph.get(*first)?.shape.clone(),
            [] => return Err(Fault::SubmittedParts { dtype: of_part }),
        };
        for &part in parts {
            let node = self.graph.get(part)?;
            if node.dtype != of_part || node.shape != shape {
                return Err(Fault::SubmittedParts { dtype: of_part });
            }
        }
        let op = Op::Submitted(Arc::new(from));
        self.graph.append(Node::new(op, parts.to_vec(), shape, dtype, &self.at))
    }
}
