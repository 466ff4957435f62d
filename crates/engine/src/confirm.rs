//! The end of a run: each party confirms that it has all it needs, and releases no result before every party has
//! confirmed.
//!
//! A party that confirms has promised to keep what it computed until the next handshake shows whether the run counts. A
//! party that has received the confirmation of all peers can therefore rely on this: none of them will draw the run's
//! randomness anew.

use std::cell::RefCell;

use crate::error::{Error, Result};

/// The peers that confirmed the end of the run.
pub(crate) struct Confirmed(RefCell<Vec<bool>>);

impl Confirmed {
    pub fn new(parties: usize) -> Confirmed {
        Confirmed(RefCell::new(vec![false; parties]))
    }

    /// Forgets the confirmations of the run before.
    pub fn clear(&self) {
        self.0.borrow_mut().fill(false);
    }

    /// Notes a peer's confirmation.
    ///
    /// # Errors
    /// [`Error::Malformed`] if the peer has confirmed already.
    pub fn hear(&self, peer: usize) -> Result<()> {
        if std::mem::replace(&mut self.0.borrow_mut()[peer], true) {
            return Err(Error::Malformed { peer, what: "a second end of a run" });
        }
        Ok(())
    }

    /// Returns whether a peer has not confirmed yet.
    pub fn lacks(&self, peer: usize) -> bool {
        !self.0.borrow()[peer]
    }
}
