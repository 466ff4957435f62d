//! Real functions: the protocol gives the integers of the model (`gadgets/tools/real_model.py`), and stated values outside
//! the domains.

mod common;

use common::*;
use quorate_engine::{Ctx, Result};
use quorate_gadgets::{Width, real};
use quorate_ring::Ring;
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
        "log" => real::log(rss, ctx, x, frac).await,
        "sqrt" => real::sqrt(rss, ctx, x, frac).await,
        "rsqrt" => real::rsqrt(rss, ctx, x, frac).await,
        "reciprocal" => real::reciprocal(rss, ctx, x, frac).await,
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
                    real::divide(rss, ctx, x, &y, sample.frac).await
                })
            }
            name => evaluate(n, 64, &sample.x, async |rss, ctx, x| by_name(rss, ctx, name, x, sample.frac).await),
        };
        for (j, x) in sample.x.iter().enumerate() {
            assert_eq!(got[j], sample.y[j], "{} of {x}, f {}", sample.name, sample.frac);
        }
    }
}
