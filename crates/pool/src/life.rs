//! The life of a pool whose correlations are of use only under secrets: its keys must end with the first session that
//! does not end well.

use serde::{Deserialize, Serialize};
use zeroize::{Zeroize, ZeroizeOnDrop};

/// The keys of a pool, in the caller's format.
#[derive(Clone, Serialize, Deserialize, Zeroize, ZeroizeOnDrop)]
pub(crate) struct Secrets(pub Vec<u8>);

/// What the disk says of the secrets.
#[derive(Clone, Serialize, Deserialize)]
pub(crate) enum Life {
    /// There are none: bundles are of use under any keys.
    Free,
    /// No session uses them.
    Idle(Secrets),
    /// A session uses them. A process that finds this is not that session: the secrets are over.
    Open(Secrets),
    /// They are erased.
    Dead {
        /// The reason, as the end of a sentence.
        why: String,
    },
}

impl Life {
    /// Returns the secrets, which may be empty.
    pub fn secrets(&self) -> Option<&Secrets> {
        match self {
            Life::Idle(secrets) | Life::Open(secrets) => Some(secrets),
            Life::Free | Life::Dead { .. } => None,
        }
    }

    /// Returns whether bundles may be written and opened.
    pub fn is_in_use(&self) -> bool {
        matches!(self, Life::Free | Life::Open(_))
    }
}
