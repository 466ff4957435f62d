//! Origins: the parties on whose inputs a value depends, and the part of the program that makes it. They are recorded
//! when a node is built, since the nodes that it was made of may be forgotten later.

use std::collections::BTreeSet;
use std::fmt;
use std::sync::Arc;

use crate::column::{Column, column};
use crate::error::Fault;
use crate::graph::Graph;
use crate::hash::Hash;
use crate::moved_inputs::Raw;
use crate::node::{Node, NodeId, Op};

/// Parties whose inputs a value depends on.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Owners(Option<Arc<BTreeSet<usize>>>);

impl Owners {
    /// Returns this party alone.
    pub fn one(owner: usize) -> Owners {
        Owners(Some(Arc::new([owner].into())))
    }

    /// Returns whether there are none: the value is public, or drawn at random.
    pub fn is_empty(&self) -> bool {
        self.0.is_none()
    }

    /// Returns their numbers, ascending.
    pub fn iter(&self) -> impl Iterator<Item = usize> + '_ {
        self.0.iter().flat_map(|all| all.iter().copied())
    }

    /// Returns those that are not among `others`.
    fn without(&self, others: &Owners) -> Owners {
        self.iter().filter(|&party| !others.iter().any(|other| other == party)).collect()
    }

    /// Returns those that are also among `others`.
    fn within(&self, others: &Owners) -> Owners {
        self.iter().filter(|&party| others.iter().any(|other| other == party)).collect()
    }

    /// Returns the parties of both. Most operands have the same ones, which are kept once.
    pub(crate) fn and(&self, other: &Owners) -> Owners {
        match (&self.0, &other.0) {
            (_, None) => self.clone(),
            (None, _) => other.clone(),
            (Some(a), Some(b)) if Arc::ptr_eq(a, b) || b.is_subset(a) => self.clone(),
            (Some(a), Some(b)) if a.is_subset(b) => other.clone(),
            (Some(a), Some(b)) => Owners(Some(Arc::new(a.union(b).copied().collect()))),
        }
    }
}

impl FromIterator<usize> for Owners {
    fn from_iter<T: IntoIterator<Item = usize>>(parties: T) -> Owners {
        let all: BTreeSet<usize> = parties.into_iter().collect();
        Owners((!all.is_empty()).then(|| Arc::new(all)))
    }
}

/// The origin of a value.
#[derive(Clone, Debug, PartialEq)]
pub struct Origin {
    /// All parties on whose inputs the value depends.
    pub(crate) owners: Owners,
    /// The elements that are elements of an input.
    pub(crate) raw: Raw,
    /// The column whose words or dates it consists of.
    pub(crate) column: Option<Arc<Column>>,
    /// The hash of what makes it: see [`Graph::part_hash`].
    pub(crate) part: Hash,
}

impl Origin {
    /// Returns the origin of a node that is not in its program yet.
    pub(crate) fn unknown() -> Origin {
        Origin { owners: Owners::default(), raw: Raw::default(), column: None, part: Hash([0; 32]) }
    }
}

/// Returns the origin of the next node of `graph`.
///
/// # Errors
/// [`Fault::Meanings`]: codes of different words are combined.
pub(crate) fn origin(graph: &Graph, id: NodeId, node: &Node, op: Hash) -> Result<Origin, Fault> {
    let owners = match (&node.op, node.inputs.as_slice()) {
        (Op::Input { owner, .. }, _) => Owners::one(*owner),
        // One array of a shuffle does not depend on the others, since the order comes from no party's input.
        (Op::Part { index, .. }, [shuffle]) => graph.node(graph.node(*shuffle).inputs[*index]).origin.owners.clone(),
        (_, inputs) => inputs.iter().fold(Owners::default(), |all, &id| all.and(&graph.node(id).origin.owners)),
    };
    let parts: Vec<Hash> = node.inputs.iter().map(|&id| graph.node(id).origin.part).collect();
    let column = column(graph, node)?;
    Ok(Origin { owners, raw: Raw::of(graph, node), column, part: op.of_part(id, node, &parts) })
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
}

impl fmt::Display for Owners {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names: Vec<String> = self.iter().map(|party| party.to_string()).collect();
        match names.len() {
            0 => f.write_str("nobody"),
            1 => write!(f, "party {}", names[0]),
            _ => write!(f, "parties {}", names.join(", ")),
        }
    }
}
