//! Who uses which correlation: recorded in a dry run, made in bulk offline, used once online.
//!
//! A draw is named by (lane, use), which all parties compute alike; its place in the stock follows from the dry run. So
//! the parties agree on every position whatever the timing, and a position can be drawn once only: its entry is
//! removed.

use std::collections::BTreeMap;
use std::ops::Range;

use crate::ctx::Ctx;
use crate::error::{Error, Result};
use crate::lane::LaneId;

/// One draw of a program: `len` correlations of a kind, from position `start` of that kind's stock.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Request<K> {
    /// Which.
    pub kind: K,
    /// The first one's place in the stock of its kind.
    pub start: usize,
    /// How many.
    pub len: usize,
}

/// What a program needs: totals by kind, and the place of every draw.
#[derive(Clone, Debug, PartialEq)]
pub struct Demand<K> {
    totals: BTreeMap<K, usize>,
    draws: BTreeMap<(LaneId, u64), Request<K>>,
    by_step: BTreeMap<u32, BTreeMap<K, usize>>,
}

impl<K> Default for Demand<K> {
    fn default() -> Self {
        Demand { totals: BTreeMap::new(), draws: BTreeMap::new(), by_step: BTreeMap::new() }
    }
}

impl<K: Ord + Clone> Demand<K> {
    /// Correlations by kind, in a fixed order.
    pub fn totals(&self) -> &BTreeMap<K, usize> {
        &self.totals
    }

    /// What each program step draws, by kind; steps that draw nothing are absent.
    pub fn by_step(&self) -> &BTreeMap<u32, BTreeMap<K, usize>> {
        &self.by_step
    }

    /// How many draws there are.
    pub fn draws(&self) -> usize {
        self.draws.len()
    }

    /// The same where the steps have other numbers, in the same order.
    pub fn with_steps(&self, number: impl Fn(u32) -> u32) -> Demand<K> {
        let by_step = self.by_step.iter().map(|(&step, drawn)| (number(step), drawn.clone())).collect();
        Demand { totals: self.totals.clone(), draws: self.draws.clone(), by_step }
    }

    fn record(&mut self, at: (LaneId, u64), step: Option<u32>, kind: K, len: usize) {
        if let Some(step) = step {
            *self.by_step.entry(step).or_default().entry(kind.clone()).or_default() += len;
        }
        let total = self.totals.entry(kind.clone()).or_default();
        self.draws.insert(at, Request { kind, start: *total, len });
        *total += len;
    }
}

/// A backend's ledger of correlations.
#[derive(Debug, Default)]
pub enum Ledger<K> {
    /// Correlations are made where they are used (they still count as offline).
    #[default]
    OnDemand,
    /// A dry run: draws are recorded.
    Recording(Demand<K>),
    /// Everything was made ahead.
    Stocked(Demand<K>),
}

/// How a draw is served.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Draw {
    /// Make it now, on a lane of [`Ctx::offline_child`].
    Make,
    /// Recorded; go on with a shape.
    Recorded,
    /// Take this range of the stock.
    Stock(Range<usize>),
}

impl<K: Ord + Clone> Ledger<K> {
    /// Serves a draw of `len` correlations on this lane. Work ahead sees what the draw will give, and leaves it there.
    ///
    /// # Errors
    /// [`Error::Exhausted`] if the dry run did not foresee this draw, or it was served before; [`Error::Bug`] where
    /// only some of the parties draw what was made ahead: the others would count other places.
    pub fn draw(&mut self, ctx: &Ctx, kind: &K, len: usize) -> Result<Draw> {
        if ctx.members.is_some() && !matches!(self, Ledger::OnDemand) {
            return Err(Error::bug("a draw that not all parties make, from a stock that all of them share"));
        }
        match self {
            Ledger::OnDemand => Ok(Draw::Make),
            Ledger::Recording(demand) => {
                let step = ctx.step.as_ref().map(|step| step.id);
                demand.record((ctx.lane(), ctx.next_use()), step, kind.clone(), len);
                Ok(Draw::Recorded)
            }
            Ledger::Stocked(demand) => {
                let at = (ctx.lane(), ctx.next_use());
                let foreseen = match ctx.is_alone() {
                    true => demand.draws.get(&at).cloned(),
                    false => demand.draws.remove(&at),
                };
                match foreseen {
                    Some(request) if request.kind == *kind && request.len == len => {
                        Ok(Draw::Stock(request.start..request.start + len))
                    }
                    _ => Err(Error::Exhausted { wanted: len, left: 0 }),
                }
            }
        }
    }

    /// Ends recording and returns the demand.
    pub fn take_demand(&mut self) -> Demand<K> {
        match std::mem::replace(self, Ledger::OnDemand) {
            Ledger::Recording(demand) | Ledger::Stocked(demand) => demand,
            Ledger::OnDemand => Demand::default(),
        }
    }
}
