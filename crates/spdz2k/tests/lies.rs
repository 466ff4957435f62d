//! Parties that follow the protocol with other factors than they authenticate.

use quorate_engine::testing::parties;
use quorate_engine::{Cause, Error, Phase, Result, Stocks};
use quorate_ring::Ring;
use quorate_spdz2k::{Keys, Kind, Params, Shared, Spdz2k, Step, Triples};

use crate::common::{are_products, combined, run};

const LEN: usize = 40;

fn weak() -> Params {
    Params::new(32, true).unwrap()
}

/// Triples where parties lie by so much in what they send to party 0; whether they are right, if they are there.
fn made(n: usize, params: Params, lies: &[i128]) -> Option<bool> {
    made_by(n, params, |keys, me| keys.insecure_lie(lies[me]))
}

/// Triples where parties deviate as they like.
fn made_by(n: usize, params: Params, deviate: impl Fn(&Keys, usize) + Sync) -> Option<bool> {
    let ring = Ring::of(4);
    let ends = run(n, params, None, async |ctx, keys| {
        deviate(keys, ctx.me());
        keys.triples(ctx, ring, LEN).await
    });
    let mut all: Vec<(u64, Triples)> = Vec::new();
    for end in ends {
        match end.done {
            Ok(done) => all.push(done),
            Err(Error::Cheating { .. } | Error::Aborted { cause: Cause::Cheating, .. }) => return None,
            Err(error) => panic!("{error}"),
        }
    }
    let alpha = all.iter().map(|(alpha, _)| u128::from(*alpha)).sum();
    let of: [fn(&Triples) -> &Shared; 3] = [|t| &t.a, |t| &t.b, |t| &t.c];
    let [a, b, c] = of.map(|of| {
        let parts: Vec<&Shared> = all.iter().map(|(_, triples)| of(triples)).collect();
        combined(alpha, &parts, "triples of liars")
    });
    Some(are_products(&a, &b, &c, ring))
}

/// Lies of two parties that cancel: a division of each pair's part by itself was right or not by the lowest bit of the
/// third party's factor, half of the time, and whether a run passed told it. Forty triples passed once in a thousand.
#[test]
fn lies_that_cancel_change_nothing() {
    for by in [1 << 26, 1 << 25, 3, (5 << 27) + 7, 1 << 57] {
        for params in forms() {
            assert_eq!(made(3, params, &[0, by, -by]), Some(true), "{by}, {params:?}");
        }
    }
}

fn forms() -> [Params; 3] {
    [weak(), weak().with_triples_in_buckets(), weak().with_triples_under_two_keys()]
}

#[test]
fn lies_that_do_not_cancel_are_found() {
    for lies in [[0, 1 << 26, 0], [0, 1 << 26, 1 << 26], [0, 0, 1]] {
        for params in forms() {
            assert_eq!(made(3, params, &lies), None, "{lies:?}, {params:?}");
        }
    }
    for params in forms() {
        assert_eq!(made(2, params, &[0, 1 << 26]), None, "{params:?}");
    }
}

/// One party of two or three deviates at a step: nobody gets triples. What a single one would pass half of the time
/// does not for so many.
fn is_found_everywhere(params: Params, steps: &[(Step, i128)]) {
    for (i, &step) in steps.iter().enumerate() {
        is_found_among(2 + i % 2, params, &[step]);
    }
}

fn is_found_among(n: usize, params: Params, steps: &[(Step, i128)]) {
    let done = made_by(n, params, |keys, me| {
        if me == 1 {
            steps.iter().for_each(|&(step, by)| keys.insecure_deviate(step, by));
        }
    });
    assert_eq!(done, None, "{steps:?}, {n} parties, {params:?}");
}

/// A wrong product, and a share of the zero that makes up for it.
#[test]
fn who_tells_that_a_wrong_product_leaves_zero_is_found() {
    let [_, buckets, two_keys] = forms();
    for (params, which, number) in [(buckets, 4, 0), (two_keys, 4, 0), (two_keys, 7, 1)] {
        for n in [2, 3] {
            is_found_among(n, params, &[(Step::Authenticated(which), 1), (Step::Zero(number), 1)]);
        }
    }
}

/// k = 4, s = 32, sg' = 27.
#[test]
fn whoever_deviates_where_triples_are_made_in_buckets_is_found() {
    let transfers = [(3, 1), (150, 1 << 35), (0, 1 << 3)].map(|(row, by)| (Step::Transfer { factor: 0, row }, by));
    let authenticated = [(0, 1), (0, 1 << 20), (1, 1), (2, 1 << 3), (2, 1), (3, 1), (3, 1 << 35), (4, 1), (4, 1 << 35)];
    let authenticated = authenticated.map(|(which, by)| (Step::Authenticated(which), by));
    let told = [
        (Step::Rho, 1),
        (Step::Rho, 1 << 35),
        (Step::Zero(0), 1),
        (Step::Zero(0), 1 << 35),
        (Step::Difference, 1),
        (Step::Difference, 1 << 3),
    ];
    is_found_everywhere(weak().with_triples_in_buckets(), &[&transfers[..], &authenticated, &told].concat());
}

#[test]
fn whoever_deviates_where_triples_are_made_under_two_keys_is_found() {
    let transfers = [(0, 3, 1), (1, 3, 1), (0, 30, 1 << 50), (1, 30, 1 << 20), (1, 80, 5)];
    let transfers = transfers.map(|(factor, row, by)| (Step::Transfer { factor, row }, by));
    let authenticated = [(0, 1), (0, 1 << 20), (1, 1), (1, 1 << 57), (2, 1), (3, 1), (4, 1 << 57), (5, 1), (6, 8)];
    let authenticated = authenticated.map(|(which, by)| (Step::Authenticated(which), by));
    let told = [(7, 1), (7, 1 << 30)].map(|(which, by)| (Step::Authenticated(which), by));
    let zeros = [(Step::Rho, 1), (Step::Zero(0), 1), (Step::Zero(0), 1 << 30), (Step::Zero(1), 1)];
    is_found_everywhere(
        weak().with_triples_under_two_keys(),
        &[&transfers[..], &authenticated, &told, &zeros].concat(),
    );
}

#[test]
fn whoever_deviates_in_the_sacrifice_of_the_usual_triples_is_found() {
    is_found_everywhere(weak(), &[(Step::Rho, 1), (Step::Zero(0), 1), (Step::Zero(0), 1 << 30), (Step::Rho, 1 << 30)]);
}

fn is_found<T>(done: &Result<T>) -> bool {
    matches!(done, Err(Error::Cheating { .. } | Error::Aborted { cause: Cause::Cheating, .. }))
}

/// A number below the modulus that is no bit, whatever its lowest bit is, among two parties and more.
#[test]
fn numbers_that_are_no_bits_are_found() {
    for (n, cheat, number) in [(2, 0, 2), (2, 1, 3), (3, 1, 2), (3, 2, (1 << 32) - 1)] {
        let ends = parties(n, |mut party| {
            let mut run = party.begin_alone().unwrap();
            let done = run.phase(Phase::Offline, async |ctx| {
                let s = Spdz2k::set_up(ctx, Params::new(32, true).unwrap(), None).await?;
                if ctx.me() == cheat {
                    s.insecure_prove(number);
                }
                s.make(ctx, &Kind::EdaBit { bits: 8, ring: 8, cut: 0 }, 20).await
            });
            run.finish();
            done.map(|_| ())
        });
        let proof = |done: &Result<()>| matches!(done, Err(Error::Cheating { check }) if check.contains("are bits"));
        assert!(ends.iter().all(is_found) && ends.iter().any(proof), "{number} of party {cheat} of {n}: {ends:?}");
    }
}

/// A party that proves its bits and then takes another one for its MACs would know how far an edaBit is off.
#[test]
fn other_bits_than_were_proven_are_found() {
    for cheat in [0, 1] {
        let ends = parties(2, |mut party| {
            let mut run = party.begin_alone().unwrap();
            let done = run.phase(Phase::Offline, async |ctx| {
                let s = Spdz2k::set_up(ctx, Params::new(32, true).unwrap(), None).await?;
                if ctx.me() == cheat {
                    s.insecure_flip();
                }
                s.make(ctx, &Kind::EdaBit { bits: 8, ring: 8, cut: 0 }, 20).await
            });
            run.finish();
            done.map(|_| ())
        });
        assert!(ends.iter().all(is_found), "{ends:?}");
    }
}
