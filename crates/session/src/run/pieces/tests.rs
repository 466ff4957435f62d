//! Tests that pieces of every size give the values in the clear, in the same rounds.

use std::collections::BTreeSet;
use std::sync::Arc;

use quorate_circuits::{Circuit, Gate};
use quorate_engine::{Believed, Phase, dry, testing};
use quorate_graph::domains::Domain;
use quorate_graph::{
    BinaryOp as B, Bound, BuildError, Builder, Division, Dtype, Give, Graph, Lies, Operand, Real, Source, UnaryOp,
    eval_clear,
};
use quorate_rss::Rss;

use super::*;
use crate::memory::schedule::{Given, Schedule};
use crate::run::executor::Around;
use crate::work::data::OwnInput;
use crate::work::value::Known;
use crate::work::{Reveal, Work};

const INT: Dtype = Dtype::Int { bits: 20 };
const FIXED: Dtype = Dtype::Fixed { bits: 24, frac: 8 };

/// A program, its inputs in ring units, and its reveals.
#[derive(Default)]
struct Program {
    graph: Graph,
    inputs: BTreeMap<NodeId, Vec<i128>>,
    reveals: Vec<NodeId>,
    /// The number of values that can be within others' pieces.
    within: usize,
}

impl Program {
    fn at(&mut self) -> Builder<'_> {
        self.graph.at(Source::new("pieces.rs", 1))
    }

    fn input(&mut self, shape: &[usize], dtype: Dtype, bound: i128) -> NodeId {
        let count: usize = shape.iter().product();
        let bound_units = match dtype.is_fixed() {
            true => Bound::Real(bound as f64 / 256.0),
            false => Bound::Int(bound),
        };
        let stated = (dtype != Dtype::Bit).then_some(bound_units);
        let id = self.at().input(0, 3, shape, dtype, stated).unwrap();
        let low = if dtype == Dtype::Bit || dtype.is_unsigned() { 0 } else { -bound };
        let seed = 7919 * (self.inputs.len() as i128 + 1);
        let units = (0..count as i128).map(|i| low + (i * i * 31 + i * seed + 5) % (bound - low + 1)).collect();
        self.inputs.insert(id, units);
        id
    }

    fn reveal(&mut self, build: impl FnOnce(Builder<'_>) -> std::result::Result<NodeId, BuildError>) -> NodeId {
        let id = build(self.at()).unwrap();
        self.reveals.push(id);
        id
    }

    fn work(&self) -> Work<'_> {
        let nodes = self.graph.needed(&self.reveals, |_| false);
        let reveals = self.reveals.iter().map(|&node| Reveal { node, to: None }).collect();
        Work { graph: &self.graph, nodes, reveals, domains: Default::default() }
    }

    /// Runs the program; returns what all parties open, in ring units.
    fn run(&self, parties: usize, schedule: &Schedule) -> Vec<Vec<i128>> {
        let inputs: BTreeMap<NodeId, Arc<OwnInput>> = self
            .inputs
            .iter()
            .map(|(&id, units)| {
                let plain = crate::work::data::constant(self.graph.node(id).dtype, units, units.len());
                (id, Arc::new(OwnInput(plain)))
            })
            .collect();
        let all = testing::parties(parties, |mut party| {
            let mut run = party.begin_alone()?;
            let rss = run.phase(Phase::Offline, async |ctx| Rss::setup(ctx).await)?;
            let (work, known) = (self.work(), Known::<Rss>::new());
            let executor = Executor::new(
                &rss,
                &work,
                Around { known: &known, inputs: &inputs, keep: &|_| false },
                (None, schedule),
            );
            let done = run.phase(Phase::Online, async |ctx| executor.run(ctx).await)?;
            run.finish();
            Result::Ok(done.opened.into_iter().map(|value| value.map(Believed::into_inner)).collect::<Vec<_>>())
        });
        let opened = all.into_iter().map(|opened| self.units(&opened.unwrap())).collect::<Vec<_>>();
        assert!(opened.windows(2).all(|pair| pair[0] == pair[1]));
        opened.into_iter().next().unwrap()
    }

    fn units(&self, opened: &[Option<Plain>]) -> Vec<Vec<i128>> {
        let one = |(plain, id): (&Option<Plain>, &NodeId)| match plain.as_ref().unwrap() {
            Plain::Bits(bits) => bits.to_bools().into_iter().map(i128::from).collect(),
            Plain::Vector(v) if self.graph.node(*id).dtype.is_unsigned() => {
                v.to_u64s().into_iter().map(i128::from).collect()
            }
            Plain::Vector(v) => v.to_i128s(),
        };
        opened.iter().zip(&self.reveals).map(one).collect()
    }

    /// Returns the rounds and bytes of one party's dry run.
    fn costs(&self, parties: usize, schedule: &Schedule) -> (u32, u64) {
        let rss = Rss::dry(parties, 0).unwrap();
        let (work, known, inputs) = (self.work(), Known::<Rss>::new(), BTreeMap::new());
        let executor =
            Executor::new(&rss, &work, Around { known: &known, inputs: &inputs, keep: &|_| false }, (None, schedule));
        let (_, costs) = dry::run(0, parties, Phase::Online, async |ctx: &Ctx| executor.run(ctx).await).unwrap();
        (costs.online.rounds, costs.online.bytes())
    }
}

/// Returns all operations that can be cut, on arrays of 30 and 60 elements.
fn everything() -> Program {
    let mut p = Program::default();
    let x = p.input(&[5, 6], INT, 9000);
    let y = p.input(&[5, 6], INT, 700);
    let small = p.input(&[6], INT, 40);
    let (f, g) = (p.input(&[5, 6], FIXED, 1500), p.input(&[5, 6], FIXED, 1500));
    let natural = p.input(&[5, 6], Dtype::Uint { bits: 9 }, 511);
    let (b, c) = (p.input(&[5, 6], Dtype::Bit, 1), p.input(&[5, 6], Dtype::Bit, 1));
    let divisors: Vec<i128> =
        (0..30).map(|i| if i % 3 == 0 { 8 } else { i - 14 }).map(|d| if d == 0 { 5 } else { d }).collect();
    let divisors = Operand::Ints { shape: &[5, 6], values: &divisors };
    for op in [B::Add, B::Sub, B::Lt, B::Ge, B::Eq] {
        p.reveal(|mut at| at.binary(op, x, y));
        p.reveal(|mut at| at.binary(op, f, g));
        p.reveal(|mut at| at.binary(op, x, small)); // broadcast
    }
    for op in [B::And, B::Or, B::Xor, B::Eq] {
        p.reveal(|mut at| at.binary(op, b, c));
    }
    p.reveal(|mut at| at.binary(B::And, x, y));
    p.reveal(|mut at| at.binary(B::Lt, natural, Operand::int(&300)));
    p.reveal(|mut at| at.binary(B::Mul, small, x));
    p.reveal(|mut at| at.binary(B::Mul, f, g));
    p.reveal(|mut at| at.binary(B::Mul, f, Operand::real(&1.5)));
    let factors: Vec<f64> = (0..30).map(|i| 0.37 * f64::from(i) - 4.0).collect();
    p.reveal(|mut at| at.binary(B::Mul, f, Operand::Reals { shape: &[5, 6], values: &factors }));
    let quotient = Division { give: Give::Quotient, quotient_bits: None };
    p.reveal(|mut at| at.int_divide(quotient, x, y));
    p.reveal(|mut at| at.to(x, Domain::A));
    let chosen = p.reveal(|mut at| at.select(b, x, y));
    p.reveal(|mut at| at.other(x, y, chosen));
    p.reveal(|mut at| at.select(b, c, b));
    p.reveal(|mut at| at.shl(x, 3));
    p.reveal(|mut at| at.shr(x, 3));
    p.reveal(|mut at| at.shr(natural, 2));
    p.reveal(|mut at| at.unary(UnaryOp::Not, b));
    p.reveal(|mut at| at.unary(UnaryOp::Neg, x));
    let quotient = p.reveal(|mut at| at.floor_div(x, divisors));
    p.reveal(|mut at| at.remainder(x, quotient, divisors));
    p.reveal(|mut at| at.floor_div(natural, Operand::int(&7)));
    p.reveal(|mut at| at.cast(b, INT));
    p.reveal(|mut at| at.cast(x, Dtype::Int { bits: 30 }));
    p.reveal(|mut at| at.cast(f, Dtype::Fixed { bits: 20, frac: 4 }));
    let gates = [Gate::And(0, 2), Gate::Xor(1, 3)];
    let circuit = Arc::new(Circuit::new(vec![2, 1], gates, vec![1, 1], vec![3, 4]).unwrap());
    let pairs = p.input(&[15, 2], Dtype::Bit, 1);
    let single = p.input(&[15, 1], Dtype::Bit, 1);
    p.reveal(|mut at| at.circuit(&circuit, &[pairs.into(), single.into()]));
    let bits = p.reveal(|mut at| at.bits(natural));
    p.reveal(|mut at| at.from_bits(bits, Dtype::Uint { bits: 9 }));
    p.reveal(|mut at| at.sum(bits, None, false));
    p.reveal(|mut at| at.transpose(x, None));
    p.reveal(|mut at| at.matmul(x, Operand::Ints { shape: &[6, 2], values: &[1, 2, 3, 4, 5, 6, 7, 8, 9, 1, 2, 3] }));
    let turned = p.at().transpose(y, None).unwrap();
    p.reveal(|mut at| at.matmul(x, turned));
    let other = p.at().transpose(g, None).unwrap();
    p.reveal(|mut at| at.matmul(f, other));
    let (many, others) = (p.input(&[5, 2, 3], INT, 50), p.input(&[5, 3, 4], INT, 50));
    p.reveal(|mut at| at.matmul(many, others));
    let (images, filters) = (p.input(&[5, 2, 3, 3], INT, 50), p.input(&[2, 1, 2, 2], INT, 50));
    let lies = Lies { stride: [1, 2], dilation: [1, 1], before: [1, 0], after: [0, 1], groups: 2 };
    p.reveal(|mut at| at.conv(images, filters, lies));
    for axis in [None, Some(0), Some(1), Some(2)] {
        p.reveal(|mut at| at.sum(many, axis, false));
        p.reveal(|mut at| at.max(many, axis, false));
        p.reveal(|mut at| at.min(many, axis, false));
        p.reveal(|mut at| at.argmax(many, axis, false));
        p.reveal(|mut at| at.argmin(many, axis, false));
    }
    p.within = 14;
    p
}

/// Returns all approximate operations that can be cut.
fn approximations() -> Program {
    let mut p = Program::default();
    let (f, g) = (p.input(&[3, 4], FIXED, 1500), p.input(&[3, 4], FIXED, 1500));
    for function in [Real::Sigmoid, Real::Exp, Real::Sqrt, Real::Reciprocal] {
        p.reveal(|mut at| at.real(function, f));
    }
    p.reveal(|mut at| at.divide(f, g));
    p.reveal(|mut at| at.softmax(f, 0));
    p.reveal(|mut at| at.softmax(f, 1));
    p
}

/// Returns chains of steps that can be within the pieces of the last one.
fn chains() -> Program {
    let mut p = Program::default();
    let (x, y) = (p.input(&[5, 6], INT, 300), p.input(&[6], INT, 300));
    let next = |p: &mut Program, op, a: NodeId, b: NodeId| p.at().binary(op, a, b).unwrap();
    let product = next(&mut p, B::Mul, x, y);
    let less = p.at().binary(B::Lt, product, Operand::int(&77)).unwrap();
    let chosen = p.at().select(less, x, Operand::int(&-3)).unwrap();
    let long = p.at().reshape(chosen, &[30]).unwrap();
    p.reveal(|mut at| at.sum(long, None, false));
    let bits = p.at().bits(x).unwrap();
    p.reveal(|mut at| at.sum(bits, None, false));
    p.reveal(|mut at| at.sum(bits, Some(2), false));
    let index = p.at().reshape(y, &[6, 1]).unwrap();
    let places: Vec<i128> = (-3..4).collect();
    let hot = p.at().binary(B::Eq, index, Operand::Ints { shape: &[7], values: &places }).unwrap();
    p.reveal(|mut at| at.matmul(hot, Operand::Ints { shape: &[7], values: &places }));
    let mut deep = x;
    for i in 0..40 {
        deep = p.at().binary(if i % 2 == 0 { B::Add } else { B::Sub }, deep, y).unwrap();
    }
    p.reveal(|mut at| at.binary(B::Mul, deep, x));
    p.within = 89;
    p
}

/// Runs a program in pieces of each size, with and without values within others; passes what was opened to `check`.
fn in_pieces(program: &Program, parties: usize, sizes: &[usize], check: impl Fn(&[Vec<i128>])) {
    let dry = Rss::dry(parties, 0).unwrap();
    let (work, held) = (program.work(), BTreeSet::new());
    let given =
        Given { backend: &dry, work: &work, held: &held, keeps: &|_| false, unchecked: &BTreeMap::new(), windows: 1 };
    let whole = program.costs(parties, &Schedule::default());
    for &units in sizes {
        let schedule = Schedule::in_pieces(&given, units, false);
        if units.is_power_of_two() {
            assert_eq!(program.costs(parties, &schedule).0, whole.0, "rounds in pieces of {units}");
        }
        check(&program.run(parties, &schedule));
        let schedule = Schedule::in_pieces(&given, units, true);
        assert_eq!(work.nodes.iter().filter(|&&id| schedule.is_within(id)).count(), program.within);
        check(&program.run(parties, &schedule));
    }
}

fn in_the_clear(program: &Program) -> Vec<Vec<i128>> {
    let all = eval_clear(&program.graph, &program.inputs).unwrap();
    program.reveals.iter().map(|id| all[id.index()].clone()).collect()
}

fn check_exact(program: &Program, parties: usize, sizes: &[usize]) {
    let expected = in_the_clear(program);
    in_pieces(program, parties, sizes, |opened| {
        for ((got, wanted), &id) in opened.iter().zip(&expected).zip(&program.reveals) {
            assert_eq!(got, wanted, "{}", program.graph.describe(id));
        }
    });
}

#[test]
fn exact_operations_equal_those_in_the_clear() {
    check_exact(&everything(), 3, &[1, 2, 7, 512]);
    check_exact(&everything(), 5, &[4]);
}

/// Winners of pieces meet in the same pairs as without pieces, and the first of equal candidates wins.
#[test]
fn tournaments_in_pieces_have_the_same_rounds() {
    for (len, lanes) in [(1, 3), (2, 1), (37, 1), (64, 1), (9, 2)] {
        let mut p = Program::default();
        let x = p.input(&[len, lanes], Dtype::Int { bits: 8 }, 3);
        let unsigned = p.input(&[len, lanes], Dtype::Uint { bits: 4 }, 15);
        for x in [x, unsigned] {
            p.reveal(|mut at| at.max(x, Some(0), false));
            p.reveal(|mut at| at.argmin(x, Some(0), false));
            p.reveal(|mut at| at.argmax(x, Some(0), false));
        }
        check_exact(&p, 3, &[1, 2, 8, 16, 64]);
    }
}

#[test]
fn chains_within_pieces_equal_those_in_the_clear() {
    check_exact(&chains(), 3, &[1, 5, 8]);
    check_exact(&chains(), 5, &[7]);
}

#[test]
fn approximations_are_what_they_are_without_pieces() {
    let program = approximations();
    let expected = program.run(3, &Schedule::default());
    in_pieces(&program, 3, &[5], |opened| assert_eq!(opened, expected));
}
