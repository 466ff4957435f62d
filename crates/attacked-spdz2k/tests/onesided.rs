//! Tests of one-sided triples: definitions, tags, costs, and cheaters.

use quorate_adversary::{By, Twist};
use quorate_authenticated::shared::Shared;
use quorate_engine::{Cause, Ctx, Error, Phase, dry};
use quorate_ring::{Ring, Vector};
use quorate_spdz2k::{Keys, Params, Spdz2k, Triples};

use crate::common::{are_products, combined, run, zeros};
use crate::twice::twice;

/// Returns the sums of all parties' shares.
fn together(all: &[(u64, Triples)], what: &str) -> [Vector; 3] {
    let alpha = all.iter().map(|(alpha, _)| u128::from(*alpha)).sum();
    let of: [fn(&Triples) -> &Shared; 3] = [|t| &t.a, |t| &t.b, |t| &t.c];
    of.map(|of| combined(alpha, &all.iter().map(|(_, triples)| of(triples)).collect::<Vec<_>>(), what))
}

#[test]
fn each_factor_is_one_party_s_and_products_are_right() {
    for (n, key_bits, k, owners, len) in [
        (2, 64, 64, [0, 1], 5),
        (2, 64, 64, [1, 0], 1),
        (2, 64, 126, [0, 1], 2),
        (2, 48, 32, [1, 0], 6),
        (2, 32, 1, [0, 1], 40),
        (3, 48, 32, [2, 0], 5),
        (3, 32, 8, [0, 1], 1),
        (4, 32, 8, [1, 3], 20),
    ] {
        let (params, ring) = (Params::new(key_bits, true).unwrap(), Ring::of(k));
        let ends = run(n, params, None, async |ctx, keys| keys.one_sided_triples(ctx, owners, ring, len).await);
        let ends: Vec<(u64, Triples)> = ends.into_iter().map(|end| end.done.unwrap()).collect();
        let what = format!("n {n} s {key_bits} k {k}");
        let [a, b, c] = together(&ends, &what);
        assert_eq!((a.ring().bits(), a.len(), b.len()), (k + key_bits, len, len), "{what}");
        assert!(are_products(&a, &b, &c, ring) && !zeros(&a) && !zeros(&b), "{what}");
        for (party, (_, triples)) in ends.iter().enumerate() {
            assert_eq!(zeros(&triples.a.share), party != owners[0], "{what}: a at party {party}");
            assert_eq!(zeros(&triples.b.share), party != owners[1], "{what}: b at party {party}");
            assert!(owners.contains(&party) || zeros(&triples.c.share), "{what}: c at party {party}");
        }
    }
}

/// In a tiny ring a and b take all values with nearly equal frequency, in both halves of a batch.
#[test]
fn factors_are_uniform() {
    let (params, ring, len) = (Params::new(32, true).unwrap(), Ring::of(2), 2000);
    let ends = run(2, params, None, async |ctx, keys| keys.one_sided_triples(ctx, [0, 1], ring, len).await);
    let ends: Vec<(u64, Triples)> = ends.into_iter().map(|end| end.done.unwrap()).collect();
    let [a, b, _] = together(&ends, "tiny").map(|x| x.convert(ring).to_u64s());
    for half in [0..len / 2, len / 2..len] {
        let mut counts = [0; 16];
        half.for_each(|i| counts[(4 * a[i] + b[i]) as usize] += 1);
        let expected = len as f64 / 32.0;
        let chi_square: f64 = counts.iter().map(|&count| (f64::from(count) - expected).powi(2) / expected).sum();
        // Exceeded by chance once in 10^10 times.
        assert!(chi_square < 80.0, "{counts:?}");
    }
}

#[test]
fn costs_are_those_of_a_dry_run() {
    for (n, key_bits, k, owners, len) in [(2, 64, 64, [0, 1], 9), (2, 48, 32, [1, 0], 1), (3, 32, 8, [0, 2], 10)] {
        let params = Params::new(key_bits, true).unwrap();
        let make =
            async |ctx: &Ctx, keys: &Keys| keys.one_sided_triples(ctx, owners, Ring::of(k), len).await.map(|_| ());
        let both = run(n, params, None, make);
        let alone = run(n, params, None, async |_, _| Ok(()));
        let of_dry = async |ctx: &Ctx| make(ctx, &Spdz2k::new_dry(n, ctx.me(), params)?.keys()).await;
        let predicted = dry::together(&vec![0; n], Phase::Offline, of_dry).unwrap();
        for (me, (both, alone)) in both.iter().zip(&alone).enumerate() {
            let sent = both.traffic.sent.iter().zip(&alone.traffic.sent).map(|(both, alone)| both - alone);
            assert_eq!(sent.collect::<Vec<_>>(), predicted[me].1.offline.sent, "party {me} of {n}");
            assert_eq!(both.traffic.rounds - alone.traffic.rounds, predicted[me].1.offline.rounds);
        }
    }
}

/// Checks the design's figures for two parties: 5.2 and 2.6 kB by each party for a triple.
#[test]
fn a_one_sided_triple_takes_the_bytes_of_the_design() {
    for (key_bits, k, range) in [(64, 64, 5_000..5_250), (48, 32, 2_450..2_650)] {
        let make = async |ctx: &Ctx| {
            let s = Spdz2k::new_dry(2, ctx.me(), Params::new(key_bits, false)?)?;
            let keys = s.keys();
            keys.one_sided_triples(ctx, [0, 1], Ring::of(k), 1024).await.map(|_| ())
        };
        let predicted = dry::together(&[0; 2], Phase::Offline, make).unwrap();
        for (_, costs) in &predicted {
            let each = costs.offline.sent.iter().sum::<u64>() / 1024;
            println!("s {key_bits} k {k}: {each} bytes a triple, {} rounds", costs.offline.rounds);
            assert!(range.contains(&each), "{each} bytes a triple");
            assert_eq!(costs.offline.rounds, 37);
        }
    }
}

/// Makes triples of parties 0 and 1 while some party lies; returns whether they are right, if they are made.
fn made(n: usize, len: usize, lie: impl Fn(usize, &Keys) + Sync) -> Option<bool> {
    let (params, ring) = (Params::new(32, true).unwrap(), Ring::of(4));
    let ends = run(n, params, None, async |ctx, keys| {
        lie(ctx.me(), keys);
        keys.one_sided_triples(ctx, [0, 1], ring, len).await
    });
    let mut all: Vec<(u64, Triples)> = Vec::new();
    for end in ends {
        match end.done {
            Ok(done) => all.push(done),
            Err(Error::Cheating { .. } | Error::Aborted { cause: Cause::Cheating, .. }) => return None,
            Err(error) => panic!("{error}"),
        }
    }
    let [a, b, c] = together(&all, "one-sided triples of liars");
    Some(are_products(&a, &b, &c, ring))
}

const FACTORS: Twist = Twist::Factors { peer: 0 };

/// A party uses another factor in the transfers than it authenticates.
#[test]
fn other_factors_in_transfers_are_found() {
    for (n, by) in [(2, 1), (2, 1 << 26), (2, 5 << 27), (3, 1), (3, 1 << 30)] {
        let lie = |me, keys: &Keys| keys.adversary().twist(FACTORS, By::All(if me == 1 { by } else { 0 }));
        assert_eq!(twice(|| made(n, 30, lie)), None, "{by} of {n}");
    }
}

/// Lies above the significant bits change nothing.
#[test]
fn lies_above_what_is_checked_change_nothing() {
    for (n, by) in [(2, 1 << 58), (3, 3 << 60)] {
        let lie = |me, keys: &Keys| keys.adversary().twist(FACTORS, By::All(if me == 1 { by } else { 0 }));
        assert_eq!(made(n, 30, lie), Some(true), "{by} of {n}");
    }
}

/// The party that sends factors lies in the transfers. A party without a factor adds a correction for a lie of one
/// fixed size to an opening. Both do not know the product of the lie with the third party's bits.
#[test]
fn two_parties_do_not_cheat_the_third() {
    for (lies, which) in [([1 << 20, -(1 << 20)], 2), ([1 << 31, 1 << 31], 3), ([5, 5], 5), ([1 << 40, 1 << 40], 4)] {
        let lie = |me, keys: &Keys| match me {
            1 => {
                keys.adversary().twist(FACTORS, By::All(lies[0]));
                keys.adversary().twist(Twist::Authenticated(which), By::All(lies[1]));
            }
            2 => keys.adversary().twist(FACTORS, By::All(lies[1])),
            _ => (),
        };
        assert_eq!(twice(|| made(3, 30, lie)), None, "{lies:?}");
    }
}

/// A party authenticates another a, ahat, share, beta or b than it used in the transfers; or another share of c.
#[test]
fn other_values_than_those_of_the_transfers_are_found() {
    for n in [2, 3] {
        for twist in (0..6).map(Twist::Authenticated).chain([Twist::Quotient]) {
            for (cheat, by) in [(0, 1), (1, 1 << 20), (1, -1)] {
                let lie = |me, keys: &Keys| {
                    if me == cheat {
                        keys.adversary().twist(twist, By::All(by));
                    }
                };
                assert_eq!(twice(|| made(n, 4, lie)), None, "{twist:?} of party {cheat} of {n}, by {by}");
            }
        }
    }
}

/// Tests triples of one party, whose share is the whole value.
#[test]
fn triples_that_one_party_knows_are_products() {
    for (n, key_bits, k, owner, len) in
        [(2, 64, 64, 0, 5), (2, 64, 126, 1, 2), (2, 48, 32, 1, 1), (3, 32, 1, 2, 9), (4, 32, 8, 1, 6)]
    {
        let (params, ring) = (Params::new(key_bits, true).unwrap(), Ring::of(k));
        let make = async |ctx: &Ctx, keys: &Keys| keys.own_triples(ctx, owner, ring, len).await;
        let ends = run(n, params, None, make);
        let of_dry = async |ctx: &Ctx| make(ctx, &Spdz2k::new_dry(n, ctx.me(), params)?.keys()).await.map(|_| ());
        let predicted = dry::together(&vec![0; n], Phase::Offline, of_dry).unwrap();
        let alone = run(n, params, None, async |_, _| Ok(()));
        let mut all = Vec::new();
        for (me, (end, alone)) in ends.into_iter().zip(&alone).enumerate() {
            let sent = end.traffic.sent.iter().zip(&alone.traffic.sent).map(|(both, alone)| both - alone);
            assert_eq!(sent.collect::<Vec<_>>(), predicted[me].1.offline.sent, "party {me} of {n}");
            assert_eq!(end.traffic.rounds - alone.traffic.rounds, predicted[me].1.offline.rounds);
            all.push(end.done.unwrap());
        }
        let [a, b, c] = together(&all, "triples of one party");
        assert!(are_products(&a, &b, &c, ring) && !zeros(&a) && !zeros(&b) && a.len() == len);
        for (party, (_, triples)) in all.iter().enumerate() {
            for part in [&triples.a, &triples.b, &triples.c] {
                assert!(party == owner || zeros(&part.share), "party {party} of {n}");
            }
        }
    }
}

/// Any wrong bit of a product below 2^k is found.
#[test]
fn numbers_that_are_no_products_are_found() {
    for (n, owner, by) in [(2, 0, 1), (2, 1, 8), (3, 1, 2), (3, 2, -1)] {
        let ends = run(n, Params::new(32, true).unwrap(), None, async |ctx, keys| {
            keys.adversary().twist(Twist::Product, By::All(if ctx.me() == owner { by } else { 0 }));
            keys.own_triples(ctx, owner, Ring::of(4), 5).await.map(|_| ())
        });
        let proof = |error: &Error| matches!(error, Error::Cheating { check } if check.contains("are products"));
        let is_found = |error: &Error| proof(error) || matches!(error, Error::Aborted { cause: Cause::Cheating, .. });
        // The owner itself is done when it has sent its proof.
        let others = ends.into_iter().enumerate().filter(|(party, _)| *party != owner);
        let errors: Vec<Error> = others.map(|(_, end)| end.done.err().unwrap()).collect();
        assert!(errors.iter().all(is_found) && errors.iter().any(proof), "{by} of party {owner} of {n}: {errors:?}");
    }
}

#[test]
fn a_triple_that_one_party_knows_takes_0_8_kb() {
    let make = async |ctx: &Ctx| {
        Spdz2k::new_dry(2, ctx.me(), Params::default())?
            .keys()
            .own_triples(ctx, 1, Ring::of(64), 1024)
            .await
            .map(|_| ())
    };
    let predicted = dry::together(&[0; 2], Phase::Offline, make).unwrap();
    let each = [0, 1].map(|party| predicted[party].1.offline.sent.iter().sum::<u64>() / 1024);
    assert!(each[0] == 0 && (750..820).contains(&each[1]), "{each:?} bytes a triple");
}
