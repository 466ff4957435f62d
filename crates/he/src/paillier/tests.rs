use crypto_bigint::{BoxedUint, Resize};
use proptest::prelude::*;

use super::{PublicKey, SecretKey, slots};
use crate::coins::test_coins;
use crate::modulus::{NO_UNIT, OUT_OF_RANGE};
use crate::options::{Level, Options, SIGMA, Scheme, slot_bits};
use crate::scheme::{BAD_BASE, BAD_KEY_LENGTH, BAD_MODULUS, PublicKey as _, Query, SecretKey as _, mask};

const TINY: Level = Level::insecure(256, 0);

fn keys() -> (SecretKey, PublicKey) {
    let secret = SecretKey::generate(TINY, &mut test_coins(10));
    let public = PublicKey::read_key(TINY, &secret.message()).unwrap();
    (secret, public)
}

fn hex(text: &str) -> BoxedUint {
    BoxedUint::from_be_hex(text, 4 * text.len() as u32).unwrap()
}

/// Tests a known answer, computed from the textbook's formulas, without residues, windows or Montgomery forms.
#[test]
fn a_known_answer() {
    let [p, q] = ["c381e88f38c0c8fd8712b8bc076f3787", "d7e54acc62f5680c4fdf8e1a060cea63"].map(hex);
    let x = hex("736a947a843fdda7b1eedaffcc3d5506a17a4340f9c08feffa1b1bf13879399b");
    let h = hex(concat!(
        "1d00a505f72bd139d17320e1b5e56e59630799984372364f7b6578f29370242b",
        "5d4d43dea9e9ed8885ab0a55799f1ebb73ddb30b2ddb75fa7ad9a2d233b62515"
    ));
    let m = hex("202cc8284c717095bcc99ae80f0c8a896d21f4cda185cc8ea8ea37f7523d2a54");
    let alpha = hex("4c41d9c0f07534feeacc110e4f73fd941391f9b9dbc799b0121b28004e6f5a940c250a03e023033d364e433ff7c882f4");
    let ciphertext = hex(concat!(
        "4fb70043b5166e04b33ed8a514714bb56b1387ece7e04be297d257e7421d1dbb",
        "65e8faa7e698df63a1b11944b99c27e2048937d3824496bff77b4c461178b95e"
    ));
    let key = SecretKey::from_primes(TINY, [&p, &q], &x);
    assert_eq!(key.message()[32..], *h.to_be_bytes());
    assert_eq!(key.encrypt_with(&m, &alpha), ciphertext);
    assert_eq!(*key.decrypt_whole(&ciphertext), m);
    assert_eq!(*key.decrypt_whole(&h), BoxedUint::zero());
}

#[test]
fn everything_encrypted_is_decrypted() {
    let (secret, _) = keys();
    let mut coins = test_coins(11);
    for k in [1, 8, 64] {
        for m in [0, 1, mask(k) / 3, mask(k) - 1, mask(k)] {
            let message = secret.encrypt(k, m, &mut coins);
            assert_ne!(message, secret.encrypt(k, m, &mut coins), "ciphertexts are random");
            let read = secret.read(&message).unwrap();
            assert_eq!(secret.decrypt(k, &read[0], 1).unwrap()[0], m);
        }
    }
}

/// Tests all factors of two bits each; the other party holds the answer's mask.
#[test]
fn answers_are_right_for_all_factors_of_a_tiny_ring() {
    let (secret, public) = keys();
    let (k, mut coins) = (2, test_coins(12));
    let pack = Options { scheme: Scheme::Paillier, level: TINY }.pack(k);
    let encrypted: Vec<_> = (0..4).map(|m| public.read(&secret.encrypt(k, m, &mut coins)).unwrap().remove(0)).collect();
    let all: Vec<[u64; 4]> = (0..256).map(|i| [0, 2, 4, 6].map(|at| i >> at & 3)).collect();
    for some in all.chunks(pack) {
        let queries: Vec<_> = some
            .iter()
            .map(|&[a, b, x, y]| Query { a: &encrypted[a as usize], b: &encrypted[b as usize], x, y })
            .collect();
        let (message, masks) = public.answer(k, &queries, &mut coins);
        let answer = secret.read(&message).unwrap();
        let sums = secret.decrypt(k, &answer[0], some.len()).unwrap();
        for (i, [a, b, x, y]) in some.iter().enumerate() {
            assert_eq!((sums[i] + masks[i]) & 3, (a * y + b * x) & 3, "{a} {y} + {b} {x}");
        }
    }
}

#[test]
fn the_largest_factors_and_masks_do_not_reach_the_next_slot() {
    for k in [1, 8, 16, 31, 32, 64] {
        let most = u128::from(mask(k)) * u128::from(mask(k));
        let bits = slot_bits(k);
        let ones = |bits: u32| BoxedUint::max(bits).shr(bits.next_multiple_of(64) - bits);
        let largest = |high: &BoxedUint| {
            let mut drawn = BoxedUint::zero_with_precision(bits);
            slots::write(&mut drawn, 0, &ones(2 * k + 1));
            slots::write(&mut drawn, 2 * k + 1, high);
            drawn
        };
        let sum = |r: &BoxedUint| {
            let (wide, product) = (r.clone().resize(320), BoxedUint::from(most).resize(320));
            wide.wrapping_add(&product).wrapping_add(&product)
        };
        let (never, most_drawn) = (ones(SIGMA), ones(SIGMA).wrapping_sub(BoxedUint::one()));
        assert!(sum(&largest(&most_drawn)).bits_vartime() <= bits, "k = {k}");
        assert!(sum(&largest(&never)).bits_vartime() > bits, "a mask that is never drawn, k = {k}");
        assert!(slots::all_ones(&largest(&never), 2 * k + 1, SIGMA));
        for bit in 0..SIGMA {
            let other = ones(SIGMA).wrapping_sub(BoxedUint::one_with_precision(128).shl(bit));
            assert!(!slots::all_ones(&largest(&other), 2 * k + 1, SIGMA), "k = {k}, bit {bit}");
        }
        let mut coins = test_coins(13);
        assert!((0..50).all(|_| slots::draw_mask(k, &mut coins).bits_vartime() <= bits));
    }
}

#[test]
fn slots_are_written_and_read_back() {
    let mut coins = test_coins(14);
    for k in [1, 2, 8, 31, 32, 63, 64] {
        let (slot, count) = (slot_bits(k), 3070 / slot_bits(k));
        let mut words = BoxedUint::zero_with_precision(3072);
        let values: Vec<_> = (0..count).map(|_| coins.bits(slot)).collect();
        for (i, value) in (0..).zip(&values) {
            slots::write(&mut words, slot * i, value);
        }
        for (i, value) in (0..).zip(&values) {
            assert_eq!(slots::read(&words, slot * i, k), value.as_words()[0] & mask(k));
            assert_eq!(slots::read(&words, slot * i + slot - 7, 7), slots::read(value, slot - 7, 7));
        }
    }
}

#[test]
fn keys_that_cannot_be_keys_are_refused() {
    let (secret, _) = keys();
    let good = secret.message();
    let refused = |message: &[u8]| PublicKey::read_key(TINY, message).err();
    assert_eq!(refused(&good), None);
    for length in [0, 1, good.len() - 1, good.len() + 1] {
        assert_eq!(refused(&vec![1; length]), Some(BAD_KEY_LENGTH));
    }
    let with = |at: usize, bytes: &[u8]| {
        let mut message = good.clone();
        message[at..at + bytes.len()].copy_from_slice(bytes);
        message
    };
    let even = good[31] & 0xfe;
    assert_eq!(refused(&with(31, &[even])), Some(BAD_MODULUS));
    assert_eq!(refused(&with(0, &[0x7f])), Some(BAD_MODULUS), "too small");
    assert_eq!(refused(&with(32, &[0; 64])), Some(BAD_BASE));
    assert_eq!(refused(&with(32, &[0xff; 64])), Some(BAD_BASE));
    let mut one = [0; 64];
    one[63] = 1;
    assert_eq!(refused(&with(32, &one)), Some(BAD_BASE));
    // h = N, which is not a unit.
    let mut n = [0; 64];
    n[32..].copy_from_slice(&good[..32]);
    assert_eq!(refused(&with(32, &n)), Some(BAD_BASE));
}

#[test]
fn messages_that_are_no_ciphertexts_are_refused() {
    let (secret, public) = keys();
    let n = BoxedUint::from_be_slice(&secret.message()[..32], 256).unwrap();
    let mut coins = test_coins(15);
    let good = secret.encrypt(8, 7, &mut coins);
    let bytes = |number: &BoxedUint| number.clone().resize(512).to_be_bytes().to_vec();
    let mut no_unit = [good.clone(), bytes(&n)].concat();
    for (message, why) in [
        (vec![0; 63], "ciphertexts of a wrong length"),
        (vec![0xff; 64], OUT_OF_RANGE),
        (vec![0; 64], NO_UNIT),
        (no_unit.clone(), NO_UNIT),
    ] {
        assert_eq!(public.read(&message).err(), Some(why));
        assert_eq!(secret.read(&message).err(), Some(why));
    }
    no_unit.truncate(64);
    assert_eq!(public.read(&no_unit).unwrap().len(), 1);
}

#[test]
fn an_answer_to_something_else_is_refused() {
    let (secret, _) = keys();
    let mut coins = test_coins(16);
    let (k, pack) = (8, Options { scheme: Scheme::Paillier, level: TINY }.pack(8));
    let long = coins.bits(250);
    let ciphertext = secret.encrypt_with(&long, &coins.bits(384));
    assert_eq!(secret.decrypt(k, &ciphertext, pack).err(), Some(super::secret::TOO_LONG));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]
    /// Bytes of the right length are a key, ciphertexts and answers, or refused; bytes of another length are refused.
    #[test]
    fn arbitrary_bytes_never_panic(mut bytes in proptest::collection::vec(any::<u8>(), 0..2 * 96)) {
        let (secret, public) = keys();
        prop_assert!(PublicKey::read_key(TINY, &bytes).is_err() || bytes.len() == 96);
        let _ = public.read(&bytes);
        bytes.resize(96, 1);
        let _ = PublicKey::read_key(TINY, &bytes);
        bytes.truncate(64);
        bytes[0] &= 0x0f;
        let Ok(read) = secret.read(&bytes) else { return Ok(()) };
        let _ = secret.decrypt(16, &read[0], 1);
        let queries = [Query { a: &read[0], b: &read[0], x: 3, y: 65535 }];
        let (answer, shares) = public.answer(16, &queries, &mut test_coins(30));
        prop_assert_eq!((answer.len(), shares.len()), (64, 1));
    }
}
