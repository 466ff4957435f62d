//! Tests that pieces of every size give the values in the clear, in the same rounds.

use std::collections::BTreeSet;
use std::sync::Arc;

use quorate_circuits::{Circuit, Gate};
use quorate_clear::Clear;
use quorate_gadgets::{Choices, Family};
use quorate_graph::{BinaryOp as B, Division, Domain, Dtype, Give, Lies, Operand, Real, UnaryOp};
use quorate_protocols::{Protocol, Visit};
use quorate_ring::meter::Kernel;
use quorate_rss::Rss;

use super::*;
use crate::memory::schedule::{Given, Schedule};
use crate::run::programs_for_tests::Program;

const INT: Dtype = Dtype::Int { bits: 20 };
const FIXED: Dtype = Dtype::Fixed { bits: 24, frac: 8 };

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
    // A row times a column or a matrix, in its terms; fixed point is truncated once.
    p.reveal(|mut at| at.matmul(small, small));
    let three = p.input(&[6, 3], INT, 40);
    p.reveal(|mut at| at.matmul(small, three));
    let (row, column) = (p.input(&[30], FIXED, 1500), p.input(&[30], FIXED, 1500));
    p.reveal(|mut at| at.matmul(row, column));
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
    // Squares: a piece of a matrix's reads rows of it, and all of it.
    let square = p.input(&[6, 6], INT, 30);
    let above = p.at().binary(B::Add, square, y).unwrap();
    p.reveal(|mut at| at.matmul(above, above));
    let many = p.input(&[4, 3, 3], INT, 30);
    let above = p.at().binary(B::Sub, many, Operand::int(&2)).unwrap();
    p.reveal(|mut at| at.matmul(above, above));
    let row = p.at().unary(UnaryOp::Neg, y).unwrap();
    p.reveal(|mut at| at.matmul(row, row));
    p.within = 93;
    p
}

/// Returns steps that read inputs by pieces: ranges of them, rows around a range, or the same range twice.
fn reads() -> Program {
    let mut p = Program::default();
    let (x, y) = (p.read(&[5, 6], INT, 300), p.read(&[5, 6], INT, 300));
    let column = p.read(&[30], INT, 3);
    let bits = p.read(&[30], Dtype::Bit, 1);
    p.reveal(|mut at| at.sum(x, None, false));
    p.reveal(|mut at| at.binary(B::Lt, x, y));
    let square = p.at().binary(B::Mul, x, x).unwrap();
    p.reveal(|mut at| at.sum(square, Some(0), false));
    let above = p.at().binary(B::Add, y, Operand::int(&1)).unwrap();
    let square = p.at().binary(B::Mul, above, above).unwrap();
    p.reveal(|mut at| at.sum(square, None, false));
    p.reveal(|mut at| at.unary(UnaryOp::Not, bits));
    for (start, levels, shape) in [(3, vec![(5, 6)], vec![5]), (2, vec![(5, 6), (2, 2)], vec![5, 2])] {
        let some = p.at().strided(x, start, &levels, &shape).unwrap();
        let less = p.at().binary(B::Lt, some, Operand::int(&7)).unwrap();
        p.reveal(|mut at| at.sum(less, None, false));
    }
    let one_each = p.at().reshape(column, &[30, 1]).unwrap();
    let places: Vec<i128> = (-3..4).collect();
    let hot = p.at().binary(B::Eq, one_each, Operand::Ints { shape: &[7], values: &places }).unwrap();
    p.reveal(|mut at| at.sum(hot, Some(0), false));
    let weights: Vec<i128> = (0..12).map(|i| i * i % 7 - 3).collect();
    for shape in [&[6][..], &[6, 2]] {
        let weights = Operand::Ints { shape, values: &weights[..shape.iter().product()] };
        let scores = p.at().matmul(x, weights).unwrap();
        let above = p.at().binary(B::Lt, Operand::int(&7), scores).unwrap();
        p.reveal(|mut at| at.sum(above, Some(0), false));
    }
    p.reveal(|mut at| at.matmul(column, column));
    // Extremes of a value that is within the pieces: an input, and one that is computed of some columns.
    let unsigned = p.read(&[30], Dtype::Uint { bits: 9 }, 511);
    p.reveal(|mut at| at.max(unsigned, None, false));
    let lanes = p.read(&[30, 2], INT, 90);
    p.reveal(|mut at| at.argmin(lanes, Some(0), false));
    let table = p.read(&[10, 3], INT, 300);
    let some = p.at().strided(table, 1, &[(10, 3), (2, 1)], &[10, 2]).unwrap();
    let twice = p.at().binary(B::Mul, some, some).unwrap();
    p.reveal(|mut at| at.argmax(twice, None, false));
    let row = p.at().reshape(column, &[1, 30]).unwrap();
    let rows = p.at().reshape(x, &[30, 1]).unwrap();
    p.reveal(|mut at| at.matmul(row, rows));
    // A product of one row is not within its user, but its right factor is within its own pieces.
    let weights = p.input(&[30, 3], INT, 40);
    let right = p.at().unary(UnaryOp::Neg, weights).unwrap();
    let sums = p.at().matmul(row, right).unwrap();
    p.reveal(|mut at| at.unary(UnaryOp::Neg, sums));
    p
}

/// Returns steps on public numbers that are broadcast: rows, columns, and numbers between other axes.
fn repeated() -> Program {
    let mut p = Program::default();
    let numbers: Vec<i128> = (0..15).map(|i| i * 7 % 11 + 1).collect();
    let reals: Vec<f64> = numbers.iter().map(|&n| 0.37 * n as f64 - 2.0).collect();
    let cases: [(&[usize], &[usize]); 5] = [
        (&[6], &[5, 6]),
        (&[5, 1], &[5, 6]),
        (&[2, 1], &[5, 2, 3]),
        (&[5, 1, 3], &[5, 2, 3]),
        (&[1, 2, 3], &[5, 2, 3]),
    ];
    for (shape, to) in cases {
        let count = shape.iter().product();
        let row = Operand::Ints { shape, values: &numbers[..count] };
        let real = Operand::Reals { shape, values: &reals[..count] };
        let (x, f, b) = (p.input(to, INT, 9000), p.input(to, FIXED, 1500), p.input(to, Dtype::Bit, 1));
        for op in [B::Add, B::Mul, B::Lt, B::Eq, B::And] {
            p.reveal(|mut at| at.binary(op, x, row));
        }
        p.reveal(|mut at| at.binary(B::Sub, row, x));
        p.reveal(|mut at| at.binary(B::Mul, f, real));
        p.reveal(|mut at| at.select(b, row, x));
        let quotient = p.reveal(|mut at| at.floor_div(x, row));
        p.reveal(|mut at| at.remainder(x, quotient, row));
        p.reveal(|mut at| at.divide(f, row));
        let read = p.read(to, INT, 300);
        let product = p.at().binary(B::Mul, read, row).unwrap();
        let low = p.at().binary(B::Lt, product, row).unwrap();
        p.reveal(|mut at| at.sum(low, Some(0), false));
    }
    // Quotients, each of which is compared with two numbers.
    let pairs = p.input(&[8, 2], INT, 9000);
    let quotient = p.at().floor_div(pairs, Operand::Ints { shape: &[2], values: &[8, 5] }).unwrap();
    let column = p.at().reshape(quotient, &[16, 1]).unwrap();
    let less = p.at().binary(B::Lt, column, Operand::Ints { shape: &[2], values: &[9, 90] }).unwrap();
    p.reveal(|mut at| at.sum(less, Some(0), false));
    p.within = 74;
    p
}

/// Runs a program in pieces of each size, with and without values within others; passes what was opened to `check`.
fn in_pieces<F: Family>(program: &Program, parties: usize, sizes: &[usize], check: impl Fn(&[Vec<i128>])) {
    let dry = F::dry(parties, 0, &Choices::default()).unwrap();
    let (work, held) = (program.work(), BTreeSet::new());
    let given =
        Given { backend: &dry, work: &work, held: &held, keeps: &|_| false, unchecked: &BTreeMap::new(), windows: 1 };
    let whole = program.costs::<F>(parties, &Schedule::default());
    for &units in sizes {
        let schedule = Schedule::in_pieces(&given, units, false);
        if units.is_power_of_two() {
            assert_eq!(program.costs::<F>(parties, &schedule).0, whole.0, "rounds in pieces of {units}");
        }
        check(&program.run::<F>(parties, &schedule));
        let schedule = Schedule::in_pieces(&given, units, true);
        assert_eq!(work.nodes.iter().filter(|&&id| schedule.is_within(id)).count(), program.within);
        check(&program.run::<F>(parties, &schedule));
    }
}

fn check_exact<F: Family>(program: &Program, parties: usize, sizes: &[usize]) {
    let expected = program.in_the_clear();
    in_pieces::<F>(program, parties, sizes, |opened| {
        for ((got, wanted), &id) in opened.iter().zip(&expected).zip(&program.reveals) {
            assert_eq!(got, wanted, "{}", program.graph.describe(id));
        }
    });
}

#[test]
fn exact_operations_equal_those_in_the_clear() {
    check_exact::<Clear>(&everything(), 1, &[1, 2, 3, 4, 7, 16, 512]);
    check_exact::<Rss>(&everything(), 3, &[1, 2, 7, 512]);
    check_exact::<Rss>(&everything(), 5, &[4]);
}

#[test]
fn public_numbers_are_repeated_within_each_piece() {
    let program = repeated();
    check_exact::<Clear>(&program, 1, &[1, 4, 7, 12, 512]);
    check_exact::<Rss>(&program, 3, &[5, 12]);
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
        check_exact::<Clear>(&p, 1, &[1, 2, 8, 16, 64]);
        check_exact::<Rss>(&p, 3, &[1, 2, 8, 16, 64]);
    }
}

#[test]
fn chains_within_pieces_equal_those_in_the_clear() {
    check_exact::<Clear>(&chains(), 1, &[1, 3, 5, 7, 8]);
    check_exact::<Rss>(&chains(), 3, &[1, 5, 8]);
    check_exact::<Rss>(&chains(), 5, &[7]);
}

#[test]
fn inputs_that_are_read_by_pieces_equal_those_in_the_clear() {
    let mut program = reads();
    program.within = 33;
    check_exact::<Clear>(&program, 1, &[1, 3, 5, 7, 8, 512]);
    check_exact::<Rss>(&program, 3, &[1, 4, 7]);
    check_exact::<Rss>(&program, 5, &[5]);
    for units in [2, 5, 7] {
        for (protocol, parties) in [(Protocol::Rss, 3), (Protocol::Aby, 2), (Protocol::Pika, 3)] {
            protocol.visit(Counted { program: &program, parties, units });
        }
    }
}

/// An input that some user reads as a whole is whole for all.
#[test]
fn inputs_are_whole_where_a_user_reads_them_so() {
    let mut p = Program::default();
    let (x, y) = (p.read(&[30], INT, 300), p.read(&[30], INT, 300));
    p.reveal(|mut at| at.sum(x, None, false));
    p.reveal(|mut at| at.sum(y, None, false));
    p.reveal(|mut at| at.cumsum(x, Some(0)));
    p.within = 1;
    check_exact::<Clear>(&p, 1, &[4]);
    p.reveal(|mut at| at.cumsum(y, Some(0)));
    p.within = 0;
    check_exact::<Clear>(&p, 1, &[4]);
    // So is it in another shape, of which pieces read ranges.
    let mut p = Program::default();
    let (x, y) = (p.read(&[30], INT, 300), p.read(&[30], INT, 300));
    for (read, other_shapes) in [(x, [[30, 1], [1, 30]]), (y, [[5, 6], [6, 5]])] {
        let shaped = other_shapes.iter().fold(read, |shaped, shape| p.at().reshape(shaped, shape).unwrap());
        p.reveal(|mut at| at.sum(shaped, None, false));
        p.reveal(|mut at| at.binary(B::Mul, shaped, shaped));
    }
    p.within = 6;
    check_exact::<Clear>(&p, 1, &[4]);
    p.reveal(|mut at| at.cumsum(x, Some(0)));
    p.within = 3;
    check_exact::<Clear>(&p, 1, &[4]);
    check_exact::<Rss>(&p, 3, &[7]);
}

#[test]
fn approximations_are_what_they_are_without_pieces() {
    let program = approximations();
    let expected = program.run::<Clear>(1, &Schedule::default());
    in_pieces::<Clear>(&program, 1, &[1, 5], |opened| assert_eq!(opened, expected));
    let expected = program.run::<Rss>(3, &Schedule::default());
    in_pieces::<Rss>(&program, 3, &[5], |opened| assert_eq!(opened, expected));
}

/// Checks that pieces that are counted once cost what all of them cost, in total and by step, for every party.
struct Counted<'p> {
    program: &'p Program,
    parties: usize,
    units: usize,
}

impl Visit for Counted<'_> {
    type Out = ();

    fn family<F: Family>(self) {
        let Counted { program, parties, units } = self;
        let (work, held) = (program.work(), BTreeSet::new());
        for (me, within) in (0..parties).flat_map(|me| [(me, false), (me, true)]) {
            let dry = F::dry(parties, me, &Choices::default()).unwrap();
            let unchecked = BTreeMap::new();
            let given =
                Given { backend: &dry, work: &work, held: &held, keeps: &|_| false, unchecked: &unchecked, windows: 1 };
            let schedule = Schedule::in_pieces(&given, units, within);
            let [all, once] = [false, true].map(|figures| program.counted::<F>((parties, me), &schedule, figures));
            assert_eq!(once.0, all.0, "pieces of {units}");
            assert!(once.2.totals() == all.2.totals() && once.2.by_step() == all.2.by_step(), "pieces of {units}");
            assert!(units > 2 || once.2.draws() < all.2.draws(), "pieces of {units}");
            assert!(once.1.talking.keys().eq(all.1.talking.keys()));
            for ((id, all), once) in all.1.talking.iter().zip(once.1.talking.values()) {
                let what = || program.graph.describe(NodeId(*id));
                let [mut of_all, mut of_once] = [&all.rounds, &once.rounds].map(Clone::clone);
                [&mut of_all, &mut of_once].into_iter().for_each(|rounds| rounds.sort());
                [&mut of_all, &mut of_once].into_iter().for_each(|rounds| rounds.dedup());
                assert_eq!(of_once, of_all, "{}, pieces of {units}", what());
                for kernel in Kernel::ALL {
                    let [all, once] = [all, once].map(|step| step.work.of(kernel));
                    let most = all / 20 + 100;
                    assert!(once.abs_diff(all) <= most, "{once} of {all} {kernel:?}, {}, pieces of {units}", what());
                }
            }
        }
    }
}

#[test]
fn figures_are_those_of_all_pieces() {
    for program in [everything(), approximations(), chains(), repeated()] {
        for units in [1, 2, 5, 6, 7] {
            for (protocol, parties) in [
                (Protocol::Rss, 3),
                (Protocol::Aby, 2),
                (Protocol::Spdz2k, 2),
                (Protocol::Pika, 3),
                (Protocol::PikaMalicious, 3),
            ] {
                protocol.visit(Counted { program: &program, parties, units });
            }
        }
    }
}
