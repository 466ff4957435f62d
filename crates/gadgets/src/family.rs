//! A family of protocols: one security model, one sharing. What users read of it is its [`Descriptor`]; what runs
//! programs under it is a [`Family`]. Nothing outside a family's crate knows which families there are, but the crate
//! that lists them.

use std::collections::BTreeMap;

use quorate_crypto::Seed;
use quorate_engine::{Ctx, Demand, Misuse, Result, Stocks};
use quorate_ring::Ring;
use quorate_ring::meter::Effort;

use crate::cost::Link;
use crate::functions::Functions;
use crate::labels::Garbles;

/// What users read of a family, and what chooses from it.
#[derive(Debug)]
pub struct Descriptor {
    /// How it is called.
    pub name: &'static str,
    /// Who computes, and who may cheat, in a line.
    pub about: &'static str,
    /// How many parties it runs with.
    pub parties: Parties,
    /// The sharings that programs are planned over: A, and some of B and Y.
    pub sharings: &'static [&'static str],
    /// The options that it has of its own.
    pub options: &'static [Choice],
    /// The workloads, or families of workloads, that `quorate bench` lists under it.
    pub workloads: &'static [&'static str],
    /// The most elements of a batch that is measured.
    pub most_elements: usize,
}

/// How many parties a family runs with.
#[derive(Debug)]
pub struct Parties {
    /// Numbers that it is tested and measured with, the usual one first.
    pub usual: &'static [usize],
    /// Whether any larger number does, too.
    pub or_more: bool,
    /// The same in words.
    pub takes: &'static str,
}

/// An option of a family: one of a few names.
#[derive(Debug, PartialEq, Eq)]
pub struct Choice {
    /// How users call it: a name of a keyword argument, too.
    pub name: &'static str,
    /// The first holds where none is asked for.
    pub values: &'static [&'static str],
    /// What it chooses, in a line.
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

    /// The option of this name.
    pub fn option(&self, name: &str) -> Option<&'static Choice> {
        self.options.iter().find(|option| option.name == name)
    }
}

/// What a session chose of its family's options.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Choices {
    given: BTreeMap<&'static str, &'static str>,
    /// The link that costs are predicted for, where protocols with one result are chosen between.
    pub link: Option<Link>,
}

impl Choices {
    /// Chooses; false where the option has no such value.
    pub fn choose(&mut self, option: &'static Choice, value: &str) -> bool {
        let known = option.values.iter().find(|&&known| known == value);
        known.is_some_and(|known| {
            self.given.insert(option.name, known);
            true
        })
    }

    /// What holds for an option.
    pub fn of(&self, option: &Choice) -> &'static str {
        self.given.get(option.name).copied().unwrap_or(option.values[0])
    }
}

/// All that programs ask of a sharing.
pub trait Computes: Functions + Garbles {}

impl<S: Functions + Garbles> Computes for S {}

/// One party's end of a family that sessions run programs on: set up once, with a twin for dry runs, and correlations
/// that are made ahead of time.
#[allow(async_fn_in_trait)] // futures are single-threaded on purpose
pub trait Family: Computes + Stocks + 'static {
    /// What users read of it.
    const DESCRIPTOR: Descriptor;

    /// Who may cheat, in words, and what that rests on.
    fn security(parties: usize, choices: &Choices) -> String;

    /// Refuses choices that do not go together, before anything is sent.
    ///
    /// # Errors
    /// [`Misuse`].
    fn check_choices(_choices: &Choices) -> Result<()> {
        Ok(())
    }

    /// The most bits of a ring that programs may compute in, with these choices.
    fn most_bits_with(_choices: &Choices) -> u32 {
        Self::MOST_BITS
    }

    /// Agrees with the other parties on all that a session needs. With the party's own coins grown from `coins`, where
    /// they are given.
    ///
    /// # Errors
    /// [`Misuse::Parties`]; whatever ends a run.
    async fn setup(ctx: &Ctx, coins: Option<&Seed>, choices: &Choices) -> Result<Self>;

    /// The same party for dry runs, which take what its own take with these choices.
    ///
    /// # Errors
    /// [`Misuse::Parties`], [`Misuse::NoSuchParty`].
    fn dry(parties: usize, me: usize, choices: &Choices) -> Result<Self>;

    /// Chooses anew between protocols with one result; what was agreed in the setup stays.
    fn choose(&self, _choices: &Choices) {}

    /// Has as many bytes under way as a line holds, which takes memory.
    fn fill_line(&self, _bytes: usize) {}

    /// From here on, what is drawn is noted and not made.
    fn record_demand(&self) {
        self.stock().record();
    }

    /// What was noted.
    fn take_demand(&self) -> Demand<Self::Kind> {
        self.stock().take_demand()
    }

    /// The offline phase: makes the correlations of a demand, and does what of `online` can be done with them ahead;
    /// what a party has then that does not go online for it.
    ///
    /// # Errors
    /// Whatever ends a run.
    async fn prepare<T>(
        &self,
        ctx: &Ctx,
        demand: Demand<Self::Kind>,
        online: impl AsyncFnOnce(&Ctx) -> Result<T>,
    ) -> Result<Option<T>>;

    /// Whether all correlations of a run are made before its inputs are used, however large they are: a run for which
    /// they do not fit is refused.
    const ONLY_AHEAD: bool = false;

    /// Whether correlations that are not made ahead are made in turns: where no two kinds may be in the making at once.
    const IN_TURNS: bool = false;

    /// From here on, correlations of this demand are made while the program runs: in its order, as many at a time as
    /// take so many bytes, or those of one draw. How many the largest turn takes; none where they are made where they
    /// are drawn.
    fn make_in_turns(&self, _demand: &Demand<Self::Kind>, _bytes: u64) -> u64 {
        0
    }

    /// Forgets what an earlier run left: correlations that were not used, openings that were not checked.
    fn forget(&self) {
        self.stock().clear();
    }

    /// A run ended in an error, whoever's. Where a peer may have chosen that, nothing is to be drawn again that the run
    /// has drawn.
    fn cut_off(&self) {}

    /// Wipes keys that are of no use after such a run.
    fn wipe(&mut self) {}

    /// Whether circuits are garbled in the offline phase: alike at all parties and in dry runs.
    fn set_ahead(&self, _ahead: bool) {}

    /// Whether they shall be, for all that is demanded, if a byte of the offline phase counts so much.
    fn worth_garbling_ahead(_demand: &Demand<Self::Kind>, _offline_weight: f64) -> bool {
        true
    }

    /// Whether this party runs garbled circuits alone then, and leaves them out online.
    fn garbles_alone(&self) -> bool {
        false
    }

    /// Counts this work to what it does alone, in a dry run.
    fn defer(&self, _work: &Effort) {}

    /// Shares of each value that a party holds.
    fn shares(&self) -> u64;

    /// What the room of gadgets grows with: shares, as often as correlations made on the way hold them, about.
    fn work_shares(&self) -> u64;

    /// Bytes of what is under way while so many numbers are looked up in a table of so many entries of so many bits.
    fn lookup_bytes(&self, (_entries, _bits): (usize, u32), len: u64) -> u64 {
        streamed_lookup_bytes(self.work_shares(), len)
    }

    /// Bytes of one party's shares of a vector over Z_2^bits (packed bits for 1), where shares are plain vectors.
    fn value_bytes(&self, bits: u32, len: usize) -> u64 {
        let share = match bits {
            1 => len.div_ceil(8),
            _ => len * Ring::of(bits).carrier().bytes(),
        };
        share as u64 * self.shares()
    }

    /// Bytes that a party holds where so many products of elements are taken one by one, all at once: element by
    /// element, or those of matrices.
    fn products_bytes(&self, _bits: u32, _products: usize, _of_matrices: bool) -> u64 {
        0
    }

    /// Bytes of one party's stock of correlations, where shares are plain vectors.
    fn stock_bytes(&self, kind: &Self::Kind, len: usize) -> u64 {
        self.layout(kind).bytes(len) * self.shares()
    }

    /// Bytes that are held beside them while all that is demanded is made, where each kind is made in a stream and all
    /// kinds side by side.
    fn making_bytes(&self, demand: &Demand<Self::Kind>) -> u64 {
        demand.totals().iter().map(|(kind, &len)| streaming_bytes(self.stock_bytes(kind, len))).sum()
    }
}

/// What is under way in the stream of a look-up by rows of bits, of so many shares.
pub fn streamed_lookup_bytes(work_shares: u64, len: u64) -> u64 {
    /// A window, and of little for each number.
    const WINDOW: u64 = 16 << 20;
    const OF_A_NUMBER: u64 = 16 << 10;
    work_shares * WINDOW.min(OF_A_NUMBER * len)
}

/// What is under way while a stock of so many bytes is made in a stream.
pub fn streaming_bytes(stock_bytes: u64) -> u64 {
    /// Of much, and for each byte of little.
    const STREAM: u64 = 24 << 20;
    const OF_A_BYTE: u64 = 8;
    STREAM.min(OF_A_BYTE * stock_bytes)
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
