//! Public numbers that are broadcast: they are kept once, and mean what one number for each element means.

use quorate_graph::{BinaryOp as B, Bound, BuildError, Builder, Dtype, NodeId, Op, Operand, shape};

use crate::common::{FIX, Program};

const INT: Dtype = Dtype::INT64;

/// Public integers, and the numbers of all elements of the shape that they are broadcast to.
struct Public {
    values: Vec<i128>,
    all: Vec<i128>,
}

impl Public {
    fn new(shape: &[usize], to: &[usize]) -> Public {
        let values: Vec<i128> = (0..shape.iter().product::<usize>()).map(|i| i as i128 * 5 % 7 + 2).collect();
        let all = shape::broadcast_index(shape, to).iter().map(|&i| values[i as usize]).collect();
        Public { values, all }
    }
}

/// The place of the operation on bits of integers in [`ON_INTEGERS`].
const AND: usize = 5;

type Made = fn(Builder<'_>, NodeId, Operand<'_>) -> Result<NodeId, BuildError>;

/// Operations on an array of integers and public ones.
const ON_INTEGERS: [Made; 11] = [
    |mut at, x, by| at.binary(B::Add, x, by),
    |mut at, x, by| at.binary(B::Sub, by, x),
    |mut at, x, by| at.binary(B::Mul, x, by),
    |mut at, x, by| at.binary(B::Lt, x, by),
    |mut at, x, by| at.binary(B::Eq, x, by),
    |mut at, x, by| at.binary(B::And, x, by),
    |mut at, x, by| at.floor_div(x, by),
    |mut at, x, by| at.divide(x, by),
    |mut at, x, by| {
        let less = at.binary(B::Lt, x, Operand::int(&3))?;
        at.select(less, x, by)
    },
    |mut at, x, by| {
        let quotient = at.floor_div(x, by)?;
        at.remainder(x, quotient, by)
    },
    |mut at, x, by| {
        let above = at.binary(B::Lt, by, x)?;
        let low = at.select(above, by, x)?;
        at.sum(low, Some(0), false)
    },
];

/// Returns the largest list of public numbers that a program keeps.
fn longest(p: &Program) -> usize {
    let kept = p.graph.nodes().iter().map(|node| match &node.op {
        Op::Constant(units) | Op::FloorDiv(units) | Op::Remainder(units) => units.len(),
        Op::Scale(scale) => scale.whole.len().max(scale.factors.len()),
        _ => 0,
    });
    kept.max().unwrap_or(0)
}

#[test]
fn rows_and_columns_are_kept_once() {
    let rows = 300_000;
    for (shape, to) in [(vec![20], vec![rows, 20]), (vec![20, 1], vec![20, rows]), (vec![2, 10, 1], vec![9, 2, 10, 99])]
    {
        let values: Vec<i128> = (1..=20).collect();
        let reals: Vec<f64> = values.iter().map(|&v| v as f64 / 7.0).collect();
        for (place, made) in ON_INTEGERS.into_iter().enumerate() {
            if place == AND && shape.len() > 1 {
                continue; // the bits of one number for several elements in a row come again only together
            }
            let mut p = Program::default();
            let x = p.at().input(0, 3, &to, INT, Some(Bound::Int(1000))).unwrap();
            made(p.at(), x, Operand::Ints { shape: &shape, values: &values }).unwrap();
            // The bits of 20 numbers.
            assert!((2..=20 * 64).contains(&longest(&p)), "{shape:?} to {to:?}: {}", longest(&p));
        }
        let mut p = Program::default();
        let x = p.at().input(0, 3, &to, FIX, Some(Bound::Int(100))).unwrap();
        p.at().binary(B::Mul, x, Operand::Reals { shape: &shape, values: &reals }).unwrap();
        assert_eq!(longest(&p), 20, "{shape:?} to {to:?}");
    }
}

#[test]
fn they_mean_what_a_number_for_each_element_means() {
    let shapes: [(&[usize], &[usize]); 6] = [
        (&[6], &[4, 6]),
        (&[4, 1], &[4, 6]),
        (&[1, 2, 1], &[3, 2, 4]),
        (&[3, 1, 4], &[3, 2, 4]),
        (&[2, 1], &[3, 2, 4]),
        (&[4], &[3, 2, 4]),
    ];
    let mut compared = 0;
    for (from, to) in shapes {
        let public = Public::new(from, to);
        let count: i128 = to.iter().product::<usize>() as i128;
        let values: Vec<i128> = (0..count).map(|i| i * 37 % 101 - 50).collect();
        for (made, is_array) in ON_INTEGERS.into_iter().flat_map(|made| [(made, false), (made, true)]) {
            let [(few, few_id), (all, all_id)] = [(from, &public.values), (to, &public.all)].map(|(shape, numbers)| {
                let mut p = Program::default();
                let x = p.at().input(0, 3, to, INT, Some(Bound::Int(100))).unwrap();
                p.inputs.insert(x, values.clone());
                let by = match is_array {
                    true => Operand::Node(p.at().constant_ints(shape, numbers, INT).unwrap()),
                    false => Operand::Ints { shape, values: numbers },
                };
                let made = made(p.at(), x, by).unwrap();
                (p, made)
            });
            let node = few.graph.node(few_id);
            assert_eq!(node.range(), all.graph.node(all_id).range());
            assert_eq!(few.graph.own_inputs(few_id), all.graph.own_inputs(all_id));
            let [ours, theirs] = [(&few, few_id), (&all, all_id)].map(|(p, id)| p.values(id, node.dtype, &node.shape));
            assert_eq!(ours, theirs, "{} of {from:?} to {to:?}", node.op.name());
            compared += 1;
        }
    }
    assert_eq!(compared, 2 * shapes.len() * ON_INTEGERS.len());
}

#[test]
fn rows_and_columns_of_the_same_numbers_are_told_apart() {
    let hashes = [[1, 2], [2, 1]].map(|shape| {
        let mut p = Program::default();
        let x = p.input(&[2, 2], INT, &[0; 4]);
        let values = &[3, 5];
        let id = p.at().binary(B::Add, x, Operand::Ints { shape: &shape, values }).unwrap();
        let quotient = p.at().floor_div(x, Operand::Ints { shape: &shape, values }).unwrap();
        [id, quotient].map(|id| p.graph.part_hash(id))
    });
    assert!(hashes[0].iter().zip(&hashes[1]).all(|(row, column)| row != column));
}

/// A row of zeros and ones picks columns of an input.
#[test]
fn elements_that_a_row_keeps_are_an_input() {
    let mut p = Program::default();
    let x = p.input(&[3, 4], INT, &[0; 12]);
    let row = Operand::Ints { shape: &[4], values: &[1, 0, 1, 0] };
    let kept = p.at().binary(B::Mul, x, row).unwrap();
    assert!(!p.graph.own_inputs(kept).is_empty());
    for (column, is_kept) in [true, false, true, false].into_iter().enumerate() {
        let positions = (0..3).map(|i| 4 * i + column as u32).collect();
        let one = p.at().gather(kept, positions, &[3]).unwrap();
        assert_eq!(!p.graph.own_inputs(one).is_empty(), is_kept, "column {column}");
    }
    let none = p.at().binary(B::Mul, x, Operand::Ints { shape: &[4], values: &[0; 4] }).unwrap();
    assert!(p.graph.own_inputs(none).is_empty());
    let below = p.at().binary(B::Mul, x, Operand::Ints { shape: &[3, 1], values: &[0, 2, 0] }).unwrap();
    for (row, is_kept) in [false, true, false].into_iter().enumerate() {
        let positions = (0..4).map(|i| i + 4 * row as u32).collect();
        let one = p.at().gather(below, positions, &[4]).unwrap();
        assert_eq!(!p.graph.own_inputs(one).is_empty(), is_kept, "row {row}");
    }
}
