//! What arrives from a peer over a link: items cut from the stream, and what the peer signals. Without I/O.

use std::collections::VecDeque;

use super::frames::{Arrived, Cutter, Item, Signal, TooLarge};
use super::resend::{ITEM_COST, memory};
use crate::Frame;

/// The number of bytes waiting to be received from which reading from the peer stops.
pub(crate) const INBOX_BYTES: usize = 64 << 20;

/// What arrives from a peer, over all connections.
#[derive(Default)]
pub(crate) struct Incoming {
    pub(crate) cutter: Cutter,
    /// Frames that were not taken out yet.
    pub(crate) inbox: VecDeque<Frame>,
    pub(crate) inbox_bytes: usize,
    pub(crate) peer_is_ready: bool,
    /// The memory of items that arrived since this party last acknowledged.
    pub(crate) unsaid: usize,
    /// Whether the peer asked for an acknowledgement.
    pub(crate) asked: bool,
    /// The peer's last acknowledgement, until it is processed.
    pub(crate) acknowledged: Option<u64>,
}

impl Incoming {
    /// Takes in a piece of the stream.
    ///
    /// # Errors
    /// A frame above the limit.
    pub(crate) fn take(&mut self, piece: &[u8]) -> Result<(), TooLarge> {
        let Incoming { cutter, inbox, inbox_bytes, peer_is_ready, unsaid, asked, acknowledged } = self;
        cutter.cut(piece, &mut |arrived| match arrived {
            Arrived::Item(item) => {
                *unsaid += memory(&item);
                match item {
                    Item::Frame(frame) => {
                        *inbox_bytes += frame.len() + ITEM_COST;
                        inbox.push_back(frame);
                    }
                    Item::Ready => *peer_is_ready = true,
                }
            }
            Arrived::Signal(Signal::Heartbeat) => {}
            Arrived::Signal(Signal::Ask) => *asked = true,
            Arrived::Signal(Signal::Received(position)) => *acknowledged = Some(position),
        })
    }

    /// Returns the next frame.
    pub(crate) fn pop(&mut self) -> Option<Frame> {
        let frame = self.inbox.pop_front()?;
        self.inbox_bytes -= frame.len() + ITEM_COST;
        Some(frame)
    }

    /// Returns whether reading stops until some frames are taken out.
    pub(crate) fn is_full(&self) -> bool {
        self.inbox_bytes >= INBOX_BYTES
    }
}
