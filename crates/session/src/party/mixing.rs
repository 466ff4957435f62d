//! The choice of the sharing of each step of a request. Each party decides by itself, and all come to the same
//! decision.

use quorate_engine::Result;
use quorate_gadgets::Family;
use quorate_graph::domains::Domain;
use quorate_graph::{Graph, NodeId};

use crate::memory::limit::Limit;
use crate::options::Options;
use crate::party::store::Store;
use crate::plan::sharings::assign::{Decided, Deciding, assign};
use crate::plan::sharings::outline::pin;
use crate::work::domains::{Domains, native};
use crate::work::{Reveal, Work};

/// The number of steps beyond which programs are not planned step by step, where users leave the sharings to Quorate.
const MOST_PLANNED: usize = 20_000;

/// Decides in which sharing each node of a run is computed, given where the existing values are. Returns the decision
/// for steps that had a choice.
pub(super) fn mix<B: Family>(
    work: &mut Work<'_>,
    store: &Store<B>,
    (limit, options): (Limit, &Options),
    deciding: Option<&Deciding<'_>>,
) -> Result<Decided> {
    in_pieces(work, store);
    let is_short = work.nodes.len() <= MOST_PLANNED || !options.sharings.is_auto();
    if let Some(deciding) = deciding.filter(|_| is_short) {
        return assign::<B>(work, deciding);
    }
    if limit == Limit::None {
        pin::<B>(work);
    }
    Ok(Decided::default())
}

/// Puts every step into the protocol's own sharing, where steps can run in pieces. Existing values stay where they are.
pub(super) fn in_pieces<B: Family>(work: &mut Work<'_>, store: &Store<B>) {
    work.domains = Domains::default();
    for (&id, value) in store.known() {
        let elsewhere = |domain: &Domain| *domain != native(Domain::A, work.graph.node(id).dtype);
        value.domain().filter(elsewhere).into_iter().for_each(|domain| work.domains.set(id, domain));
    }
}

pub(super) fn work<'g>(graph: &'g Graph, reveals: &[Reveal], done: impl Fn(NodeId) -> bool) -> Work<'g> {
    let targets: Vec<NodeId> = reveals.iter().map(|r| r.node).collect();
    Work { graph, nodes: graph.needed(&targets, done), reveals: reveals.to_vec(), domains: Domains::default() }
}
