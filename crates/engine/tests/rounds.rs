//! Rounds merge by themselves, whatever the timing, and cost what a dry run predicts.

use crate::common::{RING, announce, chain, own, pass, sum};
use quorate_engine::{Chunks, Costs, Ctx, Phase, Result, Slot, dry, testing};
use quorate_ring::Vector;

/// Two independent computations of 7 and 5 rounds, then 2 rounds on both results.
async fn two_computations(ctx: &Ctx) -> Result<Vector> {
    let x = own(ctx, 9);
    let (mut a, b) = ctx
        .join(async |ctx: Ctx| chain(&ctx, x.clone(), 7).await, async |ctx: Ctx| chain(&ctx, x.clone(), 5).await)
        .await?;
    a.add_assign(&b);
    chain(ctx, a, 2).await
}

/// Runs `work` at three parties, with jitter, and checks that costs are those of the dry runs.
fn check_costs(seed: Option<u64>, work: impl AsyncFn(&Ctx) -> Result<Vector> + Sync) -> Vec<(Vec<u64>, Costs)> {
    let results = testing::parties(3, |mut party| {
        if let Some(seed) = seed {
            party.insecure_jitter(0x9e37_79b9_7f4a_7c15_u64.wrapping_mul(3 * seed + party.me() as u64 + 1));
        }
        let mut run = party.begin_alone()?;
        let value = run.phase(Phase::Online, async |ctx| work(ctx).await)?;
        Result::Ok((value.to_u64s(), run.finish()))
    });
    let results: Vec<_> = results.into_iter().map(|result| result.expect("the run ends well")).collect();
    for (me, (_, costs)) in results.iter().enumerate() {
        let (shape, dry) = dry::run(me, 3, Phase::Online, async |ctx| work(ctx).await).expect("the dry run ends well");
        assert!(shape.is_shape());
        assert_eq!(dry, *costs, "costs of party {me}");
    }
    results
}

#[test]
fn two_independent_computations_cost_the_rounds_of_one_under_two_hundred_timings() {
    let first = check_costs(None, two_computations);
    assert!(first.iter().all(|(_, costs)| costs.online.rounds == 9));
    for seed in 1..=200 {
        assert_eq!(check_costs(Some(seed), two_computations), first, "timing {seed}");
    }
}

#[test]
fn data_flow_merges_rounds_whatever_the_order_of_the_nodes() {
    // Node i is a chain of `LENGTHS[i]` rounds on the sum of its operands.
    const OPERANDS: [&[usize]; 6] = [&[3], &[], &[0, 4], &[], &[1, 3], &[]];
    const LENGTHS: [usize; 6] = [2, 3, 1, 4, 2, 6];
    async fn program(ctx: &Ctx) -> Result<Vector> {
        let slots: [Slot<Vector>; 6] = Default::default();
        ctx.join_all(6, async |ctx, node| {
            let mut x = own(&ctx, 5);
            for &operand in OPERANDS[node] {
                x.add_assign(&slots[operand].get(&ctx).await);
            }
            slots[node].set(&ctx, chain(&ctx, x, LENGTHS[node]).await?);
            Ok(())
        })
        .await?;
        Ok(slots[2].get(ctx).await)
    }
    // The longest path is 3 -> 0 (4 + 2) or 3 -> 4 (4 + 2), then 2; node 5 alone takes 6.
    let first = check_costs(None, program);
    assert!(first.iter().all(|(_, costs)| costs.online.rounds == 7));
    for seed in 1..=20 {
        assert_eq!(check_costs(Some(seed), program), first, "timing {seed}");
    }
}

#[test]
fn joins_within_joins_and_many_children_merge() {
    async fn tree(ctx: &Ctx, x: Vector, height: usize) -> Result<Vector> {
        if height == 0 {
            return pass(ctx, &x).await;
        }
        let (mut a, b) = ctx
            .join(
                async |ctx: Ctx| Box::pin(tree(&ctx, x.clone(), height - 1)).await,
                async |ctx: Ctx| Box::pin(tree(&ctx, x.clone(), height - 1)).await,
            )
            .await?;
        a.add_assign(&b);
        sum(ctx, &a).await
    }
    let results = check_costs(Some(5), async |ctx| {
        let all = ctx.join_all(40, async |ctx, i| tree(&ctx, own(&ctx, 3), i % 6).await).await?;
        let mut total = all[0].clone();
        all[1..].iter().for_each(|x| total.add_assign(x));
        Ok(total)
    });
    assert!(results.iter().all(|(_, costs)| costs.online.rounds == 6));
}

#[test]
fn a_party_that_only_sends_counts_the_same_rounds() {
    let results = check_costs(Some(2), async |ctx| {
        let mut x = own(ctx, 4);
        for _ in 0..10 {
            x = announce(ctx, 1, &x).await?;
        }
        Ok(x)
    });
    assert_eq!(results.iter().map(|(_, costs)| costs.online.rounds).collect::<Vec<_>>(), [10; 3]);
    assert_eq!(results[1].1.online.sent, [10 * 19, 0, 10 * 19]);
    assert_eq!(results[0].1.online.bytes(), 0);
}

#[test]
fn streams_deliver_in_order_and_cost_the_rounds_of_one_chunk() {
    for chunks in [
        Chunks { len: 100, chunk: 1, window: 3 },
        Chunks { len: 5000, chunk: 512, window: 1 },
        Chunks { len: 100, chunk: 512, window: 4 },
        Chunks { len: 0, chunk: 512, window: 4 },
        Chunks { len: 7, chunk: 0, window: 0 },
    ] {
        let results = check_costs(Some(chunks.len as u64 + 1), async |ctx| {
            let mut row = Vec::new();
            ctx.stream(
                chunks,
                async |ctx, range| chain(&ctx, own(&ctx, range.len()), 1 + range.start % 4).await,
                |range, x| row.push((range, x)),
            )
            .await?;
            assert!(row.iter().enumerate().all(|(i, (range, _))| *range == chunks.range(i)), "out of order");
            assert_eq!(row.len(), chunks.count());
            pass(ctx, &own(ctx, 1)).await
        });
        let longest = (0..chunks.count()).map(|i| 1 + chunks.range(i).start as u32 % 4).max().unwrap_or(0);
        assert!(results.iter().all(|(_, costs)| costs.online.rounds == longest + 1), "{chunks:?}");
    }
}

#[test]
fn correlations_on_demand_count_as_offline_and_delay_nothing() {
    let results = check_costs(Some(3), async |ctx| {
        let mut x = own(ctx, 4);
        for _ in 0..5 {
            let mask = chain(&ctx.offline_child(), own(ctx, 4), 3).await?;
            x.add_assign(&mask);
            x = pass(ctx, &x).await?;
        }
        Ok(x)
    });
    assert!(results.iter().all(|(_, costs)| (costs.offline.rounds, costs.online.rounds) == (3, 5)));
}

#[test]
fn a_phase_that_comes_twice_counts_on_and_draws_anew() {
    let results = testing::parties(3, |mut party| {
        let seed = quorate_crypto::Seed::from_bytes([5; 32]);
        let mut run = party.begin_alone().unwrap();
        let step = async |ctx: &Ctx| {
            let drawn: Vector = ctx.randomness().stream(&seed).draw((RING, 4));
            chain(ctx, own(ctx, 2), 3).await?;
            Ok((drawn.to_u64s(), ctx.lane()))
        };
        let first = run.phase(Phase::Online, step).unwrap();
        let offline = run.phase(Phase::Offline, step).unwrap();
        let second = run.phase(Phase::Online, step).unwrap();
        assert!(first != second && first.0 != second.0 && offline.0 != first.0);
        let costs = run.finish();
        assert_eq!((costs.offline.rounds, costs.online.rounds), (3, 6));
        (first, offline, second)
    });
    assert!(results.iter().all(|result| *result == results[0]));
}
