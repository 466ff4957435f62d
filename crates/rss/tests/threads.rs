//! Tests with parties that compute on different numbers of threads: masks and products only match if they are the same
//! bytes.

use crate::common::*;
use quorate_engine::{Form, Linear, Sharing};
use quorate_ring::{Ring, threads};

#[test]
fn results_do_not_depend_on_the_threads_of_any_party() {
    for (n, bits, len) in [(3, 64, 200_000), (5, 33, 20_000), (7, 64, 9_000)] {
        let ring = Ring::of(bits);
        let results = run(n, async |rss, ctx| {
            threads::set_threads(ctx.me() % 3 + 1).map_err(|_| quorate_engine::Error::Bug { what: "no threads" })?;
            let (x, y): (A, A) = (rss.prandr(ctx, (ring, len)), rss.prandr(ctx, (ring, len)));
            let product = rss.mul(ctx, &x, &y).await?;
            let side = 80;
            let square = |v: &A| rss.linear(v, &Linear::Slice(0..side * side));
            let form = Form::MatMul { m: side, k: side, n: side };
            let matrix = rss.bilinear(ctx, form, &square(&x), &square(&y)).await?;
            let (p, q): (B, B) = (rss.prandr(ctx, (40, 30_001)), rss.prandr(ctx, (40, 30_001)));
            let and = rss.and(ctx, &p, &q).await?;
            let words = [&x, &y, &product, &matrix];
            let mut opened = Vec::new();
            for value in words {
                opened.push(rss.open(ctx, value).await?.to_u64s());
            }
            let mut rows = Vec::new();
            for value in [&p, &q, &and] {
                rows.push(rss.open_bits(ctx, value).await?.to_bools());
            }
            threads::set_threads(1).map_err(|_| quorate_engine::Error::Bug { what: "no threads" })?;
            Ok((opened, rows))
        });
        for ((opened, rows), _) in &results {
            let [x, y, product, matrix] = opened.as_slice() else { panic!("four vectors") };
            let mask = ring.mask() as u64;
            assert!(product.iter().zip(x.iter().zip(y)).all(|(z, (x, y))| *z == x.wrapping_mul(*y) & mask), "n = {n}");
            let cell = |i: usize, j: usize| {
                (0..80).fold(0u64, |sum, p| sum.wrapping_add(x[80 * i + p].wrapping_mul(y[80 * p + j]))) & mask
            };
            assert!((0..6400).step_by(37).all(|at| matrix[at] == cell(at / 80, at % 80)), "n = {n}");
            assert!(rows[2].iter().zip(rows[0].iter().zip(&rows[1])).all(|(z, (p, q))| *z == (p & q)), "n = {n}");
        }
    }
}
