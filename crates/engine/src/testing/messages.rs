//! Messages in frames, and changes to them.

use std::ops::Range;

use crate::wire::{self, HEADER_BYTES, Piece, Tag};

/// A change to a message that keeps its length.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Change {
    /// This bit is flipped; numbers beyond the message's end wrap around.
    Bit(usize),
    /// The last bit is flipped.
    LastBit,
    /// The eight-byte number that holds this bit (fewer bytes at the end) is increased by the bit's value, with
    /// carries.
    Increased(usize),
    /// All bytes are zero.
    Zeros,
    /// The message is replaced by the last different one of the same length, to any peer. It stays unchanged if there
    /// was none.
    Replayed,
    /// All bytes are replaced by pseudorandom ones that differ.
    Noise,
}

impl Change {
    pub(crate) fn apply(self, bytes: &mut [u8], replayed: Option<&Vec<u8>>) {
        match self {
            Change::Bit(bit) => {
                let bit = bit % (8 * bytes.len());
                bytes[bit / 8] ^= 1 << (bit % 8);
            }
            Change::LastBit => {
                if let Some(last) = bytes.last_mut() {
                    *last ^= 0x80;
                }
            }
            Change::Increased(bit) => {
                let bit = bit % (8 * bytes.len());
                let start = bit / 64 * 8;
                let end = bytes.len().min(start + 8);
                let mut word = [0; 8];
                word[..end - start].copy_from_slice(&bytes[start..end]);
                let more = u64::from_le_bytes(word).wrapping_add(1 << (bit % 64));
                bytes[start..end].copy_from_slice(&more.to_le_bytes()[..end - start]);
            }
            Change::Zeros => bytes.fill(0),
            Change::Replayed => {
                if let Some(replayed) = replayed {
                    bytes.copy_from_slice(replayed);
                }
            }
            Change::Noise => {
                let before = bytes.to_vec();
                blake3::Hasher::new().update(bytes).finalize_xof().fill(bytes);
                if *bytes == before {
                    Change::LastBit.apply(bytes, None); // for one byte, 1 try in 256
                }
            }
        }
    }
}

/// Returns the pieces of a frame of data, each with the range of its header.
pub(super) fn pieces(frame: &[u8]) -> Vec<(Piece, Range<usize>)> {
    let (mut pieces, mut at) = (Vec::new(), HEADER_BYTES);
    while let Some(piece) = (at < frame.len()).then(|| wire::piece(frame, at).ok()).flatten() {
        let (head, end) = (at..piece.payload.start, piece.payload.end);
        pieces.push((piece, head));
        at = end;
    }
    pieces
}

pub(super) fn is_message(piece: &Piece) -> bool {
    matches!(piece.tag, Tag::Last | Tag::More) && !piece.payload.is_empty()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn changes_are_as_stated() {
        let changed = |change: Change, replayed: Option<Vec<u8>>| {
            let mut bytes = vec![0xff; 10];
            change.apply(&mut bytes, replayed.as_ref());
            bytes
        };
        let [mut turned, mut carried] = [vec![0xff; 10], vec![0; 8]];
        turned[9] = 0x7f;
        assert_eq!(changed(Change::Bit(79), None), turned);
        carried.extend([0xff; 2]);
        assert_eq!(changed(Change::Increased(80), None), carried, "bit 0 again");
        assert_eq!(changed(Change::Increased(72), None)[8..], [0xff, 0x00]);
        assert_eq!(changed(Change::Zeros, None), [0; 10]);
        assert_eq!(changed(Change::Replayed, None), [0xff; 10]);
        assert_eq!(changed(Change::Replayed, Some(vec![7; 10])), [7; 10]);
        assert_ne!(changed(Change::Noise, None), [0xff; 10]);
        for byte in 0..=u8::MAX {
            let mut bytes = [byte];
            Change::Noise.apply(&mut bytes, None);
            assert_ne!(bytes, [byte]);
        }
    }
}
