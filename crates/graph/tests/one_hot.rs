//! Lines with a single 1: what can be asserted of which arrays, and what follows.

use crate::common::{FIX, Program, message};
use quorate_graph::{Dtype, Interval};

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
    assert_eq!(p.graph.hashes(), before, "an operation that fails leaves no trace");
    let four = p.input(&[4], Dtype::Int { bits: 2 }, &[0; 4]);
    for (id, bits) in [(x, 64), (four, 2)] {
        let proven = p.at().assert_one_hot(id, -1).unwrap();
        let node = p.graph.node(proven);
        assert_eq!((node.range(), node.dtype.bits()), (Interval::BIT, bits));
    }
}
