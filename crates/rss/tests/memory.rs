//! Tests that ten million multiplications take at most 64 MiB a party in addition to operands and result.
#![cfg(target_os = "linux")]

mod common;

use std::sync::Barrier;

use common::*;
use quorate_engine::{Linear, Sharing};
use quorate_ring::Ring;

const N: usize = 3;
const LEN: usize = 10_000_000;
const MIB: usize = 1 << 20;

/// Returns a line of /proc/self/status, in bytes.
fn status(key: &str) -> usize {
    let text = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = text.lines().find(|line| line.starts_with(key)).unwrap();
    line.split_whitespace().nth(1).unwrap().parse::<usize>().unwrap() * 1024
}

#[test]
fn long_products_stream() {
    let ring = Ring::of(64);
    let barrier = Barrier::new(N);
    let grown = run(N, async |rss, ctx| {
        let (x, y): (A, A) = (rss.prandr(ctx, (ring, LEN)), rss.prandr(ctx, (ring, LEN)));
        // All operands exist: from here on the peak counts. (There is no waiting once messages are under way.)
        barrier.wait();
        if ctx.me() == 0 {
            std::fs::write("/proc/self/clear_refs", "5").unwrap();
        }
        let before = status("VmRSS");
        barrier.wait();
        let product = rss.mul(ctx, &x, &y).await?;
        let tail = rss.linear(&product, &Linear::Slice(LEN - 100..LEN));
        let factor = |v: &A| rss.linear(v, &Linear::Slice(LEN - 100..LEN));
        let (x, y) = (open(rss, ctx, &factor(&x)).await?, open(rss, ctx, &factor(&y)).await?);
        let expected: Vec<u64> = x.iter().zip(&y).map(|(x, y)| x.wrapping_mul(*y)).collect();
        assert_eq!(open(rss, ctx, &tail).await?, expected);
        Ok(status("VmHWM") - before)
    });
    let result = 2 * 8 * LEN;
    let extra = grown.iter().map(|(grown, _)| grown.saturating_sub(N * result) / N).max().unwrap();
    println!("{} MiB a party beyond operands and result", extra / MIB);
    assert!(extra <= 64 * MIB, "{} MiB a party beyond operands and result", extra / MIB);
}
