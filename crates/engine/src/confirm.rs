//! The end of a run: each party confirms that it has all it needs, and releases no result before every party has
//! confirmed.
//!
//! A party that confirms has promised to keep what it computed until the next handshake shows whether the run counts. A
//! party that has received the confirmation of all peers can therefore rely on this: none of them will draw the run's
//! randomness anew.

use std::cell::RefCell;

use crate::error::{Error, Mismatch, Result};
use crate::lane::LaneId;
use crate::scheduler::Core;
use crate::wire::Tag;

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

    fn lacks(&self, peer: usize) -> bool {
        !self.0.borrow()[peer]
    }
}

/// Confirms to the peers that this party is done with the run, and waits for the confirmations of all of them.
///
/// Once all have arrived, the run counts, whatever came with the last confirmation: only what ends the session is still
/// an error.
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
