//! Tests of products with public reals and quotients by public numbers. They check the operations that these become,
//! and that results are near those of the exact reals, whether or not the dtype holds these.

use crate::common::{FIX, Program, message};
use num_bigint::BigInt;
use proptest::prelude::*;
use quorate_graph::{
    BinaryOp as B, Bound, BuildError, Dtype, Graph, NodeId, Op, Operand, Rings, Rules, Source, Truncation,
};

type Built = Result<NodeId, BuildError>;

const NARROW: Dtype = Dtype::Fixed { bits: 10, frac: 4 };

fn ops(p: &Program, before: usize) -> Vec<&'static str> {
    p.graph.nodes().since(before).map(|node| node.op.name()).collect()
}

/// Returns the operations that `build` adds.
fn added(bound: Option<Bound>, build: impl Fn(&mut Program, NodeId) -> Built) -> Vec<&'static str> {
    let mut p = Program::default();
    let x = p.at().input(0, 3, &[2], Dtype::FIXED64, bound).unwrap();
    build(&mut p, x).unwrap();
    assert!(p.graph.warnings().is_empty(), "{:?}", p.graph.warnings());
    ops(&p, 1)
}

#[test]
fn exact_factors_are_constants_and_others_scale() {
    let times = |c: f64| added(None, move |p, x| p.at().binary(B::Mul, x, Operand::real(&c)));
    assert_eq!(times(0.5), ["constant", "mul"]);
    assert_eq!(times(-2.25), ["constant", "mul"]);
    assert_eq!(times(0.1), ["scale"]);
    assert_eq!(times(1e-9), ["scale"]);
    let plus = added(None, |p, x| p.at().binary(B::Add, x, Operand::real(&0.1)));
    assert_eq!(plus, ["constant", "add"]);
}

#[test]
fn quotients_take_the_shortest_way() {
    let by =
        |bound: Option<f64>, c: f64| added(bound.map(Bound::Real), move |p, x| p.at().divide(x, Operand::real(&c)));
    for bound in [None, Some(1000.0)] {
        assert_eq!(by(bound, 10.0), ["floor_div"]);
        assert_eq!(by(bound, -7.0), ["floor_div"]);
        assert_eq!(by(bound, 0.1), ["scale"]);
        assert_eq!(by(bound, 0.25), ["scale"]);
        assert_eq!(by(bound, -1.0), ["scale"]);
    }
    assert_eq!(by(Some(1000.0), 2.5), ["shl", "floor_div"]);
    assert_eq!(by(Some(1000.0), 0.75), ["shl", "floor_div"]);
    assert_eq!(by(None, 2.5), ["floor_div", "remainder", "shl", "floor_div", "shl", "add"]);
    assert_eq!(by(None, 0.75), ["constant", "divide"]);
    let mut p = Program::default();
    let x = p.at().input(0, 3, &[2], Dtype::FIXED64, Some(Bound::Int(1000))).unwrap();
    let local = p.at().divide(x, Operand::real(&0.25)).unwrap();
    assert!(!p.graph.node(local).op.talks(), "four times a number that is proven small");
    let free = p.at().input(0, 3, &[2], Dtype::FIXED64, None).unwrap();
    let saturated = p.at().divide(free, Operand::real(&0.25)).unwrap();
    assert!(matches!(&p.graph.node(saturated).op, Op::Scale(scale) if scale.limits.is_some() && scale.shift == 0));
}

const CONSTANTS: [f64; 17] =
    [0.1, -0.3, 0.7, 3.7, -12.3, 0.01, 31.0, -1.0, 1.0, 0.25, -0.125, 2.5, -2.5, 1.0625, 16.5, -0.75, 0.3125];

/// Returns all numbers of a small type, within a bound if there is one: as an input, and their units.
fn numbers(bound: Option<f64>) -> (Program, NodeId, Vec<i128>) {
    let mut p = Program::default();
    let inside = |&v: &i128| bound.is_none_or(|bound| (v as f64).abs() <= 16.0 * bound);
    let xs: Vec<i128> = (-512..512).filter(inside).collect();
    let x = p.at().input(0, 3, &[xs.len()], NARROW, bound.map(Bound::Real)).unwrap();
    p.inputs.insert(x, xs.clone());
    (p, x, xs)
}

#[test]
fn products_of_every_number_of_a_small_type() {
    for (c, bound) in CONSTANTS.into_iter().flat_map(|c| [None, Some(4.0), Some(1.5)].map(|bound| (c, bound))) {
        let (mut p, x, xs) = numbers(bound);
        let product = p.at().binary(B::Mul, Operand::real(&c), x).unwrap();
        let held = (c * 16.0).fract() == 0.0;
        // A number that the dtype holds is multiplied in the ring, which must hold the product before its bits are
        // dropped.
        let room = if held { 511.0 / 16.0 } else { 511.0 };
        for (&x, &got) in xs.iter().zip(&p.values(product, NARROW, &[xs.len()])) {
            let (exact, got) = (x as f64 * c, got as f64);
            let right = if held { got == exact.floor() } else { (got - exact).abs() <= 0.75 };
            assert!(right || exact.abs() > room, "{x} * {c} is {got}");
        }
    }
}

#[test]
fn quotients_of_every_number_of_a_small_type() {
    for (c, bound) in CONSTANTS.into_iter().flat_map(|c| [None, Some(4.0), Some(1.5)].map(|bound| (c, bound))) {
        let (mut p, x, xs) = numbers(bound);
        let quotient = p.at().divide(x, Operand::real(&c)).unwrap();
        let held = (c * 16.0).fract() == 0.0;
        let as_by_secrets = p.graph.node(quotient).op == Op::Divide;
        let reach = p.graph.node(quotient).range();
        for (&x, &got) in xs.iter().zip(&p.values(quotient, NARROW, &[xs.len()])) {
            let exact = (x as f64 / c).clamp(-511.0, 511.0);
            let right = match (held, as_by_secrets) {
                (true, true) => got as f64 == exact.trunc(),
                (true, false) => got as f64 == exact.floor(),
                _ => (got as f64 - exact).abs() <= 0.75,
            };
            assert!(right || (x == -512 && c.abs() == 1.0), "{x} / {c} is {got}");
            assert!(reach.contains(got), "{x} / {c}");
        }
    }
}

#[test]
fn each_element_has_its_number() {
    let mut p = Program::default();
    let x = p.input(&[2, 3], FIX, &[16, 32, 48, -16, -32, -48]);
    let reals = [0.1, 1.0, -0.7];
    let product = p.at().binary(B::Mul, x, Operand::Reals { shape: &[3], values: &reals }).unwrap();
    assert_eq!(p.values(product, FIX, &[2, 3]), [2, 32, -34, -2, -32, 34]);
    let quotient = p.at().divide(x, Operand::Reals { shape: &[3], values: &reals }).unwrap();
    assert_eq!(p.values(quotient, FIX, &[2, 3]), [160, 32, -69, -160, -32, 69]);
    let column = [0.1, -2.0];
    let tall = p.at().binary(B::Mul, Operand::Reals { shape: &[2, 1], values: &column }, x).unwrap();
    assert_eq!(p.values(tall, FIX, &[2, 3]), [2, 3, 5, 32, 64, 96]);
    let wide = p.at().divide(x, Operand::Ints { shape: &[2, 1], values: &[3, -2] }).unwrap();
    assert_eq!(p.values(wide, FIX, &[2, 3]), [5, 10, 16, 8, 16, 24]);
    let one = p.input(&[], FIX, &[16]);
    let spread = p.at().divide(one, Operand::Reals { shape: &[3], values: &reals }).unwrap();
    assert_eq!(p.values(spread, FIX, &[3]), [160, 16, -23]);
    let known = p.at().constant_reals(&[2], &[0.5, -2.0], FIX).unwrap();
    let folded = p.at().binary(B::Mul, known, Operand::real(&0.3)).unwrap();
    assert!(p.graph.node(folded).is_public());
    assert_eq!(p.values(folded, FIX, &[2]), [2, -9]);
    let by_node = p.at().divide(x, known).unwrap_err();
    assert!(by_node.to_string().contains("broadcast"));
    let nothing = p.input(&[0], FIX, &[]);
    let still = p.at().binary(B::Mul, nothing, Operand::real(&0.3)).unwrap();
    assert_eq!(p.values(still, FIX, &[0]), []);
}

#[test]
fn only_rounded_constants_are_reported() {
    let mut p = Program::default();
    let x = p.input(&[2], FIX, &[16, 32]);
    let tiny = 1e-3;
    p.at().binary(B::Mul, x, Operand::real(&tiny)).unwrap();
    p.at().divide(x, Operand::real(&tiny)).unwrap();
    assert!(p.graph.warnings().is_empty());
    p.at().binary(B::Lt, x, Operand::real(&tiny)).unwrap();
    assert_eq!(p.graph.warnings().len(), 1);
    let end = "in fixed(16, 4), whose unit is 0.0625: scale the values, or use more fractional bits";
    let smallest = 1e-300;
    assert_eq!(
        message(p.at().divide(x, Operand::real(&smallest))),
        format!("Range: value 1.00000e-300 (index 0) becomes 0 {end}")
    );
    assert_eq!(message(p.at().divide(x, Operand::real(&0.0))), "Range: / by zero has no value: check the divisors");
    let large = p.at().binary(B::Mul, x, Operand::real(&1e9)).unwrap();
    assert_eq!(p.graph.node(large).dtype, Dtype::Fixed { bits: 35, frac: 4 }, "which holds both");
    assert!(message(p.at().binary(B::Mul, x, Operand::real(&f64::NAN))).contains("not a finite number"));
}

#[test]
fn ranges_of_multiples() {
    let mut p = Program::default();
    let x = p.at().input(0, 3, &[2], FIX, Some(Bound::Int(100))).unwrap();
    let range = |p: &Program, id| p.graph.node(id).interval.map(|i| (i.lo(), i.hi()));
    let product = p.at().binary(B::Mul, x, Operand::real(&0.3)).unwrap();
    assert_eq!(range(&p, product), Some((-480, 480)));
    let wide = p.at().binary(B::Mul, x, Operand::real(&100.7)).unwrap();
    assert_eq!(range(&p, wide), None);
    let said = p.graph.warnings()[0].fault.to_string();
    assert!(said.starts_with("scale may leave fixed(16, 4): values from -10070 to 10070"), "{said}");
    let saturated = p.at().divide(x, Operand::real(&0.01)).unwrap();
    assert_eq!(range(&p, saturated), Some((-32767, 32767)));
    let above = p.at().binary(B::Add, x, Operand::int(&1000)).unwrap();
    assert!(message(p.at().divide(above, Operand::real(&0.01))).starts_with("Range: no result of divide fits"));
    let mut strict = Graph::strict();
    let at = || Source::new("t.py", 7);
    let x = strict.at(at()).input(0, 3, &[2], FIX, Some(Bound::Int(100))).unwrap();
    assert!(message(strict.at(at()).binary(B::Mul, x, Operand::real(&100.7))).starts_with("Range: scale may leave"));
    assert!(strict.at(at()).divide(x, Operand::real(&0.01)).is_ok(), "a quotient is saturated");
}

#[test]
fn cuts_know_the_ring_of_a_multiple() {
    for (truncation, bound, expected) in [
        (Truncation::Exact, Some(100), Some((12, 22, 22))),
        (Truncation::Exact, None, Some((16, 31, 31))),
        (Truncation::Probabilistic, None, Some((16, 32, 31))),
        (Truncation::Exact, Some(0), None),
    ] {
        let mut graph = Graph::with(Rules { truncation, ..Rules::default() });
        let at = || Source::new("t.py", 1);
        let x = graph.at(at()).input(0, 3, &[2], FIX, bound.map(Bound::Int)).unwrap();
        let id = graph.at(at()).binary(B::Mul, x, Operand::real(&0.3)).unwrap();
        let got = graph.cut(id).map(|cut| (cut.shift, cut.ring_bits, cut.proven_bits.unwrap()));
        assert_eq!(got, expected, "{truncation:?} {bound:?}");
    }
}

#[test]
fn matrices_of_public_reals_keep_the_bits_that_there_is_room_for() {
    let weights = [0.1, -0.7, 2.3, 0.013];
    let reals = Operand::Reals { shape: &[4], values: &weights };
    let run = |bound: Option<Bound>, xs: [i128; 4], left: bool| {
        let mut p = Program::default();
        let x = p.at().input(0, 3, &[4], Dtype::FIXED64, bound).unwrap();
        p.inputs.insert(x, xs.to_vec());
        let id = if left { p.at().matmul(reals, x) } else { p.at().matmul(x, reals) }.unwrap();
        (p.values(id, Dtype::FIXED64, &[])[0] as f64, ops(&p, 1))
    };
    let xs = [6_553_600, -6_553_599, 3_276_801, 6_553_597];
    let exact: f64 = xs.iter().zip(weights).map(|(&x, w)| x as f64 * w).sum();
    for left in [true, false] {
        let (near, ops) = run(Some(Bound::Int(100)), xs, left);
        assert_eq!(ops, ["constant", "matmul", "scale"]);
        assert!((near - exact).abs() <= 0.75, "{near} {exact}");
        let (rounded, ops) = run(None, xs, left);
        assert_eq!(ops, ["constant", "matmul"]);
        assert!((rounded - exact).abs() > 4.0, "{rounded} {exact}");
        let (between, _) = run(Some(Bound::Int(1 << 20)), xs, left);
        assert!((between - exact).abs() < (rounded - exact).abs());
    }
}

/// The largest ring is the family's; operations that need a larger one are refused.
#[test]
fn rings_that_the_family_lacks() {
    let rings = Rings { family: "toy", most_bits: 70 };
    let mut graph = Graph::with(Rules { rings, ..Rules::default() });
    let at = || Source::new("t.py", 7);
    let x = graph.at(at()).real_input(0, 3, &[2], Some(Bound::Real(1e9))).unwrap();
    let product = graph.at(at()).binary(B::Mul, x, x).unwrap();
    assert!((0..graph.len()).all(|id| graph.node(NodeId(id as u32)).dtype.bits() <= 70), "{product:?}");
    let wide = graph.at(at()).input(0, 3, &[2], Dtype::int(96).unwrap(), None);
    let wanted = "Dtype: int(96) is too wide for toy, whose rings have at most 70 bits with these options: \
                  use a narrower dtype, or mac=64";
    assert_eq!(message(wide), wanted);
}

/// Returns a real as an exact fraction.
fn exactly(c: f64) -> (BigInt, BigInt) {
    let (bits, sign) = (c.to_bits(), if c < 0.0 { -1 } else { 1 });
    let (exponent, fraction) = ((bits >> 52 & 0x7ff) as i32, bits & ((1 << 52) - 1));
    let top = BigInt::from(sign) * BigInt::from(if exponent == 0 { fraction } else { fraction | 1 << 52 });
    match exponent.max(1) - 1075 {
        up @ 0.. => (top << up as usize, BigInt::from(1)),
        down => (top, BigInt::from(1) << -down as usize),
    }
}

/// Generates numbers of a dtype of every size, their dtype, the largest ring, and a factor that is no multiple of a
/// unit.
fn factors() -> impl Strategy<Value = (Dtype, u32, Vec<i128>, f64)> {
    let dtype = (8u32..=120).prop_flat_map(|bits| (Just(bits), 0..bits.min(60), bits..=126));
    let numbers = prop::collection::vec((any::<i128>(), 0u32..120), 12);
    let factor = (1.0..2.0f64, prop_oneof![4 => -8i32..8, 1 => -110i32..40], any::<bool>());
    (dtype, numbers, factor).prop_map(|((bits, frac, ring), numbers, (size, exponent, negative))| {
        let dtype = Dtype::Fixed { bits, frac };
        let down = |(x, down): (i128, u32)| x >> (128 - bits) >> (down % bits);
        let mut xs: Vec<i128> = numbers.into_iter().map(down).collect();
        xs.extend([dtype.range().lo(), dtype.range().hi()]);
        let c = size * f64::from(exponent).exp2();
        (dtype, ring, xs, if negative { -c } else { c })
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 4000, ..ProptestConfig::default() })]

    /// Whatever the dtype, the rings and the factor are: products and quotients are within two units of the exact ones.
    /// Those that the dtype does not hold wrap; quotients are saturated, but for the lowest number by -1.
    #[test]
    fn multiples_are_near_the_exact_ones(
        (dtype, most_bits, xs, c) in factors(),
        (is_quotient, either_way, bound_bits) in (any::<bool>(), any::<bool>(), proptest::option::of(0u32..120)),
    ) {
        let truncation = if either_way { Truncation::Probabilistic } else { Truncation::Exact };
        let rings = Rings { family: "toy", most_bits };
        let graph = Graph::with(Rules { rings, truncation, ..Rules::default() });
        let mut p = Program { graph, ..Program::default() };
        let most = dtype.range().hi();
        let bound = bound_bits.map(|bits| (1i128 << bits.min(dtype.bits() - 1)) - 1).map(|bound| bound >> dtype.frac());
        let inside = |&x: &i128| bound.is_none_or(|bound| x.abs() <= bound << dtype.frac());
        let xs: Vec<i128> = xs.into_iter().filter(inside).collect();
        let x = p.at().input(0, 3, &[xs.len()], dtype, bound.map(Bound::Int)).unwrap();
        p.inputs.insert(x, xs.clone());
        let built = match is_quotient {
            true => p.at().divide(x, Operand::real(&c)),
            false => p.at().binary(B::Mul, x, Operand::real(&c)),
        };
        // Some have no results, or go the way of quotients by secrets, or of the dtype's own numbers.
        let Ok(id) = built else { return Ok(()) };
        if !matches!(p.graph.node(id).op, Op::Scale(_)) {
            return Ok(());
        }
        let got = p.values(id, dtype, &[xs.len()]);
        let range = p.graph.node(id).range();
        let (top, bottom) = if is_quotient { let (a, b) = exactly(c); (b, a) } else { exactly(c) };
        for (&x, &got) in xs.iter().zip(&got) {
            prop_assert!(range.contains(got), "{} by {}: {} in {:?}", x, c, got, range);
            let exact = BigInt::from(x) * &top;
            let size = BigInt::from(most) * &bottom;
            if exact.magnitude() >= size.magnitude() {
                let signs = x.signum() * c.signum() as i128;
                // As -x: no divisor below -1 needs to compare every number for the sake of the lowest.
                let lowest = x < -most && c <= -1.0;
                prop_assert!(!is_quotient || lowest || (got - signs * most).abs() <= 2, "{} by {}: {}", x, c, got);
                continue;
            }
            let off = BigInt::from(got) * &bottom - exact;
            let units = BigInt::from(if either_way { 3 } else { 2 }) * &bottom;
            prop_assert!(off.magnitude() <= units.magnitude(), "{} by {} is {}: {:?}", x, c, got, p.graph.node(id).op);
        }
    }
}

/// A product that no ring holds is computed in two parts, exact to a unit. A single product would be exact to one
/// percent only.
#[test]
fn wide_numbers_keep_their_digits() {
    let dtype = Dtype::Fixed { bits: 120, frac: 40 };
    let mut p = Program::default();
    let xs: Vec<i128> = [1, -3, 1 << 40, 12_345 << 40, -(1 << 118), (1 << 119) - 1].into();
    let x = p.input(&[6], dtype, &xs);
    let product = p.at().binary(B::Mul, x, Operand::real(&0.3)).unwrap();
    let Op::Scale(scale) = &p.graph.node(product).op else { panic!("a scaling") };
    let upper = scale.upper.as_ref().unwrap();
    assert!(upper.scale.shift == 0 && scale.shift == 54, "all bits of the double: the upper part is exact");
    let (top, bottom) = exactly(0.3);
    for (&x, &got) in xs.iter().zip(&p.values(product, dtype, &[6])) {
        let off: BigInt = (BigInt::from(got) * &bottom - BigInt::from(x) * &top) * 2;
        assert!(off.magnitude() <= bottom.magnitude(), "{x} * 0.3 is {got}, to the nearest");
    }
    let quotient = p.at().divide(x, Operand::real(&0.3)).unwrap();
    let quotients = p.values(quotient, dtype, &[6]);
    assert_eq!(quotients[4..], [-dtype.range().hi(), dtype.range().hi()]);
    assert!((quotients[1] + 10).abs() <= 1, "the sum of two roundings");
    assert_eq!([quotients[0], quotients[2]], [3, 3_665_038_759_253]);
}
