//! Pools: correlations that a party has made ahead and keeps in a folder until runs use them, each once.
//!
//! A *pool* is one party's folder. It has *lots*. All *bundles* of a lot have the same contents: the correlations of one
//! run. The place of a bundle in its lot is 0, 1, and so on; the parties use the bundles of one place together.
//!
//! | file | contents |
//! |---|---|
//! | `pool` | the pool's identifier, its owner, the prices of plans |
//! | `<lot>.ledger` | the contents of a bundle, the places that were made and reserved, and the keys of all that are not |
//! | `<lot>.blocks` | bundles at fixed places, each sealed under its own random key |
//! | `lock` | empty; locked by the process that has the pool open |
//!
//! The first two are sealed under keys that are derived from the store's key. A change replaces the file: it is written
//! under another name, synced, renamed, and the folder is synced.
//!
//! # Each bundle is used once
//! [`Pool::reserve`] takes the keys of bundles out of the ledger on the disk and keeps them in memory. Once it has
//! returned, no process can open these bundles again, unless the folder is restored from a copy. [`Pool::take`] opens a
//! bundle and forgets its key. What a process has reserved and not used it gives back at its end ([`Pool::release`]); a
//! crash loses it.
//!
//! A copy of the folder would give its bundles a second time. A pool refuses to be opened in another folder than the one
//! in which it was made, which finds copies but for images of a whole disk. Besides, the parties compare what they have
//! reserved when they meet, and the largest number counts: an old disk does harm only if all honest parties have one.
//!
//! This crate knows neither the protocol nor the other parties.
#![forbid(unsafe_code)]

mod disk;
mod error;
mod folder;
mod ledger;
mod pool;
mod sealing;

pub use disk::Disk;
pub use error::PoolError;
pub use folder::Folder;
pub use ledger::{Batch, Contents, Lot, LotId, MOST_BUNDLES, Places};
pub use pool::{Bundle, Owner, Pool, PoolId};
pub use sealing::{KEY_BYTES, StoreKey};
