//! Broadcasts of all parties: the values are the same at all, at the stated cost, and all parties catch one that sends
//! different values.

use crate::common::within_seconds;
use quorate_crypto::{Context, Opening, SessionId, commit};
use quorate_engine::{Cause, Ctx, Error, Phase, Result, dry, testing};

const DOMAIN: &str = "quorate/engine/test";

fn session() -> SessionId {
    SessionId::from_bytes([4; 32])
}

async fn say(ctx: &Ctx, commits: bool) -> Result<Vec<Vec<u8>>> {
    let value = [ctx.me() as u8; 5];
    match commits {
        true => ctx.commit_and_open(&session(), DOMAIN, &value).await,
        false => ctx.broadcast(Some(&session()), &value).await,
    }
}

#[test]
fn all_receive_the_same_for_the_stated_cost() {
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

/// The way in which a party sends its value.
#[derive(Clone, Copy, PartialEq)]
enum How {
    Broadcast,
    Commit,
    Toss,
}

/// Sends one value to party `to` and another one to the rest, and opens to each its commitment. Echoes to each peer
/// that peer's own echo, as if this party had received the same values: only the others' echoes differ.
async fn say_two_things(ctx: &Ctx, to: usize, how: How) -> Result<()> {
    let me = ctx.me();
    let peers: Vec<usize> = (0..ctx.parties()).filter(|&party| party != me).collect();
    let (domain, length) = match how {
        How::Toss => ("quorate/engine/coin", 32),
        _ => (DOMAIN, 5),
    };
    let (session, instance) = (session(), ctx.randomness().instance());
    let first = |peer: usize| vec![if peer == to { 77 } else { 78 }; length];
    let (said, more): (Vec<Vec<u8>>, Vec<Vec<u8>>) = if how == How::Broadcast {
        peers.iter().map(|&peer| (first(peer), vec![])).unzip()
    } else {
        let context = Context { session: &session, party: me as u32, domain, instance };
        let opening = Opening([4; 32]);
        let two = [to, me].map(|one| (first(one), commit(&context, &first(one), &opening)));
        let of = |peer: usize| &two[usize::from(peer != to)];
        peers.iter().map(|&peer| (of(peer).1.0.to_vec(), [&of(peer).0[..], &opening.0].concat())).unzip()
    };
    let outgoing: Vec<_> = peers.iter().zip(&said).map(|(&peer, said)| (peer, &said[..])).collect();
    let incoming: Vec<_> = peers.iter().map(|&peer| (peer, said[0].len())).collect();
    ctx.exchange_bytes(&outgoing, &incoming).await?;
    let incoming: Vec<_> = peers.iter().zip(&more).map(|(&peer, more)| (peer, 32 + more.len())).collect();
    let echoes = ctx.exchange_bytes(&[], &incoming).await?;
    let back: Vec<Vec<u8>> = echoes.iter().zip(&more).map(|(echo, more)| [&echo[..32], more].concat()).collect();
    let outgoing: Vec<_> = peers.iter().zip(&back).map(|(&peer, back)| (peer, &back[..])).collect();
    ctx.exchange_bytes(&outgoing, &[]).await.map(drop)
}

#[test]
fn whoever_tells_parties_different_things_is_caught_by_everybody() {
    within_seconds(40, || {
        for how in [How::Broadcast, How::Commit, How::Toss] {
            for (n, cheater, to) in [(3, 0, 1), (3, 2, 0), (4, 1, 3)] {
                let errors = testing::parties(n, |mut party| {
                    let me = party.me();
                    let mut run = party.begin_alone().unwrap();
                    let work = async |ctx: &Ctx| match how {
                        _ if ctx.me() == cheater => say_two_things(ctx, to, how).await,
                        How::Toss => ctx.toss(&session()).await.map(drop),
                        how => say(ctx, how == How::Commit).await.map(drop),
                    };
                    let error = run.phase(Phase::Online, work).err();
                    std::mem::forget(run); // the cheater sends nothing more
                    assert!(me == cheater || party.is_over());
                    error
                });
                let honest: Vec<_> = errors.into_iter().enumerate().filter(|&(me, _)| me != cheater).collect();
                for (me, error) in &honest {
                    let caught = matches!(
                        error,
                        Some(
                            Error::Cheating { check: "the echo of a broadcast" }
                                | Error::Aborted { cause: Cause::Cheating, .. }
                        )
                    );
                    assert!(caught, "n {n}, party {me}: {error:?}");
                }
                assert!(honest.iter().any(|(_, error)| matches!(error, Some(Error::Cheating { .. }))));
            }
        }
    });
}

/// The echo covers the same values as the one expected, but is of one party in another session: it does not count here.
#[test]
fn an_echo_of_another_session_is_caught_by_everybody() {
    within_seconds(20, || {
        let ends = testing::online(3, async |ctx| {
            let session = if ctx.me() == 1 { SessionId::from_bytes([5; 32]) } else { session() };
            ctx.broadcast(Some(&session), &[7]).await
        });
        let caught = |error: &Error| {
            matches!(error, Error::Cheating { check } if check.contains("echo"))
                || matches!(error, Error::Aborted { cause: Cause::Cheating, .. })
        };
        assert!(ends.iter().all(|end| end.as_ref().err().is_some_and(caught)));
    });
}
