//! Random programs at parties that forget at different moments, and at one that never does: all parties build the same
//! nodes, count the same steps, and have all that a run needs.

use std::collections::{BTreeSet, VecDeque};

use crate::common::random_steps::{DTYPES, Draws, EXACT, KINDS, Step};
use quorate_graph::{Bound, Dtype, Graph, Node, NodeId, Op, Rules, Source, Truncation};

/// The number of nodes that no run needs, between two parts of a program: more than are always kept.
const BETWEEN: usize = 21_000;
const PARTS: usize = 6;
const STEPS: usize = 60;
/// The number of steps that a program repeats after a pause.
const NEWEST: usize = 24;
/// The number of arrays of small reals, which the program holds to its end.
const FINE: usize = 2;
/// The largest number of arrays that the program holds.
const HELD: usize = 24;

/// A program at each party, and what all parties know of its values.
struct World {
    /// The first party never forgets.
    graphs: [Graph; 3],
    draws: Draws,
    /// The arrays that the program holds. The first ones are held to the end.
    arrays: Vec<NodeId>,
    /// The nodes whose values the parties have.
    values: BTreeSet<NodeId>,
    /// The newest steps, which the program has again after a pause, as loops do.
    newest: VecDeque<(Step, u32)>,
    found: Found,
}

/// What a test covered.
#[derive(Default)]
struct Found {
    forgotten: [usize; 3],
    ran: usize,
    /// The nodes of runs that were older than what a party had as a list.
    old: usize,
    /// Old nodes of runs that no user held and that had no value: found by what building remembers.
    again: usize,
    taken_back: usize,
    repeated: usize,
}

fn here(line: u32) -> Source {
    Source::new("random.py", line)
}

impl World {
    fn new(seed: u64) -> World {
        let rules = Rules {
            counts_steps: true,
            proves_bounds: seed.is_multiple_of(2),
            keeps_factors: seed.is_multiple_of(3),
            truncation: if seed % 4 < 2 { Truncation::Exact } else { Truncation::Probabilistic },
            ..Rules::default()
        };
        let graphs = [(); 3].map(|()| Graph::with(rules));
        let (draws, found) = (Draws(seed), Found::default());
        let mut world =
            World { graphs, draws, arrays: vec![], values: BTreeSet::new(), newest: VecDeque::new(), found };
        for (i, bound) in [Some(1e-3), Some(1e-5), Some(1e4), Some(1e12), None].into_iter().enumerate() {
            world.build(|graph| graph.at(here(1)).real_input(i % 3, 3, &[2, 2], bound.map(Bound::Real)));
        }
        for (i, dtype) in DTYPES.into_iter().enumerate() {
            let bound = (i % 3 > 0 && dtype != Dtype::Bit).then_some(Bound::Int(3));
            world.build(|graph| graph.at(here(2)).input(i % 3, 3, &[2, 2], dtype, bound));
        }
        world
    }

    /// Adds to the program at all parties, which must agree; the result becomes an array.
    fn build<E: ToString>(&mut self, mut build: impl FnMut(&mut Graph) -> Result<NodeId, E>) -> Option<NodeId> {
        let built: Vec<Result<NodeId, String>> =
            self.graphs.iter_mut().map(|graph| build(graph).map_err(|error| error.to_string())).collect();
        assert!(built.iter().all(|other| *other == built[0]), "{built:?}");
        let ends = self.graphs.each_ref().map(|graph| graph.hashes().last().copied());
        assert!(ends.iter().all(|end| *end == ends[0]), "{built:?}");
        let id = *built[0].as_ref().ok()?;
        self.arrays.push(id);
        Some(id)
    }

    /// Builds a random step on arrays.
    fn step(&mut self, line: u32) {
        let step = self.draws.step(KINDS, &self.arrays);
        self.add(step, line);
        self.newest.push_back((step, line));
        if self.newest.len() > NEWEST {
            self.newest.pop_front();
        }
    }

    /// Builds the newest steps again whose arrays the program holds.
    fn repeat(&mut self) {
        for (step, line) in std::mem::take(&mut self.newest) {
            if step.of.iter().all(|of| self.arrays.contains(of)) {
                self.add(step, line);
                self.found.repeated += 1;
            }
        }
    }

    /// Builds a step; the result takes the place of an array that the program held.
    fn add(&mut self, step: Step, line: u32) -> Option<NodeId> {
        let before = self.graphs[0].len();
        let own = |graph: &mut Graph| {
            let id = step.build(graph, here(line))?;
            graph.own(id, before, here(line))
        };
        let id = self.build(own)?;
        // The user may have released an older array, and other parties not yet.
        assert!(id.index() >= before || step.of.contains(&id), "{step:?} gives {id:?} again");
        if self.arrays.len() > HELD {
            let gone = FINE + self.draws.below((HELD - FINE) as u64) as usize;
            self.arrays.swap_remove(gone);
        }
        Some(id)
    }

    /// Refuses an input at one party, where it leaves no trace.
    fn take_back(&mut self) {
        let party = 1 + self.draws.below(2) as usize;
        let graph = &mut self.graphs[party];
        let id = graph.at(here(3)).input(0, 3, &[2], Dtype::INT64, None).unwrap();
        graph.take_back(id);
        self.found.taken_back += 1;
    }

    /// Builds functions of small reals, whose arguments are rounded first, and holds no result.
    fn functions(&mut self) {
        for place in 0..FINE {
            let step = Step { kind: EXACT, of: [self.arrays[place]; 3], number: 1 };
            let made = self.add(step, 5);
            self.arrays.retain(|&id| Some(id) != made);
            self.newest.push_front((step, 5));
        }
    }

    /// Runs what some arrays need: every party must have all of it, as if nothing was forgotten.
    fn run(&mut self) {
        let targets: Vec<NodeId> = self.arrays.iter().copied().filter(|_| self.draws.below(3) == 0).collect();
        let done = |id: NodeId| self.values.contains(&id);
        let [whole, others @ ..] = &self.graphs;
        let nodes = whole.needed(&targets, &done);
        for graph in others {
            assert_eq!(graph.needed(&targets, &done), nodes);
            for &id in nodes.iter().chain(&targets) {
                let (node, wanted): (&Node, &Node) = (graph.node(id), whole.node(id));
                assert_eq!(node, wanted);
                assert_eq!(graph.describe(id), whole.describe(id));
                for &id in node.inputs.iter().chain([&id]) {
                    assert_eq!(graph.step_hash(id), whole.step_hash(id), "{}", whole.describe(id));
                }
                let is_old = id.index() < graph.first() && !done(id);
                let is_held = self.arrays.contains(&id);
                self.found.old += usize::from(is_old);
                self.found.again += usize::from(is_old && !is_held && matches!(node.op, Op::Convert));
            }
            let secret: Vec<NodeId> = nodes.iter().copied().filter(|&id| !whole.node(id).is_public()).collect();
            assert_eq!(graph.repetitions(&secret), whole.repetitions(&secret));
        }
        self.found.ran += nodes.len();
        self.values.extend(nodes);
        self.values = self.kept(&self.graphs[0]);
        assert!(others.len() == 2 && others.iter().all(|graph| self.kept(graph) == self.values));
    }

    /// Returns the values that parties keep, as the store of a session does: those of arrays, those from which arrays
    /// without a value are computed, those on which proofs of their ranges rest, and existing proofs.
    fn kept(&self, graph: &Graph) -> BTreeSet<NodeId> {
        let done = |id: NodeId| self.values.contains(&id);
        let about: Vec<NodeId> = self.arrays.iter().flat_map(|&id| graph.rests_on(id)).copied().collect();
        let proofs = about.iter().filter_map(|&id| graph.proof_of(id)).filter(|&proof| done(proof));
        let all: BTreeSet<NodeId> = self.arrays.iter().copied().chain(about.iter().copied()).chain(proofs).collect();
        let waiting: Vec<NodeId> = all.iter().copied().filter(|&id| !done(id)).collect();
        let needed = graph.needed(&waiting, &done);
        let operands = needed.iter().flat_map(|&id| graph.node(id).inputs.iter().copied());
        all.iter().copied().chain(operands).filter(|&id| done(id)).collect()
    }

    /// Adds nodes that nobody needs.
    fn pass(&mut self) {
        for graph in &mut self.graphs {
            for _ in 0..BETWEEN {
                graph.at(here(4)).input(0, 3, &[], Dtype::Bit, None).unwrap();
            }
        }
    }

    /// Forgets at some parties, as much as each of them may.
    fn forget(&mut self) {
        let done = |id: NodeId| self.values.contains(&id);
        let waiting: Vec<NodeId> = self.arrays.iter().copied().filter(|&id| !done(id)).collect();
        for party in 1..3 {
            if self.draws.below(3) == 0 {
                continue;
            }
            let graph = &mut self.graphs[party];
            let mut roots: BTreeSet<NodeId> = self.arrays.iter().chain(&self.values).copied().collect();
            roots.extend(graph.needed(&waiting, &done));
            let (first, end) = (graph.first(), graph.len() - self.draws.below(1000) as usize);
            graph.forget(end, &roots);
            self.found.forgotten[party] += usize::from(graph.first() > first);
        }
    }
}

#[test]
fn parties_that_forget_at_different_moments_build_the_same_and_lack_nothing() {
    let mut found = Found::default();
    for seed in 0..4 {
        let mut world = World::new(seed);
        for part in 0..PARTS {
            for step in 0..STEPS {
                world.step(10 + step as u32);
                if step % 20 == 19 {
                    world.run();
                }
            }
            world.take_back();
            world.functions();
            // Some parts follow one another without a pause.
            if part % 3 != 2 {
                world.pass();
            }
            world.forget();
            world.repeat();
            world.run();
        }
        let Found { forgotten, ran, old, again, taken_back, repeated } = world.found;
        (0..3).for_each(|party| found.forgotten[party] += forgotten[party]);
        (found.ran, found.old, found.again) = (found.ran + ran, found.old + old, found.again + again);
        (found.taken_back, found.repeated) = (found.taken_back + taken_back, found.repeated + repeated);
    }
    let Found { forgotten, ran, old, again, taken_back, repeated } = found;
    assert!(forgotten[1] >= 6 && forgotten[2] >= 6 && ran > 1500 && taken_back > 0, "{forgotten:?}, {ran} nodes");
    assert!(old > 50 && again > 0 && repeated > 50, "{old} old nodes, {again} by conversions, {repeated} steps again");
}
