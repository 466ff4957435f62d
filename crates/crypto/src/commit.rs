//! Commitments: BLAKE3 over session, party, domain, randomness and value.
//!
//! Hiding by 32 random bytes; binding by collision resistance (128 bits); extractable in the random-oracle model. The
//! randomness has a fixed length and the domain is preceded by its length, so the encoding is unambiguous.

use crate::{SessionId, ct_eq, domains};

/// A commitment; public.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Commitment(pub [u8; 32]);

/// The context to which a commitment is bound besides its value.
#[derive(Clone, Copy, Debug)]
pub struct Context<'a> {
    /// The session.
    pub session: &'a SessionId,
    /// The number of the committing party, so that no other party can replay the commitment.
    pub party: u32,
    /// The purpose of the value, for instance `quorate/engine/coin`.
    pub domain: &'static str,
    /// The number of the instance: a lane or a counter; never repeated for one domain in a session.
    pub instance: u128,
}

/// The randomness that opens a commitment, secret until then.
#[derive(Clone, zeroize::Zeroize, zeroize::ZeroizeOnDrop)]
pub struct Opening(pub [u8; 32]);

impl std::fmt::Debug for Opening {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Opening(..)")
    }
}

/// Commits to `value`. The caller draws the opening for this commitment alone: 32 random bytes, which nobody else knows
/// before they are told.
#[must_use]
pub fn commit(context: &Context<'_>, value: &[u8], opening: &Opening) -> Commitment {
    let mut hasher = blake3::Hasher::new_derive_key(domains::COMMITMENT);
    hasher.update(context.session.as_bytes());
    hasher.update(&context.party.to_le_bytes());
    hasher.update(&context.instance.to_le_bytes());
    hasher.update(&(context.domain.len() as u64).to_le_bytes());
    hasher.update(context.domain.as_bytes());
    hasher.update(&opening.0);
    hasher.update(value);
    let hash = hasher.finalize().into();
    zeroize::Zeroize::zeroize(&mut hasher);
    Commitment(hash)
}

/// Returns whether `opening` opens `commitment` to `value` in this context; constant-time.
#[must_use]
pub fn verify(context: &Context<'_>, commitment: &Commitment, value: &[u8], opening: &Opening) -> bool {
    ct_eq(&commit(context, value, opening).0, &commitment.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn opens_to_its_value_and_nothing_else() {
        let (session, other) = (SessionId::from_bytes([1; 32]), SessionId::from_bytes([2; 32]));
        let context = Context { session: &session, party: 1, domain: "quorate/crypto/test", instance: 5 };
        let opening = Opening([9; 32]);
        let commitment = commit(&context, b"value", &opening);
        assert!(verify(&context, &commitment, b"value", &opening));
        assert!(!verify(&context, &commitment, b"valuf", &opening));
        assert!(!verify(&context, &commitment, b"value\0", &opening));
        assert!(!verify(&context, &commitment, b"", &opening));
        assert!(!verify(&Context { session: &other, ..context }, &commitment, b"value", &opening));
        assert!(!verify(&Context { party: 2, ..context }, &commitment, b"value", &opening));
        assert!(!verify(&Context { instance: 6, ..context }, &commitment, b"value", &opening));
        assert!(!verify(&Context { domain: "quorate/crypto/tesu", ..context }, &commitment, b"value", &opening));
        for bit in 0..256 {
            let (mut broken, mut forged) = (opening.clone(), commitment);
            broken.0[bit / 8] ^= 1 << (bit % 8);
            forged.0[bit / 8] ^= 1 << (bit % 8);
            assert!(!verify(&context, &commitment, b"value", &broken));
            assert!(!verify(&context, &forged, b"value", &opening));
        }
    }

    #[test]
    fn commitments_to_one_value_with_two_openings_differ() {
        let session = SessionId::from_bytes([1; 32]);
        let context = Context { session: &session, party: 0, domain: "quorate/crypto/test", instance: 0 };
        let [a, b] = [1, 2].map(|byte| commit(&context, b"", &Opening([byte; 32])));
        assert_ne!(a, b);
        assert_eq!(format!("{:?}", Opening([1; 32])), "Opening(..)");
    }
}
