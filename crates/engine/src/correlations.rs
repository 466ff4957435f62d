//! The ledger of correlations: recorded in a dry run, made in bulk offline, used once online.
//!
//! The name of a draw is (lane, use), which all parties compute alike. Its place in the stock follows from the dry run.
//! So the parties agree on every place in the stock, in whatever order messages arrive. Each place can be drawn only
//! once: its entry is then removed.

use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::Arc;

use crate::counting::Repeat;
use crate::ctx::Ctx;
use crate::error::{Error, Result};
use crate::lane::LaneId;

/// One draw of a program: `len` correlations of a kind, from position `start` of that kind's stock.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Request<K> {
    /// The kind.
    pub kind: K,
    /// The first one's place in the stock of its kind.
    pub start: usize,
    /// The number of correlations.
    pub len: usize,
    /// The number of equal draws that this one stands for in a dry run; else 1.
    pub times: usize,
    /// The program step that draws.
    pub(crate) step: Option<u32>,
    /// The innermost repeated work in a dry run that has this draw.
    pub(crate) within: Option<Arc<Repeat>>,
}

/// The correlations that a program needs: totals by kind, and the place of every draw.
#[derive(Clone, Debug, PartialEq)]
pub struct Demand<K> {
    pub(crate) totals: BTreeMap<K, usize>,
    pub(crate) draws: BTreeMap<(LaneId, u64), Request<K>>,
    /// Names of all draws, in the order of the dry run.
    pub(crate) order: Vec<(LaneId, u64)>,
    by_step: BTreeMap<u32, BTreeMap<K, usize>>,
}

impl<K> Default for Demand<K> {
    fn default() -> Self {
        Demand { totals: BTreeMap::new(), draws: BTreeMap::new(), order: Vec::new(), by_step: BTreeMap::new() }
    }
}

impl<K: Ord + Clone> Demand<K> {
    /// Returns a demand of these correlations, without draws.
    pub fn of(totals: BTreeMap<K, usize>) -> Demand<K> {
        Demand { totals, ..Demand::default() }
    }

    /// Returns the number of correlations by kind, in a fixed order.
    pub fn totals(&self) -> &BTreeMap<K, usize> {
        &self.totals
    }

    /// Returns the draws of each program step, by kind; steps that draw nothing are absent.
    pub fn by_step(&self) -> &BTreeMap<u32, BTreeMap<K, usize>> {
        &self.by_step
    }

    /// Returns the number of draws.
    pub fn draws(&self) -> usize {
        self.draws.len()
    }

    /// Returns this demand with steps renumbered by `number`, which keeps their order.
    pub fn with_steps(&self, number: impl Fn(u32) -> u32) -> Demand<K> {
        let mut draws = self.draws.clone();
        draws.values_mut().for_each(|draw| draw.step = draw.step.map(&number));
        let by_step = self.by_step.iter().map(|(&step, drawn)| (number(step), drawn.clone())).collect();
        Demand { totals: self.totals.clone(), draws, order: self.order.clone(), by_step }
    }

    /// Records a draw that belongs to `step`, within work that is repeated.
    pub(crate) fn record(
        &mut self,
        at: (LaneId, u64),
        step: Option<u32>,
        within: Option<Arc<Repeat>>,
        kind: K,
        len: usize,
    ) {
        let times = within.as_ref().map_or(1, |repeat| repeat.times());
        if let Some(step) = step {
            *self.by_step.entry(step).or_default().entry(kind.clone()).or_default() += len * times;
        }
        let total = self.totals.entry(kind.clone()).or_default();
        self.draws.insert(at, Request { kind, start: *total, len, times, step, within });
        self.order.push(at);
        *total += len * times;
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

/// The way in which a draw is served.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Draw {
    /// Make it now, on a lane of [`Ctx::offline_child`].
    Make,
    /// Recorded; continue with a shape.
    Recorded,
    /// Take this range of the stock.
    Stock(Range<usize>),
}

impl<K: Ord + Clone> Ledger<K> {
    /// Serves a draw of `len` correlations on this lane. Work ahead of its phase ([`Ctx::alone`]) sees the result of
    /// the draw but does not use it up.
    ///
    /// # Errors
    /// [`Error::Exhausted`] if the dry run did not record this draw, or it was served before; [`Error::Bug`] if only
    /// some of the parties draw from the stock, since the others would count other places.
    pub fn draw(&mut self, ctx: &Ctx, kind: &K, len: usize) -> Result<Draw> {
        if ctx.members.is_some() && !matches!(self, Ledger::OnDemand) {
            return Err(Error::bug("a draw that not all parties make, from a stock that all of them share"));
        }
        match self {
            Ledger::OnDemand => Ok(Draw::Make),
            Ledger::Recording(demand) => {
                let step = ctx.step.as_ref().map(|step| step.id);
                demand.record((ctx.lane(), ctx.next_use()), step, ctx.core.counting.within(), kind.clone(), len);
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
