//! Tests of lines with a single 1: which arrays can be asserted, and what follows.

use crate::common::{FIX, Program, message};
use quorate_graph::{BinaryOp as B, Bound, Dtype, Interval, NodeId, Operand};

#[test]
fn lines_with_a_single_one() {
    let mut p = Program::default();
    let x = p.input(&[3], Dtype::INT64, &[0; 3]);
    let bit = p.input(&[3], Dtype::Bit, &[0; 3]);
    let real = p.input(&[3], FIX, &[0; 3]);
    let none = p.input(&[3, 0], Dtype::INT64, &[]);
    let many = p.input(&[5], Dtype::Int { bits: 2 }, &[0; 5]);
    let before = p.graph.hashes().to_vec();
    for (id, axis, wanted) in [
        (bit, 0, "Dtype: assert_one_hot takes integers, not bit: convert first (x.astype(qr.int(64)))"),
        (real, 0, &format!("Dtype: assert_one_hot takes integers, not {FIX}: convert first (x.astype(qr.int(64)))")),
        (
            none,
            1,
            "Shape: assert_one_hot of an empty axis has no value: shape (3, 0); check that something was selected",
        ),
        (many, -1, "Shape: assert_one_hot along an axis of 5 elements, more than int(2) has values: use a wider dtype"),
    ] {
        assert_eq!(message(p.at().assert_one_hot(id, axis)), wanted);
    }
    assert_eq!(p.graph.hashes().to_vec(), before, "an operation that fails leaves no trace");
    let four = p.input(&[4], Dtype::Int { bits: 2 }, &[0; 4]);
    for (id, bits) in [(x, 64), (four, 2)] {
        let proven = p.at().assert_one_hot(id, -1).unwrap();
        let node = p.graph.node(proven);
        assert_eq!((node.range(), node.dtype.bits()), (Interval::BIT, bits));
    }
}

/// Builds rows of bits of which at most one is 1: that at the place given by a number.
fn hot(p: &mut Program, count: usize) -> NodeId {
    let numbers = p.input(&[4, 1], Dtype::INT64, &[0, 3, 99, -1]);
    let places: Vec<i128> = (0..count as i128).collect();
    p.at().binary(B::Eq, numbers, Operand::Ints { shape: &[count], values: &places }).unwrap()
}

#[test]
fn selected_entries_lie_in_the_range_of_the_table_or_are_zero() {
    let mut p = Program::default();
    let table = p.at().input(1, 3, &[50, 3], Dtype::INT64, Some(Bound::Ints(5, 1 << 62))).unwrap();
    let hot = hot(&mut p, 50);
    let batch = p.at().reshape(hot, &[2, 2, 50]).unwrap();
    let (turned, across) = (p.at().transpose(hot, None).unwrap(), p.at().transpose(table, None).unwrap());
    let row = p.at().gather(hot, (0..50).collect(), &[50, 1]).unwrap();
    let row = p.at().broadcast_to(row, &[50, 3]).unwrap();
    let kept = p.at().binary(B::Mul, row, table).unwrap();
    let chosen = p.at().select(row, table, Operand::int(&0)).unwrap();
    let stated = p.input(&[4, 50], Dtype::INT64, &[0; 200]);
    let stated = p.at().assert_one_hot(stated, 1).unwrap();
    for picked in [
        p.at().matmul(hot, table),
        p.at().matmul(batch, table),
        p.at().matmul(across, turned),
        p.at().sum(kept, Some(0), false),
        p.at().cumsum(kept, Some(0)),
        p.at().sum(chosen, Some(0), false),
        p.at().matmul(stated, table),
    ] {
        let range = p.graph.node(picked.unwrap()).interval;
        assert_eq!(range, Some(Interval::new(0, 1 << 62)), "0 of a place that is not there");
    }
    assert!(p.graph.warnings().is_empty(), "{:?}", p.graph.warnings());
}

#[test]
fn other_sums_of_bits_have_all_terms() {
    let mut p = Program::default();
    let table = p.at().input(1, 3, &[50], Dtype::INT64, Some(Bound::Int(7))).unwrap();
    let hot = hot(&mut p, 50);
    let numbers = p.input(&[4, 1], Dtype::INT64, &[0; 4]);
    let several = p.input(&[4, 50], Dtype::INT64, &[0; 200]);
    let twice: Vec<i128> = (0..50).map(|place| place / 2).collect();
    let places: Vec<i128> = (0..50).collect();
    let [twice, places] = [&twice, &places].map(|values| Operand::Ints { shape: &[50], values });
    for bits in [
        p.at().binary(B::Eq, numbers, twice),
        p.at().binary(B::Ne, numbers, places),
        p.at().binary(B::Eq, several, places),
        p.at().gather(hot, vec![3; 200], &[4, 50]),
    ] {
        let sums = p.at().matmul(bits.unwrap(), table).unwrap();
        assert_eq!(p.graph.node(sums).interval, Some(Interval::new(-7 * 50, 7 * 50)));
    }
    let counts = p.at().sum(hot, Some(0), false).unwrap();
    assert_eq!(p.graph.node(counts).range(), Interval::new(0, 4), "all rows may name one place");
}
