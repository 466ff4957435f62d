//! The first message inside a new connection, each way: its sender, its receiver, their session, and the version.

use super::session::{ID_BYTES, SessionId};
use crate::release::Release;

/// The wire version. Parties meet if theirs are equal, whatever their releases are. A change raises it if a party with
/// the change and one without it would not understand each other, or would not do the same: of the format of messages,
/// of the steps of a protocol, of what is compared before a run, and of plans and their prices.
pub const VERSION: u32 = 6;
/// Bytes of an encoded hello, in every version.
pub(crate) const HELLO_BYTES: usize = 64;

const MAGIC: [u8; 8] = *b"QUORATE\n";

/// A random number that a process draws once: two processes with the same party number differ in it.
pub(crate) type Nonce = [u8; 16];

/// A party's verdict on the other's hello.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Verdict {
    Welcome,
    OtherVersion,
    Duplicate,
    OtherParties,
    OtherNumbers,
    /// This process does not have the link that the other side asks to continue.
    NoLink,
    /// The other side named another session.
    OtherSession,
}

impl Verdict {
    const ALL: [Verdict; 7] = [
        Verdict::Welcome,
        Verdict::OtherVersion,
        Verdict::Duplicate,
        Verdict::OtherParties,
        Verdict::OtherNumbers,
        Verdict::NoLink,
        Verdict::OtherSession,
    ];
}

/// The purpose of a connection, as its sender sees it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Purpose {
    /// A new link, which ends with its connection.
    Once,
    /// A new link, which other connections may continue.
    First,
    /// The continuation of a link; a claim follows.
    Resume,
}

impl Purpose {
    const ALL: [Purpose; 3] = [Purpose::Once, Purpose::First, Purpose::Resume];
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Hello {
    pub(crate) version: u32,
    /// The sender's release, which is only reported; `None` if it is too old to state it.
    pub(crate) release: Option<Release>,
    pub(crate) verdict: Verdict,
    pub(crate) purpose: Purpose,
    /// The sender's number; then the receiver's number in the sender's configuration, and its number of parties.
    pub(crate) from: usize,
    pub(crate) to: usize,
    pub(crate) parties: usize,
    pub(crate) nonce: Nonce,
    pub(crate) session: SessionId,
}

impl Hello {
    pub(crate) fn encode(&self) -> [u8; HELLO_BYTES] {
        let mut bytes = [0; HELLO_BYTES];
        bytes[..8].copy_from_slice(&MAGIC);
        bytes[8..12].copy_from_slice(&self.version.to_le_bytes());
        bytes[12] = Verdict::ALL.iter().position(|verdict| *verdict == self.verdict).unwrap_or(0) as u8;
        bytes[13] = Purpose::ALL.iter().position(|purpose| *purpose == self.purpose).unwrap_or(0) as u8;
        let Release { major, minor } = self.release.unwrap_or(Release { major: 0, minor: 0 });
        bytes[14..16].copy_from_slice(&[major, minor]);
        for (slot, number) in [self.from, self.to, self.parties].into_iter().enumerate() {
            bytes[16 + 4 * slot..][..4].copy_from_slice(&(number as u32).to_le_bytes());
        }
        bytes[28..44].copy_from_slice(&self.nonce);
        bytes[44..44 + ID_BYTES].copy_from_slice(&self.session);
        bytes
    }

    /// Decodes a hello. In another version only `version` and `release` have a meaning. Returns `None` for bytes that
    /// are no hello.
    pub(crate) fn decode(bytes: &[u8; HELLO_BYTES]) -> Option<Self> {
        let number = |at: usize| u32::from_le_bytes([bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]]);
        let version = number(8);
        let verdict = Verdict::ALL.get(usize::from(bytes[12])).copied();
        let purpose = Purpose::ALL.get(usize::from(bytes[13])).copied();
        let (verdict, purpose) = match version {
            VERSION => (verdict?, purpose?),
            _ => (Verdict::OtherVersion, Purpose::Once),
        };
        let mut nonce = Nonce::default();
        nonce.copy_from_slice(&bytes[28..44]);
        let mut session = SessionId::default();
        session.copy_from_slice(&bytes[44..44 + ID_BYTES]);
        let hello = Hello {
            version,
            release: Release::named([bytes[14], bytes[15]]),
            verdict,
            purpose,
            from: number(16) as usize,
            to: number(20) as usize,
            parties: number(24) as usize,
            nonce,
            session,
        };
        (bytes[..8] == MAGIC).then_some(hello)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn decoding_inverts_encoding(
            verdict in 0usize..7, purpose in 0usize..3, from in 0usize..1000, to in 0usize..1000,
            parties in 0usize..1000, nonce: Nonce, session: SessionId, release: [u8; 2],
        ) {
            let (version, verdict, purpose) = (VERSION, Verdict::ALL[verdict], Purpose::ALL[purpose]);
            let release = Release::named(release);
            let hello = Hello { version, release, verdict, purpose, from, to, parties, nonce, session };
            prop_assert_eq!(Hello::decode(&hello.encode()), Some(hello));
        }

        #[test]
        fn garbage_is_no_hello(garbage in proptest::collection::vec(any::<u8>(), HELLO_BYTES)) {
            let bytes: [u8; HELLO_BYTES] = garbage.try_into().unwrap();
            prop_assert_eq!(Hello::decode(&bytes), None);
        }
    }
}
