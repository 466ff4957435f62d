//! Causal depth: the number of messages in the longest chain that led to a lane's present state.

/// A lane's depth at this party, and at the other parties.
///
/// A message carries its sender's depth. A dry run receives no messages: it computes the others' depth from what both
/// ends of each call do. This is exact between two parties, and among more if all do the same. Otherwise it is the
/// depth of the deepest other party, and only dry runs of all parties together give each one's.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Depth {
    pub(crate) own: u32,
    pub(crate) others: u32,
}

impl Depth {
    /// Returns the depth after `times` more of the work that led from `start` to here.
    pub(crate) fn further(self, start: Depth, times: usize) -> Depth {
        let after = |from: u32, to: u32| {
            let more = u64::from(to.saturating_sub(from)).saturating_mul(times as u64);
            to.saturating_add(u32::try_from(more).unwrap_or(u32::MAX))
        };
        Depth { own: after(start.own, self.own), others: after(start.others, self.others) }
    }

    /// Returns the depth at which both of two lanes are done.
    pub(crate) fn join(self, other: Depth) -> Depth {
        Depth { own: self.own.max(other.own), others: self.others.max(other.others) }
    }

    /// Returns the depth after an exchange that all parties call: one round for each, even for one that only sends or
    /// only receives.
    pub(crate) fn exchanged(self, sends: bool, receives: bool) -> Depth {
        let after = |own: u32, heard: bool, other: u32| if heard { own.max(other) } else { own }.saturating_add(1);
        Depth { own: after(self.own, receives, self.others), others: after(self.others, sends, self.own) }
    }

    /// Returns the depth after a message to the others, for which this party does not wait.
    pub(crate) fn sent(self) -> Depth {
        Depth { others: self.others.max(self.own.saturating_add(1)), ..self }
    }

    /// Returns the depth after a message from a sender that does not wait.
    pub(crate) fn received(self) -> Depth {
        Depth { own: self.own.max(self.others.saturating_add(1)), ..self }
    }
}
