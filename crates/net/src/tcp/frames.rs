//! The byte stream between two parties: items, each with a header of four bytes (little endian). An item is a frame,
//! whose header is its length, or a signal; the largest lengths are signals.
//!
//! Frames and [`Ready`](Item::Ready) must arrive whatever happens to a connection, so their bytes are numbered from the
//! first connection on: a new connection continues at the first byte that the receiver lacks, even within a frame.
//! Other signals belong to one connection, stand between items, and are not numbered.

use crate::{Frame, MAX_FRAME};

/// Bytes of a header.
pub(crate) const HEADER: usize = 4;

const HEARTBEAT: u32 = u32::MAX;
const READY: u32 = u32::MAX - 1;
const RECEIVED: u32 = u32::MAX - 2;
const ASK: u32 = u32::MAX - 3;
/// Bytes after the header of [`Signal::Received`].
const POSITION: usize = 8;

/// An item whose bytes are numbered.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Item {
    /// A frame of the caller.
    Frame(Frame),
    /// A sign that the sender is connected to all parties.
    Ready,
}

impl Item {
    /// Returns the header of this item.
    pub(crate) fn header(&self) -> [u8; HEADER] {
        match self {
            Item::Frame(frame) => (frame.len() as u32).to_le_bytes(),
            Item::Ready => READY.to_le_bytes(),
        }
    }

    /// Returns the bytes after the header.
    pub(crate) fn body(&self) -> &[u8] {
        match self {
            Item::Frame(frame) => frame,
            Item::Ready => &[],
        }
    }
}

/// A signal of one connection, whose bytes are not numbered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Signal {
    /// A sign that the sender is alive.
    Heartbeat,
    /// The number of numbered bytes that the sender has received.
    Received(u64),
    /// A request for [`Signal::Received`].
    Ask,
}

impl Signal {
    /// Appends the bytes of this signal.
    pub(crate) fn write(self, out: &mut Vec<u8>) {
        let header = match self {
            Signal::Heartbeat => HEARTBEAT,
            Signal::Received(_) => RECEIVED,
            Signal::Ask => ASK,
        };
        out.extend_from_slice(&header.to_le_bytes());
        if let Signal::Received(position) = self {
            out.extend_from_slice(&position.to_le_bytes());
        }
    }
}

/// A part of a stream: an item or a signal.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Arrived {
    Item(Item),
    Signal(Signal),
}

/// The length of a frame that a peer announced, which is above the limit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct TooLarge(pub(crate) usize);

/// Cuts a byte stream, arriving in any pieces, into items.
#[derive(Default)]
pub(crate) struct Cutter {
    header: [u8; HEADER],
    header_len: usize,
    body: Option<Body>,
    /// The number of numbered bytes that were taken in.
    received: u64,
    /// The error of a stream: after one error it stays broken.
    broken: Option<TooLarge>,
}

/// The part of an item after its header, which is being filled.
enum Body {
    /// A frame, and its full length.
    Frame(Frame, usize),
    /// The bytes of [`Signal::Received`], and the number of those that are there.
    Received([u8; POSITION], usize),
}

impl Cutter {
    /// Returns the number of numbered bytes that were taken in, over all connections.
    pub(crate) fn received(&self) -> u64 {
        self.received
    }

    /// Prepares for a new connection, which continues at [`received`](Cutter::received): a frame that has begun goes on
    /// there, and headers and signals that have begun are forgotten.
    pub(crate) fn restart(&mut self) {
        self.header_len = 0;
        self.body.take_if(|body| matches!(body, Body::Received(..)));
    }

    /// Takes a piece of the stream and gives every completed item to `out`.
    ///
    /// # Errors
    /// A header above the limit; nothing after it is read, and no memory is allocated for it.
    pub(crate) fn cut(&mut self, mut piece: &[u8], out: &mut dyn FnMut(Arrived)) -> Result<(), TooLarge> {
        if let Some(error) = self.broken {
            return Err(error);
        }
        while !piece.is_empty() {
            match &mut self.body {
                None => {
                    let taken = (HEADER - self.header_len).min(piece.len());
                    self.header[self.header_len..][..taken].copy_from_slice(&piece[..taken]);
                    self.header_len += taken;
                    piece = &piece[taken..];
                    if self.header_len == HEADER {
                        self.header_len = 0;
                        self.begin(out)?;
                    }
                }
                Some(Body::Frame(frame, length)) => {
                    let (now, later) = piece.split_at((*length - frame.len()).min(piece.len()));
                    frame.extend_from_slice(now);
                    self.received += now.len() as u64;
                    piece = later;
                    if frame.len() == *length {
                        out(Arrived::Item(Item::Frame(std::mem::take(frame))));
                        self.body = None;
                    }
                }
                Some(Body::Received(bytes, filled)) => {
                    let (now, later) = piece.split_at((POSITION - *filled).min(piece.len()));
                    bytes[*filled..][..now.len()].copy_from_slice(now);
                    *filled += now.len();
                    piece = later;
                    if *filled == POSITION {
                        out(Arrived::Signal(Signal::Received(u64::from_le_bytes(*bytes))));
                        self.body = None;
                    }
                }
            }
        }
        Ok(())
    }

    /// Acts on a complete header.
    fn begin(&mut self, out: &mut dyn FnMut(Arrived)) -> Result<(), TooLarge> {
        let header = u32::from_le_bytes(self.header);
        match header {
            HEARTBEAT => out(Arrived::Signal(Signal::Heartbeat)),
            ASK => out(Arrived::Signal(Signal::Ask)),
            RECEIVED => self.body = Some(Body::Received([0; POSITION], 0)),
            READY => out(Arrived::Item(Item::Ready)),
            0 => out(Arrived::Item(Item::Frame(Frame::new()))),
            length if length as usize > MAX_FRAME => {
                let error = TooLarge(length as usize);
                self.broken = Some(error);
                return Err(error);
            }
            length => self.body = Some(Body::Frame(Frame::with_capacity(length as usize), length as usize)),
        }
        if !matches!(header, HEARTBEAT | ASK | RECEIVED) {
            self.received += HEADER as u64;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn cut_all(pieces: &[&[u8]]) -> Result<(Vec<Arrived>, u64), TooLarge> {
        let mut cutter = Cutter::default();
        let mut arrived = Vec::new();
        for piece in pieces {
            cutter.cut(piece, &mut |item| arrived.push(item))?;
        }
        Ok((arrived, cutter.received()))
    }

    fn written(arrived: &Arrived) -> Vec<u8> {
        match arrived {
            Arrived::Item(item) => [&item.header()[..], item.body()].concat(),
            Arrived::Signal(signal) => {
                let mut bytes = Vec::new();
                signal.write(&mut bytes);
                bytes
            }
        }
    }

    fn numbered(arrived: &[Arrived]) -> u64 {
        let items = arrived.iter().filter(|arrived| matches!(arrived, Arrived::Item(_)));
        items.map(|item| written(item).len() as u64).sum()
    }

    fn arrived() -> impl Strategy<Value = Arrived> {
        prop_oneof![
            4 => proptest::collection::vec(any::<u8>(), 0..600).prop_map(|frame| Arrived::Item(Item::Frame(frame))),
            1 => Just(Arrived::Item(Item::Ready)),
            1 => Just(Arrived::Signal(Signal::Heartbeat)),
            1 => Just(Arrived::Signal(Signal::Ask)),
            2 => any::<u64>().prop_map(|position| Arrived::Signal(Signal::Received(position))),
        ]
    }

    proptest! {
        #[test]
        fn items_survive_any_cuts(sent in proptest::collection::vec(arrived(), 0..20), piece in 1usize..700) {
            let stream: Vec<u8> = sent.iter().flat_map(written).collect();
            let pieces: Vec<&[u8]> = stream.chunks(piece).collect();
            let (arrived, received) = cut_all(&pieces).unwrap();
            prop_assert_eq!(received, numbered(&sent));
            prop_assert_eq!(arrived, sent);
        }

        /// After a connection ended anywhere, numbered items continue at the byte that the cutter states.
        #[test]
        fn items_continue_after_a_cut_anywhere(
            sent in proptest::collection::vec(arrived(), 1..20), cut: prop::sample::Index,
        ) {
            let stream: Vec<u8> = sent.iter().flat_map(written).collect();
            let (mut cutter, mut items) = (Cutter::default(), Vec::new());
            let mut keep = |arrived| if let Arrived::Item(item) = arrived { items.push(item) };
            cutter.cut(&stream[..cut.index(stream.len())], &mut keep).unwrap();
            cutter.restart();
            let (all, begun) = (sent.iter().filter(|arrived| matches!(arrived, Arrived::Item(_))), cutter.received());
            let again: Vec<u8> = all.clone().flat_map(written).collect();
            cutter.cut(&again[begun as usize..], &mut keep).unwrap();
            prop_assert_eq!(items.into_iter().map(Arrived::Item).collect::<Vec<_>>(), all.cloned().collect::<Vec<_>>());
        }

        #[test]
        fn garbage_neither_panics_nor_takes_memory(stream in proptest::collection::vec(any::<u8>(), 0..4000)) {
            let mut cutter = Cutter::default();
            let mut bytes = 0;
            let result = cutter.cut(&stream, &mut |item| bytes += written(&item).len());
            prop_assert!(bytes <= stream.len());
            let held = match &cutter.body {
                Some(Body::Frame(frame, _)) => frame.capacity(),
                _ => 0,
            };
            prop_assert!(held <= MAX_FRAME);
            if let Err(TooLarge(length)) = result {
                prop_assert!(length > MAX_FRAME && held == 0);
                prop_assert_eq!(cutter.cut(&[0; 4], &mut |_| ()), Err(TooLarge(length)));
            }
        }
    }

    #[test]
    fn the_limit_is_exact() {
        let largest = (MAX_FRAME as u32).to_le_bytes();
        assert_eq!(cut_all(&[&largest]), Ok((vec![], HEADER as u64)));
        let larger = (MAX_FRAME as u32 + 1).to_le_bytes();
        assert_eq!(cut_all(&[&larger]), Err(TooLarge(MAX_FRAME + 1)));
    }
}
