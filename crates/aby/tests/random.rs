//! Random vectors over every Z_2^k against plain integers.

mod common;

use common::*;
use proptest::prelude::*;
use quorate_engine::{Form, Sharing};
use quorate_gadgets::extremum::{Best, extremum};
use quorate_gadgets::{Gadgets, Width};
use quorate_ring::Ring;

/// x mod 2^k as a two's complement number, by plain arithmetic.
fn wrapped(k: u32, x: i128) -> i128 {
    let size = 1i128 << k;
    let x = x.rem_euclid(size);
    if x >= size / 2 { x - size } else { x }
}

/// Elements that like the edges of the ring.
fn element(k: u32) -> impl Strategy<Value = u64> {
    let top = 1u64 << (k - 1);
    prop_oneof![
        4 => any::<u64>(),
        1 => prop::sample::select(vec![0, 1, u64::MAX, top, top.wrapping_sub(1), top.wrapping_add(1)]),
    ]
    .prop_map(move |x| x & mask(k))
}

fn case() -> impl Strategy<Value = (u32, u32, Vec<(u64, u64)>)> {
    (1..=64u32).prop_flat_map(|k| (Just(k), 0..=k, prop::collection::vec((element(k), element(k)), 1..40)))
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 120, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn everything_equals_integers((k, shift, pairs) in case()) {
        let ring = Ring::of(k);
        let (x, y): (Vec<u64>, Vec<u64>) = pairs.iter().copied().unzip();
        let len = x.len();
        let got = agreed(async |aby, ctx| {
            let (a, b) = (share(aby, ctx, ring, &x).await?, share(aby, ctx, ring, &y).await?);
            let less = aby.lt(ctx, &a, &b, Width::Full).await?;
            let numbers = [
                aby.mul(ctx, &a, &b).await?,
                aby.trunc_exact(ctx, &a, shift).await?,
                aby.mux(ctx, &less, &b, &a).await?,
                aby.bilinear(ctx, Form::Dot { outer: 1, axis: len, inner: 1 }, &a, &b).await?,
                extremum(aby, ctx, &a, len, Best::Smallest, Width::Full).await?,
            ];
            let mut opened = Vec::new();
            for number in &numbers {
                opened.push(aby.open(ctx, number).await?.to_i128s());
            }
            let equal = aby.eqz(ctx, &aby.sub(&a, &b)).await?;
            let bits = aby.bit_decompose(ctx, &a).await?;
            let bits = aby.open_bits(ctx, &bits).await?.to_vector(ring).to_u64s();
            Ok((opened, open_bits(aby, ctx, &less).await?, open_bits(aby, ctx, &equal).await?, bits))
        });
        let plain = |values: &[u64]| values.iter().map(|&v| wrapped(k, v.into())).collect::<Vec<_>>();
        let (a, b) = (plain(&x), plain(&y));
        for i in 0..len {
            // A product of two values of 64 bits may not fit i128 by one bit: reduce what is multiplied first.
            let product = wrapped(k, a[i].wrapping_mul(b[i]));
            prop_assert_eq!(got.0[0][i], product);
            prop_assert_eq!(got.0[1][i], a[i] >> shift);
            prop_assert_eq!(got.0[2][i], a[i].max(b[i]));
            prop_assert_eq!((got.1[i], got.2[i], got.3[i]), (a[i] < b[i], a[i] == b[i], x[i]));
        }
        let dot = a.iter().zip(&b).fold(0i128, |sum, (a, b)| wrapped(k, sum + wrapped(k, a * b)));
        prop_assert_eq!(got.0[3][0], dot);
        prop_assert_eq!(got.0[4][0], *a.iter().min().unwrap());
    }
}
