//! Coins that all parties agree on and none can steer.

use crate::common::{echo_of, within_seconds};
use quorate_crypto::{Context, Opening, Seed, SessionId, commit};
use quorate_engine::{Cause, Ctx, Error, Phase, Result, dry, testing};

fn session() -> SessionId {
    SessionId::from_bytes([4; 32])
}

#[test]
fn everybody_gets_the_same_fresh_coins_for_the_stated_cost() {
    let results = testing::online(4, async |ctx| {
        let (a, b) =
            ctx.join(async |ctx: Ctx| ctx.toss(&session()).await, async |ctx: Ctx| ctx.toss(&session()).await).await?;
        Ok([a, b, ctx.toss(&session()).await?])
    });
    let results: Vec<_> = results.into_iter().map(Result::unwrap).collect();
    let (coins, costs) = &results[0];
    assert!(results.iter().all(|(others, _)| others == coins));
    assert!(coins[0] != coins[1] && coins[1] != coins[2] && coins[0] != coins[2]);
    assert_eq!((costs.online.rounds, costs.online.bytes()), (4, 3 * 3 * 128));
    for (me, (_, costs)) in results.iter().enumerate() {
        let (_, toss) = dry::run(me, 4, Phase::Online, async |ctx| ctx.toss(&session()).await).unwrap();
        assert_eq!((toss.online.rounds, toss.online.bytes() * 3), (2, costs.online.bytes()));
    }
}

/// A party that sends a commitment and an opening of its choice, in step with [`Ctx::toss`].
async fn cheat(ctx: &Ctx, commitment: [u8; 32], opening: [u8; 64]) -> Result<[u8; 32]> {
    let instance = ctx.randomness().instance();
    say(ctx, instance, commitment, opening).await?;
    Ok([0; 32])
}

/// Sends the messages of a toss, with the echo of the commitments received.
async fn say(ctx: &Ctx, instance: u128, commitment: [u8; 32], opening: [u8; 64]) -> Result<()> {
    let peers: Vec<usize> = (0..ctx.parties()).filter(|&party| party != ctx.me()).collect();
    let outgoing: Vec<_> = peers.iter().map(|&peer| (peer, &commitment[..])).collect();
    let incoming: Vec<_> = peers.iter().map(|&peer| (peer, 32)).collect();
    let mut said = ctx.exchange_bytes(&outgoing, &incoming).await?;
    said.insert(ctx.me(), commitment.to_vec());
    let words = [&echo_of((&session(), "quorate/engine/coin", instance), &said)[..], &opening].concat();
    let outgoing: Vec<_> = peers.iter().map(|&peer| (peer, &words[..])).collect();
    let incoming: Vec<_> = peers.iter().map(|&peer| (peer, 96)).collect();
    ctx.exchange_bytes(&outgoing, &incoming).await.map(drop)
}

#[test]
fn whoever_opens_something_else_is_caught_by_everybody() {
    within_seconds(20, || {
        for cheater in 0..3 {
            let errors = testing::parties(3, |mut party| {
                let me = party.me();
                let mut run = party.begin_alone().unwrap();
                let error = run
                    .phase(Phase::Online, async |ctx| match ctx.me() == cheater {
                        true => cheat(ctx, [7; 32], [8; 64]).await,
                        false => ctx.toss(&session()).await,
                    })
                    .err();
                // The cheater sends nothing more.
                std::mem::forget(run);
                assert!(me == cheater || party.is_over());
                error
            });
            for (me, error) in errors.into_iter().enumerate().filter(|&(me, _)| me != cheater) {
                let caught =
                    matches!(error, Some(Error::Cheating { .. } | Error::Aborted { cause: Cause::Cheating, .. }));
                assert!(caught, "party {me}: {error:?}");
            }
        }
    });
}

#[test]
fn a_commitment_of_an_earlier_toss_is_caught() {
    within_seconds(20, || {
        // Party 2 commits and opens honestly, and repeats this in the next toss: it would know its coins beforehand.
        let errors = testing::online(3, async |ctx| {
            if ctx.me() != 2 {
                let first = ctx.toss(&session()).await.expect("an honest toss");
                return Ok((first, ctx.toss(&session()).await));
            }
            let instance = ctx.randomness().instance();
            let context = Context { session: &session(), party: 2, domain: "quorate/engine/coin", instance };
            let opening = Opening([4; 32]);
            let commitment = commit(&context, &[9; 32], &opening);
            let words: [u8; 64] = [[9; 32], opening.0].concat().try_into().unwrap();
            say(ctx, instance, commitment.0, words).await?;
            Ok(([0; 32], cheat(ctx, commitment.0, words).await))
        });
        let seconds: Vec<_> = errors.into_iter().map(|result| result.map(|((_, second), _)| second)).collect();
        let caught = |error: &Error| {
            matches!(
                error,
                Error::Cheating { check: "an opened commitment" } | Error::Aborted { cause: Cause::Cheating, .. }
            )
        };
        let mut looked_at = 0;
        for error in seconds[..2].iter().map(|second| second.as_ref().map_or_else(Some, |toss| toss.as_ref().err())) {
            assert!(error.is_some_and(caught), "{error:?}");
            looked_at += 1;
        }
        assert_eq!(looked_at, 2);
    });
}

#[test]
fn a_commitment_copied_from_another_party_is_caught() {
    within_seconds(20, || {
        // Party 2 sends back what party 0 sent: the coins of both would cancel.
        let errors = testing::online(3, async |ctx| {
            if ctx.me() != 2 {
                return ctx.toss(&session()).await;
            }
            let _ = ctx.randomness();
            let mut copied = ctx.exchange_bytes(&[], &[(0, 32), (1, 32)]).await?;
            let late = [(0, &copied[0][..]), (1, &copied[0][..])];
            // A lane is in step by messages, not by calls: the commitment is sent late, in its own place.
            ctx.exchange_bytes(&late, &[]).await?;
            copied = ctx.exchange_bytes(&[], &[(0, 96), (1, 96)]).await?;
            ctx.exchange_bytes(&[(0, &copied[0]), (1, &copied[0])], &[]).await?;
            Ok([0; 32])
        });
        assert!(matches!(
            errors[0],
            Err(Error::Cheating { check: "an opened commitment" } | Error::Aborted { cause: Cause::Cheating, .. })
        ));
    });
}

#[test]
fn commitments_to_one_value_differ() {
    let heard = testing::parties(2, |mut party| {
        party.insecure_record();
        let mut run = party.begin_alone().unwrap();
        let twice = async |ctx: &Ctx| {
            for _ in 0..2 {
                ctx.commit_and_open(&session(), "quorate/engine/test", &[9; 32]).await?;
            }
            Ok(())
        };
        run.phase(Phase::Online, twice).unwrap();
        run.finish();
        party.insecure_transcript()
    });
    for heard in heard {
        let [first, opened, second, again] = &heard[..] else { panic!("{heard:?}") };
        assert_eq!(opened.bytes[..32], again.bytes[..32], "the value");
        assert_ne!(opened.bytes[32..], again.bytes[32..]);
        assert_ne!(first.bytes, second.bytes);
    }
}

/// Returns what each of two parties draws alone in two runs, twice on each of two lanes, with these seeds of its own.
fn drawn(seeds: [Option<u8>; 2], workers: usize) -> Vec<Vec<[u8; 32]>> {
    testing::parties(2, |mut party| {
        if workers > 1 {
            party.set_workers(workers).unwrap();
        }
        if let Some(seed) = seeds[party.me()] {
            party.set_coins(Seed::from_bytes([seed; 32]));
        }
        let mut drawn = vec![];
        for _ in 0..2 {
            let mut run = party.begin_alone().unwrap();
            let twice = async |ctx: Ctx| Ok([ctx.fresh_random::<32>()?, ctx.fresh_random::<32>()?]);
            let (a, b) = run.phase(Phase::Online, async |ctx| ctx.join(twice, twice).await).unwrap();
            run.finish();
            drawn.extend([a, b].concat());
        }
        drawn
    })
}

#[test]
fn a_seed_repeats_what_its_party_draws_and_nothing_is_drawn_twice() {
    let all = drawn([Some(1), Some(2)], 1);
    assert_eq!(all, drawn([Some(1), Some(2)], 3));
    let both: Vec<_> = all.concat();
    assert!(both.len() == 16 && both.iter().enumerate().all(|(i, one)| !both[..i].contains(one)));
    let [own, other] = drawn([Some(1), None], 1).try_into().unwrap();
    assert!(own == all[0] && own.iter().chain(&all[1]).all(|one| !other.contains(one)));
}
