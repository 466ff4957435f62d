//! Tests of the fractional bits of reals without a stated dtype.

use quorate_graph::{BinaryOp, Bound, Dtype, NodeId, Operand, Real};

use crate::common::Program;

fn real(p: &mut Program, bound: Option<f64>) -> NodeId {
    p.at().real_input(0, 3, &[4], bound.map(Bound::Real)).unwrap()
}

fn dtype(p: &Program, id: NodeId) -> (u32, u32) {
    let dtype = p.graph.node(id).dtype;
    (dtype.bits(), dtype.frac())
}

#[test]
fn inputs_have_24_bits_below_a_small_bound() {
    let mut p = Program::default();
    let frac = |p: &mut Program, bound| {
        let id = real(p, Some(bound));
        dtype(p, id).1
    };
    assert_eq!([1e9, 1.0, 0.0625, 0.0].map(|bound| frac(&mut p, bound)), [16; 4]);
    assert_eq!([0.03, 0.01, 1e-9, 1e-300].map(|bound| frac(&mut p, bound)), [29, 30, 53, 60]);
}

#[test]
fn small_products_keep_all_bits_and_others_are_as_before() {
    let mut p = Program::default();
    let (x, y, z) = (real(&mut p, Some(0.1)), real(&mut p, Some(0.25)), real(&mut p, Some(100.0)));
    let small = p.at().binary(BinaryOp::Mul, x, y).unwrap();
    assert_eq!((dtype(&p, small), p.graph.product_shift(small)), ((64, 29), 3));
    let usual = p.at().binary(BinaryOp::Mul, x, z).unwrap();
    assert_eq!((dtype(&p, usual), p.graph.product_shift(usual)), ((64, 16), 16));
    // A product with a finer factor keeps that factor's bits; the rest is cut.
    let mixed = p.at().binary(BinaryOp::Mul, small, z).unwrap();
    assert_eq!((dtype(&p, mixed), p.graph.product_shift(mixed)), ((64, 44), 1));
    let halved = p.at().binary(BinaryOp::Mul, small, Operand::real(&0.5)).unwrap();
    assert_eq!((dtype(&p, halved), p.graph.product_shift(halved)), ((64, 30), 0));
}

#[test]
fn quotients_are_judged_by_the_largest_operands() {
    let mut p = Program::default();
    let (x, y) = (real(&mut p, None), real(&mut p, None));
    let usual = p.at().divide(x, y).unwrap();
    assert_eq!((dtype(&p, usual), p.graph.quotient_shift(usual)), ((64, 16), 16));
    let long = p.at().real_input(0, 3, &[100_000], None).unwrap();
    let total = p.at().sum(long, None, false).unwrap();
    let share = p.at().divide(x, total).unwrap();
    assert_eq!(dtype(&p, share), (96, 52));
    let thousandth = p.at().divide(usual, Operand::int(&1000)).unwrap();
    assert_eq!(dtype(&p, thousandth).1, 16, "nothing proves that it is small");
    let bounded = real(&mut p, Some(1.0));
    let thousandth = p.at().divide(bounded, Operand::int(&1000)).unwrap();
    assert_eq!(dtype(&p, thousandth), (64, 31));
}

#[test]
fn quotients_of_integers_have_bits_for_the_smallest() {
    let mut p = Program::default();
    let int =
        |p: &mut Program, bound: Option<i128>| p.at().input(0, 3, &[2], Dtype::INT64, bound.map(Bound::Int)).unwrap();
    let (x, y) = (int(&mut p, None), int(&mut p, None));
    let quotient = p.at().divide(x, y).unwrap();
    assert_eq!((dtype(&p, quotient), p.graph.quotient_shift(quotient)), ((96, 31), 31));
    let larger = p.at().binary(BinaryOp::Mul, quotient, Operand::int(&100_000)).unwrap();
    assert_eq!(dtype(&p, larger), (120, 31));
    let (x, y) = (int(&mut p, Some(100)), int(&mut p, Some(100)));
    let quotient = p.at().divide(x, y).unwrap();
    assert_eq!((dtype(&p, quotient), p.graph.quotient_shift(quotient)), ((64, 16), 16));
}

#[test]
fn results_that_no_ring_holds_lose_fractional_bits_first() {
    let mut p = Program::default();
    let x = real(&mut p, None);
    let long = p.at().real_input(0, 3, &[100_000], None).unwrap();
    let total = p.at().sum(long, None, false).unwrap();
    let share = p.at().divide(x, total).unwrap();
    let square = p.at().binary(BinaryOp::Mul, share, share).unwrap();
    assert!(p.graph.warnings().is_empty() && p.graph.node(square).interval.is_some());
    let grown = (0..5).fold(share, |grown, _| p.at().binary(BinaryOp::Mul, grown, Operand::int(&1000)).unwrap());
    assert!(p.graph.warnings().is_empty());
    assert!(dtype(&p, grown).1 < dtype(&p, share).1, "{:?}", dtype(&p, grown));
    let beside = p.at().binary(BinaryOp::Add, grown, x).unwrap();
    assert!(p.graph.warnings().is_empty() && dtype(&p, beside).0 <= 120);
}

#[test]
fn functions_of_few_fractional_bits_take_reals_with_more() {
    let mut p = Program::default();
    let x = real(&mut p, Some(0.01));
    let power = p.at().real(Real::Exp, x).unwrap();
    assert_eq!(dtype(&p, power), (64, 16));
    let root = p.at().real(Real::Sqrt, x).unwrap();
    assert!(dtype(&p, root).1 > 16);
    let inverse = p.at().real(Real::Reciprocal, x).unwrap();
    assert_eq!(dtype(&p, inverse).1, dtype(&p, x).1);
    let stated = p.at().input(0, 3, &[4], Dtype::Fixed { bits: 64, frac: 16 }, None).unwrap();
    let quotient = p.at().divide(stated, stated).unwrap();
    assert_eq!(dtype(&p, quotient), (64, 16));
    let finer = p.at().cast(stated, Dtype::Fixed { bits: 96, frac: 40 }).unwrap();
    let said = p.at().real(Real::Exp, finer).unwrap_err().to_string();
    assert!(said.contains("convert first, x.astype(qr.fixed(96, 16))"), "{said}");
}
