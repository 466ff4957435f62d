//! The hashes with which the keys of a run are evaluated: those of the session that made the keys.

use std::sync::{Arc, Mutex, PoisonError};

use quorate_crypto::{SessionId, Tccr};

use crate::hash::Hash;

/// The hashes of a session, and of one other session whose keys are evaluated in it.
pub struct Origins {
    own: Arc<Hash>,
    other: Mutex<Option<(SessionId, Arc<Hash>)>>,
}

impl Origins {
    /// Returns the hashes of a session.
    pub fn new(session: &SessionId) -> Origins {
        Origins { own: hash_of(session), other: Mutex::new(None) }
    }

    /// Returns the hashes of this session alone.
    pub fn own(&self) -> &Arc<Hash> {
        &self.own
    }

    /// Returns the hashes of the session that made some keys: of `origin`, or of this session for `None`.
    pub fn of(&self, origin: Option<SessionId>) -> Arc<Hash> {
        let Some(origin) = origin else { return self.own.clone() };
        let mut other = self.other.lock().unwrap_or_else(PoisonError::into_inner);
        match &*other {
            Some((session, hash)) if *session == origin => hash.clone(),
            _ => other.insert((origin, hash_of(&origin))).1.clone(),
        }
    }
}

fn hash_of(session: &SessionId) -> Arc<Hash> {
    Arc::new(Hash::new(&Tccr::new(session)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kernel;

    #[test]
    fn every_session_has_hashes_of_its_own() {
        let id = |byte| SessionId::from_bytes([byte; 32]);
        let hashed = |hash: &Hash| kernel::proof(&hash.tree, 1, 2);
        let (one, two) = (Origins::new(&id(1)), Origins::new(&id(2)));
        assert_eq!(hashed(&one.of(None)), hashed(one.own()));
        assert_ne!(hashed(one.own()), hashed(two.own()));
        for _ in 0..2 {
            assert_eq!(hashed(&one.of(Some(id(2)))), hashed(two.own()));
            assert_eq!(hashed(&one.of(Some(id(1)))), hashed(one.own()));
        }
    }
}
