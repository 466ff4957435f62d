//! Packed bits, compared with arrays of `bool`, on every instruction set.

use super::Bits;
use crate::simd::forced::on_all;
use crate::{Module, Ring, RingError, Runs, Vector};
use proptest::prelude::*;

fn sample(count: usize, seed: u64) -> Vec<bool> {
    (0..count as u64).map(|i| (i + seed).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 61 & 1 == 1).collect()
}

/// Returns a matrix whose padding is garbage.
fn matrix(rows: usize, lanes: usize, bools: &[bool]) -> Bits {
    let inverted: Vec<bool> = bools.iter().map(|bit| !bit).collect();
    let mut bits = Bits::from_bools(rows, lanes, &inverted);
    bits.not_assign();
    bits
}

const SIZES: [(usize, usize); 12] =
    [(0, 0), (0, 5), (5, 0), (1, 1), (2, 3), (3, 63), (3, 64), (2, 65), (1, 128), (5, 129), (64, 8), (7, 200)];

#[test]
fn logic() {
    for (rows, lanes) in SIZES {
        let (x, y, z) = (sample(rows * lanes, 1), sample(rows * lanes, 2), sample(rows * lanes, 3));
        let check = |op: fn(&mut Bits, &Bits, &Bits), oracle: fn(bool, bool, bool) -> bool| {
            let expected: Vec<bool> = (0..x.len()).map(|i| oracle(x[i], y[i], z[i])).collect();
            for (path, got) in on_all(|| {
                let mut bits = matrix(rows, lanes, &x);
                op(&mut bits, &matrix(rows, lanes, &y), &matrix(rows, lanes, &z));
                bits.to_bools()
            }) {
                assert_eq!(got, expected, "{rows} x {lanes} on {path:?}");
            }
        };
        check(|x, y, _| x.xor_assign(y), |x, y, _| x ^ y);
        check(|x, y, _| x.and_assign(y), |x, y, _| x & y);
        check(|x, y, z| x.add_and_assign(y, z), |x, y, z| x ^ (y & z));
        check(|x, _, _| x.not_assign(), |x, _, _| !x);
        assert_eq!(Bits::constant(true, rows, lanes).to_bools(), vec![true; rows * lanes]);
    }
}

#[test]
fn rows() {
    for (rows, lanes) in SIZES.into_iter().filter(|size| size.0 > 0) {
        let bools = sample(rows * lanes, 4);
        let bits = matrix(rows, lanes, &bools);
        for row in 0..rows {
            assert_eq!(bits.row(row).to_bools(), bools[row * lanes..(row + 1) * lanes]);
        }
        assert_eq!(bits.slice_rows(1..rows).to_bools(), bools[lanes..]);
        assert_eq!(Bits::concat_rows(&[&bits.row(0), &bits.slice_rows(1..rows)]).to_bools(), bools);
        let last = rows - 1;
        assert_eq!(
            bits.gather_rows(&[last as u32, 0, 0]).to_bools(),
            [&bools[last * lanes..], &bools[..lanes], &bools[..lanes]].concat()
        );
        assert_eq!(bits.row(0).broadcast_row(3).to_bools(), bools[..lanes].repeat(3));
    }
}

#[test]
fn lanes() {
    for (rows, lanes) in SIZES {
        let bools = sample(rows * lanes, 5);
        let bits = matrix(rows, lanes, &bools);
        let cut = |from: usize, to: usize| -> Vec<bool> {
            (0..rows).flat_map(|row| bools[row * lanes + from..row * lanes + to].to_vec()).collect()
        };
        for from in 0..=lanes {
            for to in [from, from + 1, from + 63, from + 64, from + 70, lanes] {
                if to < from || to > lanes {
                    continue;
                }
                assert_eq!(bits.slice_lanes(from..to).to_bools(), cut(from, to), "{rows} x {lanes}, {from}..{to}");
            }
            let joined = Bits::concat_lanes(&[&bits.slice_lanes(0..from), &bits, &bits.slice_lanes(from..lanes)]);
            let expected: Vec<bool> = (0..rows)
                .flat_map(|row| {
                    let line = &bools[row * lanes..(row + 1) * lanes];
                    [&line[..from], line, &line[from..]].concat()
                })
                .collect();
            assert_eq!(joined.to_bools(), expected);
        }
        let reversed: Vec<u32> = (0..lanes as u32).rev().collect();
        let expected: Vec<bool> =
            (0..rows).flat_map(|row| bools[row * lanes..(row + 1) * lanes].iter().rev().copied()).collect();
        assert_eq!(bits.gather_lanes(&reversed).to_bools(), expected);
    }
}

#[test]
fn lanes_in_runs_are_those_of_the_list() {
    for (rows, lanes) in SIZES {
        let bits = matrix(rows, lanes, &sample(rows * lanes, 3));
        for width in [1, 2, 63, 64, 65, 128, 200].into_iter().filter(|&width| width <= lanes) {
            for repeats in [false, true] {
                let last = lanes - if repeats { 1 } else { width };
                let starts = [0, last, last / 2, last / 3, last].map(|start| start as u32).to_vec();
                let runs = Runs { starts, width: width as u32, repeats };
                let expected = bits.gather_lanes(&runs.list());
                assert_eq!(bits.gather_runs(&runs).to_bools(), expected.to_bools(), "{rows} x {lanes}, {runs:?}");
                assert!(runs.len() == 5 * width && Bits::shape(rows, lanes).gather_runs(&runs).lanes() == runs.len());
            }
        }
        let none = Runs { starts: vec![], width: 64, repeats: false };
        assert!(none.is_empty() && bits.gather_runs(&none).lanes() == 0);
    }
}

#[test]
fn many_lanes_are_gathered_alike_on_any_number_of_threads() {
    let lanes = 300_017;
    let bits = matrix(2, lanes, &sample(2 * lanes, 4));
    let positions: Vec<u32> = (0..lanes as u32).map(|i| (u64::from(i) * 7919 % lanes as u64) as u32).collect();
    let gathered = |threads: usize| {
        crate::threads::set_threads(threads).unwrap();
        let gathered = bits.gather_lanes(&positions);
        crate::threads::set_threads(1).unwrap();
        gathered.to_bools()
    };
    let bools = bits.to_bools();
    let expected: Vec<bool> =
        bools.chunks(lanes).flat_map(|row| positions.iter().map(|&at| row[at as usize])).collect();
    assert!([1, 2, 3].into_iter().all(|threads| gathered(threads) == expected));
}

#[test]
#[should_panic(expected = "a lane outside")]
fn a_run_must_lie_inside() {
    Bits::zeros(1, 100).gather_runs(&Runs { starts: vec![0, 37], width: 64, repeats: false });
}

#[test]
fn packing() {
    for (rows, lanes) in SIZES {
        let bools = sample(rows * lanes, 6);
        let bits = matrix(rows, lanes, &bools);
        let mut expected = vec![0u8; (rows * lanes).div_ceil(8)];
        for (i, _) in bools.iter().enumerate().filter(|(_, bit)| **bit) {
            expected[i / 8] |= 1 << (i % 8);
        }
        let mut out = vec![9];
        bits.pack(&mut out);
        assert_eq!(out[1..], expected, "{rows} x {lanes}");
        assert_eq!(Bits::packed_bytes(rows, lanes), expected.len());
        if !(rows * lanes).is_multiple_of(8) {
            *expected.last_mut().unwrap() |= 0xff << (rows * lanes % 8);
        }
        assert_eq!(Bits::unpack(rows, lanes, &expected).unwrap().to_bools(), bools);
        let got_bytes = expected.len() + 1;
        expected.push(0);
        let error = RingError::BadLength { expected_bytes: got_bytes - 1, got_bytes };
        assert_eq!(Bits::unpack(rows, lanes, &expected).unwrap_err(), error);
    }
    assert!(Bits::unpack(usize::MAX, usize::MAX, &[0; 8]).is_err());
}

#[test]
fn shapes_follow_data() {
    let (data, shape) = (Bits::zeros(4, 70), Bits::shape(4, 70));
    let same = |x: &Bits, y: &Bits| {
        assert!(x.is_shape() && !y.is_shape());
        assert_eq!((x.rows(), x.lanes()), (y.rows(), y.lanes()));
        assert_eq!((x.memory_bytes(), x.to_bools().len()), (0, 0));
    };
    let two: [fn(&mut Bits, &Bits); 3] =
        [|x, y| x.xor_assign(y), |x, y| x.and_assign(y), |x, y| x.add_and_assign(y, y)];
    for op in two {
        for (mut x, y) in [(shape.clone(), &shape), (shape.clone(), &data), (data.clone(), &shape)] {
            op(&mut x, y);
            same(&x, &data);
        }
    }
    let mut x = shape.clone();
    x.not_assign();
    x.wipe();
    assert!(x.bytes_mut().is_empty());
    same(&x, &data);
    same(&shape.row(2), &data.row(2));
    same(&shape.slice_rows(1..3), &data.slice_rows(1..3));
    same(&shape.slice_lanes(1..66), &data.slice_lanes(1..66));
    same(&shape.gather_lanes(&[1, 2]), &data.gather_lanes(&[1, 2]));
    same(&shape.gather_rows(&[1, 2]), &data.gather_rows(&[1, 2]));
    same(&shape.row(0).broadcast_row(6), &data.row(0).broadcast_row(6));
    same(&Bits::concat_rows(&[&data, &shape]), &Bits::concat_rows(&[&data, &data]));
    same(&Bits::concat_lanes(&[&data, &shape]), &Bits::concat_lanes(&[&data, &data]));
    let mut out = Vec::new();
    shape.pack(&mut out);
    assert!(out.is_empty());
}

#[test]
#[should_panic(expected = "shapes must agree")]
fn shapes_must_agree() {
    Bits::zeros(2, 3).xor_assign(&Bits::shape(3, 2));
}

/// Computes (x + y - x) + a a, packed and read back: the operations that generic protocols use.
fn through_module<M: Module>(x: &M, y: &M, a: &M) -> M {
    let mut z = x.clone();
    z.add_assign(y);
    z.sub_assign(x);
    z.add_mul_assign(a, a);
    z.reduce();
    let mut phantom = M::phantom(x.shape_of());
    phantom.add_mul_assign(a, y);
    assert!(phantom.is_shape() && phantom.shape_of() == z.shape_of());
    let mut bytes = Vec::new();
    z.pack(&mut bytes);
    assert_eq!(bytes.len(), M::packed_bytes(z.shape_of()));
    let mut gone = z.clone();
    gone.wipe();
    assert!(gone.bytes_mut().iter().all(|byte| *byte == 0));
    let mut back = M::zeros(z.shape_of());
    back.add_assign(&M::unpack(z.shape_of(), &bytes).unwrap());
    back
}

#[test]
fn generic_code_takes_vectors_and_bits() {
    let bits = |seed| matrix(3, 70, &sample(210, seed));
    let (x, y, a) = (bits(1), bits(2), bits(3));
    let mut expected = y.clone();
    expected.xor_assign(&a);
    assert_eq!(through_module(&x, &y, &a).to_bools(), expected.to_bools());
    let vector = |start: u64| Vector::from_u64s(Ring::of(13), &(start..start + 50).collect::<Vec<_>>());
    let (x, y, a) = (vector(8000), vector(5), vector(90));
    let expected: Vec<u64> = (0..50).map(|i| (5 + i + (90 + i) * (90 + i)) & 0x1fff).collect();
    assert_eq!(through_module(&x, &y, &a).to_u64s(), expected);
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn random_matrices_survive_the_wire(rows in 0usize..20, lanes in 0usize..300, seed in any::<u64>()) {
        let bools = sample(rows * lanes, seed);
        let bits = matrix(rows, lanes, &bools);
        let mut out = Vec::new();
        bits.pack(&mut out);
        prop_assert_eq!(Bits::unpack(rows, lanes, &out).unwrap().to_bools(), bools);
    }
}

#[test]
fn lanes_are_overwritten_in_place() {
    for (start, len) in [(0, 1), (0, 64), (3, 70), (64, 64), (63, 2), (100, 93), (5, 0), (193, 0)] {
        let old: Vec<bool> = (0..2 * 193).map(|i| i % 3 == 0).collect();
        let new: Vec<bool> = (0..2 * len).map(|i| i % 2 == 0).collect();
        let mut bits = Bits::from_bools(2, 193, &old);
        bits.write_lanes_at(start, &Bits::from_bools(2, len, &new));
        let mut expected = old.clone();
        for row in 0..2 {
            expected[row * 193 + start..][..len].copy_from_slice(&new[row * len..(row + 1) * len]);
        }
        assert_eq!(bits.to_bools(), expected, "{len} lanes at {start}");
    }
}

#[test]
fn rows_are_combined_in_place() {
    for lanes in [1, 64, 100] {
        let bit = |salt: usize| (0..5 * lanes).map(|i| (i * i + salt).is_multiple_of(3)).collect::<Vec<_>>();
        let (a, b) = (bit(0), bit(1));
        let row = |of: &[bool], row: usize| of[row * lanes..(row + 1) * lanes].to_vec();
        let (mut xored, other) = (Bits::from_bools(5, lanes, &a), Bits::from_bools(5, lanes, &b));
        let mut set = xored.clone();
        xored.xor_rows(&[4, 1], &other, 2);
        set.set_rows(&[4, 1], &other, 2);
        for (target, source) in [(4, Some(2)), (1, Some(3)), (0, None), (2, None), (3, None)] {
            let old = row(&a, target);
            let new = source.map_or(vec![false; lanes], |source| row(&b, source));
            let expected: Vec<bool> = old.iter().zip(&new).map(|(x, y)| x ^ y).collect();
            assert_eq!(xored.row(target).to_bools(), expected);
            assert_eq!(set.row(target).to_bools(), if source.is_some() { new } else { old });
        }
        xored.xor_rows(&[0], &Bits::shape(1, lanes), 0);
        assert!(xored.is_shape());
    }
}
