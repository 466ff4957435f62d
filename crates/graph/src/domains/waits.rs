//! How chains of messages grow in a step, party by party.

/// How many messages in a row lie between what a party has when a step begins and what a party has when it is done: of
/// party 0 and of all others, which do alike.
///
/// An exchange makes all wait for all. What is sent one way, as garbled tables are, keeps nobody waiting but its
/// reader.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Waits([[i32; 2]; 2]);

/// Messages from what does not matter: fewer than any number added can make up for.
const NOTHING: i32 = i32::MIN / 2;

impl Default for Waits {
    fn default() -> Waits {
        Waits::rounds(0)
    }
}

impl Waits {
    /// So many rounds in which everybody waits for everybody; none for local work.
    pub const fn rounds(rounds: u32) -> Waits {
        let rounds = rounds as i32;
        if rounds == 0 { Waits([[0, NOTHING], [NOTHING, 0]]) } else { Waits([[rounds; 2]; 2]) }
    }

    /// `of[p][q]`: the messages from what p has to what q gets; `None` where q needs nothing of p.
    pub fn of(of: [[Option<u32>; 2]; 2]) -> Waits {
        Waits(of.map(|from| from.map(|rounds| rounds.map_or(NOTHING, |rounds| rounds as i32))))
    }

    /// When the parties are done that begin then.
    pub fn after(&self, begun: [i32; 2]) -> [i32; 2] {
        let [of_first, of_others] = self.0;
        [0, 1].map(|q| (begun[0] + of_first[q]).max(begun[1] + of_others[q]))
    }

    /// The longest chain.
    pub fn most(&self) -> i32 {
        self.0.into_iter().flatten().fold(0, i32::max)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn chains_grow_where_somebody_reads() {
        assert_eq!(Waits::rounds(0).after([3, 1]), [3, 1]);
        assert_eq!(Waits::rounds(2).after([3, 1]), [5, 5]);
        let one_way = Waits::of([[Some(0), Some(1)], [None, Some(0)]]);
        let once = one_way.after([0, 0]);
        assert_eq!((once, one_way.after(once)), ([0, 1], [0, 1]));
        assert_eq!(Waits::of([[Some(0), None], [Some(1), Some(0)]]).after([0, 4]), [5, 4]);
        assert_eq!([Waits::rounds(2), one_way, Waits::default()].map(|waits| waits.most()), [2, 1, 0]);
    }
}
