//! Base OT: random OTs of 32-byte keys from Diffie-Hellman on ristretto255.
//!
//! **Source**: Masny, Rindal, "Endemic Oblivious Transfer", CCS 2019 (ePrint 2019/706), the one-round protocol from key
//! agreement. **Model**: UC, malicious, in the random-oracle model under an interactive Diffie-Hellman assumption
//! (docs/security/ot.md). Endemic: a corrupt party may choose its own outputs, and learns nothing of the other's.
//! **Deviation**: none; every OT has its own secret on both sides, and all hashes are bound to session, direction and
//! number. **Notation**: choice c, the paper's r_0, r_1 in the receiver's message, A = yG in the sender's; T = tG.
//!
//! | step | who | does |
//! |---|---|---|
//! | 1 | receiver | draws t and a point X; r_c = T - H_c(X), r_(1-c) = X; sends r_0, r_1 |
//! | 1 | sender | draws y; sends A = yG |
//! | 2 | sender | k_j = hash of y (r_j + H_j(r_(1-j))), j = 0, 1 |
//! | 2 | receiver | k_c = hash of t A |
//!
//! One round: neither message depends on the other. For each OT, the receiver sends 64 bytes and the sender 32. Points
//! are read only in their canonical encoding, and the identity is refused. Timing depends only on the number of OTs.

use curve25519_dalek::ristretto::CompressedRistretto;
use curve25519_dalek::traits::IsIdentity;
use curve25519_dalek::{RistrettoPoint, Scalar};
use quorate_crypto::Prg;
use subtle::{Choice, ConditionallySelectable};
use zeroize::Zeroizing;

use crate::domains;
use crate::remembered::{self, remembered};

const POINT_BYTES: usize = 32;
/// The sender's message for one OT.
pub(crate) const SENDER_BYTES: usize = POINT_BYTES;
/// The receiver's message for one OT.
pub(crate) const RECEIVER_BYTES: usize = 2 * POINT_BYTES;

/// A random OT's output.
pub(crate) type Key = Zeroizing<[u8; 32]>;

/// The error for refused points of a peer.
pub(crate) const BAD_POINT: &str = "a base OT point that is not on the curve, or the identity";

/// The context to which all hashes are bound: the session, its sender and its receiver.
#[derive(Clone, Copy)]
pub(crate) struct Direction {
    pub id: [u8; 32],
    /// The context to which H is bound: the same, except in tests that remember base OTs.
    points: [u8; 32],
}

impl Direction {
    /// Returns the OTs of `session` whose sender is party `sender`.
    pub fn new(session: &[u8; 32], sender: usize, receiver: usize) -> Direction {
        let of = |session: &[u8; 32]| {
            let mut hasher = blake3::Hasher::new_derive_key(domains::DIRECTION);
            hasher.update(session).update(&(sender as u64).to_le_bytes()).update(&(receiver as u64).to_le_bytes());
            hasher.finalize().into()
        };
        Direction { id: of(session), points: of(&remembered::session(*session)) }
    }

    /// Returns H_j of a point: from points to points, as a random oracle.
    fn point(&self, number: usize, j: u8, point: &[u8; POINT_BYTES]) -> RistrettoPoint {
        let mut hasher = blake3::Hasher::new_derive_key(domains::BASE_POINT);
        hasher.update(&self.points).update(&(number as u64).to_le_bytes()).update(&[j]).update(point);
        let mut uniform = [0; 64];
        hasher.finalize_xof().fill(&mut uniform);
        RistrettoPoint::from_uniform_bytes(&uniform)
    }

    /// Returns the key: a hash of the shared point and the whole transcript of this OT.
    fn key(&self, number: usize, j: u8, sent: &[u8], received: &[u8], shared: &Key) -> Key {
        let mut hasher = blake3::Hasher::new_derive_key(domains::BASE_KEY);
        hasher.update(&self.id).update(&(number as u64).to_le_bytes()).update(&[j]).update(sent).update(received);
        hasher.update(shared.as_slice());
        let key = Zeroizing::new(hasher.finalize().into());
        zeroize::Zeroize::zeroize(&mut hasher);
        key
    }
}

fn random_bytes(coins: &mut Prg) -> Zeroizing<[u8; 64]> {
    let mut bytes = Zeroizing::new([0; 64]);
    coins.fill(&mut *bytes);
    bytes
}

fn random_scalar(coins: &mut Prg) -> Zeroizing<Scalar> {
    Zeroizing::new(Scalar::from_bytes_mod_order_wide(&random_bytes(coins)))
}

fn encoded(shared: &RistrettoPoint) -> Key {
    Zeroizing::new(shared.compress().to_bytes())
}

/// Reads a point from the peer.
fn read_point(bytes: &[u8; POINT_BYTES]) -> Result<RistrettoPoint, &'static str> {
    let point = CompressedRistretto(*bytes).decompress().ok_or(BAD_POINT)?;
    if point.is_identity() { Err(BAD_POINT) } else { Ok(point) }
}

fn points(message: &[u8]) -> &[[u8; POINT_BYTES]] {
    message.as_chunks().0
}

/// The sender between its two steps.
pub(crate) struct BaseSender {
    direction: Direction,
    secrets: Vec<Zeroizing<Scalar>>,
    pub message: Vec<u8>,
}

impl BaseSender {
    /// Step 1: makes A = yG for every OT.
    pub fn new(direction: Direction, count: usize, coins: &mut Prg) -> BaseSender {
        let point = |y: &Scalar| RistrettoPoint::mul_base(y).compress().to_bytes();
        let sent = |y: &Zeroizing<Scalar>| remembered("sent", &[y.as_bytes()], || point(y));
        let secrets: Vec<_> = (0..count).map(|_| random_scalar(coins)).collect();
        let message = secrets.iter().flat_map(sent).collect();
        BaseSender { direction, secrets, message }
    }

    /// Step 2: returns both keys of every OT, from the receiver's points.
    pub fn keys(self, received: &[u8]) -> Result<Vec<[Key; 2]>, &'static str> {
        if received.len() != self.secrets.len() * RECEIVER_BYTES {
            return Err("base OT points of a wrong length");
        }
        let each = self.secrets.iter().zip(points(&self.message)).zip(received.as_chunks::<RECEIVER_BYTES>().0);
        each.enumerate()
            .map(|(i, ((y, sent), pair))| {
                let of: [&[u8]; 4] = [&self.direction.points, &i.to_le_bytes(), y.as_bytes(), pair];
                let [shared0, shared1] = remembered("pair", &of, || self.shared(i, y, pair))?;
                let key = |j: u8, shared: &Key| self.direction.key(i, j, sent, pair, shared);
                Ok([key(0, &shared0), key(1, &shared1)])
            })
            .collect()
    }

    /// Returns y (r_j + H_j(r_(1-j))) for both j.
    fn shared(&self, i: usize, y: &Scalar, pair: &[u8; 64]) -> Result<[Key; 2], &'static str> {
        let [r0, r1] = [points(pair)[0], points(pair)[1]];
        let shared = |j: u8, own: &[u8; 32], other: &[u8; 32]| -> Result<Key, &'static str> {
            let point = read_point(own)? + self.direction.point(i, j, other);
            Ok(encoded(&(point * y)))
        };
        Ok([shared(0, &r0, &r1)?, shared(1, &r1, &r0)?])
    }
}

/// The receiver between its two steps.
pub(crate) struct BaseReceiver {
    direction: Direction,
    /// The choices, 0 or 1 each.
    choices: Zeroizing<Vec<u8>>,
    secrets: Vec<Zeroizing<Scalar>>,
    pub message: Vec<u8>,
}

impl BaseReceiver {
    /// Step 1: makes r_c = T - H_c(X), r_(1-c) = X for every OT.
    pub fn new(direction: Direction, choices: Zeroizing<Vec<u8>>, coins: &mut Prg) -> BaseReceiver {
        let (mut secrets, mut message) = (Vec::new(), Vec::new());
        for (i, &bit) in choices.iter().enumerate() {
            let choice = Choice::from(bit);
            let t = random_scalar(coins);
            let uniform = random_bytes(coins);
            let of: [&[u8]; 5] = [&direction.points, &i.to_le_bytes(), &[bit], t.as_bytes(), &*uniform];
            let (free, bound) = remembered("received", &of, || {
                let free = RistrettoPoint::from_uniform_bytes(&uniform).compress().to_bytes();
                let bound = RistrettoPoint::mul_base(&t) - direction.point(i, bit, &free);
                (free, bound.compress().to_bytes())
            });
            message.extend_from_slice(&<[u8; 32]>::conditional_select(&bound, &free, choice));
            message.extend_from_slice(&<[u8; 32]>::conditional_select(&free, &bound, choice));
            secrets.push(t);
        }
        BaseReceiver { direction, choices, secrets, message }
    }

    /// Step 2: returns the chosen key of every OT, from the sender's points.
    pub fn keys(self, received: &[u8]) -> Result<Vec<Key>, &'static str> {
        if received.len() != self.secrets.len() * SENDER_BYTES {
            return Err("base OT points of a wrong length");
        }
        let pairs = self.message.as_chunks::<RECEIVER_BYTES>().0;
        let each = self.secrets.iter().zip(points(received)).zip(pairs).zip(self.choices.iter()).enumerate();
        each.map(|(i, (((t, sent), pair), &bit))| {
            let of: [&[u8]; 2] = [t.as_bytes(), sent];
            let shared = remembered("chosen", &of, || read_point(sent).map(|a| encoded(&(a * **t))))?;
            Ok(self.direction.key(i, bit, sent, pair, &shared))
        })
        .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use quorate_crypto::Seed;

    fn coins(n: u8) -> Prg {
        Seed::from_bytes([n; 32]).prg("quorate/ot/test", b"")
    }

    fn direction(session: u8) -> Direction {
        Direction::new(&[session; 32], 0, 1)
    }

    fn choices(count: usize) -> Zeroizing<Vec<u8>> {
        Zeroizing::new((0..count).map(|i| (i * i / 3 % 2) as u8).collect())
    }

    fn both(count: usize) -> (BaseSender, BaseReceiver) {
        let sender = BaseSender::new(direction(1), count, &mut coins(1));
        (sender, BaseReceiver::new(direction(1), choices(count), &mut coins(2)))
    }

    #[test]
    fn the_receiver_gets_the_key_it_chose_and_keys_differ() {
        let (sender, receiver) = both(20);
        let (sent, received) = (sender.message.clone(), receiver.message.clone());
        assert_eq!((sent.len(), received.len()), (20 * SENDER_BYTES, 20 * RECEIVER_BYTES));
        let (pairs, keys) = (sender.keys(&received).unwrap(), receiver.keys(&sent).unwrap());
        for ((pair, key), choice) in pairs.iter().zip(&keys).zip(choices(20).iter()) {
            let c = usize::from(*choice);
            assert_eq!(**key, *pair[c]);
            assert_ne!(**key, *pair[1 - c]);
        }
        let all: Vec<_> = pairs.iter().flatten().map(|key| **key).collect();
        assert!((0..all.len()).all(|i| !all[..i].contains(&all[i])));
    }

    #[test]
    fn a_replay_from_another_session_direction_or_place_gives_useless_keys() {
        let (_, receiver) = both(4);
        let recorded = receiver.message.clone();
        let original = BaseSender::new(direction(1), 4, &mut coins(1));
        let (sent, own) = (original.message.clone(), receiver.keys(&original.message).unwrap());
        for other in [direction(2), Direction::new(&[1; 32], 1, 0)] {
            let again = BaseSender::new(other, 4, &mut coins(1));
            assert_eq!(again.message, sent, "the same points");
            let pairs = again.keys(&recorded).unwrap();
            assert!(pairs.iter().flatten().all(|key| own.iter().all(|mine| **mine != **key)));
        }
        let turned = [&recorded[64..], &recorded[..64]].concat();
        let pairs = original.keys(&turned).unwrap();
        assert!(pairs.iter().flatten().all(|key| own.iter().all(|mine| **mine != **key)));
    }

    /// Without the transcript in the hash, one key would be valid for several messages: a party that turns a peer's
    /// points around would know it.
    #[test]
    fn keys_depend_on_all_that_was_said_in_their_ot() {
        let (sent, received, shared) = ([1; 32], [2; 64], RistrettoPoint::mul_base(&Scalar::from(7u8)));
        let key = |number, j, sent: &[u8], received: &[u8], shared: &RistrettoPoint| {
            *direction(1).key(number, j, sent, received, &encoded(shared))
        };
        let mut all = vec![
            key(0, 0, &sent, &received, &shared),
            key(1, 0, &sent, &received, &shared),
            key(0, 1, &sent, &received, &shared),
            key(0, 0, &sent, &received, &(shared + shared)),
            *direction(2).key(0, 0, &sent, &received, &encoded(&shared)),
        ];
        for byte in 0..SENDER_BYTES {
            let mut other = sent;
            other[byte] ^= 1;
            all.push(key(0, 0, &other, &received, &shared));
        }
        for byte in 0..RECEIVER_BYTES {
            let mut other = received;
            other[byte] ^= 1;
            all.push(key(0, 0, &sent, &other, &shared));
        }
        assert!((0..all.len()).all(|i| !all[..i].contains(&all[i])));
        assert_eq!(all.len(), 5 + SENDER_BYTES + RECEIVER_BYTES);
    }

    #[test]
    fn bad_points_are_refused() {
        // The identity, a negative field element, one beyond the prime, and one that is no point.
        let no_point =
            (0u8..).map(|n| [n & 0xfe; 32]).find(|b| CompressedRistretto(*b).decompress().is_none()).unwrap();
        for bad in [[0; 32], [1; 32], [0xff; 32], no_point] {
            for at in [0, 32, 64, 96] {
                let (sender, receiver) = both(2);
                let mut message = receiver.message.clone();
                message[at..at + 32].copy_from_slice(&bad);
                assert_eq!(sender.keys(&message).err(), Some(BAD_POINT));
                if at < 64 {
                    let (sender, receiver) = both(2);
                    let mut message = sender.message.clone();
                    message[at..at + 32].copy_from_slice(&bad);
                    assert_eq!(receiver.keys(&message).err(), Some(BAD_POINT));
                }
            }
        }
    }

    #[test]
    fn any_other_length_is_refused() {
        for len in [0, 1, 63, 65, 127, 129, 192] {
            let (sender, receiver) = both(2);
            assert_eq!(sender.keys(&vec![7; len]).err(), Some("base OT points of a wrong length"));
            if len != 64 {
                assert_eq!(receiver.keys(&vec![7; len]).err(), Some("base OT points of a wrong length"));
            }
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]
        #[test]
        fn arbitrary_bytes_never_panic(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
            let (sender, receiver) = both(2);
            let _ = sender.keys(&bytes);
            let _ = receiver.keys(&bytes);
        }

        #[test]
        fn arbitrary_points_are_points_or_refused(bytes in any::<[u8; 32]>()) {
            let read = read_point(&bytes);
            prop_assert!(read.is_err() || read.unwrap().compress().to_bytes() == bytes);
        }
    }
}
