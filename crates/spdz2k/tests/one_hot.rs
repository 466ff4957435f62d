//! Choices of one that are invalid: the run ends before the other party has sent its input.

use std::sync::atomic::{AtomicBool, Ordering};

use quorate_authenticated::Kind;
use quorate_engine::testing::{Tampered, parties};
use quorate_engine::{Axis, Cause, Ctx, Demand, Error, Form, Linear, Phase, Result, Sharing, Traffic, dry};
use quorate_gadgets::{Gadgets, MakesAhead};
use quorate_ring::{Ring, Vector};
use quorate_spdz2k::{Params, Spdz2k};

const K: u32 = 8;
const LEN: usize = 3;
const NUMBERS: [i64; LEN] = [5, 7, 9];

/// Does what [`Gadgets::assert_one_hot`] does, for a party that ignores the result.
async fn as_if(s: &Spdz2k, ctx: &Ctx, x: &<Spdz2k as Sharing>::A, axis: Axis) -> Result<()> {
    let rest = s.sub(&s.mul(ctx, x, x).await?, x);
    let sums = s.add_public(&s.linear(x, &Linear::SumAxis(axis)), &Vector::from_i64s(Ring::of(K), &[-1]));
    s.open(ctx, &s.concat(&[&rest, &sums])).await.map(|_| ())
}

/// Returns the number of the last party that party 0 chooses; sets `sent` before that party inputs its numbers.
async fn chosen(s: &Spdz2k, ctx: &Ctx, choice: &[i64], sent: &AtomicBool) -> Result<i64> {
    let (ring, last) = (Ring::of(K), ctx.parties() - 1);
    let own = |owner: usize, values: &[i64]| (ctx.me() == owner).then(|| Vector::from_i64s(ring, values));
    let choice = s.input(ctx, 0, (ring, LEN), own(0, choice).as_ref()).await?;
    let axis = Axis { outer: 1, len: LEN, inner: 1 };
    match ctx.me() == 0 && !ctx.is_dry() {
        true => as_if(s, ctx, &choice, axis).await?,
        false => s.assert_one_hot(ctx, &choice, axis).await?,
    }
    s.check(ctx).await?;
    if ctx.me() == last {
        sent.store(true, Ordering::Relaxed);
    }
    let numbers = s.input(ctx, last, (ring, LEN), own(last, &NUMBERS).as_ref()).await?;
    let form = Form::Dot { outer: 1, axis: LEN, inner: 1 };
    let product = s.bilinear(ctx, form, &choice, &numbers).await?;
    let checked = s.check(ctx).await?;
    let opened = s.reveal(ctx, &checked, &product, None).await?;
    let checked = s.check(ctx).await?;
    let opened = opened.map(|opened| opened.believe(&checked)).transpose()?;
    Ok(opened.map_or(0, |opened| opened.into_inner().to_i64s().first().copied().unwrap_or(0)))
}

/// Returns every party's result and online traffic, and whether the last party sent its input.
fn run(n: usize, choice: &[i64], tampered: Option<Tampered>) -> (Vec<(Result<i64>, Traffic)>, bool) {
    let sent = AtomicBool::new(false);
    let ends = parties(n, |mut party| {
        if let Some(tampered) = tampered.filter(|_| party.me() == 0) {
            party.insecure_tamper(tampered);
        }
        let mut run = party.begin_alone().unwrap();
        let set_up = run.phase(Phase::Offline, async |ctx| Spdz2k::insecure_set_up(ctx, Params::default(), None).await);
        let done = set_up.and_then(|s| run.phase(Phase::Online, async |ctx| chosen(&s, ctx, choice, &sent).await));
        (done, run.finish().online)
    });
    (ends, sent.into_inner())
}

/// Returns the checks that found it, from the errors of the parties that found it.
fn found(ends: Vec<(Result<i64>, Traffic)>) -> Vec<&'static str> {
    let check = |error: Error| match error {
        Error::Cheating { check } => Some(check),
        Error::Aborted { cause: Cause::Cheating, .. } => None,
        error => panic!("{error}"),
    };
    ends.into_iter().filter_map(|(done, _)| check(done.unwrap_err())).collect()
}

#[test]
fn choices_of_one_pass_and_cost_what_a_dry_run_says() {
    for n in [2, 3, 4] {
        let all = async |ctx: &Ctx| {
            let s = Spdz2k::insecure_dry(n, ctx.me(), Params::default())?;
            chosen(&s, ctx, &[0; LEN], &AtomicBool::default()).await
        };
        let predicted = dry::together(&vec![0; n], Phase::Online, all).unwrap();
        for (place, choice) in [[1, 0, 0], [0, 1, 0], [0, 0, 1]].iter().enumerate() {
            let (ends, sent) = run(n, choice, None);
            for (me, (done, online)) in ends.into_iter().enumerate() {
                assert_eq!(done.unwrap(), NUMBERS[place]);
                assert_eq!(online, predicted[me].1.online, "party {me} of {n}");
            }
            assert!(sent);
        }
    }
}

#[test]
fn others_are_found_before_the_other_party_sends_its_input() {
    for n in [2, 3] {
        for choice in [[2, -1, 0], [1, 1, 0], [0, 0, 0], [1, 1, -1], [16, 0, -15], [-128, 1, -128], [3, 0, 0]] {
            let (ends, sent) = run(n, &choice, None);
            let checks = found(ends);
            assert!(!checks.is_empty() && checks.iter().all(|check| check.contains("of each row")), "{checks:?}");
            assert!(!sent, "n {n}, {choice:?}");
        }
    }
}

/// The owner sends another share, so that the opened value looks right to the other party. The check of openings finds
/// it, still before that party sends its input.
#[test]
fn nor_does_a_lie_about_what_is_opened_help() {
    // The messages before it: its set-up, its input, both factors of squares. After the squares less the elements comes
    // the sum less 1. It is 1, and all of it is in the owner's share; the change takes it off.
    let (ends, sent) = run(2, &[1, 1, 0], Some(Tampered::bit(4, LEN * K as usize)));
    let checks = found(ends);
    assert!(!checks.is_empty() && checks.iter().all(|check| check.contains("tags of what was opened")), "{checks:?}");
    assert!(!sent);
}

/// Returns what a party draws to prove a choice of two, over any ring.
fn drawn(n: usize, bits: u32, params: Params) -> Vec<Demand<Kind>> {
    let program = async |ctx: &Ctx| {
        let s = Spdz2k::new_dry(n, ctx.me(), params)?;
        s.record_demand();
        let choice = s.input(ctx, 0, (Ring::of(bits), 2), Some(&Vector::shape(Ring::of(bits), 2))).await?;
        s.assert_one_hot(ctx, &choice, Axis { outer: 1, len: 2, inner: 1 }).await?;
        Ok(s.take_demand())
    };
    dry::together(&vec![0; n], Phase::Online, program).unwrap().into_iter().map(|(demand, _)| demand).collect()
}

/// If all parties opened the factors below one triple, a party that adds 1 to a factor would read x from x x - x before
/// it is caught.
#[test]
fn factors_of_squares_are_opened_by_their_owner_alone_over_every_ring() {
    let forms = [
        Params::default(),
        Params::default().with_triples_in_buckets(),
        Params::default().with_triples_under_two_keys(),
        Params::default().as_in_the_paper(),
    ];
    for (n, bits) in [(2, 1), (2, 2), (2, 64), (3, 1), (3, 8), (4, 1)] {
        for demand in forms.into_iter().flat_map(|params| drawn(n, bits, params)) {
            let wanted = [(Kind::Owned { owner: 0, bits }, 2), (Kind::Mask { owner: 0, bits }, 2)];
            assert_eq!(*demand.totals(), wanted.into(), "{n} parties, {bits} bits");
        }
    }
}

/// Choices of two over Z_2, also on correlations that the parties make.
#[test]
fn choices_over_bits_pass_and_others_are_found() {
    let ring = Ring::of(1);
    for (n, dealt) in [(2, true), (2, false), (3, true)] {
        for choice in [[1, 0], [0, 1], [1, 1], [0, 0]] {
            let ends = parties(n, |mut party| {
                let mut run = party.begin_alone().unwrap();
                let params = Params::new(32, true).unwrap();
                let done = run.phase(Phase::Online, async |ctx| {
                    let s = match dealt {
                        true => Spdz2k::insecure_set_up(ctx, params, None).await?,
                        false => Spdz2k::set_up(ctx, params, None).await?,
                    };
                    let own = (ctx.me() == 0).then(|| Vector::from_u64s(ring, &choice));
                    let x = s.input(ctx, 0, (ring, 2), own.as_ref()).await?;
                    s.assert_one_hot(ctx, &x, Axis { outer: 1, len: 2, inner: 1 }).await?;
                    s.check(ctx).await.map(|_| 0)
                });
                (done, run.finish().online)
            });
            match choice[0] + choice[1] {
                1 => assert!(ends.iter().all(|(done, _)| *done == Ok(0)), "{choice:?} of {n}: {ends:?}"),
                _ => assert!(found(ends).iter().all(|check| check.contains("of each row")), "{choice:?} of {n}"),
            }
        }
    }
}
