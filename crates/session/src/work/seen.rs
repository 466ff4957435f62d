//! The mark that what clients gave was looked at.

use quorate_graph::NodeId;

/// Keeps the mark. A session that has one calls it before its parties send their shares of a result that depends on
/// what clients of a campaign gave.
pub trait Seen: Send + Sync {
    /// Makes the mark last at this party, which is about to reveal `node`. After the first time it does nothing.
    ///
    /// # Errors
    /// Why the mark could not be kept, and what to do. Nothing is sent then.
    fn mark(&self, party: usize, node: NodeId) -> Result<(), String>;
}
