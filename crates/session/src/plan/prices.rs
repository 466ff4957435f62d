//! Prices of steps in each sharing, and of conversions between sharings, for the planner.
//!
//! A step's price comes from a dry run of its own code, correlations included, on the stated network and with the
//! measured rates of local work.

use std::collections::BTreeMap;
use std::marker::PhantomData;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use quorate_engine::{Error, Phase, Result};
use quorate_gadgets::Family;
use quorate_graph::{Domain, Graph, NodeId};
use quorate_planner::{Book, Prices, StepPrice, Work};

use crate::memory::limit::Limit;
use crate::options::Options;
use crate::plan::dry_run::{Asked, Common, OneStep, PredictedStep, dry_run_after, dry_run_of_step};
use crate::plan::{Predicted, Pricing};

/// Approximate seconds of dry runs of one step in one sharing, with the conversions from and to it, and of each of its
/// rounds.
const SECONDS_OF_A_WAY: f64 = 0.3e-3;
const SECONDS_OF_A_WAYS_ROUND: f64 = 35e-6;

/// Approximate seconds of a party's dry run of the whole, for each step and for each round.
const SECONDS_OF_A_STEP: f64 = 10e-6;
const SECONDS_OF_A_ROUND: f64 = 5e-6;

/// Prices from dry runs of a family's code, by the rates on which the parties agreed.
pub(crate) struct DryRuns<B> {
    pricing: Pricing,
    parties: usize,
    options: Options,
    /// Prices and plans, which parties of one process share.
    book: Arc<Mutex<Book>>,
    family: PhantomData<B>,
}

impl<B: Family> DryRuns<B> {
    pub fn new(pricing: Pricing, parties: usize, options: Options, book: Arc<Mutex<Book>>) -> Self {
        DryRuns { pricing, parties, options, book, family: PhantomData }
    }

    /// Locks the book for one party.
    pub fn open(&self) -> MutexGuard<'_, Book> {
        self.book.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Computes the price of a step in a sharing, or of converting a node's value from there to `to`.
    fn priced(&self, graph: &Graph, id: NodeId, domain: Domain, to: Option<Domain>) -> Result<StepPrice> {
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
        let seconds = self.options.priced_offline_weight() * seconds(Phase::Offline) + seconds(Phase::Online);
        let rounds = each.iter().map(|step| step.online.traffic.rounds).max().unwrap_or(0);
        Ok(StepPrice { rounds, seconds })
    }
}

impl<B: Family> Prices for DryRuns<B> {
    type Error = Error;

    fn round_seconds(&self) -> f64 {
        self.pricing.round(self.parties)
    }

    fn step(&self, graph: &Graph, id: NodeId, domain: Domain) -> Result<StepPrice> {
        self.priced(graph, id, domain, None)
    }

    fn conversion(&self, graph: &Graph, id: NodeId, from: Domain, to: Domain) -> Result<StepPrice> {
        self.priced(graph, id, from, Some(to))
    }

    fn whole(&self, work: &Work<'_>) -> Result<f64> {
        let (held, parties) = (work.before(), self.parties);
        let asked = Asked { work, held: &held, keeps: &|_| false, limit: Limit::None, windows: 1, figures: true };
        let mut common = Common::default();
        let predicted = |me: usize| -> Result<Predicted> {
            let mut all = dry_run_after::<B>(&mut common, &asked, (parties, me), &self.options)?;
            // The parties' clocks differ, and they must come to the same answer.
            [&mut all.offline, &mut all.online].into_iter().for_each(|phase| phase.control_seconds = 0.0);
            all.seconds = 0.0;
            Ok(Predicted::of(&all, work, BTreeMap::new(), 0.0))
        };
        let parties: Vec<Predicted> = (0..parties).map(predicted).collect::<Result<_>>()?;
        let parties: Vec<&Predicted> = parties.iter().collect();
        let seconds = |phase: Phase| self.pricing.phase(phase, &parties).seconds();
        Ok(self.options.priced_offline_weight() * seconds(Phase::Offline) + seconds(Phase::Online))
    }

    fn seconds_to_price(&self, rounds: u32) -> f64 {
        SECONDS_OF_A_WAY + SECONDS_OF_A_WAYS_ROUND * f64::from(rounds)
    }

    fn seconds_to_price_whole(&self, steps: usize, rounds: u32) -> f64 {
        self.parties as f64 * (steps as f64 * SECONDS_OF_A_STEP + f64::from(rounds) * SECONDS_OF_A_ROUND)
    }
}
