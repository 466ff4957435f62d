//! Tests that operations as circuits equal their evaluation in the clear, for all values of small types.

use crate::common::{INT8, Program};
use quorate_circuits::{Circuit, Goal, from_rows, to_rows};
use quorate_graph::{
    BinaryOp as B, Bound, BuildError, Division, Dtype, Give, InBits, NodeId, Operand, UnaryOp, eval_clear,
};

const INT4: Dtype = Dtype::Int { bits: 4 };
const UINT4: Dtype = Dtype::Uint { bits: 4 };
const FIX4: Dtype = Dtype::Fixed { bits: 4, frac: 2 };

/// Returns the lowest bits of numbers.
fn words(units: &[i128], bits: u32) -> Vec<u128> {
    units.iter().map(|&unit| unit as u128 & ((1 << bits) - 1)).collect()
}

fn run(circuit: &Circuit, inputs: &[Vec<u128>]) -> Vec<u128> {
    let outputs = circuit.evaluate(&to_rows(circuit.inputs(), inputs)).unwrap();
    from_rows(circuit.outputs(), &outputs).remove(0)
}

/// Returns element (o, j, i) of an axis, for all (o, i).
fn column(values: &[u128], axis: quorate_graph::Axis, j: usize) -> Vec<u128> {
    let at = |lane: usize| (lane / axis.inner * axis.len + j) * axis.inner + lane % axis.inner;
    (0..axis.outer * axis.inner).map(|lane| values[at(lane)]).collect()
}

fn folded(values: &[u128], axis: quorate_graph::Axis, pair: &Circuit) -> Vec<u128> {
    let columns = (0..axis.len).map(|j| column(values, axis, j));
    columns.reduce(|earlier, later| run(pair, &[earlier, later])).unwrap()
}

/// Returns the node's values by its circuits, from the operands' values in the clear; and the number of ANDs.
fn by_circuits(p: &Program, id: NodeId, goal: Goal) -> (Vec<u128>, u64) {
    let node = p.graph.node(id);
    let clear = eval_clear(&p.graph, &p.inputs).unwrap();
    let operand = |place: usize| {
        let input = node.inputs[place];
        words(&clear[input.index()], p.graph.node(input).dtype.bits())
    };
    match p.graph.in_bits(id, goal).unwrap() {
        InBits::Each(lane) => {
            let inputs: Vec<Vec<u128>> = lane.operands.iter().map(|&place| operand(place)).collect();
            (run(&lane.circuit, &inputs), lane.circuit.counts().and)
        }
        InBits::Fold { axis, pair } => (folded(&operand(0), axis, &pair), pair.counts().and),
        InBits::FoldPlaces { axis, pair, index_bits } => {
            let bits = p.graph.node(node.inputs[0]).dtype.bits();
            let place = |at: usize| (at / axis.inner % axis.len) as u128;
            let with_places: Vec<u128> =
                operand(0).iter().enumerate().map(|(at, value)| value | place(at) << bits).collect();
            let best = folded(&with_places, axis, &pair);
            assert!(index_bits < 8);
            (best.iter().map(|value| value >> bits).collect(), pair.counts().and)
        }
        InBits::Groups(_) => unreachable!("no user's circuit is among them"),
    }
}

/// Returns whether the node has a circuit, by the function that builds none.
#[track_caller]
fn offered(p: &Program, id: NodeId) -> bool {
    let offered = p.graph.has_circuit(id);
    assert_eq!(offered, p.graph.in_bits(id, Goal::Size).is_some(), "{}", p.graph.describe(id));
    offered
}

/// Compares the circuits of a node with its values in the clear; returns the ANDs of the small one.
#[track_caller]
fn check(p: &Program, id: Result<NodeId, BuildError>) -> u64 {
    let id = id.unwrap();
    assert!(p.graph.has_circuit(id), "{}", p.graph.describe(id));
    let node = p.graph.node(id);
    let clear = eval_clear(&p.graph, &p.inputs).unwrap();
    let expected = words(&clear[id.index()], node.dtype.bits());
    let (deep, _) = by_circuits(p, id, Goal::Depth);
    assert_eq!(deep, expected, "{} for depth", p.graph.describe(id));
    let (small, ands) = by_circuits(p, id, Goal::Size);
    assert_eq!(small, expected, "{} for size", p.graph.describe(id));
    ands
}

/// Returns all values of a type, within a bound if there is one.
fn values(dtype: Dtype, bound: Option<i128>) -> Vec<i128> {
    let range = dtype.range();
    let most = bound.unwrap_or(range.hi().max(-range.lo()));
    (range.lo().max(-most)..=range.hi().min(most)).collect()
}

fn input(p: &mut Program, units: Vec<i128>, dtype: Dtype, bound: Option<i128>) -> NodeId {
    let stated = bound.map(|most| match dtype.is_fixed() {
        true => Bound::Real(dtype.decode(most)),
        false => Bound::Int(most),
    });
    let id = p.at().input(0, 3, &[units.len()], dtype, stated).unwrap();
    p.inputs.insert(id, units);
    id
}

/// Returns all values of a type as an input.
fn singles(dtype: Dtype, bound: Option<i128>) -> (Program, NodeId) {
    let mut p = Program::default();
    let x = input(&mut p, values(dtype, bound), dtype, bound);
    (p, x)
}

/// Returns all pairs of values of a type, as two inputs.
fn pairs(dtype: Dtype, bound: Option<i128>) -> (Program, NodeId, NodeId) {
    let all = values(dtype, bound);
    let mut p = Program::default();
    let x = input(&mut p, all.iter().flat_map(|&a| vec![a; all.len()]).collect(), dtype, bound);
    let y = input(&mut p, all.repeat(all.len()), dtype, bound);
    (p, x, y)
}

#[test]
fn elementwise_operations_on_all_pairs() {
    for dtype in [INT4, UINT4, FIX4] {
        for bound in [None, Some(1), Some(3), Some(6)] {
            let (mut p, x, y) = pairs(dtype, bound);
            for op in [B::Add, B::Sub, B::Mul, B::Lt, B::Le, B::Gt, B::Ge, B::Eq, B::Ne] {
                let id = p.at().binary(op, x, y).unwrap();
                let last = if offered(&p, id) { id } else { p.graph.node(id).inputs[0] };
                check(&p, Ok(last));
            }
            let less = p.at().binary(B::Lt, x, y).unwrap();
            let chosen = p.at().select(less, x, y);
            check(&p, chosen);
            if dtype != UINT4 {
                let negative = p.at().unary(UnaryOp::Neg, x);
                check(&p, negative);
            }
            for shift in 0..4 {
                let shifted = [p.at().shl(x, shift), p.at().shr(x, shift)];
                shifted.into_iter().filter(|id| offered(&p, id.clone().unwrap())).for_each(|id| {
                    check(&p, id);
                });
            }
        }
    }
}

#[test]
fn public_numbers_fold_into_the_circuit() {
    let (mut p, x) = singles(INT8, None);
    for value in [-128i128, -3, -1, 0, 1, 2, 5, 100, 127] {
        for op in [B::Add, B::Sub, B::Mul, B::Lt, B::Eq] {
            let id = p.at().binary(op, x, Operand::int(&value));
            if offered(&p, id.clone().unwrap()) {
                assert!(check(&p, id) <= 56, "{op:?} {value}");
            }
        }
    }
    let four = p.at().binary(B::Mul, x, Operand::int(&4));
    assert_eq!(check(&p, four), 0);
    let negative = p.at().binary(B::Lt, x, Operand::int(&0));
    assert_eq!(check(&p, negative), 0);
}

#[test]
fn whole_quotients_and_remainders() {
    for (dtype, bound) in [(INT8, None), (INT8, Some(4)), (Dtype::Uint { bits: 8 }, None)] {
        let (mut p, x) = singles(dtype, bound);
        for divisor in [1i128, 2, 3, 7, 10, 100, 127, 128, 1000, -1, -2, -3, -128] {
            let by = &divisor;
            let Ok(whole) = p.at().floor_div(x, Operand::int(by)) else { continue };
            if offered(&p, whole) {
                check(&p, Ok(whole));
            }
            let Ok(rest) = p.at().remainder(x, whole, Operand::int(by)) else { continue };
            if offered(&p, rest) {
                check(&p, Ok(rest));
            }
        }
    }
}

#[test]
fn quotients_and_remainders_by_secrets() {
    for dtype in [INT4, UINT4, Dtype::Int { bits: 2 }, Dtype::Uint { bits: 1 }] {
        for bound in
            [None, Some(1), Some(3), Some(6)].into_iter().filter(|b| b.is_none_or(|b| dtype.range().contains(b)))
        {
            let (mut p, x, y) = pairs(dtype, bound);
            for give in [Give::Quotient, Give::Remainder] {
                let id = p.at().int_divide(Division { give, quotient_bits: None }, x, y);
                check(&p, id);
                let by_public = p.at().int_divide(Division { give, quotient_bits: None }, Operand::int(&1), y);
                check(&p, by_public);
            }
        }
    }
    // Products of residues by their modulus, which keep the promise.
    let residues = (1..8i128).flat_map(|m| (0..m * m).map(move |x| (x, m)));
    let (products, moduli): (Vec<i128>, Vec<i128>) = residues.chain([(0, 0)]).unzip();
    let mut p = Program::default();
    let dtype = Dtype::Uint { bits: 6 };
    let (x, m) = (input(&mut p, products, dtype, None), input(&mut p, moduli, dtype, Some(7)));
    let mut ands = |quotient_bits| {
        let rest = p.at().int_divide(Division { give: Give::Remainder, quotient_bits }, x, m);
        check(&p, rest)
    };
    assert!(ands(Some(3)) < ands(None));
}

#[test]
fn the_other_of_two_costs_nothing() {
    for dtype in [INT4, UINT4, FIX4] {
        let (mut p, x, y) = pairs(dtype, Some(3));
        let less = p.at().binary(B::Lt, x, y).unwrap();
        let one = p.at().select(less, x, y).unwrap();
        let other = p.at().other(x, y, one);
        assert_eq!(check(&p, other), 0);
    }
}

#[test]
fn multiples_by_public_reals() {
    let fixed = Dtype::Fixed { bits: 9, frac: 5 };
    let mut seen = 0;
    for bound in [None, Some(100), Some(7)] {
        let (mut p, x) = singles(fixed, bound);
        for c in [0.1, -0.3, 0.7, 1.1, 3.7, -2.3, 0.01, 0.25, -0.5] {
            for built in [p.at().binary(B::Mul, x, Operand::real(&c)), p.at().divide(x, Operand::real(&c))] {
                let id = built.unwrap();
                if matches!(p.graph.node(id).op, quorate_graph::Op::Scale(_)) {
                    check(&p, Ok(id));
                    seen += 1;
                }
            }
        }
        let each = vec![0.3; p.graph.node(x).elements() - 1].into_iter().chain([0.7]).collect::<Vec<_>>();
        let id = p.at().binary(B::Mul, x, Operand::Reals { shape: &[each.len()], values: &each }).unwrap();
        assert!(!offered(&p, id), "elements that differ");
    }
    assert!(seen > 40, "{seen}");
}

#[test]
fn other_types() {
    let types = [INT4, UINT4, FIX4, INT8, Dtype::Fixed { bits: 8, frac: 5 }, Dtype::Uint { bits: 7 }];
    for from in types {
        for bound in [None, Some(2)] {
            let (mut p, x) = singles(from, bound);
            for to in types.into_iter().chain([Dtype::INT64]) {
                if let Ok(id) = p.at().cast(x, to)
                    && offered(&p, id)
                {
                    assert_eq!(check(&p, Ok(id)), 0, "{from} to {to}");
                }
                let bit = p.at().binary(B::Lt, x, Operand::int(&1)).unwrap();
                if let Ok(id) = p.at().cast(bit, to) {
                    assert_eq!(check(&p, Ok(id)), 0, "a bit to {to}");
                }
            }
        }
    }
}

#[test]
fn logic_of_bits() {
    let mut p = Program::default();
    let x = p.input(&[4], Dtype::Bit, &[0, 0, 1, 1]);
    let y = p.input(&[4], Dtype::Bit, &[0, 1, 0, 1]);
    for op in [B::And, B::Or, B::Xor] {
        let id = p.at().binary(op, x, y);
        assert!(check(&p, id) <= 1);
    }
    let not = p.at().unary(UnaryOp::Not, x);
    check(&p, not);
    let one = p.at().select(x, y, x);
    check(&p, one);
}

#[test]
fn sums_and_extrema_along_axes() {
    let values: Vec<i128> = (0..60).map(|i: i128| (i * i * 7 + i * 3) % 16 - 8).collect();
    for bound in [None, Some(8)] {
        let mut p = Program::default();
        let stated = bound.map(Bound::Int);
        let x = p.at().input(0, 3, &[3, 5, 4], INT8, stated).unwrap();
        p.inputs.insert(x, values.clone());
        for axis in [None, Some(0), Some(1), Some(2)] {
            for reduce in [0, 1, 2, 3, 4] {
                let mut b = p.at();
                let id = match reduce {
                    0 => b.sum(x, axis, false),
                    1 => b.max(x, axis, false),
                    2 => b.min(x, axis, false),
                    3 => b.argmax(x, axis, false),
                    _ => b.argmin(x, axis, false),
                };
                let ands = check(&p, id);
                assert!(ands <= 8 + 8 + 6, "{ands} ANDs");
            }
        }
    }
}

#[test]
fn bounds_make_circuits_small() {
    let (mut p, x, y) = pairs(INT8, Some(3));
    let sum = p.at().binary(B::Add, x, y);
    assert_eq!(check(&p, sum), 3);
    let less = p.at().binary(B::Lt, x, y);
    assert_eq!(check(&p, less), 3);
}
