//! Causal depth: how many messages in a row led to where a lane is.

/// A lane's depth at this party, and at the others.
///
/// A message tells its receiver the sender's depth. A dry run hears of nobody: it knows the others' depth from what
/// both ends of each call do. That is exact between two parties, and among more as long as all do the same;
/// otherwise it is the deepest of the others, and only dry runs of all parties together know each one's.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Depth {
    pub(crate) own: u32,
    pub(crate) others: u32,
}

impl Depth {
    /// Where both of two lanes are done.
    pub(crate) fn join(self, other: Depth) -> Depth {
        Depth { own: self.own.max(other.own), others: self.others.max(other.others) }
    }

    /// After a call of exchange that all make: one round for everybody, also for who only sends or only receives.
    pub(crate) fn exchanged(self, sends: bool, receives: bool) -> Depth {
        let after = |own: u32, heard: bool, other: u32| if heard { own.max(other) } else { own }.saturating_add(1);
        Depth { own: after(self.own, receives, self.others), others: after(self.others, sends, self.own) }
    }

    /// After a message to the others for which this party does not wait.
    pub(crate) fn sent(self) -> Depth {
        Depth { others: self.others.max(self.own.saturating_add(1)), ..self }
    }

    /// After a message from somebody who does not wait.
    pub(crate) fn received(self) -> Depth {
        Depth { own: self.own.max(self.others.saturating_add(1)), ..self }
    }
}
