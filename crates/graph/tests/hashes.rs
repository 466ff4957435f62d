//! Tests that the prefix hash covers everything that the parties must agree on, and nothing else.

use std::collections::BTreeSet;
use std::sync::Arc;

use quorate_circuits::{Circuit, Gate};
use quorate_graph::{
    BinaryOp as B, Bound, BuildError, Builder, Column, Division, Dtype, Give, Graph, Hash, Layer, Meaning, NodeId,
    Operand, Real, Side, Source, UnaryOp, first_difference,
};

const INT8: Dtype = Dtype::Int { bits: 8 };
const FIX: Dtype = Dtype::Fixed { bits: 8, frac: 2 };
const DIVISION: Division = Division { give: Give::Quotient, quotient_bits: None };
const PAIR: Layer = Layer { count: 2, p: 1, r: 0, distance: 1 };

/// Returns the hash of an input x of shape (2, 3), an input y of shape (2, 3), a bit, and then one more operation.
fn hash_of(last: impl FnOnce(Builder<'_>, [NodeId; 3]) -> Result<NodeId, BuildError>, line: u32) -> Hash {
    let mut graph = Graph::new();
    let at = || Source::new("a.py", line);
    let x = graph.at(at()).input(0, 3, &[2, 3], INT8, None).unwrap();
    let y = graph.at(at()).input(1, 3, &[2, 3], INT8, None).unwrap();
    let bit = graph.at(at()).input(1, 3, &[2, 3], Dtype::Bit, None).unwrap();
    let id = last(graph.at(at()), [x, y, bit]).unwrap();
    assert_eq!(id.index() + 1, graph.nodes().len());
    graph.prefix_hash(id)
}

type Last = fn(Builder<'_>, [NodeId; 3]) -> Result<NodeId, BuildError>;

/// Operations, each of which differs from some other in a single attribute.
const VARIANTS: &[Last] = &[
    |mut b, _| b.input(0, 3, &[2], INT8, None),
    |mut b, _| b.input(1, 3, &[2], INT8, None),
    |mut b, _| b.input(0, 3, &[3], INT8, None),
    |mut b, _| b.input(0, 3, &[2, 1], INT8, None),
    |mut b, _| b.input(0, 3, &[1, 2], INT8, None),
    |mut b, _| b.input(0, 3, &[], INT8, None),
    |mut b, _| b.input(0, 3, &[2], Dtype::Int { bits: 9 }, None),
    |mut b, _| b.input(0, 3, &[2], FIX, None),
    |mut b, _| b.input(0, 3, &[2], Dtype::Fixed { bits: 8, frac: 0 }, None),
    |mut b, _| b.input(0, 3, &[2], Dtype::Bit, None),
    |mut b, _| b.input(0, 3, &[2], INT8, Some(Bound::Int(5))),
    |mut b, _| b.input(0, 3, &[2], INT8, Some(Bound::Int(6))),
    |b, _| column(b, "town", Meaning::Numbers),
    |b, _| column(b, "city", Meaning::Numbers),
    |b, _| column(b, "town", Meaning::Days),
    |b, _| column(b, "town", words(&["Rome", "Oslo"])),
    |b, _| column(b, "town", words(&["Oslo", "Rome"])),
    |b, _| column(b, "town", words(&["RomeOslo"])),
    |mut b, _| b.constant_ints(&[2], &[1, 2], INT8),
    |mut b, _| b.constant_ints(&[2], &[2, 1], INT8),
    |mut b, _| b.constant_ints(&[2], &[1], INT8),
    |mut b, _| b.constant_ints(&[], &[1], INT8),
    |mut b, [x, y, _]| b.binary(B::Add, x, y),
    |mut b, [x, y, _]| b.binary(B::Add, y, x),
    |mut b, [x, _, _]| b.binary(B::Add, x, x),
    |mut b, [x, y, _]| b.binary(B::Sub, x, y),
    |mut b, [x, y, _]| b.binary(B::Mul, x, y),
    |mut b, [x, y, _]| b.binary(B::Lt, x, y),
    |mut b, [x, y, _]| b.binary(B::Eq, x, y),
    |mut b, [_, _, c]| b.binary(B::And, c, c),
    |mut b, [_, _, c]| b.binary(B::Or, c, c),
    |mut b, [_, _, c]| b.binary(B::Xor, c, c),
    |mut b, [_, _, c]| b.unary(UnaryOp::Not, c),
    |mut b, [x, _, _]| b.unary(UnaryOp::Neg, x),
    |mut b, [x, y, c]| b.select(c, x, y),
    |mut b, [x, y, c]| b.select(c, y, x),
    |mut b, [x, y, _]| b.other(x, y, x),
    |mut b, [x, y, _]| b.other(x, y, y),
    |mut b, [x, y, _]| b.int_divide(DIVISION, x, y),
    |mut b, [x, y, _]| b.int_divide(DIVISION, y, x),
    |mut b, [x, y, _]| b.int_divide(Division { give: Give::Remainder, ..DIVISION }, x, y),
    |mut b, [x, y, _]| b.int_divide(Division { quotient_bits: Some(3), ..DIVISION }, x, y),
    |mut b, [x, _, _]| b.exchange(x, PAIR, Side::Lower),
    |mut b, [x, _, _]| b.exchange(x, PAIR, Side::Upper),
    |mut b, [x, _, _]| b.exchange(x, Layer { p: 2, ..PAIR }, Side::Lower),
    |mut b, [x, _, _]| b.exchange(x, Layer { distance: 2, ..PAIR }, Side::Lower),
    |mut b, [x, _, _]| b.exchange(x, Layer { distance: 3, ..PAIR }, Side::Lower),
    |mut b, [x, _, _]| b.exchange(x, Layer { r: 1, ..PAIR }, Side::Lower),
    |mut b, [x, _, _]| b.gather(x, vec![0, 2, 4], &[3]),
    |mut b, [x, _, _]| b.gather(x, vec![1, 3, 5], &[3]),
    |mut b, [x, _, _]| b.gather(x, vec![2, 1, 0], &[3]),
    |mut b, [x, _, _]| b.gather(x, vec![2, 0, 1], &[3]),
    |mut b, [x, _, _]| b.floor_div(x, Operand::int(&3)),
    |mut b, [x, _, _]| b.floor_div(x, Operand::int(&5)),
    |mut b, [x, _, _]| b.remainder(x, x, Operand::int(&3)),
    |mut b, [x, _, _]| b.cast(x, Dtype::Uint { bits: 8 }),
    |mut b, [x, y, _]| b.shuffle(&[x, y]),
    |mut b, [x, y, _]| b.shuffle(&[y, x]),
    |mut b, [x, _, _]| {
        let key = b.sum(x, Some(1), false)?;
        b.order(&[x], key, false)
    },
    |mut b, [x, _, _]| {
        let key = b.sum(x, Some(1), false)?;
        b.order(&[x], key, true)
    },
    |mut b, [x, _, _]| b.shl(x, 1),
    |mut b, [x, _, _]| b.shl(x, 2),
    |mut b, [x, _, _]| b.shr(x, 1),
    |mut b, [x, _, _]| b.shr(x, 2),
    |mut b, [x, _, _]| b.sum(x, None, false),
    |mut b, [x, _, _]| b.sum(x, None, true),
    |mut b, [x, _, _]| b.sum(x, Some(0), false),
    |mut b, [x, _, _]| b.sum(x, Some(1), false),
    |mut b, [x, _, _]| b.max(x, Some(1), false),
    |mut b, [x, _, _]| b.min(x, Some(1), false),
    |mut b, [x, _, _]| b.argmax(x, Some(1), false),
    |mut b, [x, _, _]| b.gather(x, vec![0, 1], &[2]),
    |mut b, [x, _, _]| b.gather(x, vec![1, 0], &[2]),
    |mut b, [x, _, _]| b.gather(x, vec![0, 1], &[2, 1]),
    |mut b, [x, _, _]| b.stated(x, -3, 3),
    |mut b, [x, _, _]| b.stated(x, -3, 4),
    |mut b, [x, _, _]| b.reshape(x, &[6]),
    |mut b, [x, _, _]| b.reshape(x, &[3, 2]),
    |mut b, [x, _, _]| b.broadcast_to(x, &[2, 2, 3]),
    |mut b, [x, _, _]| b.broadcast_to(x, &[3, 2, 3]),
    |mut b, [x, y, _]| b.concat(&[x.into(), y.into()], 0),
    |mut b, [x, y, _]| b.concat(&[x.into(), y.into(), x.into()], 0),
    |mut b, [x, y, _]| b.stack(&[x.into(), y.into()], 0),
    |mut b, [_, _, c]| b.cast(c, INT8),
    |mut b, [_, _, c]| b.cast(c, FIX),
    |mut b, [x, _, _]| b.cast(x, Dtype::INT64),
    |mut b, [x, _, _]| b.cast(x, FIX),
    |mut b, [x, _, _]| b.argmin(x, Some(1), false),
    |mut b, [x, _, _]| b.assert_one_hot(x, 0),
    |mut b, [x, _, _]| b.assert_one_hot(x, 1),
    |mut b, [x, _, _]| b.cumsum(x, Some(0)),
    |mut b, [x, _, _]| b.cumsum(x, Some(1)),
    |mut b, [x, _, _]| b.bits(x),
    |mut b, [x, y, _]| b.binary(B::And, x, y),
    |mut b, [x, _, _]| b.lookup(x, 0, &[1, 2, 3], Dtype::INT64),
    |mut b, [x, _, _]| b.lookup(x, 0, &[1, 2, 4], Dtype::INT64),
    |mut b, [x, _, _]| b.lookup(x, 1, &[1, 2, 3], Dtype::INT64),
    |mut b, [x, _, _]| b.lookup(x, 0, &[1, 2, 3], INT8),
    |mut b, [x, _, _]| real(&mut b, x, |b, r| b.real(Real::Exp, r)),
    |mut b, [x, _, _]| real(&mut b, x, |b, r| b.real(Real::Log, r)),
    |mut b, [x, _, _]| real(&mut b, x, |b, r| b.divide(r, Operand::int(&3))),
    |mut b, [x, _, _]| real(&mut b, x, |b, r| b.divide(r, Operand::real(&0.1))),
    |mut b, [x, _, _]| real(&mut b, x, |b, r| b.binary(B::Mul, r, Operand::real(&0.1))),
    |mut b, [x, _, _]| real(&mut b, x, |b, r| b.binary(B::Mul, r, Operand::real(&0.2))),
    |mut b, [x, _, _]| real(&mut b, x, |b, r| b.softmax(r, 0)),
    |mut b, [x, _, _]| real(&mut b, x, |b, r| b.softmax(r, 1)),
];

fn words(all: &[&str]) -> Meaning {
    Meaning::Words(all.iter().map(|word| word.to_string()).collect())
}

fn column(b: Builder<'_>, name: &str, meaning: Meaning) -> Result<NodeId, BuildError> {
    b.of_column(Some(Column { name: name.into(), meaning })).input(0, 3, &[2], INT8, None)
}

/// Builds a function of `x` as fixed point.
fn real(
    b: &mut Builder<'_>,
    x: NodeId,
    build: impl FnOnce(&mut Builder<'_>, NodeId) -> Result<NodeId, BuildError>,
) -> Result<NodeId, BuildError> {
    let x = b.cast(x, FIX)?;
    build(b, x)
}

#[test]
fn every_attribute_counts() {
    let hashes: Vec<Hash> = VARIANTS.iter().map(|v| hash_of(v, 1)).collect();
    let distinct: BTreeSet<Hash> = hashes.iter().copied().collect();
    assert_eq!(distinct.len(), VARIANTS.len());
    assert!(VARIANTS.len() > 50);
}

#[test]
fn lines_do_not_count_and_nothing_is_random() {
    for variant in VARIANTS {
        assert_eq!(hash_of(variant, 1), hash_of(variant, 2));
    }
}

#[test]
fn the_shape_of_a_matrix_product_counts() {
    let product = |left: &[usize], right: &[usize]| {
        let mut graph = Graph::new();
        let a = graph.at(Source::new("a.py", 1)).input(0, 3, left, INT8, None).unwrap();
        let b = graph.at(Source::new("a.py", 1)).input(0, 3, right, INT8, None).unwrap();
        let id = graph.at(Source::new("a.py", 1)).matmul(a, b).unwrap();
        graph.prefix_hash(id)
    };
    let all = [product(&[2, 2], &[2, 2]), product(&[2, 2], &[2]), product(&[2], &[2, 2]), product(&[1, 2], &[2, 2])];
    assert_eq!(all.iter().collect::<BTreeSet<_>>().len(), 4);
}

/// Compares circuits that differ in the type or a wire of one gate, or in an output.
#[test]
fn every_gate_of_a_circuit_counts() {
    let hash = |gate: Gate, output: u32| {
        let circuit = Circuit::new(vec![2, 1], vec![Gate::Inv(0), gate], vec![1, 1], vec![3, output]).unwrap();
        let mut graph = Graph::new();
        let mut input =
            |width| graph.at(Source::new("a.py", 1)).input(0, 3, &[4, width], Dtype::Bit, None).unwrap().into();
        let inputs: [Operand<'_>; 2] = [input(2), input(1)];
        let id = graph.at(Source::new("a.py", 1)).circuit(&Arc::new(circuit), &inputs).unwrap();
        [graph.prefix_hash(id), graph.step_hash(id)]
    };
    let gates = [
        Gate::And(0, 1),
        Gate::And(0, 2),
        Gate::And(1, 2),
        Gate::Xor(0, 1),
        Gate::Xor(0, 2),
        Gate::Inv(0),
        Gate::Inv(1),
        Gate::Constant(false),
        Gate::Constant(true),
    ];
    let hashes: Vec<_> = gates.into_iter().flat_map(|gate| [hash(gate, 4), hash(gate, 3)]).collect();
    for i in 0..2 {
        let distinct: BTreeSet<Hash> = hashes.iter().map(|both| both[i]).collect();
        assert_eq!(distinct.len(), 2 * gates.len());
    }
}

/// Steps of one hash share results about one of them, so the hash must cover which operands are public: these take
/// other protocols than secret ones.
#[test]
fn the_hash_of_a_step_says_which_operands_are_public() {
    let mut graph = Graph::new();
    let at = || Source::new("a.py", 1);
    let fits = Some(Bound::Int(5));
    // No party knows what is computed.
    let [x, secret] = [0, 1].map(|owner| {
        let input = graph.at(at()).input(owner, 3, &[2], INT8, fits).unwrap();
        graph.at(at()).unary(UnaryOp::Neg, input).unwrap()
    });
    let public = graph.at(at()).constant_ints(&[2], &[-5, 5], INT8).unwrap();
    let (a, b) = (graph.node(secret), graph.node(public));
    assert_eq!((&a.shape, a.dtype, a.interval), (&b.shape, b.dtype, b.interval), "they differ in nothing else");
    let mut step = |left, right| {
        let id = graph.at(at()).binary(B::Mul, left, right).unwrap();
        graph.step_hash(id)
    };
    let steps = [step(x, secret), step(x, public), step(public, x)];
    assert_eq!(steps.iter().collect::<BTreeSet<_>>().len(), 3, "{steps:?}");
    assert_eq!(step(x, secret), steps[0]);
}

/// Products of what a party knows have correlations of their own, and factors are opened once.
#[test]
fn the_hash_of_a_step_says_who_knows_its_operands() {
    let mut graph = Graph::new();
    let at = || Source::new("a.py", 1);
    let fits = Some(Bound::Int(5));
    let [x, y, z] = [0, 1, 0].map(|owner| graph.at(at()).input(owner, 3, &[2], INT8, fits).unwrap());
    let computed = graph.at(at()).unary(UnaryOp::Neg, x).unwrap();
    let (a, b) = (graph.node(x), graph.node(computed));
    assert_eq!((&a.shape, a.dtype, a.interval), (&b.shape, b.dtype, b.interval), "they differ in nothing else");
    let mut step = |left, right| {
        let id = graph.at(at()).binary(B::Mul, left, right).unwrap();
        graph.step_hash(id)
    };
    let steps = [step(x, y), step(y, x), step(x, z), step(x, computed), step(computed, y)];
    assert_eq!(steps.iter().collect::<BTreeSet<_>>().len(), 5, "{steps:?}");
    assert_eq!(step(z, y), steps[0]);
}

#[test]
fn the_axis_of_a_reduction_counts_even_where_shapes_agree() {
    let reduced = |axis| {
        let mut graph = Graph::new();
        let x = graph.at(Source::new("a.py", 1)).input(0, 3, &[2, 2], INT8, None).unwrap();
        let id = graph.at(Source::new("a.py", 1)).sum(x, Some(axis), false).unwrap();
        graph.prefix_hash(id)
    };
    assert_ne!(reduced(0), reduced(1));
}

#[test]
fn a_fixed_program_keeps_its_hash() {
    let mut graph = Graph::new();
    let x = graph.at(Source::new("a.py", 1)).input(0, 3, &[2], Dtype::INT64, Some(Bound::Int(9))).unwrap();
    let y = graph.at(Source::new("a.py", 2)).binary(B::Mul, x, Operand::int(&3)).unwrap();
    // Parties of different builds compare these hashes: if they change, so must the protocol's version.
    assert_eq!(format!("{:?}", graph.prefix_hash(y)), "a3c181499e92c2a3");
    assert_eq!(format!("{:?}", Hash::empty()), "7fcccc27285c2e6e");
}

#[test]
fn an_earlier_difference_shows_in_all_later_hashes() {
    let run = |k: i128| {
        let mut graph = Graph::new();
        let mut x = graph.at(Source::new("a.py", 1)).input(0, 3, &[2], Dtype::INT64, None).unwrap();
        for line in 0..10 {
            let constant = if line == 4 { k } else { 1 };
            x = graph.at(Source::new("a.py", line)).binary(B::Add, x, Operand::int(&constant)).unwrap();
        }
        graph.hashes().to_vec()
    };
    let (ours, theirs) = (run(1), run(2));
    assert_eq!((ours.len(), theirs.len()), (12, 13), "the 1 is one node");
    assert_eq!(first_difference(&ours, &theirs), Some(6), "the constant of the fifth addition, or that itself");
    assert!((6..12).all(|i| ours[i] != theirs[i]));
    assert_eq!(first_difference(&ours, &ours), None);
    assert_eq!(first_difference(&ours, &ours[..7]), Some(7));
    assert_eq!(first_difference(&[], &ours), Some(0));
    assert_eq!(first_difference(&[], &[]), None);
}
