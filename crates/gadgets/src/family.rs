//! Families of protocols: one security model, one sharing. A family's [`Descriptor`] is for users; its [`Family`] runs
//! programs. Only the crate that lists the families depends on the set of families.

mod footprint;
mod garbling;
mod making;
mod pools;
mod revoking;

use std::collections::BTreeMap;

pub use footprint::{Footprint, streamed_lookup_bytes, streaming_bytes};
pub use garbling::GarblesAhead;
pub use making::MakesAhead;
pub use pools::{Pools, unpacked};
pub use revoking::Revokes;

use quorate_crypto::Seed;
use quorate_engine::{Ctx, Demand, Misuse, Result};

use crate::cost::Link;
use crate::functions::Functions;
use crate::labels::Garbles;

/// The description of a family, for users and for code that chooses a family.
#[derive(Debug)]
pub struct Descriptor {
    /// The name of the family.
    pub name: &'static str,
    /// The parties that compute and those that may cheat, in a line.
    pub about: &'static str,
    /// The numbers of parties that it runs with.
    pub parties: Parties,
    /// The sharings among which the planner may choose for each step: A, and in some families B and Y.
    pub sharings: &'static [&'static str],
    /// The family's own options.
    pub options: &'static [Choice],
    /// The workloads, or families of workloads, that `quorate bench` lists for it.
    pub workloads: &'static [&'static str],
    /// The largest number of elements of a measured batch.
    pub most_elements: usize,
}

/// The numbers of parties that a family runs with.
#[derive(Debug)]
pub struct Parties {
    /// The numbers that it is tested and measured with, the usual one first.
    pub usual: &'static [usize],
    /// Whether it also runs with any larger number.
    pub or_more: bool,
    /// The numbers of parties in words.
    pub takes: &'static str,
}

/// An option of a family: one of a few values.
#[derive(Debug, PartialEq, Eq)]
pub struct Choice {
    /// The name of the option, also as a keyword argument.
    pub name: &'static str,
    /// The values; the first is the default.
    pub values: &'static [&'static str],
    /// A description of the choice, in a line.
    pub help: &'static str,
}

impl Descriptor {
    /// Refuses a number of parties that the family cannot run with.
    ///
    /// # Errors
    /// [`Misuse::Parties`].
    pub fn check_parties(&self, parties: usize) -> Result<()> {
        let Parties { usual, or_more, takes } = self.parties;
        let runs = usual.contains(&parties) || or_more && usual.iter().any(|&known| parties > known);
        if runs { Ok(()) } else { Err(Misuse::Parties { protocol: self.name, takes, parties }.into()) }
    }

    /// Returns the option of this name.
    pub fn option(&self, name: &str) -> Option<&'static Choice> {
        self.options.iter().find(|option| option.name == name)
    }
}

/// A session's choices among its family's options.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Choices {
    given: BTreeMap<&'static str, &'static str>,
    /// The link for which costs are predicted, where the family chooses between protocols with the same result.
    pub link: Option<Link>,
    /// Whether correlations come from a pool or go into one, so that none may depend on a value of the session: marks
    /// of factors are then ignored.
    pub pooled: bool,
}

impl Choices {
    /// Sets the value of an option. Returns false if the option has no such value.
    pub fn choose(&mut self, option: &'static Choice, value: &str) -> bool {
        let known = option.values.iter().find(|&&known| known == value);
        known.is_some_and(|known| {
            self.given.insert(option.name, known);
            true
        })
    }

    /// Returns the value of an option: the choice or the default.
    pub fn of(&self, option: &Choice) -> &'static str {
        self.given.get(option.name).copied().unwrap_or(option.values[0])
    }
}

/// Everything that programs need of a sharing.
pub trait Computes: Functions + Garbles {}

impl<S: Functions + Garbles> Computes for S {}

/// One party's end of a family on which sessions run programs. It is set up once ([`Family::setup`]), has a second form
/// for dry runs ([`Family::dry`]), and can make correlations ahead. What else sessions ask of it is in small traits,
/// whose defaults serve most families.
#[allow(async_fn_in_trait)] // futures are single-threaded on purpose
pub trait Family: Computes + MakesAhead + GarblesAhead + Pools + Revokes + 'static {
    /// The family's description.
    const DESCRIPTOR: Descriptor;
    /// Whether runs of several programs may be under way under the same keys ([`Family::branch`]).
    const BRANCHES: bool = false;

    /// Returns a description of the parties that may cheat, and of the assumptions of the family's security.
    fn security(parties: usize, choices: &Choices) -> String;

    /// Refuses incompatible choices, before anything is sent.
    ///
    /// # Errors
    /// [`Misuse`].
    fn check_choices(_choices: &Choices) -> Result<()> {
        Ok(())
    }

    /// Returns the largest number of bits of a ring in which programs may compute with these choices.
    fn most_bits_with(_choices: &Choices) -> u32 {
        Self::MOST_BITS
    }

    /// Agrees with the other parties on everything that a session needs. If `coins` is given, the party's own coins are
    /// derived from it.
    ///
    /// # Errors
    /// [`Misuse::Parties`]; any error that ends a run.
    async fn setup(ctx: &Ctx, coins: Option<&Seed>, choices: &Choices) -> Result<Self>;

    /// Returns this party for dry runs, with the same costs as the party itself with these choices.
    ///
    /// # Errors
    /// [`Misuse::Parties`], [`Misuse::NoSuchParty`].
    fn dry(parties: usize, me: usize, choices: &Choices) -> Result<Self>;

    /// Returns another handle of this party, for runs beside those of this one: the same keys, and no correlations yet.
    /// Whatever lasts longer than a run is common to both. `None`, the default, where runs must follow each other.
    ///
    /// Nothing is agreed, so the numbers of runs must tell both apart ([`Party::on_side`](quorate_engine::Party)).
    fn beside(&self) -> Option<Self> {
        None
    }

    /// Returns another handle of this party, for the runs of another program that goes on from what this one has
    /// computed so far. As opposed to [`Family::beside`], nothing that is named by steps of the program is common to
    /// both from now on: their steps differ. The numbers of runs must tell both apart, too ([`Party::on_branch`]).
    /// `None`, the default, where runs must follow each other.
    ///
    /// [`Party::on_branch`]: quorate_engine::Party::on_branch
    fn branch(&self) -> Option<Self> {
        None
    }

    /// Chooses again between protocols with the same result; the agreements of the setup stay.
    fn choose(&self, _choices: &Choices) {}

    /// Sets the number of bytes to keep under way: the link's product of bandwidth and delay. This takes memory.
    fn fill_line(&self, _bytes: usize) {}

    /// Runs the offline phase: makes the correlations of a demand, and does the work of `online` that is possible
    /// ahead. Returns the result of `online` at a party that needs no online phase to compute it.
    ///
    /// # Errors
    /// Any error that ends a run.
    async fn prepare<T>(
        &self,
        ctx: &Ctx,
        demand: Demand<Self::Kind>,
        online: impl AsyncFnOnce(&Ctx) -> Result<T>,
    ) -> Result<Option<T>>;

    /// Forgets the remains of an earlier run: unused correlations, and openings that were not checked.
    fn forget(&self) {
        self.stock().clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const COLOURS: Choice = Choice { name: "colour", values: &["red", "blue"], help: "" };

    fn of(parties: Parties) -> Descriptor {
        Descriptor {
            name: "toy",
            about: "",
            parties,
            sharings: &["A"],
            options: &[COLOURS],
            workloads: &[],
            most_elements: 1,
        }
    }

    #[test]
    fn a_number_of_parties_is_checked() {
        let some = of(Parties { usual: &[3, 5], or_more: false, takes: "3 or 5" });
        let many = of(Parties { usual: &[2, 3], or_more: true, takes: "2 or more" });
        let runs = |family: &Descriptor| (0..8).filter(|&n| family.check_parties(n).is_ok()).collect::<Vec<_>>();
        assert_eq!((runs(&some), runs(&many)), (vec![3, 5], vec![2, 3, 4, 5, 6, 7]));
        assert!(some.check_parties(4).unwrap_err().to_string().contains("3 or 5"));
    }

    #[test]
    fn options_have_the_values_that_they_state() {
        let mut choices = Choices::default();
        assert_eq!(choices.of(&COLOURS), "red");
        assert!(!choices.choose(&COLOURS, "green"));
        assert!(choices.choose(&COLOURS, "blue"));
        assert_eq!(choices.of(&COLOURS), "blue");
    }
}
