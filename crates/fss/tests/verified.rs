//! Keys with the payload (1, alpha): sums, leaves, and dealers that cheat.

use quorate_crypto::Seed;
use quorate_fss::verified::{Checked, Corrections, Keys, Shape, check, coins, deal, visit};
use quorate_fss::{Hash, Side};
use quorate_ring::Ring;

use crate::common::{hash, hashes, numbers, on_threads, roots};

fn shape(bits: u32, ring_bits: u32) -> Shape {
    Shape::new(bits, Ring::of(ring_bits)).unwrap()
}

fn alpha() -> u128 {
    0xfedc_ba98_7654_3210_0f1e_2d3c_4b5a_6978
}

fn dealt(hash: &Hash, shape: Shape, points: &[u64]) -> Corrections {
    let [first, second] = [Side::First, Side::Second].map(|side| roots(side, points.len(), 3));
    deal(hash, shape, points, alpha(), first, second)
}

fn pair(corrections: [&Corrections; 2]) -> [Keys; 2] {
    let keys = |side, of: &Corrections| Keys::new(roots(side, of.count(), 3), of.clone()).unwrap();
    [keys(Side::First, corrections[0]), keys(Side::Second, corrections[1])]
}

fn checked(hash: &Hash, keys: &[Keys; 2]) -> [Checked; 2] {
    let coins = coins(keys[0].shape(), &mut Seed::from_bytes([5; 32]).prg("quorate/fss/test coins", b""));
    [0, 1].map(|side| check(hash, &keys[side], &coins))
}

/// Whether the two holders accept key k.
fn accepted(all: &[Checked; 2], ring: Ring, k: usize) -> bool {
    let sum = |of: fn(&Checked) -> Vec<u128>| of(&all[0])[k].wrapping_add(of(&all[1])[k]) & ring.mask();
    all[0].proofs[k] == all[1].proofs[k]
        && sum(|checked| checked.ones.to_u128s()) == 1 & ring.mask()
        && sum(|checked| checked.macs.to_u128s()) == alpha() & ring.mask()
}

fn leaves(hash: &Hash, keys: &Keys) -> Vec<[Vec<u128>; 2]> {
    let mut all = vec![[Vec::new(), Vec::new()]; keys.count()];
    visit(hash, keys, |first, at, values| {
        for (q, values) in values.iter().enumerate() {
            for (to, from) in all[first + q].iter_mut().zip(values) {
                assert_eq!(to.len(), at);
                to.extend_from_slice(from);
            }
        }
    });
    all
}

fn opened(shares: [&[u128]; 2], ring: Ring) -> Vec<u128> {
    shares[0].iter().zip(shares[1]).map(|(a, b)| a.wrapping_add(*b) & ring.mask()).collect()
}

#[test]
fn honest_keys_are_accepted_and_give_the_point() {
    for hash in hashes() {
        for (bits, ring_bits) in [(1, 1), (2, 64), (3, 80), (5, 128), (8, 128), (9, 100), (11, 80)] {
            let shape = shape(bits, ring_bits);
            let count = if bits <= 5 { shape.points() } else { 6 };
            let points: Vec<u64> = match bits <= 5 {
                true => (0..shape.points() as u64).collect(),
                false => numbers(count, 4).iter().map(|point| point & shape.mask()).collect(),
            };
            let corrections = dealt(&hash, shape, &points);
            assert_eq!(corrections.bytes().len(), count * shape.key_bytes());
            let keys = pair([&corrections, &corrections]);
            let all = checked(&hash, &keys);
            let mask = shape.ring().mask();
            let sum = |of: fn(&Checked) -> Vec<u128>, k: usize| of(&all[0])[k].wrapping_add(of(&all[1])[k]) & mask;
            let values = [0, 1].map(|side| leaves(&hash, &keys[side]));
            for (k, &point) in points.iter().enumerate() {
                assert!(accepted(&all, shape.ring(), k), "{:?} {shape:?} {k}", hash.kernel());
                assert_eq!(sum(|checked| checked.points.to_u128s(), k), u128::from(point) & mask);
                let expected = alpha().wrapping_mul(point.into()) & mask;
                assert_eq!(sum(|checked| checked.point_macs.to_u128s(), k), expected);
                for (which, payload) in [1, alpha()].into_iter().enumerate() {
                    let expected = |x| if x == point { payload & mask } else { 0 };
                    let sums = opened([&values[0][k][which], &values[1][k][which]], shape.ring());
                    assert!((0..).zip(sums).all(|(x, value)| value == expected(x)));
                }
            }
        }
    }
}

/// The largest domain: sums at the limit of their limbs.
#[test]
fn the_largest_domain_is_summed_without_overflow() {
    let shape = shape(16, 128);
    for hash in hashes() {
        let points = [0, 65_535, 40_000];
        let corrections = dealt(&hash, shape, &points);
        let all = checked(&hash, &pair([&corrections, &corrections]));
        for (k, point) in points.into_iter().enumerate() {
            assert!(accepted(&all, shape.ring(), k));
            let sum = all[0].points.to_u128s()[k].wrapping_add(all[1].points.to_u128s()[k]);
            assert_eq!(sum, point.into());
        }
    }
}

#[test]
fn kernels_and_threads_agree_on_checks() {
    let shape = shape(8, 96);
    let points: Vec<u64> = numbers(50, 7).iter().map(|point| point & shape.mask()).collect();
    let summary = |hash: &Hash| {
        let corrections = dealt(hash, shape, &points);
        let [first, second] = checked(hash, &pair([&corrections, &corrections]));
        let all = |checked: &Checked| {
            let vectors = [&checked.ones, &checked.macs, &checked.points, &checked.point_macs];
            (checked.proofs.clone(), vectors.map(|vector| vector.to_u128s()))
        };
        (corrections.bytes().to_vec(), all(&first), all(&second))
    };
    let one = on_threads(1, || summary(&hash()));
    let same = |hash: &Hash| [1, 3].into_iter().all(|threads| on_threads(threads, || summary(hash)) == one);
    assert!(hashes().iter().all(same));
}

/// Any change of the dealer's message to both sides is refused, or, if no node has the control bit that it would need,
/// harmless.
#[test]
fn every_changed_bit_is_refused_or_harmless() {
    let hash = hash();
    let shape = shape(3, 80);
    let good = dealt(&hash, shape, &[5]);
    let (mut refused, mut harmless) = (0, 0);
    for bit in 0..8 * good.bytes().len() {
        let mut bytes = good.bytes().to_vec();
        bytes[bit / 8] ^= 1 << (bit % 8);
        let bad = Corrections::from_bytes(shape, 1, &bytes).unwrap();
        let keys = pair([&bad, &bad]);
        let all = checked(&hash, &keys);
        if accepted(&all, shape.ring(), 0) {
            let values = [0, 1].map(|side| leaves(&hash, &keys[side]));
            assert_eq!(opened([&values[0][0][0], &values[1][0][0]], shape.ring()), [0, 0, 0, 0, 0, 1, 0, 0]);
            harmless += 1;
        } else {
            refused += 1;
        }
    }
    assert_eq!((refused, harmless), (8 * shape.key_bytes(), 0));
}

/// A dealer spoils a word of the tree, which gives several leaves a value, and adjusts both CW' so that the sums of
/// values are right. It can always do so, since odd numbers have inverses. Only proofs detect it.
#[test]
fn a_spoilt_tree_with_lifted_payloads_is_found_by_proofs_only() {
    let hash = hash();
    let shape = shape(5, 128);
    let good = dealt(&hash, shape, &[19]);
    let payload = shape.key_bytes() - 48 - 32;
    let add = |bytes: &[u8], at: usize, by: u128| {
        let mut bytes = bytes.to_vec();
        let to: &mut [u8; 16] = (&mut bytes[at..at + 16]).try_into().unwrap();
        *to = u128::from_le_bytes(*to).wrapping_add(by).to_le_bytes();
        bytes
    };
    let keys = |bytes: &[u8]| {
        let corrections = Corrections::from_bytes(shape, 1, bytes).unwrap();
        pair([&corrections, &corrections])
    };
    let sums = |bytes: &[u8]| {
        let all = checked(&hash, &keys(bytes));
        let sum = |of: fn(&Checked) -> Vec<u128>| of(&all[0])[0].wrapping_add(of(&all[1])[0]);
        [sum(|checked| checked.ones.to_u128s()), sum(|checked| checked.macs.to_u128s())]
    };
    let (mut spoilt, mut several) = (0, 0);
    for level in 0..5 {
        for change in [1, 1 << 1, 1 << 64, u128::MAX] {
            let mut bytes = add(good.bytes(), 16 * level, change);
            let before = sums(&bytes);
            // The number of control bits that one side has more than the other.
            let times = sums(&add(&bytes, payload, 1))[0].wrapping_sub(before[0]);
            assert_eq!(times & 1, 1);
            let inverse = (0..7).fold(1u128, |i, _| i.wrapping_mul(2u128.wrapping_sub(i.wrapping_mul(times))));
            for (which, target) in [1, alpha()].into_iter().enumerate() {
                let lift = target.wrapping_sub(before[which]).wrapping_mul(inverse);
                bytes = add(&bytes, payload + 16 * which, lift);
            }
            assert_eq!(sums(&bytes), [1, alpha()], "the sums were to be fooled");
            let keys = keys(&bytes);
            let all = checked(&hash, &keys);
            assert_ne!(all[0].proofs, all[1].proofs);
            let values = [0, 1].map(|side| leaves(&hash, &keys[side]));
            let opened = opened([&values[0][0][0], &values[1][0][0]], shape.ring());
            several += usize::from(opened.iter().filter(|value| **value != 0).count() > 1);
            spoilt += 1;
        }
    }
    assert_eq!((spoilt, several), (20, 20));
}

/// The attack that the comparison of everything public prevents: each side gets another CW', and the leaf is adjusted
/// so that the sums hold. Proofs and sums pass; the comparison of the messages' hashes does not.
#[test]
fn different_corrections_are_found_by_their_comparison_only() {
    let hash = hash();
    let shape = shape(3, 128);
    let good = dealt(&hash, shape, &[5]);
    let payload = shape.key_bytes() - 48 - 32;
    let with = |change: u128| {
        let mut bytes = good.bytes().to_vec();
        let to: &mut [u8; 16] = (&mut bytes[payload..payload + 16]).try_into().unwrap();
        *to = u128::from_le_bytes(*to).wrapping_add(change).to_le_bytes();
        Corrections::from_bytes(shape, 1, &bytes).unwrap()
    };
    // The second side's leaves with a control bit are lowered by 1 each; the first side's are raised to match.
    let controls = |side: usize, corrections: &Corrections| {
        let plain = leaves(&hash, &pair([&good, &good])[side]);
        let keys = pair([corrections, corrections]);
        let other = leaves(&hash, &keys[side]);
        (0..8).filter(|&x| plain[0][0][x] != other[0][0][x]).count() as u128
    };
    let lifted = with(1);
    let (first, second) = (controls(0, &lifted), controls(1, &lifted));
    assert_eq!(first.abs_diff(second), 1);
    // With a first = b second the sums stay the same.
    let keys = pair([&with(second), &with(first)]);
    let all = checked(&hash, &keys);
    assert!(accepted(&all, shape.ring(), 0), "the sums were to be fooled");
    let values = [0, 1].map(|side| leaves(&hash, &keys[side]));
    let wrong = (0..8).filter(|&x| values[0][0][0][x].wrapping_add(values[1][0][0][x]) != u128::from(x == 5)).count();
    assert!(wrong >= 1 && with(second).bytes() != with(first).bytes());
}

#[test]
fn other_payloads_points_of_no_key_and_other_roots_are_refused() {
    let hash = hash();
    let shape = shape(6, 128);
    // Another alpha, and keys made for other roots.
    for (change, name) in [(1 << 127, 3), (0, 4)] {
        let [first, second] = [Side::First, Side::Second].map(|side| roots(side, 1, name));
        let other = deal(&hash, shape, &[9], alpha() ^ change, first, second);
        assert!(!accepted(&checked(&hash, &pair([&other, &other])), shape.ring(), 0));
    }
}
