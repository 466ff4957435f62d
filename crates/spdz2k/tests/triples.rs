//! Triples are products, their tags are right, factors are uniform, and costs are those of a dry run.

use quorate_engine::{Ctx, Phase, dry};
use quorate_ring::Ring;
use quorate_spdz2k::{Keys, Params, Triples};

use crate::common::{are_products, combined, run};

fn checked(n: usize, key_bits: u32, k: u32, len: usize) -> Vec<u64> {
    let (params, ring) = (Params::new(key_bits, true).unwrap(), Ring::of(k));
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

#[test]
fn triples_are_products_in_every_ring_among_any_number_of_parties() {
    for (n, key_bits, k, len) in [
        (2, 64, 64, 3),
        (2, 64, 1, 70),
        (2, 64, 126, 2),
        (2, 48, 32, 5),
        (2, 32, 8, 20),
        (3, 64, 64, 2),
        (4, 48, 16, 3),
    ] {
        checked(n, key_bits, k, len);
    }
}

#[test]
fn factors_of_tiny_rings_take_every_value_about_as_often() {
    let mut counts = [0; 4];
    let factors = checked(2, 32, 2, 1030);
    factors.iter().for_each(|&x| counts[x as usize] += 1);
    let expected = factors.len() as f64 / 4.0;
    let chi_square: f64 = counts.iter().map(|&count| (f64::from(count) - expected).powi(2) / expected).sum();
    assert!(chi_square < 30.0, "{counts:?}");
}

#[test]
fn costs_are_those_of_a_dry_run() {
    for (n, key_bits, k) in [(2, 64, 64), (3, 48, 32)] {
        let params = Params::new(key_bits, true).unwrap();
        let make = async |ctx: &Ctx, keys: &Keys| keys.triples(ctx, Ring::of(k), 10).await.map(|_| ());
        let both = run(n, params, None, make);
        let alone = run(n, params, None, async |_, _| Ok(()));
        let of_dry = async |ctx: &Ctx| make(ctx, &Keys::dry(n, ctx.me(), params)?).await;
        let predicted = dry::together(&vec![0; n], Phase::Offline, of_dry).unwrap();
        for (me, (both, alone)) in both.iter().zip(&alone).enumerate() {
            let sent = both.traffic.sent.iter().zip(&alone.traffic.sent).map(|(both, alone)| both - alone);
            assert_eq!(sent.collect::<Vec<_>>(), predicted[me].1.offline.sent, "party {me} of {n}");
            assert_eq!(both.traffic.rounds - alone.traffic.rounds, predicted[me].1.offline.rounds);
        }
    }
}

/// The design's figure for two parties, k = s = 64: 9.4 kB a party and triple.
#[test]
fn a_triple_takes_the_bytes_of_the_design() {
    let make = async |ctx: &Ctx| {
        let keys = Keys::dry(2, ctx.me(), Params::default())?;
        keys.triples(ctx, Ring::of(64), 1024).await.map(|_| ())
    };
    let predicted = dry::together(&[0; 2], Phase::Offline, make).unwrap();
    let each = predicted[0].1.offline.sent.iter().sum::<u64>() / 1024;
    assert!((9_300..9_500).contains(&each), "{each} bytes a triple");
    assert_eq!(predicted[0].1.offline.rounds, 37);
}
