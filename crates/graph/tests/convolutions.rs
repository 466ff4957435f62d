//! Tests of convolutions: their results, their ranges, and refused arguments.

use std::collections::BTreeSet;

use crate::common::{FIX, INT8, Program};
use quorate_graph::{Bound, Dtype, Graph, Lies, Operand, Source};

const PLAIN: Lies = Lies { stride: [1, 1], dilation: [1, 1], before: [0, 0], after: [0, 0], groups: 1 };

#[test]
fn filters_are_laid_on_images_as_they_are() {
    let mut p = Program::default();
    let x = p.input(&[1, 1, 3, 3], Dtype::INT64, &[1, 2, 3, 4, 5, 6, 7, 8, 9]);
    let w = p.input(&[2, 1, 2, 2], Dtype::INT64, &[1, 0, 0, 0, 0, 0, 1, 10]);
    let plain = p.at().conv(x, w, PLAIN).unwrap();
    assert_eq!(p.values(plain, Dtype::INT64, &[1, 2, 2, 2]), [1, 2, 4, 5, 54, 65, 87, 98]);
    let padded = p.at().conv(x, w, Lies { before: [1, 0], after: [0, 1], stride: [2, 2], ..PLAIN }).unwrap();
    assert_eq!(p.values(padded, Dtype::INT64, &[1, 2, 2, 2]), [0, 0, 4, 6, 21, 3, 87, 9]);
    let apart = p.at().conv(x, w, Lies { dilation: [2, 2], ..PLAIN }).unwrap();
    assert_eq!(p.values(apart, Dtype::INT64, &[1, 2, 1, 1]), [1, 97]);
    // Each group has filters of its own.
    let two = p.input(&[1, 2, 1, 2], Dtype::INT64, &[1, 2, 3, 4]);
    let each = p.input(&[2, 1, 1, 1], Dtype::INT64, &[10, 100]);
    let grouped = p.at().conv(two, each, Lies { groups: 2, ..PLAIN }).unwrap();
    assert_eq!(p.values(grouped, Dtype::INT64, &[1, 2, 1, 2]), [10, 20, 300, 400]);
}

#[test]
fn fixed_point_is_shifted_once_after_the_sum() {
    let mut p = Program::default();
    let x = p.input(&[1, 1, 1, 2], FIX, &[24, 24]);
    let w = p.input(&[1, 1, 1, 2], FIX, &[24, 25]);
    let made = p.at().conv(x, w, PLAIN).unwrap();
    assert_eq!(p.values(made, FIX, &[1, 1, 1, 1]), [(24 * 49) >> 4]);
    // Public reals keep their bits where the ring has room.
    let x = p.at().input(0, 3, &[1, 1, 1, 2], Dtype::FIXED64, Some(Bound::Real(1.0))).unwrap();
    let tenth = Operand::Reals { shape: &[1, 1, 1, 2], values: &[0.1, 0.2] };
    let scaled = p.at().conv(x, tenth, PLAIN).unwrap();
    assert_eq!(p.graph.node(scaled).op.name(), "scale");
}

#[test]
fn zeros_around_images_are_among_the_values() {
    let mut p = Program::default();
    let range = |p: &Program, id| p.graph.node(id).interval.map(|i| (i.lo(), i.hi()));
    let x = p.at().input(0, 3, &[1, 1, 2, 2], Dtype::INT64, Some(Bound::Int(10))).unwrap();
    let x = p.at().binary(quorate_graph::BinaryOp::Add, x, Operand::int(&20)).unwrap();
    let w = p.at().constant_ints(&[1, 1, 1, 2], &[3, 3], Dtype::INT64).unwrap();
    let plain = p.at().conv(x, w, PLAIN).unwrap();
    assert_eq!(range(&p, plain), Some((60, 180)));
    let padded = p.at().conv(x, w, Lies { before: [1, 0], ..PLAIN }).unwrap();
    assert_eq!(range(&p, padded), Some((0, 180)));
}

#[test]
fn impossible_shapes_are_refused() {
    let mut p = Program::default();
    let x = p.input(&[1, 2, 2, 3], INT8, &[1; 12]);
    let w = p.input(&[2, 2, 2, 2], INT8, &[1; 16]);
    let flat = p.input(&[4], INT8, &[1; 4]);
    let narrow = p.input(&[3, 1, 1, 1], INT8, &[1; 3]);
    let empty = p.input(&[1, 2, 0, 1], INT8, &[]);
    let cases = [
        (x, flat, PLAIN, "images are (batch, channels, rows, columns)"),
        (flat, w, PLAIN, "images are (batch, channels, rows, columns)"),
        (x, narrow, PLAIN, "as many channels"),
        (x, w, Lies { groups: 0, ..PLAIN }, "as many channels"),
        (x, narrow, Lies { groups: 2, ..PLAIN }, "multiple of that of groups"),
        (x, w, Lies { stride: [0, 1], ..PLAIN }, "at least 1"),
        (x, w, Lies { dilation: [1, 0], ..PLAIN }, "at least 1"),
        (x, w, Lies { dilation: [2, 1], ..PLAIN }, "must fit"),
        (x, w, Lies { before: [1 << 20, 1], ..PLAIN }, "at most 65536"),
        (x, empty, PLAIN, "at least one row"),
    ];
    for (x, w, lies, wanted) in cases {
        let error = p.at().conv(x, w, lies).unwrap_err().to_string();
        assert!(error.contains(wanted) && error.contains("conv2d of images"), "{error}");
    }
}

#[test]
fn every_size_counts_in_the_hash() {
    let hash = |images: [usize; 4], filters: [usize; 4], lies: Lies| {
        let mut graph = Graph::new();
        let at = || Source::new("a.py", 1);
        let x = graph.at(at()).input(0, 3, &images, INT8, None).unwrap();
        let w = graph.at(at()).input(0, 3, &filters, INT8, None).unwrap();
        let id = graph.at(at()).conv(x, w, lies).unwrap();
        graph.prefix_hash(id)
    };
    let (images, filters) = ([1, 2, 4, 4], [2, 2, 2, 2]);
    let variants = [
        hash(images, filters, PLAIN),
        hash(images, filters, Lies { stride: [2, 1], ..PLAIN }),
        hash(images, filters, Lies { stride: [1, 2], ..PLAIN }),
        hash(images, filters, Lies { dilation: [2, 1], ..PLAIN }),
        hash(images, filters, Lies { dilation: [1, 2], ..PLAIN }),
        hash(images, filters, Lies { before: [1, 0], ..PLAIN }),
        hash(images, filters, Lies { after: [1, 0], ..PLAIN }),
        hash(images, filters, Lies { before: [0, 1], ..PLAIN }),
        hash(images, filters, Lies { after: [0, 1], ..PLAIN }),
        hash(images, [2, 1, 2, 2], Lies { groups: 2, ..PLAIN }),
        // Convolutions with the same result shape.
        hash([1, 2, 5, 5], filters, Lies { stride: [2, 2], ..PLAIN }),
        hash([1, 2, 5, 5], filters, Lies { stride: [3, 2], ..PLAIN }),
        hash([1, 2, 5, 5], filters, Lies { stride: [2, 3], ..PLAIN }),
        hash([1, 2, 5, 5], filters, Lies { stride: [2, 2], dilation: [2, 1], ..PLAIN }),
        hash([1, 2, 5, 5], filters, Lies { stride: [2, 2], dilation: [1, 2], ..PLAIN }),
    ];
    assert_eq!(variants.iter().collect::<BTreeSet<_>>().len(), variants.len());
}
