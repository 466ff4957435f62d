//! All operations over rings of 65 to 126 bits equal those of integers, and the predicted costs are those on the wire.

use crate::common::*;
use quorate_aby::Aby;
use quorate_engine::Ctx;
use quorate_gadgets::testing::convolutions::convolutions;
use quorate_gadgets::testing::wide;

const RINGS: [u32; 3] = [65, 96, 126];

#[test]
fn elements() {
    RINGS.iter().for_each(|&k| wide::elements::<Aby>(2, k));
}

#[test]
fn narrow_differences() {
    wide::narrow_differences::<Aby>(2, 96);
}

#[test]
fn truncations() {
    RINGS.iter().for_each(|&k| wide::truncations::<Aby>(2, k));
}

#[test]
fn conversions() {
    wide::conversions::<Aby>(2);
}

#[test]
fn matrices_and_shuffles() {
    RINGS.iter().for_each(|&k| wide::matrices_and_shuffles::<Aby>(2, k));
}

#[test]
fn convolved() {
    [8, 64, 96].iter().for_each(|&k| convolutions::<Aby>(2, k));
}

#[test]
fn scales() {
    wide::scales::<Aby>(2);
    wide::scales_in_parts::<Aby>(2);
}

#[test]
fn integer_division() {
    wide::integer_division::<Aby>(2, 96, true);
}

#[test]
fn public_division() {
    [96, 126].iter().for_each(|&k| wide::public_division::<Aby>(2, k));
}

#[test]
fn real_functions() {
    wide::real_functions::<Aby>(2, 120, 16);
    wide::fine_quotients::<Aby>(2, 96, 40);
}

#[test]
fn costs_are_planned() {
    for k in [96, 126] {
        let work = async |aby: &Aby, ctx: &Ctx| wide::one_of_everything(aby, ctx, k, 13).await;
        for (me, [stocked, on_demand]) in run_both(work).into_iter().enumerate() {
            let (demand, planned) = dry_online(me, &work);
            assert_eq!((&stocked.online, &on_demand.online), (&planned.online, &planned.online), "online, k {k}");
            assert_eq!(stocked.offline, dry_offline(me, &demand).offline, "offline, k {k}");
        }
    }
}
