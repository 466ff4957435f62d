//! Frames in a byte stream: a length of four bytes (little endian), then that many bytes. The largest lengths are
//! signals without bytes.

use crate::{Frame, MAX_FRAME};

/// Bytes of a frame's header.
pub(crate) const HEADER: usize = 4;

const HEARTBEAT: u32 = u32::MAX;
const READY: u32 = u32::MAX - 1;

/// An item that travels between two parties.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Item {
    /// A frame of the caller.
    Frame(Frame),
    /// A sign that the sender is alive.
    Heartbeat,
    /// A sign that the sender is connected to all parties.
    Ready,
}

impl Item {
    /// Returns the header of this item.
    pub(crate) fn header(&self) -> [u8; HEADER] {
        match self {
            Item::Frame(frame) => (frame.len() as u32).to_le_bytes(),
            Item::Heartbeat => HEARTBEAT.to_le_bytes(),
            Item::Ready => READY.to_le_bytes(),
        }
    }

    /// Returns the bytes after the header.
    pub(crate) fn body(&self) -> &[u8] {
        match self {
            Item::Frame(frame) => frame,
            Item::Heartbeat | Item::Ready => &[],
        }
    }
}

/// The length of a frame that a peer announced, which is above the limit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct TooLarge(pub(crate) usize);

/// Cuts a byte stream, arriving in any pieces, into items.
#[derive(Default)]
pub(crate) struct Cutter {
    header: [u8; HEADER],
    header_len: usize,
    /// The frame that is being filled, and its full length.
    frame: Option<(Frame, usize)>,
    /// The error of a stream: after one error it stays broken.
    broken: Option<TooLarge>,
}

impl Cutter {
    /// Takes a piece of the stream and gives every completed item to `out`.
    ///
    /// # Errors
    /// A header above the limit; nothing after it is read, and no memory is allocated for it.
    pub(crate) fn cut(&mut self, mut piece: &[u8], out: &mut dyn FnMut(Item)) -> Result<(), TooLarge> {
        if let Some(error) = self.broken {
            return Err(error);
        }
        while !piece.is_empty() {
            if self.frame.is_none() {
                let taken = (HEADER - self.header_len).min(piece.len());
                self.header[self.header_len..][..taken].copy_from_slice(&piece[..taken]);
                self.header_len += taken;
                piece = &piece[taken..];
                if self.header_len == HEADER {
                    self.header_len = 0;
                    self.begin(out)?;
                }
            }
            if let Some((frame, length)) = &mut self.frame {
                let (now, later) = piece.split_at((*length - frame.len()).min(piece.len()));
                frame.extend_from_slice(now);
                piece = later;
                if frame.len() == *length {
                    out(Item::Frame(std::mem::take(frame)));
                    self.frame = None;
                }
            }
        }
        Ok(())
    }

    /// Acts on a complete header.
    fn begin(&mut self, out: &mut dyn FnMut(Item)) -> Result<(), TooLarge> {
        match u32::from_le_bytes(self.header) {
            HEARTBEAT => out(Item::Heartbeat),
            READY => out(Item::Ready),
            0 => out(Item::Frame(Frame::new())),
            length if length as usize > MAX_FRAME => {
                let error = TooLarge(length as usize);
                self.broken = Some(error);
                return Err(error);
            }
            length => self.frame = Some((Frame::with_capacity(length as usize), length as usize)),
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn cut_all(pieces: &[&[u8]]) -> Result<Vec<Item>, TooLarge> {
        let mut cutter = Cutter::default();
        let mut items = Vec::new();
        for piece in pieces {
            cutter.cut(piece, &mut |item| items.push(item))?;
        }
        Ok(items)
    }

    fn item() -> impl Strategy<Value = Item> {
        prop_oneof![
            4 => proptest::collection::vec(any::<u8>(), 0..600).prop_map(Item::Frame),
            1 => Just(Item::Heartbeat),
            1 => Just(Item::Ready),
        ]
    }

    proptest! {
        #[test]
        fn items_survive_any_cuts(items in proptest::collection::vec(item(), 0..20), piece in 1usize..700) {
            let stream: Vec<u8> = items.iter().flat_map(|item| [&item.header()[..], item.body()].concat()).collect();
            let pieces: Vec<&[u8]> = stream.chunks(piece).collect();
            prop_assert_eq!(cut_all(&pieces).unwrap(), items);
        }

        #[test]
        fn garbage_neither_panics_nor_takes_memory(stream in proptest::collection::vec(any::<u8>(), 0..4000)) {
            let mut cutter = Cutter::default();
            let mut bytes = 0;
            let result = cutter.cut(&stream, &mut |item| bytes += HEADER + item.body().len());
            prop_assert!(bytes <= stream.len());
            let held = cutter.frame.as_ref().map_or(0, |(frame, _)| frame.capacity());
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
        assert_eq!(cut_all(&[&largest]), Ok(vec![]));
        let larger = (MAX_FRAME as u32 + 1).to_le_bytes();
        assert_eq!(cut_all(&[&larger]), Err(TooLarge(MAX_FRAME + 1)));
    }
}
