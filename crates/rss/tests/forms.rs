//! Tests of protocols with the same result: each form gives it, on all inputs of tiny rings. The default of three
//! parties, on summands, is tested with the gadgets. Tested here are the other forms, truncation with rounding, and
//! conversion between rings.

use crate::common::*;
use quorate_engine::{Ctx, Error, Result, Sharing};
use quorate_gadgets::cost::Link;
use quorate_gadgets::prefix::{self, Pairs};
use quorate_gadgets::testing::may_be_chance;
use quorate_gadgets::{Gadgets, Sign, Width};
use quorate_ring::{Ring, Vector};
use quorate_rss::{BitForm, CorrelationForm, Forms, Rss};

const SUMMANDS: Forms = Forms { bits: BitForm::Summands, correlations: CorrelationForm::Summands };
/// The default of more than three parties, selected for three, too.
const MASKED: Forms = Forms { bits: BitForm::Masked, correlations: CorrelationForm::Summands };
const RANDOM: Forms = Forms { bits: BitForm::Masked, correlations: CorrelationForm::RandomBits };
const ALL: [(usize, Forms, u32); 7] =
    [(3, SUMMANDS, 6), (3, MASKED, 6), (3, PAPER, 6), (3, RANDOM, 5), (5, MASKED, 5), (5, RANDOM, 4), (7, RANDOM, 3)];

async fn shared(rss: &Rss, ctx: &Ctx, forms: Forms, k: u32, values: &[u64]) -> Result<A> {
    rss.set_forms(forms);
    share(rss, ctx, Ring::of(k), values).await
}

#[test]
fn bits_of_all_elements() {
    for (n, forms, top) in ALL {
        for k in 1..=top + 1 {
            let values = all(k);
            let (msb, eqz, bits) = agreed(n, async |rss, ctx| {
                let x = shared(rss, ctx, forms, k, &values).await?;
                let bits = rss.bit_decompose(ctx, &x).await?;
                Ok((
                    open_bits(rss, ctx, &rss.msb(ctx, &x).await?).await?,
                    open_bits(rss, ctx, &rss.eqz(ctx, &x).await?).await?,
                    rss.open_bits(ctx, &bits).await?.to_vector(Ring::of(k)).to_u64s(),
                ))
            });
            for (i, &x) in values.iter().enumerate() {
                assert_eq!((msb[i], eqz[i], bits[i]), (x >> (k - 1) == 1, x == 0, x), "n {n} {forms:?} k {k}: {x}");
            }
        }
    }
}

#[test]
fn comparison_of_all_pairs() {
    for (n, forms, top) in ALL {
        let k = top.min(5);
        let (x, y) = all_pairs(k);
        let less = agreed(n, async |rss, ctx| {
            let (a, b) = (shared(rss, ctx, forms, k, &x).await?, shared(rss, ctx, forms, k, &y).await?);
            open_bits(rss, ctx, &rss.lt(ctx, &a, &b, Width::Full).await?).await
        });
        (0..x.len()).for_each(|i| assert_eq!(less[i], signed(k, x[i]) < signed(k, y[i]), "n {n} {forms:?} k {k}"));
    }
}

#[test]
fn exact_truncation_by_every_shift() {
    for (n, forms, top) in ALL {
        for k in 1..=top {
            let values = all(k).repeat(2);
            for shift in 0..=k {
                let got = agreed(n, async |rss, ctx| {
                    let x = shared(rss, ctx, forms, k, &values).await?;
                    Ok(rss.open(ctx, &rss.trunc_exact(ctx, &x, shift).await?).await?.to_i64s())
                });
                (0..got.len()).for_each(|i| assert_eq!(got[i], signed(k, values[i]) >> shift, "n {n} {forms:?} k {k}"));
            }
        }
    }
}

/// Every element of the domain, often enough that both roundings occur; there is no other result.
#[test]
fn truncation_rounds_down_or_up_and_never_far_off() {
    for (n, forms, top) in ALL {
        for k in 3..=top.max(4) {
            let domain: Vec<i64> = (-(1i64 << (k - 2))..1 << (k - 2)).collect();
            let repeats = 64;
            let values: Vec<u64> = domain.iter().map(|&x| x as u64).collect::<Vec<_>>().repeat(repeats);
            for shift in 1..=k - 2 {
                let got = agreed(n, async |rss, ctx| {
                    let x = shared(rss, ctx, forms, k, &values).await?;
                    Ok(rss.open(ctx, &rss.trunc_prob(ctx, &x, shift).await?).await?.to_i64s())
                });
                let (mut up, mut down) = (0, 0);
                for (i, &got) in got.iter().enumerate() {
                    let x = domain[i % domain.len()];
                    let (floor, exact) = (x >> shift, x % (1 << shift) == 0);
                    let right = got == floor || (!exact && got == floor + 1);
                    assert!(right, "n {n} {forms:?} k {k}: {x} / 2^{shift} gave {got}");
                    up += usize::from(got > floor);
                    down += usize::from(got == floor && !exact);
                }
                assert!(up > 0 && down > 0, "n {n} {forms:?} k {k} shift {shift}: up {up} down {down}");
            }
        }
    }
}

#[test]
fn truncation_rounds_up_as_often_as_the_fraction_says() {
    let (k, shift, len) = (20, 4, 20_000);
    for forms in [SUMMANDS, MASKED, PAPER, RANDOM] {
        for fraction in [1u64, 5, 8, 15] {
            let values = vec![(3 << shift) + fraction; len];
            let got = agreed(3, async |rss, ctx| {
                let x = shared(rss, ctx, forms, k, &values).await?;
                open(rss, ctx, &rss.trunc_prob(ctx, &x, shift).await?).await
            });
            let up = got.iter().filter(|&&q| q == 4).count();
            assert!(may_be_chance(up, len, fraction as f64 / 16.0), "{forms:?}, {fraction}/16: {up} of {len}");
        }
    }
}

/// A fresh input has shares that are zero; still, no owner's values are always rounded down.
#[test]
fn fresh_inputs_are_rounded_up_as_often_too() {
    let (k, shift, len) = (20, 4, 6000);
    for fraction in [1u64, 8, 15] {
        let value = Vector::from_u64s(Ring::of(k), &vec![(3 << shift) + fraction; len]);
        for owner in 0..3 {
            let got = agreed(3, async |rss, ctx| {
                let own = (ctx.me() == owner).then_some(&value);
                let x = rss.input(ctx, owner, (Ring::of(k), len), own).await?;
                open(rss, ctx, &rss.trunc_prob(ctx, &x, shift).await?).await
            });
            for block in got.chunks(len / 3) {
                let (up, len) = (block.iter().filter(|&&q| q == 4).count(), block.len());
                assert!(may_be_chance(up, len, fraction as f64 / 16.0), "owner {owner}, {fraction}/16: {up} of {len}");
            }
        }
    }
}

#[test]
fn truncation_beyond_its_domain_of_shifts_is_refused() {
    for forms in [SUMMANDS, MASKED] {
        let errors = run(3, async |rss, ctx| {
            let x = shared(rss, ctx, forms, 8, &[1, 2]).await?;
            Ok(rss.trunc_prob(ctx, &x, 7).await.err())
        });
        assert!(errors.into_iter().all(|(error, _)| matches!(error, Some(Error::Misuse { .. }))));
    }
}

#[test]
fn conversion_between_all_small_rings() {
    for (n, forms, top) in ALL {
        for k in 1..=top {
            let values = all(k).repeat(2);
            for wide in (1..=top + 2).chain([33, 64]) {
                let got = agreed(n, async |rss, ctx| {
                    let x = shared(rss, ctx, forms, k, &values).await?;
                    let signed = rss.convert(ctx, &x, Ring::of(wide), Sign::Signed).await?;
                    let unsigned = rss.convert(ctx, &x, Ring::of(wide), Sign::Unsigned).await?;
                    assert_eq!(rss.shape(&signed).0, Ring::of(wide));
                    Ok((open(rss, ctx, &signed).await?, open(rss, ctx, &unsigned).await?))
                });
                for (i, &x) in values.iter().enumerate() {
                    let expected = (signed(k, x) as u64 & mask(wide), x & mask(wide));
                    assert_eq!((got.0[i], got.1[i]), expected, "n {n} {forms:?}: {x} from {k} to {wide} bits");
                }
            }
        }
    }
}

/// Networks that join neighbours first, and others, give the carries of every prefix.
#[test]
fn prefixes_by_pairs_are_those_of_the_other_network() {
    for width in 1..=33usize {
        let (generate, propagate) = (noise(width as u64, 50 * width), noise(99, 50 * width));
        let exclusive = |g: &[u64], p: &[u64]| p.iter().zip(g).map(|(p, g)| p & 1 & !g == 1).collect::<Vec<_>>();
        let generates: Vec<bool> = generate.iter().map(|g| g & 1 == 1).collect();
        let propagates = exclusive(&generate, &propagate);
        let (one, other) = agreed(3, async |rss, ctx| {
            let pairs = async || -> Result<Pairs<B>> {
                let generate = share_bits(rss, ctx, width, 50, &generates).await?;
                Ok(Pairs { generate, propagate: share_bits(rss, ctx, width, 50, &propagates).await? })
            };
            let (one, other) = (pairs().await?, pairs().await?);
            let one = prefix::all(rss, ctx, one).await?;
            let other = prefix::all_by_pairs(rss, ctx, other).await?;
            Ok((open_bits(rss, ctx, &one).await?, open_bits(rss, ctx, &other).await?))
        });
        assert_eq!(one, other, "width {width}");
    }
}

/// The form that is predicted to be cheaper is used; the prediction follows the link and the batch.
#[test]
fn the_cheaper_form_of_edabits_is_made() {
    let far = Link { round_trip_seconds: 0.1, bytes_per_second: 1e9 };
    let thin = Link { round_trip_seconds: 1e-5, bytes_per_second: 1e6 };
    for (link, len, rounds) in [(far, 10, 1), (thin, 1000, 8)] {
        let forms = Forms { bits: BitForm::Masked, correlations: CorrelationForm::Cheaper(link) };
        for (_, costs) in run(3, async |rss, ctx| {
            rss.set_forms(forms);
            let eda = rss.edabits(ctx, Ring::of(32), None, len).await?;
            let values = rss.open(ctx, &eda.value).await?;
            assert_eq!(values.to_bits(0..32).to_bools(), rss.open_bits(ctx, &eda.bits).await?.to_bools());
            Ok(())
        }) {
            assert_eq!(costs.offline.rounds, rounds);
        }
    }
}
