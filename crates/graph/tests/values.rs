//! Tests of the result of every operation, against values worked out by hand.

use crate::common::{FIX, INT8, Program};
use quorate_graph::{
    BinaryOp as B, Division, Dtype, EvalError, Fault, Give, Graph, Op, Operand, Rules, Source, UnaryOp, eval_clear,
};

#[test]
fn the_example_of_the_readme() {
    let mut p = Program::default();
    let x = p.input(&[3], Dtype::INT64, &[3, -5, 7]);
    let y = p.input(&[3], Dtype::INT64, &[2, 9, 7]);
    let less = p.at().binary(B::Lt, x, y).unwrap();
    let product = p.at().binary(B::Mul, x, y).unwrap();
    let sum = p.at().binary(B::Add, x, Operand::int(&1)).unwrap();
    let z = p.at().select(less, product, sum).unwrap();
    assert_eq!(p.values(z, Dtype::INT64, &[3]), [4, -45, 8]);
}

#[test]
fn integers_wrap_in_their_ring() {
    let mut p = Program::default();
    let x = p.input(&[2], INT8, &[-128, 127]);
    let one = &1;
    let cases = [
        (p.at().binary(B::Add, x, Operand::int(one)).unwrap(), [-127, -128]),
        (p.at().binary(B::Sub, x, Operand::int(one)).unwrap(), [127, 126]),
        (p.at().binary(B::Mul, x, x).unwrap(), [0, 1]),
        (p.at().unary(UnaryOp::Neg, x).unwrap(), [-128, -127]),
        (p.at().shl(x, 1).unwrap(), [0, -2]),
        (p.at().shr(x, 3).unwrap(), [-16, 15]),
    ];
    for (id, expected) in cases {
        assert_eq!(p.values(id, INT8, &[2]), expected, "{}", p.graph.describe(id));
    }
    let sum = p.at().sum(x, None, false).unwrap();
    assert_eq!(p.values(sum, INT8, &[]), [-1]);
}

#[test]
fn all_comparisons_of_numbers_and_bits() {
    let compare = |op: B, a: i128, b: i128| match op {
        B::Lt => a < b,
        B::Le => a <= b,
        B::Gt => a > b,
        B::Ge => a >= b,
        B::Eq => a == b,
        _ => a != b,
    };
    for (dtype, left, right) in [(INT8, [-128, 127, 5, 0], [127, -128, 5, 1]), (Dtype::Bit, [0, 0, 1, 1], [0, 1, 0, 1])]
    {
        for op in [B::Lt, B::Le, B::Gt, B::Ge, B::Eq, B::Ne] {
            let mut p = Program::default();
            let x = p.input(&[4], dtype, &left);
            let y = p.input(&[4], dtype, &right);
            let id = p.at().binary(op, x, y).unwrap();
            let expected: Vec<i128> = (0..4).map(|i| compare(op, left[i], right[i]).into()).collect();
            assert_eq!(p.values(id, Dtype::Bit, &[4]), expected, "{op:?} of {dtype}");
        }
    }
}

#[test]
fn bits_in_logic_and_in_arithmetic() {
    let mut p = Program::default();
    let x = p.input(&[4], Dtype::Bit, &[0, 0, 1, 1]);
    let y = p.input(&[4], Dtype::Bit, &[0, 1, 0, 1]);
    let one = &1;
    for (op, expected) in
        [(B::And, [0, 0, 0, 1]), (B::Or, [0, 1, 1, 1]), (B::Xor, [0, 1, 1, 0]), (B::Mul, [0, 0, 0, 1])]
    {
        let id = p.at().binary(op, x, y).unwrap();
        assert_eq!(p.values(id, Dtype::Bit, &[4]), expected, "{op:?}");
    }
    let id = p.at().binary(B::Xor, x, Operand::int(one)).unwrap();
    assert_eq!(p.values(id, Dtype::Bit, &[4]), [1, 1, 0, 0]);
    let id = p.at().binary(B::Eq, x, Operand::int(one)).unwrap();
    assert_eq!(p.values(id, Dtype::Bit, &[4]), [0, 0, 1, 1]);
    let id = p.at().binary(B::Eq, x, Operand::int(&2)).unwrap();
    assert_eq!(p.values(id, Dtype::Bit, &[4]), [0; 4]);
    let id = p.at().binary(B::Add, x, y).unwrap();
    assert_eq!(p.values(id, Dtype::INT64, &[4]), [0, 1, 1, 2]);
    let id = p.at().binary(B::Mul, x, Operand::int(&-3)).unwrap();
    assert_eq!(p.values(id, Dtype::INT64, &[4]), [0, 0, -3, -3]);
    let id = p.at().unary(UnaryOp::Neg, x).unwrap();
    assert_eq!(p.values(id, Dtype::INT64, &[4]), [0, 0, -1, -1]);
    let id = p.at().sum(x, None, false).unwrap();
    assert_eq!(p.values(id, Dtype::INT64, &[]), [2]);
    let id = p.at().argmax(y, None, false).unwrap();
    assert_eq!(p.values(id, Dtype::INT64, &[]), [1]);
    let n = p.input(&[4], INT8, &[5, -6, 7, -8]);
    let id = p.at().binary(B::Mul, n, y).unwrap();
    assert_eq!(p.values(id, INT8, &[4]), [0, -6, 0, -8]);
    let id = p.at().shl(x, 3).unwrap();
    assert_eq!(p.values(id, Dtype::INT64, &[4]), [0, 0, 8, 8]);
    let not = p.at().unary(UnaryOp::Not, x).unwrap();
    assert_ne!(p.at().unary(UnaryOp::Not, not).unwrap(), x, "x may have been run and forgotten");
}

#[test]
fn fixed_point_products_round_down_and_whole_factors_do_not_truncate() {
    let mut p = Program::default();
    let x = p.input(&[4], FIX, &[24, -24, 1, -1]); // 1.5, -1.5, 1/16, -1/16
    let half = p.at().binary(B::Mul, x, Operand::real(&0.5)).unwrap();
    assert_eq!(p.values(half, FIX, &[4]), [12, -12, 0, -1]);
    assert_eq!(p.graph.product_shift(half), 4);
    let square = p.at().binary(B::Mul, x, x).unwrap();
    assert_eq!(p.values(square, FIX, &[4]), [36, 36, 0, 0]);
    let thrice = p.at().binary(B::Mul, Operand::int(&3), x).unwrap();
    assert_eq!(p.values(thrice, FIX, &[4]), [72, -72, 3, -3]);
    assert_eq!(p.graph.product_shift(thrice), 0);
    let plus = p.at().binary(B::Add, x, Operand::int(&1)).unwrap();
    assert_eq!(p.values(plus, FIX, &[4]), [40, -8, 17, 15]);
    let bits = p.at().binary(B::Gt, x, Operand::int(&0)).unwrap();
    let masked = p.at().binary(B::Mul, x, bits).unwrap();
    assert_eq!(p.values(masked, FIX, &[4]), [24, 0, 1, 0]);
    assert_eq!(p.graph.product_shift(masked), 0);
    let counted = p.at().binary(B::Sub, x, bits).unwrap();
    assert_eq!(p.values(counted, FIX, &[4]), [8, -24, -15, -1]);
    // The ring has to hold the product before its shift: 100.0 * 100.0 is 1600 * 1600 units, which 16 bits do not.
    let big = p.input(&[1], FIX, &[1600]);
    let wrapped = p.at().binary(B::Mul, big, big).unwrap();
    assert_eq!(p.values(wrapped, FIX, &[1]), [(1600i128 * 1600 - 39 * 65536) >> 4]);
    let dot = p.at().matmul(x, x).unwrap();
    assert_eq!(p.values(dot, FIX, &[]), [(24 * 24 * 2 + 2) >> 4]);
}

#[test]
fn matrix_products_by_numpys_rules() {
    let mut p = Program::default();
    let m = p.input(&[2, 3], Dtype::INT64, &[1, 2, 3, 4, 5, 6]);
    let v = p.input(&[3], Dtype::INT64, &[1, 0, -1]);
    let w = p.input(&[2], Dtype::INT64, &[1, -1]);
    let t = p.at().transpose(m, None).unwrap();
    let gram = p.at().matmul(m, t).unwrap();
    assert_eq!(p.values(gram, Dtype::INT64, &[2, 2]), [14, 32, 32, 77]);
    let mv = p.at().matmul(m, v).unwrap();
    assert_eq!(p.values(mv, Dtype::INT64, &[2]), [-2, -2]);
    let wm = p.at().dot(w, m).unwrap();
    assert_eq!(p.values(wm, Dtype::INT64, &[3]), [-3, -3, -3]);
    let vv = p.at().dot(v, v).unwrap();
    assert_eq!(p.values(vv, Dtype::INT64, &[]), [2]);
    let scaled = p.at().dot(v, Operand::int(&5)).unwrap();
    assert_eq!(p.values(scaled, Dtype::INT64, &[3]), [5, 0, -5]);
    // A batch on the left, one matrix on the right: a single product.
    let batch = p.input(&[2, 1, 2], Dtype::INT64, &[1, 0, 0, 1]);
    let rows = p.at().matmul(batch, m).unwrap();
    assert_eq!(p.values(rows, Dtype::INT64, &[2, 1, 3]), [1, 2, 3, 4, 5, 6]);
    assert_eq!(p.graph.node(rows).op, Op::MatMul { batch: 1, m: 2, k: 2, n: 3 });
    // Batches on both sides broadcast; a vector on the left meets each matrix.
    let right = p.input(&[2, 3, 1], Dtype::INT64, &[1, 1, 1, 1, 2, 3]);
    let both = p.at().matmul(m, right).unwrap();
    assert_eq!(p.values(both, Dtype::INT64, &[2, 2, 1]), [6, 15, 14, 32]);
    let each = p.at().matmul(v, right).unwrap();
    assert_eq!(p.values(each, Dtype::INT64, &[2, 1]), [0, -2]);
    let bits = p.input(&[3], Dtype::Bit, &[1, 0, 1]);
    let count = p.at().matmul(bits, bits).unwrap();
    assert_eq!(p.values(count, Dtype::INT64, &[]), [2]);
}

#[test]
fn reductions_along_axes() {
    let mut p = Program::default();
    let x = p.input(&[2, 3], INT8, &[3, 7, 7, -1, -9, -1]);
    let sum = p.at().sum(x, Some(0), false).unwrap();
    assert_eq!(p.values(sum, INT8, &[3]), [2, -2, 6]);
    let sum = p.at().sum(x, Some(-1), true).unwrap();
    assert_eq!(p.values(sum, INT8, &[2, 1]), [17, -11]);
    let max = p.at().max(x, Some(1), false).unwrap();
    assert_eq!(p.values(max, INT8, &[2]), [7, -1]);
    let min = p.at().min(x, None, true).unwrap();
    assert_eq!(p.values(min, INT8, &[1, 1]), [-9]);
    let first = p.at().argmax(x, Some(1), false).unwrap();
    assert_eq!(p.values(first, Dtype::INT64, &[2]), [1, 0]);
    let flat = p.at().argmax(x, None, false).unwrap();
    assert_eq!(p.values(flat, Dtype::INT64, &[]), [1]);
    let none = p.input(&[0, 2], INT8, &[]);
    let sum = p.at().sum(none, Some(0), false).unwrap();
    assert_eq!(p.values(sum, INT8, &[2]), [0, 0]);
}

#[test]
fn operations_that_only_move_elements() {
    let mut p = Program::default();
    let x = p.input(&[2, 3], INT8, &[0, 1, 2, 3, 4, 5]);
    let t = p.at().transpose(x, None).unwrap();
    assert_eq!(p.values(t, INT8, &[3, 2]), [0, 3, 1, 4, 2, 5]);
    let r = p.at().reshape(x, &[3, -1]).unwrap();
    assert_eq!(p.values(r, INT8, &[3, 2]), [0, 1, 2, 3, 4, 5]);
    assert_eq!(p.at().reshape(x, &[2, 3]).unwrap(), x);
    let g = p.at().gather(x, vec![5, 5, 0], &[3]).unwrap();
    assert_eq!(p.values(g, INT8, &[3]), [5, 5, 0]);
    let rows = p.at().concat(&[x.into(), x.into()], 0).unwrap();
    assert_eq!(p.values(rows, INT8, &[4, 3]), [0, 1, 2, 3, 4, 5, 0, 1, 2, 3, 4, 5]);
    let wide = p.at().concat(&[x.into(), Operand::Ints { shape: &[2, 1], values: &[9, 8] }], -1).unwrap();
    assert_eq!(p.values(wide, INT8, &[2, 4]), [0, 1, 2, 9, 3, 4, 5, 8]);
    let front = p.at().stack(&[x.into(), x.into()], 0).unwrap();
    assert_eq!(p.values(front, INT8, &[2, 2, 3]), [0, 1, 2, 3, 4, 5, 0, 1, 2, 3, 4, 5]);
    let back = p.at().stack(&[x.into(), x.into()], -1).unwrap();
    assert_eq!(p.values(back, INT8, &[2, 3, 2]), [0, 0, 1, 1, 2, 2, 3, 3, 4, 4, 5, 5]);
    let set = p.at().set_at(x, &[1, 4, 4], &[3], Operand::Ints { shape: &[3], values: &[7, 8, 9] }).unwrap();
    assert_eq!(p.values(set, INT8, &[2, 3]), [0, 7, 2, 3, 9, 5]);
    let set = p.at().set_at(x, &[0, 3], &[2], Operand::int(&-1)).unwrap();
    assert_eq!(p.values(set, INT8, &[2, 3]), [-1, 1, 2, -1, 4, 5]);
    let wide = p.at().broadcast_to(x, &[2, 2, 3]).unwrap();
    assert_eq!(p.values(wide, INT8, &[2, 2, 3]), [0, 1, 2, 3, 4, 5, 0, 1, 2, 3, 4, 5]);
    let permuted = p.at().transpose(wide, Some(&[1, -1, 0])).unwrap();
    assert_eq!(p.values(permuted, INT8, &[2, 3, 2]), [0, 0, 1, 1, 2, 2, 3, 3, 4, 4, 5, 5]);
}

#[test]
fn integers_divide_towards_minus_infinity_and_by_zero_give_zero() {
    let mut p = Program::default();
    let x = p.input(&[6], INT8, &[7, -7, 7, -7, -128, 5]);
    let y = p.input(&[6], INT8, &[2, 2, -2, -2, -1, 0]);
    let mut divide =
        |give, a: Operand<'_>, b: Operand<'_>| p.at().int_divide(Division { give, quotient_bits: None }, a, b).unwrap();
    let quotient = divide(Give::Quotient, x.into(), y.into());
    let rest = divide(Give::Remainder, x.into(), y.into());
    let of_public = divide(Give::Remainder, Operand::int(&9), y.into());
    assert_eq!(p.values(quotient, INT8, &[6]), [3, -4, -4, 3, -128, 0]);
    assert_eq!(p.values(rest, INT8, &[6]), [1, 1, -1, -1, 0, 0]);
    assert_eq!(p.values(of_public, INT8, &[6]), [1, 1, -1, -1, 0, 0]);
    let bit = p.input(&[], Dtype::Bit, &[1]);
    let of_bits = p.at().int_divide(Division { give: Give::Quotient, quotient_bits: None }, bit, bit).unwrap();
    assert_eq!(p.values(of_bits, Dtype::INT64, &[]), [1]);
}

#[test]
fn other_returns_the_value_that_was_not_chosen() {
    let mut p = Program::default();
    let (x, bit) = (p.input(&[2, 2], FIX, &[1, 2, 3, 4]), p.input(&[2], Dtype::Bit, &[0, 1]));
    let one = p.at().select(bit, x, Operand::int(&9)).unwrap();
    let other = p.at().other(x, Operand::int(&9), one).unwrap();
    assert_eq!(p.values(one, FIX, &[2, 2]), [144, 2, 144, 4]);
    assert_eq!(p.values(other, FIX, &[2, 2]), [1, 144, 3, 144]);
    let bits = p.at().other(bit, Operand::int(&0), bit).unwrap();
    assert_eq!(p.values(bits, Dtype::Bit, &[2]), [0, 0]);
}

#[test]
fn public_parts_are_evaluated_while_building() {
    let mut p = Program::default();
    let a = p.at().constant_ints(&[2, 2], &[1, 2, 3, 4], Dtype::INT64).unwrap();
    let b = p.at().binary(B::Mul, a, a).unwrap();
    let c = p.at().sum(b, Some(0), false).unwrap();
    assert_eq!(p.graph.node(c).constant(), Some(vec![10, 20]));
    let d = p.at().constant_ints(&[3, 2], &[5], INT8).unwrap();
    assert_eq!(p.graph.node(d).op, Op::Constant([5].into()));
    assert_eq!(p.graph.node(d).constant(), Some(vec![5; 6]));
    let wide = p.at().broadcast_to(d, &[1 << 29, 3, 2]).unwrap();
    assert_eq!(p.graph.node(wide).op, Op::Constant([5].into()), "one value stands for any number of elements");
    let twice = p.at().binary(B::Add, d, d).unwrap();
    assert_eq!(p.graph.node(twice).dtype, INT8, "constants among themselves keep their type");
    let mut p = Program::default();
    let c = p.at().constant_ints(&[2], &[10, 20], Dtype::INT64).unwrap();
    // Integer constants take the type of the other operand; a public condition only moves elements.
    let x = p.input(&[2], INT8, &[100, 3]);
    let y = p.at().binary(B::Lt, x, c).unwrap();
    assert_eq!(p.values(y, Dtype::Bit, &[2]), [0, 1]);
    let z = p.at().select(Operand::Ints { shape: &[2], values: &[0, 1] }, x, Operand::int(&1)).unwrap();
    assert_eq!(p.values(z, INT8, &[2]), [1, 3]);
    assert!(p.graph.nodes().iter().all(|n| n.op != Op::Select));
    let e = p.at().binary(B::Add, Operand::real(&0.25), Operand::int(&1)).unwrap();
    assert_eq!(p.graph.node(e).constant(), Some(vec![5 << 14]));
}

#[test]
fn real_constants_round_to_the_nearest_even_unit() {
    let units = FIX.encode_reals(&[0.03125, 0.09375, -0.03125, 2047.9375, -2048.0, 0.1]).unwrap();
    assert_eq!(units, [0, 2, 0, 32767, -32768, 2]);
    assert!(FIX.encode_reals(&[2047.97]).is_err());
    assert_eq!(FIX.encode_ints(&[-2048, 2047]).unwrap(), [-32768, 32752]);
    assert!(FIX.encode_ints(&[2048]).is_err());
    assert_eq!(FIX.decode(24), 1.5);
}

#[test]
fn selections_between_literals_and_casts() {
    let mut p = Program::default();
    let c = p.input(&[2], Dtype::Bit, &[1, 0]);
    let plain = p.at().select(c, Operand::int(&7), Operand::int(&-7)).unwrap();
    assert_eq!(p.values(plain, Dtype::INT64, &[2]), [7, -7]);
    let real = p.at().select(c, Operand::real(&0.5), Operand::int(&1)).unwrap();
    assert_eq!(p.values(real, Dtype::FIXED64, &[2]), [1 << 15, 1 << 16]);
    let one = p.at().cast(c, FIX).unwrap();
    assert_eq!(p.values(one, FIX, &[2]), [16, 0]);
    let small = p.at().cast(c, Dtype::int(2).unwrap()).unwrap();
    assert_eq!(p.values(small, Dtype::Int { bits: 2 }, &[2]), [1, 0]);
    let grid = p.input(&[2, 1], Dtype::Bit, &[0, 1]);
    let mixed = p.at().select(grid, c, Operand::int(&1)).unwrap();
    assert_eq!(p.values(mixed, Dtype::Bit, &[2, 2]), [1, 1, 1, 0]);
}

#[test]
fn evaluation_checks_its_inputs() {
    let mut p = Program::default();
    let x = p.input(&[2], INT8, &[1, 2]);
    p.inputs.insert(x, vec![1]);
    let error = eval_clear(&p.graph, &p.inputs).unwrap_err();
    let EvalError::Input { fault, .. } = error else { panic!("{error}") };
    assert!(matches!(*fault, Fault::Count { given: 1, wanted: 2, .. }));
    p.inputs.insert(x, vec![1, 128]);
    let error = eval_clear(&p.graph, &p.inputs).unwrap_err();
    assert_eq!(
        error.to_string(),
        "input of (2,) int(8) from party 0 at t.py:7: value 128 (index 1) does not fit int(8), which holds -128 to \
         127: use dtype=qr.int(16)"
    );
    p.inputs.clear();
    let error = eval_clear(&p.graph, &p.inputs).unwrap_err();
    assert_eq!(error.to_string(), "no values were given for input of (2,) int(8) from party 0 at t.py:7");
}

#[test]
fn only_what_a_target_needs_is_run() {
    let mut p = Program::default();
    let x = p.input(&[2], INT8, &[1, 2]);
    let y = p.input(&[2], INT8, &[3, 4]);
    let double = p.at().binary(B::Add, x, x).unwrap();
    let unused = p.at().binary(B::Mul, x, y).unwrap();
    let z = p.at().binary(B::Sub, double, y).unwrap();
    assert_eq!(p.graph.needed(&[z], &|_| false), [x, y, double, z]);
    assert_eq!(p.graph.needed(&[z], &|id| id == double), [y, z]);
    assert_eq!(p.graph.needed(&[z, unused, z], &|id| id == z), [x, y, unused]);
    assert_eq!(p.graph.needed(&[], &|_| false), []);
}

#[test]
fn circuits_run_on_the_last_axis() {
    use quorate_circuits::{Circuit, Gate};
    // (a, b; c) to (a and b xor c, not a).
    let gates = [Gate::And(0, 1), Gate::Xor(3, 2), Gate::Inv(0)];
    let circuit = std::sync::Arc::new(Circuit::new(vec![2, 1], gates, vec![1, 1], vec![4, 5]).unwrap());
    let mut p = Program::default();
    let x = p.input(&[4, 2], Dtype::Bit, &[0, 0, 0, 1, 1, 0, 1, 1]);
    let one = Operand::Ints { shape: &[1], values: &[1] };
    let y = p.at().circuit(&circuit, &[x.into(), one]).unwrap();
    assert_eq!(p.graph.node(y).shape, [4, 2]);
    let values = eval_clear(&p.graph, &p.inputs).unwrap();
    assert_eq!(values[y.index()], [1, 1, 1, 1, 1, 0, 0, 0]);
    let other =
        Circuit::new(vec![2, 1], [Gate::And(0, 1), Gate::Xor(3, 2), Gate::Inv(1)], vec![1, 1], vec![4, 5]).unwrap();
    let before = p.graph.prefix_hash(y);
    let mut q = Program::default();
    let x = q.input(&[4, 2], Dtype::Bit, &[0; 8]);
    let z = q.at().circuit(&other.into(), &[x.into(), one]).unwrap();
    assert_ne!(q.graph.prefix_hash(z), before);
}

#[test]
fn rounding_goes_to_the_nearest_even_whole_number() {
    for (bits, frac) in [(8, 3), (8, 1), (8, 7), (9, 0)] {
        let dtype = Dtype::fixed(bits, frac).unwrap();
        let all: Vec<i128> = (-(1 << (bits - 1))..1 << (bits - 1)).collect();
        let mut p = Program::default();
        let x = p.input(&[all.len()], dtype, &all);
        let rounded = p.at().round(x).unwrap();
        let one = f64::from(frac).exp2();
        let wanted: Vec<i128> =
            all.iter().map(|&x| dtype.wrap((x as f64 / one).round_ties_even() as i128 * one as i128)).collect();
        assert_eq!(p.values(rounded, dtype, &[all.len()]), wanted, "{dtype}");
        assert!(p.graph.warnings().is_empty());
    }
    let mut p = Program::default();
    let bounded = p.at().input(0, 3, &[1], FIX, Some(quorate_graph::Bound::Real(5.5))).unwrap();
    let rounded = p.at().round(bounded).unwrap();
    assert_eq!(p.graph.node(rounded).interval.map(|i| (i.lo(), i.hi())), Some((-96, 96)));
    assert!(p.graph.warnings().is_empty());
    let known = p.at().constant_reals(&[3], &[2.5, -1.5, 0.25], FIX).unwrap();
    let folded = p.at().round(known).unwrap();
    assert!(p.graph.node(folded).is_public());
    let integer = p.input(&[1], INT8, &[1]);
    assert!(p.at().round(integer).unwrap_err().to_string().starts_with("round takes fixed point, not int(8)"));
}

#[test]
fn rows_come_in_the_order_of_a_key_and_equal_keys_keep_theirs() {
    let mut p = Program::default();
    let key = p.input(&[4], Dtype::INT64, &[2, -1, 2, 0]);
    let rows = p.input(&[4, 2], Dtype::INT64, &[1, 2, 3, 4, 5, 6, 7, 8]);
    let wanted = [(false, [-1, 0, 2, 2], [3, 4, 7, 8, 1, 2, 5, 6]), (true, [2, 2, 0, -1], [1, 2, 5, 6, 7, 8, 3, 4])];
    for (descending, keys, moved) in wanted {
        let ordered = p.at().order(&[rows, key], key, descending).unwrap();
        let [first, second] = [(0, rows), (1, key)].map(|(i, x)| p.at().in_order(ordered, i, x, descending).unwrap());
        assert_eq!(p.values(first, Dtype::INT64, &[4, 2]), moved);
        assert_eq!(p.values(second, Dtype::INT64, &[4]), keys);
        assert!(p.at().part(ordered, 2).is_err(), "the key is no part");
    }
    assert!(p.at().order(&[key], rows, false).is_err(), "a key has one number for each row");
    let public = p.at().constant_ints(&[4], &[2, -1, 2, 0], Dtype::INT64).unwrap();
    for (descending, _, moved) in wanted {
        let ordered = p.at().order(&[rows], public, descending).unwrap();
        let rows = p.at().in_order(ordered, 0, rows, descending).unwrap();
        assert_eq!(p.values(rows, Dtype::INT64, &[4, 2]), moved);
        let keys = p.at().in_order(ordered, 0, public, descending).unwrap();
        assert!(p.graph.node(keys).is_public());
    }
}

#[test]
fn keys_that_a_family_does_not_order_are_refused() {
    let mut graph = Graph::with(Rules { proves_bounds: true, ..Rules::default() });
    let key = graph.at(Source::new("t.py", 7)).input(0, 3, &[4], Dtype::INT64, None).unwrap();
    assert!(!graph.can_order(key));
    let refused = graph.at(Source::new("t.py", 7)).order(&[key], key, false).unwrap_err();
    assert_eq!(*refused.fault, Fault::NoOrder { dtype: Dtype::INT64 });
    let mut p = Program::default();
    let wide = Dtype::Int { bits: 120 };
    let [fits, too_wide] = [32, 64].map(|rows| p.at().input(0, 3, &[rows], wide, None).unwrap());
    assert!(p.graph.can_order(fits) && !p.graph.can_order(too_wide));
}
