//! The messages before TLS begins: the called party sends a challenge. The caller answers with its number, its
//! intention, the session, random bytes of its own, the challenge, and a MAC of these. The called party replies whether
//! that session is open.
//!
//! ```text
//!   caller                            called
//!                          ◄─────────  challenge
//!   answer, TLS's hello    ─────────►
//!                          ◄─────────  reply: open; then TLS
//!                                      or: not open, or open with other options; then it hangs up
//! ```
//! An answer costs the caller a round trip on its connection and costs the called party one hash; TLS costs a thread
//! and signatures. The key of the MAC is derived from both parties' certificates. Certificates are no secrets, so the
//! MAC does not identify a caller: TLS does that. But strangers who scan addresses do not have the certificates, which
//! parties send each other before they connect, and which TLS 1.3 encrypts. So callers with a right MAC have places of
//! their own. A caller with a wrong MAC may be a peer whose certificate was replaced; it gets one of a few other
//! places, so that TLS tells both sides why they do not meet. The same key authenticates the reply to this one answer,
//! whose random bytes are new: those who have no certificates cannot make a session look closed, also not by repeating
//! a challenge and the reply that followed it.

use rustls::pki_types::CertificateDer;

use super::session::{ID_BYTES, SessionId};

/// Bytes of a challenge: the magic, then random bytes.
pub(crate) const CHALLENGE_BYTES: usize = MAGIC.len() + RANDOM_BYTES;
/// Bytes of an answer: the magic, what the caller says, the challenge's random bytes, and a MAC.
pub(crate) const ANSWER_BYTES: usize = MAGIC.len() + SAID_BYTES + RANDOM_BYTES + blake3::OUT_LEN;
/// Bytes of a reply: the magic, a status, and a MAC.
pub(crate) const REPLY_BYTES: usize = MAGIC.len() + 1 + blake3::OUT_LEN;

const MAGIC: [u8; 8] = *b"QUORATE?";
const RANDOM_BYTES: usize = 32;
const NUMBER_BYTES: usize = 4;
/// Random bytes of a caller, which make its answer another one each time.
pub(crate) const FRESH_BYTES: usize = 16;
/// The caller's number, its intention, the session, and its random bytes.
const SAID_BYTES: usize = NUMBER_BYTES + 1 + ID_BYTES + FRESH_BYTES;
/// The context of the keys, in the form that BLAKE3 asks for.
const CONTEXT: &str = "quorate-net 2026-11-29 answers to challenges before TLS";

/// The random bytes of a challenge.
pub(crate) type Challenge = [u8; RANDOM_BYTES];
type Key = [u8; blake3::KEY_LEN];

/// A caller's intention.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Intention {
    /// A connection: TLS follows.
    Connect,
    /// To learn whether the session is open.
    Ask,
}

/// A called party's reply: the state of the session.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Status {
    /// It is open; TLS follows.
    Open,
    /// It is not open.
    Closed,
    /// It is not open; one of the same name with other options is.
    OtherOptions,
}

impl Status {
    const ALL: [Status; 3] = [Status::Open, Status::Closed, Status::OtherOptions];
}

/// The content of a caller's answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Said {
    pub(crate) intention: Intention,
    pub(crate) session: SessionId,
    /// Whether the MAC is right: the caller has certificates of this party and of the party that it says it is.
    pub(crate) is_right: bool,
    caller: usize,
    /// The place among the caller's keys of that with which the MAC is right.
    key: usize,
    /// All of this as it arrived, with the caller's random bytes.
    bytes: [u8; SAID_BYTES],
}

/// The part of an answer that has arrived.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Answer {
    /// The beginning of an answer.
    Begun,
    /// An answer to the challenge.
    Said(Said),
}

/// Keys of answers, by caller: one for each certificate of this party with each of the caller's.
pub(crate) struct AnswerKeys {
    keys: Vec<Vec<Key>>,
}

impl AnswerKeys {
    /// Derives the keys of the party with number `called`, whose callers answer, from all parties' certificates.
    pub(crate) fn of_called(called: usize, certificates: &[Vec<CertificateDer<'_>>]) -> Self {
        let own = &certificates[called];
        let keys = |callers: &Vec<CertificateDer<'_>>| {
            own.iter().flat_map(|own| callers.iter().map(|caller| key(own, caller))).collect()
        };
        AnswerKeys { keys: certificates.iter().map(keys).collect() }
    }

    /// Reads what a caller has sent after the challenge. `None` if it can never be an answer to it.
    pub(crate) fn read(&self, challenge: &Challenge, seen: &[u8]) -> Option<Answer> {
        let known = seen.len().min(MAGIC.len());
        if seen[..known] != MAGIC[..known] {
            return None;
        }
        let Some(answer) = seen.get(MAGIC.len()..ANSWER_BYTES) else { return Some(Answer::Begun) };
        let (said, answer) = answer.split_at(SAID_BYTES);
        let (echo, mac) = answer.split_at(RANDOM_BYTES);
        if echo != challenge {
            return None;
        }
        let (number, rest) = said.split_at(NUMBER_BYTES);
        let caller = u32::from_le_bytes(number.try_into().ok()?) as usize;
        let (intention, rest) = rest.split_first()?;
        let intention = match intention {
            0 => Intention::Connect,
            1 => Intention::Ask,
            _ => return None,
        };
        let session = *rest.first_chunk()?;
        let mac = blake3::Hash::from_bytes(mac.try_into().ok()?);
        // The comparison of hashes takes the same time wherever they differ.
        let keys = self.keys.get(caller).map_or(&[][..], Vec::as_slice);
        let right = keys.iter().position(|key| answer_mac(key, said, challenge) == mac);
        let (is_right, key, bytes) = (right.is_some(), right.unwrap_or(0), said.try_into().ok()?);
        Some(Answer::Said(Said { intention, session, is_right, caller, key, bytes }))
    }

    /// Returns the reply to a caller. A caller without a right MAC cannot check it.
    pub(crate) fn reply(&self, challenge: &Challenge, said: &Said, status: Status) -> [u8; REPLY_BYTES] {
        let mut bytes = [0; REPLY_BYTES];
        bytes[..MAGIC.len()].copy_from_slice(&MAGIC);
        bytes[MAGIC.len()] = Status::ALL.iter().position(|one| *one == status).unwrap_or(0) as u8;
        let key = self.keys.get(said.caller).and_then(|keys| keys.get(said.key));
        if let Some(key) = key.filter(|_| said.is_right) {
            let mac = reply_mac(key, bytes[MAGIC.len()], challenge, &said.bytes);
            bytes[MAGIC.len() + 1..].copy_from_slice(mac.as_bytes());
        }
        bytes
    }
}

/// A caller's answer to a challenge, and what it needs to read the reply.
pub(crate) struct Knock {
    pub(crate) answer: [u8; ANSWER_BYTES],
    key: Key,
    challenge: Challenge,
    said: [u8; SAID_BYTES],
}

impl Knock {
    /// Makes the answer of the party with number `caller` to a challenge, from a certificate of the called party and
    /// the caller's own. The random bytes are new for each answer.
    pub(crate) fn new(
        challenge: &Challenge,
        caller: usize,
        certificates: [&[u8]; 2],
        intention: Intention,
        session: SessionId,
        fresh: &[u8; FRESH_BYTES],
    ) -> Self {
        let mut answer = [0; ANSWER_BYTES];
        answer[..MAGIC.len()].copy_from_slice(&MAGIC);
        let (place, rest) = answer[MAGIC.len()..].split_at_mut(SAID_BYTES);
        let (echo, mac) = rest.split_at_mut(RANDOM_BYTES);
        let mut said = [0; SAID_BYTES];
        said[..NUMBER_BYTES].copy_from_slice(&(caller as u32).to_le_bytes());
        said[NUMBER_BYTES] = u8::from(intention == Intention::Ask);
        said[NUMBER_BYTES + 1..][..ID_BYTES].copy_from_slice(&session);
        said[NUMBER_BYTES + 1 + ID_BYTES..].copy_from_slice(fresh);
        place.copy_from_slice(&said);
        echo.copy_from_slice(challenge);
        let key = key(certificates[0], certificates[1]);
        mac.copy_from_slice(answer_mac(&key, &said, challenge).as_bytes());
        Knock { answer, key, challenge: *challenge, said }
    }

    /// Reads the reply. Returns `None` for bytes that are no reply, and for a reply without a right MAC that states
    /// that the session is not open.
    pub(crate) fn read(&self, reply: &[u8; REPLY_BYTES]) -> Option<Status> {
        let (status, mac) = reply.strip_prefix(&MAGIC)?.split_first()?;
        let expected = reply_mac(&self.key, *status, &self.challenge, &self.said);
        let is_right = expected == blake3::Hash::from_bytes(mac.try_into().ok()?);
        // TLS follows where it is open, and finds out more.
        Status::ALL.get(usize::from(*status)).copied().filter(|status| is_right || *status == Status::Open)
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

fn key(called: &[u8], caller: &[u8]) -> Key {
    let mut hasher = blake3::Hasher::new_derive_key(CONTEXT);
    for certificate in [called, caller] {
        hasher.update(&(certificate.len() as u64).to_le_bytes()).update(certificate);
    }
    *hasher.finalize().as_bytes()
}

fn answer_mac(key: &Key, said: &[u8], challenge: &Challenge) -> blake3::Hash {
    blake3::Hasher::new_keyed(key).update(b"answer  ").update(said).update(challenge).finalize()
}

fn reply_mac(key: &Key, status: u8, challenge: &Challenge, said: &[u8; SAID_BYTES]) -> blake3::Hash {
    blake3::Hasher::new_keyed(key).update(b"reply   ").update(&[status]).update(said).update(challenge).finalize()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const SESSION: SessionId = [9; ID_BYTES];

    fn certificates() -> Vec<Vec<CertificateDer<'static>>> {
        [&[1u8; 40][..], &[2; 40], &[3; 41]].iter().map(|bytes| vec![CertificateDer::from(bytes.to_vec())]).collect()
    }

    fn knock(challenge: &Challenge, called: usize, caller: usize) -> Knock {
        let both = [called, caller].map(|party| certificates()[party][0].to_vec());
        let both = [&both[0][..], &both[1][..]];
        Knock::new(challenge, caller, both, Intention::Connect, SESSION, &[4; FRESH_BYTES])
    }

    /// Whether the answer has a right MAC; `None` if it is no answer.
    fn is_right(keys: &AnswerKeys, challenge: &Challenge, seen: &[u8]) -> Option<bool> {
        match keys.read(challenge, seen)? {
            Answer::Begun => panic!("an incomplete answer"),
            Answer::Said(said) => Some(said.is_right),
        }
    }

    #[test]
    fn an_answer_is_for_one_challenge_one_called_party_and_one_caller() {
        let certificates = certificates();
        let challenge = read_challenge(&challenge_bytes(&[7; 32])).unwrap();
        let of = |called| AnswerKeys::of_called(called, &certificates);
        let answer = knock(&challenge, 0, 2).answer;
        for seen in 0..ANSWER_BYTES {
            assert_eq!(of(0).read(&challenge, &answer[..seen]), Some(Answer::Begun), "{seen} bytes");
        }
        let more = [&answer[..], b"TLS follows"].concat();
        let Some(Answer::Said(said)) = of(0).read(&challenge, &answer) else { panic!("no answer") };
        assert_eq!((said.intention, said.session, said.is_right), (Intention::Connect, SESSION, true));
        assert_eq!(said.caller, 2);
        assert_eq!(is_right(&of(0), &challenge, &more), Some(true));
        assert_eq!(is_right(&of(1), &challenge, &answer), Some(false), "another called party");
        assert_eq!(of(0).read(&[8; 32], &answer), None, "another challenge");
        for number in [1, 3, 255] {
            let mut other = answer;
            other[MAGIC.len()] = number;
            assert_eq!(is_right(&of(0), &challenge, &other), Some(false), "of caller {number}");
        }
        assert_eq!(of(0).read(&challenge, b"GET / HTTP/1.1"), None);
        let mut strange = challenge_bytes(&[7; 32]);
        strange[0] ^= 1;
        assert_eq!(read_challenge(&strange), None);
    }

    /// Returns what party 1 says in answer to the challenge of fives.
    fn read(keys: &AnswerKeys, intention: Intention, session: SessionId, fresh: [u8; FRESH_BYTES]) -> Said {
        let knock = Knock::new(&[5; 32], 1, [&[1; 40], &[2; 40]], intention, session, &fresh);
        match keys.read(&[5; 32], &knock.answer) {
            Some(Answer::Said(said)) if said.is_right => said,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn a_reply_that_a_session_is_not_open_is_authentic() {
        let (keys, knock) = (AnswerKeys::of_called(0, &certificates()), knock(&[5; 32], 0, 1));
        let Some(Answer::Said(said)) = keys.read(&[5; 32], &knock.answer) else { panic!("no answer") };
        for status in Status::ALL {
            let reply = keys.reply(&[5; 32], &said, status);
            assert_eq!(knock.read(&reply), Some(status));
            let unknown = keys.reply(&[5; 32], &Said { is_right: false, ..said }, status);
            let others = [
                keys.reply(&[6; 32], &said, status),
                keys.reply(&[5; 32], &read(&keys, Intention::Connect, [8; ID_BYTES], [4; FRESH_BYTES]), status),
                keys.reply(&[5; 32], &read(&keys, Intention::Ask, SESSION, [4; FRESH_BYTES]), status),
                // Of an earlier answer to the same challenge, which somebody repeats.
                keys.reply(&[5; 32], &read(&keys, Intention::Connect, SESSION, [3; FRESH_BYTES]), status),
                AnswerKeys::of_called(2, &certificates()).reply(&[5; 32], &said, status),
                unknown,
            ];
            let believed = Some(Status::Open).filter(|open| *open == status);
            assert!(others.iter().all(|other| knock.read(other) == believed), "{status:?}");
            let mut turned = reply;
            turned[MAGIC.len()] = (turned[MAGIC.len()] + 1) % 3;
            assert!([None, Some(Status::Open)].contains(&knock.read(&turned)), "{status:?}");
            turned[MAGIC.len()] = 3;
            assert_eq!(knock.read(&turned), None);
        }
    }

    /// While certificates are replaced, the two parties may have other lists.
    #[test]
    fn an_answer_is_right_with_any_certificate_of_both() {
        let lists = [[1u8, 11], [2, 12]].map(|two| two.map(|byte| CertificateDer::from(vec![byte; 40])).to_vec());
        let keys = AnswerKeys::of_called(0, &lists);
        for (called, caller, is_known) in [(1, 2, true), (1, 12, true), (11, 2, true), (11, 12, true), (1, 3, false)] {
            let both = [&[called; 40][..], &[caller; 40]];
            let knock = Knock::new(&[5; 32], 1, both, Intention::Connect, SESSION, &[4; FRESH_BYTES]);
            let Some(Answer::Said(said)) = keys.read(&[5; 32], &knock.answer) else { panic!("no answer") };
            assert_eq!(said.is_right, is_known, "{called} {caller}");
            let reply = keys.reply(&[5; 32], &said, Status::Closed);
            assert_eq!(knock.read(&reply), is_known.then_some(Status::Closed), "{called} {caller}");
        }
    }

    proptest! {
        #[test]
        fn a_changed_answer_is_not_right(at in 0..ANSWER_BYTES, bit in 0u8..8) {
            let keys = AnswerKeys::of_called(0, &certificates());
            let mut changed = knock(&[5; 32], 0, 1).answer;
            changed[at] ^= 1 << bit;
            let echo = MAGIC.len() + SAID_BYTES..MAGIC.len() + SAID_BYTES + RANDOM_BYTES;
            let is_intention = at == MAGIC.len() + NUMBER_BYTES;
            let is_answer = at >= MAGIC.len() && !echo.contains(&at) && (!is_intention || bit == 0);
            prop_assert_eq!(is_right(&keys, &[5; 32], &changed), is_answer.then_some(false));
        }
    }
}
