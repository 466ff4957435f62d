//! The search: good starts, each improved by moving one operation, or two dependent ones, at a time.

use std::collections::BTreeSet;
use std::ops::RangeInclusive;

use super::{Assignment, Domain, Problem, Scratch, StepPrice};

/// The number of items evaluated in one search for each second that the program is predicted to take. This takes a few
/// hundredths of that second. [`EFFORT`] is the range of that number: a few milliseconds to tenths of a second. With
/// two domains, all of these are half.
const EFFORT_EACH_SECOND: f64 = 3e6;
const EFFORT: RangeInclusive<usize> = 500_000..=20_000_000;
/// Gains below this fraction of the whole do not count: they would be noise of the predictions.
const LEAST_GAIN: f64 = 1e-9;

/// The result of a search.
#[derive(Clone, Debug, PartialEq)]
pub struct Solved {
    /// The assignment with the fewest seconds of all that were evaluated.
    pub assignment: Assignment,
    /// The seconds of that assignment.
    pub seconds: f64,
    /// All local optima, the best first, without repetitions.
    pub finalists: Vec<Assignment>,
}

/// The best alternative for one item, with all other items unchanged.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Rival {
    /// The sharing in which the item would run instead.
    pub domain: Domain,
    /// The additional seconds of the whole.
    pub more_seconds: f64,
}

/// Items that move together.
type Group = Vec<usize>;

impl Problem {
    /// Returns the best assignment that the search finds. It takes at most the seconds of any assignment in which all
    /// operations prefer the domains in the same order.
    pub fn solve(&self) -> Solved {
        let starts = self.starts();
        let least = starts.iter().map(|start| self.seconds(start)).fold(f64::INFINITY, f64::min);
        let effort = ((least * EFFORT_EACH_SECOND) as usize).clamp(*EFFORT.start(), *EFFORT.end());
        let effort = if self.domains().len() < Domain::ALL.len() { effort / 2 } else { effort };
        let ends = Search::of(self, effort).run(starts);
        let seconds = ends[0].0;
        let finalists: Vec<Assignment> = ends.into_iter().map(|(_, assignment)| assignment).collect();
        Solved { assignment: finalists[0].clone(), seconds, finalists }
    }

    /// Returns the starts: every order of preference, and the best along chains.
    fn starts(&self) -> Vec<Assignment> {
        use Domain::{A, B, Y};
        let orders: [&[Domain]; 6] = [&[A, B, Y], &[A, Y, B], &[B, A, Y], &[B, Y, A], &[Y, A, B], &[Y, B, A]];
        let mut starts: Vec<Assignment> = orders.iter().map(|order| self.preferring(order)).collect();
        starts.push(self.chained());
        let mut seen = BTreeSet::new();
        starts.retain(|start| seen.insert(start.clone()));
        starts
    }

    /// Returns, for each item with a choice, the alternative that costs the whole least.
    pub fn rivals(&self, assignment: &[usize]) -> Vec<Option<Rival>> {
        let best = self.seconds(assignment);
        let mut tried = assignment.to_vec();
        let mut rival = |place: usize| {
            let item = &self.items[place];
            let others = (0..item.choices.len()).filter(|&other| other != assignment[place]);
            let priced: Vec<Rival> = others
                .map(|other| {
                    tried[place] = other;
                    Rival { domain: item.choices[other].domain, more_seconds: self.seconds(&tried) - best }
                })
                .collect();
            tried[place] = assignment[place];
            let finite = priced.into_iter().filter(|rival| rival.more_seconds.is_finite());
            finite.min_by(|a, b| a.more_seconds.total_cmp(&b.more_seconds))
        };
        (0..self.items.len()).map(&mut rival).collect()
    }

    /// Returns the assignment that puts every operation in the domain that is cheapest given those of its operands,
    /// conversions included. It is optimal for programs in which no value is used twice.
    fn chained(&self) -> Assignment {
        let mut best: Vec<Vec<(f64, Vec<usize>)>> = Vec::with_capacity(self.items.len());
        for item in &self.items {
            let of_choice = |choice: &super::Choice| {
                let (mut sum, mut from) = (self.price(choice.price), Vec::new());
                for (&input, &wanted) in item.inputs.iter().zip(&choice.takes) {
                    let way = |of: usize| {
                        let made = self.items[input].choices[of].gives;
                        let price = if made == wanted {
                            Some(StepPrice::default())
                        } else {
                            self.items[input].conversions[made as usize][wanted as usize]
                        };
                        best[input][of].0 + price.map_or(f64::INFINITY, |price| self.price(price))
                    };
                    let ways = 0..self.items[input].choices.len();
                    let (seconds, of) =
                        ways.map(|of| (way(of), of)).fold((f64::INFINITY, 0), |a, b| if b.0 < a.0 { b } else { a });
                    sum += seconds;
                    from.push(of);
                }
                (sum, from)
            };
            best.push(item.choices.iter().map(of_choice).collect());
        }
        self.traced(&best)
    }

    /// Reads the choices from the last item to the first; the last use decides.
    fn traced(&self, best: &[Vec<(f64, Vec<usize>)>]) -> Assignment {
        let mut chosen: Vec<Option<usize>> = vec![None; self.items.len()];
        for place in (0..self.items.len()).rev() {
            let least =
                || (0..best[place].len()).min_by(|&a, &b| best[place][a].0.total_cmp(&best[place][b].0)).unwrap_or(0);
            let choice = *chosen[place].get_or_insert_with(least);
            for (&input, &of) in self.items[place].inputs.iter().zip(&best[place][choice].1) {
                chosen[input].get_or_insert(of);
            }
        }
        chosen.into_iter().map(|choice| choice.unwrap_or(0)).collect()
    }

    fn price(&self, price: StepPrice) -> f64 {
        price.seconds + f64::from(price.rounds) * self.round_seconds
    }

    /// Returns the groups that move together: all items with a choice, each item by itself, and each with one of its
    /// operands.
    fn groups(&self) -> Vec<Group> {
        let is_free = |place: &usize| self.items[*place].choices.len() > 1;
        let free: Group = (0..self.items.len()).filter(is_free).collect();
        let with_operand = free.iter().flat_map(|&place| {
            let inputs = self.items[place].inputs.iter().filter(|input| is_free(input));
            inputs.map(move |&input| vec![input, place])
        });
        let groups = std::iter::once(free.clone()).chain(free.iter().map(|&place| vec![place])).chain(with_operand);
        let mut seen = BTreeSet::new();
        groups.filter(|group: &Group| !group.is_empty() && seen.insert(group.clone())).collect()
    }
}

/// A search under way.
struct Search<'p> {
    problem: &'p Problem,
    groups: Vec<Group>,
    /// The number of assignments that may still be evaluated.
    left: usize,
    scratch: Scratch,
}

/// An assignment and its seconds.
type Found = (f64, Assignment);

impl Search<'_> {
    fn of(problem: &Problem, effort: usize) -> Search<'_> {
        let left = effort / problem.items.len().max(1);
        Search { problem, groups: problem.groups(), left, scratch: Scratch::of(problem) }
    }

    /// Returns local optima, the best first.
    fn run(mut self, starts: Vec<Assignment>) -> Vec<Found> {
        let mut starts: Vec<Found> =
            starts.into_iter().map(|start| (self.seconds_below(f64::INFINITY, &start), start)).collect();
        starts.sort_by(|a, b| a.0.total_cmp(&b.0));
        let mut ends: Vec<Found> = Vec::new();
        for start in starts {
            let end = self.improve(start);
            if !ends.iter().any(|known| known.1 == end.1) {
                ends.push(end);
            }
        }
        ends.sort_by(|a, b| a.0.total_cmp(&b.0));
        ends
    }

    fn seconds_below(&mut self, most: f64, assignment: &[usize]) -> f64 {
        self.problem.seconds_below(most, assignment, &mut self.scratch)
    }

    /// Moves groups while that shortens the whole and evaluations are left.
    fn improve(&mut self, (mut seconds, mut assignment): Found) -> Found {
        loop {
            let before = seconds;
            for group in 0..self.groups.len() {
                for domain in Domain::ALL {
                    if self.left == 0 {
                        return (seconds, assignment);
                    }
                    let moved = self.move_to(&mut assignment, group, domain);
                    if moved.is_empty() {
                        continue;
                    }
                    self.left -= 1;
                    let other = self.seconds_below(seconds * (1.0 - LEAST_GAIN), &assignment);
                    match other.is_finite() {
                        true => seconds = other,
                        false => moved.into_iter().for_each(|(place, choice)| assignment[place] = choice),
                    }
                }
            }
            if seconds >= before {
                return (seconds, assignment);
            }
        }
    }

    /// Moves a group to another domain; returns its earlier choices.
    fn move_to(&self, assignment: &mut [usize], group: usize, domain: Domain) -> Vec<(usize, usize)> {
        let target = |&place: &usize| Some((place, self.problem.items[place].choice(domain)?));
        let targets = self.groups[group].iter().filter_map(target);
        let changed: Vec<(usize, usize)> = targets.filter(|&(place, choice)| assignment[place] != choice).collect();
        changed.into_iter().map(|(place, choice)| (place, std::mem::replace(&mut assignment[place], choice))).collect()
    }
}
