//! Values that stay factors: products by them are right, now and in later runs, and the factors are not sent again.

use std::ops::Range;

use crate::common::*;
use quorate_engine::testing::parties;
use quorate_engine::{Checked, Costs, Ctx, Form, Linear, Phase, Result, Sharing, Stocks, Update, dry};
use quorate_gadgets::testing;
use quorate_gadgets::testing::convolutions::kinds;
use quorate_pika::cost::{self, Bill};
use quorate_pika::{Kind, Pika};
use quorate_ring::meter::{Kernel, charged};
use quorate_ring::{Ring, Vector, memory};

const NAME: u32 = 7;

/// Returns all forms that can have a factor; the last one is cut into chunks.
fn forms() -> Vec<Form> {
    let matrices = [(1, 5, 3), (3, 5, 1), (7, 1, 4), (1, 1, 1), (0, 2, 3), (2, 0, 3)];
    let matrices = matrices.into_iter().map(|(m, k, n)| Form::MatMul { m, k, n });
    matrices.chain(kinds().into_iter().map(Form::Conv)).chain([Form::Product, Form::Product]).collect()
}

fn lens(form: Form, place: usize) -> [usize; 2] {
    form.lens(if place + 1 == forms().len() { 50_000 } else { 13 })
}

fn clear(ring: Ring, form: Form, x: &[u64], y: &[u64]) -> Vec<u64> {
    let mut sum = Vector::zeros(ring, form.len_out(x.len()));
    form.accumulate(&mut sum, &Vector::from_u64s(ring, x), &Vector::from_u64s(ring, y));
    sum.to_u64s()
}

#[test]
fn products_by_factors_are_products() {
    for (place, form) in forms().into_iter().enumerate() {
        for (bits, which) in [(1, 0), (8, 1), (33, 0), (64, 1), (64, 2), (64, 0)] {
            let (ring, [left, right]) = (Ring::of(bits), lens(form, place));
            let (x, y) = (noise(5, left), noise(6, right));
            let got = agreed(async |s, ctx| {
                let mut both = [share(s, ctx, ring, &x).await?, share(s, ctx, ring, &y).await?];
                for (i, operand) in both.iter_mut().enumerate() {
                    if which == i || which == 2 {
                        *operand = s.as_factor(ctx, operand, NAME + i as u32).await?;
                    }
                }
                let [a, b] = &both;
                let first = open(s, ctx, &s.bilinear(ctx, form, a, b).await?).await?;
                let second = open(s, ctx, &s.bilinear(ctx, form, a, b).await?).await?;
                Ok([first, second, open(s, ctx, a).await?, open(s, ctx, b).await?])
            });
            let wanted = clear(ring, form, &x, &y);
            let [x, y] = [x, y].map(|values| values.iter().map(|v| v & mask(bits)).collect::<Vec<_>>());
            assert_eq!(got, [wanted.clone(), wanted, x, y], "{form:?} over {bits} bits, {which}");
        }
    }
}

/// The mask of a factor exists when something is dealt by it: it takes no new memory.
#[test]
fn dealing_by_a_factor_is_not_charged_for_its_mask() {
    let (k, n) = (1000, 2000);
    assert!(4 * k * n >= memory::LARGE_BYTES, "a mask as large as the system's pieces");
    let kind = Kind::TripleBy { bits: 32, form: Form::MatMul { m: 1, k, n }, right: true, factor: NAME };
    for me in 0..N {
        let (party, before) = (dry_party(me), charged());
        dry::run(me, N, Phase::Offline, async |ctx| party.make(ctx, &kind, 1).await.map(drop)).unwrap();
        let work = charged() - before;
        assert_eq!((work.of(Kernel::FreshFar), work.of(Kernel::Multiply) > 0), (0, me == 2), "party {me}");
    }
}

/// A share that is changed in place, or a value computed from it, is no longer a factor.
#[test]
fn what_is_made_of_a_factor_is_none() {
    let (ring, w, x) = (Ring::of(32), noise(1, 6), noise(2, 6));
    let got = agreed(async |s, ctx| {
        let (plain, x) = (share(s, ctx, ring, &w).await?, share(s, ctx, ring, &x).await?);
        let factor = s.as_factor(ctx, &plain, NAME).await?;
        let mut written = factor.clone();
        s.update(&mut written, &x, &Update::Write(0));
        let ones = if ctx.is_dry() { Vector::shape(ring, 6) } else { Vector::constant(ring, 1, 6) };
        let mut forgotten = factor.clone();
        s.say_factor(&mut forgotten, None);
        let made = [
            written,
            s.add_public(&factor, &ones),
            s.add(&factor, &x),
            s.sub(&factor, &x),
            s.linear(&factor, &Linear::Neg),
            s.concat(&[&factor]),
            forgotten,
            factor,
        ];
        let mut all = vec![];
        for operand in &made {
            all.push(open(s, ctx, &s.mul(ctx, &x, operand).await?).await?);
        }
        Ok(all)
    });
    let of = |made: fn(u64, u64) -> u64| -> Vec<u64> {
        x.iter().zip(&w).map(|(&x, &w)| x.wrapping_mul(made(w, x)) & mask(32)).collect()
    };
    let wanted = [
        of(|_, x| x),
        of(|w, _| w.wrapping_add(1)),
        of(u64::wrapping_add),
        of(u64::wrapping_sub),
        of(|w, _| w.wrapping_neg()),
        of(|w, _| w),
        of(|w, _| w),
        of(|w, _| w),
    ];
    assert_eq!(got, wanted);
}

/// Runs one run of a session, dealt ahead; returns its result and cost.
fn run_of<T>(
    party: &mut quorate_engine::Party,
    s: &Pika,
    dry_work: &impl AsyncFn(&Pika, &Ctx) -> Result<()>,
    work: impl AsyncFn(&Pika, &Ctx) -> Result<T>,
) -> (T, Costs) {
    let demand = demand(party.me(), dry_work);
    let mut run = party.begin_alone().unwrap();
    s.forget();
    run.phase(Phase::Offline, async |ctx| s.make_all(ctx, demand.clone()).await).unwrap();
    let out = run.phase(Phase::Online, async |ctx| work(s, ctx).await).unwrap();
    (out, run.finish())
}

const FORM: Form = Form::MatMul { m: 2, k: 40, n: 30 };
const X: Range<usize> = 0..80;
const W: usize = 1200;

fn shape(s: &Pika, len: usize) -> A {
    s.public(&Vector::shape(Ring::of(64), len))
}

async fn mark(s: &Pika, ctx: &Ctx) -> Result<()> {
    s.as_factor(ctx, &shape(s, W), NAME).await.map(drop)
}

async fn ask(s: &Pika, ctx: &Ctx) -> Result<()> {
    let mut w = shape(s, W);
    s.say_factor(&mut w, Some(NAME));
    let product = s.bilinear(ctx, FORM, &shape(s, X.len()), &w).await?;
    s.reveal(ctx, &Checked::unneeded(), &product, None).await.map(drop)
}

fn paid(bill: &Bill, all: &[Costs]) {
    let bytes = |phase: Phase| [0, 1, 2].map(|party| all[party].phase(phase).bytes());
    assert_eq!((bytes(Phase::Offline), bytes(Phase::Online)), (bill.offline().bytes, bill.online.bytes));
}

#[test]
fn later_runs_send_nothing_of_a_factor_and_a_run_that_begins_again_has_another_mask() {
    let ring = Ring::of(64);
    let w = [noise(1, W), noise(2, W)];
    let x: Vec<Vec<u64>> = (3..6).map(|seed| noise(seed, X.len())).collect();
    let all = parties(N, |mut party| {
        let s: Pika = testing::ready(&mut party);
        let mut run = party.begin_alone().unwrap();
        let shared = run.phase(Phase::Online, async |ctx| {
            let weights = [share(&s, ctx, ring, &w[0]).await?, share(&s, ctx, ring, &w[1]).await?];
            let mut records = vec![];
            for x in &x {
                records.push(share(&s, ctx, ring, x).await?);
            }
            Ok((weights, records))
        });
        run.finish();
        let (weights, records) = shared.unwrap();
        // The first time that it is marked, it has another value, which does not count.
        let marked = |i: usize| {
            let weights = &weights;
            async move |s: &Pika, ctx: &Ctx| s.as_factor(ctx, &weights[i], NAME).await
        };
        let (other, _) = run_of(&mut party, &s, &mark, marked(1));
        let (factor, first) = run_of(&mut party, &s, &mark, marked(0));
        let mut asked = vec![];
        for x in &records {
            asked.push(run_of(&mut party, &s, &ask, async |s, ctx| {
                let product = s.bilinear(ctx, FORM, x, &factor).await?;
                open(s, ctx, &product).await
            }));
        }
        let names = [s.insecure_masks(), {
            drop((factor, other));
            s.forget();
            s.insecure_masks()
        }];
        party.leave(false);
        (first, asked, names)
    });
    let firsts: Vec<Costs> = all.iter().map(|(first, ..)| first.clone()).collect();
    paid(&cost::as_factor(64, W, NAME), &firsts);
    let question = cost::by_factor(64, FORM, true, NAME).then(cost::reveal(None, 64, 60));
    for (i, x) in x.iter().enumerate() {
        let costs: Vec<Costs> = all.iter().map(|(_, asked, _)| asked[i].1.clone()).collect();
        paid(&question, &costs);
        for (me, (_, asked, _)) in all.iter().enumerate() {
            assert_eq!(asked[i].0, clear(ring, FORM, x, &w[0]), "party {me}");
        }
    }
    assert!(question.online.bytes[0] < 8 * W as u64 / 4, "the factor is far larger than what is sent");
    let held: Vec<_> = all.iter().map(|(.., names)| names.clone()).collect();
    assert_eq!(held, [[vec![], vec![]], [vec![], vec![]], [vec![NAME], vec![]]], "by party 2, as long as the value");
}

#[test]
fn a_dry_run_has_the_demand_of_a_factor_that_is_held() {
    for me in 0..N {
        let pika = Pika::dry(N, me).unwrap();
        pika.record_demand();
        dry::run(me, N, Phase::Online, async |ctx| ask(&pika, ctx).await).unwrap();
        let demand = pika.take_demand();
        let kind = Kind::TripleBy { bits: 64, form: FORM, right: true, factor: NAME };
        assert_eq!(demand.totals().iter().collect::<Vec<_>>(), [(&kind, &1)]);
    }
}
