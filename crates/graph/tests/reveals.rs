//! Tests of origins: the parties whose inputs a value depends on, those whose own inputs it contains, and the part of
//! the program that makes it.

use quorate_graph::{
    BinaryOp, Bound, Builder, Domain, Dtype, Graph, Hash, Layer, NodeId, Operand, Rules, Side, Source, UnaryOp,
};

const INT: Dtype = Dtype::INT64;

/// Adds inputs of four numbers of each of three owners.
fn three(graph: &mut Graph) -> [NodeId; 3] {
    [0, 1, 2].map(|owner| at(graph).input(owner, 3, &[4], INT, None).unwrap())
}

fn at(graph: &mut Graph) -> Builder<'_> {
    graph.at(Source::new("t.py", 7))
}

fn known(graph: &Graph, id: NodeId) -> (Vec<usize>, Vec<usize>) {
    (graph.owners(id).parties().collect(), graph.own_inputs(id).parties().collect())
}

/// Builds a layer of a sorting network: swaps where the first row of a pair is larger.
fn layer(graph: &mut Graph, x: NodeId, layer: Layer) -> NodeId {
    let [low, high, rest] = [Side::Lower, Side::Upper, Side::Rest].map(|s| at(graph).exchange(x, layer, s).unwrap());
    let swap = at(graph).binary(BinaryOp::Lt, high, low).unwrap();
    let one = at(graph).select(swap, high, low).unwrap();
    let other = at(graph).other(low, high, one).unwrap();
    let mixed = at(graph).concat(&[one.into(), other.into(), rest.into()], 0).unwrap();
    at(graph).exchange(mixed, layer, Side::Back).unwrap()
}

/// Builds a merge exchange of four rows.
fn sorted(graph: &mut Graph, x: NodeId) -> NodeId {
    let layers = [(2, 0, 2), (1, 0, 1), (1, 1, 1)];
    layers.into_iter().fold(x, |x, (p, r, distance)| layer(graph, x, Layer { count: 4, p, r, distance }))
}

/// Builds a product with public numbers.
fn times(graph: &mut Graph, x: NodeId, by: &[i128]) -> NodeId {
    let by = at(graph).constant_ints(&[by.len()], by, INT).unwrap();
    at(graph).binary(BinaryOp::Mul, x, by).unwrap()
}

/// Builds an array from party 0's real numbers.
fn real<E: std::fmt::Debug>(graph: &mut Graph, made: fn(&mut Graph, NodeId) -> Result<NodeId, E>) -> NodeId {
    let x = at(graph).real_input(0, 3, &[4], Some(Bound::Int(7))).unwrap();
    made(graph, x).unwrap()
}

/// Builds the product of a square matrix with a public one.
fn by_matrix(graph: &mut Graph, x: NodeId, matrix: &[i128; 4]) -> NodeId {
    let square = at(graph).reshape(x, &[2, 2]).unwrap();
    let matrix = at(graph).constant_ints(&[2, 2], matrix, INT).unwrap();
    at(graph).matmul(square, matrix).unwrap()
}

/// Builds an operation on all bits and a public one.
fn masked(graph: &mut Graph, x: NodeId, op: BinaryOp, by: i128) -> NodeId {
    let bits = at(graph).bits(x).unwrap();
    let by = at(graph).constant_ints(&[], &[by], Dtype::Bit).unwrap();
    at(graph).binary(op, bits, by).unwrap()
}

type Case = (&'static str, fn(&mut Graph, [NodeId; 3]) -> NodeId, &'static [usize], &'static [usize]);

const CASES: &[Case] = &[
    ("an input", |_, [x, ..]| x, &[0], &[0]),
    ("a part", |g, [_, y, _]| at(g).gather(y, vec![2], &[1]).unwrap(), &[1], &[1]),
    ("nothing of it", |g, [_, y, _]| at(g).gather(y, vec![], &[0]).unwrap(), &[1], &[]),
    ("reshaped", |g, [x, ..]| at(g).reshape(x, &[2, 2]).unwrap(), &[0], &[0]),
    ("repeated", |g, [x, ..]| at(g).broadcast_to(x, &[3, 4]).unwrap(), &[0], &[0]),
    ("elsewhere", |g, [x, ..]| at(g).to(x, Domain::B).unwrap(), &[0], &[0]),
    ("negated", |g, [x, ..]| at(g).unary(UnaryOp::Neg, x).unwrap(), &[0], &[0]),
    ("and a public number", |g, [x, ..]| at(g).binary(BinaryOp::Add, x, Operand::int(&5)).unwrap(), &[0], &[0]),
    ("from a public number", |g, [x, ..]| at(g).binary(BinaryOp::Sub, Operand::int(&5), x).unwrap(), &[0], &[0]),
    ("a multiple", |g, [x, ..]| at(g).binary(BinaryOp::Mul, x, Operand::int(&5)).unwrap(), &[0], &[0]),
    ("0 times it", |g, [x, ..]| at(g).binary(BinaryOp::Mul, x, Operand::int(&0)).unwrap(), &[0], &[]),
    ("some times 0", |g, [x, ..]| times(g, x, &[1, 0, 3, 0]), &[0], &[0]),
    (
        "those times 0",
        |g, [x, ..]| {
            let some = times(g, x, &[1, 0, 3, 0]);
            at(g).gather(some, vec![1, 3], &[2]).unwrap()
        },
        &[0],
        &[],
    ),
    (
        "those that are not, beside another's",
        |g, [x, y, _]| {
            let (some, product) = (times(g, x, &[1, 0, 3, 0]), at(g).binary(BinaryOp::Mul, x, y).unwrap());
            let both = at(g).concat(&[some.into(), product.into()], 0).unwrap();
            at(g).gather(both, vec![2, 5], &[2]).unwrap()
        },
        &[0, 1],
        &[0],
    ),
    ("reals times 1", |g, _| real(g, |g, x| at(g).binary(BinaryOp::Mul, x, Operand::real(&1.0))), &[0], &[0]),
    ("reals times 0.3", |g, _| real(g, |g, x| at(g).binary(BinaryOp::Mul, x, Operand::real(&0.3))), &[0], &[0]),
    ("reals times 0", |g, _| real(g, |g, x| at(g).binary(BinaryOp::Mul, x, Operand::real(&0.0))), &[0], &[]),
    ("reals over 1", |g, _| real(g, |g, x| at(g).divide(x, Operand::real(&1.0))), &[0], &[0]),
    ("reals over 3", |g, _| real(g, |g, x| at(g).divide(x, Operand::real(&3.0))), &[0], &[0]),
    ("in ones", |g, [x, ..]| at(g).floor_div(x, Operand::int(&1)).unwrap(), &[0], &[0]),
    ("in tens", |g, [x, ..]| at(g).floor_div(x, Operand::int(&10)).unwrap(), &[0], &[]),
    ("by a unit matrix", |g, [x, ..]| by_matrix(g, x, &[1, 0, 0, 1]), &[0], &[0]),
    ("by a permutation", |g, [x, ..]| by_matrix(g, x, &[0, 7, -2, 0]), &[0], &[0]),
    ("by a matrix that leaves one out", |g, [x, ..]| by_matrix(g, x, &[0, 1, 0, 0]), &[0], &[0]),
    ("by a matrix that adds up", |g, [x, ..]| by_matrix(g, x, &[1, 1, 1, -1]), &[0], &[]),
    ("by a matrix of zeros", |g, [x, ..]| by_matrix(g, x, &[0; 4]), &[0], &[]),
    (
        "what a matrix adds up, beside what it takes",
        |g, [x, ..]| {
            let product = by_matrix(g, x, &[1, 1, 0, 1]);
            at(g).gather(product, vec![1, 3], &[2]).unwrap()
        },
        &[0],
        &[],
    ),
    (
        "rows that a matrix takes",
        |g, [_, y, _]| {
            let matrix = at(g).constant_ints(&[2, 2], &[0, 1, 1, 1], INT).unwrap();
            let square = at(g).reshape(y, &[2, 2]).unwrap();
            let product = at(g).matmul(matrix, square).unwrap();
            at(g).gather(product, vec![0, 1], &[2]).unwrap()
        },
        &[1],
        &[1],
    ),
    (
        "rows that it adds up",
        |g, [_, y, _]| {
            let matrix = at(g).constant_ints(&[2, 2], &[0, 1, 1, 1], INT).unwrap();
            let square = at(g).reshape(y, &[2, 2]).unwrap();
            let product = at(g).matmul(matrix, square).unwrap();
            at(g).gather(product, vec![2, 3], &[2]).unwrap()
        },
        &[1],
        &[],
    ),
    ("masked bits", |g, [x, ..]| masked(g, x, BinaryOp::And, 1), &[0], &[0]),
    ("no bits", |g, [x, ..]| masked(g, x, BinaryOp::And, 0), &[0], &[]),
    ("bits or none", |g, [x, ..]| masked(g, x, BinaryOp::Or, 0), &[0], &[0]),
    ("bits or ones", |g, [x, ..]| masked(g, x, BinaryOp::Or, 1), &[0], &[]),
    ("bits", |g, [x, ..]| at(g).bits(x).unwrap(), &[0], &[0]),
    (
        "signs",
        |g, [x, ..]| {
            let bits = at(g).bits(x).unwrap();
            at(g).gather(bits, vec![63, 127], &[2]).unwrap()
        },
        &[0],
        &[],
    ),
    (
        "from its bits",
        |g, [x, ..]| {
            let bits = at(g).bits(x).unwrap();
            at(g).from_bits(bits, INT).unwrap()
        },
        &[0],
        &[0],
    ),
    ("wider", |g, [x, ..]| at(g).cast(x, Dtype::Int { bits: 96 }).unwrap(), &[0], &[0]),
    ("narrower", |g, [x, ..]| at(g).cast(x, Dtype::Int { bits: 32 }).unwrap(), &[0], &[]),
    ("a sum", |g, [x, ..]| at(g).sum(x, None, false).unwrap(), &[0], &[]),
    (
        "a sum of one",
        |g, [x, ..]| {
            let one = at(g).gather(x, vec![3], &[1]).unwrap();
            at(g).sum(one, None, false).unwrap()
        },
        &[0],
        &[0],
    ),
    ("the largest", |g, [x, ..]| at(g).max(x, None, false).unwrap(), &[0], &[]),
    ("of two", |g, [x, y, _]| at(g).binary(BinaryOp::Add, x, y).unwrap(), &[0, 1], &[]),
    ("a comparison", |g, [x, _, z]| at(g).binary(BinaryOp::Lt, x, z).unwrap(), &[0, 2], &[]),
    (
        "a choice",
        |g, [x, y, z]| {
            let less = at(g).binary(BinaryOp::Lt, x, y).unwrap();
            at(g).select(less, z, Operand::int(&0)).unwrap()
        },
        &[0, 1, 2],
        &[],
    ),
    (
        "a public choice",
        |g, [x, y, _]| {
            let bits = at(g).constant_ints(&[4], &[1, 0, 0, 0], Dtype::Bit).unwrap();
            let chosen = at(g).select(bits, x, y).unwrap();
            at(g).gather(chosen, vec![1, 3], &[2]).unwrap()
        },
        &[0, 1],
        &[1],
    ),
    (
        "one of two that are side by side",
        |g, [x, y, _]| {
            let both = at(g).stack(&[x.into(), y.into()], 1).unwrap();
            at(g).gather(both, vec![1, 3, 5, 7], &[4]).unwrap()
        },
        &[0, 1],
        &[1],
    ),
    (
        "what is computed, beside an input",
        |g, [x, y, _]| {
            let product = at(g).binary(BinaryOp::Mul, x, y).unwrap();
            let both = at(g).stack(&[x.into(), product.into()], 1).unwrap();
            at(g).gather(both, vec![1, 3, 5, 7], &[4]).unwrap()
        },
        &[0, 1],
        &[],
    ),
    (
        "an input with an element that is another's",
        |g, [x, y, _]| {
            let one = at(g).gather(y, vec![0], &[1]).unwrap();
            at(g).set_at(x, &[2], &[1], one).unwrap()
        },
        &[0, 1],
        &[0, 1],
    ),
    (
        "one array of a shuffle",
        |g, [x, y, _]| {
            let mixed = at(g).shuffle(&[x, y]).unwrap();
            at(g).part(mixed, 1).unwrap()
        },
        &[1],
        &[1],
    ),
    (
        "an array in the order of another",
        |g, [x, y, _]| {
            let ordered = at(g).order(&[x], y, false).unwrap();
            at(g).in_order(ordered, 0, x, false).unwrap()
        },
        &[0, 1],
        &[0],
    ),
    (
        "a row that moves with its key",
        |g, [x, y, _]| {
            let ordered = at(g).order(&[x], y, false).unwrap();
            let all = at(g).in_order(ordered, 0, x, false).unwrap();
            at(g).gather(all, vec![1], &[1]).unwrap()
        },
        &[0, 1],
        &[0],
    ),
    (
        "a row in the order of a public key",
        |g, [x, ..]| {
            let key = at(g).constant_ints(&[4], &[3, 1, 2, 0], Dtype::INT64).unwrap();
            let ordered = at(g).order(&[x], key, false).unwrap();
            let all = at(g).in_order(ordered, 0, x, false).unwrap();
            at(g).gather(all, vec![1], &[1]).unwrap()
        },
        &[0],
        &[0],
    ),
    (
        "three of four in order",
        |g, [x, ..]| {
            let ordered = at(g).order(&[x], x, false).unwrap();
            let all = at(g).in_order(ordered, 0, x, false).unwrap();
            at(g).gather(all, vec![1, 2, 3], &[3]).unwrap()
        },
        &[0],
        &[0],
    ),
    (
        "the median of an order",
        |g, [x, ..]| {
            let ordered = at(g).order(&[x], x, true).unwrap();
            let all = at(g).in_order(ordered, 0, x, true).unwrap();
            at(g).gather(all, vec![1, 2], &[2]).unwrap()
        },
        &[0],
        &[],
    ),
    ("sorted", |g, [x, ..]| sorted(g, x), &[0], &[0]),
    (
        "the median",
        |g, [x, ..]| {
            let all = sorted(g, x);
            at(g).gather(all, vec![1], &[1]).unwrap()
        },
        &[0],
        &[],
    ),
    (
        "the top two",
        |g, [x, ..]| {
            let all = sorted(g, x);
            at(g).gather(all, vec![2, 3], &[2]).unwrap()
        },
        &[0],
        &[],
    ),
    (
        "two owners', sorted",
        |g, [x, y, _]| {
            let [x, y] = [x, y].map(|id| at(g).gather(id, vec![0, 1], &[2]).unwrap());
            let both = at(g).concat(&[x.into(), y.into()], 0).unwrap();
            sorted(g, both)
        },
        &[0, 1],
        &[0, 1],
    ),
    (
        "sums, sorted",
        |g, [x, y, _]| {
            let sum = at(g).binary(BinaryOp::Add, x, y).unwrap();
            sorted(g, sum)
        },
        &[0, 1],
        &[],
    ),
    ("public", |g, _| at(g).constant_ints(&[2], &[1, 2], INT).unwrap(), &[], &[]),
];

#[test]
fn each_value_is_of_those_whose_inputs_it_is_made_of() {
    for (name, build, owners, own) in CASES {
        let mut graph = Graph::new();
        let inputs = three(&mut graph);
        let id = build(&mut graph, inputs);
        assert_eq!(known(&graph, id), (owners.to_vec(), own.to_vec()), "{name}");
    }
}

/// The origins of arrays that are kept include nodes that are forgotten.
#[test]
fn forgotten_nodes_still_count() {
    let mut graph = Graph::with(Rules::default());
    let inputs = three(&mut graph);
    let both = at(&mut graph).stack(&[inputs[0].into(), inputs[1].into()], 1).unwrap();
    let product = at(&mut graph).binary(BinaryOp::Mul, inputs[1], inputs[2]).unwrap();
    let (part, end) = (graph.part_hash(product), graph.len());
    for _ in 0..25_000 {
        at(&mut graph).binary(BinaryOp::Add, product, product).unwrap();
    }
    graph.forget(end, &[both, product].into_iter().collect());
    assert!(graph.first() > 0 && graph.get(inputs[2]).is_ok());
    graph.forget(graph.len(), &[both, product].into_iter().collect());
    let column = at(&mut graph).gather(both, vec![0, 2], &[2]).unwrap();
    assert_eq!(known(&graph, column), (vec![0, 1], vec![0]));
    assert_eq!(known(&graph, product), (vec![1, 2], vec![]));
    assert_eq!(graph.part_hash(product), part);
}

/// Following many moves of elements with different origins overflows no stack and takes no exponential time.
#[test]
fn many_moves_in_a_row_are_followed() {
    let mut graph = Graph::new();
    let [x, y, z] = three(&mut graph);
    let mut mixed = at(&mut graph).concat(&[x.into(), y.into()], 0).unwrap();
    for _ in 0..1500 {
        let twice = at(&mut graph).concat(&[mixed.into(), mixed.into()], 0).unwrap();
        mixed = at(&mut graph).gather(twice, (4..12).collect(), &[8]).unwrap();
    }
    let half = at(&mut graph).gather(mixed, vec![0, 1, 2, 3], &[4]).unwrap();
    assert_eq!(known(&graph, half), (vec![0, 1], vec![0]));
    for _ in 0..3000 {
        let more = at(&mut graph).concat(&[mixed.into(), z.into()], 0).unwrap();
        mixed = at(&mut graph).gather(more, (0..8).collect(), &[8]).unwrap();
    }
    assert_eq!(known(&graph, mixed), (vec![0, 1, 2], vec![0, 1, 2]), "beyond that, whatever may be there");
}

/// Returns the hash of the part that makes the last node.
fn part(build: impl FnOnce(&mut Graph) -> NodeId) -> Hash {
    let mut graph = Graph::new();
    let id = build(&mut graph);
    graph.part_hash(id)
}

#[test]
fn the_hash_of_a_part_sees_all_of_it_and_nothing_else() {
    let input = |g: &mut Graph, owner, len, dtype, bound| at(g).input(owner, 3, &[len], dtype, bound).unwrap();
    let sum = |len, owner, dtype, bound| {
        move |g: &mut Graph| {
            let x = input(g, owner, len, dtype, bound);
            at(g).sum(x, None, false).unwrap()
        }
    };
    let plain = part(sum(4, 0, INT, None));
    let wide = Dtype::Int { bits: 96 };
    let of_difference = |same: bool| {
        move |g: &mut Graph| {
            let (x, y) = (input(g, 0, 4, INT, None), input(g, 0, 4, INT, None));
            at(g).binary(BinaryOp::Sub, x, if same { x } else { y }).unwrap()
        }
    };
    let mixed = |same: bool| {
        move |g: &mut Graph| {
            let (x, y) = (input(g, 0, 4, INT, None), input(g, 1, 4, INT, None));
            let (one, other) = (at(g).shuffle(&[x, y]).unwrap(), at(g).shuffle(&[x, y]).unwrap());
            let (a, b) = (at(g).part(one, 0).unwrap(), at(g).part(if same { one } else { other }, 1).unwrap());
            at(g).binary(BinaryOp::Add, a, b).unwrap()
        }
    };
    let with_constant = |value: i128| {
        move |g: &mut Graph| {
            let x = input(g, 0, 4, INT, None);
            let y = at(g).binary(BinaryOp::Mul, x, Operand::int(&value)).unwrap();
            at(g).sum(y, None, false).unwrap()
        }
    };
    let others = [
        plain,
        part(sum(5, 0, INT, None)),
        part(sum(4, 1, INT, None)),
        part(sum(4, 0, wide, None)),
        part(sum(4, 0, INT, Some(Bound::Int(9)))),
        part(sum(4, 0, INT, Some(Bound::Int(8)))),
        part(of_difference(true)),
        part(of_difference(false)),
        part(mixed(true)),
        part(mixed(false)),
        part(with_constant(2)),
        part(with_constant(3)),
    ];
    assert!((0..others.len()).all(|i| !others[..i].contains(&others[i])), "{others:?}");
    // Lines, and other operations of the program, are not part of it.
    let beside = part(|g| {
        let x = input(g, 0, 4, INT, None);
        input(g, 1, 4, INT, None);
        at(g).binary(BinaryOp::Add, x, x).unwrap();
        g.at(Source::new("u.py", 9)).sum(x, None, false).unwrap()
    });
    assert_eq!(beside, plain);
}

#[test]
fn the_hash_of_runs_sees_each_reveal_and_all_runs_before() {
    let [a, b] = [part(|g| three(g)[0]), part(|g| three(g)[1])];
    let first = Hash::empty();
    let hashes = [
        first,
        first.then_reveals(&[]),
        first.then_reveals(&[(a, None)]),
        first.then_reveals(&[(a, Some(0))]),
        first.then_reveals(&[(a, Some(1))]),
        first.then_reveals(&[(b, Some(1))]),
        first.then_reveals(&[(a, None), (a, None)]),
        first.then_reveals(&[(a, None), (b, None)]),
        first.then_reveals(&[(b, None), (a, None)]),
        first.then_reveals(&[(a, None)]).then_reveals(&[(a, None)]),
        first.then_reveals(&[(a, None)]).then_reveals(&[(b, None)]),
    ];
    assert!((0..hashes.len()).all(|i| !hashes[..i].contains(&hashes[i])));
}

#[test]
fn a_hash_is_read_as_it_is_written() {
    let hash = part(|g| three(g)[0]);
    assert_eq!(hash.to_string().parse(), Ok(hash));
    let text = hash.to_string();
    for bad in ["", "12", &text[1..], &format!("{text}0"), &format!("g{}", &text[1..]), &format!("é{}", &text[2..])] {
        assert!(bad.parse::<Hash>().is_err(), "{bad}");
    }
}

/// A wrong stated range changes the revealed values, so the hash of a part covers stated ranges.
#[test]
fn stated_ranges_are_of_the_part() {
    let part = |low: i128, high: i128| {
        let mut graph = Graph::new();
        let [x, ..] = three(&mut graph);
        let stated = at(&mut graph).stated(x, low, high).unwrap();
        let less = at(&mut graph).binary(BinaryOp::Lt, stated, Operand::int(&3)).unwrap();
        assert_eq!(known(&graph, stated), (vec![0], vec![0]));
        graph.part_hash(less)
    };
    assert_eq!(part(-5, 9), part(-5, 9));
    assert!(part(-5, 9) != part(-5, 10) && part(-5, 9) != part(-6, 9));
}

#[test]
fn elements_that_are_seen_one_by_one_are_looked_at_together() {
    let mut graph = Graph::new();
    let [x, y, _] = three(&mut graph);
    let together = |graph: &Graph, ids: &[NodeId]| -> Vec<Vec<usize>> {
        graph.own_inputs_together(ids).iter().map(|owners| owners.parties().collect()).collect()
    };
    let product = at(&mut graph).binary(BinaryOp::Mul, x, y).unwrap();
    let in_order = sorted(&mut graph, x);
    let bits = at(&mut graph).bits(x).unwrap();
    for (all, parts) in [(in_order, 4), (bits, 64)] {
        let part = |at_: u32| at(&mut graph).gather(all, vec![at_], &[1]).unwrap();
        let mut seen: Vec<NodeId> = (0..parts).map(part).collect();
        assert!(seen.iter().all(|&id| graph.own_inputs(id).is_empty()));
        assert_eq!(together(&graph, &seen), vec![vec![0]; seen.len()]);
        seen.extend([product, y]);
        let mut wanted = vec![vec![0]; seen.len()];
        wanted[parts as usize..].clone_from_slice(&[vec![], vec![1]]);
        assert_eq!(together(&graph, &seen), wanted, "what is computed is none, also beside them");
        assert_eq!(together(&graph, &seen[1..2]), [vec![]]);
    }
}
