//! Vectors, compared with integers: exhaustive over tiny rings, random over all carriers, on every instruction set.

use crate::simd::forced::on_all;
use crate::{Carrier, Ring, RingError, Vector};
use proptest::prelude::*;

/// Returns the expected result: an element of Z_2^k as an integer.
fn reduced(ring: Ring, value: u128) -> u128 {
    if ring.bits() == 128 { value } else { value % (1 << ring.bits()) }
}

fn signed(ring: Ring, value: u128) -> i128 {
    let value = reduced(ring, value);
    let half = 1u128 << (ring.bits() - 1);
    if value < half { value as i128 } else { (value - half) as i128 - (half - 1) as i128 - 1 }
}

/// Applies `op` to a vector of `x` and compares with `oracle`, on every path.
fn check1(ring: Ring, x: &[u128], op: impl Fn(&mut Vector), oracle: impl Fn(u128) -> u128) {
    let expected: Vec<u128> = x.iter().map(|&x| reduced(ring, oracle(x))).collect();
    for (path, got) in on_all(|| {
        let mut v = Vector::from_u128s(ring, x);
        op(&mut v);
        v.to_u128s()
    }) {
        assert_eq!(got, expected, "{ring:?} on {path:?}");
    }
}

fn check2(ring: Ring, x: &[u128], y: &[u128], op: impl Fn(&mut Vector, &Vector), oracle: impl Fn(u128, u128) -> u128) {
    let expected: Vec<u128> = x.iter().zip(y).map(|(&x, &y)| reduced(ring, oracle(x, y))).collect();
    for (path, got) in on_all(|| {
        let (mut v, w) = (Vector::from_u128s(ring, x), Vector::from_u128s(ring, y));
        op(&mut v, &w);
        v.to_u128s()
    }) {
        assert_eq!(got, expected, "{ring:?} on {path:?}");
    }
}

fn check_all(ring: Ring, x: &[u128], y: &[u128]) {
    check2(ring, x, y, |v, w| v.add_assign(w), u128::wrapping_add);
    check2(ring, x, y, |v, w| v.sub_assign(w), u128::wrapping_sub);
    check2(ring, x, y, |v, w| v.rsub_assign(w), |x, y| y.wrapping_sub(x));
    check2(ring, x, y, |v, w| v.mul_assign(w), u128::wrapping_mul);
    check2(ring, x, y, |v, w| v.add_mul_assign(w, w), |x, y| x.wrapping_add(y.wrapping_mul(y)));
    check1(ring, x, Vector::neg_assign, u128::wrapping_neg);
    check1(ring, x, Vector::reduce, |x| x);
    for shift in 0..ring.bits() + 2 {
        let below = |x: u128| if shift < ring.bits() { x } else { 0 };
        check1(ring, x, |v| v.shl(shift), |x| below(x).wrapping_shl(shift));
        check1(ring, x, |v| v.shr_logical(shift), |x| below(reduced(ring, x)).wrapping_shr(shift));
        // Garbage above bit k must not be shifted down.
        let (negate, back) = (|v: &mut Vector| v.neg_assign(), |x: u128| reduced(ring, x.wrapping_neg()));
        let shifted = |v: &mut Vector| {
            negate(v);
            v.shr_logical(shift);
        };
        check1(ring, x, shifted, |x| below(back(x)).wrapping_shr(shift));
    }
    for &scalar in y.iter().take(20) {
        check1(ring, x, |v| v.add_scalar(scalar), |x| x.wrapping_add(scalar));
        check1(ring, x, |v| v.scale(scalar), |x| x.wrapping_mul(scalar));
    }
}

#[test]
fn tiny_rings_exhaustively() {
    for bits in 1..=5 {
        let ring = Ring::of(bits);
        let size = 1u128 << bits;
        let x: Vec<u128> = (0..size * size).map(|i| i / size).collect();
        let y: Vec<u128> = (0..size * size).map(|i| i % size).collect();
        check_all(ring, &x, &y);
    }
}

#[test]
fn every_ring_converts_to_every_other() {
    let values: Vec<u128> = (0..64)
        .map(|i| 1u128.wrapping_shl(2 * i))
        .chain([0, 1, 2, 3, u128::MAX, u128::MAX - 1, u128::MAX / 3, 1 << 127, (1 << 127) - 1])
        .collect();
    for from in (1..=128).map(Ring::of) {
        let mut v = Vector::from_u128s(from, &values);
        // This leaves garbage above bit k.
        v.neg_assign();
        let negated: Vec<u128> = values.iter().map(|x| reduced(from, x.wrapping_neg())).collect();
        for to in (1..=128).map(Ring::of) {
            let expected: Vec<u128> = negated.iter().map(|&x| reduced(to, x)).collect();
            assert_eq!(v.convert(to).to_u128s(), expected, "{from:?} to {to:?}");
            let expected: Vec<u128> = negated.iter().map(|&x| reduced(to, signed(from, x) as u128)).collect();
            assert_eq!(v.sign_extend(to).to_u128s(), expected, "{from:?} to {to:?} with signs");
        }
        let expected: Vec<i128> = negated.iter().map(|&x| signed(from, x)).collect();
        assert_eq!(v.to_i128s(), expected);
        if from.bits() <= 64 {
            assert_eq!(v.to_i64s(), expected.iter().map(|&x| x as i64).collect::<Vec<_>>());
            assert_eq!(v.to_u64s(), negated.iter().map(|&x| x as u64).collect::<Vec<_>>());
        }
    }
}

#[test]
fn bits_of_elements_and_back() {
    for ring in (1..=128).map(Ring::of) {
        for len in [0usize, 1, 5, 64, 65, 511, 577] {
            let values: Vec<u128> = (0..len as u128).map(|i| (i + 3).wrapping_pow(41)).collect();
            let mut v = Vector::from_u128s(ring, &values);
            v.neg_assign();
            let values = v.to_u128s();
            for range in [0..ring.bits(), 0..1, ring.bits() - 1..ring.bits(), ring.bits() / 3..ring.bits(), 0..0] {
                let expected: Vec<bool> =
                    range.clone().flat_map(|bit| values.iter().map(move |x| x >> bit & 1 == 1)).collect();
                for (path, bits) in on_all(|| v.to_bits(range.clone())) {
                    assert_eq!((bits.rows(), bits.lanes()), (range.len(), len));
                    assert!(bits.to_bools() == expected, "bits {range:?} of {ring:?}, {len} lanes, {path:?}");
                }
            }
            for (path, back) in on_all(|| v.to_bits(0..ring.bits()).to_vector(ring)) {
                assert_eq!(back.to_u128s(), values, "{ring:?}, {len} lanes, {path:?}");
            }
            let wider = Ring::of((ring.bits() + 10).min(128));
            assert_eq!(v.to_bits(0..ring.bits()).to_vector(wider).to_u128s(), values);
            let narrower = Ring::of(ring.bits().div_ceil(2));
            let expected: Vec<u128> = values.iter().map(|&x| reduced(narrower, x)).collect();
            assert_eq!(v.to_bits(0..ring.bits()).to_vector(narrower).to_u128s(), expected);
            assert_eq!(v.low_bit().to_bools(), values.iter().map(|x| x & 1 == 1).collect::<Vec<_>>());
        }
    }
}

#[test]
fn packing_is_exact_for_every_k() {
    for ring in (1..=128).map(Ring::of) {
        for len in [0usize, 1, 2, 7, 8, 9, 63, 64, 65, 200] {
            let mut v =
                Vector::from_u128s(ring, &(0..len as u128).map(|i| (i + 7).wrapping_pow(43)).collect::<Vec<_>>());
            v.neg_assign();
            let k = ring.bits() as usize;
            let mut expected = vec![0xabu8; 3];
            expected.resize(3 + (len * k).div_ceil(8), 0);
            for (i, value) in v.to_u128s().into_iter().enumerate() {
                for bit in (0..k).filter(|bit| value >> bit & 1 == 1) {
                    expected[3 + (i * k + bit) / 8] |= 1 << ((i * k + bit) % 8);
                }
            }
            assert_eq!(ring.packed_bytes(len), expected.len() - 3);
            let packed = || {
                let mut out = vec![0xab; 3];
                v.pack(&mut out);
                out
            };
            for (path, out) in on_all(packed) {
                assert!(out == expected, "packing {len} of {ring:?} on {path:?}");
            }
            let mut garbled = expected[3..].to_vec();
            if !(len * k).is_multiple_of(8) {
                *garbled.last_mut().unwrap() |= 0xff << ((len * k) % 8);
            }
            for (path, back) in on_all(|| Vector::unpack(ring, len, &garbled).unwrap()) {
                assert_eq!(back.to_u128s(), v.to_u128s(), "unpacking {len} of {ring:?} on {path:?}");
            }
        }
    }
}

#[test]
fn wrong_lengths_are_errors_before_memory_is_taken() {
    let ring = Ring::of(13);
    let expected = RingError::BadLength { expected_bytes: 5, got_bytes: 4 };
    assert_eq!(Vector::unpack(ring, 3, &[0; 4]).unwrap_err(), expected);
    assert!(Vector::unpack(ring, 3, &[0; 6]).is_err());
    assert!(Vector::unpack(ring, 0, &[0]).is_err());
    assert!(Vector::unpack(Ring::of(128), usize::MAX, &[0; 64]).is_err());
    assert!(Vector::unpack(Ring::of(1), usize::MAX, &[0; 64]).is_err());
}

#[test]
fn rings() {
    assert_eq!(Ring::new(0), Err(RingError::BadWidth { bits: 0 }));
    assert_eq!(Ring::new(257), Err(RingError::BadWidth { bits: 257 }));
    for bits in 1..=256 {
        let ring = Ring::new(bits).unwrap();
        assert_eq!((ring, ring.bits()), (Ring::of(bits), bits));
        assert!(bits > 128 || ring.mask().count_ones() == bits);
        let carriers =
            [Carrier::U8, Carrier::U16, Carrier::U32, Carrier::U64, Carrier::U128, Carrier::U192, Carrier::U256];
        assert_eq!(Some(ring.carrier()), carriers.into_iter().find(|carrier| carrier.bits() >= bits));
    }
    assert_eq!(format!("{:?}", Ring::of(20)), "Z_2^20");
    assert_eq!(Ring::of(128).packed_bytes(usize::MAX), usize::MAX);
}

#[test]
fn taking_apart_and_putting_together() {
    for bits in [3, 13, 20, 40, 100] {
        let ring = Ring::of(bits);
        let values: Vec<u64> = (0..24).map(|i| i * 5 % 8).collect();
        let v = Vector::from_u64s(ring, &values);
        assert_eq!(v.slice(3..9).to_u64s(), values[3..9]);
        let mut w = v.slice(0..5);
        w.append(&v.slice(5..24));
        assert_eq!(w.to_u64s(), values);
        assert_eq!(Vector::concat(&[&v.slice(0..1), &v.slice(1..1), &v.slice(1..24)]).to_u64s(), values);
        w.write_at(2, &v.slice(0..3));
        assert_eq!(w.to_u64s()[..6], [values[0], values[1], values[0], values[1], values[2], values[5]]);
        assert_eq!(v.gather(&[4, 4, 0, 23]).to_u64s(), [values[4], values[4], values[0], values[23]]);
        for (repeats, expected) in [(false, [7, 8, 9, 0, 1, 2]), (true, [7, 7, 7, 0, 0, 0])] {
            let runs = crate::Runs { starts: vec![7, 0], width: 3, repeats };
            assert_eq!(v.gather_runs(&runs).to_u64s(), expected.map(|i: usize| values[i]));
            assert_eq!(v.gather(&runs.list()).to_u64s(), expected.map(|i: usize| values[i]));
        }
        assert_eq!(v.slice(7..8).broadcast_scalar(3).to_u64s(), [values[7]; 3]);
        assert_eq!(Vector::constant(ring, 5, 2).to_u64s(), [5, 5]);
        for (outer, axis, inner) in [(2, 3, 4), (1, 24, 1), (24, 1, 1), (1, 1, 24), (4, 6, 1), (1, 6, 4)] {
            let sum = |o: usize, i: usize| (0..axis).map(|a| values[(o * axis + a) * inner + i]).sum::<u64>();
            let expected: Vec<u64> =
                (0..outer * inner).map(|at| sum(at / inner, at % inner) & ring.mask() as u64).collect();
            assert_eq!(v.sum_axis(outer, axis, inner).to_u64s(), expected, "{outer} x {axis} x {inner}");
        }
        let factors: Vec<u64> = (0..24).map(|i| u64::MAX / (i + 1)).collect();
        let weighed = values.iter().zip(&factors).fold(0u64, |sum, (x, y)| sum.wrapping_add(x.wrapping_mul(*y)));
        assert_eq!(v.weighed(&factors).to_u64s(), [weighed & ring.mask() as u64]);
        assert_eq!(v.slice(0..0).weighed(&[]).to_u64s(), [0]);
        assert_eq!(v.slice(0..0).sum_axis(3, 0, 2).to_u64s(), [0; 6]);
        assert_eq!(v.slice(0..0).sum_axis(0, 3, 2).to_u64s(), [0; 0]);
    }
}

#[test]
fn matrices_in_every_carrier() {
    for bits in [1, 8, 13, 20, 32, 50, 64, 90, 128] {
        let ring = Ring::of(bits);
        let (a, b) = (Vector::from_u64s(ring, &[1, 2, 3, 4, 5, 6]), Vector::from_u64s(ring, &[7, 8, 9, 1, 2, 3]));
        let expected = [31u64, 19, 85, 55].map(|x| x & ring.mask() as u64);
        assert_eq!(Vector::matmul(&a, &b, (2, 3, 2)).to_u64s(), expected, "{ring:?}");
    }
}

/// Tests that every operation on shapes, or on a shape and data, gives the shape that it gives on data.
#[test]
fn shapes_follow_data() {
    let (ring, wide) = (Ring::of(20), Ring::of(40));
    let (data, shape) = (Vector::zeros(ring, 12), Vector::shape(ring, 12));
    let same = |v: &Vector, w: &Vector| {
        assert!(v.is_shape() && !w.is_shape());
        assert_eq!((v.ring(), v.len()), (w.ring(), w.len()));
        assert_eq!((v.memory_bytes(), v.to_u64s().len(), v.to_i128s().len()), (0, 0, 0));
    };
    let two: [fn(&mut Vector, &Vector); 5] = [
        |v, w| v.add_assign(w),
        |v, w| v.sub_assign(w),
        |v, w| v.mul_assign(w),
        |v, w| v.add_mul_assign(w, w),
        |v, w| v.write_at(3, &w.slice(1..4)),
    ];
    for op in two {
        for (mut v, w) in [(shape.clone(), &shape), (shape.clone(), &data), (data.clone(), &shape)] {
            op(&mut v, w);
            same(&v, &data);
        }
    }
    let mut v = shape.clone();
    v.reduce();
    v.neg_assign();
    v.add_scalar(3);
    v.scale(3);
    v.shl(3);
    v.shr_logical(30);
    v.wipe();
    assert!(v.bytes_mut().is_empty());
    same(&v, &data);
    same(&shape.convert(wide), &data.convert(wide));
    same(&shape.sign_extend(wide), &data.sign_extend(wide));
    same(&shape.slice(2..5), &data.slice(2..5));
    same(&shape.gather(&[1, 99]), &data.gather(&[1, 2]));
    same(&shape.slice(2..3).broadcast_scalar(7), &data.slice(2..3).broadcast_scalar(7));
    same(&shape.sum_axis(2, 3, 2), &data.sum_axis(2, 3, 2));
    same(&Vector::concat(&[&shape, &data]), &Vector::concat(&[&data, &data]));
    same(&Vector::matmul(&shape, &data, (3, 4, 3)), &Vector::matmul(&data, &data, (3, 4, 3)));
    same(&Vector::matmul(&data, &shape, (3, 4, 3)), &Vector::matmul(&data, &data, (3, 4, 3)));
    let mut appended = data.clone();
    appended.append(&shape);
    same(&appended, &Vector::zeros(ring, 24));
    let bits = shape.to_bits(3..9);
    assert!(bits.is_shape() && (bits.rows(), bits.lanes()) == (6, 12));
    same(&bits.to_vector(wide), &data.to_bits(3..9).to_vector(wide));
    let mut out = vec![1];
    shape.pack(&mut out);
    assert_eq!(out, [1]);
    assert!(Vector::shape(wide, usize::MAX).to_bits(0..40).is_shape());
}

#[test]
#[should_panic(expected = "rings and lengths must agree")]
fn lengths_must_agree() {
    Vector::zeros(Ring::of(8), 3).add_assign(&Vector::shape(Ring::of(8), 4));
}

#[test]
#[should_panic(expected = "rings and lengths must agree")]
fn rings_must_agree() {
    Vector::shape(Ring::of(8), 3).add_assign(&Vector::shape(Ring::of(7), 3));
}

#[test]
fn memory_is_visible_to_a_generator_and_wiped() {
    for bits in [7, 9, 20, 60, 100] {
        let mut v = Vector::zeros(Ring::of(bits), 5);
        let bytes = v.ring().carrier().bytes() * 5;
        assert_eq!((v.bytes_mut().len(), v.memory_bytes()), (bytes, bytes));
        v.bytes_mut().fill(0xff);
        assert_eq!(v.to_u128s(), [v.ring().mask(); 5]);
        v.wipe();
        assert!(v.bytes_mut().iter().all(|byte| *byte == 0));
    }
}

#[test]
fn values_are_not_printed() {
    let v = Vector::from_u64s(Ring::of(64), &[123_456_789]);
    assert_eq!(format!("{v:?}"), "vector of 1 over Z_2^64");
    assert_eq!(format!("{:?}", v.to_bits(0..64)), "matrix of 64 x 1 bits");
}

fn ring_and_two() -> impl Strategy<Value = (u32, Vec<u128>, Vec<u128>)> {
    (1u32..=128, 0usize..150).prop_flat_map(|(bits, len)| {
        (Just(bits), proptest::collection::vec(any::<u128>(), len), proptest::collection::vec(any::<u128>(), len))
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 60, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn random_vectors((bits, x, y) in ring_and_two()) {
        check_all(Ring::of(bits), &x, &y);
    }

    #[test]
    fn random_bytes_unpack_and_pack(bits in 1u32..=128, len in 0usize..150, seed in any::<u64>()) {
        let ring = Ring::of(bits);
        let byte = |i: u64| (seed ^ i).wrapping_mul(0x9e37_79b9_7f4a_7c15).to_be_bytes()[0];
        let mut bytes: Vec<u8> = (0..ring.packed_bytes(len) as u64).map(byte).collect();
        let v = Vector::unpack(ring, len, &bytes).unwrap();
        let used = len * bits as usize % 8;
        if used != 0 {
            *bytes.last_mut().unwrap() &= 0xff >> (8 - used);
        }
        let mut out = Vec::new();
        v.pack(&mut out);
        prop_assert_eq!(out, bytes);
    }
}

#[test]
fn ranges_in_place_equal_slices() {
    for bits in [5u32, 16, 31, 64, 66] {
        let ring = Ring::of(bits);
        let long =
            |seed: u64| Vector::from_u64s(ring, &(0..100).map(|i| seed.wrapping_mul(i * i + 3)).collect::<Vec<_>>());
        let (a, b) = (long(0x9e37_79b9_7f4a_7c15), long(0xff51_afd7_ed55_8ccd));
        for range in [0..100, 0..0, 7..40, 99..100] {
            let (x, y) = (a.slice(range.clone()), b.slice(range.clone()));
            let mut whole = a.clone();
            whole.add_at(range.start, &y);
            let mut expected = x.clone();
            expected.add_assign(&y);
            assert_eq!(whole.slice(range.clone()).to_u128s(), expected.to_u128s());
            whole.write_at(range.start, &x);
            assert_eq!(whole.to_u128s(), a.to_u128s());
            whole.bytes_of_mut(range.clone()).fill(0);
            let zeroed = whole.to_u128s();
            assert!(range.clone().all(|i| zeroed[i] == 0));
        }
    }
}
