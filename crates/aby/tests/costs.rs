//! Tests of costs: the bytes on the wire equal those of a dry run and of the formulas in `cost`; the paper's tables are
//! an upper bound.

use std::sync::Arc;

use crate::common::*;
use quorate_aby::Aby;
use quorate_aby::cost::{self, Bill, Cost, paper};
use quorate_engine::testing::parties;
use quorate_engine::{Checked, Costs, Ctx, Error, Form, Phase, Result, Sharing, Traffic, dry};
use quorate_gadgets::lookup::{self, Entries, Lookup, Operand};
use quorate_gadgets::testing::convolutions::kinds;
use quorate_gadgets::{Functions, Gadgets, Sign, Width};
use quorate_ring::{Bits, Ring, Vector};

const LENGTHS: [usize; 4] = [1, 13, 512, 3001];

fn sum(costs: &[Costs], phase: Phase) -> Cost {
    let traffic: Vec<&Traffic> = costs.iter().map(|c| c.phase(phase)).collect();
    let rounds = traffic.iter().map(|t| t.rounds).max().unwrap_or(0);
    Cost { rounds, bytes: traffic.iter().map(|t| t.bytes()).sum() }
}

/// Runs the program live and dry with a stock, and live and dry without; returns its costs offline and online.
fn measure<T: Send>(work: impl AsyncFn(&Aby, &Ctx) -> Result<T> + Sync) -> (Cost, Cost) {
    let (stocked, on_demand): (Vec<Costs>, Vec<Costs>) =
        run_both(&work).into_iter().map(|[stocked, on_demand]| (stocked, on_demand)).unzip();
    for me in 0..2 {
        let (demand, dry) = dry_online(me, &work);
        assert_eq!(dry.offline, Traffic::new(2), "a recording makes nothing");
        assert_eq!((&stocked[me].online, &on_demand[me].online), (&dry.online, &dry.online), "online, party {me}");
        assert_eq!(stocked[me].offline, dry_offline(me, &demand).offline, "offline, party {me}");
        let aby = Aby::dry(2, me).unwrap();
        let (_, dry) = dry::run(me, 2, Phase::Online, async |ctx| work(&aby, ctx).await).unwrap();
        assert_eq!(on_demand[me], dry, "made on demand, party {me}");
    }
    (sum(&stocked, Phase::Offline), sum(&stocked, Phase::Online))
}

fn check<T: Send>(what: &str, plan: &Bill, work: impl AsyncFn(&Aby, &Ctx) -> Result<T> + Sync) {
    assert_eq!(measure(work), (plan.offline(), plan.online), "{what}: {:?}", plan.demand);
}

/// Returns public values as shares, so that a program starts without an input.
fn given(aby: &Aby, ctx: &Ctx, k: u32, len: usize) -> A {
    let ring = Ring::of(k);
    aby.public(&if ctx.is_dry() { Vector::shape(ring, len) } else { Vector::zeros(ring, len) })
}

fn given_bits(aby: &Aby, ctx: &Ctx, rows: usize, lanes: usize) -> B {
    aby.public_bits(&if ctx.is_dry() { Bits::shape(rows, lanes) } else { Bits::zeros(rows, lanes) })
}

#[test]
fn primitives() {
    for (i, k) in [1, 7, 33, 64, 90].into_iter().enumerate() {
        for len in [LENGTHS[i % 4], LENGTHS[(i + 2) % 4]] {
            let x = |aby: &Aby, ctx: &Ctx| given(aby, ctx, k, len);
            check("mul", &cost::mul(k, len), async |s, ctx| s.mul(ctx, &x(s, ctx), &x(s, ctx)).await);
            check("open", &cost::open(k, len), async |s, ctx| s.open(ctx, &x(s, ctx)).await);
            check("open to one", &cost::open_to_one(k, len), async |s, ctx| {
                s.reveal(ctx, &Checked::unneeded(), &x(s, ctx), Some(1)).await
            });
            check("random bits", &cost::random_bits(k, len), async |s, ctx| s.random_bits(ctx, Ring::of(k), len).await);
            let bits = |aby: &Aby, ctx: &Ctx| given_bits(aby, ctx, k as usize, len);
            check("and", &cost::and(k.into(), len), async |s, ctx| s.and(ctx, &bits(s, ctx), &bits(s, ctx)).await);
            check("compose", &cost::compose(k, len), async |s, ctx| s.compose(ctx, &bits(s, ctx), Ring::of(k)).await);
            check("input", &cost::input(), async |s, ctx| {
                let value = Vector::zeros(Ring::of(k), len);
                s.input(ctx, 1, (Ring::of(k), len), (ctx.me() == 1).then_some(&value)).await
            });
        }
    }
}

#[test]
fn sums_and_matrices() {
    let form = Form::Dot { outer: 2, axis: 30, inner: 5 };
    check("dot", &cost::mul(20, 300), async |s, ctx| {
        s.bilinear(ctx, form, &given(s, ctx, 20, 300), &given(s, ctx, 20, 300)).await
    });
    for (bits, m, k, n) in [(20, 10, 30, 10), (64, 1, 7, 3), (33, 5, 2, 1), (64, 20, 40, 300), (90, 3, 1, 3)] {
        check("matrices", &cost::matmul(bits, (m, k, n)), async |s, ctx| {
            let (x, y) = (given(s, ctx, bits, m * k), given(s, ctx, bits, k * n));
            s.bilinear(ctx, Form::MatMul { m, k, n }, &x, &y).await
        });
    }
    for (bits, conv) in [20, 64].into_iter().flat_map(|bits| kinds().into_iter().take(5).map(move |conv| (bits, conv)))
    {
        check("convolution", &cost::convolution(bits, conv), async |s, ctx| {
            let [x, y] = conv.lens().map(|len| given(s, ctx, bits, len));
            s.bilinear(ctx, Form::Conv(conv), &x, &y).await
        });
    }
}

#[test]
fn gadgets() {
    for (k, lengths) in [(1u32, &[13][..]), (3, &[1]), (5, &[2049]), (33, &[13]), (64, &[2049]), (100, &[13])] {
        for &len in lengths {
            let x = |aby: &Aby, ctx: &Ctx| given(aby, ctx, k, len);
            let bit = |aby: &Aby, ctx: &Ctx| given_bits(aby, ctx, 1, len);
            check("msb", &cost::msb(k, len), async |s, ctx| s.msb(ctx, &x(s, ctx)).await);
            check("eqz", &cost::eqz(k, len), async |s, ctx| s.eqz(ctx, &x(s, ctx)).await);
            check("bits", &cost::bit_decompose(k, len), async |s, ctx| s.bit_decompose(ctx, &x(s, ctx)).await);
            check("lt", &cost::lt_full(k, len), async |s, ctx| s.lt(ctx, &x(s, ctx), &x(s, ctx), Width::Full).await);
            let width = k.div_ceil(2);
            check("narrow lt", &cost::msb(width, len), async |s, ctx| {
                s.lt(ctx, &x(s, ctx), &x(s, ctx), Width::Difference(width)).await
            });
            let ring = Ring::of(k);
            check("b2a", &cost::bit_to_ring(k, len), async |s, ctx| s.bit_to_ring(ctx, &bit(s, ctx), ring).await);
            check("mask", &cost::mask(k, len), async |s, ctx| s.mask(ctx, &bit(s, ctx), &x(s, ctx)).await);
            for shift in [0, 1, k / 2, k - 1, k] {
                let plan = cost::trunc_exact(k, shift, len);
                check("trunc_exact", &plan, async |s, ctx| s.trunc_exact(ctx, &x(s, ctx), shift).await);
            }
            for shift in [0, 1, k / 2, k.saturating_sub(2)].into_iter().filter(|shift| shift + 2 <= k) {
                let plan = cost::trunc_prob(shift, len);
                check("trunc_prob", &plan, async |s, ctx| s.trunc_prob(ctx, &x(s, ctx), shift).await);
            }
            for wide in [k.div_ceil(2), k + 1, 64].into_iter().filter(|&wide| wide <= 64) {
                let plan = cost::convert(k, wide, len);
                check("convert", &plan, async |s, ctx| s.convert(ctx, &x(s, ctx), Ring::of(wide), Sign::Signed).await);
            }
        }
    }
}

#[test]
fn lookups() {
    for (entries, k, len) in
        [(3, 2, 13), (5, 32, 1), (300, 64, 513), (1 << 16, 32, 13), (1000, 33, 30_001), (200, 1, 70)]
    {
        let table = Vector::constant(Ring::of(k), 1, entries);
        let table = Lookup { entries: Arc::new(Entries::new(table.clone())), first: 0, operand: Operand::Within };
        let n = table.place_bits();
        let x = |s: &Aby, ctx: &Ctx| given(s, ctx, 40, len);
        check("look-up", &cost::lookup(n, k, len), async |s, ctx| s.lookup(ctx, &x(s, ctx), &table).await);
        check("bits", &cost::lookup_bit(n, len), async |s, ctx| s.lookup_bit(ctx, &x(s, ctx), &table).await);
    }
}

/// Keys are used for all places of more than a bit. The general gadget sends more, or, for two bits, hardly less, and
/// it takes more rounds online.
#[test]
fn keys_are_cheaper_than_products() {
    for (n, width, k) in (2..=16).flat_map(|n| [(1, 8), (4, 32), (12, 32), (63, 64)].map(|(width, k)| (n, width, k))) {
        let entries: Vec<u64> =
            (0..1u64 << n).map(|i| (i + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> (64 - width)).collect();
        let entries = Vector::from_u64s(Ring::of(k), &entries);
        let table = Lookup { entries: Arc::new(Entries::new(entries.clone())), first: 0, operand: Operand::Within };
        let len = 2000;
        let work = async |s: &Aby, ctx: &Ctx| lookup::lookup(s, ctx, &given(s, ctx, 40, len), &table).await;
        let both: Vec<[Traffic; 2]> = (0..2)
            .map(|me| {
                let (demand, online) = dry_online(me, &work);
                [dry_offline(me, &demand).offline, online.online]
            })
            .collect();
        let gadget: u64 = both.iter().flatten().map(Traffic::bytes).sum();
        let keys = cost::lookup(n, k, len);
        assert!(keys.online.rounds < both[0][1].rounds, "n = {n}");
        let most = if n == 2 { gadget + gadget / 16 } else { gadget };
        assert!(keys.offline().bytes + keys.online.bytes <= most, "n = {n}, {width} bits: {keys:?}, {gadget}");
    }
}

#[test]
fn shuffles() {
    // The last one has more switches than are made at a time.
    for (rows, width) in [(0, 1), (1, 1), (2, 1), (3, 2), (100, 1), (1000, 3), (12_000, 1)] {
        let columns = [(33, width), (1, 1)];
        check("shuffle", &cost::shuffle(rows, &columns), async |s, ctx| {
            let (x, y) = (given(s, ctx, 33, rows * width), given(s, ctx, 1, rows));
            s.shuffle(ctx, &[&x, &y], rows).await
        });
    }
}

/// Independent comparisons share rounds, whether made on demand or from a stock.
#[test]
fn independent_work_shares_rounds() {
    let (_, online) = measure(async |aby, ctx| {
        let (x, y) = (given(aby, ctx, 32, 100), given(aby, ctx, 32, 100));
        ctx.join(async |ctx| aby.msb(&ctx, &x).await, async |ctx| aby.eqz(&ctx, &y).await).await?;
        Ok(())
    });
    assert_eq!(online.rounds, cost::msb(32, 1).online.rounds.max(cost::eqz(32, 1).online.rounds));
}

/// Returns the bits that both parties send for each element, offline and online.
fn bits_each(plan: &Bill, len: usize) -> f64 {
    (plan.offline().bytes + plan.online.bytes) as f64 * 8.0 / len as f64
}

#[test]
fn never_above_the_papers_tables() {
    let len = 1 << 15;
    for l in [8, 16, 32, 64] {
        let bits = |plan: &Bill| bits_each(plan, len) as u64;
        assert_eq!(cost::open_to_one(l, len).online.bytes * 8 / len as u64, paper::share_or_open(l.into()));
        assert!(cost::input().online.bytes <= paper::share_or_open(l.into()));
        assert!(bits(&cost::compose(l, len)) <= paper::b2a(l.into()), "B2A, l = {l}");
        assert!(bits(&cost::bit_decompose(l, len)) <= paper::a2b(l.into()), "A2B, l = {l}");
        let triple = cost::correlation(&quorate_aby::Kind::Triple { bits: l }, len).bytes * 8 / len as u64;
        assert!(triple <= paper::triple(l.into()), "triple, l = {l}");
    }
}

/// Checks the total cost of 10^5 less-than over 64 bits, whose differences fit.
#[test]
fn comparisons_stay_small() {
    let len = 100_000;
    let plan = cost::msb(64, len);
    assert_eq!(plan.online.rounds, 6);
    assert!(plan.online.bytes + plan.offline().bytes <= 60_000_000, "{plan:?}");
    assert!(cost::correlation(&quorate_aby::Kind::Triple { bits: 64 }, len).bytes <= 1_060 * len as u64);
}

#[test]
fn a_stock_serves_once_and_only_what_was_foreseen() {
    let ring = Ring::of(16);
    let outcomes = parties(2, |mut party| {
        let me = party.me();
        let work = async |aby: &Aby, ctx: &Ctx| aby.random_bits(ctx, ring, 10).await;
        let (demand, _) = dry_online(me, &work);
        // The first party to notice ends the run of both, in whatever phase they are.
        let mut attempt = || {
            let mut run = party.begin_alone()?;
            let aby = run.phase(Phase::Offline, async |ctx| Aby::setup(ctx).await)?;
            run.phase(Phase::Offline, async |ctx| aby.make_all(ctx, demand.clone()).await)?;
            run.phase(Phase::Online, async |ctx| {
                let first = open(&aby, ctx, &work(&aby, ctx).await?).await?;
                assert!(first.iter().all(|&bit| bit < 2));
                work(&aby, ctx).await.map(|_| ())
            })
        };
        attempt().unwrap_err()
    });
    assert!(outcomes.iter().any(|error| matches!(error, Error::Exhausted { .. })), "{outcomes:?}");
}
