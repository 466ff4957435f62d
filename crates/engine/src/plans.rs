//! What each party of a run is going to do, as a hash, compared on the way.
//!
//! Parties that agreed on a program, and on all that they decide by, decide alike. Should they not, they would wait for
//! messages that nobody sends, or take one for another. So each says its hash ahead of its first message to every peer:
//! that takes no round, and ends the run before anything else of it is read.

use std::cell::{Cell, RefCell};

use crate::error::{Error, Mismatch, Result};

/// A party's plan of a run.
pub(crate) type PlanHash = [u8; 32];

/// This party's plan, and those of its peers, as far as they are known.
pub(crate) struct Plans {
    own: Cell<Option<PlanHash>>,
    theirs: RefCell<Vec<Option<PlanHash>>>,
}

impl Plans {
    pub fn new(parties: usize) -> Plans {
        Plans { own: Cell::new(None), theirs: RefCell::new(vec![None; parties]) }
    }

    /// Forgets those of the run before.
    pub fn clear(&self) {
        self.own.set(None);
        self.theirs.borrow_mut().fill(None);
    }

    /// This party's.
    ///
    /// # Errors
    /// [`Mismatch::Plan`] where a peer has said another one.
    pub fn decide(&self, own: PlanHash) -> Result<()> {
        self.own.set(Some(own));
        let theirs = self.theirs.borrow();
        let other = theirs.iter().position(|plan| plan.is_some_and(|plan| plan != own));
        other.map_or(Ok(()), |peer| Err(Error::Mismatch(Mismatch::Plan { peer })))
    }

    /// A peer's, compared as soon as both are there.
    ///
    /// # Errors
    /// [`Mismatch::Plan`] where it is another one; [`Error::Malformed`] where it is none, or not the first.
    pub fn hear(&self, peer: usize, bytes: &[u8]) -> Result<()> {
        let plan: PlanHash =
            bytes.try_into().map_err(|_| Error::Malformed { peer, what: "a plan of a wrong length" })?;
        if self.theirs.borrow_mut()[peer].replace(plan).is_some() {
            return Err(Error::Malformed { peer, what: "a second plan" });
        }
        match self.own.get() {
            Some(own) if own != plan => Err(Error::Mismatch(Mismatch::Plan { peer })),
            _ => Ok(()),
        }
    }
}
