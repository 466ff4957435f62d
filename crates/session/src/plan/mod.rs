//! Plans of requests: dry runs of every party before anything is sent, with prices for the place where the parties run.

pub(crate) mod dry_run;
pub(crate) mod lines;
pub(crate) mod prices;
pub(crate) mod remembered_runs;

#[cfg(test)]
mod figures_tests;

use std::collections::{BTreeMap, BTreeSet};

use quorate_engine::{Ctx, Phase, Rates, Result};
use quorate_graph::{Graph, Hash, Network, Node, NodeId, Op};
use quorate_planner::{Chosen, Work};
use quorate_ring::meter::Effort;

use crate::plan::dry_run::{DryRun, PredictedPhase};
use crate::plan::lines::{Line, LineCosts};
use crate::pool::Content;
use crate::reveals::{Told, confirms};
use crate::run::operations::truncation::Truncations;
use crate::work::effort::StepCost;

/// The place where parties run.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Setting {
    /// All in this process, in threads that share its cores, over memory or over a simulated network.
    Here {
        /// The number of parties.
        parties: usize,
        /// The simulated network between them; `None`: memory alone.
        network: Option<Network>,
    },
    /// Each on a machine like this one. Without a network, a round costs as much as among threads.
    Apart {
        /// The network between the machines, where it is stated.
        network: Option<Network>,
    },
}

impl Setting {
    /// Returns the number of parties that share the cores of a machine.
    pub(crate) fn sharing(&self) -> usize {
        if let Setting::Here { parties, .. } = self { *parties } else { 1 }
    }
}

/// The predicted seconds of a phase or of a part of it.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Price {
    /// Seconds in which parties compute.
    pub compute_seconds: f64,
    /// Seconds in which they wait for messages.
    pub network_seconds: f64,
    /// The part of `compute_seconds` in which they plan, run dry and schedule, as measured by a clock. All other
    /// seconds follow from the operations, and every party predicts the same at any time.
    pub bookkeeping_seconds: f64,
}

impl Price {
    /// Returns the sum; computing and waiting are assumed not to overlap.
    pub fn seconds(&self) -> f64 {
        self.compute_seconds + self.network_seconds
    }
}

/// The prices of work and messages in one setting.
#[derive(Clone)]
pub struct Pricing {
    setting: Setting,
    rates: Rates,
    /// The number of threads on which each party computes, no more than it has cores, and the rates of one of them
    /// while all compute.
    threads: usize,
    side_by_side: Rates,
}

impl Pricing {
    /// Returns the prices of this machine, which is measured if that was not done yet (about 50 ms).
    pub fn at(setting: Setting) -> Pricing {
        Pricing::by(Rates::of_this_machine(setting.sharing()), setting)
    }

    /// Returns the prices for these rates.
    pub(crate) fn by(rates: Rates, setting: Setting) -> Pricing {
        Pricing { setting, rates, threads: 1, side_by_side: rates }
    }

    /// Returns the prices of parties that compute on this number of threads each: as many of them as a party has cores
    /// share the work of chunks. What such a thread takes while the others compute is measured if that was not done
    /// yet.
    #[must_use]
    pub fn on(mut self, threads: usize) -> Pricing {
        let sharing = self.setting.sharing();
        self.threads = threads.min(Rates::cores() / sharing).max(1);
        if self.threads > 1 {
            self.side_by_side = Rates::of_this_machine(sharing * self.threads);
        }
        self
    }

    /// Returns the prices on which the parties agree: the slowest party's rates. Parties of one process agree, too,
    /// since a measurement of one party may be forgotten before the next one needs it.
    ///
    /// # Errors
    /// Any error that ends a run.
    pub(crate) async fn agreed(ctx: &Ctx, setting: Setting) -> Result<Pricing> {
        let rates = Pricing::at(setting).rates.slowest(ctx).await?;
        Ok(Pricing::by(rates, setting))
    }

    /// Returns the rates of this machine or of all parties, for a pool.
    pub(crate) fn rates(&self) -> Rates {
        self.rates
    }

    /// Returns the seconds that the parties compute, given each party's work and seconds of bookkeeping.
    pub fn compute(&self, parties: impl Iterator<Item = (Effort, f64)>) -> f64 {
        let seconds = |work: &Effort| self.rates.seconds_on(self.threads, &self.side_by_side, work);
        let each: Vec<f64> = parties.map(|(work, control)| seconds(&work) + control).collect();
        match self.setting {
            Setting::Here { .. } => Rates::shared(&each),
            Setting::Apart { .. } => each.into_iter().fold(0.0, f64::max),
        }
    }

    /// Returns the measured seconds to compare with [`Pricing::compute`], given the seconds for which each party's
    /// thread had a core.
    pub fn computed(&self, own_seconds: impl Iterator<Item = f64>) -> f64 {
        self.compute(own_seconds.map(|own| (Effort::default(), own)))
    }

    /// Returns the seconds of `rounds` rounds in which a party sends `bytes` bytes to all peers together, and
    /// `bytes_of_link` to its busiest peer.
    pub fn network(&self, rounds: u64, bytes: u64, bytes_of_link: u64) -> f64 {
        let among_threads = rounds as f64 * self.rates.round_seconds;
        match self.setting {
            // Simulated links are independent of each other.
            Setting::Here { network: Some(network), .. } => network.price(rounds, bytes_of_link, among_threads),
            Setting::Apart { network: Some(network) } => network.price(rounds, bytes, 0.0),
            _ => among_threads,
        }
    }

    /// Returns the seconds of a round of `parties` parties in which hardly anything is sent, including the time in
    /// which each wakes up.
    pub(crate) fn round(&self, parties: usize) -> f64 {
        let waking = (0..parties).map(|_| (Effort::default(), self.rates.wake_seconds));
        self.network(1, 0, 0) + self.compute(waking)
    }

    /// Returns the seconds of a line by itself. Lines that do not depend on each other share rounds, so a program may
    /// take less than the sum of its lines.
    pub fn line(&self, parties: &[&LineCosts]) -> Price {
        let rounds = parties.iter().map(|line| line.rounds).max().unwrap_or(0);
        let bytes = parties.iter().map(|line| line.bytes).max().unwrap_or(0);
        let waking = |line: &LineCosts| line.rounds as f64 * self.rates.wake_seconds;
        let compute_seconds = self.compute(parties.iter().map(|line| (line.work, line.busy_seconds + waking(line))));
        Price { compute_seconds, network_seconds: self.network(rounds, bytes, bytes), bookkeeping_seconds: 0.0 }
    }

    /// Returns the seconds of a phase. The online phase includes the confirmation. Dry runs of both phases are part of
    /// the offline phase, as are decisions before it.
    pub fn phase(&self, phase: Phase, parties: &[&Predicted]) -> Price {
        let of = |party: &Predicted| party.phase(phase).clone();
        let waits =
            |party: &Predicted| f64::from(party.phase(phase).traffic.rounds) + party.confirmations(phase) as f64;
        let waking = |party: &Predicted| waits(party) * self.rates.wake_seconds;
        let control = |party: &Predicted| match phase {
            Phase::Offline => party.deciding_seconds + party.offline.control_seconds,
            Phase::Online => party.online.control_seconds,
        };
        let confirmations = parties.iter().map(|party| party.confirmations(phase)).max().unwrap_or(0);
        let compute_seconds = self.compute(parties.iter().map(|p| (of(p).work, control(p) + waking(p))));
        let bookkeeping_seconds = compute_seconds - self.compute(parties.iter().map(|p| (of(p).work, waking(p))));
        let most = |count: fn(&PredictedPhase) -> u64| parties.iter().map(|p| count(p.phase(phase))).max().unwrap_or(0);
        let rounds = most(|dry| u64::from(dry.traffic.rounds));
        let link = most(|dry| dry.traffic.sent.iter().copied().max().unwrap_or(0));
        let network_seconds = self.network(rounds + confirmations, most(|dry| dry.traffic.bytes()), link);
        Price { compute_seconds, network_seconds, bookkeeping_seconds }
    }
}

/// The prediction of one or more runs at one party, added up.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Predicted {
    /// The making of correlations.
    pub offline: PredictedPhase,
    /// The rest of the runs, which depends on values.
    pub online: PredictedPhase,
    /// The online phase by the user's line.
    pub by_line: BTreeMap<Line, LineCosts>,
    /// Seconds in which the party chose the sharings of the steps, and in which it ran dry.
    pub deciding_seconds: f64,
    /// The number of runs that end with a confirmation: the parties tell each other that they have all that they need,
    /// in half a round trip.
    pub confirmed: u64,
}

impl Predicted {
    pub(crate) fn of<K>(
        dry_run: &DryRun<K>,
        work: &Work<'_>,
        by_line: BTreeMap<Line, LineCosts>,
        deciding_seconds: f64,
    ) -> Predicted {
        let (offline, online) = (dry_run.offline.clone(), dry_run.online.clone());
        let deciding_seconds = deciding_seconds + dry_run.seconds;
        Predicted { offline, online, by_line, deciding_seconds, confirmed: confirms(work).into() }
    }

    /// Returns the prediction of one of the two phases.
    pub fn phase(&self, phase: Phase) -> &PredictedPhase {
        match phase {
            Phase::Offline => &self.offline,
            Phase::Online => &self.online,
        }
    }

    /// Returns the number of confirmations in a phase.
    fn confirmations(&self, phase: Phase) -> u64 {
        if phase == Phase::Online { self.confirmed } else { 0 }
    }

    pub(crate) fn add(&mut self, run: &Predicted) {
        self.deciding_seconds += run.deciding_seconds;
        self.confirmed += run.confirmed;
        for (total, phase) in [(&mut self.offline, &run.offline), (&mut self.online, &run.online)] {
            total.traffic.rounds += phase.traffic.rounds;
            total.traffic.sent.resize(phase.traffic.sent.len(), 0);
            total.traffic.sent.iter_mut().zip(&phase.traffic.sent).for_each(|(sum, more)| *sum += more);
            total.work += phase.work;
            total.control_seconds += phase.control_seconds;
        }
        for (line, costs) in &run.by_line {
            self.by_line.entry(line.clone()).or_default().add(costs);
        }
    }
}

/// One step of a program, and its costs for every party in the online phase.
#[derive(Clone, Debug, PartialEq)]
pub struct StepPlan {
    /// The number of its node in the program.
    pub node: u32,
    /// The description of the step, with its line.
    pub what: String,
    /// The user's file that contains the line.
    pub file: String,
    /// The line of that file, from 1.
    pub line: u32,
    /// Payload bytes sent, by party.
    pub bytes_sent: Vec<u64>,
    /// The rounds after which it begins and ends; a value and its reveal may be rounds apart.
    pub rounds: Vec<(u32, u32)>,
    /// Correlations that a party draws for it, by kind.
    pub correlations: BTreeMap<String, u64>,
    /// Local work and busy seconds, by party.
    pub work: Vec<(Effort, f64)>,
}

/// The plan of a request.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Plan {
    /// The values that are revealed, to whom, and on whose inputs they depend.
    pub told: Vec<Told>,
    /// The hash that a person approves. It covers the program that makes the values, and all reveals before.
    pub hash: Option<Hash>,
    /// The predictions of every party.
    pub parties: Vec<Predicted>,
    /// Correlations by kind.
    pub correlations: BTreeMap<String, u64>,
    /// The correlations as a pool makes them for such a run; `None` where there are none.
    pub content: Option<Content>,
    /// The steps that exchange messages.
    pub steps: Vec<StepPlan>,
    /// Bytes that a party holds at the peak, if steps run one after another. Counted are what the session holds,
    /// correlations made ahead, values from their step to their last use, and the step's working room.
    pub memory_bytes: u64,
    /// The reason of the refusal, where the request does not fit the session's limit on memory.
    pub refusal: Option<String>,
    /// The numbers of fixed-point truncations, by method.
    pub truncations: Truncations,
    /// The nodes that would be run.
    pub executed: Vec<NodeId>,
    /// The orders among them.
    pub orders: Vec<OrderPlan>,
    /// The chosen sharing of each step that could run in several.
    pub chosen: BTreeMap<NodeId, Chosen>,
}

/// Rows that a run puts in the order of secret keys.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OrderPlan {
    /// The file of the line that asks for it.
    pub file: String,
    /// The number of that line.
    pub line: u32,
    /// The number of rows.
    pub rows: usize,
}

impl OrderPlan {
    /// Returns the orders among some nodes.
    pub(crate) fn all(graph: &Graph, nodes: &[NodeId]) -> Vec<OrderPlan> {
        let order = |&id: &NodeId| match graph.node(id) {
            Node { op: Op::Order { rows, .. }, source, .. } => {
                Some(OrderPlan { file: source.file.to_string(), line: source.line, rows: *rows })
            }
            _ => None,
        };
        nodes.iter().filter_map(order).collect()
    }
}

impl StepPlan {
    /// Returns a step without costs.
    pub(crate) fn at(graph: &Graph, node: u32, parties: usize) -> StepPlan {
        let source = &graph.node(NodeId(node)).source;
        StepPlan {
            node,
            what: graph.describe(NodeId(node)),
            file: source.file.to_string(),
            line: source.line,
            bytes_sent: vec![0; parties],
            rounds: Vec::new(),
            correlations: BTreeMap::new(),
            work: vec![Default::default(); parties],
        }
    }

    /// Sets the costs of the step for one party; its rounds are the same for all.
    pub(crate) fn take(&mut self, party: usize, cost: StepCost) {
        self.bytes_sent[party] = cost.bytes;
        self.work[party] = (cost.work, cost.busy_seconds);
        self.correlations = cost.correlations;
        self.rounds = cost.rounds;
    }
}

impl Plan {
    /// Returns the lines of the program that run, in order.
    pub fn lines(&self) -> Vec<Line> {
        let all: BTreeSet<&Line> = self.parties.iter().flat_map(|party| party.by_line.keys()).collect();
        all.into_iter().cloned().collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use quorate_engine::testing;
    use quorate_ring::meter::{self, Kernel, charge, charged};

    #[test]
    fn parties_of_a_process_agree_whatever_was_forgotten() {
        let setting = Setting::Here { parties: 2, network: None };
        let all = testing::online(2, async |ctx: &Ctx| {
            if ctx.me() == 1 {
                Pricing::at(setting);
                Rates::forget();
            }
            Ok(Pricing::agreed(ctx, setting).await?.rates)
        });
        let rates: Vec<Rates> = all.into_iter().map(|each| each.unwrap().0).collect();
        assert_eq!(rates[0], rates[1]);
    }

    #[test]
    fn threads_share_the_work_of_chunks_as_far_as_a_party_has_cores() {
        let work = |shared: bool| {
            let before = charged();
            let charges = || charge(Kernel::Draw, 1 << 30);
            if shared {
                meter::shared(charges)
            } else {
                charges()
            };
            charged() - before
        };
        let seconds = |pricing: &Pricing, shared| pricing.compute([(work(shared), 0.0)].into_iter());
        let one = Pricing::at(Setting::Apart { network: None });
        let many = one.clone().on(2);
        assert_eq!(seconds(&one, true), seconds(&one, false));
        assert_eq!(seconds(&many, false), seconds(&one, false));
        let cores = Rates::cores();
        assert_eq!((many.threads, one.clone().on(1000 * cores).threads), (cores.min(2), cores));
        assert_eq!(one.clone().on(0).threads, 1);
        let ratio = seconds(&many, true) / many.side_by_side.seconds(&work(true));
        assert!((ratio * many.threads as f64 - 1.0).abs() < 1e-9, "{ratio}");
        let here = Setting::Here { parties: cores, network: None };
        assert_eq!(Pricing::at(here).on(8).threads, 1, "each party has one core");
    }

    #[test]
    fn waking_up_counts_for_each_round() {
        let pricing = Pricing::at(Setting::Apart { network: None });
        let mut line = LineCosts { rounds: 10, ..LineCosts::default() };
        let ten = pricing.line(&[&line]).compute_seconds;
        line.rounds = 30;
        assert!(ten > 0.0 && (pricing.line(&[&line]).compute_seconds / ten - 3.0).abs() < 1e-9);
    }
}
