//! Accuracy of the real functions: arguments to measure, and the tables of errors and costs.
#![allow(dead_code)] // the example prints tables, the tests compare

use crate::common::{A, dry_offline, dry_online, noise, open, run, share, signed};
use quorate_engine::{Ctx, Phase, Result, Sharing};
use quorate_gadgets::Width;
use quorate_gadgets::real::{self, Softmax};
use quorate_ring::{Ring, Vector};
use quorate_rss::Rss;

const K: u32 = 64;
const N: usize = 3;
const BATCH: usize = 1 << 17;

/// A function to measure, with its parameters.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Function {
    Sigmoid,
    Tanh,
    Gelu,
    Exp,
    ExpAbove,
    Log,
    Sqrt,
    SqrtShort,
    Rsqrt,
    Reciprocal,
    Divide,
    DivideShort,
    Softmax,
}

pub const ALL: [Function; 13] = [
    Function::Sigmoid,
    Function::Tanh,
    Function::Gelu,
    Function::Exp,
    Function::ExpAbove,
    Function::Log,
    Function::Sqrt,
    Function::SqrtShort,
    Function::Rsqrt,
    Function::Reciprocal,
    Function::Divide,
    Function::DivideShort,
    Function::Softmax,
];

/// The number of candidates of a softmax, in rows.
const ROWS: usize = 16;

/// Returns a softmax whose powers are computed.
pub fn computed(frac: u32, rows: usize) -> Softmax {
    Softmax { frac, rows, width: Width::Full, powers: None }
}

/// Returns erfc by the series of erf, without cancellation; beyond 6 it is below 2^-54.
fn normal_distribution(x: f64) -> f64 {
    let z = x.abs() / std::f64::consts::SQRT_2;
    if z > 6.0 {
        return if x > 0.0 { 1.0 } else { 0.0 };
    }
    let (mut term, mut sum) = (z, z);
    for n in 1..200 {
        term *= 2.0 * z * z / (2.0 * f64::from(n) + 1.0);
        sum += term;
    }
    let erf = 2.0 / std::f64::consts::PI.sqrt() * (-z * z).exp() * sum;
    if x > 0.0 { (1.0 + erf) / 2.0 } else { (1.0 - erf) / 2.0 }
}

impl Function {
    pub fn name(self) -> &'static str {
        match self {
            Function::Sigmoid => "sigmoid",
            Function::Tanh => "tanh",
            Function::Gelu => "gelu",
            Function::Exp | Function::ExpAbove => "exp",
            Function::Log => "log",
            Function::Sqrt | Function::SqrtShort => "sqrt",
            Function::Rsqrt => "rsqrt",
            Function::Reciprocal => "reciprocal",
            Function::Divide | Function::DivideShort => "division",
            Function::Softmax => "softmax",
        }
    }

    pub fn domain(self) -> &'static str {
        match self {
            Function::Sigmoid | Function::Tanh | Function::Gelu => "all x",
            Function::Exp => "x <= 8",
            Function::ExpAbove => "x > 8, result fits",
            Function::Log | Function::Rsqrt => "x > 0",
            Function::Sqrt => "x >= 0",
            Function::SqrtShort => "result proven < 2^(31 - f)",
            Function::Reciprocal => "x != 0",
            Function::Divide => "quotient fits",
            Function::DivideShort => "quotient proven < 2^(31 - f)",
            Function::Softmax => "16 candidates, all x",
        }
    }

    /// Whether the error beyond one unit is measured relative to the result.
    pub fn is_relative(self) -> bool {
        self == Function::ExpAbove
    }

    /// Returns the exact result, in real numbers.
    pub fn exact(self, x: f64, y: f64) -> f64 {
        match self {
            Function::Sigmoid => 1.0 / (1.0 + (-x).exp()),
            Function::Tanh => x.tanh(),
            Function::Gelu => x * normal_distribution(x),
            Function::Exp | Function::ExpAbove => x.exp(),
            Function::Log => x.ln(),
            Function::Sqrt | Function::SqrtShort => x.sqrt(),
            Function::Rsqrt => 1.0 / x.sqrt(),
            Function::Reciprocal => 1.0 / x,
            Function::Divide | Function::DivideShort => x / y,
            Function::Softmax => f64::NAN,
        }
    }

    pub async fn run(self, rss: &Rss, ctx: &Ctx, x: &A, y: &A, frac: u32) -> Result<A> {
        match self {
            Function::Sigmoid => real::sigmoid(rss, ctx, x, frac).await,
            Function::Tanh => real::tanh(rss, ctx, x, frac).await,
            Function::Gelu => real::gelu(rss, ctx, x, frac).await,
            Function::Exp | Function::ExpAbove => real::exp(rss, ctx, x, frac).await,
            Function::Log => real::log(rss, ctx, x, (frac, frac)).await,
            Function::Sqrt => real::sqrt(rss, ctx, x, (frac, frac), K - 1).await,
            Function::SqrtShort => real::sqrt(rss, ctx, x, (frac, frac), 62 - frac).await,
            Function::Rsqrt => real::rsqrt(rss, ctx, x, (frac, frac)).await,
            Function::Reciprocal => real::reciprocal(rss, ctx, x, (frac, frac)).await,
            Function::Divide => real::divide(rss, ctx, x, y, frac, K - 1).await,
            Function::DivideShort => real::divide(rss, ctx, x, y, frac, 31).await,
            Function::Softmax => real::softmax(rss, ctx, x, &computed(frac, ROWS)).await,
        }
    }

    /// Returns arguments of the domain with `frac` fractional bits: all of them if there are at most `most`, otherwise
    /// `most`.
    pub fn arguments(self, frac: u32, most: usize) -> Vec<(i64, i64)> {
        let unit = 1i64 << frac;
        let dense = |from: i64, to: i64| {
            let step = ((to - from) / most as i64).max(1);
            (from..=to).step_by(step as usize).map(|x| (x, 0)).collect::<Vec<_>>()
        };
        let scattered = |seed: u64| noise(seed, most / 2).into_iter().map(|r| (r >> 1 >> (r & 63)).max(1) as i64);
        let largest = ((f64::from(K - 1 - frac)) * std::f64::consts::LN_2 * unit as f64).ceil() as i64 - 1;
        let positive = || (1..=most as i64 / 2).chain(scattered(1)).chain(edges()).map(|x| (x, 0));
        match self {
            Function::Sigmoid | Function::Tanh | Function::Gelu => {
                let mut all = dense(-20 * unit, 20 * unit);
                all.extend(noise(2, most / 8).into_iter().map(|x| (x as i64 >> (x & 31), 0)));
                all
            }
            Function::Exp => dense(-30 * unit, 8 * unit),
            Function::ExpAbove => dense(8 * unit + 1, largest),
            Function::Log | Function::Rsqrt => positive().collect(),
            Function::Reciprocal => positive().map(|(x, _)| (if x % 3 == 0 { -x } else { x }, 0)).collect(),
            Function::Sqrt => positive().collect(),
            Function::SqrtShort => positive().filter(|x| x.0 < 1 << (62 - frac)).collect(),
            Function::Divide | Function::DivideShort => {
                let signs = noise(3, most / 2);
                let signed = |x: i64, sign: u64| if sign & 1 == 1 { -x } else { x };
                let pairs = scattered(4).zip(scattered(5)).zip(signs);
                let pairs = pairs.map(|((x, y), sign)| (signed(x, sign), signed(y, sign >> 1)));
                let ends = edges().flat_map(|x| edges().step_by(3).map(move |y| (x, y))).take(most);
                let limit = if self == Function::Divide { 1 << (K - 1) } else { 1 << 31 };
                pairs.chain(ends).filter(|&(x, y)| quotient(x, y, frac).0.unsigned_abs() < limit).collect()
            }
            Function::Softmax => {
                let values = noise(6, most / ROWS * ROWS).into_iter();
                values.map(|x| (((x as i64 >> 40) * unit) >> 20, 0)).collect()
            }
        }
    }
}

/// Returns positive numbers next to powers of two, from the largest down.
fn edges() -> impl Iterator<Item = i64> {
    let beside = |p: u32| (-2..=2).map(move |by| (1i64 << p).saturating_add(by));
    (0..=2).map(|by| i64::MAX - by).chain((2..63).rev().flat_map(beside))
}

/// Returns x / y in units, rounded towards 0, and the rest as a fraction of a unit.
pub fn quotient(x: i64, y: i64, frac: u32) -> (i128, f64) {
    let (x, y) = (i128::from(x) << frac, i128::from(y));
    (x / y, (x % y) as f64 / y as f64)
}

/// The largest and the mean error: in units of 2^-frac, or, for relative errors, the part beyond one unit relative to
/// the result.
#[derive(Clone, Copy, Debug, Default)]
pub struct Errors {
    pub most: f64,
    sum: f64,
    pub count: usize,
}

impl Errors {
    fn note(&mut self, error: f64) {
        // A result that is not a number must not pass for a small error.
        self.most = if error.is_nan() { f64::INFINITY } else { self.most.max(error) };
        self.sum += error;
        self.count += 1;
    }

    pub fn mean(&self) -> f64 {
        self.sum / self.count as f64
    }
}

/// Returns the protocol's results at party 0.
pub fn results(function: Function, frac: u32, arguments: &[(i64, i64)]) -> Vec<i64> {
    let words = |of: fn(&(i64, i64)) -> i64| arguments.iter().map(|pair| of(pair) as u64).collect::<Vec<u64>>();
    let (x, y) = (words(|pair| pair.0), words(|pair| pair.1));
    let mut outputs = run(N, async |rss, ctx| {
        let ring = Ring::of(K);
        let (a, b) = (share(rss, ctx, ring, &x).await?, share(rss, ctx, ring, &y).await?);
        open(rss, ctx, &function.run(rss, ctx, &a, &b, frac).await?).await
    });
    outputs.remove(0).0.into_iter().map(|y| signed(K, y)).collect()
}

/// Returns the errors on about `most` arguments at most.
pub fn errors(function: Function, frac: u32, most: usize) -> Errors {
    let arguments = function.arguments(frac, most);
    let unit = 2f64.powi(frac as i32);
    let mut errors = Errors::default();
    for batch in arguments.chunks(BATCH) {
        let got = results(function, frac, batch);
        if function == Function::Softmax {
            softmax_errors(&mut errors, batch, &got, unit);
            continue;
        }
        for (&(x, y), got) in batch.iter().zip(got) {
            if matches!(function, Function::Divide | Function::DivideShort) {
                let (whole, part) = quotient(x, y, frac);
                errors.note(((whole - i128::from(got)) as f64 + part).abs());
                continue;
            }
            let exact = function.exact(x as f64 / unit, y as f64 / unit) * unit;
            let error = (got as f64 - exact).abs();
            errors.note(if function.is_relative() { (error - 1.0).max(0.0) / exact.abs() } else { error });
        }
    }
    errors
}

fn softmax_errors(errors: &mut Errors, batch: &[(i64, i64)], got: &[i64], unit: f64) {
    let lanes = batch.len() / ROWS;
    for lane in 0..lanes {
        let column: Vec<f64> = (0..ROWS).map(|row| batch[row * lanes + lane].0 as f64 / unit).collect();
        let most = column.iter().copied().fold(f64::MIN, f64::max);
        let powers: Vec<f64> = column.iter().map(|x| (x - most).exp()).collect();
        let sum: f64 = powers.iter().sum();
        (0..ROWS).for_each(|row| errors.note((got[row * lanes + lane] as f64 - powers[row] / sum * unit).abs()));
    }
}

/// Returns the online rounds, and the average bytes that a party sends for an element, offline and online.
pub fn costs(function: Function, frac: u32) -> (u32, f64, f64) {
    const LEN: usize = 1 << 12;
    let work = async |rss: &Rss, ctx: &Ctx| {
        let given = || {
            rss.public(&if ctx.is_dry() { Vector::shape(Ring::of(K), LEN) } else { Vector::zeros(Ring::of(K), LEN) })
        };
        function.run(rss, ctx, &given(), &given(), frac).await
    };
    let (mut rounds, mut offline, mut online) = (0, 0, 0);
    for me in 0..N {
        let (demand, costs) = dry_online(N, me, &work);
        rounds = costs.phase(Phase::Online).rounds;
        online += costs.phase(Phase::Online).bytes();
        offline += dry_offline(N, me, &demand).phase(Phase::Offline).bytes();
    }
    let per_element = |bytes: u64| bytes as f64 / (N * LEN) as f64;
    (rounds, per_element(offline), per_element(online))
}

/// Formats a row's error as in the documentation.
pub fn shown(function: Function, error: f64) -> String {
    match function.is_relative() {
        true => format!("1 + 2^{:.1} y", error.log2()),
        false => format!("{error:.2}"),
    }
}

pub const FRACS: [u32; 3] = [16, 12, 8];

/// Returns the documentation's table of errors.
pub fn error_table(most: usize) -> String {
    let head = "| function | domain | f | arguments | largest error | mean error |\n|---|---|---|---|---|---|";
    let row = |function: Function, frac: u32| {
        let errors = errors(function, frac, most);
        let (largest, mean) = (shown(function, errors.most), shown(function, errors.mean()));
        let (name, domain, count) = (function.name(), function.domain(), errors.count);
        format!("| {name} | {domain} | {frac} | {count} | {largest} | {mean} |")
    };
    let rows = ALL.into_iter().flat_map(|function| FRACS.map(|frac| row(function, frac)));
    std::iter::once(head.to_string()).chain(rows).collect::<Vec<_>>().join("\n")
}

/// Returns the documentation's table of costs.
pub fn cost_table() -> String {
    let head = "| function | f | online rounds | offline bytes | online bytes |\n|---|---|---|---|---|";
    let whole = ALL.into_iter().filter(|function| !function.is_relative());
    let row = |function: Function, frac: u32| {
        let (rounds, offline, online) = costs(function, frac);
        let what = match function {
            Function::SqrtShort | Function::DivideShort => format!("{}, {}", function.name(), function.domain()),
            _ => function.name().to_string(),
        };
        format!("| {what} | {frac} | {rounds} | {offline:.0} | {online:.0} |")
    };
    let rows = whole.flat_map(|function| FRACS.map(|frac| row(function, frac)));
    std::iter::once(head.to_string()).chain(rows).collect::<Vec<_>>().join("\n")
}
