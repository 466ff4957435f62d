//! The plan of each party for a run, as a hash that the parties compare during the run.
//!
//! Parties that agree on a program, and on everything that their decisions depend on, decide alike. Otherwise they
//! would wait for messages that are never sent, or take one message for another. So each party sends its hash ahead of
//! its first message to every peer. This takes no round, and ends a mismatched run before any other message of it is
//! read.

use std::cell::{Cell, RefCell};

use crate::error::{Error, Mismatch, Result};

/// A party's plan of a run.
pub(crate) type PlanHash = [u8; 32];

/// The plan of this party, and those of its peers as far as they have arrived.
pub(crate) struct Plans {
    own: Cell<Option<PlanHash>>,
    theirs: RefCell<Vec<Option<PlanHash>>>,
}

impl Plans {
    pub fn new(parties: usize) -> Plans {
        Plans { own: Cell::new(None), theirs: RefCell::new(vec![None; parties]) }
    }

    /// Forgets the plans of the run before.
    pub fn clear(&self) {
        self.own.set(None);
        self.theirs.borrow_mut().fill(None);
    }

    /// Sets this party's plan.
    ///
    /// # Errors
    /// [`Mismatch::Plan`] if a peer has announced another one.
    pub fn decide(&self, own: PlanHash) -> Result<()> {
        self.own.set(Some(own));
        let theirs = self.theirs.borrow();
        let other = theirs.iter().position(|plan| plan.is_some_and(|plan| plan != own));
        other.map_or(Ok(()), |peer| Err(Error::Mismatch(Mismatch::Plan { peer })))
    }

    /// Takes in a peer's plan, and compares it as soon as both are known.
    ///
    /// # Errors
    /// [`Mismatch::Plan`] if it is another plan; [`Error::Malformed`] if it is no hash, or not the peer's first.
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
