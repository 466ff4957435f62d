//! **Insecure**: remembered base OTs for tests, most of whose time they would take: results are kept and used again for
//! the same inputs.
//!
//! This is compiled only under the feature `testing` with debug assertions, so never in a benchmark, and does nothing
//! unless the variable `QUORATE_INSECURE_BASE_OTS` is set, as `make test` does. A party's coins
//! for base OTs with a peer are then the same in all sessions of a process, and others in the next process. H is not
//! bound to the session, so that points are the same, too. Keys are hashes bound to the session, and differ; choices
//! stay random. A changed message has not been seen before, so results for it are computed.

use std::any::Any;
use std::collections::BTreeMap;
use std::sync::{LazyLock, Mutex};

use quorate_crypto::{Prg, Seed};

/// Whether base OTs are remembered in this process.
static IS_ON: LazyLock<bool> = LazyLock::new(|| std::env::var_os("QUORATE_INSECURE_BASE_OTS").is_some());

/// The seed of the process.
static SEED: LazyLock<Seed> = LazyLock::new(|| Seed::random().expect("the system has randomness"));

/// The results, by a hash of their inputs.
type Known = BTreeMap<[u8; 32], Box<dyn Any + Send>>;

static KNOWN: Mutex<Known> = Mutex::new(BTreeMap::new());

/// Returns the coins that a party uses for base OTs with a peer in every session.
pub(crate) fn coins(me: usize, peer: usize, choices: [u8; 2]) -> Option<Prg> {
    if !*IS_ON {
        return None;
    }
    let of = [&me.to_le_bytes()[..], &peer.to_le_bytes(), &choices].concat();
    Some(SEED.prg("quorate/ot/testing", &of))
}

/// Returns the context to which H is bound in place of a session.
pub(crate) fn session(session: [u8; 32]) -> [u8; 32] {
    if *IS_ON { [0; 32] } else { session }
}

/// Returns the result of `compute`, which depends only on `of`.
pub(crate) fn remembered<T: Clone + Send + 'static>(what: &str, of: &[&[u8]], compute: impl FnOnce() -> T) -> T {
    if !*IS_ON {
        return compute();
    }
    let mut hasher = blake3::Hasher::new_derive_key(what);
    for part in of {
        hasher.update(&(part.len() as u64).to_le_bytes()).update(part);
    }
    let key = *hasher.finalize().as_bytes();
    let known = KNOWN.lock().unwrap().get(&key).and_then(|known| known.downcast_ref::<T>()).cloned();
    known.unwrap_or_else(|| {
        let computed = compute();
        KNOWN.lock().unwrap().insert(key, Box::new(computed.clone()));
        computed
    })
}
