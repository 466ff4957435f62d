//! Work among some of the parties, at the costs of a dry run of all parties together.

use crate::common::{RING, own};
use quorate_crypto::SessionId;
use quorate_engine::{Chunks, Costs, Ctx, Error, Phase, Result, dry, testing};
use quorate_ring::Vector;

/// One round among the members. Returns the sum of their vectors.
async fn sum(ctx: &Ctx, x: &Vector) -> Result<Vector> {
    let peers = ctx.peers();
    let outgoing: Vec<_> = peers.iter().map(|&peer| (peer, x)).collect();
    let incoming: Vec<_> = peers.iter().map(|&peer| (peer, (x.ring(), x.len()))).collect();
    let mut total = x.clone();
    ctx.exchange(&outgoing, &incoming).await?.iter().for_each(|other| total.add_assign(other));
    Ok(total)
}

/// Runs `work` at each party, under several timings, and checks that costs are those of a dry run of all together.
fn costs<T: Send>(n: usize, work: impl AsyncFn(&Ctx) -> Result<T> + Sync) -> Vec<(T, Costs)> {
    let predicted = dry::together(&vec![0; n], Phase::Online, async |ctx| work(ctx).await).unwrap();
    let mut last = Vec::new();
    for seed in 1..5 {
        last = testing::parties(n, |mut party| {
            party.insecure_jitter(0x9e37_79b9_7f4a_7c15_u64.wrapping_mul(7 * seed + party.me() as u64));
            let mut run = party.begin_alone().unwrap();
            let value = run.phase(Phase::Online, async |ctx| work(ctx).await).unwrap();
            (value, run.finish())
        });
        for (me, ((_, costs), (_, predicted))) in last.iter().zip(&predicted).enumerate() {
            assert_eq!(costs, predicted, "party {me} of {n}");
        }
    }
    last
}

#[test]
fn non_members_keep_their_round_count() {
    // Parties 0 and 1 compute for seven rounds; party 2 then gets one message and sends one to all.
    let results = costs(3, async |ctx| {
        let x = own(ctx, 3);
        let computed = ctx
            .among(&[0, 1], async |ctx: Ctx| {
                let mut x = x.clone();
                for _ in 0..7 {
                    x = sum(&ctx, &x).await?;
                }
                Ok(x)
            })
            .await?;
        let before = ctx.depth();
        let shape = (RING, 3);
        let result = match (ctx.me(), &computed) {
            (0, Some(computed)) => {
                ctx.exchange(&[(2, computed)], &[]).await?;
                computed.clone()
            }
            (2, _) => ctx.exchange::<Vector>(&[], &[(0, shape)]).await?.remove(0),
            _ => Vector::zeros(RING, 3),
        };
        Ok((before, computed.is_some(), sum(ctx, &result).await?.to_u64s()))
    });
    let rounds: Vec<u32> = results.iter().map(|(_, costs)| costs.online.rounds).collect();
    assert_eq!(rounds, [9, 9, 9]);
    assert_eq!(
        results.iter().map(|((before, computed, _), _)| (*before, *computed)).collect::<Vec<_>>(),
        [(7, true), (7, true), (0, false)]
    );
    assert!(results.iter().all(|((_, _, total), _)| *total == results[0].0.2));
}

#[test]
fn all_pairs_work_side_by_side() {
    for n in [3, 4] {
        let pairs: Vec<[usize; 2]> =
            (0..n).flat_map(|a| (0..n).filter(move |&b| b != a).map(move |b| [a, b])).collect();
        let results = costs(n, async |ctx| {
            ctx.join_all(pairs.len(), async |ctx, i| {
                let [from, to] = pairs[i];
                let work = async |ctx: Ctx| {
                    let x = own(&ctx, 2);
                    // The sender receives a message and answers at once, twice.
                    for _ in 0..2 {
                        match ctx.me() == from {
                            true => {
                                ctx.receive::<Vector>(to, (RING, 2)).await?;
                                ctx.send(to, &x).await?;
                            }
                            false => {
                                ctx.send(from, &x).await?;
                                ctx.receive::<Vector>(from, (RING, 2)).await?;
                            }
                        }
                    }
                    Ok(())
                };
                ctx.among(&[from.min(to), from.max(to)], work).await
            })
            .await
        });
        for (me, (done, costs)) in results.iter().enumerate() {
            assert_eq!(costs.online.rounds, 4);
            assert_eq!(done.iter().flatten().count(), pairs.iter().filter(|pair| pair.contains(&me)).count());
        }
    }
}

#[test]
fn broadcasts_reach_the_members_only() {
    let session = SessionId::from_bytes([9; 32]);
    let results = costs(4, async |ctx| {
        ctx.among(&[0, 2, 3], async |ctx: Ctx| {
            let said = ctx.broadcast(Some(&session), &[ctx.me() as u8]).await?;
            let opened = ctx.commit_and_open(&session, "quorate/engine/test", &[10 + ctx.me() as u8]).await?;
            let coins = ctx.toss(&session).await?;
            Ok((said, opened, if ctx.is_dry() { [0; 32] } else { coins }))
        })
        .await
    });
    for (me, (heard, costs)) in results.iter().enumerate() {
        assert_eq!(heard.is_some(), me != 1);
        if let Some((said, opened, coins)) = heard {
            assert_eq!((said, opened), (&vec![vec![0], vec![2], vec![3]], &vec![vec![10], vec![12], vec![13]]));
            assert_eq!(Some(coins), results[0].0.as_ref().map(|(.., coins)| coins));
        }
        assert_eq!((costs.online.rounds, costs.online.sent[1]), (if me == 1 { 0 } else { 6 }, 0));
    }
}

#[test]
fn streams_among_members_do_not_wait_for_the_others() {
    let results = costs(3, async |ctx| {
        ctx.among(&[1, 2], async |ctx: Ctx| {
            let mut count = 0;
            let chunks = Chunks { len: 100, chunk: 3, window: 4 };
            ctx.stream(
                chunks,
                async |ctx, range| sum(&ctx, &own(&ctx, range.len())).await,
                |_, part| count += part.len(),
            )
            .await?;
            Ok(count)
        })
        .await
    });
    let done: Vec<_> = results.iter().map(|(count, costs)| (*count, costs.online.rounds)).collect();
    assert_eq!(done, [(None, 0), (Some(100), 1), (Some(100), 1)]);
}

#[test]
fn members_within_members_and_who_is_none() {
    let inner = async |ctx: Ctx| {
        assert_eq!((ctx.members(), ctx.peers().len()), (vec![0, 3], 1));
        sum(&ctx, &own(&ctx, 1)).await.map(|_| ())
    };
    let results = costs(4, async |ctx| ctx.among(&[0, 1, 3], async |ctx: Ctx| ctx.among(&[0, 3], inner).await).await);
    assert_eq!(results.iter().map(|(done, _)| done.is_some()).collect::<Vec<_>>(), [true, true, false, true]);
    for members in [&[1, 0][..], &[0, 0], &[0, 4]] {
        let wrong = dry::run(0, 4, Phase::Online, async |ctx| ctx.among(members, async |_| Ok(())).await);
        assert!(matches!(wrong, Err(Error::Bug { .. })));
    }
    let to_nobody = async |ctx: Ctx| ctx.send(2, &own(&ctx, 1)).await;
    let wrong = dry::run(0, 4, Phase::Online, async |ctx| ctx.among(&[0, 1], to_nobody).await);
    assert!(matches!(wrong, Err(Error::Bug { .. })));
}

#[test]
fn parties_that_wait_for_each_other_in_a_dry_run_are_an_error() {
    let waits = async |ctx: &Ctx| match ctx.me() {
        0 => ctx.receive::<Vector>(1, (RING, 1)).await.map(drop),
        _ => Ok(()),
    };
    let wrong = dry::together(&[0, 0, 0], Phase::Online, waits);
    assert!(matches!(wrong, Err(Error::Bug { what: "parties wait for each other in a dry run" })));
}

#[test]
fn all_together_begin_where_each_was() {
    let work = async |ctx: &Ctx| sum(ctx, &own(ctx, 1)).await.map(drop);
    let rounds: Vec<u32> =
        dry::together(&[5, 0, 2], Phase::Online, work).unwrap().iter().map(|(_, costs)| costs.online.rounds).collect();
    assert_eq!(rounds, [6; 3]);
}
