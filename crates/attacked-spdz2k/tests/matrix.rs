//! Tests of matrix triples: definitions, tags, costs, and cheaters.

use quorate_adversary::{By, Twist};
use quorate_authenticated::shared::Shared;
use quorate_engine::{Cause, Ctx, Error, Phase, dry};
use quorate_ot::Options;
use quorate_ot::cost::{Cost, cots};
use quorate_ring::{Ring, Vector};
use quorate_spdz2k::{Keys, Params, Spdz2k, Triples};

use crate::common::{End, are_matrix_products, combined, run, zeros};
use crate::twice::twice;

type Dims = (usize, usize, usize);

/// Returns the sums of all parties' shares.
fn together(all: &[(u64, Triples)], what: &str) -> [Vector; 3] {
    let alpha = all.iter().map(|(alpha, _)| u128::from(*alpha)).sum();
    let of: [fn(&Triples) -> &Shared; 3] = [|t| &t.a, |t| &t.b, |t| &t.c];
    of.map(|of| combined(alpha, &all.iter().map(|(_, triples)| of(triples)).collect::<Vec<_>>(), what))
}

#[test]
fn each_matrix_is_one_party_s_and_products_are_right() {
    for (n, key_bits, k, owners, dims, len) in [
        (2, 64, 64, [0, 1], (3, 5, 1), 1),
        (2, 64, 126, [1, 0], (1, 2, 2), 1),
        (2, 48, 32, [0, 1], (1, 7, 1), 3),
        (2, 48, 32, [1, 0], (2, 3, 4), 2),
        (2, 32, 1, [0, 1], (2, 9, 2), 2),
        (3, 48, 32, [2, 0], (3, 4, 2), 2),
        (4, 32, 8, [1, 3], (1, 3, 5), 1),
    ] {
        let (params, ring) = (Params::new(key_bits, true).unwrap(), Ring::of(k));
        let ends = run(n, params, None, async |ctx, keys| keys.matrix_triples(ctx, owners, ring, (dims, len)).await);
        let ends: Vec<(u64, Triples)> = ends.into_iter().map(|end| end.done.unwrap()).collect();
        let what = format!("n {n} s {key_bits} k {k}");
        let [a, x, c] = together(&ends, &what);
        let lens = [dims.0 * dims.1, dims.1 * dims.2, dims.0 * dims.2].map(|size| size * len);
        assert_eq!(([a.len(), x.len(), c.len()], a.ring().bits()), (lens, k + key_bits), "{what}");
        assert!(!zeros(&a) && !zeros(&x), "{what}");
        assert!(are_matrix_products(&[a, x, c], ring, dims), "{what}");
        for (party, (_, triples)) in ends.iter().enumerate() {
            assert_eq!(zeros(&triples.a.share), party != owners[0], "{what}: A at party {party}");
            assert_eq!(zeros(&triples.b.share), party != owners[1], "{what}: X at party {party}");
            assert!(owners.contains(&party) || zeros(&triples.c.share), "{what}: C at party {party}");
        }
    }
}

/// Elements of a tiny ring take all values with nearly equal frequency, and so do pairs of neighbours.
#[test]
fn matrices_are_uniform() {
    let (params, ring, dims, len) = (Params::new(32, true).unwrap(), Ring::of(2), (1, 60, 1), 20);
    let ends = run(2, params, None, async |ctx, keys| keys.matrix_triples(ctx, [0, 1], ring, (dims, len)).await);
    let ends: Vec<(u64, Triples)> = ends.into_iter().map(|end| end.done.unwrap()).collect();
    for x in &together(&ends, "tiny")[..2] {
        let x = x.convert(ring).to_u64s();
        let mut counts = [0; 16];
        x.windows(2).for_each(|pair| counts[(4 * pair[0] + pair[1]) as usize] += 1);
        let expected = (x.len() - 1) as f64 / 16.0;
        let chi_square: f64 = counts.iter().map(|&count| (f64::from(count) - expected).powi(2) / expected).sum();
        // Exceeded by chance once in 10^10 times. Pairs overlap, so the sum is larger than for independent pairs.
        assert!(chi_square < 115.0, "{counts:?}");
    }
}

#[test]
fn costs_are_those_of_a_dry_run() {
    for (n, key_bits, k, owners, dims, len) in
        [(2, 64, 64, [0, 1], (3, 5, 1), 2), (2, 48, 32, [1, 0], (1, 4, 3), 1), (3, 32, 8, [0, 2], (2, 3, 2), 1)]
    {
        let params = Params::new(key_bits, true).unwrap();
        let make =
            async |ctx: &Ctx, keys: &Keys| keys.matrix_triples(ctx, owners, Ring::of(k), (dims, len)).await.map(|_| ());
        let both = run(n, params, None, make);
        let alone = run(n, params, None, async |_, _| Ok(()));
        let of_dry = async |ctx: &Ctx| make(ctx, &Spdz2k::new_dry(n, ctx.me(), params)?.keys()).await;
        let predicted = dry::together(&vec![0; n], Phase::Offline, of_dry).unwrap();
        for (me, (both, alone)) in both.iter().zip(&alone).enumerate() {
            both.done.as_ref().unwrap();
            let sent = both.traffic.sent.iter().zip(&alone.traffic.sent).map(|(both, alone)| both - alone);
            assert_eq!(sent.collect::<Vec<_>>(), predicted[me].1.offline.sent, "party {me} of {n}");
            assert_eq!(both.traffic.rounds - alone.traffic.rounds, predicted[me].1.offline.rounds);
        }
    }
}

/// Returns the bytes that each of two parties sends, the one with A first, and the rounds.
fn predicted(key_bits: u32, k: u32, dims: Dims) -> ([u64; 2], u32) {
    let make = async |ctx: &Ctx| {
        let s = Spdz2k::new_dry(2, ctx.me(), Params::new(key_bits, false)?)?;
        let keys = s.keys();
        keys.matrix_triples(ctx, [0, 1], Ring::of(k), (dims, 1)).await.map(|_| ())
    };
    let predicted = dry::together(&[0; 2], Phase::Offline, make).unwrap();
    let rounds = predicted[0].1.offline.rounds;
    ([0, 1].map(|party: usize| predicted[party].1.offline.sent.iter().sum()), rounds)
}

/// The bytes that the module states for an SVM of 10 classes and 2048 features, by the formula of
/// docs/security/spdz2k-matrix.md.
#[test]
fn a_matrix_triple_takes_the_bytes_that_are_stated() {
    for (key_bits, k) in [(64, 64), (48, 32)] {
        // For an element of V bits, digit by digit.
        let width = k as usize + 2 * key_bits as usize;
        let bits_of_it: usize = (0..key_bits as usize).step_by(5).map(|start| width - start).sum();
        let authenticated = |len: usize| bits_of_it * len / 8;
        for dims @ (m, d, n) in [(10, 2048, 1), (1, 100, 1), (10, 300, 5)] {
            let params = Params::new(key_bits, false).unwrap();
            let (inner, words) = (params.security_bits() as usize + 1, (k + 2 * key_bits) as usize / 8);
            let given_up = 2 * inner + 16;
            let (depth, corrections) = (d + given_up, (0..k as usize).map(|h| k as usize + inner - h).sum::<usize>());
            let ([by_sender, by_chooser], rounds) = predicted(key_bits, k, dims);
            // Sent by all: a party without a share sends zeros.
            let opened = words * (depth + n + m * given_up);
            let sender = depth * n * (m + 1) * corrections / 8 + authenticated((m + 1) * (depth + n)) + opened;
            // OTs are extended in parts, each with a check.
            let (lanes, rows) = (depth * n, k as usize);
            let at_once = ((1 << 17) / lanes).max(1);
            let ots: Vec<Cost> = (0..rows)
                .step_by(at_once)
                .map(|row| cots(Options::MALICIOUS, at_once.min(rows - row) * lanes))
                .collect();
            let sender = sender + ots.iter().map(|ots| ots.by_sender as usize).sum::<usize>();
            let chooser = authenticated(lanes + (m + 1) * n) + opened;
            let chooser = chooser + ots.iter().map(|ots| ots.by_receiver as usize).sum::<usize>();
            println!("s {key_bits} k {k}, {dims:?}: {by_sender} and {by_chooser} bytes, {rounds} rounds");
            // Coins, commitments and sums of checks are left out.
            for (sent, stated) in [(by_sender as usize, sender), (by_chooser as usize, chooser)] {
                assert!((stated..stated + 2500).contains(&sent), "{dims:?}: {sent} bytes, {stated} stated");
            }
            assert_eq!(rounds, 28);
        }
    }
    let ([by_sender, by_chooser], _) = predicted(64, 64, (10, 2048, 1));
    assert!((23_700_000..23_800_000).contains(&by_sender) && (1_150_000..1_250_000).contains(&by_chooser));
}

/// Makes triples of parties 0 and 1 while some party lies; returns whether they are right, if they are made. Party 1
/// chooses bits.
fn made(n: usize, len: usize, lie: impl Fn(usize, &Keys) + Sync) -> Option<bool> {
    let (params, ring, dims) = (Params::new(32, true).unwrap(), Ring::of(4), (2, 3, 1));
    let ends = run(n, params, None, async |ctx, keys| {
        lie(ctx.me(), keys);
        keys.matrix_triples(ctx, [0, 1], ring, (dims, len)).await
    });
    let mut all: Vec<(u64, Triples)> = Vec::new();
    for end in ends {
        match end.done {
            Ok(done) => all.push(done),
            Err(Error::Cheating { .. } | Error::Aborted { cause: Cause::Cheating, .. }) => return None,
            Err(error) => panic!("{error}"),
        }
    }
    Some(are_matrix_products(&together(&all, "matrix triples of liars"), ring, dims))
}

/// In the transfers of one bit, an entry differs from the authenticated one, in the throwaway row or in another row.
/// This is found if the bit is 1; of many such bits, some are 1.
#[test]
fn other_entries_in_transfers_are_found() {
    for (n, factor, row, by) in [(2, 0, 0, 1), (2, 1, 1, 1 << 20), (3, 2, 3, 1), (2, 1, 0, 1 << 20)] {
        let lie = |me, keys: &Keys| {
            if me == 0 {
                keys.adversary().twist(Twist::Transfer { peer: 1, factor, row }, By::All(by));
            }
        };
        assert_eq!(twice(|| made(n, 2, lie)), None, "row {row} of factor {factor}, {by} of {n}");
    }
}

/// Lies above the significant bits change nothing: k + sg' - h bits of a correction are significant.
#[test]
fn lies_above_what_is_checked_change_nothing() {
    for (row, by) in [(0, 1 << 31), (3, 1 << 28)] {
        let lie = |me, keys: &Keys| {
            if me == 0 {
                keys.adversary().twist(Twist::Transfer { peer: 1, factor: 1, row }, By::All(by));
            }
        };
        assert_eq!(made(2, 2, lie), Some(true), "row {row}, {by}");
    }
}

/// A party authenticates another Z, B, B_0, c or c_0 than it used in the transfers. Or it opens wrong shares of sigma,
/// of the value that must be zero, or of delta.
#[test]
fn other_values_than_those_of_the_transfers_are_found() {
    let twists = |party: usize| {
        let authenticated = if party == 0 { [1, 2, 3, 4].as_slice() } else { &[0, 3, 4] };
        authenticated.iter().map(|&i| Twist::Authenticated(i)).chain([Twist::Rho, Twist::Zero(0), Twist::Difference])
    };
    for n in [2, 3] {
        for cheat in 0..n {
            for twist in twists(cheat) {
                for by in [1, 1 << 10] {
                    let lie = |me, keys: &Keys| {
                        if me == cheat {
                            keys.adversary().twist(twist, By::All(by));
                        }
                    };
                    // A party without a part in these values cannot change them.
                    if cheat == 2 && matches!(twist, Twist::Authenticated(_)) {
                        continue;
                    }
                    assert_eq!(twice(|| made(n, 1, lie)), None, "{twist:?} of party {cheat} of {n}, by {by}");
                }
            }
        }
    }
}

/// A share that is wrong only above W is found when it is opened, although the checked value is zero.
#[test]
fn words_are_checked_whole() {
    for twist in [Twist::Rho, Twist::Zero(0)] {
        for cheat in [0, 1] {
            let lie = |me, keys: &Keys| keys.adversary().twist(twist, By::All(if me == cheat { 1 << 31 } else { 0 }));
            assert_eq!(twice(|| made(2, 1, lie)), None, "{twist:?} of party {cheat}");
        }
    }
}

/// The coins that hash Z are tossed after the sacrifice has passed: a party that finds a lie there has not begun the
/// toss.
#[test]
fn nothing_is_tossed_for_the_hash_before_the_sacrifice_has_passed() {
    let (params, ring, dims) = (Params::new(32, true).unwrap(), Ring::of(4), (2, 3, 1));
    let alone = run(2, params, None, async |_, _| Ok(()));
    let ends = run(2, params, None, async |ctx, keys| {
        let by = if ctx.me() == 0 { 1 } else { 0 };
        (0..4).for_each(|row| keys.adversary().twist(Twist::Transfer { peer: 1, factor: 1, row }, By::All(by)));
        keys.matrix_triples(ctx, [0, 1], ring, (dims, 1)).await.map(|_| ())
    });
    // A party that is informed before its own check has ended does not finish it.
    let finds =
        |end: &End<_>| matches!(end.done, Err(Error::Cheating { check }) if check.contains("sacrifice of matrix"));
    let found: Vec<usize> = (0..2).filter(|&party| finds(&ends[party])).collect();
    assert!(!found.is_empty() && ends.iter().all(|end| end.done.is_err()));
    // Of 28 rounds the last 7 are the toss of R, and the opening and check of delta.
    for party in found {
        assert_eq!(ends[party].traffic.rounds - alone[party].traffic.rounds, 21, "party {party}");
    }
}

/// Errors of two rows cancel, but each row has a t of its own.
#[test]
fn errors_of_rows_do_not_cancel() {
    let lie = |me, keys: &Keys| {
        if me == 0 {
            for (factor, by) in [(1, 5), (2, -5)] {
                (0..4).for_each(|row| keys.adversary().twist(Twist::Transfer { peer: 1, factor, row }, By::All(by)));
            }
        }
    };
    assert_eq!(twice(|| made(2, 2, lie)), None);
}

/// Measures the bytes of a party with weights, and of the others, which share a record.
#[test]
fn a_matrix_triple_of_one_party_takes_what_authenticating_it_takes() {
    let make = async |ctx: &Ctx| {
        let s = Spdz2k::new_dry(2, ctx.me(), Params::default())?;
        let keys = s.keys();
        keys.own_matrix_triples(ctx, 0, Ring::of(64), ((10, 2048, 1), 1)).await.map(|_| ())
    };
    let predicted = dry::together(&[0; 2], Phase::Offline, make).unwrap();
    let [by_owner, by_other] = [0, 1].map(|party| predicted[party].1.offline.sent.iter().sum::<u64>());
    println!("{by_owner} and {by_other} bytes, {} rounds", predicted[0].1.offline.rounds);
    assert!((5_930_000..5_940_000).contains(&by_owner) && by_other < 1000);
    assert_eq!(predicted[0].1.offline.rounds, 7);
}

/// One party knows matrices, and authenticates wrong sums of products.
#[test]
fn sums_that_are_no_sums_of_products_are_found() {
    let (params, ring, dims) = (Params::new(32, true).unwrap(), Ring::of(4), (2, 3, 2));
    for (n, owner, by) in [(2, 0, 0), (2, 1, 0), (3, 1, 1), (3, 2, 8)] {
        let ends = run(n, params, None, async |ctx, keys| {
            keys.adversary().twist(Twist::Product, By::All(if ctx.me() == owner { by } else { 0 }));
            keys.own_matrix_triples(ctx, owner, ring, (dims, 2)).await
        });
        let others: Vec<_> = ends.into_iter().map(|end| end.done).collect();
        if by == 0 {
            let all: Vec<(u64, Triples)> = others.into_iter().map(|end| end.unwrap()).collect();
            assert!(are_matrix_products(&together(&all, "of one party"), ring, dims));
            let known = |party: usize| !zeros(&all[party].1.c.share);
            assert!((0..n).all(|party| known(party) == (party == owner)));
            continue;
        }
        let is_found = |error: &Error| matches!(error, Error::Cheating { check } if check.contains("are products"));
        assert!(others.iter().flat_map(|end| end.as_ref().err()).any(is_found), "{by} of party {owner} of {n}");
        assert!(others.iter().enumerate().all(|(party, end)| party == owner || end.is_err()));
    }
}

/// Measures the offline costs of 10 classes of 2048 features, in both ways.
#[test]
#[ignore = "a measurement: run it in release"]
fn measure_an_svm() {
    let (ring, dims) = (Ring::of(64), (10, 2048, 1));
    for elementwise in [true, false] {
        let start = std::time::Instant::now();
        let ends = run(2, Params::default(), None, async |ctx, keys| {
            let start = std::time::Instant::now();
            match elementwise {
                true => drop(keys.one_sided_triples(ctx, [0, 1], ring, 20_480).await?),
                false => drop(keys.matrix_triples(ctx, [0, 1], ring, (dims, 1)).await?),
            }
            Ok(start.elapsed())
        });
        for end in ends {
            println!("elementwise {elementwise}: {:?}, {:?} bytes", end.done.unwrap().1, end.traffic.sent);
        }
        println!("{:?} with set-up", start.elapsed());
    }
}
