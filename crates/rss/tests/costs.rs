//! Tests of costs: the bytes on the wire equal those of a dry run and those of the formulas in `cost`; the paper's
//! tables are an upper bound.

use crate::common::*;
use quorate_engine::{Checked, Costs, Ctx, Form, Linear, LinearBits, Phase, Positions, Result, Sharing, Traffic, dry};
use quorate_gadgets::cost as uses;
use quorate_gadgets::cost::Uses;
use quorate_gadgets::extremum::{Best, arg_extremum, extremum};
use quorate_gadgets::scale::{Rounding, Scale, scale};
use quorate_gadgets::{Gadgets, Sign, Width};
use quorate_ring::meter::{Kernel, charged};
use quorate_ring::{Bits, Conv, Ring, Vector};
use quorate_rss::cost::{self, Cost, gadget, paper};
use quorate_rss::{BitForm, CorrelationForm, Forms, Kind, Made, Rss};

const LENGTHS: [usize; 4] = [1, 13, 200, 641];

fn sum(costs: &[Costs], phase: Phase) -> Cost {
    let traffic: Vec<&Traffic> = costs.iter().map(|c| c.phase(phase)).collect();
    let rounds = traffic[0].rounds;
    assert!(traffic.iter().all(|t| t.rounds == rounds), "the parties count different rounds");
    Cost { rounds, bytes: traffic.iter().map(|t| t.bytes()).sum() }
}

/// Runs the program live and dry with a stock, and live and dry without; returns the costs of (offline, online).
fn measure<T: Send>(n: usize, work: impl AsyncFn(&Rss, &Ctx) -> Result<T> + Sync) -> (Vec<Costs>, Cost, Cost) {
    let stocked: Vec<Costs> = run_stocked(n, &work).into_iter().map(|(_, costs)| costs).collect();
    let on_demand: Vec<Costs> = run(n, &work).into_iter().map(|(_, costs)| costs).collect();
    for me in 0..n {
        let (demand, dry) = dry_online(n, me, &work);
        assert_eq!(dry.offline, Traffic::new(n), "a recording makes nothing");
        assert_eq!((&stocked[me].online, &on_demand[me].online), (&dry.online, &dry.online), "online, party {me}");
        assert_eq!(stocked[me].offline, dry_offline(n, me, &demand).offline, "offline, party {me}");
        let rss = Rss::dry(n, me).unwrap();
        let (_, dry) = dry::run(me, n, Phase::Online, async |ctx| work(&rss, ctx).await).unwrap();
        assert_eq!(on_demand[me], dry, "made on demand, party {me}");
    }
    let (offline, online) = (sum(&stocked, Phase::Offline), sum(&stocked, Phase::Online));
    (stocked, offline, online)
}

/// Returns the lengths that ring number `i` is tested with: three parties take two of them, and more parties, whose
/// runs take longer, one. All rings together take all lengths.
fn lengths(n: usize, i: usize) -> Vec<usize> {
    let both = [LENGTHS[i % 4], LENGTHS[(i + n) % 4]];
    both[..if n == 3 { 2 } else { 1 }].to_vec()
}

/// Returns public values as shares: operands of a program without an input.
fn given(rss: &Rss, ctx: &Ctx, k: u32, len: usize) -> A {
    let ring = Ring::of(k);
    rss.public(&if ctx.is_dry() { Vector::shape(ring, len) } else { Vector::zeros(ring, len) })
}

fn given_bits(rss: &Rss, ctx: &Ctx, rows: usize, lanes: usize) -> B {
    rss.public_bits(&if ctx.is_dry() { Bits::shape(rows, lanes) } else { Bits::zeros(rows, lanes) })
}

/// Checks that every party sends `bytes` to each of these parties, counted from itself around the circle.
fn assert_pairs(costs: &[Costs], bytes: u64, after: impl Iterator<Item = usize> + Clone) {
    let n = costs.len();
    for (me, costs) in costs.iter().enumerate() {
        let mut expected = vec![0; n];
        after.clone().for_each(|by| expected[(me + by) % n] = bytes);
        assert_eq!(costs.online.sent, expected, "party {me}");
    }
}

#[test]
fn primitives_pair_by_pair() {
    for n in [3, 5, 7] {
        let t = cost::threshold(n) as usize;
        for (i, k) in [1, 7, 8, 20, 33, 64].into_iter().enumerate() {
            for len in lengths(n, i) {
                let bytes = (u64::from(k) * len as u64).div_ceil(8);
                let before = (1..=t).map(|by| n - by);
                let (pairs, offline, online) =
                    measure(n, async |rss, ctx| rss.mul(ctx, &given(rss, ctx, k, len), &given(rss, ctx, k, len)).await);
                assert_eq!((offline, online), (Cost::default(), cost::mul(n, k, len)));
                assert_pairs(&pairs, bytes, before.clone());
                let (pairs, _, online) = measure(n, async |rss, ctx| rss.open(ctx, &given(rss, ctx, k, len)).await);
                assert_eq!(online, cost::open(n, k, len));
                assert_pairs(&pairs, bytes, before.clone());
                let (pairs, _, online) = measure(n, async |rss, ctx| {
                    rss.multiply_and_open(ctx, &given(rss, ctx, k, len), &given(rss, ctx, k, len)).await
                });
                assert_eq!(online, cost::mulpub(n, k, len));
                assert_pairs(&pairs, bytes, 1..n);
                let bits = |rss: &Rss, ctx: &Ctx| given_bits(rss, ctx, k as usize, len);
                let (pairs, _, online) =
                    measure(n, async |rss, ctx| rss.and(ctx, &bits(rss, ctx), &bits(rss, ctx)).await);
                assert_eq!(online, cost::mul(n, k, len));
                assert_pairs(&pairs, bytes, before.clone());
                let (_, _, online) = measure(n, async |rss, ctx| {
                    rss.reveal(ctx, &Checked::unneeded(), &given(rss, ctx, k, len), Some(1)).await
                });
                assert_eq!(online, cost::open_to_one(n, k, len));
                let (_, _, online) = measure(n, async |rss, ctx| {
                    let value = Vector::zeros(Ring::of(k), len);
                    rss.input(ctx, 2, (Ring::of(k), len), (ctx.me() == 2).then_some(&value)).await
                });
                assert_eq!(online, cost::input(n, k, len));
            }
        }
    }
}

/// A convolution of two images with three filters.
const CONV: Conv = Conv { batch: 2, channels: 4, filters: 3, before: [0, 1], ..Conv::plain([2, 3], [1, 3]) };

#[test]
fn sums_of_products_cost_one_element_a_result() {
    for n in [3, 5, 7] {
        for (form, results) in [
            (Form::Dot { outer: 2, axis: 30, inner: 5 }, 10),
            (Form::MatMul { m: 10, k: 30, n: 10 }, 100),
            (Form::Conv(CONV), 24),
        ] {
            let (pairs, offline, online) = measure(n, async |rss, ctx| {
                let [left, right] = form.lens(300);
                rss.bilinear(ctx, form, &given(rss, ctx, 20, left), &given(rss, ctx, 20, right)).await
            });
            assert_eq!((offline, online), (Cost::default(), cost::mul(n, 20, results)));
            assert_pairs(&pairs, 20 * results as u64 / 8 + u64::from(20 * results % 8 > 0), (n - (n - 1) / 2)..n);
        }
    }
}

#[test]
fn correlations() {
    for n in [3, 5, 7] {
        for (i, k) in [1, 2, 3, 8, 20, 32, 60, 64].into_iter().enumerate() {
            for len in lengths(n, i) {
                let (ring, made) = (Ring::of(k), Made::by(n)[0]);
                let (_, offline, online) = measure(n, async |rss, ctx| rss.random_bits(ctx, ring, len).await);
                let expected = (cost::random_bit(n, made, k, len), Cost::default());
                assert_eq!((offline, online), expected, "n {n} k {k} len {len}");
                for cut in [None, Some(1), Some(k / 2), Some(k - 1)] {
                    if cut.is_some_and(|cut| cut == 0 || cut >= k) {
                        continue;
                    }
                    let (_, offline, _) = measure(n, async |rss, ctx| {
                        rss.edabits(ctx, ring, cut, len).await?;
                        Ok(())
                    });
                    assert_eq!(offline, cost::edabit(n, made, k, cut, len), "n {n} k {k} cut {cut:?} len {len}");
                }
            }
        }
    }
}

/// Tests every kind in every form, for three parties over many rings, and for five.
#[test]
fn every_form_of_every_kind() {
    for (n, widths) in [(3, &[1u32, 2, 3, 4, 5, 6, 7, 9, 16, 33, 64, 100][..]), (5, &[2, 9])] {
        for &k in widths {
            let cuts = [1, k / 2, k - 1].into_iter().filter(|&cut| cut > 0 && cut < k);
            let kinds = [Kind::RandBit { bits: k }, Kind::EdaBit { bits: k, cut: 0 }]
                .into_iter()
                .chain(cuts.clone().map(|cut| Kind::EdaBit { bits: k, cut }))
                .chain(cuts.filter(|cut| cut + 2 <= k).map(|cut| Kind::TruncMask { bits: k, cut }))
                .chain([1, 2, 20].map(|more| Kind::WideEdaBit { bits: k, wide: k + more }));
            for (kind, &made) in kinds.flat_map(|kind| Made::by(n).iter().map(move |made| (kind, made))) {
                let correlations = match made {
                    Made::OfSummands => CorrelationForm::Summands,
                    Made::OfContributions => CorrelationForm::Contributions,
                    Made::OfRandomBits => CorrelationForm::RandomBits,
                };
                let ring = Ring::of(k);
                let costs = both(n, Forms { correlations, ..Forms::default() }, async |rss, ctx| match kind {
                    Kind::RandBit { .. } => rss.random_bits(ctx, ring, 77).await.map(drop),
                    Kind::EdaBit { cut, .. } => rss.edabits(ctx, ring, (cut > 0).then_some(cut), 77).await.map(drop),
                    Kind::TruncMask { cut, .. } => rss.trunc_masks(ctx, ring, cut, 77).await.map(drop),
                    Kind::WideEdaBit { wide, .. } => rss.wide_edabits(ctx, ring, Ring::of(wide), 77).await.map(drop),
                });
                costs.iter().for_each(|(live, dry)| assert_eq!(live, dry));
                let live: Vec<Costs> = costs.into_iter().map(|(live, _)| live).collect();
                assert_eq!(sum(&live, Phase::Offline), cost::correlation(n, kind, made, 77), "n {n} {kind} {made:?}");
            }
        }
    }
}

/// Three parties send 8 bytes for a bit and 27 for an edaBit, each party the same.
#[test]
fn three_parties_send_an_element_a_random_bit() {
    let len = 99_840; // three blocks of whole words in each chunk
    let ring = Ring::of(64);
    let each = |costs: Vec<Costs>| costs.iter().map(|c| c.offline.bytes() as f64 / len as f64).collect::<Vec<_>>();
    let (bits, total, _) = measure(3, async |rss, ctx| rss.random_bits(ctx, ring, len).await);
    assert_eq!((total.rounds, total.bytes), (2, 3 * 8 * len as u64));
    each(bits).iter().for_each(|&bytes| assert!((bytes - 8.0).abs() < 0.2, "{bytes} bytes"));
    let (edabits, total, _) = measure(3, async |rss, ctx| rss.edabits(ctx, ring, None, len).await.map(drop));
    assert_eq!((total.rounds, total.bytes), (9, 634 * len as u64 / 8));
    each(edabits).iter().for_each(|&bytes| assert!((bytes - 634.0 / 24.0).abs() < 0.3, "{bytes} bytes"));
}

#[test]
fn gadgets() {
    for (n, widths) in [(3, &[1u32, 2, 3, 5, 8, 20, 33, 60, 64][..]), (5, &[1, 2, 8, 33, 64]), (7, &[1, 3, 64])] {
        for (i, &k) in widths.iter().enumerate() {
            let len = [641, 13, 1][i % 3];
            let check = |what: &str, uses: Uses, (_, offline, online): (Vec<Costs>, Cost, Cost)| {
                let expected = (cost::offline(n, &uses, len), cost::online(n, &uses, len));
                assert_eq!((offline, online), expected, "{what}, n {n} k {k} len {len}");
            };
            let x = |rss: &Rss, ctx: &Ctx| given(rss, ctx, k, len);
            let bit = |rss: &Rss, ctx: &Ctx| given_bits(rss, ctx, 1, len);
            check("msb", gadget::msb(n, k), measure(n, async |s, ctx| s.msb(ctx, &x(s, ctx)).await));
            check("eqz", gadget::eqz(n, k), measure(n, async |s, ctx| s.eqz(ctx, &x(s, ctx)).await));
            let bits = measure(n, async |s, ctx| s.bit_decompose(ctx, &x(s, ctx)).await);
            check("bit_decompose", gadget::bit_decompose(n, k), bits);
            let lt = measure(n, async |s, ctx| s.lt(ctx, &x(s, ctx), &x(s, ctx), Width::Full).await);
            check("lt", gadget::lt_full(n, k), lt);
            let width = k.div_ceil(2);
            let lt = measure(n, async |s, ctx| s.lt(ctx, &x(s, ctx), &x(s, ctx), Width::Difference(width)).await);
            check("lt of a narrow difference", gadget::msb(n, width.max(1)), lt);
            let ring = Ring::of(k);
            let b2a = measure(n, async |s, ctx| s.bit_to_ring(ctx, &bit(s, ctx), ring).await);
            check("bit_to_ring", uses::bit_to_ring(k), b2a);
            check("mask", uses::mask(k), measure(n, async |s, ctx| s.mask(ctx, &bit(s, ctx), &x(s, ctx)).await));
            let mux = measure(n, async |s, ctx| s.mux(ctx, &bit(s, ctx), &x(s, ctx), &x(s, ctx)).await);
            check("mux", uses::mask(k), mux);
            for shift in [0, 1, k / 2, k - 1, k] {
                let truncated = measure(n, async |s, ctx| s.trunc_exact(ctx, &x(s, ctx), shift).await);
                check("trunc_exact", gadget::trunc_exact(n, k, shift), truncated);
            }
            for shift in [0, 1, k / 2, k.saturating_sub(2)].into_iter().filter(|shift| shift + 2 <= k) {
                let truncated = measure(n, async |s, ctx| s.trunc_prob(ctx, &x(s, ctx), shift).await);
                check("trunc_prob", gadget::trunc_prob(n, k, shift), truncated);
            }
            for wide in [k.div_ceil(2), k + 1, 64].into_iter().filter(|&wide| wide <= 64) {
                let converted =
                    measure(n, async |s, ctx| s.convert(ctx, &x(s, ctx), Ring::of(wide), Sign::Signed).await);
                check("convert", gadget::convert(n, k, wide), converted);
            }
        }
    }
}

/// Tests division by secret integers, with unsigned dividends and with unbounded ones.
#[test]
fn quotients_of_integers() {
    use quorate_gadgets::{floor_div::Range, int_div::Known};
    let range = |bits: u32| Range { lo: 0, hi: (1i128 << bits) - 1 };
    for n in [3, 5] {
        for (k, x_bits, y_bits, promised, len) in
            [(8, 8, 8, 8, 13), (16, 9, 3, 9, 500), (20, 20, 7, 4, 13), (4, 1, 1, 1, 5)]
        {
            let known = Known { quotient_bits: promised, ..Known::of(range(x_bits), range(y_bits)) };
            let operands = gadget::bit_decompose(n, x_bits).beside(gadget::bit_decompose(n, y_bits));
            let uses = uses::int_quotient(y_bits, promised.min(x_bits), k, operands);
            let x = |rss: &Rss, ctx: &Ctx| given(rss, ctx, k, len);
            let work = async |s: &Rss, ctx: &Ctx| s.int_quotient(ctx, &x(s, ctx), &x(s, ctx), known).await;
            let (_, offline, online) = measure(n, work);
            let expected = (cost::offline(n, &uses, len), cost::online(n, &uses, len));
            assert_eq!((offline, online), expected, "n {n} k {k} {known:?}");
        }
    }
}

#[test]
fn tournaments() {
    for n in [3, 5] {
        for (k, rows, lanes) in [(8, 1, 5), (20, 2, 9), (20, 7, 33), (64, 8, 3)] {
            for (width, compare) in [(Width::Full, gadget::lt_full(n, k)), (Width::Difference(k), gadget::msb(n, k))] {
                let x = |rss: &Rss, ctx: &Ctx| given(rss, ctx, k, rows * lanes);
                let cost = |index| {
                    let rounds = uses::tournament(k, rows as u64, &compare, index);
                    let rounds = rounds.into_iter().map(|(pairs, uses)| cost::online(n, &uses, pairs as usize * lanes));
                    rounds.fold(Cost::default(), Cost::then)
                };
                let best = Best::Smallest;
                let (_, _, online) = measure(n, async |s, ctx| extremum(s, ctx, &x(s, ctx), rows, best, width).await);
                assert_eq!(online, cost(None), "n {n} k {k} rows {rows}");
                let places = Ring::of(6);
                let (_, _, online) =
                    measure(n, async |s, ctx| arg_extremum(s, ctx, &x(s, ctx), rows, best, width, places).await);
                assert_eq!(online, cost(Some(6)), "n {n} k {k} rows {rows}");
            }
        }
    }
}

/// Independent comparisons share rounds, with correlations made on demand or taken from a stock.
#[test]
fn independent_work_shares_rounds() {
    let (_, _, online) = measure(3, async |rss, ctx| {
        let (x, y) = (given(rss, ctx, 32, 100), given(rss, ctx, 32, 100));
        ctx.join(async |ctx| rss.msb(&ctx, &x).await, async |ctx| rss.eqz(&ctx, &y).await).await?;
        Ok(())
    });
    assert_eq!(online.rounds, gadget::msb(3, 32).rounds.max(gadget::eqz(3, 32).rounds));
}

#[test]
fn never_above_the_papers_tables() {
    let len = 8 << 10;
    for n in [3, 5, 7] {
        for k in [8, 16, 32, 60, 64] {
            let per_party = |cost: Cost| cost.bytes as f64 * 8.0 / (n * len) as f64;
            let made = Made::OfContributions;
            assert_eq!(per_party(cost::random_bit(n, made, k, len)), paper::random_bit(n, k));
            let edabit = cost::edabit(n, made, k, None, len);
            assert!(per_party(edabit) <= paper::edabit(n, k), "edaBit, n {n} k {k}");
            assert!(edabit.rounds <= paper::edabit_rounds(n, k), "edaBit, n {n} k {k}");
            // The paper's MSB returns an element; ours returns a bit, and B2A makes it an element.
            let all = [uses::msb(k), uses::bit_to_ring(k)];
            let total = all
                .iter()
                .map(|u| cost::offline_by(n, u, made, len).then(cost::online(n, u, len)))
                .fold(Cost::default(), Cost::then);
            assert!(per_party(total) <= paper::msb(n, k), "MSB, n {n} k {k}: {}", per_party(total));
            let online: u32 = all.iter().map(|u| u.rounds).sum();
            assert!(edabit.rounds + online <= paper::msb_rounds(n, k), "MSB, n {n} k {k}");
        }
    }
    for n in [3, 5, 7] {
        for k in [16, 32, 60, 64] {
            let per_party = |uses: &Uses| {
                let total = cost::offline(n, uses, len).then(cost::online(n, uses, len));
                total.bytes as f64 * 8.0 / (n * len) as f64
            };
            // At most half of the bits are dropped, as for fixed point.
            for shift in [1, k / 4, k / 2] {
                for uses in [gadget::trunc_prob(n, k, shift), uses::trunc_prob(k, shift)] {
                    assert!(per_party(&uses) <= paper::trunc_prob(n, k), "TruncPr, n {n} k {k} by {shift}");
                }
            }
            for uses in [gadget::convert(n, k / 2, k), uses::convert(k / 2, k)] {
                assert!(per_party(&uses) <= paper::convert(n, k / 2, k), "Convert, n {n} k {k}");
            }
        }
    }
    // An example: 14.5 elements, 116 bytes a party, is the upper bound at n = 3, k = 64.
    assert_eq!(paper::msb(3, 64), 14.5 * 64.0);
}

#[test]
fn a_stock_serves_once_and_only_what_was_foreseen() {
    use quorate_engine::Error;
    use quorate_engine::testing::parties;
    let ring = Ring::of(16);
    let outcomes = parties(3, |mut party| {
        let me = party.me();
        let work = async |rss: &Rss, ctx: &Ctx| rss.random_bits(ctx, ring, 10).await;
        let (demand, _) = dry_online(3, me, &work);
        // The first party to notice ends the run of all, in any phase.
        let mut attempt = || {
            let mut run = party.begin_alone()?;
            let rss = run.phase(Phase::Offline, async |ctx| Rss::setup(ctx).await)?;
            run.phase(Phase::Offline, async |ctx| rss.make_all(ctx, demand.clone()).await)?;
            run.phase(Phase::Online, async |ctx| {
                let first = open(&rss, ctx, &work(&rss, ctx).await?).await?;
                assert!(first.iter().all(|&bit| bit < 2));
                work(&rss, ctx).await.map(|_| ())
            })
        };
        attempt().unwrap_err()
    });
    assert!(outcomes.iter().any(|error| matches!(error, Error::Exhausted { .. })), "{outcomes:?}");
}

/// Tests the forms that are not the default: gadgets of three parties on masked openings, and edaBits of random bits.
#[test]
fn other_forms() {
    for (n, k, len) in [(3, 8, 13), (3, 33, 2049), (5, 8, 13), (5, 20, 700)] {
        let wide = k + 7;
        for (correlations, made) in [
            (CorrelationForm::Summands, Made::by(n)[0]),
            (CorrelationForm::Contributions, Made::OfContributions),
            (CorrelationForm::RandomBits, Made::OfRandomBits),
        ] {
            let forms = Forms { bits: BitForm::Masked, correlations };
            let x = |rss: &Rss, ctx: &Ctx| given(rss, ctx, k, len);
            let check = |what: &str, uses: Uses, costs: Vec<(Costs, Costs)>| {
                let total = |phase: fn(&Costs) -> &Traffic| {
                    let rounds = phase(&costs[0].1).rounds;
                    Cost { rounds, bytes: costs.iter().map(|c| phase(&c.1).bytes()).sum() }
                };
                let made = cost::offline_by(n, &uses, made, len);
                // When made on demand, one chunk after another begins, so bytes add up and rounds may not.
                assert_eq!(total(|c| &c.offline).bytes, made.bytes, "{what}, n {n} k {k} {forms:?}");
                assert_eq!(total(|c| &c.online), cost::online(n, &uses, len), "{what}, n {n} k {k} {forms:?}");
                costs.iter().for_each(|(live, dry)| assert_eq!(live, dry));
            };
            check("msb", uses::msb(k), both(n, forms, async |s, ctx| s.msb(ctx, &x(s, ctx)).await.map(drop)));
            check("eqz", uses::eqz(k), both(n, forms, async |s, ctx| s.eqz(ctx, &x(s, ctx)).await.map(drop)));
            let rounded = both(n, forms, async |s, ctx| s.trunc_prob(ctx, &x(s, ctx), 3).await.map(drop));
            check("trunc_prob", uses::trunc_prob(k, 3), rounded);
            let ring = Ring::of(wide);
            let widened = both(n, forms, async |s, ctx| s.convert(ctx, &x(s, ctx), ring, Sign::Signed).await.map(drop));
            if made != Made::OfRandomBits {
                check("convert", uses::convert(k, wide), widened);
            }
        }
    }
}

/// Runs every party live and dry, with correlations made on demand; returns both costs.
fn both(n: usize, forms: Forms, work: impl AsyncFn(&Rss, &Ctx) -> Result<()> + Sync) -> Vec<(Costs, Costs)> {
    let work = async |rss: &Rss, ctx: &Ctx| {
        rss.set_forms(forms);
        work(rss, ctx).await
    };
    let live = run(n, work);
    let dry = |me: usize| {
        let rss = Rss::dry(n, me).unwrap();
        dry::run(me, n, Phase::Online, async |ctx| work(&rss, ctx).await).unwrap().1
    };
    live.into_iter().enumerate().map(|(me, (_, costs))| (costs, dry(me))).collect()
}

/// A multiple by a public real costs a truncation, and a conversion if its product needs one. Limits cost an MSB of
/// three numbers, the conversion of a bit to the ring together with an AND, and a selection.
#[test]
fn multiples_cost_what_their_parts_do() {
    let parts = async |rss: &Rss, ctx: &Ctx, wide: u32, shift: u32, limits: bool, rounding: Rounding| {
        let x = given(rss, ctx, 64, 100);
        let product = async |ctx: Ctx| {
            let x = rss.convert(&ctx, &x, Ring::of(wide), Sign::Signed).await?;
            match rounding {
                Rounding::Nearest => rss.trunc_exact(&ctx, &x, shift).await,
                Rounding::EitherWay => rss.trunc_prob(&ctx, &x, shift).await,
            }
        };
        let beyond = async |ctx: Ctx| {
            let signs = rss.msb(&ctx, &rss.concat(&[&x, &x, &x])).await?;
            let sign =
                rss.linear_bits(&signs, &LinearBits::GatherLanes(Positions::Given(&(0..100).collect::<Vec<u32>>())));
            let and = async |ctx: Ctx| rss.and(&ctx, &sign, &sign).await;
            let lifted = async |ctx: Ctx| rss.bit_to_ring(&ctx, &sign, Ring::of(64)).await;
            ctx.join(and, lifted).await
        };
        if limits {
            let (product, (beyond, _)) = ctx.join(product, beyond).await?;
            let product = rss.linear(&product, &Linear::Reduce(Ring::of(64)));
            return rss.mux(ctx, &beyond, &x, &product).await;
        }
        Ok(ctx.join(product, async |_: Ctx| Ok(())).await?.0)
    };
    for n in [3, 5, 7] {
        for (ring, shift, limits) in [(64, 20, false), (117, 55, false), (117, 55, true), (80, 20, true)] {
            for rounding in [Rounding::Nearest, Rounding::EitherWay] {
                let limit: &[i128] = if limits { &[1000] } else { &[] };
                let ring_of_product = Ring::of(ring);
                let by = Scale {
                    whole: &[1],
                    factors: &[3],
                    shift,
                    ring: ring_of_product,
                    bits: 64,
                    rounding,
                    limits: limit,
                    upper: None,
                };
                let (_, offline, online) =
                    measure(n, async |rss, ctx| scale(rss, ctx, &given(rss, ctx, 64, 100), &by).await);
                let (_, parts_offline, parts_online) =
                    measure(n, async |rss, ctx| parts(rss, ctx, ring, shift, limits, rounding).await);
                assert_eq!((offline, online), (parts_offline, parts_online), "n {n}, {ring} bits, limits: {limits}");
            }
        }
        let none = Scale {
            whole: &[7],
            factors: &[0],
            shift: 0,
            ring: Ring::of(64),
            bits: 64,
            rounding: Rounding::Nearest,
            limits: &[],
            upper: None,
        };
        let (_, offline, online) = measure(n, async |rss, ctx| scale(rss, ctx, &given(rss, ctx, 64, 100), &none).await);
        assert_eq!((offline, online), (Cost::default(), Cost::default()));
    }
}

/// A party with one worker multiplies in place, without jobs, and plans for several threads count this work, too.
#[test]
fn dry_runs_count_long_products_as_work_that_threads_share() {
    for (len, is_shared) in [(100, false), (200_000, true)] {
        let before = charged();
        let rss = Rss::dry(3, 0).unwrap();
        let product = async |ctx: &Ctx| {
            let x = rss.public(&Vector::shape(Ring::of(64), len));
            rss.mul(ctx, &x, &x).await
        };
        dry::run(0, 3, Phase::Online, product).unwrap();
        let work = charged() - before;
        assert!(work.of(Kernel::Draw) > 0);
        assert_eq!(work.shared(Kernel::Draw) > 0, is_shared, "{len} elements");
    }
}
