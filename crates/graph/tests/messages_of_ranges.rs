//! Tests of messages about bounds and ranges that do not hold a result: they name ones that do.

use crate::common::{FIX, INT8, Program, message};
use quorate_graph::{BinaryOp as B, Bound, Dtype, Graph, Interval, Operand, Source};

#[test]
fn stated_bounds_are_checked_and_followed() {
    let mut p = Program::default();
    let x = p.at().input(0, 3, &[2], INT8, Some(Bound::Int(10))).unwrap();
    let y = p.at().input(0, 3, &[2], FIX, Some(Bound::Real(0.1))).unwrap();
    assert_eq!(p.graph.check_input(x, &[-10, 10]), Ok(()));
    assert_eq!(
        p.graph.check_input(x, &[0, 11]).unwrap_err().to_string(),
        "value 11 (index 1) is larger than the stated bound allows (-10 to 10): raise bound= (bound=11 holds all)"
    );
    assert_eq!(p.graph.node(y).range().hi(), 2, "0.1 is 1.6 units, and values round to units");
    assert_eq!(
        p.graph.check_input(y, &[-3, 0]).unwrap_err().to_string(),
        "value -0.1875 (index 0) is larger than the stated bound allows (-0.125 to 0.125): raise bound= (bound=1 holds \
         all)"
    );
    let square = p.at().binary(B::Mul, x, x).unwrap();
    assert!(p.graph.warnings().is_empty());
    let cube = p.at().binary(B::Mul, square, x).unwrap();
    assert_eq!(p.graph.node(cube).interval, None);
    assert_eq!(p.graph.warnings().len(), 1);
    assert_eq!(p.graph.warnings()[0].node, cube);
    assert_eq!(
        p.graph.warnings()[0].fault.to_string(),
        "mul may leave int(8): values from -1000 to 1000 are possible and it holds -128 to 127; state smaller bounds \
         or use a wider dtype"
    );
    let whole = p.at().input(0, 3, &[], INT8, Some(Bound::Int(128))).unwrap();
    assert_eq!(p.graph.node(whole).range(), INT8.range());
}

#[test]
fn a_lowest_and_a_highest_value_are_a_bound() {
    let mut p = Program::default();
    let x = p.at().input(0, 3, &[2], INT8, Some(Bound::Ints(0, 3))).unwrap();
    assert_eq!(p.graph.node(x).range(), Interval::new(0, 3));
    assert_eq!(
        p.graph.check_input(x, &[-2, 7]).unwrap_err().to_string(),
        "value -2 (index 0) is none from 0 to 3, as bound= states: widen bound= (bound=(-2, 7) holds all)"
    );
    let y = p.at().input(0, 3, &[2], FIX, Some(Bound::Reals(-0.1, 1.0))).unwrap();
    assert_eq!(p.graph.node(y).range(), Interval::new(-2, 16), "values round to units, and ends are outwards");
    for (low, high) in [(3, 0), (0, 200), (-200, 0)] {
        let said = message(p.at().input(0, 3, &[2], INT8, Some(Bound::Ints(low, high))));
        let start = format!("Range: bounds {low} and {high} are not a lowest and a highest value that int(8) can hold");
        assert!(said.starts_with(&start), "{said}");
    }
    assert!(message(p.at().input(0, 3, &[2], FIX, Some(Bound::Reals(f64::NAN, 1.0)))).starts_with("Range: bounds NaN"));
}

#[test]
fn messages_name_the_range_that_may_not_fit() {
    let mut p = Program::default();
    let said = |p: &Program| p.graph.warnings().last().unwrap().fault.to_string();
    let half = p.at().input(0, 3, &[2], Dtype::FIXED64, Some(Bound::Real(2f64.powi(46)))).unwrap();
    p.at().binary(B::Add, half, half).unwrap();
    assert_eq!(
        said(&p),
        "add may leave fixed(64, 16): values from -140737488355328 to 140737488355328 are possible and it holds \
         -140737488355328 to 140737488355327.999984; state smaller bounds or use a wider dtype"
    );
    p.line = 8;
    let factor = p.at().input(0, 3, &[2], Dtype::FIXED64, Some(Bound::Ints(0, 1 << 20))).unwrap();
    let other = p.at().input(0, 3, &[2], Dtype::FIXED64, Some(Bound::Ints(0, 1 << 20))).unwrap();
    p.at().binary(B::Mul, factor, other).unwrap();
    let products = "mul may leave fixed(64, 16): values from 0 to 1099511627776 are possible, which take 74 bits \
                    before their surplus fractional bits are dropped, and it holds";
    assert!(said(&p).starts_with(products), "{}", said(&p));
    p.line = 9;
    let wide = p.at().input(0, 3, &[2], Dtype::Int { bits: 120 }, Some(Bound::Int(1 << 118))).unwrap();
    p.at().binary(B::Mul, wide, wide).unwrap();
    assert!(said(&p).starts_with("mul may leave int(120): values beyond all dtypes are possible and it holds"));
}

#[test]
fn a_clip_to_a_public_range_takes_as_many_bits_as_that() {
    let mut graph = Graph::new();
    let at = || Source::new("t.py", 7);
    let x = graph.at(at()).real_input(0, 3, &[2], Some(Bound::Real(1e20))).unwrap();
    assert_eq!(graph.node(x).dtype.bits(), 96);
    let mut clipped = x;
    for (end, op) in [(-100, B::Gt), (100, B::Lt)] {
        let within = graph.at(at()).binary(op, clipped, Operand::int(&end)).unwrap();
        clipped = graph.at(at()).select(within, clipped, Operand::int(&end)).unwrap();
    }
    assert_eq!((graph.node(clipped).dtype, graph.node(clipped).range().hi()), (Dtype::FIXED64, 100 << 16));
}

#[test]
fn strict_programs_must_fit() {
    let mut graph = Graph::strict();
    let source = || Source::new("t.py", 7);
    assert_eq!(
        message(graph.at(source()).input(0, 3, &[], INT8, None)),
        "Range: strict mode needs the range of every input: state the largest magnitude (bound=)"
    );
    assert!(graph.at(source()).input(0, 3, &[], Dtype::Bit, None).is_ok());
    let x = graph.at(source()).input(0, 3, &[], INT8, Some(Bound::Int(100))).unwrap();
    assert!(message(graph.at(source()).binary(B::Add, x, x)).starts_with("Range: add may leave int(8)"));
    assert!(graph.at(source()).binary(B::Add, x, Operand::int(&27)).is_ok());
    assert_eq!(graph.nodes().len(), 4);
}

#[test]
fn public_reals_that_the_dtype_changes_are_reported() {
    let mut p = Program::default();
    let x = p.input(&[2], FIX, &[16, 32]); // units of 1/16
    let fine = [1.0, 0.0, -7.9375, 0.2495, 16.03];
    for value in &fine {
        p.at().binary(B::Add, x, Operand::real(value)).unwrap();
    }
    assert!(p.graph.warnings().is_empty(), "a 256th of the value may go: {:?}", p.graph.warnings());
    let [tiny, near] = [1e-3, 0.3];
    p.at().binary(B::Lt, x, Operand::real(&tiny)).unwrap();
    p.at().binary(B::Gt, x, Operand::real(&tiny)).unwrap(); // a line is warned of once
    p.line = 8;
    p.at().floor_div(x, Operand::real(&near)).unwrap();
    let pair = [1.0, -0.02];
    p.line = 9;
    p.at().constant_reals(&[2], &pair, FIX).unwrap();
    p.line = 7;
    let said: Vec<String> = p.graph.warnings().iter().map(|w| w.fault.to_string()).collect();
    let end = "in fixed(16, 4), whose unit is 0.0625: scale the values, or use more fractional bits";
    assert_eq!(
        said,
        [
            format!("value 0.001 (index 0) becomes 0 {end}"),
            format!("value 0.3 (index 0) becomes 0.3125 {end}"),
            format!("value -0.02 (index 1) becomes 0 {end}"),
        ]
    );
    assert_eq!(message(p.at().floor_div(x, Operand::real(&tiny))), format!("Range: {}", said[0]));

    let mut graph = Graph::strict();
    let at = || Source::new("t.py", 7);
    let x = graph.at(at()).input(0, 3, &[2], FIX, Some(Bound::Int(10))).unwrap();
    assert_eq!(message(graph.at(at()).binary(B::Lt, x, Operand::real(&tiny))), format!("Range: {}", said[0]));
    assert_eq!(message(graph.at(at()).floor_div(x, Operand::real(&near))), format!("Range: {}", said[1]));
    assert_eq!(graph.nodes().len(), 1, "what is refused leaves no trace");
}
