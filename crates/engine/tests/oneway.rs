//! Messages for which only the receiver waits: the rounds are those of a dry run, whatever the timing.

use std::time::Duration;

use crate::common::{RING, own, pass, sum, within_seconds};
use quorate_engine::{Chunks, Costs, Ctx, Error, Phase, Result, dry, testing};
use quorate_ring::Vector;

const PIECE: usize = 256 << 10;

/// Party `from` sends to the other one without waiting.
async fn tell(ctx: &Ctx, from: usize, x: &Vector) -> Result<Vector> {
    if ctx.me() == from {
        ctx.send(1 - from, x).await?;
        return Ok(x.clone());
    }
    ctx.receive(from, (x.ring(), x.len())).await
}

/// The costs of both parties under several timings, which must be those of their dry runs.
fn costs(work: impl AsyncFn(&Ctx) -> Result<()> + Sync) -> Vec<Costs> {
    let dry: Vec<Costs> = (0..2)
        .map(|me| dry::run(me, 2, Phase::Online, async |ctx| work(ctx).await).expect("the dry run ends well").1)
        .collect();
    for seed in 0..10 {
        let wire = testing::parties(2, |mut party| {
            party.insecure_jitter(0x9e37_79b9_7f4a_7c15_u64.wrapping_mul(3 * seed + party.me() as u64 + 1));
            let mut run = party.begin_alone().unwrap();
            run.phase(Phase::Online, async |ctx| work(ctx).await).unwrap();
            run.finish()
        });
        assert_eq!(wire, dry, "timing {seed}");
    }
    dry
}

fn rounds(work: impl AsyncFn(&Ctx) -> Result<()> + Sync) -> [u32; 2] {
    let costs = costs(work);
    [costs[0].online.rounds, costs[1].online.rounds]
}

#[test]
fn who_only_sends_counts_no_round_and_the_other_counts_one() {
    let often = async |ctx: &Ctx| {
        for _ in 0..20 {
            tell(ctx, 0, &own(ctx, 8)).await?;
        }
        Ok(())
    };
    assert_eq!(rounds(often), [0, 1]);
    assert_eq!(costs(often)[0].online.sent, [0, 20 * 37]);
}

#[test]
fn answers_and_exchanges_count_on_from_what_was_heard() {
    let there = async |ctx: &Ctx| tell(ctx, 0, &own(ctx, 3)).await.map(|_| ());
    let back = async |ctx: &Ctx| tell(ctx, 1, &own(ctx, 3)).await.map(|_| ());
    let both = async |ctx: &Ctx| sum(ctx, &own(ctx, 3)).await.map(|_| ());
    assert_eq!(rounds(async |ctx| there(ctx).await), [0, 1]);
    assert_eq!(rounds(async |ctx| [there(ctx).await?, back(ctx).await?].into_iter().try_for_each(Ok)), [2, 1]);
    let there_and_both = async |ctx: &Ctx| {
        there(ctx).await?;
        both(ctx).await?;
        there(ctx).await
    };
    // The exchange waits for party 1, which waited for the first message.
    assert_eq!(rounds(there_and_both), [2, 3]);
    let only_sends = async |ctx: &Ctx| {
        there(ctx).await?;
        // Party 0 receives nothing here: it is a round behind.
        if ctx.me() == 0 {
            ctx.exchange(&[(1, &own(ctx, 3))], &[]).await?;
        } else {
            ctx.exchange::<Vector>(&[], &[(0, (RING, 3))]).await?;
        }
        both(ctx).await
    };
    assert_eq!(rounds(only_sends), [3, 3]);
}

#[test]
fn lanes_join_at_the_depths_of_both_parties() {
    let work = async |ctx: &Ctx| {
        let one = async |ctx: Ctx| {
            tell(&ctx, 0, &own(&ctx, 3)).await?;
            tell(&ctx, 1, &own(&ctx, 3)).await
        };
        let other = async |ctx: Ctx| {
            for _ in 0..3 {
                tell(&ctx, 1, &own(&ctx, 3)).await?;
            }
            pass(&ctx, &own(&ctx, 3)).await
        };
        ctx.join(one, other).await?;
        let chunks = Chunks { len: 40, chunk: 1, window: 3 };
        ctx.stream(chunks, async |ctx, range| tell(&ctx, range.start % 2, &own(&ctx, 3)).await, |_, _| {}).await?;
        pass(ctx, &own(ctx, 3)).await.map(|_| ())
    };
    assert_eq!(rounds(work), [4, 4]);
}

#[test]
fn a_second_phase_goes_on_where_each_party_was() {
    let work = async |ctx: &Ctx| tell(ctx, 0, &own(ctx, 3)).await.map(|_| ());
    let wire = testing::parties(2, |mut party| {
        let mut run = party.begin_alone().unwrap();
        run.phase(Phase::Online, work).unwrap();
        run.phase(Phase::Online, work).unwrap();
        run.phase(Phase::Online, async |ctx| pass(ctx, &own(ctx, 3)).await).unwrap();
        run.finish().online.rounds
    });
    assert_eq!(wire, [2, 2]);
}

#[test]
fn bytes_are_written_in_place_and_arrive() {
    let work = async |ctx: &Ctx| {
        for (from, length) in [(0, 5), (1, PIECE), (0, PIECE + 7), (0, 0)] {
            if ctx.me() == from {
                ctx.send_bytes(1 - from, length, |bytes| bytes.fill(7)).await?;
            } else {
                let bytes = ctx.receive_bytes(from, length).await?;
                assert!(ctx.is_dry() || *bytes == *vec![7; length], "{length} bytes");
            }
        }
        Ok(())
    };
    assert_eq!(costs(work)[0].online.sent, [0, (PIECE + 12) as u64]);
}

#[test]
fn a_slow_reader_is_not_flooded() {
    let received = within_seconds(60, || {
        testing::parties(2, |mut party| {
            party.insecure_limit(6 << 20);
            let mut run = party.begin_alone()?;
            let done = run.phase(Phase::Online, async |ctx| {
                for i in 0..200 {
                    if ctx.me() == 0 {
                        ctx.send_bytes(1, PIECE, |_| ()).await?;
                        continue;
                    }
                    if i % 50 == 0 {
                        std::thread::sleep(Duration::from_millis(30));
                    }
                    ctx.receive_bytes(0, PIECE).await?;
                }
                Ok(())
            });
            run.finish();
            party.leave(false);
            done
        })
    });
    assert!(received.iter().all(Result::is_ok), "{received:?}");
}

#[test]
fn parties_that_send_each_other_much_at_once_do_not_wait_in_a_circle() {
    within_seconds(60, || {
        testing::online(2, async |ctx| {
            let me = ctx.me();
            let many = async |ctx: Ctx, lane: usize| {
                for i in 0..60 {
                    if (i + lane) % 2 == me {
                        ctx.send_bytes(1 - me, 4 * PIECE, |_| ()).await?;
                    } else {
                        ctx.receive_bytes(1 - me, 4 * PIECE).await?;
                    }
                }
                Ok(())
            };
            ctx.join_all(3, many).await
        })
        .into_iter()
        .for_each(|result| drop(result.expect("it ends well")));
    });
}

#[test]
fn a_message_of_another_length_is_an_error() {
    let results = testing::online(2, async |ctx| match ctx.me() {
        0 => ctx.send_bytes(1, 9, |_| ()).await,
        _ => ctx.receive_bytes(0, 10).await.map(|_| ()),
    });
    assert!(matches!(&results[1], Err(Error::Malformed { peer: 0, .. })), "{:?}", results[1]);
    let results = testing::online(2, async |ctx| match ctx.me() {
        0 => ctx.send(1, &own(ctx, 8)).await,
        _ => ctx.receive::<Vector>(0, (RING, 7)).await.map(|_| ()),
    });
    assert!(matches!(&results[1], Err(Error::Malformed { peer: 0, .. })), "{:?}", results[1]);
    let none = dry::run(0, 2, Phase::Online, async |ctx| ctx.receive_bytes(2, 10).await);
    assert!(matches!(none, Err(Error::Misuse { .. })));
}
