//! Tests of places and divisors whose range rests on a stated bound: which of them are proven, and by which proofs.

use quorate_graph::{BinaryOp, Bound, Builder, Dtype, Graph, NodeId, Op, Operand, Real, Rules, Source};

fn at(graph: &mut Graph) -> Builder<'_> {
    graph.at(Source::new("within.py", 1))
}

fn program() -> Graph {
    Graph::with(Rules { proves_bounds: true, ..Rules::default() })
}

fn input(graph: &mut Graph, owner: usize, dtype: Dtype, bound: i128) -> NodeId {
    at(graph).input(owner, 2, &[3], dtype, Some(Bound::Int(bound))).unwrap()
}

/// Returns the number of proofs and of comparisons in a program.
fn proofs(graph: &Graph) -> (usize, usize) {
    let nodes = (0..graph.len()).map(|id| graph.node(NodeId(id as u32)));
    nodes.fold((0, 0), |(proofs, comparisons), node| match node.op {
        Op::AssertWithin => (proofs + 1, comparisons),
        Op::Lt => (proofs, comparisons + 1),
        _ => (proofs, comparisons),
    })
}

fn looked_up(graph: &mut Graph, x: NodeId) -> NodeId {
    at(graph).lookup(x, 0, &[5, 6, 7], Dtype::INT64).unwrap()
}

#[test]
fn values_that_rest_on_a_bound_of_one_owner_are_proven_once() {
    let mut graph = program();
    let x = input(&mut graph, 0, Dtype::INT64, 49);
    looked_up(&mut graph, x);
    assert_eq!(proofs(&graph), (1, 1), "one comparison sees both ends");
    let moved = at(&mut graph).binary(BinaryOp::Add, x, Operand::int(&100)).unwrap();
    looked_up(&mut graph, moved);
    assert_eq!(proofs(&graph), (1, 1), "what is made of it goes by its proof");
    let places = at(&mut graph).places(x).unwrap();
    assert_eq!((graph.node(places).op.clone(), graph.node(places).range()), (Op::AssertWithin, graph.node(x).range()));
    let total = at(&mut graph).sum(x, None, false).unwrap();
    looked_up(&mut graph, total);
    assert_eq!(proofs(&graph), (2, 2), "fewer numbers are proven themselves");
    let mut graph = program();
    let [x, y] = [0, 1].map(|owner| input(&mut graph, owner, Dtype::FIXED64, 49));
    at(&mut graph).divide(x, y).unwrap();
    at(&mut graph).real(Real::Reciprocal, x).unwrap();
    assert_eq!(proofs(&graph), (2, 2), "the divisor, not what is divided");
    let z = input(&mut graph, 1, Dtype::FIXED64, 49);
    at(&mut graph).real(Real::Exp, z).unwrap();
    at(&mut graph).real(Real::Log, z).unwrap();
    assert_eq!(proofs(&graph), (2, 2), "powers and logarithms divide by nothing");
    at(&mut graph).real(Real::Rsqrt, z).unwrap();
    assert_eq!(proofs(&graph), (3, 3), "an inverse root divides");
}

#[test]
fn one_comparison_sees_both_ends_wherever_the_range_lies() {
    let (int, uint) = (Dtype::INT64, Dtype::Uint { bits: 64 });
    let lowest = i128::from(i64::MIN);
    let all = [
        (int, (-49, 49), 1),
        (int, (100, 149), 1),
        (int, (lowest, 5), 1),
        (int, (5, i128::from(i64::MAX)), 1),
        (int, (lowest, i128::from(i64::MAX)), 0),
        (uint, (0, 49), 1),
        (uint, (3, 49), 1),
        (uint, (0, i128::from(u64::MAX)), 0),
    ];
    for (dtype, (low, high), wanted) in all {
        let mut graph = program();
        let x = at(&mut graph).input(0, 2, &[3], dtype, Some(Bound::Ints(low, high))).unwrap();
        at(&mut graph).places(x).unwrap();
        assert_eq!(proofs(&graph), (wanted, wanted), "{low} to {high} of {dtype}");
    }
}

/// Builds arrays from inputs of two owners, as they occur as places or divisors.
fn mixed(graph: &mut Graph, [x, y]: [NodeId; 2]) -> Vec<NodeId> {
    let both = at(graph).concat(&[x.into(), y.into()], 0).unwrap();
    let before = at(graph).binary(BinaryOp::Sub, both, Operand::int(&1)).unwrap();
    let sum = at(graph).binary(BinaryOp::Add, x, y).unwrap();
    let cast = at(graph).cast(both, Dtype::Int { bits: 32 }).unwrap();
    let less = at(graph).binary(BinaryOp::Lt, x, y).unwrap();
    let least = at(graph).select(less, x, y).unwrap();
    let clipped = at(graph).binary(BinaryOp::Lt, sum, Operand::int(&7)).unwrap();
    let clipped = at(graph).select(clipped, sum, Operand::int(&7)).unwrap();
    let reshaped = at(graph).reshape(both, &[2, 3]).unwrap();
    vec![both, before, sum, cast, least, clipped, reshaped]
}

#[test]
fn values_of_two_owners_are_proven_by_a_proof_of_each() {
    let kinds = {
        let mut graph = program();
        let inputs = [0, 1].map(|owner| input(&mut graph, owner, Dtype::INT64, 49));
        mixed(&mut graph, inputs).len()
    };
    for kind in 0..kinds {
        let mut graph = program();
        let inputs = [0, 1].map(|owner| input(&mut graph, owner, Dtype::INT64, 49));
        let a = mixed(&mut graph, inputs)[kind];
        let places = at(&mut graph).places(a).unwrap();
        assert_eq!(proofs(&graph).0, 2, "{}", graph.describe(a));
        let proven = graph.node(places);
        assert_eq!((&proven.op, proven.inputs[0], proven.range()), (&Op::Behind, a, graph.node(a).range()));
        for (&proof, input) in proven.inputs.as_slice()[1..].iter().zip(inputs) {
            assert_eq!((&graph.node(proof).op, graph.node(proof).inputs[0]), (&Op::AssertWithin, input));
        }
        let len = graph.len();
        assert_eq!(at(&mut graph).places(places).unwrap(), places, "once");
        assert_eq!(graph.len(), len);
    }
}

#[test]
fn clipped_values_rest_on_the_bound_that_gives_their_range() {
    let mut graph = program();
    let x = input(&mut graph, 0, Dtype::INT64, 49);
    let free = at(&mut graph).input(1, 2, &[3], Dtype::INT64, None).unwrap();
    let less = at(&mut graph).binary(BinaryOp::Lt, x, free).unwrap();
    let least = at(&mut graph).select(less, x, free).unwrap();
    assert_eq!(at(&mut graph).places(least).unwrap(), least);
    let negative = at(&mut graph).binary(BinaryOp::Lt, least, Operand::int(&0)).unwrap();
    let clipped = at(&mut graph).select(negative, Operand::int(&0), least).unwrap();
    assert_eq!(graph.node(clipped).range().hi(), 49);
    at(&mut graph).places(clipped).unwrap();
    assert_eq!(proofs(&graph).0, 1);
}

#[test]
fn parts_of_a_shuffle_rest_on_its_operands() {
    let mut graph = program();
    let [x, y] = [0, 1].map(|owner| input(&mut graph, owner, Dtype::INT64, 49));
    let shuffled = at(&mut graph).shuffle(&[x, y]).unwrap();
    let part = at(&mut graph).part(shuffled, 1).unwrap();
    looked_up(&mut graph, part);
    assert_eq!(proofs(&graph).0, 1);
}

#[test]
fn values_that_rest_on_too_many_inputs_have_no_proven_range() {
    let mut graph = program();
    let inputs: Vec<NodeId> = (0..300).map(|i| input(&mut graph, i % 2, Dtype::INT64, 49)).collect();
    let inputs: Vec<Operand<'_>> = inputs.into_iter().map(Operand::Node).collect();
    let all = at(&mut graph).concat(&inputs, 0).unwrap();
    let places = at(&mut graph).places(all).unwrap();
    assert_eq!((proofs(&graph).0, graph.node(places).interval), (0, None));
}

/// Forgotten nodes have no influence on what a process builds.
#[test]
fn proofs_are_built_alike_whatever_was_forgotten() {
    let mut programs = [program(), program()];
    let hashes = programs.each_mut().map(|graph| {
        let inputs = [0, 1].map(|owner| input(graph, owner, Dtype::INT64, 49));
        let roots = mixed(graph, inputs);
        let early = at(graph).places(inputs[0]).unwrap();
        let other = input(graph, 0, Dtype::INT64, 9);
        (inputs, roots, early, other)
    });
    let [(inputs, roots, early, other), _] = hashes;
    for graph in &mut programs {
        let mut last = other;
        for _ in 0..26_000 {
            last = at(graph).binary(BinaryOp::Add, other, other).unwrap();
        }
        looked_up(graph, last);
    }
    let [forgetful, whole] = &mut programs;
    forgetful.forget(forgetful.len(), &roots.iter().copied().collect());
    assert!(forgetful.get(NodeId(other.0 + 1)).is_err());
    assert!(inputs.iter().all(|&id| forgetful.get(id).is_ok()));
    for graph in [forgetful, whole] {
        for &a in &roots {
            at(graph).places(a).unwrap();
        }
        graph.needed(&[NodeId(graph.len() as u32 - 1)], &|_| false);
        assert!(graph.proof_of(inputs[0]) == Some(early));
    }
    assert_eq!(programs[0].hashes().last(), programs[1].hashes().last());
}

#[test]
fn values_that_rest_on_no_stated_bound_are_not_proven() {
    let mut graph = program();
    let free = at(&mut graph).input(0, 2, &[3], Dtype::INT64, None).unwrap();
    let assumed = at(&mut graph).real_input(0, 2, &[3], None).unwrap();
    let bits = at(&mut graph).input(0, 2, &[3], Dtype::Bit, None).unwrap();
    let trusted = input(&mut graph, 0, Dtype::INT64, 49);
    graph.trust(trusted);
    let bounded = input(&mut graph, 0, Dtype::INT64, 49);
    let largest = at(&mut graph).argmax(bounded, Some(0), true).unwrap();
    let less = at(&mut graph).binary(BinaryOp::Lt, bounded, Operand::int(&7)).unwrap();
    let entries = looked_up(&mut graph, bounded);
    let held = at(&mut graph).held(free).unwrap();
    let before = proofs(&graph);
    for id in [free, assumed, bits, trusted, largest, less, entries, held] {
        assert_eq!(at(&mut graph).places(id).unwrap(), id);
    }
    assert_eq!(proofs(&graph), before);
    let mut semi_honest = Graph::new();
    let x = input(&mut semi_honest, 0, Dtype::INT64, 49);
    looked_up(&mut semi_honest, x);
    assert_eq!(proofs(&semi_honest).0, 0);
}
