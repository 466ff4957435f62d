//! Programs on correlations that parties make: right, at the cost of a dry run, and kinds are what they should be.

use quorate_engine::testing::parties;
use quorate_engine::{Costs, Ctx, Demand, Phase, Result, Sharing, Stocks, dry};
use quorate_gadgets::{Family, Gadgets, Width};
use quorate_ring::{Ring, Vector};
use quorate_spdz2k::{InsecureBits, Kind, Params, Spdz2k};

use crate::common::{assert_kind, both, made};

fn weak() -> Params {
    Params::new(32, true).unwrap()
}

/// What each party gets of a program that runs on what was made ahead for it, at the cost that was predicted.
fn run<T: Send>(n: usize, params: Params, program: impl AsyncFn(&Spdz2k, &Ctx) -> Result<T> + Sync) -> Vec<T> {
    let predict = async |ctx: &Ctx| {
        let s = Spdz2k::new_dry(n, ctx.me(), params)?;
        s.record_demand();
        program(&s, ctx).await?;
        Ok(s.take_demand())
    };
    let predicted: Vec<(Demand<Kind>, Costs)> = dry::together(&vec![0; n], Phase::Online, predict).unwrap();
    let prepare = async |ctx: &Ctx| {
        let s = Spdz2k::new_dry(n, ctx.me(), params)?;
        s.make_all(ctx, predicted[ctx.me()].0.clone()).await
    };
    let made = dry::together(&vec![0; n], Phase::Offline, prepare).unwrap();
    parties(n, |mut party| {
        let me = party.me();
        let mut run = party.begin_alone().unwrap();
        let s = run.phase(Phase::Offline, async |ctx| Spdz2k::set_up(ctx, params, None).await).unwrap();
        run.finish();
        let mut run = party.begin_alone().unwrap();
        run.phase(Phase::Offline, async |ctx| s.make_all(ctx, predicted[me].0.clone()).await).unwrap();
        let done = run.phase(Phase::Online, async |ctx| program(&s, ctx).await).unwrap();
        let costs = run.finish();
        assert_eq!((costs.offline, costs.online), (made[me].1.offline.clone(), predicted[me].1.online.clone()));
        party.leave(false);
        done
    })
}

async fn revealed(s: &Spdz2k, ctx: &Ctx, values: &[<Spdz2k as Sharing>::A]) -> Result<Vec<Vec<i64>>> {
    let checked = s.check(ctx).await?;
    let mut shown = Vec::new();
    for value in values {
        shown.extend(s.reveal(ctx, &checked, value, None).await?);
    }
    let checked = s.check(ctx).await?;
    shown.into_iter().map(|value| Ok(value.believe(&checked)?.into_inner().to_i64s())).collect()
}

#[test]
fn programs_are_right_on_what_was_made_for_them() {
    let values = [5i64, -7, 30, -100];
    let elements = weak().with_bits_as_elements();
    let paper = weak().as_in_the_paper();
    let (buckets, two_keys) = (weak().with_triples_in_buckets(), weak().with_triples_under_two_keys());
    let cases = [
        (2, weak(), 8),
        (2, elements, 8),
        (2, paper, 8),
        (3, weak(), 8),
        (2, Params::default(), 64),
        (2, buckets, 8),
        (3, buckets, 8),
        (2, two_keys, 8),
        (3, two_keys.with_bits_as_elements(), 8),
        (2, weak().with_cope(), 8),
        (2, buckets.with_cope(), 8),
    ];
    for (n, params, k) in cases {
        let ring = Ring::of(k);
        let program = async |s: &Spdz2k, ctx: &Ctx| {
            let own = |owner: usize| (ctx.me() == owner).then(|| Vector::from_i64s(ring, &values));
            let x = s.input(ctx, 0, (ring, 4), own(0).as_ref()).await?;
            let y = s.input(ctx, n - 1, (ring, 4), own(n - 1).as_ref()).await?;
            let product = s.mul(ctx, &x, &y).await?;
            let less = s.lt(ctx, &x, &product, Width::Full).await?;
            let less = s.bit_to_ring(ctx, &less, ring).await?;
            let half = s.trunc_exact(ctx, &x, 1).await?;
            let shuffled = s.shuffle(ctx, &[&x], 4).await?;
            revealed(s, ctx, &[product, less, half, shuffled[0].clone()]).await
        };
        for done in run(n, params, program) {
            let [product, less, half, mut shuffled] = <[Vec<i64>; 4]>::try_from(done).unwrap();
            let wrapped = |x: i64| x << (64 - k) >> (64 - k);
            assert_eq!(product, values.map(|x| wrapped(x * x)));
            assert_eq!(less, values.map(|x| i64::from(x < wrapped(x * x))));
            assert_eq!(half, values.map(|x| x >> 1));
            shuffled.sort();
            assert_eq!(shuffled, [-100, -7, 5, 30]);
        }
    }
}

/// What both parties' shares of one kind add up to.
fn put_together(params: Params, kind: &Kind, len: usize) -> (Vec<Vector>, Vec<Vector>) {
    let ends: Vec<_> = made(params, kind, len, None).into_iter().map(|(done, _)| done.unwrap()).collect();
    let all = both(&ends, &format!("{kind}"));
    assert_kind(kind, &all, &format!("{kind}"));
    all
}

#[test]
fn random_bits_are_as_often_one_as_zero() {
    for (params, k, len) in [(weak(), 1, 600), (weak(), 7, 600), (Params::default(), 63, 40)] {
        let bits = &put_together(params, &Kind::RandomBit { bits: k }, len).0[0];
        let ones: u64 = bits.convert(Ring::of(1)).to_u64s().iter().sum();
        let spread = (len as f64).sqrt() * 3.0;
        assert!((ones as f64 - len as f64 / 2.0).abs() < spread, "{ones} of {len}");
    }
    let widest = put_together(Params::default(), &Kind::RandomBit { bits: 126 }, 3).0;
    assert!(widest[0].convert(Ring::of(126)).to_limbs().iter().all(|limbs| limbs[0] < 2 && limbs[1..] == [0; 3]));
}

#[test]
fn triples_of_bits_are_ands_and_every_one_is_as_likely() {
    for (params, len) in [(weak(), 1), (weak(), 1200), (Params::default(), 30)] {
        let (values, _) = put_together(params, &Kind::Triple { bits: 1 }, len);
        let [a, b] = [0, 1].map(|i| values[i].convert(Ring::of(1)).to_u64s());
        let mut counts = [0; 4];
        (0..len).for_each(|i| counts[(2 * a[i] + b[i]) as usize] += 1);
        let expected = len as f64 / 4.0;
        assert!(len < 100 || counts.iter().all(|&count| (f64::from(count) - expected).abs() < 75.0), "{counts:?}");
    }
}

#[test]
fn edabits_and_truncation_masks_are_what_their_bits_say() {
    for params in [weak(), weak().with_bits_as_elements()] {
        for (bits, ring, cut) in [(8, 8, 0), (8, 11, 3), (1, 8, 0), (8, 8, 7), (5, 6, 0)] {
            put_together(params, &Kind::EdaBit { bits, ring, cut }, 9);
        }
        for (bits, cut) in [(8, 3), (3, 1), (16, 14)] {
            put_together(params, &Kind::TruncMask { bits, cut }, 9);
        }
    }
}

#[test]
fn bits_with_macs_are_what_their_kinds_say() {
    for (params, len) in [(weak(), 1), (weak(), 900), (Params::default(), 70)] {
        let (_, bits) = put_together(params, &Kind::BitTriple, len);
        let ones = |i: usize| bits[i].to_u64s().iter().sum::<u64>() as f64;
        assert!(len < 100 || [0, 1].map(ones).iter().all(|ones| (ones - 450.0).abs() < 75.0));
        put_together(params, &Kind::Link, len);
        put_together(params, &Kind::DaBit { bits: 20 }, len.min(40));
        for owner in [0, 1] {
            let ends = made(params, &Kind::BitMask { owner }, len, None).into_iter().map(|(done, _)| done.unwrap());
            let ends: Vec<_> = ends.collect();
            both(&ends, "a mask of bits");
            let InsecureBits::Macs { own, .. } = &ends[1 - owner].1.1[0] else { panic!("bits without MACs") };
            assert!(own.to_bools().iter().all(|bit| !bit), "only its owner knows it");
        }
    }
}
