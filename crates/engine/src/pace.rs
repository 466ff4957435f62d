//! The parties' progress along a row of work that all go through in the same order: the chunks of a [`Ctx::stream`],
//! the steps of a program. It keeps every party from running far ahead of the slowest.

use std::cell::Cell;
use std::rc::Rc;
use std::sync::Arc;
use std::task::{Poll, Waker};

use crate::ctx::Ctx;
use crate::error::{Error, Result};
use crate::lane::LaneId;
use crate::lane_table::Lane;
use crate::scheduler::Core;
use crate::wire::Tag;

/// This party's view of the progress along a row of work. Each party reports to the others that it has done the first
/// `done` pieces of the row.
///
/// Reports cost no round. The first work that is unfinished anywhere must be allowed everywhere: then no party waits
/// here for ever.
pub struct Pace {
    core: Rc<Core>,
    lane: Arc<Lane>,
    peers: Vec<usize>,
    reported: Cell<u32>,
    enough: u32,
}

impl Pace {
    pub(crate) fn on(ctx: &Ctx, lane: LaneId, enough: usize) -> Option<Pace> {
        let enough = u32::try_from(enough).unwrap_or(u32::MAX);
        let open = || {
            let lane = ctx.core.table.open(lane, ctx.phase, &ctx.step);
            Pace { core: ctx.core.clone(), lane, peers: ctx.peers(), reported: Cell::new(0), enough }
        };
        (enough > 0 && ctx.core.talks()).then(open)
    }

    /// Reports to the peers that this party has done the first `done` pieces of work. It reports nothing once the peers
    /// have enough to reach the end: a report never arrives after the row has ended.
    pub fn report(&self, done: usize) {
        if self.reported.get() < self.enough {
            let done = u32::try_from(done).unwrap_or(u32::MAX);
            self.reported.set(done);
            self.peers.iter().for_each(|&peer| self.core.post_control(peer, Tag::Progress, self.lane.id, done));
        }
    }

    /// Returns the number `done` that this party reported last ([`Pace::report`]).
    pub fn reported(&self) -> usize {
        self.reported.get() as usize
    }

    /// Returns the number `done` that the slowest peer has reported.
    pub fn slowest(&self) -> usize {
        self.lane.slowest(&self.peers) as usize
    }

    /// Waits until every peer has reported that it has done at least the first `needed` pieces. It keeps one waker
    /// only: that of the last caller.
    ///
    /// # Errors
    /// [`Mismatch::Left`] where the slowest peer has left the session.
    pub fn poll(&self, needed: usize, waker: &Waker) -> Poll<Result<()>> {
        self.core.table.poll_progress(&self.lane, &self.peers, needed, waker).map_err(Error::from)
    }
}

impl Drop for Pace {
    fn drop(&mut self) {
        self.core.table.retire(&self.lane);
    }
}

impl Ctx {
    /// Returns the pace of a row of work that every party of this lane goes through. No party ever waits for more than
    /// the first `enough` pieces of it. Returns `None` if `enough` is 0, in a dry run, and where a party works alone.
    /// Every party calls it in step.
    pub fn pace(&self, enough: usize) -> Option<Pace> {
        Pace::on(self, self.fork_lane(), enough)
    }
}
