//! The planning problem with prices: operations, the sharings in which each can run, and the seconds of an assignment.
//!
//! **Source**: the idea of mixing sharings is that of aby (sections I and VI), whose authors assign them by hand. Here
//! the assignment of least predicted time is sought: the weighed seconds of all operations and conversions, and the
//! rounds of the longest chain. A value that several operations need in one sharing is converted to it once. Finding
//! the optimum is NP-hard. [`Problem::solve`] starts from every order of preference and improves on each, so its plan
//! is never worse than any of these. Nothing is random, and of equal assignments the first is taken, so that parties
//! agree.

mod mixes;
mod search;

use quorate_graph::Domain;

/// The price of a part of a plan.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct StepPrice {
    /// The rounds that it adds to the chains of messages that it is part of.
    pub rounds: u32,
    /// Seconds of computing and sending, with the phases weighted as the user chose; without the waiting for rounds.
    pub seconds: f64,
}

/// One way to run an operation.
#[derive(Clone, Debug, PartialEq)]
pub struct Choice {
    /// The sharing in which the operation runs.
    pub domain: Domain,
    /// The sharing of each operand, in the order of [`Item::inputs`].
    pub takes: Vec<Domain>,
    /// The sharing of the result.
    pub gives: Domain,
    /// The price of running it in this way, without the conversions of its operands.
    pub price: StepPrice,
}

/// An operation, with the ways to run it: at least one.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Item {
    /// The places of the operations that make its operands, all before it.
    pub inputs: Vec<usize>,
    /// The sharings in which it can run, with their prices.
    pub choices: Vec<Choice>,
    /// The price of converting its value from one sharing (the row) to another; `None`: impossible, or not needed.
    pub conversions: [[Option<StepPrice>; 3]; 3],
}

impl Item {
    fn choice(&self, domain: Domain) -> Option<usize> {
        self.choices.iter().position(|choice| choice.domain == domain)
    }
}

/// A program whose operations can run in several sharings.
pub struct Problem {
    /// The operations in the program's order: operands come before the operations that use them.
    pub items: Vec<Item>,
    /// Seconds of a round.
    pub round_seconds: f64,
}

/// The number of messages after which a value exists in each sharing; `None` where it was not converted to it.
type Ready = [Option<u32>; Domain::ALL.len()];

/// Memory that evaluations of assignments reuse.
#[derive(Default)]
struct Scratch {
    ready: Vec<Ready>,
    /// A lower bound on the seconds of the items after each, without rounds and conversions; empty where it is not
    /// known.
    rest: Vec<f64>,
}

impl Scratch {
    fn of(problem: &Problem) -> Scratch {
        let least = |item: &Item| item.choices.iter().map(|choice| choice.price.seconds).fold(f64::INFINITY, f64::min);
        let mut rest = vec![0.0; problem.items.len()];
        for place in (1..rest.len()).rev() {
            rest[place - 1] = rest[place] + least(&problem.items[place]);
        }
        Scratch { ready: Vec::new(), rest }
    }
}

/// The place of a choice, for each item.
pub type Assignment = Vec<usize>;

impl Problem {
    /// Returns the seconds of an assignment; infinite where a conversion does not exist.
    pub fn seconds(&self, assignment: &[usize]) -> f64 {
        self.seconds_below(f64::INFINITY, assignment, &mut Scratch::default())
    }

    /// Returns the length of the longest chain of messages of an assignment; 0 where a conversion does not exist.
    pub fn rounds(&self, assignment: &[usize]) -> u32 {
        self.below(f64::INFINITY, assignment, &mut Scratch::default()).map_or(0, |(_, longest)| longest)
    }

    /// Returns [`Problem::seconds`] if they are fewer than `most`; otherwise infinity, as soon as that is known.
    fn seconds_below(&self, most: f64, assignment: &[usize], scratch: &mut Scratch) -> f64 {
        self.below(most, assignment, scratch).map_or(f64::INFINITY, |(seconds, _)| seconds)
    }

    /// Returns the seconds if they are below `most`, and the longest chain of messages.
    fn below(&self, most: f64, assignment: &[usize], scratch: &mut Scratch) -> Option<(f64, u32)> {
        let Scratch { ready, rest } = scratch;
        ready.clear();
        let (mut sum, mut longest) = (0.0, 0);
        for (place, item) in self.items.iter().enumerate() {
            let choice = &item.choices[assignment[place]];
            let mut begun = 0;
            for (&input, &wanted) in item.inputs.iter().zip(&choice.takes) {
                let made = self.items[input].choices[assignment[input]].gives;
                let there = match ready[input][wanted as usize] {
                    Some(there) => there,
                    None => {
                        let price = self.items[input].conversions[made as usize][wanted as usize]?;
                        sum += price.seconds;
                        let there = ready[input][made as usize].unwrap_or(0) + price.rounds;
                        *ready[input][wanted as usize].insert(there)
                    }
                };
                begun = begun.max(there);
            }
            let done = begun + choice.price.rounds;
            let mut all = [None; Domain::ALL.len()];
            all[choice.gives as usize] = Some(done);
            ready.push(all);
            sum += choice.price.seconds;
            longest = longest.max(done);
            let rest = rest.get(place).copied().unwrap_or_default();
            if sum + rest + f64::from(longest) * self.round_seconds >= most {
                return None;
            }
        }
        Some((sum + f64::from(longest) * self.round_seconds, longest))
    }

    /// Returns the assignment in which every item runs in the first of these domains that it offers; or, if it offers
    /// none, in its first choice.
    pub fn preferring(&self, domains: &[Domain]) -> Assignment {
        let first = |item: &Item| domains.iter().find_map(|&domain| item.choice(domain)).unwrap_or(0);
        self.items.iter().map(first).collect()
    }
}

#[cfg(test)]
mod tests;
