//! Tapes, which replace the randomness of a seed in tests that enumerate it.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use crate::prg::Source;
use crate::{Prg, Seed};

/// A test's replacement for all randomness: bytes that are read in order; zeros once they are used up.
///
/// Several generators may share a tape. After a first run on an empty tape, [`drawn`](Self::drawn) gives the length
/// that it needs.
pub struct Tape {
    bytes: Vec<u8>,
    drawn: AtomicUsize,
}

/// A place at which a generator reads a tape.
#[derive(Clone)]
pub(crate) struct Reader(Arc<Tape>);

impl Reader {
    /// Returns a generator that reads the tape.
    pub fn prg(&self) -> Prg {
        Prg { source: Source::Tape(self.clone()) }
    }

    pub fn read(&self, out: &mut [u8]) {
        let start = self.0.drawn.fetch_add(out.len(), Ordering::SeqCst);
        for (i, byte) in out.iter_mut().enumerate() {
            *byte = self.0.bytes.get(start + i).copied().unwrap_or(0);
        }
    }
}

impl Tape {
    /// Returns a tape of these bytes.
    pub fn new(bytes: Vec<u8>) -> Arc<Tape> {
        Arc::new(Tape { bytes, drawn: 0.into() })
    }

    /// Returns the number of bytes drawn so far, including those beyond the end.
    pub fn drawn(&self) -> usize {
        self.drawn.load(Ordering::SeqCst)
    }
}

impl Prg {
    /// **Insecure**: returns a generator that reads `tape`. For tests that enumerate all randomness.
    pub fn insecure_from_tape(tape: Arc<Tape>) -> Prg {
        Reader(tape).prg()
    }
}

impl Seed {
    /// **Insecure**: returns the seed of these bytes, all of whose generators read `tape`, one after the other. Seeds
    /// derived from it depend on the bytes alone. For tests that enumerate all randomness.
    pub fn insecure_with_tape(bytes: [u8; 32], tape: Arc<Tape>) -> Seed {
        Seed { bytes, tape: Some(Reader(tape)) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tapes_are_shared_and_counted() {
        let tape = Tape::new(vec![1, 2, 3, 4]);
        let (mut a, mut b) = (Prg::insecure_from_tape(tape.clone()), Prg::insecure_from_tape(tape.clone()));
        let (mut x, mut y) = ([0; 3], [7; 3]);
        a.fill(&mut x);
        b.fill(&mut y);
        assert_eq!((x, y, tape.drawn()), ([1, 2, 3], [4, 0, 0], 6));
    }
}
