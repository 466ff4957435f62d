//! Prices and plans that are known already. Each is computed once in a session.

use std::collections::BTreeMap;

use quorate_graph::{Domain, Dtype, Graph, Hash, NodeId};

use crate::outline::Key;
use crate::prices::Prices;
use crate::problem::{Assignment, StepPrice};

/// Prices and plans of one session, which its parties in one process share: the first that needs one computes it.
///
/// The keys do not name what is the same throughout a session: the number of parties, the rates and the network behind
/// the prices, the users' options and the weight of the offline phase. So a book belongs to one session. How often a
/// program has made similar requests is in no key either: it decides, at every request anew, whether a plan is made and
/// by which prices.
#[derive(Default)]
pub struct Book {
    steps: BTreeMap<(Hash, Domain), StepPrice>,
    conversions: BTreeMap<Conversion, StepPrice>,
    plans: BTreeMap<Key, Assigned>,
    unplanned: BTreeMap<Key, Unplanned>,
}

/// The plan of a program by the prices of its steps, and, once that is worthwhile, by prices of the whole.
#[derive(Clone)]
pub(crate) struct Assigned {
    /// The assignment by the prices of its steps.
    pub by_steps: Assignment,
    /// Predicted seconds of a run under the plan by steps, and approximate seconds of pricing the whole.
    pub seconds: f64,
    pub deciding: f64,
    /// The assignment by prices of the whole.
    pub by_the_whole: Option<Assignment>,
}

/// The prediction of a program with each step in its first sharing.
#[derive(Clone, Copy)]
pub(crate) struct Unplanned {
    /// Predicted seconds of a run.
    pub seconds: f64,
    /// Approximate seconds to search for a better assignment.
    pub planning: f64,
}

/// The largest numbers of plans and of prices of steps that are kept; they can be computed again.
const PLANS: usize = 256;
const PRICES: usize = 1 << 14;

/// Inserts an entry; if there are `most` entries already, removes these first.
fn keep<K: Ord, V>(kept: &mut BTreeMap<K, V>, most: usize, key: K, value: V) {
    if kept.len() >= most && !kept.contains_key(&key) {
        kept.clear();
    }
    kept.insert(key, value);
}

/// Bits of the number's ring (0 for a bit, which is converted differently), the bits that its values need, the number
/// of elements, and the sharings from and to.
type Conversion = (u32, (usize, bool), usize, Domain, Domain);

impl Book {
    /// Returns the plan of a program, if it was planned before.
    pub(crate) fn plan(&self, key: &Key) -> Option<&Assigned> {
        self.plans.get(key)
    }

    /// Returns the earlier prediction of a program with each step in its first sharing.
    pub(crate) fn unplanned(&self, key: &Key) -> Option<Unplanned> {
        self.unplanned.get(key).copied()
    }

    /// Keeps the prediction of a program with each step in its first sharing.
    pub(crate) fn keep_unplanned(&mut self, key: Key, found: Unplanned) {
        keep(&mut self.unplanned, PLANS, key, found);
    }

    /// Keeps the plan of a program.
    pub(crate) fn keep_plan(&mut self, key: Key, plan: Assigned) {
        keep(&mut self.plans, PLANS, key, plan);
    }

    /// Returns the price of node `id` in a sharing, which is computed if it is not known.
    pub(crate) fn step<P: Prices + ?Sized>(
        &mut self,
        prices: &P,
        (graph, id): (&Graph, NodeId),
        domain: Domain,
    ) -> Result<StepPrice, P::Error> {
        let key = (graph.step_hash(id), domain);
        let known = self.steps.get(&key).copied();
        let price = known.map_or_else(|| prices.step(graph, id, domain), Ok)?;
        keep(&mut self.steps, PRICES, key, price);
        Ok(price)
    }

    /// Returns the price of converting the value of node `id` from one sharing to another, which is computed if it is
    /// not known.
    pub(crate) fn conversion<P: Prices + ?Sized>(
        &mut self,
        prices: &P,
        (graph, id): (&Graph, NodeId),
        from: Domain,
        to: Domain,
    ) -> Result<StepPrice, P::Error> {
        let node = graph.node(id);
        let bits = if node.dtype == Dtype::Bit { 0 } else { node.dtype.bits() };
        let key = (bits, graph.width(id), node.elements(), from, to);
        let known = self.conversions.get(&key).copied();
        let price = known.map_or_else(|| prices.conversion(graph, id, from, to), Ok)?;
        keep(&mut self.conversions, PRICES, key, price);
        Ok(price)
    }
}
