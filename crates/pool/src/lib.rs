//! Pools: correlations that a party has made ahead and keeps in a folder until runs use them, each once.
//!
//! A *pool* is one party's folder. It has *lots*. All *bundles* of a lot have the same contents: the correlations of
//! one run. The place of a bundle in its lot is 0, 1, and so on; the parties use the bundles of one place together.
//!
//! | file | contents |
//! |---|---|
//! | the header | the pool's identifier, its owner, the prices of plans |
//! | a lot's ledger | the contents of a bundle, the places that were made and reserved, and the keys of those left |
//! | a lot's blocks | bundles at fixed places, each sealed under its own random key |
//! | the lock | empty; locked by the process that has the pool open |
//!
//! The first two are sealed under keys that are derived from the store's key. A change replaces the file: a new one is
//! made under another name, its number is sealed into its text, it is synced, renamed, and the folder is synced.
//!
//! # Each bundle is used once
//! [`Pool::reserve`] takes the keys of bundles out of the ledger on the disk and keeps them in memory. Once it has
//! returned, no process can open these bundles again, unless the folder is restored from a copy. [`Pool::take`] opens a
//! bundle and forgets its key. What a process has reserved and not used it gives back at its end ([`Pool::release`]); a
//! crash loses it.
//!
//! A copy of the folder would give its bundles a second time, and so would earlier files that are put back into it. So
//! the header and each ledger are bound to the file that they are in, by its inode and the time of its birth. A copy is
//! another file, and earlier bytes in a file were not written for it: both are refused. A file that is replaced is
//! emptied, since a hard link would keep it. Images and snapshots of a whole file system are not found in this way.
//! Besides, the parties compare what they have reserved when they meet, and the largest number counts: an old disk does
//! harm only if all honest parties have one.
//!
//! Blocks are not bound to their file. An earlier bundle is of no use without its key, which a current ledger has lost.
//!
//! # Secrets
//! Where parties may cheat, correlations are of use only under the keys of the session that made them. Such a pool has
//! *secrets* ([`Pool::create_with_secrets`]): all of it is made in one session. Its file `pool` says whether a session
//! uses them ([`Pool::enter`]), which is written before a bundle is written or opened. Only a session that ends well
//! takes that back ([`Pool::leave`]). A session that does not has the pool erased ([`Pool::bury`]): the secrets first,
//! then the lots. What is left is the pool's identifier and the reason. A pool that is found in use was left by a
//! process that did not end well, since the lock was free; it is erased then.
//!
//! Erased means that no process uses it again, not that a disk has no trace of it.
//!
//! This crate knows neither the protocol nor the other parties.
#![forbid(unsafe_code)]

mod disk;
mod error;
mod folder;
mod ledger;
mod levels;
mod life;
mod pool;
mod rebind;
mod sealing;
mod sizes;

pub use disk::{Disk, Stored};
pub use error::PoolError;
pub use folder::Folder;
pub use ledger::{Batch, Contents, Lot, LotId, Places};
pub use levels::{Levels, State};
pub use pool::{Bundle, Owner, Pool};
pub use rebind::Change;
pub use sealing::StoreKey;
pub use sizes::{KEY_BYTES, MOST_BUNDLES, PoolId};
