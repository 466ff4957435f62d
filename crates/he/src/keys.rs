//! The keys of a session at one party.

use crate::options::Options;
use crate::scheme::SecretKey;

/// This party's key, and the peer's public key.
pub(crate) struct Keys<S: SecretKey> {
    pub own: S,
    pub theirs: S::Public,
}

/// Stands for the keys in a dry run.
pub(crate) struct Shapes {
    pub options: Options,
}
