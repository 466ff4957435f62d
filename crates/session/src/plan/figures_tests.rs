//! Tests of plans of long arrays: their figures are those of a run, and they run few chunks.

use std::cell::RefCell;
use std::collections::BTreeSet;

use quorate_engine::Traffic;
use quorate_gadgets::Family;
use quorate_graph::{BinaryOp, Bound, BuildError, Builder, Dtype, Graph, NodeId, Source};
use quorate_planner::{Domains, Reveal, Work};
use quorate_protocols::{Protocol, Visit};
use quorate_ring::meter::{Effort, Kernel};

use super::dry_run::{Asked, Common, DryRun, dry_run, dry_run_after, run_dry};
use crate::memory::limit::Limit;
use crate::options::Options;
use crate::work::effort::Taken;

const FAMILIES: [(Protocol, usize); 5] =
    [(Protocol::Rss, 3), (Protocol::Aby, 2), (Protocol::Spdz2k, 2), (Protocol::Pika, 3), (Protocol::PikaMalicious, 3)];

/// Builds an operation on two inputs.
type Build = fn(&mut Builder<'_>, [NodeId; 2]) -> Result<NodeId, BuildError>;

const OPERATIONS: [Build; 6] = [
    |at, [x, y]| at.binary(BinaryOp::Mul, x, y),
    |at, [x, y]| at.binary(BinaryOp::Lt, x, y),
    |at, [x, y]| at.binary(BinaryOp::Eq, x, y),
    |at, [x, _]| at.max(x, None, false),
    |at, [x, _]| at.argmax(x, None, false),
    |at, [x, _]| {
        let bits = at.bits(x)?;
        at.sum(bits, Some(0), false)
    },
];

/// Returns a program that computes an operation on `len` elements.
fn program(build: Build, len: usize) -> (Graph, NodeId) {
    let mut graph = Graph::default();
    let mut at = graph.at(Source::new("figures.rs", 1));
    let bound = Some(Bound::Int(1 << 20));
    let inputs = [0, 1].map(|owner| at.input(owner, 2, &[len], Dtype::Int { bits: 32 }, bound).unwrap());
    let result = build(&mut at, inputs).unwrap();
    (graph, result)
}

/// Dry runs of a program for every party, by a check of these.
struct Runs<'p, C> {
    program: &'p (Graph, NodeId),
    parties: usize,
    limit: Limit,
    check: C,
}

/// The sizes of a dry run that do not name the family's kinds of correlations. If correlations would be made in turns
/// and nothing is left for these, the offline phase is left out: figures count them as made ahead.
#[derive(Debug, PartialEq)]
struct Sizes {
    rounds: [u32; 2],
    sent: [Vec<u64>; 2],
    correlations: Vec<(String, u64)>,
    memory_bytes: u64,
    peak_bytes: u64,
}

impl Sizes {
    fn of<F: Family>(dry: &DryRun<F::Kind>, limit: Limit) -> Sizes {
        let [mut offline, online] = [&dry.offline.traffic, &dry.online.traffic].map(Clone::clone);
        if is_otherwise::<F>(dry, limit) {
            offline = Traffic::default();
        }
        Sizes {
            rounds: [offline.rounds, online.rounds],
            sent: [offline.sent, online.sent],
            correlations: dry.correlations.clone().into_iter().collect(),
            memory_bytes: dry.need.total(limit),
            peak_bytes: dry.need.peak_bytes,
        }
    }
}

/// Returns whether figures count correlations as made ahead that a run would make in turns of one draw.
fn is_otherwise<F: Family>(dry: &DryRun<F::Kind>, limit: Limit) -> bool {
    F::IN_TURNS && !dry.need.makes_ahead(limit) && dry.need.left_for_turns(limit) == 0
}

/// What a check of dry runs sees of one of them.
struct Seen {
    sizes: Sizes,
    bytes_by_step: Vec<u64>,
    /// The local work of the offline and the online phase.
    work: [Effort; 2],
    /// Whether figures count correlations as made ahead that a run would make in turns. Drawing them is other work.
    is_otherwise: bool,
    draws: usize,
    /// Seconds of bookkeeping in the offline phase, and those that its dry run takes before a run.
    offline_seconds: [f64; 2],
}

impl<C: Fn(&dyn Fn(bool) -> Seen)> Visit for Runs<'_, C> {
    type Out = ();

    fn family<F: Family>(self) {
        let Runs { program: (graph, result), parties, limit, check } = self;
        let reveals = vec![Reveal { node: *result, to: None }];
        let work = Work { graph, nodes: graph.needed(&[*result], &|_| false), reveals, domains: Domains::default() };
        let held = BTreeSet::new();
        let common = RefCell::new(Common::default());
        for me in 0..parties {
            check(&|figures| {
                let asked = Asked { work: &work, held: &held, keeps: &|_| false, limit, windows: 1, figures };
                // A plan's other parties take what the first one found, and a run's find it by themselves.
                let mut own = Common::default();
                let common = &mut *common.borrow_mut();
                let known = if figures { common } else { &mut own };
                let dry = dry_run_after::<F>(known, &asked, (parties, me), &Options::default()).unwrap();
                let mut work = [dry.offline.work, dry.online.work];
                let mut bytes_by_step: Vec<u64> = dry.steps.talking.values().map(|step| step.bytes).collect();
                let is_otherwise = is_otherwise::<F>(&dry, limit);
                if is_otherwise {
                    (work[0], bytes_by_step) = (Effort::default(), vec![]);
                }
                let offline_seconds = [dry.offline.control_seconds, dry.seconds - dry.online.control_seconds];
                let (sizes, draws) = (Sizes::of::<F>(&dry, limit), dry.demand.draws());
                Seen { sizes, bytes_by_step, work, is_otherwise, draws, offline_seconds }
            });
        }
    }
}

fn check_figures(build: Build, len: usize, limit: Limit, families: &[(Protocol, usize)]) {
    let program = program(build, len);
    for &(protocol, parties) in families {
        let check = |dry: &dyn Fn(bool) -> Seen| {
            let [once, all] = [true, false].map(dry);
            let part = if once.is_otherwise { 10 } else { 20 };
            assert_eq!(once.sizes, all.sizes, "{protocol:?} under {limit:?}");
            assert_eq!(once.bytes_by_step, all.bytes_by_step, "{protocol:?} under {limit:?}");
            assert!(once.draws <= all.draws, "{protocol:?} under {limit:?}");
            for (phase, (once, all)) in ["offline", "online"].iter().zip(once.work.iter().zip(&all.work)) {
                for kernel in Kernel::ALL {
                    let [once, all] = [once, all].map(|work| work.of(kernel));
                    let near = once.abs_diff(all) <= all / part;
                    assert!(near, "{once} of {all} {kernel:?} {phase}, {protocol:?} under {limit:?}");
                }
            }
        };
        protocol.visit(Runs { program: &program, parties, limit, check });
    }
}

/// Under the limits, steps run in pieces, correlations are made where they are drawn, or in turns, and nothing fits.
#[test]
fn figures_are_those_of_a_run() {
    OPERATIONS[..2].iter().for_each(|&build| check_figures(build, 70_000, Limit::None, &FAMILIES[..2]));
    for build in OPERATIONS {
        check_figures(build, 5_000, Limit::Named(1_000_000), &FAMILIES);
    }
    check_figures(OPERATIONS[1], 5_000, Limit::Named(12_000_000), &FAMILIES);
}

/// A run does the bookkeeping of all batches; its dry run of the offline phase skips equal ones.
#[test]
fn dry_runs_before_a_run_take_the_seconds_of_few_batches() {
    let check = |dry: &dyn Fn(bool) -> Seen| {
        let [bookkeeping, taken] = dry(true).offline_seconds;
        assert!(0.0 < taken && taken < bookkeeping / 10.0, "{taken} of {bookkeeping}");
    };
    let program = program(OPERATIONS[1], 1_000_000);
    Protocol::Spdz2k.visit(Runs { program: &program, parties: 2, limit: Limit::None, check });
}

/// Checks that a plan of `len` elements draws no more often than one with a few pieces does.
fn check_draws(build: Build, len: usize, limit: Limit, families: &[(Protocol, usize)]) {
    let program = program(build, len);
    for &(protocol, parties) in families {
        let check = |dry: &dyn Fn(bool) -> Seen| {
            let draws = dry(true).draws;
            assert!(draws < 1200, "{draws} draws of {protocol:?} under {limit:?}");
        };
        protocol.visit(Runs { program: &program, parties, limit, check });
    }
}

/// Without a limit, and where the memory is by far too small.
#[test]
fn plans_of_a_billion_elements_run_few_chunks() {
    let (semi_honest, malicious): (Vec<_>, Vec<_>) =
        FAMILIES.into_iter().partition(|(protocol, _)| !protocol.is_checked());
    for (i, build) in OPERATIONS.into_iter().enumerate() {
        let most = if i == 5 { 100_000_000 } else { 1_000_000_000 }; // bits, of which an array holds 2^32
        for limit in [Limit::None, Limit::Free(1_000_000_000)] {
            check_draws(build, most, limit, &semi_honest);
            check_draws(build, most, limit, &malicious);
        }
    }
}

/// Turns of correlations of a program with several steps, under a limit.
struct InTurns {
    parties: usize,
    bytes: u64,
}

impl Visit for InTurns {
    type Out = ();

    /// Turns are counted, and run apart from the steps that draw. They cost what they cost where they are drawn.
    fn family<F: Family>(self) {
        let InTurns { parties, bytes } = self;
        let mut graph = Graph::default();
        let mut at = graph.at(Source::new("turns.rs", 1));
        let [x, y] = [0, 1].map(|owner| at.input(owner, parties, &[5_000], Dtype::Int { bits: 32 }, None).unwrap());
        let [less, more] = [(x, y), (y, x)].map(|(x, y)| at.binary(BinaryOp::Lt, x, y).unwrap());
        let results = [at.binary(BinaryOp::Mul, x, y).unwrap(), less, more];
        let reveals = results.iter().map(|&node| Reveal { node, to: None }).collect();
        let nodes = graph.needed(&results, &|_| false);
        let work = Work { graph: &graph, nodes, reveals, domains: Domains::default() };
        let (held, limit, options) = (BTreeSet::new(), Limit::Named(bytes), Options::default());
        let dry_run = |figures| {
            let asked = Asked { work: &work, held: &held, keeps: &|_| false, limit, windows: 1, figures };
            dry_run::<F>(&asked, (parties, 0), &options).unwrap()
        };
        let [plan, run] = [true, false].map(dry_run);
        let left = run.need.left_for_turns(limit);
        assert!(!run.need.makes_ahead(limit) && left > 0, "{:?}", run.need);
        let dry = F::dry(parties, 0, &options.choices).unwrap();
        dry.make_in_turns(&run.demand, left);
        let in_turns = run_dry(&dry, &work, (Some(0), &run.schedule), (parties, 0), false).unwrap();
        let by_step = |steps: &Taken| steps.talking.iter().map(|(&id, step)| (id, step.bytes)).collect::<Vec<_>>();
        let near = |planned: Effort, ran: Effort, what: &str| {
            for kernel in Kernel::ALL {
                let [planned, ran] = [planned, ran].map(|work| work.of(kernel));
                assert!(planned.abs_diff(ran) <= ran / 20, "{planned} of {ran} {kernel:?} {what}, {bytes}");
            }
        };
        for planned in [plan, run] {
            assert_eq!(planned.offline.traffic, in_turns.on_demand.traffic, "{bytes}");
            assert_eq!(planned.online.traffic, in_turns.online.traffic, "{bytes}");
            assert_eq!(by_step(&planned.steps), by_step(&in_turns.steps), "{bytes}");
            near(planned.offline.work, in_turns.on_demand.work, "offline");
            near(planned.online.work, in_turns.online.work, "online");
            for (id, step) in &planned.steps.talking {
                near(step.work, in_turns.steps.talking[id].work, "of a step");
            }
        }
    }
}

#[test]
fn turns_of_a_plan_cost_what_those_of_a_run_cost() {
    for (parties, bytes) in [(2, 110_000_000), (2, 150_000_000), (2, 300_000_000), (3, 300_000_000)] {
        Protocol::Spdz2k.visit(InTurns { parties, bytes });
    }
}
