//! Keys that are of no use any more.

/// What a family does with its keys when a run ended in an error. Families that trust all parties to follow the
/// protocol do nothing.
pub trait Revokes {
    /// Notes that a run ended in an error at some party. If a peer may have chosen that, no randomness that the run has
    /// drawn may be drawn again.
    fn cut_off(&self) {}

    /// Wipes keys that are of no use after [`Revokes::cut_off`].
    fn wipe(&mut self) {}
}
