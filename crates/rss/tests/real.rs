//! Tests of real functions: the protocol returns the integers of the model (`gadgets/tools/real_model.py`), and stated
//! values outside the domains.

use crate::accuracy::{self, Function, computed};
use crate::common::*;
use quorate_engine::{Ctx, Error, Phase, Result, Sharing, dry};
use quorate_gadgets::real;
use quorate_ring::{Ring, Vector};
use quorate_rss::Rss;

/// Runs `function` on elements of Z_2^k given as signed numbers.
fn evaluate(n: usize, k: u32, x: &[i64], function: impl AsyncFn(&Rss, &Ctx, &A) -> Result<A> + Sync) -> Vec<i64> {
    let values: Vec<u64> = x.iter().map(|&x| x as u64).collect();
    let got = agreed(n, async |rss, ctx| {
        let x = share(rss, ctx, Ring::of(k), &values).await?;
        open(rss, ctx, &function(rss, ctx, &x).await?).await
    });
    got.into_iter().map(|y| signed(k, y)).collect()
}

async fn by_name(rss: &Rss, ctx: &Ctx, name: &str, x: &A, frac: u32) -> Result<A> {
    match name {
        "sigmoid" => real::sigmoid(rss, ctx, x, frac).await,
        "tanh" => real::tanh(rss, ctx, x, frac).await,
        "gelu" => real::gelu(rss, ctx, x, frac).await,
        "exp" => real::exp(rss, ctx, x, frac).await,
        "log" => real::log(rss, ctx, x, (frac, frac)).await,
        "sqrt" => real::sqrt(rss, ctx, x, (frac, frac), 63).await,
        "rsqrt" => real::rsqrt(rss, ctx, x, (frac, frac)).await,
        "reciprocal" => real::reciprocal(rss, ctx, x, (frac, frac)).await,
        _ => panic!("no function {name}"),
    }
}

struct Sample {
    name: &'static str,
    frac: u32,
    x: Vec<i64>,
    y: Vec<i64>,
}

fn samples() -> Vec<Sample> {
    let numbers = |list: &str| list.split(',').map(|x| x.parse::<i64>().unwrap()).collect();
    let samples: Vec<Sample> = include_str!("real_samples.txt")
        .lines()
        .map(|line| {
            let parts: Vec<&'static str> = line.split(' ').collect();
            Sample { name: parts[0], frac: parts[1].parse().unwrap(), x: numbers(parts[2]), y: numbers(parts[3]) }
        })
        .collect();
    assert!(samples.len() >= 50);
    samples
}

#[test]
fn results_are_those_of_the_model() {
    for (i, sample) in samples().into_iter().enumerate() {
        let n = if i % 9 == 8 { 5 } else { 3 };
        let got = match sample.name {
            "divide" => {
                let divisor: Vec<i64> = sample.x.iter().rev().map(|x| x >> 9 | 7).collect();
                let values: Vec<u64> = divisor.iter().map(|&y| y as u64).collect();
                evaluate(n, 64, &sample.x, async |rss, ctx, x| {
                    let y = share(rss, ctx, Ring::of(64), &values).await?;
                    real::divide(rss, ctx, x, &y, sample.frac, 31).await
                })
            }
            name => evaluate(n, 64, &sample.x, async |rss, ctx, x| by_name(rss, ctx, name, x, sample.frac).await),
        };
        for (j, x) in sample.x.iter().enumerate() {
            assert_eq!(got[j], sample.y[j], "{} of {x}, f {}", sample.name, sample.frac);
        }
    }
}

const NAMES: [&str; 8] = ["sigmoid", "tanh", "gelu", "exp", "log", "sqrt", "rsqrt", "reciprocal"];

/// Returns the result at x, in units, where the largest element is `top`.
fn expected(name: &str, x: i64, frac: u32, top: i64) -> f64 {
    let unit = 2f64.powi(frac as i32);
    let real = x as f64 / unit;
    let positive = |y: f64| if x > 0 { y } else { f64::INFINITY };
    let y = match name {
        "exp" => real.exp(),
        "log" if x <= 0 => return -(top as f64) - 1.0,
        "sqrt" => real.max(0.0).sqrt(),
        "rsqrt" => positive(1.0 / real.sqrt()),
        "reciprocal" => 1.0 / real,
        name => accuracy::ALL.into_iter().find(|f| f.name() == name).unwrap().exact(real, 0.0),
    };
    (y * unit).clamp(-(top as f64), top as f64)
}

#[test]
fn all_elements_of_small_rings() {
    for (n, k, frac) in [(3, 12, 4), (3, 9, 3), (5, 8, 0), (3, 12, 7), (3, 7, 1), (3, 13, 8)] {
        let (x, top) = ((-(1i64 << (k - 1))..1 << (k - 1)).collect::<Vec<_>>(), (1i64 << (k - 1)) - 1);
        for name in NAMES {
            let got = evaluate(n, k, &x, async |rss, ctx, x| by_name(rss, ctx, name, x, frac).await);
            for (x, got) in x.iter().zip(got) {
                let expected = expected(name, *x, frac, top);
                assert!((got as f64 - expected).abs() <= 1.2, "{name} of {x}, k {k}, f {frac}: {got}, not {expected}");
            }
        }
    }
}

#[test]
fn rings_of_every_width_and_their_edges() {
    for k in [18, 21, 24, 31, 32, 33, 40, 48, 63, 64] {
        let (low, top) = (i64::MIN >> (64 - k), i64::MAX >> (64 - k));
        let frac = 16.min(k - 6);
        let mut x = vec![low, low + 1, top, top - 1, 0, 1, -1, 2, 3];
        x.extend(noise(k.into(), 200).into_iter().map(|r| r as i64 >> (64 - k) >> (r % u64::from(k))));
        for name in NAMES {
            let got = evaluate(3, k, &x, async |rss, ctx, x| by_name(rss, ctx, name, x, frac).await);
            for (x, got) in x.iter().zip(got) {
                let expected = expected(name, *x, frac, top);
                // 1.7 for roots that were corrected; only powers of large numbers have a relative error.
                let allowed = 1.7 + if name == "exp" { expected * 2f64.powi(-27) } else { 0.0 };
                let error = (got as f64 - expected).abs();
                assert!(error <= allowed, "{name} of {x}, k {k}, f {frac}: {got}, not {expected}");
            }
        }
    }
}

/// Exact powers of two, squares and quotients have exact results.
#[test]
fn exact_results_are_exact() {
    let one = 1i64 << 16;
    let got =
        |name: &'static str, x: &[i64]| evaluate(3, 64, x, async |rss, ctx, x| by_name(rss, ctx, name, x, 16).await);
    assert_eq!(got("exp", &[0]), [one]);
    assert_eq!(got("log", &[one]), [0]);
    assert_eq!(got("tanh", &[0, 9 * one, -9 * one]), [0, one, -one]);
    assert_eq!(got("sigmoid", &[0, 17 * one, -17 * one]), [one / 2, one, 0]);
    assert_eq!(got("gelu", &[0, 9 * one, -9 * one]), [0, 9 * one, 0]);
    let roots: Vec<i64> = (0..200).collect();
    let squares: Vec<i64> = roots.iter().map(|x| x * x * one).collect();
    assert_eq!(got("sqrt", &squares), roots.iter().map(|x| x * one).collect::<Vec<_>>());
    let powers: Vec<i64> = (4..28).map(|p| 1 << p).collect();
    assert_eq!(got("reciprocal", &powers), powers.iter().map(|x| (1 << 32) / x).collect::<Vec<_>>());
}

/// Returns x / y as documented: rounded towards 0, saturated.
fn documented_quotient(x: i64, y: i64, frac: u32, top: i64) -> i64 {
    let whole = match (x.signum(), y) {
        (0, 0) => 0,
        (sign, 0) => i128::from(sign) << 100,
        _ => accuracy::quotient(x, y, frac).0,
    };
    whole.clamp(-i128::from(top), top.into()) as i64
}

/// Returns operands of every size, with quotients of every size, next to powers of two and to the largest quotients
/// that fit, and extremes.
fn operands(k: u32, frac: u32) -> Vec<(i64, i64)> {
    let (low, top) = (i64::MIN >> (64 - k), i64::MAX >> (64 - k));
    let edges = [0, 1, -1, 2, 3, 7, -7, low, low + 1, top, top - 1, -top, 1 << frac, -(3 << frac), top >> 1, top >> 5];
    let mut pairs: Vec<(i64, i64)> = edges.iter().flat_map(|&x| edges.map(|y| (x, y))).collect();
    let random = |seed: u64| noise(seed, 500).into_iter().map(|r| r as i64 >> (64 - k) >> (r % u64::from(k)));
    pairs.extend(random(1).zip(random(2)));
    pairs.extend((-20..20).map(|x| ((x * 6) << frac, 3 << frac)));
    // x is about q y 2^-f, so that quotients are about q: around powers of two and around the largest element.
    for (i, y) in random(3).enumerate() {
        let q = (1i128 << (i as u32 % k)) + (i as i128 % 7) - 3;
        let q = if i % 5 == 0 { i128::from(top) - (i as i128 % 9) + 4 } else { q };
        let x = ((q * i128::from(y)) >> frac) + i128::from(i as i64 % 3 - 1);
        pairs.extend(i64::try_from(x).ok().filter(|x| (low..=top).contains(x)).map(|x| (x, y)));
    }
    pairs.retain(|(x, y)| (low..=top).contains(x) && (low..=top).contains(y));
    pairs
}

#[test]
fn quotients_are_exact_for_all_operands() {
    for (n, k, frac) in
        [(3, 64, 16), (3, 64, 0), (3, 63, 16), (3, 62, 7), (3, 61, 16), (3, 40, 10), (3, 33, 16), (5, 64, 16)]
    {
        let top = i64::MAX >> (64 - k);
        let (x, y): (Vec<i64>, Vec<i64>) = operands(k, frac).into_iter().unzip();
        let divisors: Vec<u64> = y.iter().map(|&y| y as u64).collect();
        for bits in [63, 61, 51, 45] {
            let fits = |x: i64, y: i64| y == 0 || accuracy::quotient(x, y, frac).0.unsigned_abs() < 1 << bits;
            let got = evaluate(n, k, &x, async |rss, ctx, x| {
                real::divide(rss, ctx, x, &share(rss, ctx, Ring::of(k), &divisors).await?, frac, bits).await
            });
            for ((&x, &y), got) in x.iter().zip(&y).zip(got).filter(|((x, y), _)| bits >= k - 1 || fits(**x, **y)) {
                assert_eq!(got, documented_quotient(x, y, frac, top), "{x} / {y}, n {n}, k {k}, f {frac}, bits {bits}");
            }
        }
    }
}

/// Tests quotients of at most 31 bits, a bound that follows from the dtype or from a proof.
#[test]
fn short_quotients_of_all_signs_and_by_zero() {
    for (k, frac) in [(64u32, 16), (40, 10), (32, 16), (32, 8), (20, 3), (20, 8), (18, 16)] {
        let top = i64::MAX >> (64 - k);
        let short = |&(x, y): &(i64, i64)| k <= 32 || y == 0 || accuracy::quotient(x, y, frac).0.abs() < 1 << 31;
        let (x, y): (Vec<i64>, Vec<i64>) = operands(k, frac).into_iter().filter(short).unzip();
        let divisors: Vec<u64> = y.iter().map(|&y| y as u64).collect();
        let got = evaluate(3, k, &x, async |rss, ctx, x| {
            real::divide(rss, ctx, x, &share(rss, ctx, Ring::of(k), &divisors).await?, frac, 31).await
        });
        for ((&x, &y), got) in x.iter().zip(&y).zip(got) {
            let wanted = documented_quotient(x, y, frac, top);
            assert!(wanted.abs_diff(got) <= 3, "{x} / {y}, k {k}, f {frac}: {got}, not {wanted}");
            let whole = y != 0 && accuracy::quotient(x, y, frac).1 == 0.0;
            let small = wanted.abs() < 1 << 26 && x.unsigned_abs() < 1 << 31;
            assert!(!small || !whole || got == wanted, "{x} / {y}: {got}, not exactly {wanted}");
        }
    }
}

/// Tests roots of every size that are whole numbers, or nearly so, and roots of the largest elements.
#[test]
fn roots_of_long_numbers() {
    for (k, frac) in [(64u32, 16u32), (64, 8), (64, 0), (63, 15), (56, 16), (48, 16), (47, 16)] {
        let top = i64::MAX >> (64 - k);
        let roots = noise(5, 400).into_iter().map(|r| (r >> 1 >> (r % u64::from((k + frac) / 2))).min(1 << 40));
        let squares = roots.flat_map(|r| (-1i128..=1).map(move |by| ((i128::from(r) * i128::from(r)) >> frac) + by));
        let mut x: Vec<i64> = squares.filter(|&x| (0..=top.into()).contains(&x)).map(|x| x as i64).collect();
        x.extend([0, 1, 2, top, top - 1, top / 2, top / 2 + 1, -1, -top - 1, -top / 3]);
        for bits in [63, k - 1] {
            let got = evaluate(3, k, &x, async |rss, ctx, x| real::sqrt(rss, ctx, x, (frac, frac), bits).await);
            for (&x, got) in x.iter().zip(got) {
                let wanted = (x.max(0) as f64 * 2f64.powi(frac as i32)).sqrt();
                assert!((got as f64 - wanted).abs() <= 2.0, "root of {x}, k {k}, f {frac}: {got}, not {wanted}");
            }
        }
    }
}

#[test]
fn errors_hold_over_the_domains() {
    for function in accuracy::ALL {
        for frac in [16, 11, 5] {
            let errors = accuracy::errors(function, frac, 1 << 12);
            assert!(errors.count >= 100, "{function:?} was measured on {} arguments", errors.count);
            let limit = match function {
                Function::DivideShort => 3.5,
                Function::Sqrt => 2.0,
                function if function.is_relative() => 2f64.powi(-27),
                _ => 1.5,
            };
            assert!(errors.most <= limit, "{function:?}, f {frac}: {}", errors.most);
        }
    }
}

#[test]
fn softmax_of_one_of_many_and_of_equal_candidates() {
    let one = 1i64 << 16;
    let of = |rows: usize, x: &[i64]| {
        evaluate(3, 64, x, async |rss, ctx, x| real::softmax(rss, ctx, x, &computed(16, rows)).await)
    };
    assert_eq!(of(1, &[5, -7 * one]), [one, one]);
    assert_eq!(of(4, &[3 * one; 8]), [one / 4; 8]);
    assert_eq!(of(3, &[0, -100 * one, -1 << 50]), [one, 0, 0]);
    let many = vec![0; 1000];
    assert!(of(1000, &many).iter().all(|y| *y == 66), "1 / 1000 is 65.5 units");
    // Errors of truncated powers add up.
    let rest = (-20.8 * one as f64) as i64;
    let many: Vec<i64> = std::iter::once(0).chain(std::iter::repeat_n(rest, (1 << 15) - 1)).collect();
    let first = of(many.len(), &many)[0] as f64;
    let exact = one as f64 / (1.0 + (many.len() - 1) as f64 * (rest as f64 / one as f64).exp());
    assert!((first - exact).abs() <= 1.0, "{first} units, {exact} wanted");
}

/// Tests candidates at any distance: all pairs over small rings, the extremes over the default ring.
#[test]
fn softmax_of_distant_candidates() {
    for (k, frac) in [(7, 1), (7, 5), (6, 0)] {
        let all: Vec<i64> = (-(1i64 << (k - 1))..1 << (k - 1)).collect();
        let first = all.iter().flat_map(|&a| all.iter().map(move |_| a));
        let pairs: Vec<i64> = first.chain(all.iter().flat_map(|_| all.iter().copied())).collect();
        let got = evaluate(3, k, &pairs, async |rss, ctx, x| real::softmax(rss, ctx, x, &computed(frac, 2)).await);
        let unit = 2f64.powi(-(frac as i32));
        for i in 0..pairs.len() / 2 {
            let difference = (pairs[i + pairs.len() / 2] - pairs[i]) as f64 * unit;
            let wanted = 1.0 / (1.0 + difference.exp()) / unit;
            assert!((got[i] as f64 - wanted).abs() <= 1.0, "k {k}, f {frac}, {difference} apart: {}", got[i]);
        }
    }
    let (one, top) = (1i64 << 16, i64::MAX);
    let far = [top, i64::MIN, 0, top - one];
    let got = evaluate(3, 64, &far, async |rss, ctx, x| real::softmax(rss, ctx, x, &computed(16, 4)).await);
    assert_eq!((got[1], got[2]), (0, 0));
    assert!((got[0] - 47911).abs() <= 1 && (got[3] - 17625).abs() <= 1, "{got:?}");
}

#[test]
fn no_elements() {
    for name in NAMES {
        assert!(evaluate(3, 32, &[], async |rss, ctx, x| by_name(rss, ctx, name, x, 8).await).is_empty());
    }
}

#[test]
fn rounds_do_not_depend_on_the_length() {
    let rounds = |name: &'static str, len: usize| {
        let work = async |rss: &Rss, ctx: &Ctx| {
            let x = rss.public(&if ctx.is_dry() { Vector::shape(Ring::of(64), len) } else { panic!("a dry run") });
            by_name(rss, ctx, name, &x, 16).await
        };
        dry_online(3, 0, &work).1.phase(Phase::Online).rounds
    };
    for name in NAMES {
        assert_eq!(rounds(name, 10_000), rounds(name, 1), "{name}");
    }
}

#[test]
fn unsupported_rings_and_fractions_are_refused() {
    let refused = |k: u32, frac: u32, name: &'static str| {
        let rss = Rss::dry(3, 0).unwrap();
        let work = async |ctx: &Ctx| by_name(&rss, ctx, name, &rss.public(&Vector::shape(Ring::of(k), 3)), frac).await;
        matches!(dry::run(0, 3, Phase::Online, work), Err(Error::Misuse { .. }))
    };
    for name in NAMES {
        assert!(refused(9, 8, name) && refused(127, 8, name), "{name}");
        assert!(!refused(64, 16, name) && !refused(21, 16, name), "{name}");
        let wide = ["log", "sqrt", "rsqrt", "reciprocal"].contains(&name);
        assert_eq!([refused(65, 8, name), refused(126, 8, name)], [!wide, !wide], "{name}");
        assert_eq!(
            [refused(64, 17, name), refused(120, 60, name), refused(120, 61, name)],
            [!wide, !wide, true],
            "{name}"
        );
    }
    assert!(refused(20, 16, "log"), "log 2^-16 needs four whole bits and a sign");
}

/// Returns the text between two marks of the documentation; `None` where the page is not part of the package.
fn documented(mark: &str) -> Option<String> {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/accuracy.md");
    let text = std::fs::read_to_string(path).ok()?;
    let (_, rest) = text.split_once(&format!("<!-- {mark}:begin -->")).expect("a mark where the table begins");
    Some(rest.split_once(&format!("<!-- {mark}:end -->")).expect("a mark where the table ends").0.trim().to_string())
}

#[test]
fn documented_costs_are_fresh() {
    let Some(found) = documented("costs") else { return };
    assert!(
        found == accuracy::cost_table(),
        "stale costs: put the output of `cargo run -p quorate-rss --example accuracy costs` between the marks"
    );
}

/// Errors on a sample are at most the documented ones, with a tolerance because the sample has other arguments.
#[test]
fn documented_errors_hold() {
    let Some(found) = documented("accuracy") else { return };
    let rows: Vec<Vec<&str>> = found.lines().skip(2).map(|line| line.split('|').map(str::trim).collect()).collect();
    assert_eq!(rows.len(), accuracy::ALL.len() * accuracy::FRACS.len());
    let wanted = accuracy::ALL.into_iter().flat_map(|function| accuracy::FRACS.map(|frac| (function, frac)));
    for (row, (function, frac)) in rows.iter().zip(wanted) {
        assert_eq!((row[1], row[2], row[3]), (function.name(), function.domain(), frac.to_string().as_str()));
        let errors = accuracy::errors(function, frac, 1 << 11);
        let stated = match row[5].strip_prefix("1 + 2^") {
            Some(rest) => 2f64.powf(rest.trim_end_matches(" y").parse::<f64>().unwrap() + 0.5),
            None => row[5].parse::<f64>().unwrap() + 0.2,
        };
        assert!(errors.most <= stated, "{function:?}, f {frac}: {} measured, {} stated", errors.most, row[5]);
    }
}

/// Correlations made ahead are those that are drawn.
#[test]
fn prepared_runs_give_the_same() {
    let x: Vec<i64> = noise(9, 3000).into_iter().map(|r| r as i64 >> 30 >> (r % 30)).collect();
    let values: Vec<u64> = x.iter().map(|&x| x as u64).collect();
    let everything = async |rss: &Rss, ctx: &Ctx, x: &A| {
        let mut results = Vec::new();
        for name in NAMES {
            results.push(by_name(rss, ctx, name, x, 12).await?);
        }
        results.push(real::divide(rss, ctx, x, &results[0], 12, 63).await?);
        results.push(real::softmax(rss, ctx, x, &computed(12, 6)).await?);
        Ok(rss.concat(&results.iter().collect::<Vec<_>>()))
    };
    let expected = evaluate(3, 64, &x, everything);
    let prepared = run_stocked(3, async |rss, ctx| {
        let x = share(rss, ctx, Ring::of(64), &values).await?;
        open(rss, ctx, &everything(rss, ctx, &x).await?).await
    });
    for (got, _) in prepared {
        assert_eq!(got.into_iter().map(|y| y as i64).collect::<Vec<_>>(), expected);
    }
}
