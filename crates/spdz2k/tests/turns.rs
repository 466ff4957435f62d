//! Correlations that are made in turns while a program runs, with lanes side by side and openings that wait: results
//! are right, at the cost of a dry run.

use std::collections::BTreeMap;
use std::future::poll_fn;
use std::task::Poll;

use quorate_engine::testing::parties;
use quorate_engine::{Costs, Ctx, Phase, Result, Sharing, Step, dry};
use quorate_gadgets::{Gadgets, MakesAhead, Width};
use quorate_ring::{Ring, Vector};
use quorate_spdz2k::{Params, Spdz2k};

const X: [i64; 4] = [5, -7, 30, -100];
const Y: [i64; 4] = [5, -7, -98, 90];

/// Steps side by side that draw several times each: the first draws come at once, others after other openings.
async fn program(s: &Spdz2k, ctx: &Ctx) -> Result<Vec<Vec<i64>>> {
    let (ring, last) = (Ring::of(8), ctx.parties() - 1);
    let own = |owner: usize, values| (ctx.me() == owner).then(|| Vector::from_i64s(ring, values));
    let x = s.input(ctx, 0, (ring, 4), own(0, &X).as_ref()).await?;
    let y = s.input(ctx, last, (ring, 4), own(last, &Y).as_ref()).await?;
    let step = async |ctx: Ctx, i: usize| match i {
        0 => s.trunc_exact(&ctx, &x, 1).await,
        1 | 4 => {
            let product = s.mul(&ctx, &x, &y).await?;
            s.mul(&ctx, &product, &y).await
        }
        2 => {
            let less = s.lt(&ctx, &x, &y, Width::Full).await?;
            s.bit_to_ring(&ctx, &less, ring).await
        }
        _ => {
            let shuffled = s.shuffle(&ctx, &[&x, &s.add(&x, &x)], 4).await?;
            Ok(s.sub(&shuffled[1], &shuffled[0]))
        }
    };
    let mut steps = ctx.steps();
    for i in 0..5 {
        steps.start(i, Step { id: i as u32, name: "step".into() }, |ctx| step(ctx, i));
    }
    let mut values = BTreeMap::new();
    while !steps.is_empty() {
        let done = poll_fn(|context| match steps.poll(context) {
            Ok(done) if done.is_empty() => Poll::Pending,
            done => Poll::Ready(done),
        });
        values.extend(done.await?);
    }
    steps.join();
    let checked = s.check(ctx).await?;
    let mut shown = Vec::new();
    for value in values.values() {
        shown.extend(s.reveal(ctx, &checked, value, None).await?);
    }
    let checked = s.check(ctx).await?;
    shown.into_iter().map(|value| Ok(value.believe(&checked)?.into_inner().to_i64s())).collect()
}

#[test]
fn programs_whose_correlations_are_made_in_turns_are_right_at_the_cost_of_a_dry_run() {
    let weak = Params::new(32, true).unwrap();
    for (n, params, bytes) in
        [(2, weak, 0), (2, weak, 400_000), (2, weak, u64::MAX), (2, weak.as_in_the_paper(), 0), (3, weak, 400_000)]
    {
        let predict = async |ctx: &Ctx| {
            let s = Spdz2k::new_dry(n, ctx.me(), params)?;
            s.record_demand();
            program(&s, ctx).await?;
            Ok(s.take_demand())
        };
        let (demand, _) = dry::run(0, n, Phase::Online, predict).unwrap();
        let again = async |ctx: &Ctx| {
            let s = Spdz2k::new_dry(n, ctx.me(), params)?;
            s.make_in_turns(&demand, bytes);
            program(&s, ctx).await.map(drop)
        };
        let predicted = dry::together(&vec![0; n], Phase::Online, again).unwrap();
        let ends = parties(n, |mut party| {
            let mut run = party.begin_alone().unwrap();
            let s = run.phase(Phase::Offline, async |ctx| Spdz2k::set_up(ctx, params, None).await).unwrap();
            run.finish();
            let mut run = party.begin_alone().unwrap();
            s.make_in_turns(&demand, bytes);
            let done = run.phase(Phase::Online, async |ctx| program(&s, ctx).await);
            let costs = run.finish();
            party.leave(false);
            (done, costs)
        });
        for (me, (done, costs)) in ends.into_iter().enumerate() {
            let [half, product, less, mut shuffled, again] = <[Vec<i64>; 5]>::try_from(done.unwrap()).unwrap();
            let each = |of: &dyn Fn(i64, i64) -> i64| X.iter().zip(Y).map(|(x, y)| of(*x, y)).collect::<Vec<_>>();
            shuffled.sort_unstable();
            assert_eq!(half, X.map(|x| x >> 1));
            assert_eq!(product, each(&|x, y| i64::from((x * y * y) as i8)));
            assert_eq!(again, product);
            assert_eq!(less, each(&|x, y| i64::from(x < y)));
            assert_eq!(shuffled, [-100, -7, 5, 30]);
            let dry = &predicted[me].1;
            assert_eq!((&costs.offline, &costs.online), (&dry.offline, &dry.online), "party {me} of {n}, {bytes}");
            let bytes_of =
                |costs: &Costs| costs.by_step.iter().map(|(&step, costs)| (step, costs.bytes)).collect::<Vec<_>>();
            assert_eq!(bytes_of(&costs), bytes_of(dry), "party {me} of {n}, {bytes}");
        }
    }
}
