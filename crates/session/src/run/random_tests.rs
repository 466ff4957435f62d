//! Tests that runs equal the reference ([`eval_clear`](quorate_graph::eval_clear)) bit for bit: every node of random
//! programs. In the clear, they run in each sharing. The reference uses no intervals and no gadgets.

use std::collections::BTreeMap;

use quorate_clear::Clear;
use quorate_gadgets::Family;
use quorate_graph::{Bound, Domain, Dtype, NodeId, Op, Source, eval_clear};
use quorate_planner::offered;
use quorate_rss::Rss;

use self::random_steps::{DTYPES, Draws, EXACT};
use crate::memory::schedule::Schedule;
use crate::run::programs_for_tests::Program;

#[path = "../../../graph/tests/common/random_steps.rs"]
mod random_steps;

/// The number of random programs in each sharing in the clear, and of steps that each program tries.
const PROGRAMS: u64 = 150;
const STEPS: usize = 20;

/// Returns a program whose every node is revealed. Inputs are at the ends and inside of their ranges, which are stated
/// for half of them.
fn random(seed: u64) -> Program {
    let (mut p, mut draws) = (Program::default(), Draws(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15)));
    let mut nodes = Vec::new();
    for (i, dtype) in DTYPES.into_iter().chain([DTYPES[0], DTYPES[2], Dtype::Bit]).enumerate() {
        let bound = (i as u64 + seed).is_multiple_of(2).then(|| Bound::Int(draws.below(12).into()));
        let id = p.at().input(0, 1, &[2, 2], dtype, bound).unwrap();
        let range = p.graph.node(id).range();
        let units = (0..4).map(|_| {
            let inside = range.lo() + i128::from(draws.below(1 << 31)) % (range.hi() - range.lo() + 1);
            draws.one_of(&[range.lo(), range.hi(), inside, inside])
        });
        let units = units.collect();
        p.inputs.insert(id, units);
        nodes.push(id);
    }
    for _ in 0..STEPS {
        let step = draws.step(EXACT, &nodes);
        nodes.extend(step.build(&mut p.graph, Source::new("program.rs", 1)).ok()); // types that do not mix are refused
    }
    p.reveals = nodes;
    p
}

/// Puts every secret node that can run in this sharing there. Bits are in B anyway.
fn put(p: &mut Program, domain: Domain) {
    for (i, node) in p.graph.nodes().iter().enumerate().filter(|(_, node)| !node.is_public()) {
        let id = NodeId(i as u32);
        let only_bits = node.inputs.iter().chain([&id]).all(|&id| p.graph.node(id).dtype == Dtype::Bit);
        let can = matches!(node.op, Op::Input { .. }) || offered(&p.graph, id);
        if can && !(only_bits && domain == Domain::B) {
            p.domains.set(id, domain);
        }
    }
}

/// What a comparison covered.
#[derive(Default)]
struct Compared {
    /// The number of secret nodes that are not inputs.
    nodes: usize,
    /// The number of nodes that ran on bits or labels, those between the compared ones included.
    placed: usize,
    /// The number of elements whose sum wraps.
    wrapped: usize,
    /// The number of nodes of each operation that runs computed, those between the compared ones included.
    operations: BTreeMap<&'static str, usize>,
}

impl Compared {
    fn add(&mut self, p: &Program, values: &[Vec<i128>]) {
        for id in p.work().nodes {
            let node = p.graph.node(id);
            if node.is_public() || matches!(node.op, Op::Input { .. }) {
                continue;
            }
            *self.operations.entry(node.op.name()).or_default() += 1;
            self.nodes += usize::from(p.reveals.contains(&id));
            self.placed += usize::from(p.domains.of(id) != Domain::A);
            if let (Op::Add, [x, y]) = (&node.op, node.inputs.as_slice()) {
                let sums = values[x.index()].iter().zip(&values[y.index()]).map(|(x, y)| x + y);
                self.wrapped += sums.zip(&values[id.index()]).filter(|(sum, got)| sum != *got).count();
            }
        }
    }
}

/// Compares runs with the reference, also where results wrap: nothing is left out.
fn compare<F: Family>(programs: impl Iterator<Item = Program>) -> Compared {
    let mut compared = Compared::default();
    for p in programs {
        let wanted = eval_clear(&p.graph, &p.inputs).unwrap();
        let opened = p.run::<F>(F::DESCRIPTOR.parties.usual[0], &Schedule::default());
        for (&id, got) in p.reveals.iter().zip(&opened) {
            let operands: Vec<String> = p.graph.node(id).inputs.iter().map(|&input| p.graph.describe(input)).collect();
            assert_eq!(got, &wanted[id.index()], "{} of {operands:?}, {:?}", p.graph.describe(id), p.domains.of(id));
        }
        compared.add(&p, &wanted);
    }
    compared
}

/// Asserts that programs in the clear contained enough to compare: nodes, each operation, and results that wrap.
fn assert_enough(compared: &Compared) {
    let Compared { nodes, wrapped, operations, .. } = compared;
    assert!(*nodes > 2400 && *wrapped > 20, "{nodes} nodes, {wrapped} sums that wrap");
    assert!(operations.len() >= 33 && operations.values().all(|&count| count >= 10), "{operations:?}");
}

#[test]
fn random_programs_are_as_in_the_reference() {
    assert_enough(&compare::<Clear>((0..PROGRAMS).map(random)));
    let rss = compare::<Rss>((0..20).map(random));
    assert!(rss.nodes > 300 && rss.operations.len() >= 33, "{} nodes, {:?}", rss.nodes, rss.operations);
}

#[test]
fn random_programs_on_bits_and_on_labels_are_as_in_the_reference() {
    for (domain, first) in [(Domain::B, PROGRAMS), (Domain::Y, 2 * PROGRAMS)] {
        let programs = (first..first + PROGRAMS).map(|seed| {
            let mut p = random(seed);
            put(&mut p, domain);
            p
        });
        let compared = compare::<Clear>(programs);
        assert_enough(&compared);
        assert!(compared.placed > 4000, "{} nodes in {domain:?}", compared.placed);
    }
}
