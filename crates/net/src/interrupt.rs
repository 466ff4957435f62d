//! A handle that ends a party's wait from another thread.

use quorate_sync::Arc;
use quorate_sync::atomic::{AtomicBool, Ordering};
use std::fmt;

/// Makes a waiting [`Net::recv`](crate::Net::recv) return `None` promptly, from any thread.
///
/// It has two flags and a waker. While a flag is up, calls do not wait; frames that have arrived are still delivered.
/// [`raise`](Interrupt::raise) asks the party to stop: the code that handles this lowers the flag with
/// [`take`](Interrupt::take). [`nudge`](Interrupt::nudge) only tells it that there is something to do apart from the
/// links: the party's scheduler lowers that flag with [`take_nudge`](Interrupt::take_nudge).
#[derive(Clone)]
pub struct Interrupt {
    raised: Arc<AtomicBool>,
    nudged: Arc<AtomicBool>,
    wake: Arc<dyn Fn() + Send + Sync>,
}

impl Interrupt {
    pub(crate) fn new(wake: impl Fn() + Send + Sync + 'static) -> Self {
        Interrupt { raised: Arc::default(), nudged: Arc::default(), wake: Arc::new(wake) }
    }

    /// Asks the party to stop, and wakes it.
    pub fn raise(&self) {
        self.raised.store(true, Ordering::SeqCst);
        (self.wake)();
    }

    /// Returns whether the party is asked to stop.
    pub fn is_raised(&self) -> bool {
        self.raised.load(Ordering::SeqCst)
    }

    /// Lowers the flag. Returns true if it was up.
    pub fn take(&self) -> bool {
        self.raised.swap(false, Ordering::SeqCst)
    }

    /// Ends the party's wait, or its next one, without asking it to stop.
    pub fn nudge(&self) {
        if !self.nudged.swap(true, Ordering::SeqCst) {
            (self.wake)();
        }
    }

    /// Lowers the flag of [`nudge`](Interrupt::nudge). Returns true if it was up.
    pub fn take_nudge(&self) -> bool {
        self.nudged.swap(false, Ordering::SeqCst)
    }

    /// Returns whether waits end at once: a [`Net`](crate::Net) asks this before each wait.
    pub fn ends_waits(&self) -> bool {
        self.is_raised() || self.nudged.load(Ordering::SeqCst)
    }
}

impl fmt::Debug for Interrupt {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Interrupt").field("raised", &self.is_raised()).finish()
    }
}
