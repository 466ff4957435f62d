//! Prices of steps in each sharing, and of conversions between sharings. Each is computed once in a session.
//!
//! A step's price comes from a dry run of its own code, correlations included, on the stated network and with the
//! measured rates of local work.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use quorate_engine::{Phase, Result};
use quorate_gadgets::Family;
use quorate_graph::domains::{Domain, StepPrice};
use quorate_graph::{Dtype, Graph, Hash, NodeId};

use super::assign::{Assigned, Unplanned};
use super::outline::before;
use crate::memory::limit::Limit;
use crate::options::Options;
use crate::plan::dry_run::{Asked, OneStep, PredictedStep, dry_run, dry_run_of_step};
use crate::plan::{Predicted, Pricing};
use crate::work::Work;

/// Prices and plans, which parties of one process share: the first party that needs one computes it.
#[derive(Default)]
pub(crate) struct Book {
    steps: BTreeMap<(Hash, Domain), StepPrice>,
    conversions: BTreeMap<Conversion, StepPrice>,
    plans: BTreeMap<Key, Assigned>,
    unplanned: BTreeMap<Key, Unplanned>,
}

/// The rule by which prices are computed, as the parties agreed.
pub(crate) struct Prices {
    pricing: Pricing,
    parties: usize,
    options: Options,
    book: Arc<Mutex<Book>>,
}

/// The hash of a program whose plan is known.
pub(crate) type Key = [u8; 32];

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
    pub fn plan(&self, key: &Key) -> Option<&Assigned> {
        self.plans.get(key)
    }

    /// Returns the earlier prediction of a program with each step in its first sharing.
    pub fn unplanned(&self, key: &Key) -> Option<Unplanned> {
        self.unplanned.get(key).copied()
    }

    /// Keeps the prediction of a program with each step in its first sharing.
    pub fn keep_unplanned(&mut self, key: Key, found: Unplanned) {
        keep(&mut self.unplanned, PLANS, key, found);
    }

    /// Keeps the plan of a program.
    pub fn keep_plan(&mut self, key: Key, plan: Assigned) {
        keep(&mut self.plans, PLANS, key, plan);
    }
}

impl Prices {
    pub fn new(pricing: Pricing, parties: usize, options: Options, book: Arc<Mutex<Book>>) -> Prices {
        Prices { pricing, parties, options, book }
    }

    /// Locks the book for one party.
    pub fn open(&self) -> MutexGuard<'_, Book> {
        self.book.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub fn round_seconds(&self) -> f64 {
        self.pricing.round(self.parties)
    }

    /// Returns the price of node `id` in a sharing.
    pub fn step<B: Family>(&self, book: &mut Book, graph: &Graph, id: NodeId, domain: Domain) -> Result<StepPrice> {
        let key = (graph.step_hash(id), domain);
        let known = book.steps.get(&key).copied();
        let price = known.map_or_else(|| self.priced::<B>(graph, id, domain, None), Ok)?;
        keep(&mut book.steps, PRICES, key, price);
        Ok(price)
    }

    /// Returns the price of converting the value of node `id` from one sharing to another.
    pub fn conversion<B: Family>(
        &self,
        book: &mut Book,
        (graph, id): (&Graph, NodeId),
        from: Domain,
        to: Domain,
    ) -> Result<StepPrice> {
        let node = graph.node(id);
        let bits = if node.dtype == Dtype::Bit { 0 } else { node.dtype.bits() };
        let key = (bits, graph.width(id), node.elements(), from, to);
        let known = book.conversions.get(&key).copied();
        let price = known.map_or_else(|| self.priced::<B>(graph, id, from, Some(to)), Ok)?;
        keep(&mut book.conversions, PRICES, key, price);
        Ok(price)
    }

    pub fn parties(&self) -> usize {
        self.parties
    }

    /// Returns the predicted seconds of a run; the offline phase is weighed.
    pub fn whole<B: Family>(&self, work: &Work<'_>) -> Result<f64> {
        let (held, parties) = (before(work), self.parties);
        let asked = Asked { work, held: &held, keeps: &|_| false, limit: Limit::None, windows: 1, figures: false };
        let predicted = |me: usize| -> Result<Predicted> {
            let mut all = dry_run::<B>(&asked, (parties, me), &self.options)?;
            // The parties' clocks differ, and they must come to the same answer.
            [&mut all.offline, &mut all.online].into_iter().for_each(|phase| phase.control_seconds = 0.0);
            all.seconds = 0.0;
            Ok(Predicted::of(&all, work, BTreeMap::new(), 0.0))
        };
        let parties: Vec<Predicted> = (0..parties).map(predicted).collect::<Result<_>>()?;
        let parties: Vec<&Predicted> = parties.iter().collect();
        let seconds = |phase: Phase| self.pricing.phase(phase, &parties).seconds();
        Ok(self.options.offline_weight * seconds(Phase::Offline) + seconds(Phase::Online))
    }

    /// Computes the price of a step in a sharing, or of converting a node's value from there to `to`.
    fn priced<B: Family>(&self, graph: &Graph, id: NodeId, domain: Domain, to: Option<Domain>) -> Result<StepPrice> {
        let parties = self.parties;
        let step = OneStep { graph, id, domain, to };
        let each: Vec<PredictedStep> =
            (0..parties).map(|me| dry_run_of_step::<B>(&step, (parties, me), &self.options)).collect::<Result<_>>()?;
        let seconds = |phase: Phase| {
            let dry = each.iter().map(|step| step.phase(phase));
            let compute = self.pricing.compute(dry.clone().map(|dry| (dry.work, 0.0)));
            let most = dry.map(|dry| dry.traffic.bytes()).max().unwrap_or(0);
            compute + self.pricing.network(0, most, most)
        };
        let seconds = self.options.offline_weight * seconds(Phase::Offline) + seconds(Phase::Online);
        let rounds = each.iter().map(|step| step.online.traffic.rounds).max().unwrap_or(0);
        Ok(StepPrice { rounds, seconds })
    }
}
