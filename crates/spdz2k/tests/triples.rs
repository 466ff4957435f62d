//! Triples are products, their tags are right, factors are uniform, and costs are those of a dry run.

use quorate_engine::{Ctx, Phase, dry};
use quorate_ring::Ring;
use quorate_spdz2k::{Keys, Params, Spdz2k, Triples};

use crate::common::{are_products, combined, run};

/// The ways to make triples.
type Form = (&'static str, fn(Params) -> Params);

const FORMS: [Form; 3] = [
    ("t3", |params| params),
    ("bucket", Params::with_triples_in_buckets),
    ("twokeys", Params::with_triples_under_two_keys),
];

fn checked(n: usize, params: Params, k: u32, len: usize) -> Vec<u64> {
    let (key_bits, ring) = (params.key_bits(), Ring::of(k));
    let ends = run(n, params, None, async |ctx, keys| keys.triples(ctx, ring, len).await);
    let ends: Vec<(u64, Triples)> = ends.into_iter().map(|end| end.done.unwrap()).collect();
    let alpha: u128 = ends.iter().map(|(alpha, _)| u128::from(*alpha)).sum();
    let what = format!("n {n} s {key_bits} k {k}");
    let [a, b, c] = [|t: &Triples| t.a.clone(), |t: &Triples| t.b.clone(), |t: &Triples| t.c.clone()].map(|of| {
        let parts: Vec<_> = ends.iter().map(|(_, triples)| of(triples)).collect();
        combined(alpha, &parts.iter().collect::<Vec<_>>(), &what)
    });
    assert_eq!((a.ring().bits(), a.len()), (k + key_bits, len), "{what}");
    assert!(are_products(&a, &b, &c, ring), "{what}");
    [a, b].iter().flat_map(|x| x.convert(ring).to_u64s()).collect()
}

/// Parties, bits of keys, bits of values, and how many triples.
const CASES: [(usize, u32, u32, usize); 7] =
    [(2, 64, 64, 3), (2, 64, 1, 70), (2, 64, 128, 2), (2, 48, 32, 5), (2, 32, 8, 20), (3, 64, 64, 2), (4, 48, 16, 3)];

#[test]
fn triples_are_products_in_every_ring_among_any_number_of_parties() {
    for (_, form) in &FORMS {
        for (n, key_bits, k, len) in CASES {
            checked(n, form(Params::new(key_bits, true).unwrap()), k, len);
        }
    }
}

/// Triples of every form are right with the published authentication, which sends more.
#[test]
fn triples_are_right_with_the_published_authentication() {
    for (name, form) in FORMS {
        let params = form(Params::new(32, true).unwrap());
        checked(2, params.with_cope(), 8, 5);
        checked(3, params.with_cope(), 8, 2);
        let [cope, usual] = [params.with_cope(), params].map(|params| costs(params, 8, 300));
        assert!(cope.1 == usual.1 && 2 * cope.0 > 3 * usual.0, "{name}: {cope:?}, {usual:?}");
    }
}

#[test]
fn factors_of_tiny_rings_take_every_value_about_as_often() {
    for (name, form) in FORMS {
        let mut counts = [0; 4];
        let factors = checked(2, form(Params::new(32, true).unwrap()), 2, 1030);
        factors.iter().for_each(|&x| counts[x as usize] += 1);
        let expected = factors.len() as f64 / 4.0;
        let chi_square: f64 = counts.iter().map(|&count| (f64::from(count) - expected).powi(2) / expected).sum();
        // Exceeded by chance once in 10^10 times.
        assert!(chi_square < 50.0, "{name}: {counts:?}");
    }
}

#[test]
fn costs_are_those_of_a_dry_run() {
    let cases = [(2, 64, 64, FORMS[0]), (3, 48, 32, FORMS[0])].into_iter();
    let others = FORMS[1..].iter().flat_map(|&form| [(2, 64, 64, form), (3, 32, 8, form)]);
    for (n, key_bits, k, (_, form)) in cases.chain(others) {
        let params = form(Params::new(key_bits, true).unwrap());
        let make = async |ctx: &Ctx, keys: &Keys| keys.triples(ctx, Ring::of(k), 10).await.map(|_| ());
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

/// Returns the cost of a triple in a batch of `len` between two parties: the bytes of each, and the rounds in all.
fn costs(params: Params, k: u32, len: usize) -> (u64, u32) {
    let make = async |ctx: &Ctx| {
        let s = Spdz2k::new_dry(2, ctx.me(), params)?;
        let keys = s.keys();
        keys.triples(ctx, Ring::of(k), len).await.map(|_| ())
    };
    let predicted = dry::together(&[0; 2], Phase::Offline, make).unwrap();
    let offline = &predicted[0].1.offline;
    (offline.sent.iter().sum::<u64>() / len as u64, offline.rounds)
}

/// The design's figures for two parties, k = s = 64, and for k = 32, s = 48; and the stated rounds.
#[test]
fn triples_take_the_bytes_and_rounds_that_are_stated() {
    let (long, short) = (Params::new(64, false).unwrap(), Params::new(48, false).unwrap());
    let two_keys = [long, short].map(Params::with_triples_under_two_keys);
    let buckets = [long, short].map(Params::with_triples_in_buckets);
    for (params, k, len, bytes, rounds) in [
        (long, 64, 1024, 9_300..9_500, 37),
        (short, 32, 1024, 4_600..4_800, 37),
        (two_keys[0], 64, 1024, 13_400..13_700, 29),
        (two_keys[1], 32, 1024, 6_300..6_600, 29),
        (buckets[0], 64, 200_000, 36_900..37_500, 23 * 196 + 7),
        (buckets[1], 32, 100_000, 17_500..18_000, 23 * 98 + 7),
        (buckets[0], 64, 1002, 55_500..56_500, 23 * 2 + 7),
        (buckets[0], 64, 1, 560_000..600_000, 30),
    ] {
        let (each, all) = costs(params, k, len);
        println!("{params:?}, k {k}, {len} at a time: {each} bytes a triple");
        assert!(bytes.contains(&each), "{params:?}, k {k}, {len} at a time: {each} bytes");
        assert_eq!(all, rounds, "{params:?}");
    }
}
