//! Session ids.

use crate::domains;

/// 32 public bytes that name a session; every hash of the session is bound to them.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct SessionId([u8; 32]);

impl SessionId {
    /// Returns the id made of all parties' contributions, in the order of the parties. It is unpredictable if one of
    /// them is random, as long as the others were fixed before it was seen.
    pub fn from_contributions(contributions: &[[u8; 32]]) -> SessionId {
        let mut hasher = blake3::Hasher::new_derive_key(domains::SESSION_ID);
        hasher.update(&(contributions.len() as u64).to_le_bytes());
        for contribution in contributions {
            hasher.update(contribution);
        }
        SessionId(hasher.finalize().into())
    }

    /// Returns the id with these bytes.
    pub fn from_bytes(bytes: [u8; 32]) -> SessionId {
        SessionId(bytes)
    }

    /// Returns the bytes.
    pub fn as_bytes(&self) -> &[u8; 32] {
        &self.0
    }
}

impl std::fmt::Debug for SessionId {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("SessionId(")?;
        self.0[..8].iter().try_for_each(|byte| write!(f, "{byte:02x}"))?;
        f.write_str("..)")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_contribution_its_place_and_number_count() {
        let base = SessionId::from_contributions(&[[1; 32], [2; 32], [3; 32]]);
        assert_eq!(base, SessionId::from_contributions(&[[1; 32], [2; 32], [3; 32]]));
        assert_ne!(base, SessionId::from_contributions(&[[2; 32], [1; 32], [3; 32]]));
        assert_ne!(base, SessionId::from_contributions(&[[1; 32], [2; 32]]));
        assert_ne!(base, SessionId::from_contributions(&[[1; 32], [2; 32], [4; 32]]));
    }
}
