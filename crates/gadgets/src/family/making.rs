//! The trait for the time at which a family makes correlations.

use std::collections::BTreeMap;

use quorate_engine::{Demand, Stocks, Turn};

use super::footprint::{Footprint, streaming_bytes};

/// When a family makes the correlations of a run: before its inputs are used, in turns while it runs, or where they are
/// drawn.
pub trait MakesAhead: Footprint + Stocks {
    /// Whether all correlations of a run are made before its inputs are used, however large they are. A run is refused
    /// if they do not fit.
    const ONLY_AHEAD: bool = false;

    /// Whether correlations that are not made ahead are made in turns: where no two kinds may be made at once.
    const IN_TURNS: bool = false;

    /// Makes the correlations of this demand while the program runs from here on, in its order, if
    /// [`MakesAhead::IN_TURNS`]. A turn takes at most `bytes` bytes, or is a single draw.
    fn make_in_turns(&self, demand: &Demand<Self::Kind>, bytes: u64) {
        if Self::IN_TURNS {
            self.stock().make_in_turns(demand.in_turns(|totals| self.bytes_of_turn(totals) <= bytes));
        }
    }

    /// Returns what the turns of [`MakesAhead::make_in_turns`] make; nothing if correlations are made where they are
    /// drawn.
    fn turns(&self, demand: &Demand<Self::Kind>, bytes: u64) -> Vec<Turn<Self::Kind>> {
        if !Self::IN_TURNS {
            return Vec::new();
        }
        demand.turns(|totals| self.bytes_of_turn(totals) <= bytes)
    }

    /// Returns the bytes of these correlations, with those of making them.
    fn bytes_of_turn(&self, totals: &BTreeMap<Self::Kind, usize>) -> u64 {
        let stock: u64 = totals.iter().map(|(kind, &len)| self.stock_bytes(kind, len)).sum();
        stock.saturating_add(self.making_bytes(totals))
    }

    /// Records draws from here on, without making correlations.
    fn record_demand(&self) {
        self.stock().record();
    }

    /// Returns the recorded demand.
    fn take_demand(&self) -> Demand<Self::Kind> {
        self.stock().take_demand()
    }

    /// Returns the bytes of one party's stock of correlations, where shares are plain vectors.
    fn stock_bytes(&self, kind: &Self::Kind, len: usize) -> u64 {
        self.layout(kind).bytes(len) * self.shares()
    }

    /// Returns the bytes held besides the stock while these correlations are made, where each kind is made in a stream
    /// and all kinds side by side.
    fn making_bytes(&self, totals: &BTreeMap<Self::Kind, usize>) -> u64 {
        totals.iter().map(|(kind, &len)| streaming_bytes(self.stock_bytes(kind, len))).sum()
    }
}
