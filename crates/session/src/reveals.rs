//! The reveals of a run: values, receivers, and the parties on whose inputs the values depend. People approve these,
//! and the audit log lists them.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use quorate_graph::{Graph, NodeId, Owners};
use quorate_planner::{Reveal, Work};

/// One value that a run reveals.
#[derive(Clone, Debug, PartialEq)]
pub struct Told {
    /// The description of the value, with the line that makes it.
    pub what: String,
    /// The shape of the value.
    pub shape: Vec<usize>,
    /// The dtype of the value, as messages show it.
    pub dtype: String,
    /// The parties that learn it; `None`: all.
    pub to: Option<Vec<usize>>,
    /// The parties on whose inputs it may depend. Inputs of other parties have no influence on it.
    pub owners: Vec<usize>,
    /// The parties whose own inputs it discloses to others. Its elements are elements of such an input: unchanged,
    /// moved, or in a form that can be undone.
    pub own: Vec<usize>,
    /// Whether it may depend on what clients of a campaign gave.
    pub clients: bool,
    /// Whether it discloses what clients gave, as `own` discloses inputs of parties.
    pub own_clients: bool,
}

impl Told {
    /// Describes these reveals, one entry for each value and its receivers. All values that one party sees are analysed
    /// together.
    pub(crate) fn all(graph: &Graph, reveals: &[Reveal], parties: usize) -> Vec<Told> {
        let groups = groups(reveals);
        let mut own = vec![(BTreeSet::new(), false); groups.len()];
        let mut found: BTreeMap<Vec<usize>, Vec<Owners>> = BTreeMap::new();
        for party in 0..parties {
            let sees = |at: &usize| groups[*at].1.as_ref().is_none_or(|to| to.contains(&party));
            let seen: Vec<usize> = (0..groups.len()).filter(sees).collect();
            let nodes: Vec<NodeId> = seen.iter().map(|&at| groups[at].0).collect();
            let owners = found.entry(seen.clone()).or_insert_with(|| graph.own_inputs_together(&nodes));
            for (&at, owners) in seen.iter().zip(owners) {
                own[at].0.extend(owners.parties().filter(|&owner| owner != party));
                own[at].1 |= owners.has_clients();
            }
        }
        let each = |((node, to), own): (_, (BTreeSet<usize>, bool))| Told::of(graph, node, to, own);
        groups.into_iter().zip(own).map(each).collect()
    }

    fn of(graph: &Graph, node: NodeId, to: Option<Vec<usize>>, (own, own_clients): (BTreeSet<usize>, bool)) -> Told {
        let (known, owners) = (graph.node(node), graph.owners(node));
        Told {
            what: graph.describe(node),
            shape: known.shape.clone(),
            dtype: known.dtype.to_string(),
            owners: owners.parties().collect(),
            clients: owners.has_clients(),
            own: own.into_iter().collect(),
            own_clients,
            to,
        }
    }
}

/// Returns whether the parties confirm that all of them reached the end before they show any result. Without new nodes
/// no confirmation is needed: values that exist already stay the same when they are opened again.
pub(crate) fn confirms(work: &Work<'_>) -> bool {
    !work.nodes.is_empty()
}

/// Returns the values that are revealed, with the receivers of each, in order. Consecutive reveals of one value to
/// several parties form one entry.
pub(crate) fn groups(reveals: &[Reveal]) -> Vec<(NodeId, Option<Vec<usize>>)> {
    let mut groups: Vec<(NodeId, Option<Vec<usize>>)> = Vec::new();
    for &Reveal { node, to } in reveals {
        match (groups.last_mut(), to) {
            (Some((last, Some(known))), Some(party)) if *last == node && !known.contains(&party) => known.push(party),
            _ => groups.push((node, to.map(|party| vec![party]))),
        }
    }
    groups
}

/// Returns a description of parties; `None`: all.
pub(crate) fn named(to: Option<&[usize]>) -> String {
    match to {
        None => "all parties".into(),
        Some([party]) => format!("party {party}"),
        Some(many) => format!("parties {}", many.iter().map(usize::to_string).collect::<Vec<_>>().join(", ")),
    }
}

impl fmt::Display for Told {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} to {}", self.what, named(self.to.as_deref()))?;
        match (self.owners.as_slice(), self.clients) {
            ([], false) => f.write_str(", which depends on nobody's input"),
            ([], true) => f.write_str(", which depends on the inputs of clients"),
            (owners, false) => write!(f, ", which depends on the inputs of {}", named(Some(owners))),
            (owners, true) => write!(f, ", which depends on the inputs of {} and of clients", named(Some(owners))),
        }
    }
}
