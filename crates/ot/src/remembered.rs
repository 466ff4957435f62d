//! The memory of base OTs: there is none, and each is computed. Tests compile `testing/remembered.rs` in place of this
//! file.

use quorate_crypto::Prg;

/// Returns the coins that a party uses for base OTs with a peer in every session.
#[inline(always)]
pub(crate) fn coins(_me: usize, _peer: usize, _choices: [u8; 2]) -> Option<Prg> {
    None
}

/// Returns the context to which H is bound: the session.
#[inline(always)]
pub(crate) const fn session(session: [u8; 32]) -> [u8; 32] {
    session
}

/// Returns the result of `compute`, which depends only on `of`.
#[inline(always)]
pub(crate) fn remembered<T>(_what: &str, _of: &[&[u8]], compute: impl FnOnce() -> T) -> T {
    compute()
}

const _: () = assert!(matches!(session([7; 32]), [7, .., 7]));
