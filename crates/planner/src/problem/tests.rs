use super::*;
use Domain::{A, B, Y};

const fn price(rounds: u32, seconds: f64) -> StepPrice {
    StepPrice { rounds, seconds }
}

fn way(domain: Domain, takes: &[Domain], gives: Domain, price: StepPrice) -> Choice {
    Choice { domain, takes: takes.to_vec(), gives, price }
}

/// Returns an input that may be in any sharing at no cost.
fn source() -> Item {
    Item { choices: Domain::ALL.map(|d| way(d, &[], d, StepPrice::default())).to_vec(), ..Item::default() }
}

/// Returns a binary operation that takes and gives one sharing, with these costs in A, B and Y.
fn operation(inputs: [usize; 2], costs: [StepPrice; 3]) -> Item {
    let choices = Domain::ALL.into_iter().zip(costs).map(|(d, price)| way(d, &[d, d], d, price)).collect();
    Item { inputs: inputs.to_vec(), choices, ..Item::default() }
}

const PRODUCT: [StepPrice; 3] = [price(1, 1e-3), price(10, 0.1), price(0, 0.5)];

/// Returns a comparison: few bytes and many rounds in B, many bytes and few rounds in Y, and not available in A.
fn comparison(inputs: [usize; 2]) -> Item {
    let choices = vec![way(B, &[B, B], B, price(7, 1e-3)), way(Y, &[Y, Y], Y, price(0, 4e-3))];
    Item { inputs: inputs.to_vec(), choices, ..Item::default() }
}

fn convert(from: Domain, to: Domain) -> Option<StepPrice> {
    Some(match (from, to) {
        (Y, B) => StepPrice::default(),
        (A, _) => price(2, 2e-3),
        (_, A) => price(2, 1e-3),
        _ => price(2, 1e-3),
    })
}

fn converted_by(item: Item, way: impl Fn(Domain, Domain) -> Option<StepPrice>) -> Item {
    Item { conversions: Domain::ALL.map(|from| Domain::ALL.map(|to| way(from, to))), ..item }
}

fn program(items: Vec<Item>, round_seconds: f64) -> Problem {
    Problem { items: items.into_iter().map(|item| converted_by(item, convert)).collect(), round_seconds }
}

fn domains(problem: &Problem, assignment: &[usize]) -> Vec<Domain> {
    problem.items.iter().zip(assignment).map(|(item, &choice)| item.choices[choice].domain).collect()
}

#[test]
fn products_are_arithmetic_and_comparisons_follow_the_network() {
    let items = vec![source(), source(), operation([0, 1], PRODUCT), operation([0, 2], PRODUCT), comparison([2, 3])];
    let lan = program(items.clone(), 1e-5);
    assert_eq!(domains(&lan, &lan.solve().assignment)[2..], [A, A, B]);
    let wan = program(items, 0.1);
    assert_eq!(domains(&wan, &wan.solve().assignment)[2..], [A, A, Y]);
}

#[test]
fn a_value_is_converted_once_for_all_that_want_it() {
    let only = |d: Domain| Item { choices: vec![way(d, &[], d, StepPrice::default())], ..Item::default() };
    let used = |d: Domain, from: usize| Item {
        inputs: vec![from],
        choices: vec![way(d, &[d], d, StepPrice::default())],
        ..Item::default()
    };
    let problem = program(vec![only(A), used(Y, 0), used(Y, 0), used(B, 0)], 1.0);
    let solved = problem.solve();
    assert!((solved.seconds - (2.0 * 2e-3 + 2.0)).abs() < 1e-12, "{}", solved.seconds);
}

#[test]
fn impossible_conversions_are_avoided() {
    let none = |from: Domain, to: Domain| if from == A || to == A { None } else { Some(StepPrice::default()) };
    let fixed = Item { choices: vec![way(B, &[], B, StepPrice::default())], ..Item::default() };
    let items = vec![fixed, source(), operation([0, 1], PRODUCT)];
    let items = items.into_iter().map(|item| converted_by(item, none)).collect();
    let problem = Problem { items, round_seconds: 0.0 };
    let solved = problem.solve();
    assert!(solved.seconds.is_finite());
    assert_ne!(domains(&problem, &solved.assignment)[2], A);
}

/// A small generator, so that programs are the same everywhere.
struct Lcg(u64);

impl Lcg {
    fn below(&mut self, n: usize) -> usize {
        self.0 = self.0.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        (self.0 >> 33) as usize % n
    }
}

fn random_items(seed: u64, count: usize) -> Vec<Item> {
    let mut lcg = Lcg(seed);
    let mut items = vec![source(), source()];
    while items.len() < count {
        let inputs = [lcg.below(items.len()), lcg.below(items.len())];
        let costs = [(); 3].map(|()| price(lcg.below(4) as u32, lcg.below(100) as f64 * 1e-4));
        items.push(operation(inputs, costs));
    }
    items
}

/// Finds the least seconds of all assignments, place by place from the last.
fn exhaustive(problem: &Problem, chosen: &mut Assignment, place: usize) -> f64 {
    if place == problem.items.len() {
        return problem.seconds(chosen);
    }
    let of = |choice: usize, chosen: &mut Assignment| {
        chosen[place] = choice;
        exhaustive(problem, chosen, place + 1)
    };
    (0..problem.items[place].choices.len()).map(|choice| of(choice, chosen)).fold(f64::INFINITY, f64::min)
}

fn least(problem: &Problem) -> f64 {
    exhaustive(problem, &mut vec![0; problem.items.len()], 0)
}

#[test]
fn small_programs_are_solved_nearly_always() {
    for (count, programs) in [(7, 40), (10, 12)] {
        let mut exact = 0;
        for seed in 0..programs {
            let problem = program(random_items(seed, count), 1e-3);
            let (found, least) = (problem.solve().seconds, least(&problem));
            assert!(found >= least - 1e-12, "seed {seed}: {found} is below the least, {least}");
            assert!(found <= least * 1.25, "seed {seed}: {found} where {least} is possible");
            exact += usize::from(found <= least + 1e-12);
        }
        assert!(exact * 4 >= programs as usize * 3, "only {exact} of {programs} are the best");
    }
}

#[test]
fn no_assignment_by_preference_is_better_and_all_is_repeatable() {
    for seed in 0..4 {
        let problem = program(random_items(seed, 150), 1e-4);
        let solved = problem.solve();
        assert_eq!(solved, problem.solve());
        for order in [[A, B, Y], [A, Y, B], [B, A, Y], [B, Y, A], [Y, A, B], [Y, B, A]] {
            assert!(solved.seconds <= problem.seconds(&problem.preferring(&order)) + 1e-12);
        }
        assert_eq!(solved.finalists[0], solved.assignment);
    }
}

#[test]
fn solutions_in_fewer_domains_are_candidates() {
    for seed in 0..6 {
        let problem = program(random_items(seed, 40), 1e-4);
        let candidates = problem.candidates();
        assert!(candidates.is_sorted_by(|a, b| a.0 <= b.0));
        assert!(candidates.iter().all(|(seconds, found)| *seconds == problem.seconds(found)));
        assert!(candidates[0].0 <= problem.solve().seconds);
        for mix in [&[A][..], &[B], &[Y], &[A, B], &[A, Y], &[B, Y]] {
            let mut fewer = Problem { items: problem.items.clone(), ..problem };
            fewer.items.iter_mut().for_each(|item| item.choices.retain(|choice| mix.contains(&choice.domain)));
            let named: Vec<Vec<Domain>> = candidates.iter().map(|(_, found)| domains(&problem, found)).collect();
            for (seconds, found) in fewer.candidates() {
                let place = named.iter().position(|named| *named == domains(&fewer, &found));
                assert_eq!(place.map(|place| candidates[place].0), Some(seconds), "seed {seed}, {mix:?}");
            }
        }
    }
}

#[test]
fn chains_are_as_long_as_their_rounds() {
    let items = vec![source(), operation([0, 0], PRODUCT), operation([1, 1], PRODUCT), comparison([1, 2])];
    let problem = program(items, 1e-3);
    // Two products, a conversion, and the comparison's layers.
    assert_eq!([[0, 0, 0, 0], [0, 0, 0, 1]].map(|assignment| problem.rounds(&assignment)), [2 + 2 + 7, 2 + 2]);
}

#[test]
fn a_square_is_moved_as_a_whole() {
    // A move that is tried and given up leaves no trace, although one step uses the operand twice.
    let mut items = vec![source(), operation([0, 0], PRODUCT), operation([1, 1], PRODUCT)];
    items.extend((1..6).map(|i| comparison([i, i + 1])));
    let problem = program(items, 1e-3);
    let solved = problem.solve();
    for found in &solved.finalists {
        assert!(problem.seconds(found) >= solved.seconds);
    }
    assert_eq!(problem.seconds(&solved.assignment), solved.seconds);
}

#[test]
fn a_rival_is_the_best_single_change() {
    let problem = program(random_items(7, 8), 1e-3);
    let solved = problem.solve();
    for (place, rival) in problem.rivals(&solved.assignment).into_iter().enumerate() {
        let rival = rival.unwrap();
        let mut changed = solved.assignment.clone();
        let others: Vec<f64> = (0..problem.items[place].choices.len())
            .filter(|&other| other != solved.assignment[place])
            .map(|other| {
                changed[place] = other;
                problem.seconds(&changed) - solved.seconds
            })
            .collect();
        assert_eq!(rival.more_seconds, others.iter().copied().fold(f64::INFINITY, f64::min));
        assert!(rival.more_seconds >= -1e-12);
    }
}

#[test]
fn evaluations_stop_once_an_assignment_is_too_long() {
    let mut stopped = 0;
    for seed in 0..40 {
        let problem = program(random_items(seed, 9), 1e-3);
        let first = problem.preferring(&[A, B, Y]);
        let longest = problem.seconds(&first);
        let mut scratch = Scratch::of(&problem);
        for place in 0..problem.items.len() {
            for choice in 0..problem.items[place].choices.len() {
                let mut other = first.clone();
                other[place] = choice;
                let (whole, below) = (problem.seconds(&other), problem.seconds_below(longest, &other, &mut scratch));
                let is_short = whole < longest * (1.0 - 1e-12);
                assert!(below == whole && below < longest || below.is_infinite() && !is_short, "{whole} {below}");
                stopped += usize::from(below.is_infinite());
            }
        }
    }
    assert!(stopped > 100, "{stopped}");
}

#[test]
fn names_are_read() {
    assert_eq!("Y".parse(), Ok(Y));
    assert_eq!(
        "yao".parse::<Domain>().unwrap_err().to_string(),
        "there is no sharing \"yao\": say \"A\" (arithmetic), \"B\" (Boolean) or \"Y\" (Yao)"
    );
}
