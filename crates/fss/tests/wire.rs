//! Keys in messages: round trips, and everything that is no such message.

use proptest::prelude::*;
use quorate_fss::{Corrections, FssError, HEADER_BYTES, Keys, Shape, Side, verified, window};
use quorate_ring::Ring;

use crate::common::{hash, pair, roots};

fn message(shape: Shape, points: &[u64]) -> Vec<u8> {
    let (keys, _) = pair(&hash(), shape, points);
    let mut message = Vec::new();
    keys[0].corrections().write(&mut message);
    message
}

fn verified_shape() -> verified::Shape {
    verified::Shape::new(4, Ring::of(80)).unwrap()
}

fn verified_message() -> Vec<u8> {
    let [first, second] = [Side::First, Side::Second].map(|side| roots(side, 2, 0));
    let mut message = Vec::new();
    verified::deal(&hash(), verified_shape(), &[3, 15], 9, first, second).write(&mut message);
    message
}

#[test]
fn keys_there_and_back_are_the_same_keys() {
    let hash = hash();
    for shape in [Shape::wide(3), Shape::wide(9), Shape::narrow(9), Shape::wide(13), Shape::wide(64)] {
        let shape = shape.unwrap();
        let points = [0, shape.mask(), 5 & shape.mask()];
        let bytes = message(shape, &points);
        assert_eq!(bytes.len(), shape.batch_bytes(3));
        let read = Corrections::read(shape, 3, &bytes).unwrap();
        let (keys, _) = pair(&hash, shape, &points);
        assert!(read == *keys[1].corrections());
        for (side, keys) in [Side::First, Side::Second].into_iter().zip(&keys) {
            let mut whole = Vec::new();
            keys.write(&mut whole);
            assert_eq!(whole.len(), shape.keys_bytes(3));
            let read = Keys::read(shape, side, 3, &whole).unwrap();
            let leaves = |keys: &Keys| window(&hash, keys, &[7, 0, 2], 5).to_bools();
            assert_eq!(leaves(&read), leaves(keys));
            // Keys of the other side, or a root with the other side's control bit.
            let other = if side == Side::First { Side::Second } else { Side::First };
            assert!(matches!(Keys::read(shape, other, 3, &whole), Err(FssError::Form { what: "kind", .. })));
            whole[HEADER_BYTES + 16] ^= 1;
            assert_eq!(Keys::read(shape, side, 3, &whole).err(), Some(FssError::Root));
        }
    }
    let read = verified::Corrections::read(verified_shape(), 2, &verified_message()).unwrap();
    assert_eq!(read.bytes().len(), 2 * verified_shape().key_bytes());
}

#[test]
fn keys_of_another_form_are_refused_by_name() {
    let shape = Shape::wide(10).unwrap();
    let good = message(shape, &[1, 2]);
    let read = |shape, count, bytes: &[u8]| Corrections::read(shape, count, bytes).err();
    let form = |what, expected, got| Some(FssError::Form { what, expected, got });
    let mut version = good.clone();
    version[0] = 2;
    assert_eq!(read(shape, 2, &version), Some(FssError::Version { expected: 1, got: 2 }));
    let domain = "the logarithm of the domain";
    assert_eq!(read(Shape::wide(11).unwrap(), 2, &good), form(domain, 11, 10));
    assert_eq!(read(Shape::narrow(10).unwrap(), 2, &good), form("the form of leaves", 1, 4));
    assert_eq!(read(shape, 3, &good), form("the number of keys", 3, 2));
    assert_eq!(read(shape, usize::MAX, &good), form("the number of keys", u64::MAX, 2));
    for len in 0..good.len() {
        let expected = FssError::Length { expected_bytes: good.len(), got_bytes: len };
        assert_eq!(read(shape, 2, &good[..len]), Some(expected));
    }
    let long = [&good[..], &[0]].concat();
    let expected = FssError::Length { expected_bytes: good.len(), got_bytes: good.len() + 1 };
    assert_eq!(read(shape, 2, &long), Some(expected));
    let verified = verified::Corrections::read(verified_shape(), 2, &good).err();
    assert_eq!(verified, form("kind", 4, 1));
    assert_eq!(read(shape, 2, &verified_message()), form("kind", 1, 4));
    let body = Corrections::from_bytes(shape, 2, &good[HEADER_BYTES..good.len() - 1]).err();
    assert!(matches!(body, Some(FssError::Length { .. })));
    let text = FssError::Version { expected: 1, got: 2 }.to_string();
    assert_eq!(text, "keys have the version 2; this program reads version 1");
}

#[test]
fn roots_for_another_number_of_keys_are_refused() {
    let shape = Shape::wide(10).unwrap();
    let corrections = Corrections::read(shape, 2, &message(shape, &[1, 2])).unwrap();
    let expected = FssError::Count { roots: 3, corrections: 2 };
    assert_eq!(Keys::new(roots(Side::First, 3, 0), corrections).err(), Some(expected));
    let corrections = verified::Corrections::read(verified_shape(), 2, &verified_message()).unwrap();
    let expected = FssError::Count { roots: 1, corrections: 2 };
    assert_eq!(verified::Keys::new(roots(Side::First, 1, 0), corrections).err(), Some(expected));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    /// Tests that nothing panics, and that corrections read from a changed message have exactly its bytes and the
    /// agreed length.
    #[test]
    fn changed_messages_are_refused_or_other_keys(
        bits in 1u32..=64,
        blocks in 0usize..3,
        changes in proptest::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 0..4),
        cut in proptest::option::of(any::<prop::sample::Index>()),
    ) {
        let shape = Shape::new(bits, 1 << blocks).unwrap();
        let mut bytes = message(shape, &[0, 1]);
        for (at, change) in changes {
            let at = at.index(bytes.len());
            bytes[at] ^= change;
        }
        if let Some(cut) = cut {
            bytes.truncate(cut.index(bytes.len() + 1));
        }
        if let Ok(read) = Corrections::read(shape, 2, &bytes) {
            prop_assert_eq!(read.bytes(), &bytes[HEADER_BYTES..]);
            prop_assert_eq!(bytes.len(), shape.batch_bytes(2));
            // Any corrections can be evaluated.
            let keys = Keys::new(roots(Side::First, 2, 0), read).unwrap();
            window(&hash(), &keys, &[0, shape.mask()], 2);
        }
    }

    #[test]
    fn arbitrary_bytes_never_panic(bytes in proptest::collection::vec(any::<u8>(), 0..600), tail in any::<bool>()) {
        let shape = Shape::wide(10).unwrap();
        let mut bytes = bytes;
        if tail {
            bytes.splice(0..0, message(shape, &[1, 2])[..HEADER_BYTES].iter().copied());
        }
        let read = [
            Corrections::read(shape, 2, &bytes).is_ok(),
            Keys::read(shape, Side::First, 2, &bytes).is_ok(),
            verified::Corrections::read(verified_shape(), 2, &bytes).is_ok(),
        ];
        prop_assert_eq!(read, [tail && bytes.len() == shape.batch_bytes(2), false, false]);
    }
}
