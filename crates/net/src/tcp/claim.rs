//! The proof that a new connection continues a link: the key that only the ends of the link's first connection have,
//! and the messages with it. Without I/O.
//!
//! TLS authenticates a new connection as it did the first one. A claim also proves that both ends are the processes
//! that hold the link: the key comes from the exporter of the first connection (RFC 8446, section 7.5), and each MAC
//! covers the exporter of the new connection, so that it is worth nothing on another connection.

use zeroize::{Zeroize, Zeroizing};

/// Bytes of a claim.
pub(crate) const CLAIM_BYTES: usize = 16 + blake3::OUT_LEN;

const KEY: &str = "quorate-net 2026-11-29 key of a link's claims";

/// Secret bytes of one TLS connection, the same at its two ends.
pub(crate) type Exported = Zeroizing<[u8; 32]>;

/// The end of a connection that makes a claim.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Side {
    /// The end that dialled.
    Caller,
    /// The end that was called.
    Called,
}

/// The statement of one end of a link about it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Claim {
    /// The number of the attempt to continue the link. It grows with each attempt, and the called party repeats it.
    pub(crate) attempt: u64,
    /// The number of numbered bytes that this end has received.
    pub(crate) received: u64,
}

/// The key of a link's claims.
pub(crate) struct ClaimKey(Zeroizing<[u8; 32]>);

impl ClaimKey {
    /// Derives the key from the link's first connection.
    pub(crate) fn new(first: &Exported) -> Self {
        ClaimKey(Zeroizing::new(blake3::derive_key(KEY, &first[..])))
    }

    /// Returns the bytes of a claim that one end of the connection with these exported bytes makes.
    pub(crate) fn write(&self, claim: Claim, side: Side, connection: &Exported) -> [u8; CLAIM_BYTES] {
        let mut bytes = [0; CLAIM_BYTES];
        bytes[..8].copy_from_slice(&claim.attempt.to_le_bytes());
        bytes[8..16].copy_from_slice(&claim.received.to_le_bytes());
        let mac = self.mac(&bytes[..16], side, connection);
        bytes[16..].copy_from_slice(mac.as_bytes());
        bytes
    }

    /// Reads a claim that the other end of the connection made. `None` if it does not have the key, or the claim was
    /// made for another connection or by this side.
    pub(crate) fn read(&self, bytes: &[u8; CLAIM_BYTES], side: Side, connection: &Exported) -> Option<Claim> {
        let (numbers, mac) = bytes.split_at(16);
        // The comparison of hashes takes the same time wherever they differ.
        if self.mac(numbers, side, connection) != blake3::Hash::from_bytes(mac.try_into().ok()?) {
            return None;
        }
        let (attempt, received) = numbers.split_at(8);
        Some(Claim {
            attempt: u64::from_le_bytes(attempt.try_into().ok()?),
            received: u64::from_le_bytes(received.try_into().ok()?),
        })
    }

    fn mac(&self, numbers: &[u8], side: Side, connection: &Exported) -> blake3::Hash {
        let label: &[u8; 8] = match side {
            Side::Caller => b"caller  ",
            Side::Called => b"called  ",
        };
        // All parts have fixed lengths.
        let mut hasher = blake3::Hasher::new_keyed(&self.0);
        let mac = hasher.update(label).update(&connection[..]).update(numbers).finalize();
        hasher.zeroize(); // it holds the key
        mac
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn exported(byte: u8) -> Exported {
        Zeroizing::new([byte; 32])
    }

    proptest! {
        #[test]
        fn a_claim_is_for_one_link_one_connection_and_one_side(
            attempt: u64, received: u64, at in 0..CLAIM_BYTES, bit in 0u8..8,
        ) {
            let (key, claim, connection) = (ClaimKey::new(&exported(1)), Claim { attempt, received }, exported(2));
            let bytes = key.write(claim, Side::Caller, &connection);
            prop_assert_eq!(key.read(&bytes, Side::Caller, &connection), Some(claim));
            prop_assert_eq!(key.read(&bytes, Side::Called, &connection), None);
            prop_assert_eq!(key.read(&bytes, Side::Caller, &exported(3)), None);
            prop_assert_eq!(ClaimKey::new(&exported(4)).read(&bytes, Side::Caller, &connection), None);
            let mut changed = bytes;
            changed[at] ^= 1 << bit;
            prop_assert_eq!(key.read(&changed, Side::Caller, &connection), None);
        }
    }
}
