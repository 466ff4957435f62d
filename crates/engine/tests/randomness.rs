//! The randomness that parties draw in step depends only on run, lane and use.

use std::collections::BTreeSet;

use crate::common::{RING, chain, own};
use quorate_crypto::Seed;
use quorate_engine::{Ctx, Error, Misuse, Phase, Result, testing};
use quorate_ring::Vector;

fn draw(ctx: &Ctx) -> Vec<u64> {
    let drawn: Vector = ctx.randomness().stream(&Seed::from_bytes([9; 32])).draw((RING, 3));
    drawn.to_u64s()
}

/// Draws in many lanes, between rounds of different lengths.
async fn draws(ctx: &Ctx) -> Result<Vec<Vec<u64>>> {
    let nested = ctx
        .join_all(8, async |ctx, i| {
            let mut drawn = vec![draw(&ctx)];
            chain(&ctx, own(&ctx, 2), i % 4).await?;
            drawn.push(draw(&ctx));
            let (a, b) = ctx.join(async |ctx: Ctx| Ok(draw(&ctx)), async |ctx: Ctx| Ok(draw(&ctx))).await?;
            drawn.extend([a, b]);
            Ok(drawn)
        })
        .await?;
    Ok(nested.into_iter().flatten().chain([draw(ctx)]).collect())
}

#[test]
fn nothing_drawn_in_step_depends_on_timing_or_repeats() {
    let mut seen = None;
    for seed in 1..=25u64 {
        let results = testing::parties(3, |mut party| {
            party.insecure_jitter(seed * 77 + party.me() as u64);
            let mut run = party.begin_alone()?;
            let drawn = run.phase(Phase::Online, async |ctx| draws(ctx).await)?;
            run.finish();
            Result::Ok(drawn)
        });
        let first = seen.get_or_insert_with(|| results[0].clone().unwrap());
        assert!(results.iter().all(|drawn| drawn.as_ref().unwrap() == first), "timing {seed}");
    }
    let all = seen.unwrap();
    assert_eq!(all.iter().collect::<BTreeSet<_>>().len(), all.len(), "a stream came twice");
}

#[test]
fn a_run_after_a_failure_never_continues_an_old_stream() {
    let results = testing::parties(3, |mut party| {
        let (me, mut all) = (party.me(), Vec::new());
        for attempt in 0..6 {
            let culprit = attempt % 3;
            let result = party.begin_alone().and_then(|mut run| {
                run.phase(Phase::Online, async |ctx| {
                    all.extend(draws(ctx).await?);
                    if attempt < 5 && ctx.me() == culprit {
                        return Err(Error::Misuse { what: Misuse::Other { what: "a refusal" } });
                    }
                    chain(ctx, own(ctx, 1), 2).await
                })?;
                Ok(run.finish())
            });
            match result {
                Ok(_) => assert!(attempt == 5),
                Err(Error::Misuse { .. }) => assert_eq!(me, culprit),
                Err(error) => assert!(matches!(error, Error::Aborted { by, .. } if by == culprit), "{error}"),
            }
        }
        all
    });
    for drawn in &results {
        assert_eq!(drawn.iter().collect::<BTreeSet<_>>().len(), drawn.len(), "a failed run's stream came again");
    }
    let last = |drawn: &Vec<Vec<u64>>| drawn[drawn.len() - 33..].to_vec();
    assert!(results.iter().all(|drawn| last(drawn) == last(&results[0])));
}
