//! Flow control: no deadlock arises if all parties send first, and long messages arrive whole.

use std::cell::Cell;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use crate::common::{pass, sum, within_seconds};
use quorate_engine::{Chunks, Ctx, Phase, Result, testing};
use quorate_ring::{Ring, Vector};

const RING: Ring = Ring::of(64);

/// Returns `len` elements that identify their sender and position.
fn numbered(me: usize, len: usize) -> Vector {
    Vector::from_u64s(RING, &(0..len as u64).map(|i| i << 8 | me as u64).collect::<Vec<_>>())
}

fn same(x: &Vector, y: &Vector) -> bool {
    x.to_u64s() == y.to_u64s()
}

fn all_right<T>(results: Vec<Result<T>>) {
    results.into_iter().for_each(|result| drop(result.expect("the run ends well")));
}

#[test]
fn messages_longer_than_frames_and_windows_arrive_whole_though_all_send_first() {
    within_seconds(60, || {
        all_right(testing::online(3, async |ctx| {
            for len in [0, 1, 32767, 32768, 32769, 65536, 300_000, 700_000] {
                let x = numbered(ctx.me(), len);
                let got = pass(ctx, &x).await?;
                assert!(same(&got, &numbered(ctx.previous(1), len)), "{len} elements");
            }
            Ok(())
        }));
    });
}

#[test]
fn several_messages_to_one_peer_in_one_round_beyond_the_window() {
    within_seconds(60, || {
        all_right(testing::online(2, async |ctx| {
            let peer = ctx.next(1);
            let x = numbered(ctx.me(), 400_000);
            let shape = (RING, 400_000);
            for _ in 0..3 {
                let outgoing = [(peer, &x), (peer, &x), (peer, &x), (peer, &x)];
                let got = ctx.exchange(&outgoing, &[(peer, shape); 4]).await?;
                assert!(got.iter().all(|y| same(y, &numbered(peer, 400_000))));
            }
            Ok(())
        }));
    });
}

#[test]
fn one_way_lanes_beyond_the_window_in_both_directions_at_once() {
    within_seconds(60, || {
        all_right(testing::online(3, async |ctx| {
            // Lane i carries 16 MiB from party i to its successor, and nothing back.
            ctx.join_all(3, async |ctx, from| {
                let to = (from + 1) % 3;
                let x = numbered(from, 1 << 17);
                for _ in 0..16 {
                    match ctx.me() {
                        me if me == from => drop(ctx.exchange(&[(to, &x)], &[]).await?),
                        me if me == to => {
                            let got = ctx.exchange::<Vector>(&[], &[(from, (RING, 1 << 17))]).await?;
                            assert!(same(&got[0], &x));
                        }
                        _ => drop(ctx.exchange::<Vector>(&[], &[]).await?),
                    }
                }
                Ok(())
            })
            .await
        }));
    });
}

/// A replay of recorded messages relies on it: the credit among them may arrive before its lane begins.
#[test]
fn a_party_told_to_need_no_credit_sends_whatever_its_peer_reads() {
    within_seconds(60, || {
        let sent = AtomicBool::new(false);
        all_right(testing::parties(2, |mut party| {
            let me = party.me();
            if me == 0 {
                party.insecure_credit();
            }
            let mut run = party.begin_alone()?;
            run.phase(Phase::Online, async |ctx| {
                let x = numbered(0, 1 << 17);
                while me == 1 && !sent.load(Ordering::SeqCst) {
                    std::thread::sleep(Duration::from_millis(1));
                }
                for _ in 0..16 {
                    match me {
                        0 => drop(ctx.exchange(&[(1, &x)], &[]).await?),
                        _ => assert!(same(&ctx.exchange::<Vector>(&[], &[(0, (RING, 1 << 17))]).await?[0], &x)),
                    }
                }
                sent.store(true, Ordering::SeqCst);
                Ok(())
            })?;
            run.finish();
            Result::Ok(())
        }));
    });
}

#[test]
fn streams_side_by_side_with_a_party_that_is_slow() {
    within_seconds(120, || {
        let results = testing::parties(3, |mut party| {
            let slow = party.me() == 1;
            let mut run = party.begin_alone()?;
            let total = run.phase(Phase::Online, async |ctx| {
                let long = async |ctx: Ctx| {
                    let mut total = 0u64;
                    let chunks = Chunks { len: 200 * 512, chunk: 512, window: 3 };
                    ctx.stream(
                        chunks,
                        async |ctx, range| {
                            if slow && range.start % (512 * 16) == 0 {
                                std::thread::sleep(Duration::from_millis(5));
                            }
                            sum(&ctx, &numbered(ctx.me(), range.len())).await
                        },
                        |_, x| total = total.wrapping_add(x.to_u64s().iter().sum()),
                    )
                    .await?;
                    Ok(total)
                };
                ctx.join(async |ctx: Ctx| ctx.join(long, long).await, long).await
            })?;
            assert_eq!(run.finish().online.rounds, 1);
            Result::Ok(total)
        });
        let each = 200 * (0..512u64).map(|i| 3 * (i << 8) + 3).sum::<u64>();
        assert!(results.into_iter().all(|total| total.unwrap() == ((each, each), each)));
    });
}

/// The window also holds for forks, but not for streams within chunks. A stream that is no longer than the wide window
/// waits for no party's progress.
#[test]
fn a_widened_lane_has_more_chunks_under_way() {
    let most = |windows: usize, around: usize| {
        let found = testing::online(2, async |ctx| {
            let (now, most) = (Cell::new(0), Cell::new(0));
            let chunk = async |ctx: Ctx, _| {
                now.set(now.get() + 1);
                most.set(most.get().max(now.get()));
                pass(&ctx, &numbered(ctx.me(), 10)).await?;
                now.set(now.get() - 1);
                Ok(())
            };
            let row = |len| Chunks { len, chunk: 1, window: 2 };
            ctx.widen(windows);
            let all = async |ctx: Ctx, _| match around {
                1.. => {
                    ctx.stream(
                        row(around),
                        async |ctx: Ctx, _| ctx.stream(row(20), chunk, |_, ()| ()).await,
                        |_, ()| (),
                    )
                    .await
                }
                0 => ctx.stream(row(20), chunk, |_, ()| ()).await,
            };
            ctx.join_all(1, all).await?;
            Ok(most.get())
        });
        found.into_iter().map(|result| result.unwrap().0).collect::<Vec<_>>()
    };
    assert_eq!([1, 4, 10, 30].map(|windows| most(windows, 0)), [2, 8, 20, 20].map(|most| vec![most; 2]));
    assert_eq!(most(4, 2), [4; 2]);
    assert_eq!(most(4, 1), [2; 2]);
}

#[test]
fn a_party_that_computes_for_long_is_waited_for() {
    within_seconds(60, || {
        all_right(testing::online(3, async |ctx| {
            for slow in 0..3 {
                if ctx.me() == slow {
                    std::thread::sleep(Duration::from_millis(700));
                }
                pass(ctx, &numbered(ctx.me(), 10)).await?;
            }
            Ok(())
        }));
    });
}

/// This also holds in lanes of forks, which the fork would otherwise continue at once.
#[test]
fn messages_are_sent_before_computing_on_early_arrivals() {
    for forks in [0, 1, 2] {
        within_seconds(60, move || {
            let (heard, waiting) = (AtomicBool::new(false), Instant::now());
            let talk = async |ctx: &Ctx| {
                if ctx.me() == 1 {
                    // Both messages are in one frame: the second has arrived before party 0 waits for it.
                    ctx.exchange_bytes(&[(0, &[1]), (0, &[2])], &[]).await?;
                    ctx.exchange_bytes(&[], &[(0, 1)]).await?;
                    heard.store(true, Ordering::Release);
                    return Ok(());
                }
                ctx.exchange_bytes(&[], &[(1, 1)]).await?;
                ctx.exchange_bytes(&[(1, &[3])], &[(1, 1)]).await?;
                while !heard.load(Ordering::Acquire) {
                    assert!(waiting.elapsed() < Duration::from_secs(30), "party 1 waits for what was said");
                    std::thread::yield_now();
                }
                Ok(())
            };
            all_right(testing::online(2, async |ctx| match forks {
                0 => talk(ctx).await,
                1 => ctx.join(async |ctx: Ctx| talk(&ctx).await, async |_| Ok(())).await.map(|_| ()),
                _ => ctx.join_all(1, async |ctx: Ctx, _| talk(&ctx).await).await.map(|_| ()),
            }));
        });
    }
}
