//! The ledger of correlations: recorded in a dry run, made in bulk offline, used once online.
//!
//! The name of a draw is (lane, use), which all parties compute alike. Its place in the stock follows from the dry run.
//! So the parties agree on every place in the stock, in whatever order messages arrive. Each place can be drawn only
//! once: its entry is then removed.

use std::collections::{BTreeMap, VecDeque};
use std::ops::Range;
use std::task::{Poll, Waker};

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
}

/// The correlations that a program needs: totals by kind, and the place of every draw.
#[derive(Clone, Debug, PartialEq)]
pub struct Demand<K> {
    totals: BTreeMap<K, usize>,
    draws: BTreeMap<(LaneId, u64), Request<K>>,
    /// Names of all draws, in the order of the dry run.
    order: Vec<(LaneId, u64)>,
    by_step: BTreeMap<u32, BTreeMap<K, usize>>,
}

impl<K> Default for Demand<K> {
    fn default() -> Self {
        Demand { totals: BTreeMap::new(), draws: BTreeMap::new(), order: Vec::new(), by_step: BTreeMap::new() }
    }
}

impl<K: Ord + Clone> Demand<K> {
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
        let by_step = self.by_step.iter().map(|(&step, drawn)| (number(step), drawn.clone())).collect();
        Demand { totals: self.totals.clone(), draws: self.draws.clone(), order: self.order.clone(), by_step }
    }

    /// Splits this demand into turns, in the order of the dry run. Each turn fits, and would not with one draw more; a
    /// draw that does not fit is a turn of its own. Of equal draws that were counted once ([`Ctx::count_alike`]), only
    /// that one has a turn.
    pub fn in_turns(&self, fits: impl Fn(&BTreeMap<K, usize>) -> bool) -> VecDeque<Demand<K>> {
        let draws = self.order.iter().filter_map(|at| self.draws.get(at).map(|draw| (*at, draw)));
        let draws: Vec<((LaneId, u64), &Request<K>)> = draws.collect();
        let (mut turns, mut rest) = (VecDeque::new(), &draws[..]);
        while !rest.is_empty() {
            let (now, later) = rest.split_at(fitting(rest, &fits));
            let mut turn = Demand::default();
            for (at, Request { kind, len, .. }) in now {
                turn.record(*at, None, kind.clone(), (*len, 1));
            }
            turns.push_back(turn);
            rest = later;
        }
        turns
    }

    fn record(&mut self, at: (LaneId, u64), step: Option<u32>, kind: K, (len, times): (usize, usize)) {
        if let Some(step) = step {
            *self.by_step.entry(step).or_default().entry(kind.clone()).or_default() += len * times;
        }
        let total = self.totals.entry(kind.clone()).or_default();
        self.draws.insert(at, Request { kind, start: *total, len, times });
        self.order.push(at);
        *total += len * times;
    }
}

/// Returns the number of the first draws that fit together, at least one: twice as many are tried each time, then half
/// of what is left in between, since there may be millions.
fn fitting<K: Ord + Clone>(
    draws: &[((LaneId, u64), &Request<K>)],
    fits: &impl Fn(&BTreeMap<K, usize>) -> bool,
) -> usize {
    let mut totals = BTreeMap::new();
    let (mut fit, mut too_many, mut more) = (0, draws.len() + 1, 1);
    while fit + 1 < too_many {
        more = more.min(too_many - fit - 1);
        let mut tried: BTreeMap<K, usize> = totals.clone();
        for (_, draw) in &draws[fit..fit + more] {
            *tried.entry(draw.kind.clone()).or_default() += draw.len;
        }
        let has_failed = too_many <= draws.len();
        if fit + more == 1 || fits(&tried) {
            (fit, totals) = (fit + more, tried);
            more = if has_failed { more.div_ceil(2) } else { 2 * more };
        } else {
            too_many = fit + more;
            more = more.div_ceil(2);
        }
    }
    fit
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
                demand.record((ctx.lane(), ctx.next_use()), step, kind.clone(), (len, ctx.core.counting.times()));
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

/// Correlations that are made while a program runs, a few draws at a time, since all of them at once would not fit.
///
/// The order is that of a dry run in which a step begins when those before it are done. Therefore no two parties wait
/// for each other, all make the same correlations at a time, and nothing else is made meanwhile.
#[derive(Debug)]
pub(crate) struct Turns<K> {
    coming: VecDeque<Demand<K>>,
    /// Draws whose correlations were made and are not taken yet.
    now: BTreeMap<(LaneId, u64), Request<K>>,
    is_making: bool,
    begun: u64,
    waiting: Vec<Waker>,
}

/// The way in which a draw is served if correlations are made in turns.
pub(crate) enum Turn<K> {
    /// Make these correlations, on the lane with this number next to the draw's lane.
    Make(u64, BTreeMap<K, usize>),
    /// Take this range of the correlations of this turn.
    Take(Range<usize>),
}

impl<K: Ord + Clone> Turns<K> {
    pub fn new(coming: VecDeque<Demand<K>>) -> Turns<K> {
        Turns { coming, now: BTreeMap::new(), is_making: false, begun: 0, waiting: Vec::new() }
    }

    /// Returns how the draw of this name is served, once its turn has come.
    pub fn poll(&mut self, at: (LaneId, u64), (kind, len): (&K, usize), waker: &Waker) -> Poll<Result<Turn<K>>> {
        if !self.is_making
            && let Some(request) = self.now.remove(&at)
        {
            if self.now.is_empty() {
                self.wake();
            }
            return Poll::Ready(match request.kind == *kind && request.len == len {
                true => Ok(Turn::Take(request.start..request.start + len)),
                false => Err(Error::Exhausted { wanted: len, left: 0 }),
            });
        }
        let is_next = self.coming.front().is_some_and(|next| next.order.first() == Some(&at));
        if is_next
            && self.now.is_empty()
            && let Some(next) = self.coming.pop_front()
        {
            (self.now, self.is_making, self.begun) = (next.draws, true, self.begun + 1);
            return Poll::Ready(Ok(Turn::Make(self.begun, next.totals)));
        }
        if !self.now.contains_key(&at) && !self.coming.iter().any(|turn| turn.draws.contains_key(&at)) {
            return Poll::Ready(Err(Error::Exhausted { wanted: len, left: 0 }));
        }
        self.waiting.push(waker.clone());
        Poll::Pending
    }

    /// Notes that the correlations of this turn were made.
    pub fn made(&mut self) {
        self.is_making = false;
        self.wake();
    }

    fn wake(&mut self) {
        self.waiting.drain(..).for_each(Waker::wake);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Draws of three kinds, with lengths from 0 to 12.
    fn demand(draws: u64) -> Demand<u8> {
        let mut demand = Demand::default();
        for i in 0..draws {
            let random = i.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 40;
            demand.record((LaneId::ROOT, i), None, (random % 3) as u8, ((random / 3 % 13) as usize, 1));
        }
        demand
    }

    #[test]
    fn every_turn_has_as_many_draws_as_fit() {
        for (draws, limit) in
            [0, 1, 2, 3, 17, 300].into_iter().flat_map(|draws| [0, 1, 9, 40, 9999].map(|l| (draws, l)))
        {
            let demand = demand(draws);
            let fits = |totals: &BTreeMap<u8, usize>| totals.values().sum::<usize>() <= limit;
            let turns = demand.in_turns(fits);
            let orders: Vec<_> = turns.iter().flat_map(|turn| turn.order.clone()).collect();
            assert_eq!(orders, demand.order);
            for (turn, next) in turns.iter().zip(turns.iter().skip(1)) {
                let mut more = turn.totals.clone();
                let first = &next.draws[&next.order[0]];
                *more.entry(first.kind).or_default() += first.len;
                assert!(!fits(&more), "{draws} draws, {limit}: {more:?}");
            }
            assert!(turns.iter().all(|turn| turn.order.len() == 1 || fits(&turn.totals)), "{draws} draws, {limit}");
        }
    }

    #[test]
    fn few_sizes_are_tried_however_many_draws_there_are() {
        let tried = std::cell::Cell::new(0);
        let turns = demand(100_000).in_turns(|totals| {
            tried.set(tried.get() + 1);
            totals.values().sum::<usize>() <= 200_000
        });
        assert!(turns.len() == 3 && tried.get() < 200, "{} turns, {} tried", turns.len(), tried.get());
    }
}
