//! What operators do with pools outside of sessions: they look at levels, and bind a pool to changed certificates.

use std::path::Path;

use quorate_pool::{Change, Contents, Folder, Levels, LotId, Pool, PoolId, State};

use super::keeps::Location;
use crate::config::Config;
use crate::error::SessionError;

/// What a pool has.
pub struct Held {
    /// The pool's identifier.
    pub id: PoolId,
    /// "free" for a pool without secrets; else "idle", "in use", or "dead: " and the reason.
    pub state: String,
    /// Its lots, by name.
    pub lots: Vec<HeldLot>,
}

/// What a lot has.
pub struct HeldLot {
    /// Its name.
    pub id: LotId,
    /// Bundles that can be reserved.
    pub left: u32,
    /// Places that are reserved or given up.
    pub reserved: u32,
    /// The bytes of a bundle on the disk of this party.
    pub bundle_bytes: u64,
    /// The number of correlations in a bundle, by kind.
    pub contents: Contents,
}

/// Reads what a pool has, without its lock; `None` if there is none.
///
/// # Errors
/// [`SessionError::Pool`].
pub fn levels(at: &Location) -> Result<Option<Held>, SessionError> {
    let Some(Levels { id, state, lots }) = Levels::of_folder(&at.path, &at.key)? else { return Ok(None) };
    let state = match state {
        State::Free => "free".into(),
        State::Idle => "idle".into(),
        State::InUse => "in use".into(),
        State::Dead { why } => format!("dead: {why}"),
    };
    let lots = lots.into_iter().map(|(id, lot)| {
        let left = lot.left();
        HeldLot { id, left, reserved: lot.reserved, bundle_bytes: lot.bundle_bytes, contents: lot.contents }
    });
    Ok(Some(Held { id, state, lots: lots.collect() }))
}

/// Binds a party's pool to the certificates of another file of the same party. Returns whether it was bound to those of
/// the old file; otherwise it was bound to the new ones already. `None` if there is no pool.
///
/// # Errors
/// [`SessionError::ConfigFile`] for files that cannot be read, and for those of two parties or protocols;
/// [`SessionError::Pool`].
pub fn rebind(at: &Location, old: &Path, new: &Path) -> Result<Option<bool>, SessionError> {
    let [before, after] = [Config::read(old)?, Config::read(new)?];
    let whose = |config: &Config| (config.me, config.parties.len(), config.protocol.clone());
    if whose(&before) != whose(&after) {
        let what = "is of another party, protocol or number of parties than the new file: name the party.toml from \
                    before the change of certificates";
        return Err(SessionError::ConfigFile { path: old.into(), what: what.into() });
    }
    let change = Change { old: before.pins()?, new: after.pins()? };
    if !at.path.is_dir() {
        return Ok(None);
    }
    let owner = (after.me as u32, after.parties.len() as u32);
    Ok(Pool::rebind(Folder::lock(&at.path)?, at.key.clone(), owner, change)?)
}
