//! Tests that every mistake gets its exception and a message with advice.

use crate::common::{FIX, INT8, Program, message};
use quorate_graph::{
    BinaryOp as B, Bound, BuildError, Builder, Division, Dtype, Fault, Give, Graph, Layer, NodeId, Operand, Real, Side,
    Source, UnaryOp,
};

fn program() -> (Program, NodeId, NodeId, NodeId) {
    let mut p = Program::default();
    let x = p.input(&[3], Dtype::INT64, &[0; 3]);
    let bit = p.input(&[3], Dtype::Bit, &[0; 3]);
    let real = p.input(&[3], FIX, &[0; 3]);
    (p, x, bit, real)
}

/// Checks that building fails with this exception and message, and leaves the program as it was.
fn refused(p: &mut Program, kind: &str, build: impl FnOnce(Builder<'_>) -> Result<NodeId, BuildError>, wanted: &str) {
    let before = p.graph.hashes().to_vec();
    assert_eq!(message(build(p.at())), format!("{kind}: {wanted}"));
    assert_eq!(p.graph.hashes().to_vec(), before, "an operation that fails leaves no trace");
}

#[test]
fn shapes_that_do_not_broadcast() {
    let (mut p, x, bit, _) = program();
    let m = p.input(&[3, 4], Dtype::INT64, &[0; 12]);
    let four = Operand::Ints { shape: &[4], values: &[1, 2, 3, 4] };
    refused(
        &mut p,
        "Shape",
        |mut at| at.binary(B::Add, x, four),
        "operands could not be broadcast together with shapes (3,) (4,): from the right, sizes must be equal or 1",
    );
    refused(
        &mut p,
        "Shape",
        |mut at| at.select(bit, x, four),
        "operands could not be broadcast together with shapes (3,) (4,): from the right, sizes must be equal or 1",
    );
    refused(
        &mut p,
        "Shape",
        |mut at| at.broadcast_to(m, &[4]),
        "cannot broadcast shape (3, 4) to shape (4,): from the right, sizes must be equal or 1",
    );
    refused(
        &mut p,
        "Shape",
        |mut at| at.set_at(x, &[1, 2], &[2], four),
        "cannot broadcast shape (4,) to shape (2,): from the right, sizes must be equal or 1",
    );
}

#[test]
fn shapes_of_products() {
    let (mut p, _, _, _) = program();
    let m = p.input(&[3, 4], Dtype::INT64, &[0; 12]);
    refused(
        &mut p,
        "Shape",
        |mut at| at.matmul(m, m),
        "matmul of shapes (3, 4) and (3, 4): inner sizes 4 and 3 differ; they must be equal: transpose or reshape an \
         operand",
    );
    refused(
        &mut p,
        "Shape",
        |mut at| at.matmul(m, Operand::int(&2)),
        "cannot matmul a scalar: an operand needs at least one dimension; use * for a product with a scalar",
    );
    refused(
        &mut p,
        "Shape",
        |mut at| at.dot(m, Operand::Ints { shape: &[1, 4, 1], values: &[1] }),
        "dot of shapes (3, 4) and (1, 4, 1): the right operand may have at most two dimensions; use matmul (@)",
    );
}

#[test]
fn axes_that_are_not_there() {
    let (mut p, x, _, _) = program();
    let m = p.input(&[3, 4], Dtype::INT64, &[0; 12]);
    refused(
        &mut p,
        "Shape",
        |mut at| at.sum(m, Some(2), false),
        "axis 2 is out of bounds for an array of dimension 2: it lies between -2 and 1",
    );
    refused(
        &mut p,
        "Shape",
        |mut at| at.stack(&[x.into()], -3),
        "axis -3 is out of bounds for an array of dimension 2: it lies between -2 and 1",
    );
    refused(
        &mut p,
        "Shape",
        |mut at| at.transpose(m, Some(&[0, 0])),
        "axes [0, 0] do not permute an array of dimension 2: name each axis from 0 to 2 - 1 once",
    );
}

#[test]
fn shapes_of_other_sizes_and_empty_axes() {
    let (mut p, _, _, _) = program();
    let m = p.input(&[3, 4], Dtype::INT64, &[0; 12]);
    let empty = p.input(&[0], Dtype::INT64, &[]);
    refused(
        &mut p,
        "Shape",
        |mut at| at.reshape(m, &[5, -1]),
        "cannot reshape an array of size 12 into shape (5, -1): the sizes must multiply to 12",
    );
    refused(
        &mut p,
        "Shape",
        |mut at| at.reshape(m, &[-1, -1]),
        "cannot reshape into shape (-1, -1): only one size may be -1 and none may be below it",
    );
    refused(
        &mut p,
        "Shape",
        |mut at| at.reshape(empty, &[0, -1]),
        "cannot reshape an array of size 0 into shape (0, -1): the sizes must multiply to 0",
    );
    refused(
        &mut p,
        "Shape",
        |mut at| at.max(empty, None, false),
        "max of an empty axis has no value: shape (0,); check that something was selected",
    );
    refused(
        &mut p,
        "Shape",
        |mut at| at.argmax(empty, Some(0), false),
        "argmax of an empty axis has no value: shape (0,); check that something was selected",
    );
}

#[test]
fn values_and_positions_that_are_not_there() {
    let (mut p, x, _, _) = program();
    let m = p.input(&[3, 4], Dtype::INT64, &[0; 12]);
    refused(
        &mut p,
        "Shape",
        |mut at| at.constant_ints(&[3], &[1, 2], Dtype::INT64),
        "shape (3,) has 3 elements, and the values that were given are 2: give one for each, or a single one for all",
    );
    refused(
        &mut p,
        "Shape",
        |mut at| at.gather(m, vec![1], &[2]),
        "shape (2,) has 2 elements, and the values that were given are 1: give one for each, or a single one for all",
    );
    refused(
        &mut p,
        "Shape",
        |mut at| at.gather(x, vec![0, 3], &[2]),
        "index 3 (position 1) is out of bounds for an array of 3 elements",
    );
    refused(
        &mut p,
        "Shape",
        |mut at| at.set_at(x, &[9], &[1], Operand::int(&1)),
        "index 9 (position 0) is out of bounds for an array of 3 elements",
    );
}

#[test]
fn arrays_that_cannot_be_joined() {
    let (mut p, x, _, _) = program();
    let m = p.input(&[3, 4], Dtype::INT64, &[0; 12]);
    let four = Operand::Ints { shape: &[4], values: &[1, 2, 3, 4] };
    refused(&mut p, "Shape", |mut at| at.concat(&[], 0), "need at least one array to concatenate");
    refused(
        &mut p,
        "Shape",
        |mut at| at.concat(&[x.into(), m.into()], 0),
        "cannot concatenate: shape (3, 4) (array 1) does not match shape (3,) (array 0); all sizes but that of axis 0 \
         must be equal",
    );
    refused(
        &mut p,
        "Shape",
        |mut at| at.stack(&[x.into(), four], 0),
        "cannot stack: shape (4,) (array 1) does not match shape (3,) (array 0); all sizes must be equal",
    );
}

#[test]
fn arrays_that_are_too_large() {
    let (mut p, _, _, _) = program();
    let m = p.input(&[3, 4], Dtype::INT64, &[0; 12]);
    refused(
        &mut p,
        "Shape",
        |mut at| at.input(0, 3, &[1 << 40, 1 << 12], INT8, None),
        "shape (1099511627776, 4096) has too many elements: an array holds at most 2^48; split it",
    );
    refused(
        &mut p,
        "Shape",
        |mut at| at.broadcast_to(m, &[usize::MAX, 3, 4]),
        "shape (18446744073709551615, 3, 4) has too many elements: an array holds at most 2^48; split it",
    );
}

#[test]
fn dtypes_promote_to_the_one_that_holds_both() {
    let mut p = Program::default();
    let int = |bits| Dtype::Int { bits };
    let uint = |bits| Dtype::Uint { bits };
    let fixed = |bits, frac| Dtype::Fixed { bits, frac };
    for (left, right, both) in [
        (int(64), int(8), int(64)),
        (int(32), uint(32), int(33)),
        (uint(64), int(64), int(65)),
        (uint(8), uint(32), uint(32)),
        (int(64), fixed(64, 16), fixed(80, 16)),
        (int(8), fixed(64, 16), fixed(64, 16)),
        (fixed(64, 16), fixed(32, 8), fixed(64, 16)),
        (fixed(32, 16), fixed(32, 8), fixed(40, 16)),
        (int(100), int(20), int(100)),
        (Dtype::Bit, int(8), int(8)),
    ] {
        for (left, right) in [(left, right), (right, left)] {
            let (x, y) = (p.input(&[2], left, &[0, 1]), p.input(&[2], right, &[1, 0]));
            let sum = p.at().binary(B::Add, x, y).unwrap();
            assert_eq!(p.graph.node(sum).dtype, both, "{left} and {right}");
            let joined = p.at().concat(&[x.into(), y.into()], 0).unwrap();
            assert_eq!(p.graph.node(joined).dtype, both, "{left} and {right}");
        }
    }
    let wide = p.input(&[2], int(120), &[0, 1]);
    let real = p.input(&[2], fixed(64, 16), &[0, 1]);
    refused(
        &mut p,
        "Dtype",
        |mut at| at.binary(B::Add, wide, real),
        "cannot add int(120) and fixed(64, 16): what holds both takes 136 bits, and dtypes have at most 120; if its \
         values fit, convert the wider one (x.astype(qr.int(104))), or state their bound=",
    );
    let narrow = p.at().cast(wide, int(104)).unwrap();
    assert!(p.at().binary(B::Add, narrow, real).is_ok(), "the advice, followed");
}

#[test]
fn bounds_and_values_say_what_holds_both() {
    let mut p = Program::default();
    let bounded = |p: &mut Program, dtype: Dtype| {
        let id = p.at().input(0, 3, &[2], dtype, Some(Bound::Int(1000))).unwrap();
        p.inputs.insert(id, vec![0, 1]);
        id
    };
    let (few, known) = (bounded(&mut p, Dtype::Uint { bits: 64 }), bounded(&mut p, Dtype::INT64));
    let x = p.input(&[2], Dtype::INT64, &[0, 1]);
    let real = p.input(&[2], Dtype::FIXED64, &[0, 1]);
    let dtype = |p: &mut Program, a: NodeId, b: Operand<'_>| {
        let sum = p.at().binary(B::Add, a, b).unwrap();
        p.graph.node(sum).dtype
    };
    assert_eq!(dtype(&mut p, x, few.into()), Dtype::INT64);
    assert_eq!(dtype(&mut p, real, known.into()), Dtype::FIXED64);
    let small = p.input(&[2], Dtype::Int { bits: 32 }, &[3, 0]);
    assert_eq!(dtype(&mut p, small, Operand::int(&5_000_000_000)), Dtype::INT64);
    assert_eq!(dtype(&mut p, small, Operand::int(&5)), Dtype::Int { bits: 32 });
    let unsigned = p.input(&[2], Dtype::Uint { bits: 32 }, &[3, 0]);
    assert_eq!(dtype(&mut p, unsigned, Operand::int(&-1)), Dtype::INT64);
    assert_eq!(dtype(&mut p, small, Operand::real(&0.5)), Dtype::FIXED64);
    let sum = p.at().binary(B::Add, small, Operand::int(&5_000_000_000)).unwrap();
    assert_eq!(p.values(sum, Dtype::INT64, &[2]), [5_000_000_003, 5_000_000_000]);
}

#[test]
fn constants_that_their_dtype_does_not_take() {
    let (mut p, ..) = program();
    refused(
        &mut p,
        "Dtype",
        |mut at| at.constant_reals(&[], &[0.5], INT8),
        "cannot combine a float constant with int(8): give the secret input a fixed-point dtype \
         (dtype=qr.fixed(64, 16)), or use an integer constant",
    );
}

#[test]
fn operations_on_other_dtypes() {
    let (mut p, x, bit, real) = program();
    refused(
        &mut p,
        "Dtype",
        |mut at| at.binary(B::And, real, bit),
        "& works on bits and integers, not on fixed(16, 4): compare first (x > 0 is a bit), or convert (astype)",
    );
    refused(
        &mut p,
        "Dtype",
        |mut at| at.unary(UnaryOp::Not, real),
        "~ works on bits and integers, not on fixed(16, 4): compare first (x > 0 is a bit), or convert (astype)",
    );
    refused(
        &mut p,
        "Dtype",
        |mut at| at.select(x, x, x),
        "the condition of a selection must be a bit, not int(64): compare first (x != 0 is a bit)",
    );
}

#[test]
fn conversions_that_dtypes_do_not_take() {
    let (mut p, x, bit, _) = program();
    let long = p.input(&[3], Dtype::Fixed { bits: 8, frac: 7 }, &[0; 3]);
    refused(
        &mut p,
        "Dtype",
        |mut at| at.cast(x, Dtype::Bit),
        "cannot convert int(64) to bit: numbers do not become bits by astype; compare (x != 0 is a bit), or take \
         x.bits()",
    );
    refused(
        &mut p,
        "Dtype",
        |mut at| at.real(Real::Exp, x),
        "exp takes fixed point, not int(64): convert first (x.astype(qr.fixed(64, 16))), or give the input that dtype",
    );
    refused(
        &mut p,
        "Dtype",
        |mut at| at.divide(long, long),
        "divide does not take fixed(8, 7): at most 60 fractional bits, and here at least 9 bits in all; convert first, \
         x.astype(qr.fixed(16, 7))",
    );
    refused(
        &mut p,
        "Dtype",
        |mut at| at.binary(B::Add, long, bit),
        "a bit does not convert to fixed(8, 7), which cannot hold 1.0: use fewer fractional bits",
    );
}

#[test]
fn dtypes_that_do_not_exist() {
    let mut p = Program::default();
    refused(
        &mut p,
        "Dtype",
        |mut at| at.input(0, 3, &[], Dtype::Int { bits: 0 }, None),
        "a ring of 0 bits is not supported: with a sign, bits lie between 2 and 120, for instance qr.int(64); one bit \
         without a sign is qr.uint(1), or qr.bit",
    );
    refused(
        &mut p,
        "Dtype",
        |mut at| at.input(0, 3, &[], Dtype::Int { bits: 121 }, None),
        "a ring of 121 bits is not supported: with a sign, bits lie between 2 and 120, for instance qr.int(64); one \
         bit without a sign is qr.uint(1), or qr.bit",
    );
    refused(
        &mut p,
        "Dtype",
        |mut at| at.constant_ints(&[], &[1], Dtype::Fixed { bits: 8, frac: 8 }),
        "fixed(8, 8): the fractional bits must be fewer than the bits, for instance qr.fixed(64, 16)",
    );
    assert_eq!(Dtype::int(121), Err(Fault::Bits { bits: 121 }));
    assert_eq!(Dtype::fixed(1, 0), Err(Fault::Bits { bits: 1 }));
    assert_eq!(Dtype::fixed(16, 16), Err(Fault::Frac { bits: 16, frac: 16 }));
}

#[test]
fn ranges() {
    let (mut p, x, bit, real) = program();
    let small = p.input(&[3], INT8, &[0; 3]);
    let nan = f64::NAN;
    let cases = [
        (
            message(p.at().constant_ints(&[3], &[1, 2, 128], INT8)),
            "value 128 (index 2) does not fit int(8), which holds -128 to 127: use dtype=qr.int(16)",
        ),
        (
            message(p.at().constant_reals(&[], &[2048.5], FIX)),
            "value 2048.5 (index 0) does not fit fixed(16, 4), which holds -2048 to 2047.9375: use \
             dtype=qr.fixed(32, 4)",
        ),
        (
            message(p.at().constant_ints(&[], &[i128::MAX], FIX)),
            "value 170141183460469231731687303715884105727 (index 0) does not fit fixed(16, 4), which holds -2048 to \
             2047.9375: no dtype holds it: scale the values",
        ),
        (
            message(p.at().constant_ints(&[], &[2], Dtype::Bit)),
            "value 2 (index 0) does not fit bit, which holds 0 to 1: use dtype=qr.int(8)",
        ),
        (
            message(p.at().binary(B::Add, real, Operand::Reals { shape: &[3], values: &[0.0, nan, 1.0] })),
            "value NaN (index 1) is not a finite number: remove or replace it",
        ),
        (
            message(p.at().binary(B::Add, real, Operand::real(&f64::INFINITY))),
            "value inf (index 0) is not a finite number: remove or replace it",
        ),
        (message(p.at().shr(small, 8)), "shift by 8 bits of int(8): the shift must lie between 0 and 7"),
        (message(p.at().shl(x, -1)), "shift by -1 bits of int(64): the shift must lie between 0 and 63"),
        (
            message(p.at().input(0, 3, &[], INT8, Some(Bound::Int(129)))),
            "bound 129 is not a magnitude that int(8) can hold (-128 to 127): state the largest absolute value of the \
             input",
        ),
        (
            message(p.at().input(0, 3, &[], INT8, Some(Bound::Int(-1)))),
            "bound -1 is not a magnitude that int(8) can hold (-128 to 127): state the largest absolute value of the \
             input",
        ),
        (
            message(p.at().input(0, 3, &[], FIX, Some(Bound::Real(nan)))),
            "bound NaN is not a magnitude that fixed(16, 4) can hold (-2048 to 2047.9375): state the largest absolute \
             value of the input",
        ),
    ];
    for (found, wanted) in cases {
        let (kind, text) = found.split_once(": ").unwrap();
        assert_eq!((kind, text), ("Range", wanted));
    }
    assert_eq!(p.graph.node(bit).shape, [3]);
}

#[test]
fn functions_without_a_result() {
    let mut p = Program::default();
    let bounded = |p: &mut Program, bound: i128| p.at().input(0, 3, &[2], FIX, Some(Bound::Int(bound))).unwrap();
    let (x, zero) = (bounded(&mut p, 1), bounded(&mut p, 0));
    let negative = p.at().binary(B::Sub, x, Operand::int(&2)).unwrap();
    let largest = FIX.decode(FIX.range().hi()).floor() as i128;
    let large = p.at().binary(B::Add, x, Operand::int(&(largest - 2))).unwrap();
    for (function, argument) in [
        (Real::Log, negative),
        (Real::Sqrt, negative),
        (Real::Rsqrt, zero),
        (Real::Reciprocal, zero),
        (Real::Log, zero),
    ] {
        let said = message(p.at().real(function, argument));
        assert!(said.starts_with(&format!("Range: {} is not defined on any value from", function.name())), "{said}");
    }
    let said = message(p.at().divide(x, zero));
    assert!(said.starts_with("Range: / by zero has no value"), "{said}");
    let said = message(p.at().real(Real::Exp, large));
    assert!(said.starts_with("Range: no result of exp fits") && said.contains("use a wider dtype"), "{said}");
    let small = p.at().binary(B::Mul, x, Operand::real(&0.0625)).unwrap();
    let said = message(p.at().divide(large, small));
    assert!(said.starts_with("Range: no result of divide fits"), "{said}");
    assert!(p.at().real(Real::Sqrt, x).is_ok() && p.at().divide(x, x).is_ok() && p.at().real(Real::Log, x).is_ok());
}

#[test]
fn owners_and_strangers() {
    let (mut p, x, ..) = program();
    assert_eq!(
        message(p.at().input(3, 3, &[], INT8, None)),
        "Config: owner 3 does not exist: this session has parties 0, 1, 2"
    );
    assert_eq!(
        message(p.at().binary(B::Add, x, NodeId(99))),
        "Config: node 99 is not part of this program, which has 3: an array of another session was used"
    );
    for stranger in
        [p.at().sum(NodeId(3), None, false), p.at().gather(NodeId(3), vec![], &[0]), p.at().shl(NodeId(3), 1)]
    {
        assert!(message(stranger).starts_with("Config: node 3 is not part"));
    }
}

#[test]
fn divisions_by_secrets_and_exchanges_say_what_they_take() {
    let mut p = Program::default();
    let (x, wide) = (p.input(&[2], INT8, &[1, 2]), p.input(&[2], Dtype::INT64, &[1, 2]));
    let (f, odd) = (p.input(&[2], FIX, &[16, 32]), p.input(&[3], INT8, &[1, 2, 3]));
    let division = Division { give: Give::Remainder, quotient_bits: None };
    for (a, b, begins) in [
        (f, f, "Dtype: % of fixed point takes a public divisor; by a secret one it divides with /"),
        (x, odd, "Shape: operands could not be broadcast together"),
    ] {
        let said = message(p.at().int_divide(division, a, b));
        assert!(said.starts_with(begins), "{said}");
    }
    let swapped = p.at().other(x, wide, x).unwrap();
    assert_eq!(p.graph.node(swapped).dtype, Dtype::INT64);
    assert!(message(p.at().other(x, odd, x)).starts_with("Shape: "));
    let before = p.graph.nodes().len();
    let [lowest, one] = [128, 1].map(|bound| p.at().input(0, 3, &[], INT8, Some(Bound::Int(bound))).unwrap());
    p.at().int_divide(Division { give: Give::Quotient, quotient_bits: None }, lowest, one).unwrap();
    let said: Vec<String> = p.graph.warnings().iter().map(|w| w.fault.to_string()).collect();
    assert_eq!(said.len(), 1);
    assert!(said[0].starts_with("quotient may leave int(8): values from -128 to 128 are possible"), "{said:?}");
    assert_eq!(p.graph.nodes().len(), before + 3);
}

#[test]
fn layers_of_a_sort_have_as_many_rows_as_the_array() {
    let mut p = Program::default();
    let (x, scalar) = (p.input(&[3, 2], INT8, &[0; 6]), p.input(&[], INT8, &[0]));
    let layer = Layer { count: 2, p: 1, r: 0, distance: 1 };
    for id in [x, scalar] {
        assert!(message(p.at().exchange(id, layer, Side::Back)).starts_with("Shape: "));
    }
    let upper = p.at().exchange(x, Layer { count: 3, ..layer }, Side::Upper).unwrap();
    assert_eq!(p.graph.node(upper).shape, [1, 2]);
}

#[test]
fn descriptions_say_what_and_where() {
    let mut graph = Graph::new();
    let x = graph.at(Source::new("score.py", 3)).input(1, 3, &[569], Dtype::INT64, None).unwrap();
    let y = graph.at(Source::new("score.py", 14)).binary(B::Lt, x, Operand::int(&0)).unwrap();
    let z = graph.at(Source::new("score.py", 15)).select(y, x, Operand::int(&0)).unwrap();
    assert_eq!(graph.describe(x), "input of (569,) int(64) from party 1 at score.py:3");
    assert_eq!(graph.describe(y), "lt of (569,) int(64) at score.py:14");
    assert_eq!(graph.describe(z), "select of (569,) int(64) at score.py:15");
}
