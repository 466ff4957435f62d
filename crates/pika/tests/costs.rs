//! Traffic on the wire equals the costs by dry runs of all parties and the formulas of `cost`, at every party.

use std::sync::Arc;

use crate::common::*;
use quorate_engine::testing::parties;
use quorate_engine::{Checked, Costs, Ctx, Error, Form, Phase, Result, Sharing, Traffic};
use quorate_gadgets::lookup::{Entries, Lookup, Operand};
use quorate_gadgets::testing::convolutions::kinds;
use quorate_gadgets::testing::wide;
use quorate_gadgets::{Functions, Gadgets, Sign, Width};
use quorate_pika::cost::{self, Bill, Cost};
use quorate_pika::{Comparisons, Pika};
use quorate_ring::{Bits, Ring, Vector};

const LENGTHS: [usize; 4] = [1, 13, 512, 3001];

fn cost_of(costs: &[Costs], phase: Phase) -> Cost {
    let traffic = |party: usize| costs[party].phase(phase);
    Cost { rounds: [0, 1, 2].map(|i| traffic(i).rounds), bytes: [0, 1, 2].map(|i| traffic(i).bytes()) }
}

/// Runs the program with a stock and without, live and dry; returns its costs offline and online.
fn measure<T: Send>(work: impl AsyncFn(&Pika, &Ctx) -> Result<T> + Sync) -> (Cost, Cost) {
    let (stocked, on_demand): (Vec<Costs>, Vec<Costs>) =
        run_both(&work).into_iter().map(|[stocked, on_demand]| (stocked, on_demand)).unzip();
    let demand = demand_of_all(&work);
    let (recorded, made, dealt) = (dry_online(true, &work), dry_online(false, &work), dry_offline(&demand));
    for me in 0..N {
        assert_eq!(recorded[me].offline, Traffic::new(N), "a recording makes nothing");
        assert_eq!(stocked[me].online, recorded[me].online, "online, party {me}");
        assert_eq!(stocked[me].offline, dealt[me].offline, "offline, party {me}");
        assert_eq!(on_demand[me].online.sent, made[me].online.sent, "made on demand, party {me}");
        assert_eq!(on_demand[me].offline, made[me].offline, "made on demand, party {me}");
    }
    (cost_of(&stocked, Phase::Offline), cost_of(&stocked, Phase::Online))
}

fn check<T: Send>(what: &str, bill: &Bill, work: impl AsyncFn(&Pika, &Ctx) -> Result<T> + Sync) {
    assert_eq!(measure(work), (bill.offline(), bill.online), "{what}: {:?}", bill.demand);
}

/// Returns public values as shares, so that a program starts without an input.
fn given(s: &Pika, ctx: &Ctx, k: u32, len: usize) -> A {
    let ring = Ring::of(k);
    s.public(&if ctx.is_dry() { Vector::shape(ring, len) } else { Vector::zeros(ring, len) })
}

fn given_bits(s: &Pika, ctx: &Ctx, rows: usize, lanes: usize) -> B {
    s.public_bits(&if ctx.is_dry() { Bits::shape(rows, lanes) } else { Bits::zeros(rows, lanes) })
}

#[test]
fn primitives() {
    for (i, k) in [1, 7, 33, 64, 90].into_iter().enumerate() {
        for len in [LENGTHS[i % 4], LENGTHS[(i + 2) % 4]] {
            let ring = Ring::of(k);
            let x = |s: &Pika, ctx: &Ctx| given(s, ctx, k, len);
            check("mul", &cost::mul(k, len), async |s, ctx| s.mul(ctx, &x(s, ctx), &x(s, ctx)).await);
            check("open", &cost::open(k, len), async |s, ctx| s.open(ctx, &x(s, ctx)).await.map(drop));
            for to in [None, Some(0), Some(1), Some(2)] {
                let work = async |s: &Pika, ctx: &Ctx| s.reveal(ctx, &Checked::unneeded(), &x(s, ctx), to).await;
                check("reveal", &cost::reveal(to, k, len), async |s, ctx| work(s, ctx).await.map(drop));
            }
            for owner in 0..N {
                check("input", &cost::input(owner, k, len), async |s, ctx| {
                    let value = Vector::zeros(ring, len);
                    s.input(ctx, owner, (ring, len), (ctx.me() == owner).then_some(&value)).await
                });
            }
            check("random bits", &cost::random_bits(k, len), async |s, ctx| s.random_bits(ctx, ring, len).await);
            let bits = |s: &Pika, ctx: &Ctx| given_bits(s, ctx, k as usize, len);
            check("and", &cost::and(k.into(), len), async |s, ctx| s.and(ctx, &bits(s, ctx), &bits(s, ctx)).await);
        }
    }
}

/// Vectors that are longer than a chunk.
#[test]
fn long_vectors() {
    let len = 70_001;
    check("mul", &cost::mul(33, len), async |s, ctx| {
        s.mul(ctx, &given(s, ctx, 33, len), &given(s, ctx, 33, len)).await
    });
    check("reveal", &cost::reveal(None, 64, 300_001), async |s, ctx| {
        s.reveal(ctx, &Checked::unneeded(), &given(s, ctx, 64, 300_001), None).await.map(drop)
    });
}

#[test]
fn sums_and_matrices() {
    for shape in [(2, 30, 5), (1, 1000, 1), (600, 40, 1), (3, 40_000, 2)] {
        let (outer, axis, inner) = shape;
        let len = outer * axis * inner;
        check("dot", &cost::dot(20, shape), async |s, ctx| {
            let form = Form::Dot { outer, axis, inner };
            s.bilinear(ctx, form, &given(s, ctx, 20, len), &given(s, ctx, 20, len)).await
        });
    }
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
fn factors() {
    let forms = [
        Form::MatMul { m: 10, k: 30, n: 10 },
        Form::MatMul { m: 1, k: 7, n: 300 },
        Form::Conv(kinds().swap_remove(1)),
        Form::Dot { outer: 13, axis: 1, inner: 1 },
    ];
    for (bits, form) in [1, 20, 33, 64].into_iter().flat_map(|bits| forms.map(|form| (bits, form))) {
        for right in [true, false] {
            let lens = form.lens(0);
            let factor = lens[usize::from(right)];
            let bill = cost::as_factor(bits, factor, 3).then(cost::by_factor(bits, form, right, 3));
            check("by a factor", &bill, async |s, ctx| {
                let [x, y] = lens.map(|len| given(s, ctx, bits, len));
                let [x, y] = match right {
                    true => [x, s.as_factor(ctx, &y, 3).await?],
                    false => [s.as_factor(ctx, &x, 3).await?, y],
                };
                let form = if let Form::Dot { .. } = form { Form::Product } else { form };
                s.bilinear(ctx, form, &x, &y).await
            });
        }
    }
}

#[test]
fn gadgets() {
    for (k, len) in [(1u32, 13), (2, 13), (3, 1), (5, 2049), (33, 13), (64, 2049), (100, 13)] {
        let x = |s: &Pika, ctx: &Ctx| given(s, ctx, k, len);
        let (bit, ring) = (|s: &Pika, ctx: &Ctx| given_bits(s, ctx, 1, len), Ring::of(k));
        check("msb", &cost::msb(k, len), async |s, ctx| s.msb(ctx, &x(s, ctx)).await);
        check("eqz", &cost::eqz(k, len), async |s, ctx| s.eqz(ctx, &x(s, ctx)).await);
        check("bits", &cost::bit_decompose(k, len), async |s, ctx| s.bit_decompose(ctx, &x(s, ctx)).await);
        check("lt", &cost::lt_full(k, len), async |s, ctx| s.lt(ctx, &x(s, ctx), &x(s, ctx), Width::Full).await);
        let width = k.div_ceil(2);
        check("narrow lt", &cost::msb(width, len), async |s, ctx| {
            s.lt(ctx, &x(s, ctx), &x(s, ctx), Width::Difference(width)).await
        });
        check("b2a", &cost::bit_to_ring(k, len), async |s, ctx| s.bit_to_ring(ctx, &bit(s, ctx), ring).await);
        check("mask", &cost::mask(k, len), async |s, ctx| s.mask(ctx, &bit(s, ctx), &x(s, ctx)).await);
        for shift in [0, 1, k / 2, k - 1, k] {
            let bill = cost::trunc_exact(k, shift, len);
            check("trunc_exact", &bill, async |s, ctx| s.trunc_exact(ctx, &x(s, ctx), shift).await);
            let bill = cost::trunc_bounded(k, shift, len);
            check("trunc_bounded", &bill, async |s, ctx| s.trunc_bounded(ctx, &x(s, ctx), shift).await);
        }
        for shift in [0, 1, k / 2, k.saturating_sub(2)].into_iter().filter(|shift| shift + 2 <= k) {
            let bill = cost::trunc_prob(k, shift, len);
            check("trunc_prob", &bill, async |s, ctx| s.trunc_prob(ctx, &x(s, ctx), shift).await);
        }
        for wide in [k.div_ceil(2), k + 1, 64].into_iter().filter(|&wide| wide <= 64) {
            let bill = cost::convert(k, wide, len);
            check("convert", &bill, async |s, ctx| s.convert(ctx, &x(s, ctx), Ring::of(wide), Sign::Signed).await);
        }
    }
}

#[test]
fn comparisons_by_keys() {
    for (k, len) in [(2u32, 13), (3, 1), (9, 13), (33, 700), (64, 700)] {
        let x = |s: &Pika, ctx: &Ctx| {
            s.set_comparisons(Comparisons::Keys);
            given(s, ctx, k, len)
        };
        check("msb", &cost::msb_by_key(k, len), async |s, ctx| s.msb(ctx, &x(s, ctx)).await);
        check("eqz", &cost::eqz_by_key(k, len), async |s, ctx| s.eqz(ctx, &x(s, ctx)).await);
        for shift in [0, 1, k / 2, k - 2, k - 1, k] {
            let bill = cost::trunc_exact_by_keys(k, shift, len);
            check("trunc_exact", &bill, async |s, ctx| s.trunc_exact(ctx, &x(s, ctx), shift).await);
            let bill = cost::trunc_bounded_by_key(k, shift, len);
            check("trunc_bounded", &bill, async |s, ctx| s.trunc_bounded(ctx, &x(s, ctx), shift).await);
        }
    }
}

#[test]
fn lookups() {
    for (entries, k, len) in [(2, 1, 13), (5, 32, 1), (300, 64, 513), (1 << 16, 32, 13), (1000, 32, 30_001)] {
        let table = Arc::new(Entries::new(Vector::constant(Ring::of(k), 1, entries)));
        let table = Lookup { entries: table, first: 0, operand: Operand::Within };
        let n = table.place_bits();
        let x = |s: &Pika, ctx: &Ctx| given(s, ctx, 40, len);
        check("look-up", &cost::lookup(n, k, len), async |s, ctx| s.lookup(ctx, &x(s, ctx), &table).await);
        check("bits", &cost::lookup_bit(n, len), async |s, ctx| s.lookup_bit(ctx, &x(s, ctx), &table).await);
    }
}

#[test]
fn shuffles() {
    for (rows, width) in [(0, 1), (1, 1), (2, 1), (3, 2), (100, 1), (1000, 3), (70_001, 1)] {
        check("shuffle", &cost::shuffle(rows, &[(33, width), (1, 1)]), async |s, ctx| {
            let (x, y) = (given(s, ctx, 33, rows * width), given(s, ctx, 1, rows));
            s.shuffle(ctx, &[&x, &y], rows).await
        });
    }
}

#[test]
fn rings_beyond_a_word() {
    for k in [96, 126] {
        measure(async |s, ctx| wide::one_of_everything(s, ctx, k, 13).await);
    }
}

/// Independent work shares rounds; party 2 has none online.
#[test]
fn independent_work_shares_rounds() {
    let (_, online) = measure(async |s, ctx| {
        let (x, y) = (given(s, ctx, 32, 100), given(s, ctx, 32, 100));
        ctx.join(async |ctx| s.msb(&ctx, &x).await, async |ctx| s.eqz(&ctx, &y).await).await.map(drop)
    });
    let rounds = cost::msb(32, 1).online.rounds[0].max(cost::eqz(32, 1).online.rounds[0]);
    assert_eq!(online.rounds, [rounds, rounds, 0]);
    assert_eq!(online.bytes[2], 0);
}

#[test]
fn a_stock_serves_once_and_only_what_was_foreseen() {
    let ring = Ring::of(16);
    let outcomes = parties(N, |mut party| {
        let work = async |s: &Pika, ctx: &Ctx| s.random_bits(ctx, ring, 10).await;
        let demand = demand_of_all(&work);
        let mut attempt = || {
            let mut run = party.begin_alone()?;
            let s = run.phase(Phase::Offline, async |ctx| Pika::setup(ctx).await)?;
            run.phase(Phase::Offline, async |ctx| s.make_all(ctx, demand.clone()).await)?;
            run.phase(Phase::Online, async |ctx| {
                let first = open(&s, ctx, &work(&s, ctx).await?).await?;
                assert!(first.iter().all(|&bit| bit < 2));
                work(&s, ctx).await.map(drop)
            })
        };
        attempt().unwrap_err()
    });
    assert!(outcomes.iter().any(|error| matches!(error, Error::Exhausted { .. })), "{outcomes:?}");
}
