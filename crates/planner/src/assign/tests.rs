use std::cell::RefCell;
use std::convert::Infallible;

use quorate_graph::{BinaryOp, Bound, Dtype, Op, Source};

use super::*;
use crate::problem::StepPrice;
use crate::work::{Domains, Reveal, native};
use Domain::{A, B};

/// Prices of a protocol whose products are cheap in A, and whose comparisons are cheap in B.
struct Fake {
    /// Seconds of a cheap step; a dear one takes ten times as long.
    step: f64,
    /// Seconds of a conversion.
    conversion: f64,
    /// The nodes whose steps were priced.
    priced: RefCell<Vec<(NodeId, Domain)>>,
}

impl Fake {
    fn new(step: f64, conversion: f64) -> Fake {
        Fake { step, conversion, priced: RefCell::default() }
    }

    fn seconds(&self, graph: &Graph, id: NodeId, domain: Domain) -> f64 {
        match (&graph.node(id).op, domain) {
            (Op::Mul, A) | (Op::Lt, B) => self.step,
            (Op::Mul | Op::Lt, _) => 10.0 * self.step,
            _ => 0.0,
        }
    }

    fn decide(&self, book: &mut Book, graph: &Graph, last: NodeId) -> Vec<Domain> {
        let conditions = Conditions { garbles: false, allowed: [true; Domain::ALL.len()], offline_weight: 1.0 };
        let nodes = graph.needed(&[last], &|_| false);
        let reveals = vec![Reveal { node: last, to: None }];
        let mut work = Work { graph, nodes, reveals, domains: Domains::default() };
        let Ok(decision) = Planner { prices: self, conditions }.decide(book, &work);
        decision.put(&mut work);
        let computes = |id: &&NodeId| matches!(graph.node(**id).op, Op::Mul | Op::Lt);
        work.nodes.iter().filter(computes).map(|&id| work.domains.of(id)).collect()
    }
}

impl Prices for Fake {
    type Error = Infallible;

    fn round_seconds(&self) -> f64 {
        0.0
    }

    fn step(&self, graph: &Graph, id: NodeId, domain: Domain) -> Result<StepPrice, Infallible> {
        self.priced.borrow_mut().push((id, domain));
        Ok(StepPrice { rounds: 1, seconds: self.seconds(graph, id, domain) })
    }

    fn conversion(&self, _: &Graph, _: NodeId, _: Domain, _: Domain) -> Result<StepPrice, Infallible> {
        Ok(StepPrice { rounds: 1, seconds: self.conversion })
    }

    fn whole(&self, work: &Work<'_>) -> Result<f64, Infallible> {
        let (graph, mut converted) = (work.graph, BTreeSet::new());
        for &id in &work.nodes {
            for &input in &graph.node(id).inputs {
                let dtype = graph.node(input).dtype;
                let (from, to) = (native(work.domains.of(input), dtype), native(work.domains.of(id), dtype));
                converted.extend((from != to).then_some((input, to)));
            }
        }
        let steps: f64 = work.nodes.iter().map(|&id| self.seconds(graph, id, work.domains.of(id))).sum();
        Ok(steps + converted.len() as f64 * self.conversion)
    }

    fn seconds_to_price(&self, _: u32) -> f64 {
        0.0
    }

    fn seconds_to_price_whole(&self, _: usize, _: u32) -> f64 {
        0.0
    }
}

/// Returns a program that compares the product of two inputs with `several` more products of them.
fn program(several: usize) -> (Graph, NodeId) {
    let mut graph = Graph::default();
    let here = || Source::new("planner.py", 1);
    let [x, y] = [0, 1].map(|owner| graph.at(here()).input(owner, 2, &[3], Dtype::INT64, Some(Bound::Int(9))).unwrap());
    let mut product = graph.at(here()).binary(BinaryOp::Mul, x, y).unwrap();
    for _ in 0..several {
        product = graph.at(here()).binary(BinaryOp::Mul, product, y).unwrap();
    }
    let less = graph.at(here()).binary(BinaryOp::Lt, product, y).unwrap();
    (graph, less)
}

#[test]
fn steps_run_where_they_are_cheap_if_conversions_are() {
    let (graph, less) = program(0);
    assert_eq!(Fake::new(1.0, 0.1).decide(&mut Book::default(), &graph, less), [A, B]);
    // A conversion takes longer than a comparison in A saves.
    assert_eq!(Fake::new(1.0, 10.0).decide(&mut Book::default(), &graph, less), [A, A]);
}

#[test]
fn requests_that_take_less_than_ten_times_their_planning_stay_in_their_first_sharing() {
    let (graph, less) = program(0);
    let prices = Fake::new(SECONDS_OF_A_SEARCH * SECONDS_FOR_A_SECOND / 12.0, 0.0);
    assert_eq!(prices.decide(&mut Book::default(), &graph, less), [A, A]);
    assert!(prices.priced.take().iter().all(|&(_, domain)| domain == A));
    let prices = Fake::new(SECONDS_OF_A_SEARCH * SECONDS_FOR_A_SECOND / 10.0, 0.0);
    assert_eq!(prices.decide(&mut Book::default(), &graph, less), [A, B]);
}

#[test]
fn equal_prices_give_equal_plans_whatever_a_book_knows() {
    let ((short, of_short), (long, of_long)) = (program(0), program(2));
    for conversion in [0.1, 3.0, 10.0] {
        let prices = Fake::new(1.0, conversion);
        let plans = [
            prices.decide(&mut Book::default(), &short, of_short),
            prices.decide(&mut Book::default(), &long, of_long),
        ];
        let mut book = Book::default();
        for _ in 0..2 {
            assert_eq!(prices.decide(&mut book, &long, of_long), plans[1]);
            assert_eq!(prices.decide(&mut book, &short, of_short), plans[0]);
        }
        prices.priced.take();
        prices.decide(&mut book, &long, of_long);
        assert_eq!(prices.priced.take(), [], "a book knows the prices of equal steps");
    }
}
