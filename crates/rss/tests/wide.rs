//! Tests of all operations over rings of 65 to 126 bits, against integers; predicted costs equal measured ones.

use crate::common::*;
use quorate_engine::Ctx;
use quorate_gadgets::testing::convolutions::convolutions;
use quorate_gadgets::testing::wide;
use quorate_rss::Rss;

const RINGS: [(usize, u32); 7] = [(3, 65), (3, 96), (3, 120), (3, 126), (5, 96), (5, 126), (7, 96)];

#[test]
fn elements() {
    RINGS.iter().for_each(|&(n, k)| wide::elements::<Rss>(n, k));
}

#[test]
fn narrow_differences() {
    [(3, 96), (3, 126), (5, 120)].iter().for_each(|&(n, k)| wide::narrow_differences::<Rss>(n, k));
}

#[test]
fn truncations() {
    RINGS.iter().for_each(|&(n, k)| wide::truncations::<Rss>(n, k));
}

#[test]
fn conversions() {
    [3, 5, 7].iter().for_each(|&n| wide::conversions::<Rss>(n));
}

#[test]
fn matrices_and_shuffles() {
    RINGS.iter().for_each(|&(n, k)| wide::matrices_and_shuffles::<Rss>(n, k));
}

#[test]
fn convolved() {
    [(3, 8), (3, 96), (5, 64), (7, 33)].iter().for_each(|&(n, k)| convolutions::<Rss>(n, k));
}

#[test]
fn scales() {
    [3, 5].iter().for_each(|&n| wide::scales::<Rss>(n));
    [3, 5].iter().for_each(|&n| wide::scales_in_parts::<Rss>(n));
}

#[test]
fn integer_division() {
    for signed in [false, true] {
        [(3, 65), (3, 126), (5, 96)]
            .iter()
            .for_each(|&(n, k)| wide::integer_division::<Rss>(n, k - u32::from(!signed), signed));
    }
}

#[test]
fn public_division() {
    [(3, 65), (3, 96), (3, 120), (5, 104)].iter().for_each(|&(n, k)| wide::public_division::<Rss>(n, k));
}

#[test]
fn public_division_of_the_widest() {
    [(3, 125), (5, 126)].iter().for_each(|&(n, k)| wide::public_division::<Rss>(n, k));
}

#[test]
fn fine_quotients() {
    for (n, k, up) in [(3, 120, 60), (3, 96, 32), (3, 64, 17), (3, 40, 20), (5, 126, 48)] {
        wide::fine_quotients::<Rss>(n, k, up);
    }
}

#[test]
fn real_functions() {
    for (n, k, frac) in [
        (3, 65, 16),
        (3, 96, 16),
        (3, 104, 0),
        (3, 120, 16),
        (3, 126, 7),
        (5, 96, 16),
        (3, 64, 40),
        (3, 96, 40),
        (3, 120, 60),
        (3, 48, 24),
    ] {
        wide::real_functions::<Rss>(n, k, frac);
    }
}

#[test]
fn costs_are_planned() {
    for (n, k) in [(3, 96), (3, 126), (5, 120)] {
        let work = async |rss: &Rss, ctx: &Ctx| wide::one_of_everything(rss, ctx, k, 13).await;
        let stocked = run_stocked(n, work);
        let on_demand = run(n, work);
        for me in 0..n {
            let (demand, planned) = dry_online(n, me, &work);
            assert_eq!(stocked[me].1.online, planned.online, "online, n {n} k {k}");
            assert_eq!(on_demand[me].1.online, planned.online, "on demand, n {n} k {k}");
            assert_eq!(stocked[me].1.offline, dry_offline(n, me, &demand).offline, "offline, n {n} k {k}");
        }
    }
}
