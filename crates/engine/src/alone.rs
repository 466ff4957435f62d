//! What a party does by itself, ahead of the phase to which it belongs: [`Ctx::alone`].
//!
//! Lanes, uses and randomness are those of that phase, and vectors have values, but nothing is sent: a garbler makes
//! the circuits of the online phase while it is still offline.

use std::rc::Rc;

use crate::costs::Phase;
use crate::ctx::Ctx;
use crate::error::Result;
use crate::scheduler::{Core, driven};

impl Ctx {
    /// Runs `work` as the first phase of this kind in this run, without the others and without a cost. Draws of
    /// correlations leave them where they are, for that phase itself.
    ///
    /// # Errors
    /// Those of `work`; [`Error::Bug`](crate::Error::Bug) where it wants to send or receive.
    pub fn alone<T>(&self, phase: Phase, work: impl AsyncFnOnce(&Ctx) -> Result<T>) -> Result<T> {
        let core = Rc::new(Core::alone(self.me(), self.parties(), self.core.run.get()));
        let ctx = Ctx::root(core.clone(), phase, 0);
        driven(work(&ctx), |poll| core.drive(poll))
    }

    /// Whether this is work ahead, in which nothing is sent.
    pub fn is_alone(&self) -> bool {
        self.core.is_alone()
    }
}
