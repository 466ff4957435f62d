//! Bytes from an arbitrary sender: each parser returns a value or an error, and allocates no memory before it knows
//! that all bytes are there. The keys that it reads can be evaluated, whatever they are.

use proptest::prelude::*;
use quorate_fss::{Corrections, FssError, HEADER_BYTES, Hash, Keys, Shape, Side, Table, intervals, lookup, verified};
use quorate_ring::Ring;

use crate::common::{hash, pair, roots};

const COUNT: usize = 2;
/// Bytes of roots in a message of whole keys.
const ROOTS: usize = 16 * COUNT;

/// The functions that read a message: shape and number are the reader's own.
#[derive(Clone, Copy, Debug)]
enum Parser {
    Plain(Shape),
    Whole(Shape, Side),
    Verified(verified::Shape),
}

impl Parser {
    fn all() -> Vec<Parser> {
        let (small, tree) = (Shape::wide(4).unwrap(), Shape::narrow(8).unwrap());
        let verified = |bits, ring| Parser::Verified(verified::Shape::new(bits, Ring::of(ring)).unwrap());
        let whole = [Side::First, Side::Second].map(|side| Parser::Whole(tree, side));
        [[Parser::Plain(small), Parser::Plain(tree)], whole, [verified(1, 1), verified(2, 80)]].concat()
    }

    fn message(self) -> Vec<u8> {
        let mut message = Vec::new();
        match self {
            Parser::Plain(shape) => pair(&hash(), shape, &[0, 5]).0[0].corrections().write(&mut message),
            Parser::Whole(shape, side) => pair(&hash(), shape, &[0, 5]).0[side as usize].write(&mut message),
            Parser::Verified(shape) => {
                let [first, second] = [Side::First, Side::Second].map(|side| roots(side, COUNT, 0));
                verified::deal(&hash(), shape, &[0, 1], 9, first, second).write(&mut message);
            }
        }
        message
    }

    /// Returns the content, as it would be written, or the error.
    fn read(self, count: usize, message: &[u8]) -> Result<Vec<u8>, FssError> {
        let mut again = Vec::new();
        match self {
            Parser::Plain(shape) => Corrections::read(shape, count, message)?.write(&mut again),
            Parser::Whole(shape, side) => Keys::read(shape, side, count, message)?.write(&mut again),
            Parser::Verified(shape) => verified::Corrections::read(shape, count, message)?.write(&mut again),
        }
        Ok(again)
    }
}

#[test]
fn all_beginnings_and_longer_messages_are_refused() {
    for parser in Parser::all() {
        let good = parser.message();
        assert_eq!(parser.read(COUNT, &good).as_ref(), Ok(&good));
        for len in 0..good.len() {
            let expected = FssError::Length { expected_bytes: good.len(), got_bytes: len };
            assert_eq!(parser.read(COUNT, &good[..len]), Err(expected), "{parser:?}");
        }
        for more in [1, 16, good.len()] {
            let long = [&good[..], &vec![0; more]].concat();
            assert!(matches!(parser.read(COUNT, &long), Err(FssError::Length { .. })), "{parser:?}");
        }
    }
}

/// Each byte of the header counts. After it any bytes are keys, except for the lowest bits of roots.
#[test]
fn every_change_of_every_byte_is_refused_or_another_key() {
    for parser in Parser::all() {
        let good = parser.message();
        for (at, change) in (0..good.len()).flat_map(|at| (1..=u8::MAX).map(move |change| (at, change))) {
            let mut bytes = good.clone();
            bytes[at] ^= change;
            let read = parser.read(COUNT, &bytes);
            let is_control = matches!(parser, Parser::Whole(..))
                && (HEADER_BYTES..HEADER_BYTES + ROOTS).step_by(16).any(|root| root == at);
            match at {
                0 => assert!(matches!(read, Err(FssError::Version { .. })), "{parser:?}"),
                1..HEADER_BYTES => assert!(matches!(read, Err(FssError::Form { .. })), "{parser:?}: {at}"),
                _ if is_control && change & 1 == 1 => assert_eq!(read, Err(FssError::Root), "{parser:?}: {at}"),
                _ => assert_eq!(read, Ok(bytes), "{parser:?}: {at}"),
            }
        }
    }
}

/// Both the reader and the header state a number of keys of which only some bytes are there. Memory for all of them is
/// more than any machine has, so this test fails if it is allocated before the bytes are counted.
#[test]
fn no_memory_is_taken_for_keys_that_did_not_come() {
    let most = u32::MAX as usize;
    for parser in Parser::all() {
        let mut message = parser.message();
        message[4..HEADER_BYTES].copy_from_slice(&u32::MAX.to_le_bytes());
        assert!(matches!(parser.read(most, &message), Err(FssError::Length { .. })), "{parser:?}");
        let another = parser.read(COUNT, &message);
        assert!(matches!(another, Err(FssError::Form { what: "the number of keys", .. })), "{parser:?}");
        for count in [most + 1, usize::MAX / 16, usize::MAX] {
            assert!(matches!(parser.read(count, &message), Err(FssError::Form { .. })), "{parser:?}");
        }
    }
    let (plain, verified) = (Shape::wide(64).unwrap(), verified::Shape::new(16, Ring::of(128)).unwrap());
    for count in [most, usize::MAX / 944, usize::MAX] {
        assert!(matches!(Corrections::from_bytes(plain, count, &[0; 944]), Err(FssError::Length { .. })));
        assert!(matches!(Corrections::from_blocks(plain, count, &[0; 59]), Err(FssError::Length { .. })));
        assert!(matches!(verified::Corrections::from_bytes(verified, count, &[0; 336]), Err(FssError::Length { .. })));
    }
}

/// Evaluates keys with corrections that are not a dealer's in all ways that a holder may.
fn evaluated(hash: &Hash, shape: Shape, corrections: Corrections) {
    let keys = Keys::new(roots(Side::Second, COUNT, 0), corrections).unwrap();
    let table = Table::backwards(Ring::of(20), &[1, 2, 3]);
    lookup(hash, &keys, &[0, shape.mask()].map(|x| table.start(x) & shape.mask()), &table);
    intervals(hash, &keys, 2, |row, key| [row as u64 & shape.mask(), shape.mask() - key as u64]);
    quorate_fss::visit(hash, &keys, &[shape.mask(), 0], 2, |_, _, _| ());
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn noise_is_refused_or_keys(
        parser in prop::sample::select(Parser::all()),
        bytes in proptest::collection::vec(any::<u8>(), 0..300),
        header in any::<bool>(),
        count in prop_oneof![0usize..5, any::<usize>()],
    ) {
        let mut bytes = bytes;
        if header {
            bytes.splice(0..bytes.len().min(HEADER_BYTES), parser.message()[..HEADER_BYTES].iter().copied());
        }
        if let Ok(again) = parser.read(count, &bytes) {
            prop_assert!(header && count == COUNT && again == bytes);
        }
    }

    #[test]
    fn keys_of_noise_can_be_evaluated(
        bits in 2u32..=64,
        blocks in 0usize..3,
        noise in proptest::collection::vec(any::<u128>(), 2 * 64),
    ) {
        let shape = Shape::new(bits, 1 << blocks).unwrap();
        let blocks = COUNT * shape.key_blocks();
        let of_blocks = Corrections::from_blocks(shape, COUNT, &noise[..blocks]).unwrap();
        prop_assert!(Corrections::from_blocks(shape, COUNT, &noise[..blocks - 1]).is_err());
        evaluated(&hash(), shape, of_blocks);
    }

    #[test]
    fn verified_keys_of_noise_can_be_checked(
        bits in 1u32..=6,
        ring in 1u32..=128,
        noise in proptest::collection::vec(any::<u8>(), 2 * (6 * 16 + 32 + 48)),
    ) {
        let shape = verified::Shape::new(bits, Ring::of(ring)).unwrap();
        let bytes = &noise[..COUNT * shape.key_bytes()];
        let corrections = verified::Corrections::from_bytes(shape, COUNT, bytes).unwrap();
        prop_assert!(verified::Corrections::from_bytes(shape, COUNT, &bytes[1..]).is_err());
        let keys = verified::Keys::new(roots(Side::First, COUNT, 0), corrections).unwrap();
        let mut prg = quorate_crypto::Seed::from_bytes([5; 32]).prg("quorate/fss/test coins", b"");
        let checked = verified::check(&hash(), &keys, &verified::coins(shape, &mut prg));
        prop_assert_eq!(checked.proofs.len(), COUNT);
        verified::visit(&hash(), &keys, |_, _, _| ());
    }
}
