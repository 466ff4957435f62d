//! Certificates that change while a pool has bundles.
//!
//! What a pool is bound to is in its header alone. It is replaced whole, so after a crash the pool is bound to the old
//! certificates or to the new ones, and the same call finishes what it began. Bundles, their places and their keys are
//! as they were: nothing can be used twice by this.

use crate::disk::Disk;
use crate::error::PoolError;
use crate::pool::{HEADER, Header, Owner, Pool, opened};
use crate::sealing::StoreKey;

/// The hashes of all parties' certificates, before and after a change.
#[derive(Clone, Copy, Debug)]
pub struct Change {
    /// See [`Owner::pins`].
    pub old: [u8; 32],
    /// See [`Owner::pins`].
    pub new: [u8; 32],
}

impl<D: Disk> Pool<D> {
    /// Binds the pool in a folder to other certificates of the same parties. Returns whether it was bound to the old
    /// ones; otherwise it is bound to the new ones already. `None` if there is no pool.
    ///
    /// # Errors
    /// [`PoolError::Foreign`] for a pool of another party; [`PoolError::Certificates`] for one of yet other
    /// certificates; those of [`Pool::open`]; [`PoolError::Disk`], after which it is bound to the one or the other.
    pub fn rebind(
        disk: D,
        key: StoreKey,
        (me, parties): (u32, u32),
        change: Change,
    ) -> Result<Option<bool>, PoolError> {
        let Some(file) = disk.read(HEADER)? else { return Ok(None) };
        let header: Header = opened(&key.of_file(&[b"header"]), HEADER, &file)?;
        let is_done = header.owner.pins == change.new;
        let pins = if is_done { change.new } else { change.old };
        // Options are not compared: they are those of the sessions, and stay as they are.
        let owner = Owner { me, parties, pins, terms: header.owner.terms.clone() };
        let Some(mut pool) = Pool::open(disk, key, &owner)? else { return Ok(None) };
        if !is_done {
            pool.header.owner.pins = change.new;
            pool.store_header()?;
        }
        Ok(Some(!is_done))
    }
}
