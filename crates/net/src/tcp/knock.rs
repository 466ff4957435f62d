//! What two parties say before TLS begins: the called party sends a challenge. The caller answers with its number, the
//! challenge, and a MAC of it.
//!
//! An answer costs the caller a round trip on its connection and costs the called party one hash; TLS costs a thread
//! and signatures. The key of the MAC is derived from both parties' certificates. Certificates are no secrets, so the
//! MAC identifies nobody: TLS does that. But strangers who scan addresses do not have the certificates, which parties
//! send each other before they connect, and which TLS 1.3 encrypts. So callers with a right MAC have places of their
//! own. A caller with a wrong MAC may be a peer whose certificate was replaced; it gets one of a few other places, so
//! that TLS tells both sides why they do not meet.

use rustls::pki_types::CertificateDer;

/// Bytes of a challenge: the magic, then random bytes.
pub(crate) const CHALLENGE_BYTES: usize = MAGIC.len() + RANDOM_BYTES;
/// Bytes of an answer: the magic, the caller's number, the challenge's random bytes, and their MAC.
pub(crate) const ANSWER_BYTES: usize = MAGIC.len() + NUMBER_BYTES + RANDOM_BYTES + blake3::OUT_LEN;

const MAGIC: [u8; 8] = *b"QUORATE?";
const RANDOM_BYTES: usize = 32;
const NUMBER_BYTES: usize = 4;
/// The context of the keys, in the form that BLAKE3 asks for.
const CONTEXT: &str = "quorate-net 2026-11-29 answers to challenges before TLS";

/// The random bytes of a challenge.
pub(crate) type Challenge = [u8; RANDOM_BYTES];

/// What a caller has said so far.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Answer {
    /// The beginning of an answer.
    Begun,
    /// The challenge, without a right MAC: the caller does not have the certificates of this party and of itself.
    Echo,
    /// The challenge with the MAC of a party.
    Right,
}

/// Keys of answers, one for each party: party i's is the key between this party and party i.
pub(crate) struct AnswerKeys {
    keys: Vec<[u8; blake3::KEY_LEN]>,
}

impl AnswerKeys {
    /// Derives the keys of the party with number `called`, whose callers answer, from all parties' certificates.
    pub(crate) fn of_called(called: usize, certificates: &[CertificateDer<'_>]) -> Self {
        AnswerKeys { keys: certificates.iter().map(|caller| key(&certificates[called], caller)).collect() }
    }

    /// Reads what a caller has sent after the challenge. `None` if it can never be an answer to it.
    pub(crate) fn read(&self, challenge: &Challenge, seen: &[u8]) -> Option<Answer> {
        let known = seen.len().min(MAGIC.len());
        if seen[..known] != MAGIC[..known] {
            return None;
        }
        let Some(answer) = seen.get(MAGIC.len()..ANSWER_BYTES) else { return Some(Answer::Begun) };
        let (number, answer) = answer.split_at(NUMBER_BYTES);
        let (echo, mac) = answer.split_at(RANDOM_BYTES);
        if echo != challenge {
            return None;
        }
        let caller = u32::from_le_bytes(number.try_into().ok()?) as usize;
        let expected = self.keys.get(caller).map(|key| blake3::keyed_hash(key, challenge));
        // The comparison of hashes takes the same time wherever they differ.
        let right = expected == Some(blake3::Hash::from_bytes(mac.try_into().ok()?));
        Some(if right { Answer::Right } else { Answer::Echo })
    }
}

/// Returns the bytes of a challenge.
pub(crate) fn challenge_bytes(challenge: &Challenge) -> [u8; CHALLENGE_BYTES] {
    let mut bytes = [0; CHALLENGE_BYTES];
    bytes[..MAGIC.len()].copy_from_slice(&MAGIC);
    bytes[MAGIC.len()..].copy_from_slice(challenge);
    bytes
}

/// Reads the bytes of a challenge. `None` if they are no challenge.
pub(crate) fn read_challenge(bytes: &[u8; CHALLENGE_BYTES]) -> Option<Challenge> {
    let random = bytes.strip_prefix(&MAGIC)?;
    random.try_into().ok()
}

/// Returns the answer of the party with number `caller` to a challenge of the party with number `called`.
pub(crate) fn answer(
    challenge: &Challenge,
    called: usize,
    caller: usize,
    certificates: &[CertificateDer<'_>],
) -> [u8; ANSWER_BYTES] {
    let mut bytes = [0; ANSWER_BYTES];
    bytes[..MAGIC.len()].copy_from_slice(&MAGIC);
    let (number, rest) = bytes[MAGIC.len()..].split_at_mut(NUMBER_BYTES);
    let (echo, mac) = rest.split_at_mut(RANDOM_BYTES);
    number.copy_from_slice(&(caller as u32).to_le_bytes());
    echo.copy_from_slice(challenge);
    let key = key(&certificates[called], &certificates[caller]);
    mac.copy_from_slice(blake3::keyed_hash(&key, challenge).as_bytes());
    bytes
}

fn key(called: &[u8], caller: &[u8]) -> [u8; blake3::KEY_LEN] {
    let mut hasher = blake3::Hasher::new_derive_key(CONTEXT);
    for certificate in [called, caller] {
        hasher.update(&(certificate.len() as u64).to_le_bytes()).update(certificate);
    }
    *hasher.finalize().as_bytes()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn certificates() -> Vec<CertificateDer<'static>> {
        [&[1u8; 40][..], &[2; 40], &[3; 41]].iter().map(|bytes| CertificateDer::from(bytes.to_vec())).collect()
    }

    #[test]
    fn an_answer_is_for_one_challenge_one_called_party_and_one_caller() {
        let certificates = certificates();
        let challenge = read_challenge(&challenge_bytes(&[7; 32])).unwrap();
        let of = |called| AnswerKeys::of_called(called, &certificates);
        let answer = answer(&challenge, 0, 2, &certificates);
        for seen in 0..ANSWER_BYTES {
            assert_eq!(of(0).read(&challenge, &answer[..seen]), Some(Answer::Begun), "{seen} bytes");
        }
        let more = [&answer[..], b"TLS follows"].concat();
        assert_eq!(of(0).read(&challenge, &answer), Some(Answer::Right));
        assert_eq!(of(0).read(&challenge, &more), Some(Answer::Right));
        assert_eq!(of(1).read(&challenge, &answer), Some(Answer::Echo), "another called party");
        assert_eq!(of(0).read(&[8; 32], &answer), None, "another challenge");
        for number in [1, 3, 255] {
            let mut other = answer;
            other[MAGIC.len()] = number;
            assert_eq!(of(0).read(&challenge, &other), Some(Answer::Echo), "of caller {number}");
        }
        assert_eq!(of(0).read(&challenge, b"GET / HTTP/1.1"), None);
        let mut strange = challenge_bytes(&[7; 32]);
        strange[0] ^= 1;
        assert_eq!(read_challenge(&strange), None);
    }

    proptest! {
        #[test]
        fn a_changed_answer_is_not_right(at in 0..ANSWER_BYTES, bit in 0u8..8) {
            let certificates = certificates();
            let mut changed = answer(&[5; 32], 0, 1, &certificates);
            changed[at] ^= 1 << bit;
            let read = AnswerKeys::of_called(0, &certificates).read(&[5; 32], &changed);
            let echoes = !(0..MAGIC.len()).contains(&at) && !(12..44).contains(&at);
            prop_assert_eq!(read, echoes.then_some(Answer::Echo));
        }
    }
}
