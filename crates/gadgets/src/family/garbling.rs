//! Circuits that are garbled before the online phase.

use quorate_engine::{Demand, Stocks};
use quorate_ring::meter::Effort;

/// Whether and where circuits are garbled ahead. Families without garbled circuits need none of it.
pub trait GarblesAhead: Stocks {
    /// Sets whether circuits are garbled in the offline phase. All parties and dry runs use the same setting.
    fn set_ahead(&self, _ahead: bool) {}

    /// Returns whether to garble ahead the circuits of a demand, given the weight of the offline phase (that of the
    /// online phase is 1).
    fn worth_garbling_ahead(_demand: &Demand<Self::Kind>, _offline_weight: f64) -> bool {
        true
    }

    /// Returns whether this party runs garbled circuits alone ahead of the online phase, and skips them online.
    fn garbles_alone(&self) -> bool {
        false
    }

    /// Adds this work to the party's work ahead, in a dry run.
    fn defer(&self, _work: &Effort) {}
}
