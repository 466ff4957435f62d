//! The costs of comparison and equality as in the paper: its Tables IV and V.

use quorate_authenticated::Kind;
use quorate_engine::testing::parties;
use quorate_engine::{Ctx, EdaBits, Phase, Result, Sharing, TruncMasks, dry};
use quorate_gadgets::testing::trunc_paper::{trunc_p, trunc_p1, trunc_p2};
use quorate_gadgets::{Gadgets, MakesAhead, Sign, Width};
use quorate_ring::{Ring, Vector};
use quorate_spdz2k::{Params, Spdz2k};

/// The number of elements that are compared at once; it fills the bytes of messages of bits.
const LEN: usize = 1000;

/// Returns the random bits and triples of bits for one element, and the bytes online of both parties together.
fn costs(params: Params, k: u32, compare: bool) -> (usize, usize, f64) {
    let (ring, s) = (Ring::of(k), Spdz2k::insecure_dry(2, 0, params).unwrap());
    s.record_demand();
    let work = async |ctx: &Ctx| -> Result<()> {
        let x = s.public(&Vector::shape(ring, LEN));
        let bit = match compare {
            true => s.lt(ctx, &x, &x, Width::Difference(k)).await?,
            false => s.eqz(ctx, &x).await?,
        };
        s.bit_to_ring(ctx, &bit, ring).await.map(drop)
    };
    let online = dry::run(0, 2, Phase::Online, work).unwrap().1.online;
    let demand = s.take_demand();
    let count = |kind: &Kind| demand.totals().get(kind).copied().unwrap_or_default() / LEN;
    let kinds = [Kind::RandomBit { bits: k }, Kind::Triple { bits: 1 }];
    assert!(demand.totals().keys().all(|kind| kinds.contains(kind)), "{:?}", demand.totals());
    (count(&kinds[0]), count(&kinds[1]), 2.0 * online.bytes() as f64 / LEN as f64)
}

#[test]
fn comparisons_take_what_the_paper_says_and_send_no_more() {
    for (key_bits, k, compare, [random, triples, bytes]) in [
        (48, 32, true, [33, 60, 46]),
        (64, 64, true, [65, 124, 94]),
        (48, 32, false, [33, 31, 24]),
        (64, 64, false, [65, 63, 48]),
    ] {
        let params = Params::new(key_bits, false).unwrap().as_in_the_paper();
        let (bits, ands, sent) = costs(params, k, compare);
        assert_eq!((bits, ands), (random, triples), "k {k}, comparison {compare}");
        assert!(sent <= bytes as f64 + 0.1, "k {k}, comparison {compare}: {sent} bytes");
    }
}

/// Runs `work` at each of two parties that have bits as in the paper, and opens its results; returns those of the
/// first.
fn opened(work: impl AsyncFn(&Spdz2k, &Ctx) -> Result<Vec<Vec<u64>>> + Sync) -> Vec<Vec<u64>> {
    let mut ends = parties(2, |mut party| {
        let mut run = party.begin_alone().unwrap();
        let params = Params::default().as_in_the_paper();
        let set_up = run.phase(Phase::Offline, async |ctx| Spdz2k::insecure_set_up(ctx, params, None).await);
        let s = set_up.unwrap();
        let out = run.phase(Phase::Online, async |ctx| work(&s, ctx).await).unwrap();
        run.finish();
        out
    });
    ends.swap_remove(0)
}

#[test]
fn masks_are_what_their_bits_say() {
    for (width, ring, cut) in [(1, 1, None), (1, 8, None), (8, 8, Some(1)), (8, 8, Some(7)), (8, 11, None)] {
        let got = opened(async |s, ctx| {
            let (width, ring) = (Ring::of(width), Ring::of(ring));
            let EdaBits { value, shifted, bits } = match width == ring {
                true => s.edabits(ctx, ring, cut, 40).await?,
                false => s.wide_edabits(ctx, width, ring, 40).await?,
            };
            let of_bits = s.open_bits(ctx, &bits).await?.to_vector(width).to_u64s();
            let mut all = vec![s.open(ctx, &value).await?.to_u64s(), of_bits];
            if let Some(shifted) = shifted {
                all.push(s.open(ctx, &shifted).await?.to_u64s());
            }
            Ok(all)
        });
        assert_eq!(got[0], got[1], "width {width} in {ring} bits");
        assert!(got[0].iter().any(|value| *value != got[0][0]));
        if let Some(cut) = cut {
            assert_eq!(got[2], got[0].iter().map(|value| value >> cut).collect::<Vec<_>>());
        }
    }
    for (k, cut) in [(3, 1), (8, 3), (16, 14)] {
        let got = opened(async |s, ctx| {
            let TruncMasks { value, shifted, top } = s.trunc_masks(ctx, Ring::of(k), cut, 40).await?;
            assert_eq!(s.shape(&top).0, Ring::of(cut + 1));
            let mut all = Vec::new();
            for x in [&value, &shifted, &top] {
                all.push(s.open(ctx, x).await?.to_u64s());
            }
            Ok(all)
        });
        for (i, &value) in got[0].iter().enumerate() {
            assert_eq!(got[1][i], (value & ((1 << (k - 1)) - 1)) >> cut, "k {k}, cut {cut}");
            assert_eq!(got[2][i], value >> (k - 1), "k {k}, cut {cut}");
        }
        assert!(got[2].contains(&1) && got[2].contains(&0));
    }
}

#[test]
fn numbers_are_rounded_and_widened_on_these_masks() {
    let numbers: Vec<i64> = (-32..32).collect();
    let got = opened(async |s, ctx| {
        let ring = Ring::of(8);
        let x = s.public(&Vector::from_i64s(ring, &numbers));
        let rounded = s.open(ctx, &s.trunc_prob(ctx, &x, 2).await?).await?.to_i64s();
        let wide = s.open(ctx, &s.convert(ctx, &x, Ring::of(20), Sign::Signed).await?).await?.to_i64s();
        Ok([rounded, wide].map(|values| values.into_iter().map(|x| x as u64).collect()).to_vec())
    });
    for (i, &x) in numbers.iter().enumerate() {
        let (rounded, wide) = (got[0][i] as i64, got[1][i] as i64);
        assert!(rounded == x >> 2 || rounded == (x >> 2) + i64::from(x % 4 != 0), "{x}: {rounded}");
        assert_eq!(wide, x);
    }
}

/// The costs of the forms of truncation beside their edaBit, which is made from random bits as in the paper.
#[test]
fn truncations_are_those_of_the_paper_at_their_cost() {
    let numbers: Vec<i64> = (-32..32).collect();
    let got = opened(async |s, ctx| {
        let x = s.public(&Vector::from_i64s(Ring::of(20), &numbers));
        let all =
            [trunc_p(s, ctx, &x, 2, 6).await?, trunc_p1(s, ctx, &x, 2, 6).await?, trunc_p2(s, ctx, &x, 2, 6).await?];
        let mut got = Vec::new();
        for form in &all {
            got.push(s.open(ctx, form).await?.to_i64s().into_iter().map(|x| x as u64).collect());
        }
        Ok(got)
    });
    // This one is off by 2^18 once in 2^14 numbers.
    let off = |form: usize, i: usize| got[form][i] as i64 - (numbers[i] >> 2);
    for (i, number) in numbers.iter().enumerate() {
        let up = i64::from(number % 4 != 0);
        assert!([0, up].contains(&off(2, i)) && [0, -(1 << 18)].contains(&off(1, i)), "{number}");
        assert!([0, up].contains(&(off(0, i) & 0xffff)), "{number}");
    }
    let (k, shift, ring) = (32, 12, Ring::of(32));
    let costs = |form: usize| {
        let s = Spdz2k::insecure_dry(2, 0, Params::default().as_in_the_paper()).unwrap();
        s.record_demand();
        let work = async |ctx: &Ctx| {
            let x = s.public(&Vector::shape(ring, LEN));
            match form {
                0 => trunc_p(&s, ctx, &x, shift, 24).await,
                1 => trunc_p1(&s, ctx, &x, shift, 24).await,
                _ => trunc_p2(&s, ctx, &x, shift, 24).await,
            }
            .map(drop)
        };
        let online = dry::run(0, 2, Phase::Online, work).unwrap().1.online;
        let totals = s.take_demand().totals().clone();
        let count = |kind: &Kind| totals.get(kind).copied().unwrap_or_default() / LEN;
        (online.rounds, count(&Kind::Triple { bits: 1 }), count(&Kind::RandomBit { bits: k }))
    };
    let log = |x: u32| x.next_power_of_two().ilog2();
    assert_eq!([0, 1, 2].map(|form| costs(form).0), [1, 2 + log(shift), 2 + log(k)]);
    assert_eq!([0, 1, 2].map(|form| costs(form).1), [0, 2 * shift as usize - 2, 2 * k as usize - 2]);
    assert_eq!([0, 1, 2].map(|form| costs(form).2), [32, 33, 32]);
}
