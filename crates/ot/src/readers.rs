//! The readers of a peer's bytes, for fuzz targets.

use quorate_crypto::{Prg, Seed};
use zeroize::Zeroizing;

use crate::base::{BaseReceiver, BaseSender, Direction};
use crate::tree;

fn coins() -> Prg {
    Seed::from_bytes([7; 32]).prg("quorate/ot/testing", b"")
}

fn direction() -> Direction {
    Direction::new(&[1; 32], 0, 1)
}

/// Reads the message of a base OT's receiver, at a sender of `count` OTs.
///
/// # Errors
/// The fault of the message.
pub fn base_receiver_message(count: usize, message: &[u8]) -> Result<(), &'static str> {
    BaseSender::new(direction(), count, &mut coins()).keys(message).map(drop)
}

/// Reads the message of a base OT's sender, at a receiver of `count` OTs.
///
/// # Errors
/// The fault of the message.
pub fn base_sender_message(count: usize, message: &[u8]) -> Result<(), &'static str> {
    let choices = Zeroizing::new((0..count).map(|i| (i % 2) as u8).collect());
    BaseReceiver::new(direction(), choices, &mut coins()).keys(message).map(drop)
}

/// Returns the message that opens all but one leaf of each tree of these depths. [`trees`] accepts it.
pub fn trees_message(depths: &[usize]) -> Vec<u8> {
    let keys: Vec<_> = (0..depths.iter().sum()).map(|level| [0, 1].map(|side| key(level, side))).collect();
    tree::grow(&keys, depths).1
}

/// Reads a message that opens all but one leaf of each tree of these depths.
///
/// # Errors
/// The fault of the message; where its length is right, the check's name.
///
/// # Panics
/// Unless each depth has a point below two to the power of the depth.
pub fn trees(depths: &[usize], points: &[usize], message: &[u8]) -> Result<(), &'static str> {
    assert_eq!(depths.len(), points.len());
    let mut keys = Vec::new();
    for (&depth, &point) in depths.iter().zip(points) {
        assert!(point < 1 << depth);
        // At each level, the key of the side that the path does not take.
        let side = |level: usize| (point >> (depth - 1 - level) & 1) as u8 ^ 1;
        let before = keys.len();
        keys.extend((0..depth).map(|level| key(before + level, side(level))));
    }
    tree::puncture(&keys, depths, points, message).map(drop)
}

fn key(level: usize, side: u8) -> Zeroizing<[u8; 32]> {
    let mut key = Zeroizing::new([side; 32]);
    key[..8].copy_from_slice(&(level as u64).to_le_bytes());
    key
}
