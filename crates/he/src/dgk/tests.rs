use crypto_bigint::BoxedUint;
use proptest::prelude::*;
use zeroize::Zeroizing;

use super::logarithm::{Logarithm, NO_POWER};
use super::secret::Bases;
use super::{PublicKey, SecretKey};
use crate::coins::test_coins;
use crate::modulus::{Modulus, NO_UNIT, OUT_OF_RANGE};
use crate::options::Level;
use crate::scheme::{BAD_BASE, BAD_KEY_LENGTH, BAD_MODULUS, PublicKey as _, Query, SecretKey as _, mask};

const TINY: Level = Level::insecure(256, 40);

fn keys() -> (SecretKey, PublicKey) {
    let secret = SecretKey::generate(TINY, &mut test_coins(20));
    let public = PublicKey::read_key(TINY, &secret.message()).unwrap();
    (secret, public)
}

fn hex(text: &str) -> BoxedUint {
    BoxedUint::from_be_hex(text, 4 * text.len() as u32).unwrap()
}

fn bases(prime: &str, order: u64, g: &str, h: &str) -> Bases {
    let modulus = Modulus::new(&hex(prime)).unwrap();
    let [g, h] = [g, h].map(|base| modulus.enter_reduced(&hex(base)));
    Bases { prime: Zeroizing::new(hex(prime)), order: Zeroizing::new(BoxedUint::from(order)), order_bits: 40, g, h }
}

/// Tests known answers, computed from the paper's formulas, without residues, windows or Montgomery forms.
#[test]
fn known_answers() {
    let of_p = bases(
        "f75e7a29a225b3e10000000000000001",
        0x00dc_3f12_d68f,
        "35af8f053238bb5ea23482d906af438d",
        "3c27ad0b02b14f853e222b4f2d436ec6",
    );
    let of_q = bases(
        "d15fa175dae4355f0000000000000001",
        0x00ca_0289_eb07,
        "06a05d56c791f2dc83e7fd71960cf2d0",
        "0feaa0b88b449b55947ec2b0a0e75a70",
    );
    let key = SecretKey::from_bases(of_p, of_q);
    let [g, h] = [
        "48b649916e45a11ac0a0f0128aee998e20380e683e79a080e658e445bb0de6b7",
        "84aa369e5f7185bc1473c0a51f9698fcaccc3f49024c202250eb1b4fd632fb73",
    ]
    .map(|text| hex(text).to_be_bytes());
    assert_eq!(key.message()[32..], *[g, h].concat());
    for (k, m, ciphertext) in [
        (64, 0xfedc_ba98_7654_3210, "52599a4254c18464a6ee8ce20cb00150e78cece0c59f9d5e5535cc6f2f16cbbd"),
        (8, 0xab, "0cb6c3d99f7b784c3882d3def20e173004c4544bb9bf04769bf8d95521733b00"),
    ] {
        assert_eq!(*key.decrypt(k, &hex(ciphertext), 1).unwrap(), [m]);
    }
}

#[test]
fn everything_encrypted_is_decrypted() {
    let (secret, _) = keys();
    let mut coins = test_coins(21);
    for k in 1..=64 {
        for m in [0, 1, mask(k) / 3, mask(k) - 1, mask(k)] {
            let message = secret.encrypt(k, m, &mut coins);
            assert_ne!(message, secret.encrypt(k, m, &mut coins), "ciphertexts are random");
            let read = secret.read(&message).unwrap();
            assert_eq!(secret.decrypt(k, &read[0], 1).unwrap()[0], m);
        }
    }
    let all = (0..256).map(|m| secret.read(&secret.encrypt(8, m, &mut coins)).unwrap().remove(0));
    all.enumerate().for_each(|(m, c)| assert_eq!(secret.decrypt(8, &c, 1).unwrap()[0], m as u64));
}

/// Tests all factors of two bits each.
#[test]
fn answers_are_right_for_all_factors_of_a_tiny_ring() {
    let (secret, public) = keys();
    let (k, mut coins) = (2, test_coins(22));
    let encrypted: Vec<_> = (0..4).map(|m| public.read(&secret.encrypt(k, m, &mut coins)).unwrap().remove(0)).collect();
    for [a, b, x, y] in (0..256).map(|i| [0, 2, 4, 6].map(|at| i >> at & 3)) {
        let query = Query { a: &encrypted[a as usize], b: &encrypted[b as usize], x, y };
        let (message, masks) = public.answer(k, &[query], &mut coins);
        let answer = secret.read(&message).unwrap();
        let sums = secret.decrypt(k, &answer[0], 1).unwrap();
        assert_eq!((sums[0] + masks[0]) & 3, (a * y + b * x) & 3, "{a} {y} + {b} {x}");
    }
}

/// A base of order 2^16 does not have order 2^64: its power that should have order 16 is 1, and only 1 has a logarithm.
#[test]
fn powers_without_a_logarithm_are_refused() {
    let modulus = Modulus::new(&BoxedUint::from(65537u32)).unwrap();
    let three = modulus.enter(&BoxedUint::from(3u8));
    let tables = Logarithm::new(&modulus, &three).unwrap();
    assert_eq!(tables.of(&modulus, &three, 16), Err(NO_POWER));
    assert_eq!(tables.of(&modulus, &modulus.enter(&BoxedUint::from(65536u32)), 4), Err(NO_POWER));
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
    let mut one = [0; 32];
    one[31] = 1;
    for at in [32, 64] {
        assert_eq!(refused(&with(at, &[0; 32])), Some(BAD_BASE));
        assert_eq!(refused(&with(at, &[0xff; 32])), Some(BAD_BASE));
        assert_eq!(refused(&with(at, &one)), Some(BAD_BASE));
        assert_eq!(refused(&with(at, &good[..32])), Some(BAD_BASE), "the modulus itself");
    }
}

#[test]
fn messages_that_are_no_ciphertexts_are_refused() {
    let (secret, public) = keys();
    for (message, why) in [
        (vec![0; 31], "ciphertexts of a wrong length"),
        (vec![0xff; 32], OUT_OF_RANGE),
        (secret.message()[..32].to_vec(), OUT_OF_RANGE),
        (vec![0; 32], NO_UNIT),
    ] {
        assert_eq!(public.read(&message).err(), Some(why));
        assert_eq!(secret.read(&message).err(), Some(why));
    }
}

#[test]
fn an_answer_to_something_else_is_refused() {
    let (secret, _) = keys();
    let mut coins = test_coins(23);
    let noise = coins.bits(250);
    assert_eq!(secret.decrypt(64, &noise, 1).err(), Some(NO_POWER));
    let wide = secret.read(&secret.encrypt(9, 257, &mut coins)).unwrap().remove(0);
    assert_eq!(secret.decrypt(8, &wide, 1).err(), Some(NO_POWER), "of a larger ring");
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
        bytes.truncate(32);
        bytes[0] &= 0x0f;
        let Ok(read) = secret.read(&bytes) else { return Ok(()) };
        let _ = secret.decrypt(16, &read[0], 1);
        let queries = [Query { a: &read[0], b: &read[0], x: 3, y: 65535 }];
        let (answer, shares) = public.answer(16, &queries, &mut test_coins(30));
        prop_assert_eq!((answer.len(), shares.len()), (32, 1));
    }
}
