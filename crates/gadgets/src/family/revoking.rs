//! The trait for keys that become unusable after an error.

/// Reactions of a family to a run that ended in an error: its keys may become unusable. By default nothing happens,
/// which is right where all parties follow the protocol.
pub trait Revokes {
    /// Notes that a run ended in an error at some party. If a peer may have chosen that, no randomness that the run has
    /// drawn may be drawn again.
    fn cut_off(&self) {}

    /// Notes that a run ended because a party did not follow the protocol, or seems not to: keys that outlive the
    /// session become unusable, even if none of them was used.
    fn revoke(&self) {}

    /// Returns whether keys have become unusable.
    fn is_over(&self) -> bool {
        false
    }

    /// Wipes keys that are of no use after [`Revokes::cut_off`].
    fn wipe(&mut self) {}
}
