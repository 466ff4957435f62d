//! Tests of intervals on random programs: every value lies in its interval, nothing wraps without a warning, and
//! differences fit the predicted bits.

use crate::common::random_steps::{EXACT, Step};
use crate::common::{FIX, INT8, Program};
use proptest::prelude::*;
use quorate_graph::{
    BinaryOp as B, Bound, BuildError, Division, Dtype, Give, Graph, Interval, Node, NodeId, Op, Operand, Rules, Source,
    Truncation, UnaryOp, eval_clear,
};

/// One step of a program: its kind, the places of the arrays that it works on, and a number.
type Drawn = (u8, usize, usize, usize, i128);

fn build(bounded: bool, bounds: &[i128], steps: &[Drawn]) -> Program {
    let mut p = Program::default();
    let dtypes = [INT8, Dtype::Int { bits: 20 }, FIX, Dtype::Bit, Dtype::Uint { bits: 7 }];
    let mut ids = Vec::new();
    for (i, &bound) in bounds.iter().enumerate() {
        let dtype = dtypes[i % dtypes.len()];
        let bound = bounded.then_some(Bound::Int(bound));
        ids.push(p.at().input(i % 3, 3, &[2, 2], dtype, bound).unwrap());
    }
    for &(kind, a, b, c, number) in steps {
        p.line += 1;
        let of = [a, b, c].map(|i| ids[i % ids.len()]);
        // Of approximate steps only the first.
        let step = Step { kind: u64::from(kind) % (EXACT + 1), of, number };
        ids.extend(step.build(&mut p.graph, Source::new("t.py", p.line)).ok()); // refused dtypes are tested elsewhere
    }
    p
}

fn magnitude(p: &mut Program, x: NodeId) -> Result<NodeId, BuildError> {
    let (less, minus) = (p.at().binary(B::Lt, x, Operand::int(&0))?, p.at().unary(UnaryOp::Neg, x)?);
    p.at().select(less, minus, x)
}

/// Fills the inputs with values at the ends and inside of their ranges.
fn fill(p: &mut Program, mut seed: u64) {
    for (i, node) in p.graph.nodes().iter().enumerate() {
        if !matches!(node.op, Op::Input { .. }) {
            continue;
        }
        let range = node.range();
        let mut draw = || {
            seed = seed.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
            let inside = range.lo() + i128::from(seed >> 33) % (range.hi() - range.lo() + 1);
            [range.lo(), range.hi(), inside, inside][(seed >> 20) as usize % 4]
        };
        p.inputs.insert(NodeId(i as u32), (0..node.elements()).map(|_| draw()).collect());
    }
}

/// Returns the node's value over the integers, without any ring, given its operands' values in the ring.
fn unwrapped(graph: &Graph, node: &Node, values: &[Vec<i128>]) -> Option<Vec<i128>> {
    let of = |i: usize| &values[node.inputs[i].index()];
    // A product of fixed point drops the fractional bits that its dtype does not keep; small ones keep more.
    let dtypes = || node.inputs.iter().map(|&id| graph.node(id).dtype);
    let shift = match dtypes().all(Dtype::is_fixed) {
        true => dtypes().map(Dtype::frac).sum::<u32>().saturating_sub(node.dtype.frac()),
        false => 0,
    };
    let each = |f: &dyn Fn(usize) -> i128| Some((0..node.elements()).map(f).collect());
    match &node.op {
        Op::Add => each(&|i| of(0)[i] + of(1)[i]),
        Op::Sub => each(&|i| of(0)[i] - of(1)[i]),
        Op::Neg => each(&|i| -of(0)[i]),
        Op::Mul => each(&|i| (of(0)[i] * of(1)[i]).div_euclid(1 << shift)),
        Op::Shl(bits) => each(&|i| of(0)[i] * (1 << bits)),
        Op::Shr(bits) => each(&|i| of(0)[i].div_euclid(1 << bits)),
        Op::FloorDiv(d) => {
            let d = d.to_vec()[0];
            each(&|i| (of(0)[i] * d.signum()).div_euclid(d.abs()))
        }
        Op::Scale(scale) if scale.limits.is_none() && scale.upper.is_none() => {
            let half = if scale.shift == 0 { 0 } else { 1 << (scale.shift - 1) };
            let [n, m] = [&scale.whole, &scale.factors].map(|units| units.to_vec()[0]);
            each(&|i| n * of(0)[i] + (m * of(0)[i] + half).div_euclid(1 << scale.shift))
        }
        Op::IntDivide(Division { give: Give::Quotient, .. }) => each(&|i| match of(1)[i] {
            0 => 0,
            d => (of(0)[i] * d.signum()).div_euclid(d.abs()),
        }),
        Op::Sum(axis) => each(&|i| {
            let first = i / axis.inner * axis.len * axis.inner + i % axis.inner;
            (0..axis.len).map(|j| of(0)[first + j * axis.inner]).sum()
        }),
        Op::MatMul { k, n, .. } => each(&|i| {
            let dot: i128 = (0..*k).map(|j| of(0)[i / n * k + j] * of(1)[j * n + i % n]).sum();
            dot.div_euclid(1 << shift)
        }),
        Op::CumSum(axis) => each(&|i| {
            let row = i / axis.inner % axis.len;
            (0..=row).map(|j| of(0)[i - j * axis.inner]).sum()
        }),
        Op::Convert => {
            let from = graph.node(node.inputs[0]).dtype.frac();
            each(&|i| (of(0)[i] << node.dtype.frac()) >> from)
        }
        _ => None,
    }
}

fn steps() -> impl Strategy<Value = Vec<Drawn>> {
    let step = (any::<u8>(), any::<usize>(), any::<usize>(), any::<usize>(), -9i128..9);
    prop::collection::vec(step, 1..24)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 1500, ..ProptestConfig::default() })]

    #[test]
    fn values_lie_in_their_intervals(
        bounded in prop::bool::weighted(0.8),
        bounds in prop::collection::vec(0i128..12, 4..9),
        steps in steps(),
        seed in any::<u64>(),
    ) {
        let mut p = build(bounded, &bounds, &steps);
        fill(&mut p, seed);
        let values = eval_clear(&p.graph, &p.inputs).unwrap();
        for (i, node) in p.graph.nodes().iter().enumerate() {
            let id = NodeId(i as u32);
            prop_assert!(node.dtype.range().covers(node.range()));
            let inside = values[i].iter().all(|&v| node.range().contains(v));
            prop_assert!(inside, "{}: {:?} in {:?}", p.graph.describe(id), values[i], node.range());
            if let (Some(_), Some(exact)) = (node.interval, unwrapped(&p.graph, node, &values)) {
                prop_assert_eq!(&exact, &values[i], "{} wrapped though its interval is proven", p.graph.describe(id));
            }
            // A range is only lost with a warning, or because an operand's range was unknown.
            if bounded && node.interval.is_none() {
                // Lines are warned of once.
                let line = |id: NodeId| p.graph.node(id).source.line;
                let warned = p.graph.warnings().iter().any(|w| line(w.node) == line(id));
                let unknown = |&n: &NodeId| p.graph.node(n).interval.is_none();
                // All bits are some number.
                let is_any = node.op.is_approximate() || node.op == Op::Compose;
                prop_assert!(warned || is_any || node.inputs.iter().any(unknown));
            }
        }
        if !bounded {
            let lost = |w: NodeId| p.graph.node(w).inputs.iter().all(|&n| p.graph.node(n).interval.is_some());
            prop_assert!(p.graph.warnings().iter().all(|w| lost(w.node)));
        }
        for a in 0..values.len().min(8) {
            for b in 0..values.len() {
                let bits = p.graph.difference_bits(NodeId(a as u32), NodeId(b as u32));
                let ring = Interval::signed(bits);
                let differences = values[a].iter().flat_map(|x| values[b].iter().map(move |y| x - y));
                prop_assert!(differences.into_iter().all(|d| ring.contains(d)));
            }
        }
    }
}

#[test]
fn difference_bits_choose_the_ring_of_a_comparison() {
    let mut graph = Graph::new();
    let at = || Source::new("t.py", 1);
    let half = Some(Bound::Int((1 << 31) - 1));
    let x = graph.at(at()).input(0, 3, &[4], Dtype::INT64, half).unwrap();
    let y = graph.at(at()).input(1, 3, &[4], Dtype::INT64, half).unwrap();
    assert_eq!(graph.difference_bits(x, y), 33);
    assert_eq!(graph.difference_bits(x, x), 33);
    let free = graph.at(at()).input(0, 3, &[4], Dtype::INT64, None).unwrap();
    assert_eq!(graph.difference_bits(free, free), 65);
    assert_eq!(graph.difference_bits(x, free), 65);
    let zero = graph.at(at()).constant_ints(&[4], &[0], Dtype::INT64).unwrap();
    assert_eq!(graph.difference_bits(free, zero), 64, "the sign of a number is its top bit, whatever its range");
    assert_eq!(graph.difference_bits(zero, free), 65, "minus the smallest number has no room");
    let top = graph.at(at()).input(0, 3, &[4], Dtype::INT64, Some(Bound::Int((1 << 62) - 1))).unwrap();
    assert_eq!(graph.difference_bits(top, top), 64);
    let bit = graph.at(at()).input(0, 3, &[4], Dtype::Bit, None).unwrap();
    assert_eq!(graph.difference_bits(bit, bit), 2);
}

#[test]
fn known_ranges() {
    let mut p = Program::default();
    let x = p.at().input(0, 3, &[5], Dtype::INT64, Some(Bound::Int(10))).unwrap();
    let range = |p: &Program, id| p.graph.node(id).interval.map(|i| (i.lo(), i.hi()));
    let square = p.at().matmul(x, x).unwrap();
    assert_eq!(range(&p, square), Some((0, 500)));
    let sum = p.at().sum(x, None, false).unwrap();
    assert_eq!(range(&p, sum), Some((-50, 50)));
    let first = p.at().argmax(x, None, false).unwrap();
    assert_eq!(range(&p, first), Some((0, 4)));
    let low = p.at().shr(x, 2).unwrap();
    assert_eq!(range(&p, low), Some((-3, 2)));
    let joined = p.at().concat(&[x.into(), Operand::Ints { shape: &[2], values: &[70, -3] }], 0).unwrap();
    assert_eq!(range(&p, joined), Some((-10, 70)));
    let bit = p.at().input(0, 3, &[5], Dtype::Bit, None).unwrap();
    let chosen = p.at().select(bit, Operand::int(&-3), Operand::int(&-2)).unwrap();
    assert_eq!(range(&p, chosen), Some((-3, -2)));
    let f = p.at().input(0, 3, &[5], Dtype::FIXED64, Some(Bound::Real(1.5))).unwrap();
    let product = p.at().binary(B::Mul, f, f).unwrap();
    assert_eq!(range(&p, product), Some((0, 147456)));
    // The ring must hold a product before its shift: 2^40 units squared do not fit, although 2^64 / 2^16 would.
    let wide = p.at().input(0, 3, &[], Dtype::FIXED64, Some(Bound::Int(1 << 24))).unwrap();
    let lost = p.at().binary(B::Mul, wide, wide).unwrap();
    assert_eq!(range(&p, lost), None);
    assert_eq!(p.graph.warnings().len(), 1);
}

#[test]
fn clipping_bounds_values_without_a_range() {
    let mut p = Program::default();
    let x = p.at().input(0, 3, &[3], Dtype::INT64, None).unwrap();
    let range = |p: &Program, id| p.graph.node(id).interval.map(|i| (i.lo(), i.hi()));
    let below = p.at().binary(B::Lt, x, Operand::int(&5)).unwrap();
    let most = p.at().select(below, x, Operand::int(&5)).unwrap();
    assert_eq!(range(&p, most), None, "below, nothing is known yet");
    let above = p.at().binary(B::Gt, most, Operand::int(&-7)).unwrap();
    let clipped = p.at().select(above, most, Operand::int(&-7)).unwrap();
    assert_eq!(range(&p, clipped), Some((-7, 5)));
    let other = p.at().select(above, most, Operand::int(&-8)).unwrap();
    assert_eq!(range(&p, other), None, "a selection by something else is no maximum");
    let y = p.at().input(0, 3, &[3], Dtype::INT64, Some(Bound::Int(9))).unwrap();
    let positive = p.at().binary(B::Gt, y, Operand::int(&0)).unwrap();
    let relu = p.at().select(positive, y, Operand::int(&0)).unwrap();
    assert_eq!(range(&p, relu), Some((0, 9)));

    let size = magnitude(&mut p, y).unwrap();
    assert_eq!(range(&p, size), Some((0, 9)));
    let lower = p.at().binary(B::Sub, y, Operand::int(&20)).unwrap();
    let size = magnitude(&mut p, lower).unwrap();
    assert_eq!(range(&p, size), Some((11, 29)));
    let size = magnitude(&mut p, x).unwrap();
    assert_eq!(range(&p, size), None, "the lowest number is its own negative");
}

#[test]
fn quotients_of_bounded_operands_are_bounded_and_contain_all_results() {
    for (low, high, negative) in [(1, 5, false), (3, 3, true), (100, 4000, false), (1, 1, true)] {
        let mut p = Program::default();
        let dtype = Dtype::fixed(32, 8).unwrap();
        let bounded = Some(Bound::Real(20.0));
        let x = p.at().input(0, 3, &[1], dtype, bounded).unwrap();
        let y = p.at().input(1, 3, &[1], dtype, Some(Bound::Int(4000))).unwrap();
        let ends = if negative { [-high, -low] } else { [low, high] };
        let inside = |p: &mut Program, id, (end, gt): (i64, bool)| {
            let op = if gt { B::Gt } else { B::Lt };
            let keep = p.at().binary(op, id, Operand::int(&i128::from(end))).unwrap();
            p.at().select(keep, id, Operand::int(&i128::from(end))).unwrap()
        };
        let capped = inside(&mut p, y, (ends[1], false));
        let divisor = inside(&mut p, capped, (ends[0], true));
        let quotient = p.at().divide(x, divisor).unwrap();
        let reach = p.graph.node(quotient).interval.unwrap();
        for x in [-5120, -1, 0, 3, 5120] {
            for y in ends {
                assert!(reach.contains((x << 8) / (i128::from(y) << 8)), "{x} / {y} in {reach:?}");
            }
        }
        let nearly = p.at().divide(x, y).unwrap();
        assert_eq!(p.graph.node(nearly).interval, None, "a divisor may be 0, and the quotient saturated");
    }
}

#[test]
fn strict_programs_hold_every_operation_to_its_dtype() {
    let mut graph = Graph::strict();
    let at = || Source::new("t.py", 7);
    let x = graph.at(at()).input(0, 3, &[2], Dtype::FIXED64, Some(Bound::Real(3.0))).unwrap();
    let quotient = graph.at(at()).divide(x, x).unwrap();
    let error = graph.at(at()).binary(B::Add, quotient, Operand::int(&1)).unwrap_err();
    assert!(matches!(*error.fault, quorate_graph::Fault::MayOverflow { .. }), "{error}");
    let below = graph.at(at()).binary(B::Lt, quotient, Operand::int(&9)).unwrap();
    let most = graph.at(at()).select(below, quotient, Operand::int(&9)).unwrap();
    let above = graph.at(at()).binary(B::Gt, most, Operand::int(&-9)).unwrap();
    let clipped = graph.at(at()).select(above, most, Operand::int(&-9)).unwrap();
    assert!(graph.at(at()).binary(B::Add, clipped, Operand::int(&1)).is_ok());
}

/// A cut that may round up reaches one unit further, unless no bits are dropped.
#[test]
fn rounding_either_way_is_part_of_the_range() {
    let mut exact = Graph::new();
    let mut either = Graph::with(Rules { truncation: Truncation::Probabilistic, ..Rules::default() });
    let range = |graph: &mut Graph| {
        let at = || Source::new("t.py", 1);
        let x = graph.at(at()).input(0, 3, &[2], Dtype::fixed(32, 8).unwrap(), Some(Bound::Real(1.0 / 256.0))).unwrap();
        let square = graph.at(at()).binary(B::Mul, x, x).unwrap();
        let interval = graph.node(square).interval.unwrap();
        (interval.lo(), interval.hi())
    };
    assert_eq!((range(&mut exact), range(&mut either)), ((0, 0), (0, 1)));
}

#[test]
fn a_program_may_state_where_results_lie() {
    let mut p = Program::default();
    let x = p.at().input(0, 3, &[2], Dtype::Int { bits: 20 }, Some(Bound::Int(100))).unwrap();
    let square = p.at().binary(B::Mul, x, x).unwrap();
    let stated = p.at().stated(square, -5, 900).unwrap();
    assert_eq!(p.graph.node(stated).interval, Some(Interval::new(0, 900)), "what was proven counts, too");
    let twice = p.at().binary(B::Add, stated, stated).unwrap();
    assert_eq!(p.graph.node(twice).interval, Some(Interval::new(0, 1800)));
    assert_eq!(p.at().stated(stated, -5, 900).unwrap(), stated, "nothing new");
    let known = p.at().constant_ints(&[1], &[7], Dtype::INT64).unwrap();
    assert_eq!(p.at().stated(known, 0, 1).unwrap(), known, "public numbers are what they are");
    let unknown = p.at().input(0, 3, &[2], Dtype::Int { bits: 20 }, None).unwrap();
    let stated = p.at().stated(unknown, -3, 3).unwrap();
    assert_eq!(p.graph.node(stated).interval, Some(Interval::new(-3, 3)));
}
