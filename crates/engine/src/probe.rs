//! What tests observe and disturb of a party: nothing. Tests compile `testing/probe.rs` in place of this file.

use crate::costs::Phase;
use crate::lane::LaneId;
use crate::lane_table::Message;

/// The observer of a party. It has no size, and its methods are optimised away.
#[derive(Clone, Default)]
pub(crate) struct Probe;

impl Probe {
    /// Returns the observer of a party.
    #[inline(always)]
    pub fn of(_me: usize) -> Probe {
        Probe
    }

    /// Waits before the links are read.
    #[inline(always)]
    pub fn pause(&self) {}

    /// Replaces this party's part of the coins tossed in a lane.
    #[inline(always)]
    pub fn coins(&self, _lane: LaneId, _own: &mut [u8]) {}

    /// Returns how many bytes on a lane a peer may leave unread before the lane waits, which is `window`.
    #[inline(always)]
    pub fn window(&self, window: u64) -> u64 {
        window
    }

    /// Notes or changes the message that a frame has from `start` on.
    #[inline(always)]
    pub fn sending(&self, _frame: &mut [u8], _start: usize) {}

    /// Notes a message that was read.
    #[inline(always)]
    pub fn heard(&self, _from: usize, _phase: Phase, _message: &Message) {}
}

/// The count of this party's own lanes, which is not kept.
#[derive(Default)]
pub(crate) struct LaneCount;

impl LaneCount {
    #[inline(always)]
    pub fn open(&self, _is_new: bool) {}

    #[inline(always)]
    pub fn retire(&self, _was_own: bool) {}

    #[inline(always)]
    pub fn clear(&self) {}
}

const _: () = assert!(size_of::<Probe>() == 0 && size_of::<LaneCount>() == 0);
