//! What all parties say at once: alike at all, at the stated cost, and whoever says different things is caught by everybody.

use crate::common::within_seconds;
use quorate_crypto::SessionId;
use quorate_engine::{Cause, Ctx, Error, Phase, Result, dry, testing};

const DOMAIN: &str = "quorate/engine/test";

fn session() -> SessionId {
    SessionId::from_bytes([4; 32])
}

async fn say(ctx: &Ctx, commits: bool) -> Result<Vec<Vec<u8>>> {
    let value = [ctx.me() as u8; 5];
    match commits {
        true => ctx.commit_and_open(&session(), DOMAIN, &value, 5).await,
        false => ctx.broadcast(&value, 5).await,
    }
}

#[test]
fn all_hear_the_same_for_the_stated_cost() {
    for n in [2, 3, 5] {
        let echo = if n > 2 { 32 } else { 0 };
        for (commits, rounds, bytes) in [(false, if n > 2 { 2 } else { 1 }, 5 + echo), (true, 2, 5 + 64 + echo)] {
            let results = testing::online(n, async |ctx| say(ctx, commits).await);
            for (me, result) in results.into_iter().enumerate() {
                let (said, costs) = result.unwrap();
                assert_eq!(said, (0..n).map(|party| vec![party as u8; 5]).collect::<Vec<_>>());
                assert_eq!((costs.online.rounds, costs.online.bytes()), (rounds, (n as u64 - 1) * bytes), "n {n}");
                let (_, dry) = dry::run(me, n, Phase::Online, async |ctx| say(ctx, commits).await).unwrap();
                assert_eq!((dry.online.rounds, dry.online.bytes()), (rounds, costs.online.bytes()));
            }
        }
    }
}

/// Says other things to party `to` than to the rest, and echoes to each what it seems to have heard.
async fn say_two_things(ctx: &Ctx, to: usize, commits: bool) -> Result<Vec<Vec<u8>>> {
    let me = ctx.me();
    let peers: Vec<usize> = (1..ctx.parties()).map(|by| ctx.next(by)).collect();
    let length = if commits { 32 } else { 5 };
    if commits {
        let _ = ctx.randomness();
    }
    let value = |peer: usize| vec![if peer == to { 77 } else { 78 }; length];
    let values: Vec<Vec<u8>> = peers.iter().map(|&peer| value(peer)).collect();
    let outgoing: Vec<_> = peers.iter().zip(&values).map(|(&peer, value)| (peer, &value[..])).collect();
    let incoming: Vec<_> = peers.iter().map(|&peer| (peer, length)).collect();
    let mut said = ctx.exchange_bytes(&outgoing, &incoming).await?;
    said.insert(me, vec![]);
    let more = if commits { 5 + 32 } else { 0 };
    let echo = |peer: usize| {
        let mut hasher = blake3::Hasher::new_derive_key("quorate engine 2026-11 echo of what all parties said");
        let mut said = said.clone();
        said[me] = value(peer);
        said.iter().for_each(|value| {
            hasher.update(&(value.len() as u64).to_le_bytes()).update(value);
        });
        [hasher.finalize().as_bytes().to_vec(), vec![0; more]].concat()
    };
    let echoes: Vec<Vec<u8>> = peers.iter().map(|&peer| echo(peer)).collect();
    let outgoing: Vec<_> = peers.iter().zip(&echoes).map(|(&peer, echo)| (peer, &echo[..])).collect();
    ctx.exchange_bytes(&outgoing, &peers.iter().map(|&peer| (peer, 32 + more)).collect::<Vec<_>>()).await
}

#[test]
fn whoever_tells_parties_different_things_is_caught_by_everybody() {
    within_seconds(40, || {
        for commits in [false, true] {
            for (n, cheater, to) in [(3, 0, 1), (3, 2, 0), (4, 1, 3)] {
                let errors = testing::parties(n, |mut party| {
                    let me = party.me();
                    let mut run = party.begin_alone().unwrap();
                    let work = async |ctx: &Ctx| match ctx.me() == cheater {
                        true => say_two_things(ctx, to, commits).await,
                        false => say(ctx, commits).await,
                    };
                    let error = run.phase(Phase::Online, work).err();
                    std::mem::forget(run); // the cheater keeps quiet
                    assert!(me == cheater || party.is_over());
                    error
                });
                for (me, error) in errors.into_iter().enumerate().filter(|&(me, _)| me != cheater) {
                    let caught =
                        matches!(error, Some(Error::Cheating { .. } | Error::Aborted { cause: Cause::Cheating, .. }));
                    assert!(caught, "n {n}, party {me}: {error:?}");
                }
            }
        }
    });
}
