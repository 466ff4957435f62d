//! Signs, equality and truncation by keys equal plain arithmetic, at the stated cost.

use crate::common::*;
use quorate_engine::{Ctx, Result};
use quorate_gadgets::cost::Link;
use quorate_gadgets::{Choices, Gadgets, Width};
use quorate_pika::cost::Bill;
use quorate_pika::{Comparisons, Kind, Pika, PikaMalicious};
use quorate_ring::Ring;

const FORMS: [Comparisons; 2] = [Comparisons::EdaBits, Comparisons::Keys];

/// Returns all elements of tiny rings; for larger ones noise, and numbers near the edges.
fn elements(k: u32) -> Vec<u64> {
    if k <= 9 {
        return all(k);
    }
    let edges = [0, 1 << (k - 2), 1 << (k - 1), (1 << (k - 1)) + (1 << (k - 2))];
    let near = edges.into_iter().flat_map(|edge: u64| (0..5).map(move |i| edge.wrapping_add(i).wrapping_sub(2)));
    near.chain(noise(u64::from(k), 100)).map(|x| x & mask(k)).collect()
}

/// All elements several times, so that masks differ.
fn repeated(k: u32) -> Vec<u64> {
    elements(k).repeat(if k <= 5 { 40 } else { 3 })
}

#[test]
fn signs_and_zeros() {
    for k in (1..=9).chain([10, 16, 33, 63, 64]) {
        let values = repeated(k);
        let [signs, zeros] = agreed(async |s, ctx| {
            s.set_comparisons(Comparisons::Keys);
            let x = share(s, ctx, Ring::of(k), &values).await?;
            Ok([open_bits(s, ctx, &s.msb(ctx, &x).await?).await?, open_bits(s, ctx, &s.eqz(ctx, &x).await?).await?])
        });
        for ((&x, sign), zero) in values.iter().zip(signs).zip(zeros) {
            assert_eq!((sign, zero), (signed(k, x) < 0, x == 0), "k {k}: {x}");
        }
    }
}

/// All pairs of tiny rings, over the full range and where the difference is known to fit.
#[test]
fn comparison_of_all_pairs() {
    for k in (1..=6).chain([33, 64]) {
        let (left, right) = match k {
            1..=6 => all_pairs(k),
            _ => elements(k).into_iter().zip(noise(3, 120)).map(|(x, y)| (x, y & mask(k))).unzip(),
        };
        let less = agreed(async |s, ctx| {
            s.set_comparisons(Comparisons::Keys);
            let (x, y) = (share(s, ctx, Ring::of(k), &left).await?, share(s, ctx, Ring::of(k), &right).await?);
            let full = open_bits(s, ctx, &s.lt(ctx, &x, &y, Width::Full).await?).await?;
            let bounded = s.lt(ctx, &x, &y, Width::Difference(k)).await?;
            Ok([full, open_bits(s, ctx, &bounded).await?])
        });
        for (i, (&x, &y)) in left.iter().zip(&right).enumerate() {
            let (x, y) = (i128::from(signed(k, x)), i128::from(signed(k, y)));
            assert_eq!(less[0][i], x < y, "k {k}: {x} < {y}");
            let fits = (-(1 << (k - 1))..1 << (k - 1)).contains(&(x - y));
            assert!(!fits || less[1][i] == (x < y), "k {k}: {x} < {y}, bounded");
        }
    }
}

/// Every shift, for all numbers and for those that leave a bit free.
#[test]
fn exact_truncation() {
    for (form, k) in FORMS.into_iter().flat_map(|form| (1..=8).chain([33, 63, 64]).map(move |k| (form, k))) {
        let values = elements(k).repeat(if k <= 5 { 10 } else { 1 });
        let fits = |x: u64| (-(1i64 << (k.max(2) - 2))..1 << (k.max(2) - 2)).contains(&signed(k, x));
        let small: Vec<u64> = values.iter().copied().filter(|&x| if k == 1 { x == 0 } else { fits(x) }).collect();
        let shifts: Vec<u32> = if k <= 8 { (0..=k).collect() } else { vec![1, 7, 8, 16, k / 2, k - 2, k - 1, k] };
        let got = agreed(async |s, ctx| {
            s.set_comparisons(form);
            let (x, y) = (share(s, ctx, Ring::of(k), &values).await?, share(s, ctx, Ring::of(k), &small).await?);
            let mut all = Vec::new();
            for &shift in &shifts {
                let exact = shown(s, ctx, &s.trunc_exact(ctx, &x, shift).await?).await?.to_i64s();
                all.push([exact, shown(s, ctx, &s.trunc_bounded(ctx, &y, shift).await?).await?.to_i64s()]);
            }
            Ok(all)
        });
        assert!(!small.is_empty());
        for (&shift, got) in shifts.iter().zip(got) {
            for (values, got) in [&values, &small].into_iter().zip(got) {
                for (&x, got) in values.iter().zip(got) {
                    assert_eq!(got, signed(k, x) >> shift.min(63), "{form:?}, k {k}: {x} by {shift}");
                }
            }
        }
    }
}

/// More numbers than a chunk has.
#[test]
fn long_vectors() {
    let (k, len) = (64, 3001);
    let values = noise(8, len);
    let (signs, floors) = agreed(async |s, ctx| {
        s.set_comparisons(Comparisons::Keys);
        let x = share(s, ctx, Ring::of(k), &values).await?;
        let signs = open_bits(s, ctx, &s.msb(ctx, &x).await?).await?;
        Ok((signs, shown(s, ctx, &s.trunc_exact(ctx, &x, 20).await?).await?.to_i64s()))
    });
    assert!(values.iter().zip(signs).all(|(&x, sign)| sign == ((x as i64) < 0)));
    assert!(values.iter().zip(floors).all(|(&x, floor)| floor == x as i64 >> 20));
}

/// Returns the kinds that a session's form draws, for `len` comparisons.
fn drawn(form: Comparisons, k: u32, len: usize) -> Vec<Kind> {
    let demand = demand_of_all(&async |s: &Pika, ctx: &Ctx| -> Result<()> {
        s.set_comparisons(form);
        let x = quorate_engine::Sharing::public(s, &quorate_ring::Vector::shape(Ring::of(k), len));
        s.msb(ctx, &x).await.map(drop)
    });
    demand.totals().keys().cloned().collect()
}

/// Few numbers take keys, and many take edaBits; the longer the link's round trip, the more numbers take keys. Rings of
/// more than a word have no keys.
#[test]
fn the_form_is_predicted() {
    let link = |ms: f64, megabits: f64| Link { round_trip_seconds: ms / 1e3, bytes_per_second: megabits * 1e6 / 8.0 };
    let links =
        [Comparisons::default(), Comparisons::Cheaper(link(1.0, 1000.0)), Comparisons::Cheaper(link(70.0, 100.0))];
    let by_key = |form: Comparisons, len: usize| drawn(form, 64, len).contains(&Kind::SignKey { bits: 64 });
    let most = links.map(|form| (0..20).map(|log| 1 << log).filter(|&len| by_key(form, len)).max().unwrap_or(0));
    assert!(most[0] >= 1 && most[0] < most[1] && most[1] < most[2] && most[2] < 1 << 14, "{most:?}");
    assert!(by_key(Comparisons::Keys, 1 << 19) && !by_key(Comparisons::EdaBits, 1));
    assert!(!drawn(Comparisons::Keys, 65, 1).iter().any(|kind| matches!(kind, Kind::SignKey { .. })));
    let dealt = |bill: Bill| bill.offline().bytes[2];
    assert_eq!(dealt(quorate_pika::cost::msb_by_key(64, 1)), 2 * 912 + 1);
    assert_eq!(dealt(quorate_pika::cost::trunc_bounded_by_key(64, 16, 1)), 2 * 160 + 8 + 2 + 8);
}

/// A session's choice reaches its parties, and is refused where it would change nothing.
#[test]
fn sessions_choose_the_form() {
    let choices = |value: &str| {
        let mut choices = Choices::default();
        assert!(choices.choose(Pika::DESCRIPTOR.option("comparisons").unwrap(), value));
        choices
    };
    let chosen = |value: &str| {
        let s = <Pika as Family>::dry(N, 0, &choices(value)).unwrap();
        s.comparisons()
    };
    assert_eq!(chosen("keys"), Comparisons::Keys);
    assert_eq!(chosen("edabits"), Comparisons::EdaBits);
    assert_eq!(chosen("auto"), Comparisons::default());
    assert!(PikaMalicious::check_choices(&choices("auto")).is_ok());
    let refused = PikaMalicious::check_choices(&choices("keys")).unwrap_err().to_string();
    assert!(refused.contains("comparisons"), "{refused}");
}
