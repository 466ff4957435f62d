//! Tests of broadcasting by numpy's rules: a table, and an independent formulation by coordinates.

use proptest::prelude::*;
use quorate_graph::{Operand, shape};

use crate::common::{INT8, Program, message};

#[test]
fn a_table() {
    let fits: &[(&[usize], &[usize], &[usize])] = &[
        (&[], &[], &[]),
        (&[], &[3], &[3]),
        (&[3], &[1], &[3]),
        (&[1], &[0], &[0]),
        (&[0], &[0], &[0]),
        (&[2, 3], &[3], &[2, 3]),
        (&[2, 1], &[3], &[2, 3]),
        (&[2, 1], &[1, 3], &[2, 3]),
        (&[8, 1, 6, 1], &[7, 1, 5], &[8, 7, 6, 5]),
        (&[256, 256, 3], &[3], &[256, 256, 3]),
        (&[15, 3, 5], &[15, 1, 5], &[15, 3, 5]),
        (&[0, 1], &[1, 4], &[0, 4]),
    ];
    for (a, b, expected) in fits {
        assert_eq!(shape::broadcast(a, b).unwrap(), *expected);
        assert_eq!(shape::broadcast(b, a).unwrap(), *expected);
    }
    let clashes: &[(&[usize], &[usize])] =
        &[(&[3], &[4]), (&[0], &[2]), (&[2, 1], &[8, 4, 3]), (&[2, 3], &[2]), (&[15, 3, 5], &[15, 3])];
    for (a, b) in clashes {
        assert!(shape::broadcast(a, b).is_err());
        assert!(shape::broadcast(b, a).is_err());
    }
}

#[test]
fn sizes() {
    assert_eq!(shape::elements(&[]), Ok(1));
    assert_eq!(shape::elements(&[3, 0]), Ok(0));
    assert_eq!(shape::elements(&[u32::MAX as usize]), Ok(u32::MAX as usize));
    assert_eq!(shape::elements(&[1 << 48]), Ok(1 << 48));
    assert!(shape::elements(&[1 << 24, (1 << 24) + 1]).is_err());
    assert_eq!(shape::numbered(&[u32::MAX as usize]), Ok(u32::MAX as usize));
    assert!(shape::numbered(&[1 << 16, 1 << 16]).is_err());
    assert_eq!(shape::numbered(&[0, u32::MAX as usize]), Ok(0));
    assert!(shape::numbered(&[0, 1 << 32]).is_err());
    assert!(shape::elements(&[usize::MAX, usize::MAX, 0]).is_err());
    assert_eq!(shape::reshaped(12, &[3, -1, 2]).unwrap(), [3, 2, 2]);
    assert_eq!(shape::reshaped(0, &[0, 7]).unwrap(), [0, 7]);
    assert_eq!(shape::reshaped(0, &[-1, 7]).unwrap(), [0, 7]);
    assert_eq!(shape::reshaped(1, &[]).unwrap(), []);
    assert!(shape::reshaped(6, &[i64::MAX, i64::MAX]).is_err());
    assert!(shape::axis(i64::MIN, 2).is_err());
}

/// Returns the flattened position of coordinates.
fn position(shape: &[usize], at: &[usize]) -> usize {
    shape.iter().zip(at).fold(0, |p, (size, i)| p * size + i)
}

fn coordinates(shape: &[usize], mut flat: usize) -> Vec<usize> {
    let mut at = vec![0; shape.len()];
    for d in (0..shape.len()).rev() {
        at[d] = flat % shape[d];
        flat /= shape[d];
    }
    at
}

proptest! {
    #[test]
    fn broadcast_index_follows_coordinates(
        to in prop::collection::vec(0usize..4, 0..4),
        skip in 0usize..4,
        ones in any::<u8>(),
    ) {
        let skip = skip.min(to.len());
        let size = |(d, &s): (usize, &usize)| if ones >> d & 1 == 1 { 1 } else { s };
        let from: Vec<usize> = to[skip..].iter().enumerate().map(size).collect();
        let index = shape::broadcast_index(&from, &to);
        prop_assert_eq!(index.len(), to.iter().product::<usize>());
        let steps = shape::broadcast_steps(&from, &to);
        prop_assert_eq!(&*steps.expand(), &index[..]);
        for (flat, &found) in index.iter().enumerate() {
            let at = coordinates(&to, flat);
            let inside: Vec<usize> = at[skip..].iter().zip(&from).map(|(&i, &size)| i.min(size - 1)).collect();
            prop_assert_eq!(found as usize, position(&from, &inside));
        }
        for start in 0..=index.len() {
            let end = index.len().min(start + 5);
            prop_assert_eq!(shape::broadcast_part(&from, &to, start..end), &index[start..end]);
        }
    }

    #[test]
    fn transpose_index_follows_coordinates(shape in prop::collection::vec(1usize..4, 0..5), seed in any::<u64>()) {
        let mut axes: Vec<usize> = (0..shape.len()).collect();
        for i in 1..axes.len() {
            axes.swap(i, (seed >> (8 * i)) as usize % (i + 1));
        }
        let to: Vec<usize> = axes.iter().map(|&a| shape[a]).collect();
        for (flat, &found) in shape::transpose_index(&shape, &axes).iter().enumerate() {
            let at = coordinates(&to, flat);
            let mut from = vec![0; shape.len()];
            axes.iter().zip(&at).for_each(|(&a, &i)| from[a] = i);
            prop_assert_eq!(found as usize, position(&shape, &from));
        }
    }

    #[test]
    fn concat_index_follows_coordinates(
        outer in 1usize..4,
        rows in prop::collection::vec(0usize..4, 1..4),
        inner in 1usize..4,
    ) {
        let all: usize = rows.iter().sum();
        let index = shape::concat_index(outer, &rows, inner);
        prop_assert_eq!(index.len(), outer * all * inner);
        let (mut before, mut start) = (0, 0);
        for &count in &rows {
            for o in 0..outer { for r in 0..count { for i in 0..inner {
                let found = index[position(&[outer, all, inner], &[o, before + r, i])];
                prop_assert_eq!(found as usize, start + position(&[outer, count, inner], &[o, r, i]));
            }}}
            before += count;
            start += outer * count * inner;
        }
    }
}

/// Arrays of equal shapes are joined by steps; positions are those of the general list.
#[test]
fn joined_rows_are_those_of_the_list() {
    for (outer, count, rows, inner) in [(2, 2, 1, 1), (3, 2, 2, 1), (2, 3, 2, 4), (4, 1, 3, 2), (2, 5, 1, 3)] {
        let (mut p, each) = (Program::default(), outer * rows * inner);
        let flat: Vec<i128> = (0..(count * each) as i128).collect();
        let arrays: Vec<Operand<'_>> =
            flat.chunks(each).map(|values| p.input(&[outer, rows, inner], INT8, values).into()).collect();
        let joined = p.at().concat(&arrays, 1).unwrap();
        let expected: Vec<i128> =
            shape::concat_index(outer, &vec![rows; count], inner).into_iter().map(i128::from).collect();
        assert_eq!(p.values(joined, INT8, &[outer, count * rows, inner]), expected);
    }
}

/// Shuffles number all elements and a copy of each by words of 32 bits.
#[test]
fn arrays_of_2_to_the_31_elements_are_not_shuffled() {
    let mut program = Program::default();
    let mut at = program.at();
    let [long, shorter] = [1 << 31, (1 << 31) - 1].map(|len| at.input(0, 3, &[len], INT8, None).unwrap());
    let refused = message(at.shuffle(&[long]));
    assert!(refused.contains("fewer than 2^31 elements"), "{refused}");
    assert!(at.shuffle(&[shorter]).is_ok());
}
