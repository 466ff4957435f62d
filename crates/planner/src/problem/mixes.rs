//! Candidates for the best assignment, for callers that can price a whole program more precisely than the sum of its
//! steps.

use super::{Assignment, Domain, Problem};

/// The number of candidates of each search, and the largest factor by which one may take longer than the best of its
/// search.
const BEST_OF_EACH: usize = 2;
const NEAR: f64 = 1.25;

impl Problem {
    /// Returns the best assignments found among all assignments, and among those that keep to some of the domains where
    /// possible. They come with their seconds, the best first, without repetitions. The assignments found for a problem
    /// that offers fewer domains are among them.
    pub fn candidates(&self) -> Vec<(f64, Assignment)> {
        let mut all: Vec<(f64, Assignment)> = Vec::new();
        for domains in subsets(&self.domains()) {
            let (problem, places) = self.within(&domains);
            let solved = problem.solve();
            let is_near = |found: &Assignment| problem.seconds(found) <= NEAR * solved.seconds;
            for found in solved.finalists.iter().take(BEST_OF_EACH).filter(|found| is_near(found)) {
                let whole: Assignment = found.iter().zip(&places).map(|(&choice, places)| places[choice]).collect();
                if all.iter().all(|(_, known)| *known != whole) {
                    all.push((self.seconds(&whole), whole));
                }
            }
        }
        all.sort_by(|a, b| a.0.total_cmp(&b.0));
        all
    }

    /// Returns the domains between which there is a choice.
    pub(super) fn domains(&self) -> Vec<Domain> {
        let choosing = self.items.iter().filter(|item| item.choices.len() > 1);
        let mut domains: Vec<Domain> = choosing.flat_map(|item| &item.choices).map(|choice| choice.domain).collect();
        domains.sort();
        domains.dedup();
        domains
    }

    /// Returns the problem with these domains only; an item that offers none of them keeps its first choice. Returns
    /// also the original place of each choice.
    fn within(&self, domains: &[Domain]) -> (Problem, Vec<Vec<usize>>) {
        let mut places = Vec::with_capacity(self.items.len());
        let mut items = self.items.clone();
        for item in &mut items {
            let is_in = |&place: &usize| domains.contains(&item.choices[place].domain);
            let mut kept: Vec<usize> = (0..item.choices.len()).filter(is_in).collect();
            if kept.is_empty() {
                kept.push(0);
            }
            item.choices = kept.iter().map(|&place| item.choices[place].clone()).collect();
            places.push(kept);
        }
        (Problem { items, round_seconds: self.round_seconds }, places)
    }
}

/// Returns all subsets but the empty one, the whole set last; of an empty set, the empty subset.
fn subsets(domains: &[Domain]) -> Vec<Vec<Domain>> {
    let subset = |bits: usize| (0..domains.len()).filter(|at| bits >> at & 1 == 1).map(|at| domains[at]).collect();
    (1..(1usize << domains.len()).max(2)).map(subset).collect()
}
