//! The wire format between two parties: a frame header, then pieces of messages. All lengths and numbers are checked
//! before use.
//!
//! | frame | body |
//! |---|---|
//! | data | pieces: tag, lane (16 bytes), number (u32), length (u32), payload |
//! | abort | cause (u8), the peer that it names, the party that gave up first (u16 each), the sender's number (u32) |
//! | start, trace, node | the handshake's greeting, node hashes, or one node in words |
//! | goodbye | nothing |
//!
//! Header: type of frame (u8), worker (u8, zero as long as a party has one scheduler), run number (u32, little endian).
//! The run number of an abort is the number up to which all attempts are over.

use std::ops::Range;

use crate::error::Cause;
use crate::lane::LaneId;

/// A frame is handed to the link when it holds this many bytes, so that sending overlaps with computing.
pub(crate) const FLUSH_BYTES: usize = 256 << 10;
/// Longest payload of one piece; longer messages are cut, so that no frame exceeds the link's limit.
pub(crate) const PIECE_BYTES: usize = 256 << 10;
pub(crate) const HEADER_BYTES: usize = 6;
const PIECE_HEADER_BYTES: usize = 1 + LaneId::BYTES + 4 + 4;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum FrameType {
    Data,
    Abort,
    Start,
    Trace,
    Goodbye,
    Node,
}

impl FrameType {
    const ALL: [FrameType; 6] =
        [FrameType::Data, FrameType::Abort, FrameType::Start, FrameType::Trace, FrameType::Goodbye, FrameType::Node];
}

/// The type of a piece.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Tag {
    /// The last (or only) piece of a message; `number` is its causal depth.
    Last,
    /// A piece that is continued by the next one of its lane and sender.
    More,
    /// `number` bytes of this lane were consumed: the sender may send this many more.
    Credit,
    /// The sender of this piece has done the first `number` chunks of this lane's stream.
    Progress,
    /// A hash of the sender's plan for this run, ahead of all other pieces of it.
    Plan,
    /// The sender has all that it needs of this run; after all other pieces of it.
    Done,
}

impl Tag {
    pub const ALL: [Tag; 6] = [Tag::Last, Tag::More, Tag::Credit, Tag::Progress, Tag::Plan, Tag::Done];
}

pub(crate) struct Header {
    pub kind: FrameType,
    /// The number of the run, or of the sender's attempt.
    pub number: u32,
}

pub(crate) struct Piece {
    pub tag: Tag,
    pub lane: LaneId,
    pub number: u32,
    pub payload: Range<usize>,
}

pub(crate) fn frame(kind: FrameType, run: u32) -> Vec<u8> {
    let mut frame = Vec::with_capacity(64);
    frame.push(kind as u8);
    frame.push(0);
    frame.extend_from_slice(&run.to_le_bytes());
    frame
}

pub(crate) fn header(frame: &[u8]) -> Result<Header, &'static str> {
    if frame.len() < HEADER_BYTES {
        return Err("frame shorter than its header");
    }
    let kind = *FrameType::ALL.get(frame[0] as usize).ok_or("unknown kind of frame")?;
    if frame[1] != 0 {
        return Err("frame for a worker that does not exist");
    }
    Ok(Header { kind, number: u32_at(frame, 2) })
}

/// Appends a piece's header; the caller appends exactly `length` bytes of payload.
pub(crate) fn push_piece(frame: &mut Vec<u8>, tag: Tag, lane: LaneId, number: u32, length: usize) {
    debug_assert!(length <= PIECE_BYTES);
    frame.push(tag as u8);
    frame.extend_from_slice(&lane.to_bytes());
    frame.extend_from_slice(&number.to_le_bytes());
    frame.extend_from_slice(&(length as u32).to_le_bytes());
}

/// Reads the piece at `at`; the next one starts at the end of its payload.
pub(crate) fn piece(frame: &[u8], at: usize) -> Result<Piece, &'static str> {
    let start = at + PIECE_HEADER_BYTES;
    if start > frame.len() {
        return Err("truncated piece header");
    }
    let tag = *Tag::ALL.get(frame[at] as usize).ok_or("unknown kind of piece")?;
    let mut lane = [0; LaneId::BYTES];
    lane.copy_from_slice(&frame[at + 1..at + 1 + LaneId::BYTES]);
    let length = u32_at(frame, start - 4) as usize;
    if length > frame.len() - start {
        return Err("piece longer than its frame");
    }
    Ok(Piece { tag, lane: LaneId::from_bytes(lane), number: u32_at(frame, start - 8), payload: start..start + length })
}

/// The end of a party's attempt, with its cause; `origin` gave up first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Abort {
    /// The number with which the sender greeted.
    pub own: u32,
    /// The largest number that the attempt has for any party: all attempts up to it are over.
    pub number: u32,
    pub cause: Cause,
    pub origin: usize,
}

pub(crate) fn abort_frame(abort: Abort) -> Vec<u8> {
    let (code, peer) = match abort.cause {
        Cause::Lost { peer } => (0, peer),
        Cause::Silent { peer } => (1, peer),
        Cause::Interrupted => (2, 0),
        Cause::Refused => (3, 0),
        Cause::Cheating => (4, 0),
        Cause::Mismatch => (5, 0),
        Cause::Exhausted => (6, 0),
        Cause::Bug => (7, 0),
        Cause::Left { peer } => (8, peer),
        Cause::Memory => (9, 0),
        Cause::Over => (10, 0),
        Cause::Stalled { peer } => (11, peer),
        Cause::ScheduleOverflow => (12, 0),
    };
    let mut frame = frame(FrameType::Abort, abort.number);
    frame.push(code);
    frame.extend_from_slice(&(peer as u16).to_le_bytes());
    frame.extend_from_slice(&(abort.origin as u16).to_le_bytes());
    frame.extend_from_slice(&abort.own.to_le_bytes());
    frame
}

/// Reads the body of an abort; the parties that it names must be below `parties`.
pub(crate) fn abort(number: u32, body: &[u8], parties: usize) -> Result<Abort, &'static str> {
    let [code, p, q, r, s, a, b, c, d] = *body else { return Err("abort of a wrong length") };
    let (peer, origin) = (u16::from_le_bytes([p, q]).into(), u16::from_le_bytes([r, s]).into());
    let own = u32::from_le_bytes([a, b, c, d]);
    if own > number {
        return Err("abort whose numbers make no sense");
    }
    if peer >= parties || origin >= parties {
        return Err("abort that names a party which does not exist");
    }
    let cause = match code {
        0 => Cause::Lost { peer },
        1 => Cause::Silent { peer },
        2 => Cause::Interrupted,
        3 => Cause::Refused,
        4 => Cause::Cheating,
        5 => Cause::Mismatch,
        6 => Cause::Exhausted,
        7 => Cause::Bug,
        8 => Cause::Left { peer },
        9 => Cause::Memory,
        10 => Cause::Over,
        11 => Cause::Stalled { peer },
        12 => Cause::ScheduleOverflow,
        _ => return Err("abort of an unknown cause"),
    };
    Ok(Abort { own, number, cause, origin })
}

fn u32_at(bytes: &[u8], at: usize) -> u32 {
    let mut word = [0; 4];
    word.copy_from_slice(&bytes[at..at + 4]);
    u32::from_le_bytes(word)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pieces_round_trip() {
        let mut bytes = frame(FrameType::Data, 7);
        push_piece(&mut bytes, Tag::Last, LaneId(5), 3, 2);
        bytes.extend_from_slice(&[1, 2]);
        push_piece(&mut bytes, Tag::Credit, LaneId(9), 4096, 0);
        let head = header(&bytes).unwrap();
        assert_eq!((head.kind, head.number), (FrameType::Data, 7));
        let first = piece(&bytes, HEADER_BYTES).unwrap();
        assert_eq!((first.tag, first.number, &bytes[first.payload.clone()]), (Tag::Last, 3, &[1u8, 2][..]));
        let second = piece(&bytes, first.payload.end).unwrap();
        assert_eq!((second.tag, second.number, second.payload.end), (Tag::Credit, 4096, bytes.len()));
    }

    #[test]
    fn every_truncation_and_every_flipped_byte_is_read_without_panic() {
        let mut bytes = frame(FrameType::Data, 1);
        push_piece(&mut bytes, Tag::Last, LaneId(5), 3, 3);
        bytes.extend_from_slice(&[1, 2, 3]);
        for cut in 0..bytes.len() {
            let short = &bytes[..cut];
            if header(short).is_ok() && cut > HEADER_BYTES {
                assert!(piece(short, HEADER_BYTES).is_err(), "a frame cut at {cut} was accepted");
            }
        }
        for at in 0..bytes.len() {
            for value in 0..=255 {
                let mut bad = bytes.clone();
                bad[at] = value;
                if header(&bad).is_ok()
                    && let Ok(piece) = piece(&bad, HEADER_BYTES)
                {
                    assert!(piece.payload.end <= bad.len());
                }
            }
        }
    }

    #[test]
    fn aborts_round_trip() {
        for code in 0..=11u8 {
            for peer in 0..4u8 {
                match abort(5, &[code, peer, 0, 1, 0, 4, 0, 0, 0], 3) {
                    Ok(read) => {
                        let bytes = abort_frame(read);
                        assert_eq!(abort(5, &bytes[HEADER_BYTES..], 3), Ok(read));
                    }
                    Err(_) => assert!(peer == 3),
                }
            }
        }
        for bad in [
            &[2, 0, 0, 1, 0][..],
            &[2, 0, 0, 3, 0, 5, 0, 0, 0],
            &[2, 0, 0, 1, 0, 6, 0, 0, 0],
            &[2, 0, 0, 1, 0, 5, 0, 0, 0, 0],
        ] {
            assert!(abort(5, bad, 3).is_err());
        }
    }
}
