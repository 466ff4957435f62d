//! The readers of bytes from outside, for fuzz targets.

use std::path::Path;

use rustls::Error as TlsError;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};

use crate::NetError;
use crate::tcp::callers::is_whole;
use crate::tcp::channel::Channel;
use crate::tcp::frames::{Arrived, Cutter};
use crate::tcp::hello::{HELLO_BYTES, Hello};
use crate::tcp::keys::{Fingerprint, certificate, generate, private_key};
use crate::tcp::knock::{ANSWER_BYTES, Answer, AnswerKeys, Status};
use crate::tcp::pinned::Pinned;

/// Reads a hello, and returns it as it is written. `None` if it is no hello.
pub fn hello(bytes: &[u8; HELLO_BYTES]) -> Option<[u8; HELLO_BYTES]> {
    Hello::decode(bytes).map(|hello| hello.encode())
}

/// Cuts a stream, which arrives in these pieces, into frames and signals. Returns them as they are written, and the
/// length that a peer announced and that is above the limit, if it did.
pub fn cut<'p>(pieces: impl IntoIterator<Item = &'p [u8]>) -> (Vec<u8>, Option<usize>) {
    let (mut cutter, mut written) = (Cutter::default(), Vec::new());
    let mut write = |arrived: Arrived| match arrived {
        Arrived::Item(item) => {
            written.extend_from_slice(&item.header());
            written.extend_from_slice(item.body());
        }
        Arrived::Signal(signal) => signal.write(&mut written),
    };
    let broken = pieces.into_iter().find_map(|piece| cutter.cut(piece, &mut write).err());
    (written, broken.map(|too_large| too_large.0))
}

/// Whether the first message of a caller, of which `seen` was looked at with room for `room` bytes, is whole; `None` if
/// it can never be one of TLS.
pub fn first_message(seen: &[u8], room: usize) -> Option<bool> {
    is_whole(seen, room)
}

/// Reads what a caller says after this challenge. Returns whether its answer is complete; `None` if it is no answer.
///
/// # Panics
/// If an answer counts as complete that is too short, or does not contain the challenge.
pub fn answer(challenge: &[u8; 32], seen: &[u8]) -> Option<bool> {
    let certificates = [vec![1], vec![2]].map(|bytes| vec![CertificateDer::from(bytes)]);
    let keys = AnswerKeys::of_called(0, &certificates);
    let answer = keys.read(challenge, seen)?;
    if let Answer::Said(said) = &answer {
        let _ = keys.reply(challenge, said, Status::Closed);
    }
    let complete = answer != Answer::Begun;
    assert_eq!(complete, seen.len() >= ANSWER_BYTES);
    assert!(!complete || seen[..ANSWER_BYTES].windows(32).any(|part| part == challenge));
    Some(complete)
}

/// Reads a certificate file's text.
///
/// # Errors
/// [`NetError::BadKey`] if it holds no certificate.
pub fn fingerprint(pem: &[u8]) -> Result<Fingerprint, NetError> {
    certificate(Path::new("party.crt"), pem).map(|certificate| Fingerprint::of(&certificate))
}

/// Reads the texts of two parties' certificate files and of the first one's key file, as a party does before it
/// connects.
///
/// # Errors
/// [`NetError::BadKey`] and [`NetError::BadConfig`].
pub fn pinned(certificates: [&[u8]; 2], key: &[u8]) -> Result<(), NetError> {
    let path = Path::new("party.key");
    let read =
        certificates.into_iter().map(|pem| Ok(vec![certificate(path, pem)?])).collect::<Result<_, NetError>>()?;
    Pinned::new(0, read, private_key(path, key)?, path).map(drop)
}

/// A party of two that accepts and dials connections, with certificates that it made itself.
pub struct Ends([Pinned; 2]);

impl Ends {
    /// Makes keys and certificates for both parties.
    ///
    /// # Panics
    /// If the system has no randomness.
    pub fn new() -> Ends {
        let path = Path::new("party.key");
        let made = [0, 1].map(|party| generate(party).expect("the system has randomness"));
        let certificates: Vec<_> = made.iter().map(|party| vec![party.certificate.clone()]).collect();
        let pinned = |me: usize| {
            let key: PrivateKeyDer<'static> = private_key(path, made[me].key_pem.as_bytes()).expect("it was just made");
            Pinned::new(me, certificates.clone(), key, path).expect("they were just made")
        };
        Ends([pinned(0), pinned(1)])
    }

    /// Opens these bytes, which a stranger sends in pieces of at most `step` bytes, at the party that was called or,
    /// with `dials`, that called. Returns the bytes that TLS answers.
    ///
    /// # Errors
    /// Bytes that the peer's TLS would not send.
    ///
    /// # Panics
    /// If the channel is ready, or gives out bytes: the stranger has no key.
    pub fn hear(&self, bytes: &[u8], step: usize, dials: bool) -> Result<Vec<u8>, TlsError> {
        let mut channel = if dials { self.0[0].dial(1)? } else { self.0[0].accept()? };
        let mut answer = Vec::new();
        for mut piece in bytes.chunks(step.max(1)) {
            while !piece.is_empty() {
                let room = channel.room();
                let taken = room.len().min(piece.len());
                room[..taken].copy_from_slice(&piece[..taken]);
                channel.filled(taken);
                piece = &piece[taken..];
                let closed = channel.open(&mut |plain| assert!(plain.is_empty()), &mut answer)?;
                assert!(!channel.is_ready() && Channel::peer_certificate(&channel).is_none());
                if closed {
                    return Ok(answer);
                }
            }
        }
        Ok(answer)
    }
}

impl Default for Ends {
    fn default() -> Self {
        Ends::new()
    }
}
