//! Rounds and bytes of protocols between two ends: [`cost`](crate::cost) adds them up.

/// Rounds, and payload bytes sent by each end.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Cost {
    /// Rounds.
    pub rounds: u32,
    /// Bytes by the OTs' sender.
    pub by_sender: u64,
    /// Bytes by the OTs' receiver.
    pub by_receiver: u64,
}

impl Cost {
    /// Returns the costs of both in the same rounds.
    #[must_use]
    pub fn beside(self, other: Cost) -> Cost {
        Cost { rounds: self.rounds.max(other.rounds), ..self.then(other) }
    }

    /// Returns the costs of both, one after the other.
    #[must_use]
    pub fn then(self, next: Cost) -> Cost {
        Cost {
            rounds: self.rounds + next.rounds,
            by_sender: self.by_sender + next.by_sender,
            by_receiver: self.by_receiver + next.by_receiver,
        }
    }

    /// Returns the costs of this in both directions at once: each party is sender and receiver.
    #[must_use]
    pub fn both_ways(self) -> Cost {
        let each = self.by_sender + self.by_receiver;
        Cost { rounds: self.rounds, by_sender: each, by_receiver: each }
    }
}
