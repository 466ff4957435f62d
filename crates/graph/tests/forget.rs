//! Tests that forgetting has no effect: the program continues as if all nodes existed.

use std::collections::BTreeSet;

use quorate_graph::{
    BinaryOp as B, Bound, BuildError, Checker, Dtype, Fault, Graph, Hash, NodeId, Operand, Real, Rules, Source,
};

/// More nodes than the number that is always kept.
const MANY: usize = 60_000;

fn here(line: u32) -> Source {
    Source::new(String::from("long.py"), line)
}

fn input(graph: &mut Graph) -> NodeId {
    graph.at(here(1)).input(0, 3, &[2], Dtype::INT64, Some(Bound::Int(9))).unwrap()
}

fn binary(graph: &mut Graph, op: B, x: NodeId, y: Operand<'_>) -> NodeId {
    graph.at(here(2)).binary(op, x, y).unwrap()
}

/// Builds long programs, some of whose arrays live long; `forget` decides when to forget, and what.
fn long(forget: impl Fn(&mut Graph, &[NodeId])) -> (Graph, Vec<NodeId>) {
    let mut graph = Graph::new();
    let mut arrays = vec![input(&mut graph)];
    for i in 0..MANY {
        let x = arrays[i % arrays.len()];
        let small = graph.at(here(3)).binary(B::Lt, x, Operand::int(&3)).unwrap();
        let limit = graph.at(here(4)).select(small, x, Operand::int(&3)).unwrap();
        if i % 10_000 == 0 {
            arrays.push(limit);
        }
        forget(&mut graph, &arrays);
    }
    (graph, arrays)
}

#[test]
fn programs_are_the_same_whatever_was_forgotten() {
    let (whole, kept) = long(|_, _| {});
    let (mut short, arrays) = long(|graph, arrays| {
        if graph.may_forget() {
            graph.forget(graph.len(), &arrays.iter().copied().collect());
        }
    });
    assert!(whole.nodes().len() > 2 * MANY && short.nodes().len() < MANY && short.len() == whole.len());
    assert_eq!(arrays, kept);
    for &id in &arrays {
        assert_eq!(short.node(id), whole.node(id));
        assert_eq!(short.describe(id), whole.describe(id));
        assert_eq!(short.step_hash(id), whole.step_hash(id));
    }
    // A minimum of a minimum is bounded by operands two selections further back.
    let mut whole = whole;
    let clip = |graph: &mut Graph| {
        let x = arrays[1];
        let small = graph.at(here(5)).binary(B::Lt, Operand::int(&-3), x).unwrap();
        let clipped = graph.at(here(5)).select(small, x, Operand::int(&-3)).unwrap();
        (graph.node(clipped).interval, graph.prefix_hash(clipped))
    };
    let clipped = clip(&mut whole);
    assert!(clipped.0.is_some() && clip(&mut short) == clipped);
    let gone = NodeId(20);
    assert!(matches!(short.get(gone), Err(Fault::UnknownNode { node: 20, .. })) && whole.get(gone).is_ok());
}

#[test]
fn needed_steps_are_found_after_forgetting() {
    let mut graph = Graph::new();
    let x = input(&mut graph);
    let y = binary(&mut graph, B::Mul, x, x.into());
    let z = binary(&mut graph, B::Add, y, x.into());
    for _ in 0..MANY {
        binary(&mut graph, B::Add, x, x.into());
    }
    let newest = NodeId(graph.len() as u32 - 1);
    let roots: BTreeSet<NodeId> = [x, y, z].into();
    graph.forget(graph.len(), &roots);
    assert_eq!(graph.needed(&[z, newest], &|_| false), [x, y, z, newest]);
    assert_eq!(graph.needed(&[z], &|id| id == y), [x, z]);
    assert!(graph.needed(&[z], &|id| id == z).is_empty());
}

#[test]
fn reals_grow_as_if_everything_were_there() {
    let mut graph = Graph::new();
    let x = input(&mut graph);
    for forgets in [false, true] {
        if forgets {
            for _ in 0..MANY {
                binary(&mut graph, B::Add, x, x.into());
            }
            graph.forget(graph.len(), &[x].into());
            assert!(graph.first() > 0);
        }
        let real = graph.at(here(3)).to_real(x).unwrap();
        let stays = graph.at(here(3)).cast(real, Dtype::FIXED64).unwrap();
        let grows = [real, stays].map(|id| graph.get(id).unwrap().room.grows);
        assert_eq!(grows, [true, false], "forgets: {forgets}");
    }
}

/// Builds many nodes, and forgets all others but these and what building remembers.
fn forget_all_but(graph: &mut Graph, kept: &[NodeId]) {
    let x = input(graph);
    for _ in 0..MANY {
        binary(graph, B::Add, x, x.into());
    }
    graph.forget(graph.len(), &kept.iter().copied().collect());
    assert!(graph.first() > 0);
}

#[test]
fn a_conversion_that_is_used_again_has_all_that_it_is_made_of() {
    let mut graph = Graph::new();
    let x = graph.at(here(1)).real_input(0, 3, &[2], Some(Bound::Real(1e-3))).unwrap();
    let lowered = |graph: &mut Graph| {
        let power = graph.at(here(2)).real(Real::Exp, x).unwrap();
        graph.node(power).inputs[0]
    };
    let first = lowered(&mut graph);
    let steps = graph.needed(&[first], &|id| id == x);
    assert_eq!(steps.len(), 3, "half a unit is added, and then bits are dropped");
    forget_all_but(&mut graph, &[x]);
    assert_eq!(lowered(&mut graph), first);
    assert_eq!(graph.needed(&[first], &|id| id == x), steps);
}

#[test]
fn a_proof_that_is_asked_for_again_is_another_array() {
    let mut graph = Graph::with(Rules { proves_bounds: true, ..Rules::default() });
    let x = input(&mut graph);
    let mut places = || {
        let before = graph.len();
        let proof = graph.at(here(2)).places(x).unwrap();
        (proof, graph.own(proof, before, here(2)).unwrap())
    };
    let (proof, first) = places();
    assert_eq!(proof, first, "it is new");
    let (same, again) = places();
    // Its user may have released the first one, which parties drop when all of them have.
    assert!(same == proof && again != proof);
    assert_eq!(graph.needed(&[again], &|id| id == proof), [again]);
    assert_eq!(graph.node(again).interval, graph.node(proof).interval);
}

#[test]
fn a_check_takes_values_whose_conversions_are_forgotten() {
    let found = [false, true].map(|forgets| {
        let mut graph = Graph::new();
        let mut x = graph.at(here(1)).input(0, 3, &[2], Dtype::Int { bits: 16 }, Some(Bound::Int(100))).unwrap();
        for bits in [20, 24, 28, 32] {
            x = graph.at(here(2)).cast(x, Dtype::Int { bits }).unwrap();
        }
        let x = graph.at(here(3)).cast(x, Dtype::FIXED64).unwrap();
        if forgets {
            forget_all_but(&mut graph, &[x]);
        }
        let small = graph.at(here(4)).binary(B::Mul, x, Operand::real(&1e-5)).unwrap();
        let nodes = graph.needed(&[small], &|id| id == x);
        let values = |ids: &[NodeId]| Ok::<_, BuildError>(vec![vec![3 << 16, 7 << 16]; ids.len()]);
        let checked = Checker::new(u64::MAX).look(&graph, &nodes, |_| None, values).unwrap();
        checked.warnings.iter().map(ToString::to_string).collect::<Vec<_>>()
    });
    assert!(found[0] == found[1] && found[0].len() == 1, "{found:?}");
}

#[test]
fn a_literal_is_one_node_for_all_of_its_uses_and_an_array_has_its_own() {
    let mut graph = Graph::new();
    let mut x = input(&mut graph);
    for _ in 0..100 {
        x = binary(&mut graph, B::Add, x, Operand::int(&1));
    }
    assert_eq!(graph.len(), 1 + 100 + 1);
    let inputs = |graph: &Graph, x: NodeId| graph.node(x).inputs[1];
    let one = inputs(&graph, x);
    let (before, at) = (graph.len(), here(7));
    let same = graph.at(at.clone()).constant_ints(&[2], &[1], Dtype::INT64).unwrap();
    let own = graph.own(same, before, here(8)).unwrap();
    assert_eq!(same, one);
    assert!(own != one && graph.node(own).constant() == graph.node(one).constant());
    let real = graph.at(at).constant_ints(&[2], &[1], Dtype::FIXED64).unwrap();
    assert_ne!(graph.node(real).dtype, graph.node(one).dtype);
    assert_eq!(graph.own(real, graph.len() - 1, here(8)).unwrap(), real, "it is new");
    assert_eq!(graph.own(x, graph.len(), here(8)).unwrap(), x, "secret arrays are what they are");
}

#[test]
fn operands_need_little_room() {
    assert!(size_of::<quorate_graph::Inputs>() <= 16);
    // In addition to the node: a hash, and the memory of the shape.
    assert!(size_of::<quorate_graph::Node>() + size_of::<Hash>() + 32 <= 320);
    for len in 0..9 {
        let all: Vec<NodeId> = (0..len).map(NodeId).collect();
        assert_eq!(*quorate_graph::Inputs::from(all.clone()), *all);
    }
}

/// Returns the next random number below `end`.
fn below(state: &mut u64, end: usize) -> usize {
    *state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
    (*state >> 33) as usize % end
}

/// Builds a program with conversions, literals and selections, which building looks up or through; `forget` is called
/// after each operation with the arrays that live.
fn mixed(mut forget: impl FnMut(&mut Graph, &[NodeId])) -> (Vec<Hash>, Vec<usize>) {
    let mut graph = Graph::with(Rules { counts_steps: true, proves_bounds: true, ..Default::default() });
    let (mut state, mut hashes, mut ranks) = (7, Vec::new(), Vec::new());
    let mut arrays: Vec<NodeId> = (0..4).map(|_| input(&mut graph)).collect();
    for i in 0..MANY {
        let [x, y] = [0, 1].map(|_| arrays[below(&mut state, arrays.len())]);
        let limit = below(&mut state, 40) as i128 - 20;
        let kind = below(&mut state, 6);
        let mut at = graph.at(here(3));
        let next = match kind {
            0 => at.cast(x, Dtype::FIXED64),
            1 => at.binary(B::Add, x, Operand::int(&limit)),
            2 => at.binary(B::Mul, x, y),
            3 => at.binary(B::Lt, x, y).and_then(|less| at.select(less, x, y)),
            4 => at.binary(B::Lt, x, Operand::int(&limit)).and_then(|less| at.select(less, x, Operand::int(&limit))),
            _ => at.input(0, 3, &[2], Dtype::INT64, Some(Bound::Int(9))),
        };
        let next = next.unwrap();
        let place = if arrays.len() < 30 { arrays.len() } else { below(&mut state, arrays.len()) };
        arrays.resize(arrays.len().max(place + 1), next);
        arrays[place] = next;
        hashes.push(graph.prefix_hash(next));
        if i % 1000 == 999 {
            ranks.push(graph.repetitions(&[next]));
        }
        forget(&mut graph, &arrays);
    }
    (hashes, ranks)
}

/// Parties forget at different times, and may read a copy of the program meanwhile.
#[test]
fn forgetting_at_any_time_changes_no_hash_and_no_rank() {
    let whole = mixed(|_, _| {});
    for seed in [1, 2] {
        let (mut state, mut times, mut read) = (seed, 0, Vec::new());
        let found = mixed(|graph, arrays| {
            if below(&mut state, 3000) > 0 {
                return;
            }
            // What arrays still need may be all that they were ever computed from.
            let needed = graph.needed(arrays, &|_| false);
            let held = below(&mut state, 2) == 0;
            let roots = if held { arrays.iter().copied().collect() } else { needed.into_iter().collect() };
            let end = graph.len() - below(&mut state, 1000);
            let copy = std::mem::take(graph);
            *graph = copy.continued();
            graph.forget(end, &roots);
            times += usize::from(graph.first() > copy.first());
            read.push((copy.repetitions(&arrays[..1]), copy, arrays[0]));
        });
        assert!(found == whole && times >= 3, "{times}");
        for (count, copy, array) in read {
            assert_eq!(copy.repetitions(&[array]), count, "a copy has what the program has forgotten");
        }
    }
}
