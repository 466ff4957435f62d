//! What steps take in each sharing, and conversions between sharings: each priced once in a session.
//!
//! A step's price is that of running its own code on shapes, correlations included, on the stated network and with the
//! measured costs of local work.

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

/// What parties of one process know of prices and plans, which are the same for all of them: the first to ask finds
/// out.
#[derive(Default)]
pub(crate) struct Book {
    steps: BTreeMap<(Hash, Domain), StepPrice>,
    conversions: BTreeMap<Conversion, StepPrice>,
    plans: BTreeMap<Key, Assigned>,
    unplanned: BTreeMap<Key, Unplanned>,
}

/// How prices are made, as the parties agreed.
pub(crate) struct Prices {
    pricing: Pricing,
    parties: usize,
    options: Options,
    book: Arc<Mutex<Book>>,
}

/// Stands for a program whose plan is known.
pub(crate) type Key = [u8; 32];

/// How many plans are kept, and prices of steps: they can be found again.
const PLANS: usize = 256;
const PRICES: usize = 1 << 14;

/// Keeps no more than so many.
fn keep<K: Ord, V>(kept: &mut BTreeMap<K, V>, most: usize, key: K, value: V) {
    if kept.len() >= most && !kept.contains_key(&key) {
        kept.clear();
    }
    kept.insert(key, value);
}

/// Bits of a number (of a bit, 0: it is converted otherwise), and those that its values need; how many, from where to
/// where.
type Conversion = (u32, (usize, bool), usize, Domain, Domain);

impl Book {
    /// The plan of a program that was planned before.
    pub fn plan(&self, key: &Key) -> Option<&Assigned> {
        self.plans.get(key)
    }

    /// What was predicted before of a program, each step in its first way.
    pub fn unplanned(&self, key: &Key) -> Option<Unplanned> {
        self.unplanned.get(key).copied()
    }

    /// Keeps what is predicted of a program, each step in its first way.
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

    /// The book, for one party at a time.
    pub fn open(&self) -> MutexGuard<'_, Book> {
        self.book.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub fn round_seconds(&self) -> f64 {
        self.pricing.round(self.parties)
    }

    /// Node `id` in a sharing.
    pub fn step<B: Family>(&self, book: &mut Book, graph: &Graph, id: NodeId, domain: Domain) -> Result<StepPrice> {
        let key = (graph.step_hash(id), domain);
        let known = book.steps.get(&key).copied();
        let price = known.map_or_else(|| self.priced::<B>(graph, id, domain, None), Ok)?;
        keep(&mut book.steps, PRICES, key, price);
        Ok(price)
    }

    /// The value of node `id` from one sharing into another.
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

    /// Predicted seconds of a run, weighed.
    pub fn whole<B: Family>(&self, work: &Work<'_>) -> Result<f64> {
        let (held, parties) = (before(work), self.parties);
        let asked = Asked { work, held: &held, keeps: &|_| false, limit: Limit::None, windows: 1, figures: false };
        let predicted = |me: usize| -> Result<Predicted> {
            let mut all = dry_run::<B>(&asked, (parties, me), &self.options)?;
            // Each party's clock shows something else, and they must come to one answer.
            [&mut all.offline, &mut all.online].into_iter().for_each(|phase| phase.control_seconds = 0.0);
            all.seconds = 0.0;
            Ok(Predicted::of(&all, work, BTreeMap::new(), 0.0))
        };
        let parties: Vec<Predicted> = (0..parties).map(predicted).collect::<Result<_>>()?;
        let parties: Vec<&Predicted> = parties.iter().collect();
        let seconds = |phase: Phase| self.pricing.phase(phase, &parties).seconds();
        Ok(self.options.offline_weight * seconds(Phase::Offline) + seconds(Phase::Online))
    }

    /// A step in a sharing, or the conversion of a node's value from there.
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
