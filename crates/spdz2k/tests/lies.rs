//! Parties that follow the protocol with other factors than they authenticate.

use quorate_engine::testing::parties;
use quorate_engine::{Cause, Error, Phase, Result, Stocks};
use quorate_ring::Ring;
use quorate_spdz2k::{Keys, Kind, Params, Shared, Spdz2k, Triples};

use crate::common::{are_products, combined, run};

const LEN: usize = 40;

/// Triples where parties lie by so much in what they send to party 0; whether they are right, if they are there.
fn made(n: usize, lies: &[i128]) -> Option<bool> {
    let (params, ring) = (Params::new(32, true).unwrap(), Ring::of(4));
    let ends = run(n, params, None, async |ctx, keys| {
        keys.insecure_lie(lies[ctx.me()]);
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
        assert_eq!(made(3, &[0, by, -by]), Some(true), "{by}");
    }
}

#[test]
fn lies_that_do_not_cancel_are_found() {
    for lies in [[0, 1 << 26, 0], [0, 1 << 26, 1 << 26], [0, 0, 1]] {
        assert_eq!(made(3, &lies), None, "{lies:?}");
    }
    assert_eq!(made(2, &[0, 1 << 26]), None);
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
    for (n, cheat) in [(2, 0), (2, 1), (3, 1)] {
        let ends = lied(n, cheat, &Kind::EdaBit { bits: 8, ring: 8, cut: 0 }, Spdz2k::insecure_flip);
        assert!(ends.iter().all(is_found), "{ends:?}");
    }
}

/// A party whose bits towards party 0 are not those towards the others. It is party 0 that finds them; where nothing
/// comes after, others may be done before they hear of it.
#[test]
fn other_bits_for_each_peer_are_found() {
    let kinds = [Kind::BitTriple, Kind::BitMask { owner: 1 }, Kind::BitZero, Kind::EdaBit { bits: 2, ring: 2, cut: 0 }];
    for kind in kinds {
        let ends = lied(3, 1, &kind, Spdz2k::insecure_split);
        let found = matches!(ends[0], Err(Error::Cheating { check }) if check.contains("same towards"));
        assert!(found, "{kind}: {ends:?}");
    }
}

/// What is added to bits that are opened is no sharing of zero.
#[test]
fn sharings_that_are_not_of_zero_are_found() {
    for cheat in [0, 2] {
        let ends = lied(3, cheat, &Kind::BitZero, Spdz2k::insecure_flip);
        let check =
            |done: &Result<()>| matches!(done, Err(Error::Cheating { check }) if check.contains("same towards"));
        assert!(ends.iter().all(is_found) && ends.iter().any(check), "{ends:?}");
    }
}

/// What parties have of twenty of a kind where one lies about a bit.
fn lied(n: usize, cheat: usize, kind: &Kind, lie: fn(&Spdz2k)) -> Vec<Result<()>> {
    parties(n, |mut party| {
        let mut run = party.begin_alone().unwrap();
        let done = run.phase(Phase::Offline, async |ctx| {
            let s = Spdz2k::set_up(ctx, Params::new(32, true).unwrap(), None).await?;
            if ctx.me() == cheat {
                lie(&s);
            }
            s.make(ctx, kind, 20).await
        });
        run.finish();
        done.map(|_| ())
    })
}

/// A party whose Delta towards one peer is another one than towards the others: the check of leaky ANDs finds it,
/// whatever bit of it differs. It must not differ in what the peer never sees.
#[test]
fn a_delta_that_differs_from_peer_to_peer_is_found() {
    for (cheat, uneven) in [(2, 1 << 77), (1, 2), (2, u128::MAX << 1)] {
        let ends = parties(3, |mut party| {
            let mut run = party.begin_alone().unwrap();
            let done = run.phase(Phase::Offline, async |ctx| {
                let uneven = if ctx.me() == cheat { uneven } else { 0 };
                let s = Spdz2k::insecure_with(Keys::insecure_setup(ctx, Params::new(32, true).unwrap(), uneven).await?);
                s.make(ctx, &Kind::Link, 5).await?;
                s.make(ctx, &Kind::BitTriple, 5).await
            });
            run.finish();
            done.map(|_| ())
        });
        let check =
            |done: &Result<()>| matches!(done, Err(Error::Cheating { check }) if check.contains("in the making"));
        assert!(ends.iter().all(is_found) && ends.iter().any(check), "{uneven:x} of party {cheat}: {ends:?}");
    }
}
