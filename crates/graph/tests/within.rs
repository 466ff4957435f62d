//! Places and divisors whose range rests on a stated bound: which of them are proven, and by what.

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

/// How many proofs there are in a program, and how many comparisons.
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
fn what_rests_on_a_bound_of_one_owner_is_proven() {
    let mut graph = program();
    let x = input(&mut graph, 0, Dtype::INT64, 49);
    looked_up(&mut graph, x);
    assert_eq!(proofs(&graph), (1, 1), "one comparison sees both ends");
    let moved = at(&mut graph).binary(BinaryOp::Add, x, Operand::int(&100)).unwrap();
    looked_up(&mut graph, moved);
    assert_eq!(proofs(&graph), (2, 3), "each end has its own");
    let places = at(&mut graph).places(x).unwrap();
    assert_eq!((graph.node(places).op.clone(), graph.node(places).range()), (Op::AssertWithin, graph.node(x).range()));
    let mut graph = program();
    let x = input(&mut graph, 0, Dtype::Uint { bits: 64 }, 49);
    looked_up(&mut graph, x);
    assert_eq!(proofs(&graph), (1, 1), "nothing is below 0");
    let mut graph = program();
    let [x, y] = [0, 1].map(|owner| input(&mut graph, owner, Dtype::FIXED64, 49));
    at(&mut graph).divide(x, y).unwrap();
    at(&mut graph).real(Real::Reciprocal, x).unwrap();
    assert_eq!(proofs(&graph), (2, 2), "the divisor, not what is divided");
}

#[test]
fn what_is_joined_is_proven_part_by_part_and_what_is_mixed_is_not() {
    let mut graph = program();
    let [x, y] = [0, 1].map(|owner| input(&mut graph, owner, Dtype::INT64, 49));
    let both = at(&mut graph).concat(&[x.into(), y.into()], 0).unwrap();
    let both = at(&mut graph).reshape(both, &[2, 3]).unwrap();
    let places = at(&mut graph).places(both).unwrap();
    assert_eq!((proofs(&graph).0, graph.node(places).shape.as_slice()), (2, &[2, 3][..]));
    let sum = at(&mut graph).binary(BinaryOp::Add, x, y).unwrap();
    assert_eq!(at(&mut graph).places(sum).unwrap(), sum);
    assert_eq!(proofs(&graph).0, 2);
}

#[test]
fn what_rests_on_no_stated_bound_is_not_proven() {
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
    let before = proofs(&graph);
    for id in [free, assumed, bits, trusted, largest, less, entries] {
        assert_eq!(at(&mut graph).places(id).unwrap(), id);
    }
    assert_eq!(proofs(&graph), before);
    let mut semi_honest = Graph::new();
    let x = input(&mut semi_honest, 0, Dtype::INT64, 49);
    looked_up(&mut semi_honest, x);
    assert_eq!(proofs(&semi_honest).0, 0);
}
