//! Origins: the parties on whose inputs a value depends, and the part of the program that makes it. They are recorded
//! when a node is built, since the nodes that it was made of may be forgotten later.

use std::sync::Arc;

use crate::column::{Column, Meaning};
use crate::error::Fault;
use crate::graph::Graph;
use crate::hash::Hash;
use crate::moved_inputs::Raw;
use crate::node::{Node, NodeId, Op, Origin};
use crate::owners::Owners;

/// Returns the origin of the next node of `graph`.
///
/// # Errors
/// [`Fault::Meanings`]: codes of different words are combined.
pub(crate) fn origin(graph: &Graph, id: NodeId, node: &Node, op: Hash) -> Result<Origin, Fault> {
    let owners = match (&node.op, node.inputs.as_slice()) {
        (Op::Input { owner, .. }, _) => Owners::one(*owner),
        (Op::Submitted(from), _) => from.given.owners(),
        // One array of a shuffle does not depend on the others, since the order comes from no party's input.
        (Op::Part { index, .. }, [all]) if matches!(graph.node(*all).op, Op::Shuffle { .. }) => {
            graph.node(graph.node(*all).inputs[*index]).origin.owners.clone()
        }
        // One array in order depends on the key, too.
        (Op::Part { index, .. }, [all]) => {
            let inputs = &graph.node(*all).inputs;
            let key = inputs[inputs.len() - 1];
            graph.node(inputs[*index]).origin.owners.and(&graph.node(key).origin.owners)
        }
        (_, inputs) => inputs.iter().fold(Owners::default(), |all, &id| all.and(&graph.node(id).origin.owners)),
    };
    let parts: Vec<Hash> = node.inputs.iter().map(|&id| graph.node(id).origin.part).collect();
    let column = column(graph, node)?;
    Ok(Origin { owners, raw: Raw::of(graph, node), column, part: op.of_part(id, node, &parts) })
}

/// Returns the column that gives the values of `node` their meaning as words or dates.
///
/// # Errors
/// [`Fault::Meanings`]: values with different meanings are combined.
fn column(graph: &Graph, node: &Node) -> Result<Option<Arc<Column>>, Fault> {
    let of = |id: &NodeId| graph.node(*id).origin.column.clone();
    let agreed = |operands: &[NodeId]| {
        operands.iter().filter_map(of).try_fold(None, |known: Option<Arc<Column>>, next| match known {
            Some(known) if !Arc::ptr_eq(&known, &next) && known.meaning != next.meaning => {
                Err(Fault::Meanings { left: known, right: next })
            }
            known => Ok(known.or(Some(next))),
        })
    };
    let operands = node.inputs.as_slice();
    match &node.op {
        Op::Input { column, .. } => Ok(column.clone().filter(|column| column.meaning != Meaning::Numbers)),
        Op::Submitted(submission) => {
            let column = &submission.column;
            Ok((column.meaning != Meaning::Numbers).then(|| Arc::new(column.clone())))
        }
        Op::Gather(_) | Op::Reshape | Op::Broadcast | Op::Concat | Op::To(_) | Op::Cast | Op::Convert => {
            agreed(operands)
        }
        Op::Max(_) | Op::Min(_) | Op::Other | Op::AsFactor => agreed(operands),
        Op::AssertWithin | Op::Behind | Op::Counted => agreed(&operands[..1]),
        Op::Select => agreed(&operands[1..]),
        Op::Part { index, .. } => agreed(&graph.node(operands[0]).inputs[*index..=*index]),
        Op::Lt | Op::Eq | Op::Sub => agreed(operands).map(|_| None),
        Op::Constant(_)
        | Op::Shuffle { .. }
        | Op::Order { .. }
        | Op::Masked(_)
        | Op::Combined { .. }
        | Op::ArgMax(_)
        | Op::ArgMin(_)
        | Op::AssertOneHot(_) => Ok(None),
        Op::Add | Op::Neg | Op::Mul | Op::MatMul { .. } | Op::Conv(_) | Op::Sum(_) | Op::CumSum(_) => Ok(None),
        Op::Shl(_) | Op::Shr(_) | Op::FloorDiv(_) | Op::Remainder(_) | Op::Scale(_) | Op::IntDivide(_) => Ok(None),
        Op::And | Op::Or | Op::Xor | Op::Not | Op::Bits | Op::Compose | Op::Circuit(_) | Op::Lookup(_) => Ok(None),
        Op::Real(_) | Op::Divide | Op::Softmax(_) => Ok(None),
    }
}

impl Graph {
    /// Returns the parties on whose inputs the value of `id` may depend, through any operations. No other input has any
    /// influence on it.
    pub fn owners(&self, id: NodeId) -> &Owners {
        &self.node(id).origin.owners
    }

    /// Returns the parties of whose own inputs there are elements in `id`: as they are, moved, or written in a form
    /// that can be undone. Computed values do not count ([`moves`](crate::moved_inputs) lists what counts as moved).
    pub fn own_inputs(&self, id: NodeId) -> Owners {
        let node = self.node(id);
        node.origin.raw.owners(node.elements())
    }

    /// Returns the parties of whose own inputs there may be elements in `id` together with any other values: those of
    /// [`own_inputs`](Self::own_inputs), and those that have moved elements of which others are elsewhere.
    pub fn own_inputs_beside(&self, id: NodeId) -> Owners {
        self.node(id).origin.raw.owners_beside()
    }

    /// Returns the parties of [`own_inputs`](Self::own_inputs) for each of several values that one party sees. Values
    /// may contain an input only together, such as the elements of a sorted input seen one by one. Such an input counts
    /// for each of the values in which elements were moved.
    pub fn own_inputs_together(&self, ids: &[NodeId]) -> Vec<Owners> {
        let alone: Vec<Owners> = ids.iter().map(|&id| self.own_inputs(id)).collect();
        let known = alone.iter().fold(Owners::default(), |all, own| all.and(own));
        let values = ids.iter().map(|&id| (&self.node(id).origin.raw, self.node(id).elements()));
        let more = Raw::owners_of_all(values).without(&known);
        let each = |(&id, own): (&NodeId, Owners)| match &self.node(id).origin {
            Origin { owners, raw: Raw::Moved(_), .. } => own.and(&more.within(owners)),
            _ => own,
        };
        ids.iter().zip(alone).map(each).collect()
    }

    /// Returns a hash that stands for everything that makes the value of `id`: operations, attributes, public numbers,
    /// shapes and dtypes. It includes which of the program's inputs and shuffles take part, with their owners and
    /// stated bounds. The rest of the program has no influence on it, and neither have proven intervals, which follow.
    pub fn part_hash(&self, id: NodeId) -> Hash {
        self.node(id).origin.part
    }

    /// Returns the column that gives the values of `id` their meaning as words or dates; `None` for plain numbers.
    pub fn column(&self, id: NodeId) -> Option<&Column> {
        self.node(id).origin.column.as_deref()
    }
}
