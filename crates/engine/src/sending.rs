//! What a worker sends: messages become pieces of frames, one frame under way for each peer.
//!
//! The first worker gives frames to the links; the others give them to the first one, in order.

use std::task::Waker;

use quorate_ring::memory::with_room;

use crate::error::{Error, Result};
use crate::lane::LaneId;
use crate::scheduler::Core;
use crate::wire::{self, FrameType, Tag};

impl Core {
    /// Queues one message; `write` appends exactly `length` bytes.
    pub fn post(
        &self,
        to: usize,
        lane: LaneId,
        depth: u32,
        length: usize,
        write: impl FnOnce(&mut Vec<u8>),
    ) -> Result<()> {
        const WRONG_LENGTH: Error = Error::bug("a message of another length than announced");
        /// The length from which a few messages fill a frame: its room is then reserved at once, since growth would
        /// copy it.
        const LONG: usize = wire::FLUSH_BYTES / 16;
        if length <= wire::PIECE_BYTES {
            let mut out = self.out.borrow_mut();
            let frame = self.open_frame(&mut out[to]);
            if length >= LONG && frame.capacity() < wire::FLUSH_BYTES {
                frame.reserve_exact(wire::FLUSH_BYTES + length);
            }
            wire::push_piece(frame, Tag::Last, lane, depth, length);
            let start = frame.len();
            write(frame);
            if frame.len() - start != length {
                frame.clear();
                return Err(WRONG_LENGTH);
            }
            drop(out);
            return self.flush_full(to);
        }
        let mut whole = with_room(length);
        write(&mut whole);
        if whole.len() != length {
            return Err(WRONG_LENGTH);
        }
        let pieces = length.div_ceil(wire::PIECE_BYTES);
        for (i, part) in whole.chunks(wire::PIECE_BYTES).enumerate() {
            let mut out = self.out.borrow_mut();
            let frame = self.open_frame(&mut out[to]);
            let tag = if i + 1 == pieces { Tag::Last } else { Tag::More };
            wire::push_piece(frame, tag, lane, depth, part.len());
            frame.extend_from_slice(part);
            drop(out);
            self.flush_full(to)?;
        }
        Ok(())
    }

    /// Queues a piece without payload: credit, a stream's progress, or the end of a run.
    pub fn post_control(&self, to: usize, tag: Tag, lane: LaneId, number: u32) {
        let mut out = self.out.borrow_mut();
        wire::push_piece(self.open_frame(&mut out[to]), tag, lane, number, 0);
    }

    pub fn open_frame<'a>(&self, frame: &'a mut Vec<u8>) -> &'a mut Vec<u8> {
        if frame.is_empty() {
            *frame = wire::frame(FrameType::Data, self.run.get());
        }
        frame
    }

    /// Returns whether data waits to be sent. In that case this lane is woken again only after all others continued and
    /// the data was flushed. Forks continue with their lanes until none of them rings.
    pub fn gives_way(&self, waker: &Waker) -> bool {
        let unsent = self.out.borrow().iter().any(|frame| !frame.is_empty());
        if unsent {
            self.gave_way.borrow_mut().push(waker.clone());
        }
        unsent
    }

    /// Sends what the lanes of a further worker have ready, then wakes the lanes that gave way. Returns whether there
    /// were any.
    pub fn lets_lanes_go_on(&self) -> bool {
        let gave_way = self.gave_way.take();
        // The frames go to the first worker, which cannot fail.
        let _ = self.flush();
        let are_some = !gave_way.is_empty();
        gave_way.into_iter().for_each(Waker::wake);
        are_some
    }

    fn flush_full(&self, to: usize) -> Result<()> {
        if self.out.borrow()[to].len() >= wire::FLUSH_BYTES { self.flush_one(to) } else { Ok(()) }
    }

    fn flush_one(&self, to: usize) -> Result<()> {
        let frame = std::mem::take(&mut self.out.borrow_mut()[to]);
        if frame.is_empty() { Ok(()) } else { self.send_frame(to, frame) }
    }

    /// Sends everything that is ready; at the first worker, also what the others handed to it.
    pub fn flush(&self) -> Result<()> {
        self.peers().try_for_each(|to| self.flush_one(to))?;
        match self.crew() {
            Some(crew) if self.links.is_some() => {
                crew.take_outgoing().into_iter().try_for_each(|(to, frame)| self.send_frame(to, frame))
            }
            _ => Ok(()),
        }
    }

    pub fn send_frame(&self, to: usize, frame: Vec<u8>) -> Result<()> {
        match (&self.links, self.crew()) {
            _ if self.has_left(to) => Ok(()),
            (Some(links), _) => links.net.borrow_mut().send(to, frame).map_err(|e| self.link_error(e)),
            (None, Some(crew)) => {
                crew.send(to, frame);
                Ok(())
            }
            (None, None) => Ok(()),
        }
    }
}
