//! The one trait of this crate: the operations of a party's links.

use std::time::Instant;

use crate::{Interrupt, NetError};

/// The unit that links carry: opaque bytes, delivered whole, in order per peer.
pub type Frame = Vec<u8>;

/// Largest frame in bytes. A larger one is refused by [`Net::send`], and on arrival before memory is allocated for it.
pub const MAX_FRAME: usize = 1 << 20;

/// The limit of a call's wait.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Wait {
    /// No wait.
    Poll,
    /// Up to this moment.
    Until(Instant),
    /// No limit. Only a frame, a failed peer or an interrupt ends the wait.
    Forever,
}

/// One party's links to all its peers.
///
/// Frames of one peer arrive in the order in which it sent them. A peer's failure is sticky: [`recv`](Net::recv)
/// reports it once, after every frame that arrived before it; from then on [`send`](Net::send) to that peer repeats it.
/// Until `recv` has reported the failure, `send` succeeds, but frames sent to the dead peer are dropped. So the frames
/// that the peer sent before it died are always read first.
///
/// A transport may replace a connection that it lost. Meanwhile frames are queued, and nothing fails; every frame still
/// arrives once.
///
/// Dropping a `Net` closes its links: the peers see [`NetError::Lost`], after the frames sent before. For an orderly
/// end, the caller sends a goodbye message of its own; call [`flush`](Net::flush) first.
pub trait Net: Send {
    /// This party's number, below [`parties`](Net::parties).
    fn me(&self) -> usize;

    /// Returns the number of parties, this one included.
    fn parties(&self) -> usize;

    /// Queues a frame for a peer and sends what the link takes at once. Never waits for the peer.
    ///
    /// # Errors
    /// [`NetError::FrameTooLarge`] above [`MAX_FRAME`] bytes, [`NetError::NoSuchPeer`], or the peer's failure if `recv`
    /// has reported it already. Nothing is queued then.
    fn send(&mut self, to: usize, frame: Frame) -> Result<(), NetError>;

    /// Returns the next frame of any peer, with the peer's number; `None` when the wait ended or was interrupted.
    ///
    /// # Errors
    /// A peer's failure, once per peer; frames of the others can still be received afterwards.
    /// [`NetError::NoPeersLeft`], without a wait, once the failure of every peer has been reported.
    fn recv(&mut self, wait: Wait) -> Result<Option<(usize, Frame)>, NetError>;

    /// Returns the bytes that `send` accepted for this peer and that have not left this process yet, or may have been
    /// lost with a connection.
    fn queued(&self, to: usize) -> usize;

    /// Returns the bytes sent so far, per peer: framing, encryption and handshake included. Never decreases.
    fn wire_bytes(&self) -> Vec<u64>;

    /// Sends queued bytes until none are left or the wait ends; [`queued`](Net::queued) shows which. Bytes for peers
    /// that failed are dropped. Frames that arrive in the meantime are kept for `recv`.
    ///
    /// # Errors
    /// Only those of this process (the system's poll failed); peers' failures are reported by `recv`.
    fn flush(&mut self, wait: Wait) -> Result<(), NetError>;

    /// Returns a handle with which another thread (Ctrl-C) ends this party's waits.
    fn interrupt_handle(&self) -> Interrupt;
}
