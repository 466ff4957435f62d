//! Vectors over rings of more than 128 bits, compared with big integers on every instruction set, and with shorter
//! rings.

use num_bigint::BigUint;
use proptest::prelude::*;

use crate::meter::{self, Kernel};
use crate::simd::forced::on_all;
use crate::{Carrier, Codec, Ring, RingError, Vector, encode_ints, encode_uints};

type Limbs = [u64; 4];

/// Widths around the limits of limbs and carriers.
const WIDTHS: [u32; 18] = [1, 63, 64, 65, 127, 128, 129, 180, 190, 191, 192, 193, 194, 200, 253, 254, 255, 256];

fn big(limbs: &Limbs) -> BigUint {
    BigUint::from_bytes_le(bytemuck::bytes_of(limbs))
}

fn size(ring: Ring) -> BigUint {
    BigUint::from(1u8) << ring.bits()
}

/// Returns an integer modulo 2^k.
fn reduced(ring: Ring, value: BigUint) -> Limbs {
    let mut limbs = [0; 4];
    limbs.iter_mut().zip((value % size(ring)).to_u64_digits()).for_each(|(to, digit)| *to = digit);
    limbs
}

fn negated(ring: Ring, value: BigUint) -> BigUint {
    size(ring) - value % size(ring)
}

/// Returns all numbers whose limbs are edge cases: every chain of carries and borrows.
fn edges() -> Vec<Limbs> {
    const EDGES: [u64; 4] = [0, 1, 1 << 63, u64::MAX];
    (0..256usize).map(|i| std::array::from_fn(|limb| EDGES[i >> (2 * limb) & 3])).collect()
}

fn random(len: usize, seed: u64) -> Vec<Limbs> {
    let mut word = seed;
    let mut next = || {
        word = word.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        word ^ word >> 31
    };
    (0..len).map(|_| std::array::from_fn(|_| next())).collect()
}

fn check1(ring: Ring, x: &[Limbs], op: impl Fn(&mut Vector), oracle: impl Fn(BigUint) -> BigUint) {
    let expected: Vec<Limbs> = x.iter().map(|x| reduced(ring, oracle(big(x) % size(ring)))).collect();
    for (path, got) in on_all(|| {
        let mut v = Vector::from_limbs(ring, x);
        op(&mut v);
        v.to_limbs()
    }) {
        assert!(got == expected, "{ring:?} on {path:?}");
    }
}

fn check2(
    ring: Ring,
    [x, y]: [&[Limbs]; 2],
    op: impl Fn(&mut Vector, &Vector),
    oracle: impl Fn(BigUint, BigUint) -> BigUint,
) {
    let expected: Vec<Limbs> = x.iter().zip(y).map(|(x, y)| reduced(ring, oracle(big(x), big(y)))).collect();
    for (path, got) in on_all(|| {
        let (mut v, w) = (Vector::from_limbs(ring, x), Vector::from_limbs(ring, y));
        op(&mut v, &w);
        v.to_limbs()
    }) {
        assert!(got == expected, "{ring:?} on {path:?}");
    }
}

fn check_pairs(ring: Ring, both: [&[Limbs]; 2]) {
    check2(ring, both, |v, w| v.add_assign(w), |x, y| x + y);
    check2(ring, both, |v, w| v.sub_assign(w), |x, y| x + negated(ring, y));
    check2(ring, both, |v, w| v.rsub_assign(w), |x, y| y + negated(ring, x));
    check2(ring, both, |v, w| v.mul_assign(w), |x, y| x * y);
    check2(ring, both, |v, w| v.add_mul_assign(w, w), |x, y| x + &y * &y);
}

#[test]
fn add_raised_adds_multiples_of_a_power_of_two() {
    let (x, y) = (random(70, 4), random(70, 5));
    for bits in [1u32, 8, 13, 32, 64, 65, 128, 129, 180, 192, 193, 256] {
        for shift in [0, 1, 7, 63, 64, 65, 127, 128, 191, 255] {
            for more in [0, 3, 70] {
                let small = Ring::of((bits + more).saturating_sub(shift).clamp(1, 256));
                if small.bits() + shift < bits {
                    continue;
                }
                let ring = Ring::of(bits);
                let expected: Vec<Limbs> =
                    x.iter().zip(&y).map(|(x, y)| reduced(ring, big(x) + (big(y) << shift))).collect();
                for (path, got) in on_all(|| {
                    let (mut v, w) = (Vector::from_limbs(ring, &x), Vector::from_limbs(small, &y));
                    v.add_raised(&w, shift);
                    v.to_limbs()
                }) {
                    assert!(got == expected, "{ring:?}, {small:?} raised by {shift} on {path:?}");
                }
            }
        }
        let halves = |x: &Limbs| (u128::from(x[1]) << 64 | u128::from(x[0]), u128::from(x[3]) << 64 | u128::from(x[2]));
        let (low, high): (Vec<u128>, Vec<u128>) = x.iter().map(halves).unzip();
        let ring = Ring::of(bits);
        assert_eq!(Vector::from_halves(ring, &low, &high).to_limbs(), Vector::from_limbs(ring, &x).to_limbs());
    }
    let mut sum = Vector::from_limbs(Ring::of(180), &x);
    sum.add_raised(&Vector::shape(Ring::of(170), 70), 10);
    assert!(sum.is_shape());
}

fn check_singles(ring: Ring, x: &[Limbs]) {
    check1(ring, x, Vector::reduce, |x| x);
    check1(ring, x, Vector::neg_assign, |x| negated(ring, x));
    for shift in 0..ring.bits() + 2 {
        check1(ring, x, |v| v.shl(shift), |x| x << shift);
        check1(ring, x, |v| v.shr_logical(shift), |x| x >> shift);
        // Garbage above bit k must not be shifted down.
        let shifted = |v: &mut Vector| {
            v.neg_assign();
            v.shr_logical(shift);
        };
        check1(ring, x, shifted, |x| (negated(ring, x) % size(ring)) >> shift);
    }
    let factors = [0, 1, 5, u64::MAX as u128, 1 << 64, 1 << 127, u128::MAX, 0x9e37_79b9_7f4a_7c15_f39c_c060_5ced_c835];
    for factor in factors {
        check1(ring, x, |v| v.add_scalar(factor), |x| x + factor);
        check1(ring, x, |v| v.scale(factor), |x| x * factor);
        let size = (factor as i128).unsigned_abs();
        let signed = |x: BigUint| if (factor as i128) < 0 { negated(ring, x * size) } else { x * size };
        check1(ring, x, |v| v.scale_signed(factor as i128), signed);
    }
}

#[test]
fn all_pairs_of_edges() {
    let edges = edges();
    let x: Vec<Limbs> = edges.iter().flat_map(|x| vec![*x; edges.len()]).collect();
    let y = edges.repeat(edges.len());
    for bits in [64, 65, 128, 129, 190, 192, 193, 254, 256] {
        check_pairs(Ring::of(bits), [&x, &y]);
    }
}

#[test]
fn one_operand_at_every_limit() {
    let x: Vec<Limbs> = edges().into_iter().step_by(5).chain(random(6, 1)).collect();
    for bits in WIDTHS {
        check_singles(Ring::of(bits), &x);
    }
}

#[test]
fn results_agree_with_those_of_shorter_rings() {
    let (x, y) = (random(500, 2), random(500, 3));
    let short = Ring::of(128);
    for ring in (129..=256).map(Ring::of) {
        let ops: [fn(&mut Vector, &Vector); 4] =
            [|v, w| v.add_assign(w), |v, w| v.sub_assign(w), |v, w| v.mul_assign(w), |v, w| v.add_mul_assign(w, w)];
        for op in ops {
            let run = |ring: Ring| {
                let mut v = Vector::from_limbs(ring, &x);
                op(&mut v, &Vector::from_limbs(ring, &y));
                v
            };
            let (long, cut) = (run(ring), run(ring).convert(short));
            assert_eq!(long.to_u128s(), run(short).to_u128s());
            assert_eq!(cut.to_u128s(), run(short).to_u128s());
            assert_eq!(long.to_u64s(), run(short).to_u64s());
            assert_eq!(long.to_i64s(), run(short).to_i64s());
        }
    }
}

#[test]
fn numbers_come_and_go_with_their_signs() {
    let numbers = [0, 1, -1, i128::MIN, i128::MAX, -5 << 70];
    for ring in (129..=256).map(Ring::of) {
        let oracle = |x: i128| match x < 0 {
            true => negated(ring, x.unsigned_abs().into()),
            false => x.unsigned_abs().into(),
        };
        let expected: Vec<Limbs> = numbers.iter().map(|&x| reduced(ring, oracle(x))).collect();
        let v = Vector::from_i128s(ring, &numbers);
        assert_eq!((v.to_limbs(), v.to_i128s()), (expected.clone(), numbers.to_vec()));
        assert_eq!(encode_ints(ring, &numbers).unwrap().to_limbs(), expected);
        let short = numbers.map(|x| x as i64);
        assert_eq!(Vector::from_i64s(ring, &short).to_i128s(), short.map(i128::from));
        assert_eq!(Vector::from_i64s(ring, &short).to_i64s(), short);
        let words = numbers.map(|x| x as u128);
        let unsigned = Vector::from_u128s(ring, &words);
        assert_eq!((unsigned.to_u128s(), unsigned.convert(Ring::of(128)).to_u128s()), (words.to_vec(), words.to_vec()));
        assert!(unsigned.to_limbs().iter().all(|limbs| limbs[2..] == [0, 0]));
        assert_eq!(encode_uints(ring, &words).unwrap().to_limbs(), unsigned.to_limbs());
        assert_eq!(Vector::from_u64s(ring, &[u64::MAX]).to_limbs(), [[u64::MAX, 0, 0, 0]]);
        assert_eq!(Vector::constant(ring, u128::MAX, 2).to_limbs(), [[u64::MAX, u64::MAX, 0, 0]; 2]);
    }
}

#[test]
fn rings_convert_to_each_other() {
    let values: Vec<Limbs> = edges().into_iter().step_by(3).chain(random(10, 4)).collect();
    for from in WIDTHS.map(Ring::of) {
        let mut v = Vector::from_limbs(from, &values);
        // This leaves garbage above bit k.
        v.neg_assign();
        let elements: Vec<BigUint> = values.iter().map(|x| negated(from, big(x)) % size(from)).collect();
        for to in WIDTHS.map(Ring::of) {
            let expected: Vec<Limbs> = elements.iter().map(|x| reduced(to, x.clone())).collect();
            // Extended by copies of the sign bit.
            let extended = |x: &BigUint| match x.bit(u64::from(from.bits()) - 1) {
                true => x + (BigUint::from(1u8) << 256u32) - size(from),
                false => x.clone(),
            };
            let signed: Vec<Limbs> = elements.iter().map(|x| reduced(to, extended(x))).collect();
            for (path, got) in on_all(|| (v.convert(to).to_limbs(), v.sign_extend(to).to_limbs())) {
                assert!(got.0 == expected, "{from:?} to {to:?} on {path:?}");
                assert!(got.1 == signed, "{from:?} to {to:?} with signs on {path:?}");
            }
        }
    }
}

#[test]
fn bits_of_elements_and_back() {
    for ring in (129..=256).map(Ring::of) {
        for len in [0usize, 1, 65, 513] {
            let mut v = Vector::from_limbs(ring, &random(len, 5));
            v.neg_assign();
            let values = v.to_limbs();
            for range in [0..ring.bits(), 0..1, ring.bits() - 1..ring.bits(), ring.bits() / 3..ring.bits()] {
                let bit = |x: &Limbs, at: u32| x[at as usize / 64] >> (at % 64) & 1 == 1;
                let expected: Vec<bool> = range.clone().flat_map(|at| values.iter().map(move |x| bit(x, at))).collect();
                for (path, bits) in on_all(|| v.to_bits(range.clone()).to_bools()) {
                    assert!(bits == expected, "bits {range:?} of {ring:?}, {len} lanes, {path:?}");
                }
            }
            for (path, back) in on_all(|| v.to_bits(0..ring.bits()).to_vector(ring).to_limbs()) {
                assert!(back == values, "{ring:?}, {len} lanes, {path:?}");
            }
            for other in [Ring::of(100), Ring::of(150), Ring::of(256)] {
                let moved = v.to_bits(0..ring.bits()).to_vector(other).to_limbs();
                assert!(moved == v.convert(other).to_limbs(), "{ring:?} to {other:?}");
            }
        }
    }
}

#[test]
fn packing_is_exact_for_every_k() {
    for ring in (129..=256).map(Ring::of) {
        for len in [0usize, 1, 2, 7, 8, 9, 64, 65] {
            let mut v = Vector::from_limbs(ring, &random(len, 6));
            v.neg_assign();
            let whole =
                v.to_limbs().iter().rev().fold(BigUint::default(), |all, element| all << ring.bits() | big(element));
            let mut expected = vec![0xab; 3];
            expected.extend(whole.to_bytes_le());
            expected.resize(3 + (len * ring.bits() as usize).div_ceil(8), 0);
            assert_eq!(ring.packed_bytes(len), expected.len() - 3);
            for (path, out) in on_all(|| {
                let mut out = vec![0xab; 3];
                v.pack(&mut out);
                out
            }) {
                assert!(out == expected, "packing {len} of {ring:?} on {path:?}");
            }
            let mut garbled = expected[3..].to_vec();
            let used = len * ring.bits() as usize % 8;
            if used != 0 {
                *garbled.last_mut().unwrap() |= 0xff << used;
            }
            for (path, back) in on_all(|| Vector::unpack(ring, len, &garbled).unwrap().to_limbs()) {
                assert!(back == v.to_limbs(), "unpacking {len} of {ring:?} on {path:?}");
            }
        }
        assert!(Vector::unpack(ring, 2, &vec![0; ring.packed_bytes(2) + 1]).is_err());
    }
    assert!(Vector::unpack(Ring::of(256), usize::MAX, &[0; 64]).is_err());
}

#[test]
fn taking_apart_and_putting_together() {
    for ring in [129, 190, 192, 193, 254, 256].map(Ring::of) {
        let values: Vec<Limbs> = random(24, 7).iter().map(|x| reduced(ring, big(x))).collect();
        let v = Vector::from_limbs(ring, &values);
        assert_eq!(v.slice(3..9).to_limbs(), values[3..9]);
        let mut w = v.slice(0..5);
        w.append(&v.slice(5..24));
        assert_eq!((w.to_limbs(), v.clone().to_limbs()), (values.clone(), values.clone()));
        assert_eq!(Vector::concat(&[&v.slice(0..1), &v.slice(1..24)]).to_limbs(), values);
        w.write_at(2, &v.slice(0..3));
        assert_eq!(w.to_limbs()[2..5], values[0..3]);
        w.add_at(2, &v.slice(0..3));
        assert_eq!(w.to_limbs()[3], reduced(ring, big(&values[1]) * 2u8));
        assert_eq!(v.gather(&[4, 4, 23]).to_limbs(), [values[4], values[4], values[23]]);
        assert_eq!(v.slice(7..8).broadcast_scalar(3).to_limbs(), [values[7]; 3]);
        for (outer, axis, inner) in [(2, 3, 4), (1, 24, 1), (24, 1, 1), (4, 6, 1)] {
            let sum = |o: usize, i: usize| (0..axis).map(|a| big(&values[(o * axis + a) * inner + i])).sum::<BigUint>();
            let expected: Vec<Limbs> =
                (0..outer * inner).map(|at| reduced(ring, sum(at / inner, at % inner))).collect();
            assert_eq!(v.sum_axis(outer, axis, inner).to_limbs(), expected);
        }
        let factors: Vec<u64> = (0..24).map(|i| u64::MAX / (i + 1)).collect();
        let weighed = values.iter().zip(&factors).map(|(x, factor)| big(x) * factor).sum::<BigUint>();
        on_all(|| assert_eq!(v.weighed(&factors).to_limbs(), [reduced(ring, weighed.clone())]));
    }
}

#[test]
fn matrices_and_sums_of_products() {
    for ring in [129, 190, 192, 193, 254, 256].map(Ring::of) {
        let (x, y) = (random(90, 8), random(90, 9));
        let (a, b) = (Vector::from_limbs(ring, &x), Vector::from_limbs(ring, &y));
        let dims = (9, 10, 9);
        let cell = |i: usize, j: usize| (0..10).map(|p| big(&x[10 * i + p]) * big(&y[9 * p + j])).sum::<BigUint>();
        let expected: Vec<Limbs> = (0..81).map(|at| reduced(ring, cell(at / 9, at % 9))).collect();
        for (path, got) in on_all(|| Vector::matmul(&a, &b, dims).to_limbs()) {
            assert!(got == expected, "{ring:?} on {path:?}");
        }
        let terms = [(vec![0, 1], vec![1]), (vec![1], vec![0, 0])];
        let (all, range) = ([a, b], 5..85);
        let term = |i: usize| {
            let (x, y) = (big(&x[i]), big(&y[i]));
            (&x + &y) * &y + y * (&x + &x)
        };
        let expected: Vec<Limbs> = range.clone().map(|i| reduced(ring, term(i))).collect();
        for (path, got) in on_all(|| {
            let mut out = Vector::zeros(ring, range.len());
            out.set_terms(&all, &all, range.clone(), &terms);
            out.to_limbs()
        }) {
            assert!(got == expected, "{ring:?} on {path:?}");
        }
    }
}

#[test]
fn square_roots() {
    for ring in (129..=256).map(Ring::of) {
        let mut odd = Vector::from_limbs(ring, &random(20, 10));
        odd.shl(1);
        odd.add_scalar(1);
        let mut squares = odd.clone();
        squares.mul_assign(&odd);
        let (roots, inverses) = squares.odd_square_roots();
        let (mut again, mut one) = (roots.clone(), roots.clone());
        again.mul_assign(&roots);
        one.mul_assign(&inverses);
        assert_eq!(again.to_limbs(), squares.to_limbs());
        assert_eq!(one.to_limbs(), [[1, 0, 0, 0]; 20]);
        assert!(roots.to_limbs().iter().all(|c| big(c).bits() <= u64::from(ring.bits()) - 2), "not the smallest root");
    }
}

#[test]
fn memory_is_visible_to_a_generator_and_wiped() {
    for (bits, bytes) in [(129, 24), (192, 24), (193, 32), (256, 32)] {
        let ring = Ring::of(bits);
        let mut v = Vector::zeros(ring, 5);
        assert_eq!((v.bytes_mut().len(), v.memory_bytes()), (5 * bytes, 5 * bytes));
        v.bytes_mut().fill(0xff);
        assert_eq!(v.to_limbs(), [reduced(ring, size(ring) - 1u8); 5]);
        v.bytes_of_mut(1..2).fill(0);
        assert_eq!(v.to_limbs()[1], [0; 4]);
        v.wipe();
        assert!(v.bytes_mut().iter().all(|byte| *byte == 0));
    }
}

#[test]
fn shapes_stay_shapes_and_charge_more_than_those_of_shorter_rings() {
    let work = |bits: u32| {
        let before = meter::charged();
        let (ring, len) = (Ring::of(bits), 640);
        let (mut x, y) = (Vector::shape(ring, len), Vector::shape(ring, len));
        x.mul_assign(&y);
        x.scale_signed(-3);
        x.pack(&mut Vec::new());
        let (root, inverse) = x.odd_square_roots();
        let (product, bits) = (Vector::matmul(&x, &y, (20, 32, 20)), x.to_bits(0..bits));
        let (moved, back) = (x.convert(Ring::of(100)), bits.to_vector(ring));
        assert!([x, y, root, inverse, product, moved, back].iter().all(Vector::is_shape) && bits.is_shape());
        meter::charged() - before
    };
    let all = [127, 190, 254].map(work);
    for kernel in [Kernel::Transpose, Kernel::Stream, Kernel::MultiplyWide] {
        assert!(all.is_sorted_by(|x, y| x.of(kernel) < y.of(kernel)), "{kernel:?}");
    }
    assert!(all[0].of(Kernel::Pack) < all[1].of(Kernel::Pack));
}

#[test]
fn rings_beyond_the_limits_are_refused() {
    let error = Codec::new(Ring::of(129), 16).unwrap_err();
    assert_eq!(error, RingError::WideFormat { ring_bits: 129 });
    assert_eq!(error.to_string(), "fixed-point numbers have at most 128 bits, not 129");
    assert!(std::panic::catch_unwind(|| Ring::of(129).mask()).is_err());
    assert!(std::panic::catch_unwind(|| Ring::of(257)).is_err());
    let error = Ring::new(257).unwrap_err();
    assert_eq!(error.to_string(), "a ring has 1 to 256 bits, not 257");
}

#[test]
fn values_are_not_printed() {
    assert_eq!(format!("{:?}", Vector::from_u64s(Ring::of(190), &[77])), "vector of 1 over Z_2^190");
    assert_eq!((Ring::of(190).carrier(), Ring::of(254).carrier()), (Carrier::U192, Carrier::U256));
}

fn ring_and_two() -> impl Strategy<Value = (u32, Vec<Limbs>, Vec<Limbs>)> {
    let element = || proptest::array::uniform4(any::<u64>());
    (1u32..=256, 0usize..60).prop_flat_map(move |(bits, len)| {
        (Just(bits), proptest::collection::vec(element(), len), proptest::collection::vec(element(), len))
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 60, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn random_vectors((bits, x, y) in ring_and_two()) {
        check_pairs(Ring::of(bits), [&x, &y]);
        check_singles(Ring::of(bits), &y[..y.len().min(5)]);
    }

    #[test]
    fn random_bytes_unpack_and_pack(bits in 129u32..=256, len in 0usize..60, seed in any::<u64>()) {
        let ring = Ring::of(bits);
        let mut bytes = bytemuck::cast_slice(&random(len, seed))[..ring.packed_bytes(len)].to_vec();
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
