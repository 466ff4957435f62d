//! Work of one party ahead of the phase to which it belongs: [`Ctx::alone`].
//!
//! Lanes, uses and randomness are those of that later phase, and vectors have values, but nothing is sent. Example: a
//! garbler garbles the circuits of the online phase while it is still in the offline phase.

use std::rc::Rc;

use crate::costs::Phase;
use crate::ctx::Ctx;
use crate::error::Result;
use crate::scheduler::{Core, driven};

impl Ctx {
    /// Runs `work` at this party alone and without costs, as if it were the first `phase` phase of this run. Draws of
    /// correlations leave the stock unchanged, so that the phase itself can draw them again.
    ///
    /// # Errors
    /// Those of `work`; [`Error::Bug`](crate::Error::Bug) if it sends or receives.
    pub fn alone<T>(&self, phase: Phase, work: impl AsyncFnOnce(&Ctx) -> Result<T>) -> Result<T> {
        let core = Rc::new(Core::alone(self.me(), self.parties(), self.core.run.get()));
        let ctx = Ctx::root(core.clone(), phase, 0);
        driven(work(&ctx), |poll| core.drive(poll))
    }

    /// Returns whether this is work ahead of its phase, in which nothing is sent.
    pub fn is_alone(&self) -> bool {
        self.core.is_alone()
    }
}
