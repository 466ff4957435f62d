//! The errors of a pool.

use crate::sizes::{KEY_BYTES, MOST_BUNDLES, PoolId};

/// Why a pool cannot be used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum PoolError {
    /// A file cannot be read or written.
    #[error("the pool's file {file} cannot be {what}: {why}")]
    Disk {
        /// The path of the file, or of the folder.
        file: String,
        /// What was to be done with it, as a participle.
        what: &'static str,
        /// The system's reason.
        why: String,
    },
    /// Another process has the pool open.
    #[error(
        "the pool {folder} is in use by another process of this party: wait for its end, or give this session a pool \
         of its own"
    )]
    InUse {
        /// The path of the folder.
        folder: String,
    },
    /// A folder that others can read.
    #[error("others than its owner can read the pool {folder}: chmod 700 {folder}")]
    Open {
        /// The path of the folder.
        folder: String,
    },
    /// A file that does not open under the store's key.
    #[error(
        "the pool's file {file} does not open: it was altered, moved from elsewhere, or made with another key; name \
         its own key as `pool_key`, or remove the pool's folder at all parties and make the pool again"
    )]
    Altered {
        /// The name of the file.
        file: String,
    },
    /// A pool of another release.
    #[error(
        "the pool has format {found}, and this release reads format {reads}: remove its folder at all parties and make \
         the pool again"
    )]
    Format {
        /// The format of the pool.
        found: u32,
        /// The format that this release reads and writes.
        reads: u32,
    },
    /// A pool of other certificates.
    #[error(
        "the pool was made with other certificates of the parties than those of party.toml: after a change of \
         certificates run `quorate pool rebind` at all parties; otherwise give this session another pool"
    )]
    Certificates,
    /// A pool of another party or of other options.
    #[error("the pool was made {made}, and this session is {here}: give this session another pool")]
    Foreign {
        /// For what it was made.
        made: String,
        /// What this session has instead.
        here: String,
    },
    /// A pool that was made in the folder since this process looked.
    #[error("another process has made a pool in this folder meanwhile: start again")]
    Taken,
    /// A file of a pool that is not the one that the pool wrote: a copy, or its earlier bytes.
    #[error(
        "the pool was copied, restored from a backup, or moved from another disk: its correlations may have been used, \
         so remove its folder at all parties and make the pool again"
    )]
    Moved,
    /// A file system that cannot tell a file from a copy of it.
    #[error(
        "the file system of the pool's folder {folder} does not state when files were made, so a pool that was \
         restored from a backup would not be noticed: put the pool on another file system, such as ext4, xfs, btrfs or \
         APFS"
    )]
    NoBirths {
        /// The path of the folder.
        folder: String,
    },
    /// A pool whose keys may have become known to a party that cheats.
    #[error("the pool is dead: {why}. Its correlations are of no use any more: make the pool again, at all parties")]
    Dead {
        /// The pool's identifier.
        id: PoolId,
        /// The reason, as the end of a sentence.
        why: String,
    },
    /// A store key of a wrong length.
    #[error("the pool's key has {bytes} bytes instead of {}", KEY_BYTES)]
    Key {
        /// The bytes that were given.
        bytes: usize,
    },
    /// More bundles than a lot may have.
    #[error("a pool holds the correlations of at most {} runs of a kind: make fewer", MOST_BUNDLES)]
    TooMany,
    /// The system has no randomness.
    #[error("the operating system has no randomness to give")]
    Randomness,
    /// A call in a state that does not allow it.
    #[error("pool: {what}")]
    Bug {
        /// What is wrong.
        what: &'static str,
    },
}

impl PoolError {
    pub(crate) const fn bug(what: &'static str) -> PoolError {
        PoolError::Bug { what }
    }
}
