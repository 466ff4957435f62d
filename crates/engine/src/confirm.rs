//! The end of a run: each party says that it has all it needs, and hands nothing out before everybody said so.
//!
//! A party that says so has promised: what it computed stays until the next handshake tells whether the run counts. So
//! whoever has heard it of all peers knows that none of them will draw the run's randomness anew.

use std::cell::RefCell;

use crate::error::{Error, Mismatch, Result};
use crate::lane::LaneId;
use crate::scheduler::Core;
use crate::wire::Tag;

/// Which peers said that they are done with the run.
pub(crate) struct Confirmed(RefCell<Vec<bool>>);

impl Confirmed {
    pub fn new(parties: usize) -> Confirmed {
        Confirmed(RefCell::new(vec![false; parties]))
    }

    /// Forgets those of the run before.
    pub fn clear(&self) {
        self.0.borrow_mut().fill(false);
    }

    /// A peer's word.
    ///
    /// # Errors
    /// [`Error::Malformed`] where it has given it already.
    pub fn hear(&self, peer: usize) -> Result<()> {
        if std::mem::replace(&mut self.0.borrow_mut()[peer], true) {
            return Err(Error::Malformed { peer, what: "a second end of a run" });
        }
        Ok(())
    }

    fn lacks(&self, peer: usize) -> bool {
        !self.0.borrow()[peer]
    }
}

/// Tells the peers that this party is done with the run, and waits until it has heard the same of all of them.
///
/// Once it has, the run counts, whatever came with the last word: only what ends the session is still an error.
pub(crate) fn confirm(core: &Core) -> Result<()> {
    core.peers().for_each(|peer| core.post_control(peer, Tag::Done, LaneId::ROOT, 0));
    core.flush()?;
    let waited_for = || core.peers().filter(|&peer| core.confirmed.lacks(peer));
    while waited_for().next().is_some() {
        if let Some(peer) = waited_for().find(|&peer| core.has_left(peer)) {
            return Err(Error::Mismatch(Mismatch::Left { peer }));
        }
        match core.pump(&|peer| core.confirmed.lacks(peer)) {
            Err(error) if error.is_final() || waited_for().next().is_some() => return Err(error),
            _ => {}
        }
    }
    Ok(())
}
