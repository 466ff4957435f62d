//! The choice of the sharing of each step of a request. Each party decides by itself, and all come to the same
//! decision.

use std::collections::BTreeMap;

use quorate_engine::Result;
use quorate_engine::clock::own_seconds;
use quorate_gadgets::Family;
use quorate_graph::{Domain, Graph, NodeId};
use quorate_planner::{Chosen, Conditions, Domains, Planner, Reveal, Rivals, Work, native, pin};

use crate::memory::limit::Limit;
use crate::options::Options;
use crate::party::store::Store;
use crate::plan::prices::DryRuns;

/// The number of steps beyond which a program is not planned step by step, unless the user states the sharings.
const MOST_PLANNED: usize = 20_000;

/// The decision for a run.
#[derive(Default)]
pub(super) struct Decided {
    /// The choice for each step that had several.
    pub chosen: BTreeMap<NodeId, Chosen>,
    /// The thread's own seconds that the decision took, without the search for alternatives.
    pub own_seconds: f64,
}

/// Decides in which sharing each node of a run is computed, given where the existing values are. Returns the decision
/// for steps that had a choice.
pub(super) fn mix<B: Family>(
    work: &mut Work<'_>,
    store: &Store<B>,
    (limit, options): (Limit, &Options),
    prices: Option<&DryRuns<B>>,
    rivals: Rivals,
) -> Result<Decided> {
    in_pieces(work, store);
    let is_short = work.nodes.len() <= MOST_PLANNED || !options.sharings.is_auto();
    if let Some(prices) = prices.filter(|_| is_short) {
        return planned(work, options, prices, rivals);
    }
    if limit == Limit::None {
        pin(work, B::GARBLES);
    }
    Ok(Decided::default())
}

/// Plans a run by prices.
fn planned<B: Family>(work: &mut Work<'_>, options: &Options, prices: &DryRuns<B>, rivals: Rivals) -> Result<Decided> {
    let started = own_seconds();
    let mut book = prices.open();
    // A pool holds no labels of garbled circuits.
    let may = |domain: Domain| options.sharings.allows(domain) && !(options.is_pooled() && domain == Domain::Y);
    let allowed = Domain::ALL.map(may);
    let conditions = Conditions { garbles: B::GARBLES, allowed, offline_weight: options.offline_weight };
    let planner = Planner { prices, conditions };
    let decision = planner.decide(&mut book, work)?;
    let own_seconds = own_seconds() - started;
    let chosen = planner.chosen(&mut book, work.graph, &decision, rivals)?;
    decision.put(work);
    Ok(Decided { chosen, own_seconds })
}

/// Puts every step into the protocol's own sharing, where steps can run in pieces. Existing values stay where they are.
pub(super) fn in_pieces<B: Family>(work: &mut Work<'_>, store: &Store<B>) {
    work.domains = Domains::default();
    for (&id, value) in store.known() {
        let elsewhere = |domain: &Domain| *domain != native(Domain::A, work.graph.node(id).dtype);
        value.domain().filter(elsewhere).into_iter().for_each(|domain| work.domains.set(id, domain));
    }
}

pub(super) fn work<'g>(graph: &'g Graph, reveals: &[Reveal], done: &dyn Fn(NodeId) -> bool) -> Work<'g> {
    let targets: Vec<NodeId> = reveals.iter().map(|r| r.node).collect();
    Work { graph, nodes: graph.needed(&targets, done), reveals: reveals.to_vec(), domains: Domains::default() }
}
