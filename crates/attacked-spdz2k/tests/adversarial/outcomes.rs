//! What links do to messages, the allowed ends of honest parties, and tables of their frequencies.

use std::collections::BTreeMap;
use std::fmt;

use quorate_engine::testing::{At, Change, Liar, Lie, What, lying, over};
use quorate_engine::{Cause, Error, Party, Result};

/// Returns the changes of a message of elements of k bits, under keys of s bits, each with its name.
pub fn changes(message: usize, (k, s): (usize, usize)) -> [(&'static str, What); 15] {
    let changed = |name, change| (name, What::Changed(change));
    [
        changed("a bit turned over", Change::Bit(5 + 37 * message)),
        changed("the top bit of an element", Change::Bit(k - 1)),
        changed("the last bit", Change::LastBit),
        changed("2^k more", Change::Increased(k)),
        changed("2^(k+s-1) more", Change::Increased(k + s - 1)),
        changed("a number increased", Change::Increased(7 + 64 * message)),
        changed("zeros", Change::Zeros),
        changed("noise", Change::Noise),
        changed("an earlier message", Change::Replayed),
        ("two exchanged", What::Swapped),
        ("a byte less", What::Shorter),
        ("a byte more", What::Longer),
        ("one held back", What::Withheld),
        ("silence", What::Silent),
        ("the link cut", What::Gone),
    ]
}

/// Returns one of the changes, another one for the next message and for the next round of a sample; over all messages,
/// each of two peers gets all changes.
pub fn a_change(message: usize, widths: (usize, usize)) -> (&'static str, What) {
    let all = changes(message, widths);
    all[(message + message / all.len()) % all.len()]
}

/// A party that changes one of its messages in this way.
#[derive(Clone, Copy, Debug)]
pub struct Cheat {
    pub party: usize,
    pub message: usize,
    pub what: What,
}

/// Returns every party's end of a run in which one of them may cheat, and what the cheater's links did.
pub fn with_cheat<T: Send>(
    n: usize,
    cheat: Option<Cheat>,
    work: impl Fn(Party, &Liar) -> T + Sync,
) -> (Vec<T>, Vec<Liar>) {
    let liar = |party: usize| match cheat.filter(|cheat| cheat.party == party) {
        Some(Cheat { message, what, .. }) => Liar::new(Lie { at: At::Number(message), what }),
        None => Liar::default(),
    };
    let liars: Vec<Liar> = (0..n).map(liar).collect();
    let ends = over(lying(&liars), |party| {
        let liar = &liars[party.me()];
        work(party, liar)
    });
    (ends, liars)
}

/// Returns whether an honest party may end in this error if another party cheats.
pub fn is_an_end(error: &Error) -> bool {
    let told = |cause| matches!(cause, Cause::Cheating | Cause::Mismatch | Cause::Lost { .. } | Cause::Silent { .. });
    match *error {
        Error::Cheating { .. } | Error::Malformed { .. } | Error::Mismatch(_) | Error::Net { .. } => true,
        Error::Aborted { cause, .. } => told(cause) || matches!(cause, Cause::Left { .. }),
        _ => false,
    }
}

/// How a run ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// An honest party ended in an error.
    Noticed,
    /// All parties have the right results.
    Right,
    /// All parties have the right results, but tags are off in their upper bits: an opening of such an element finds
    /// it.
    Loose,
    /// The cheater alone ended in an error; the others have the right results, as far as that is visible.
    Alone,
}

/// The numbers of cases by phase, number of parties, change and outcome.
#[derive(Default)]
pub struct Table(BTreeMap<(String, usize, &'static str), [usize; 4]>);

impl Table {
    pub fn add(&mut self, phase: &str, parties: usize, change: &'static str, outcome: Outcome) {
        self.0.entry((phase.into(), parties, change)).or_default()[outcome as usize] += 1;
    }

    /// Returns the number of all cases, and of those in which an honest party noticed.
    pub fn totals(&self) -> (usize, usize) {
        self.0.values().fold((0, 0), |(all, noticed), counts| {
            (all + counts.iter().sum::<usize>(), noticed + counts[Outcome::Noticed as usize])
        })
    }

    /// Returns the number of cases of one change, and of those in which an honest party noticed.
    pub fn of_change(&self, change: &str) -> (usize, usize) {
        let of = self.0.iter().filter(|((.., name), _)| *name == change).map(|(_, counts)| counts);
        of.fold((0, 0), |(all, noticed), counts| (all + counts.iter().sum::<usize>(), noticed + counts[0]))
    }
}

impl fmt::Display for Table {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let line = |f: &mut fmt::Formatter<'_>, of: [&str; 3], counts: [String; 5]| {
            let [phase, parties, change] = of;
            let [all, noticed, right, loose, alone] = counts;
            writeln!(f, "{phase:34} {parties:>2}  {change:26} {all:>6} {noticed:>8} {right:>6} {loose:>6} {alone:>6}")
        };
        let heads = ["cases", "noticed", "right", "loose", "alone"].map(String::from);
        line(f, ["phase", "n", "change"], heads)?;
        for ((phase, parties, change), counts) in &self.0 {
            let [noticed, right, loose, alone] = counts.map(|count| count.to_string());
            let all = counts.iter().sum::<usize>().to_string();
            line(f, [phase, &parties.to_string(), change], [all, noticed, right, loose, alone])?;
        }
        let (all, noticed) = self.totals();
        writeln!(
            f,
            "{all} cases in which a lie was told, {noticed} noticed by an honest party, none with a wrong result"
        )
    }
}

/// Returns whether cheating was found, here or by another party.
pub fn is_found<T>(done: &Result<T>) -> bool {
    matches!(done, Err(Error::Cheating { .. } | Error::Aborted { cause: Cause::Cheating, .. }))
}
