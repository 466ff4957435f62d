//! Inputs that are read in parts, and arrays that are longer than what 32 bits number.

use quorate_graph::{BinaryOp, BuildError, Builder, Dtype, Graph, NodeId, Operand, Rules, Source};

const LONG: usize = 5_000_000_000;

fn at(graph: &mut Graph) -> Builder<'_> {
    graph.at(Source::new("streamed.rs", 1))
}

fn input(graph: &mut Graph, streamed: bool, shape: &[usize]) -> Result<NodeId, BuildError> {
    at(graph).streamed(streamed).input(0, 2, shape, Dtype::INT64, None)
}

#[test]
fn inputs_that_are_read_in_parts_are_told_apart() {
    let [held, read] = [false, true].map(|streamed| {
        let mut graph = Graph::new();
        let id = input(&mut graph, streamed, &[5]).unwrap();
        assert_eq!(graph.node(id).is_streamed(), streamed);
        graph.prefix_hash(id)
    });
    assert_ne!(held, read);
}

/// An owner who may cheat could give each user of such an input other values.
#[test]
fn where_parties_may_cheat_no_input_is_read_in_parts() {
    let mut graph = Graph::with(Rules { proves_bounds: true, ..Rules::default() });
    let id = input(&mut graph, true, &[5]).unwrap();
    assert!(!graph.node(id).is_streamed());
}

#[test]
fn long_arrays_are_computed_element_by_element_and_summed() {
    let mut graph = Graph::new();
    let x = input(&mut graph, true, &[LONG]).unwrap();
    let less = at(&mut graph).binary(BinaryOp::Lt, x, Operand::int(&5)).unwrap();
    at(&mut graph).sum(less, None, false).unwrap();
    let square = at(&mut graph).binary(BinaryOp::Mul, x, x).unwrap();
    at(&mut graph).sum(square, None, false).unwrap();
    let table = at(&mut graph).reshape(x, &[-1, 1]).unwrap();
    at(&mut graph).matmul(table, Operand::Ints { shape: &[1], values: &[3] }).unwrap_err();
    let table = at(&mut graph).reshape(x, &[-1, 10]).unwrap();
    at(&mut graph).matmul(table, Operand::Ints { shape: &[10], values: &[3; 10] }).unwrap();
    at(&mut graph).sum(table, Some(0), false).unwrap();
}

#[test]
fn what_numbers_elements_takes_fewer() {
    let mut graph = Graph::new();
    let x = input(&mut graph, true, &[LONG]).unwrap();
    let table = at(&mut graph).reshape(x, &[2, -1]).unwrap();
    let one = input(&mut graph, false, &[1]).unwrap();
    let refused = [
        at(&mut graph).strided(x, 0, &[(5, 2)], &[5]),
        at(&mut graph).gather(x, vec![1], &[1]),
        at(&mut graph).transpose(table, None),
        at(&mut graph).max(x, None, false),
        at(&mut graph).argmin(x, None, false),
        at(&mut graph).cumsum(x, None),
        at(&mut graph).concat(&[x.into(), one.into()], 0),
        at(&mut graph).bits(x).and_then(|bits| at(&mut graph).max(bits, None, false)),
    ];
    for (which, built) in refused.into_iter().enumerate() {
        let error = built.expect_err(&which.to_string()).to_string();
        assert!(error.contains("has too many elements: beyond 2^32 - 1 arrays are computed"), "{which}: {error}");
    }
    let error = input(&mut graph, true, &[1 << 25, 1 << 25]).unwrap_err().to_string();
    assert!(error.contains("an array holds at most 2^48"), "{error}");
}
