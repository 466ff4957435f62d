//! Small public numbers that a program writes repeatedly, such as the 1 in `x + 1`: one node for all of their uses.
//!
//! The list follows from the program alone, so it is the same at all parties.

use std::collections::VecDeque;

use crate::dtype::Dtype;
use crate::node::NodeId;

/// The number of latest literals that are searched.
const LITERALS: usize = 16;
/// The largest number of elements of a literal; longer constants are made for each use, and forgotten.
const MOST_ELEMENTS: usize = 1024;

/// A constant with one value for all elements.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Literal {
    pub value: i128,
    pub shape: Vec<usize>,
    pub dtype: Dtype,
}

#[derive(Clone, Debug, Default)]
pub(crate) struct Literals(VecDeque<(Literal, NodeId)>);

impl Literals {
    pub fn find(&self, value: i128, shape: &[usize], dtype: Dtype) -> Option<NodeId> {
        let is_it = |known: &Literal| known.value == value && known.dtype == dtype && known.shape == shape;
        self.0.iter().find(|(known, _)| is_it(known)).map(|&(_, id)| id)
    }

    /// Uses node `id` for this literal from now on.
    pub fn keep(&mut self, literal: Literal, id: NodeId) {
        if literal.shape.iter().product::<usize>() > MOST_ELEMENTS {
            return;
        }
        if self.0.len() == LITERALS {
            self.0.pop_front();
        }
        self.0.push_back((literal, id));
    }

    /// Drops literals from the `len`-th node on.
    pub fn truncate(&mut self, len: usize) {
        self.0.retain(|(_, id)| id.index() < len);
    }

    pub fn nodes(&self) -> impl Iterator<Item = NodeId> {
        self.0.iter().map(|&(_, id)| id)
    }
}
