//! A handle that ends a party's wait from another thread.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// Makes a waiting [`Net::recv`](crate::Net::recv) return `None` promptly, from any thread.
///
/// It is a flag and a waker. While the flag is up, calls do not wait; frames that have arrived are still delivered. The
/// code that handles the interrupt lowers the flag with [`take`](Interrupt::take); calls then wait again.
#[derive(Clone)]
pub struct Interrupt {
    flag: Arc<AtomicBool>,
    wake: Arc<dyn Fn() + Send + Sync>,
}

impl Interrupt {
    pub(crate) fn new(wake: impl Fn() + Send + Sync + 'static) -> Self {
        Interrupt { flag: Arc::new(AtomicBool::new(false)), wake: Arc::new(wake) }
    }

    /// Raises the flag and wakes the party.
    pub fn raise(&self) {
        self.flag.store(true, Ordering::SeqCst);
        (self.wake)();
    }

    /// Returns whether the flag is up.
    pub fn is_raised(&self) -> bool {
        self.flag.load(Ordering::SeqCst)
    }

    /// Lowers the flag. Returns true if it was up.
    pub fn take(&self) -> bool {
        self.flag.swap(false, Ordering::SeqCst)
    }
}

impl fmt::Debug for Interrupt {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Interrupt").field("raised", &self.is_raised()).finish()
    }
}
