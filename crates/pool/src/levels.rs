//! What a pool has, read from its files while another process may use it.
//!
//! Nothing is locked, and nothing is written. Every file that is read here is only ever replaced whole, so it has the
//! state before a change or the one after it. Between two files a change may have come: lots may be of unlike moments.

use std::collections::BTreeMap;
use std::path::Path;

use crate::error::PoolError;
use crate::folder;
use crate::ledger::{Ledger, Lot, LotId};
use crate::life::Life;
use crate::pool::{HEADER, Header, LEDGER, file_of, lot_named, opened};
use crate::sealing::StoreKey;
use crate::sizes::PoolId;

/// How often the files are read anew, if a change came between them.
const TRIES: usize = 4;

/// What the disk says of the secrets of a pool.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum State {
    /// It has none: bundles can be added at any time, and interrupted sessions lose no more than they have reserved.
    Free,
    /// No session uses them.
    Idle,
    /// A session uses them, or was killed when it did.
    InUse,
    /// They are erased; no bundle is left.
    Dead {
        /// The reason, as the end of a sentence.
        why: String,
    },
}

/// What a pool has.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Levels {
    /// The pool's identifier.
    pub id: PoolId,
    /// The state of its secrets.
    pub state: State,
    /// Its lots, by name.
    pub lots: BTreeMap<LotId, Lot>,
}

impl Levels {
    /// Reads what the pool in a folder has; `None` if there is none in it. Neither its owner nor its place is checked.
    ///
    /// # Errors
    /// [`PoolError`] if a file cannot be read or does not open.
    pub fn of_folder(path: &Path, key: &StoreKey) -> Result<Option<Levels>, PoolError> {
        let mut read = Levels::once(path, key);
        for _ in 1..TRIES {
            if !matches!(read, Err(PoolError::Altered { .. })) {
                break;
            }
            read = Levels::once(path, key);
        }
        read
    }

    fn once(path: &Path, key: &StoreKey) -> Result<Option<Levels>, PoolError> {
        let Some((file, _)) = folder::read(path, HEADER)? else { return Ok(None) };
        let header: Header = opened(&key.of_file(&[b"header"]), HEADER, &file)?;
        let state = match &header.life {
            Life::Free => State::Free,
            Life::Idle(_) => State::Idle,
            Life::Open(_) => State::InUse,
            Life::Dead { why } => State::Dead { why: why.clone() },
        };
        let mut lots = BTreeMap::new();
        if !matches!(state, State::Dead { .. }) {
            for id in folder::names(path)?.iter().filter_map(|name| lot_named(name, LEDGER)) {
                let name = file_of(id, LEDGER);
                let Some((file, _)) = folder::read(path, &name)? else { continue };
                let ledger: Ledger = opened(&key.of_file(&[b"ledger", &header.id, &id.0]), &name, &file)?;
                lots.insert(id, ledger.lot());
            }
        }
        Ok(Some(Levels { id: header.id, state, lots }))
    }
}
