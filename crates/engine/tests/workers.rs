//! A party's workers: whatever their number, all parties send the same messages, and every run ends for all of them.

use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use quorate_crypto::Seed;
use quorate_engine::testing::{self, Received};
use quorate_engine::{Chunks, Costs, Ctx, Error, Misuse, Party, Phase, Result};
use quorate_ring::{Ring, Vector};

use crate::common::{RING, chain, own, pass, within_seconds};

/// Returns a vector that only the parties' common seed determines.
fn drawn(ctx: &Ctx, len: usize) -> Vector {
    let seed = Seed::from_bytes([7; 32]);
    let mut vector: Vector = ctx.randomness().stream(&seed).draw((RING, len));
    vector.reduce();
    vector
}

/// The work of a chunk: draws, rounds, two lanes side by side, and a stream of its own at other workers.
async fn chunk(ctx: Ctx, x: Vector) -> Result<Vector> {
    let mut sum = chain(&ctx, x, 2).await?;
    sum.add_assign(&drawn(&ctx, sum.len()));
    let (left, right) = ctx
        .join(
            async |ctx| chain(&ctx, sum.clone(), 3).await,
            async |ctx| {
                let masked = drawn(&ctx, sum.len());
                pass(&ctx, &masked).await
            },
        )
        .await?;
    sum.add_assign(&left);
    sum.add_assign(&right);
    let pieces = Chunks { len: sum.len(), chunk: 64, window: 2 };
    let inner = Arc::new(async |ctx: Ctx, x: Vector| pass(&ctx, &x).await);
    let mut whole = Vector::zeros(RING, sum.len());
    let write = |range: Range<usize>, part: Vector| whole.write_at(range.start, &part);
    ctx.stream(pieces, async |ctx, range| ctx.elsewhere(sum.slice(range), &inner).await, write).await?;
    pass(&ctx, &whole).await
}

/// Runs chunks at whichever worker is free.
async fn program(ctx: &Ctx, len: usize) -> Result<Vec<u64>> {
    let x = own(ctx, len);
    let chunks = Chunks { len, chunk: 200, window: 4 };
    let work = Arc::new(chunk);
    let mut whole = Vector::zeros(RING, len);
    let write = |range: Range<usize>, part: Vector| whole.write_at(range.start, &part);
    let start = async |ctx: Ctx, range: Range<usize>| {
        // The lane goes on where it is: what it drew and forked before is not drawn again.
        let mut x = x.slice(range);
        x.add_assign(&drawn(&ctx, x.len()));
        ctx.join(async |_| Ok(()), async |_| Ok(())).await?;
        ctx.elsewhere(x, &work).await
    };
    ctx.stream(chunks, start, write).await?;
    Ok(chain(ctx, whole, 2).await?.to_u64s())
}

/// What a party sees of some runs: results and costs of each, and all messages in an order that does not depend on
/// threads.
type Seen = (Vec<(Vec<u64>, Costs)>, Vec<(usize, Vec<u8>)>);

fn runs(workers: [usize; 3], jitter: u64, lens: &'static [usize]) -> Vec<Seen> {
    testing::parties(3, |mut party| {
        party.set_workers(workers[party.me()]).unwrap();
        party.insecure_jitter(jitter + party.me() as u64);
        party.insecure_record();
        let mut done = Vec::new();
        for &len in lens {
            let mut run = party.begin_alone().unwrap();
            let result = run.phase(Phase::Online, async |ctx| program(ctx, len).await).unwrap();
            run.confirm().unwrap();
            done.push((result, run.finish()));
        }
        let heard = |Received { from, bytes, .. }: Received| (from, bytes);
        let mut messages: Vec<_> = party.insecure_transcript().into_iter().map(heard).collect();
        messages.sort();
        (done, messages)
    })
}

#[test]
fn messages_results_and_costs_are_the_same_for_any_number_of_workers() {
    const LENS: &[usize] = &[1, 199, 200, 201, 1234, 4000, 7];
    let alone = within_seconds(120, || runs([1; 3], 1, LENS));
    assert!(alone[0].1.len() > 300 && alone[0].0[4].1.online.rounds > 5);
    for (workers, jitter) in [([2, 2, 2], 2), ([3, 1, 7], 3), ([1, 2, 1], 4), ([7, 7, 7], 5)] {
        let several = within_seconds(120, move || runs(workers, jitter, LENS));
        for (me, (one, other)) in alone.iter().zip(&several).enumerate() {
            assert_eq!(one.0, other.0, "party {me} with {workers:?} workers");
            assert!(one.1 == other.1, "party {me} with {workers:?} workers receives other messages");
        }
    }
}

/// Runs chunks elsewhere that end as `end` says, then a run that succeeds. Returns the first errors, by party.
fn with_end<F>(end: F) -> Vec<Error>
where
    F: AsyncFn(Ctx, usize) -> Result<()> + Send + Sync + Copy + 'static,
{
    within_seconds(60, move || {
        testing::parties(2, |mut party| {
            party.set_workers(3).unwrap();
            let error = ends(&mut party, end).unwrap_err();
            let mut run = party.begin_alone().unwrap();
            let result = run.phase(Phase::Online, async |ctx| program(ctx, 1000).await).unwrap();
            assert_eq!(result.len(), 1000);
            run.confirm().unwrap();
            run.finish();
            error
        })
    })
}

fn ends<F>(party: &mut Party, end: F) -> Result<()>
where
    F: AsyncFn(Ctx, usize) -> Result<()> + Send + Sync + Copy + 'static,
{
    let mut run = party.begin_alone()?;
    let work = Arc::new(async move |ctx: Ctx, index: usize| {
        pass(&ctx, &own(&ctx, 100)).await?;
        end(ctx, index).await
    });
    run.phase(Phase::Online, async |ctx| {
        let chunks = Chunks { len: 40, chunk: 1, window: 8 };
        ctx.stream(chunks, async |ctx, range| ctx.elsewhere(range.start, &work).await, |_, ()| ()).await
    })?;
    run.confirm()?;
    run.finish();
    Ok(())
}

#[test]
fn an_error_of_a_job_ends_the_run_and_the_next_one_succeeds() {
    let refused = Misuse::Other { what: "a test" };
    let errors = with_end(async |ctx, index| match (ctx.me(), index) {
        (0, 13) => Err(Misuse::Other { what: "a test" }.into()),
        _ => pass(&ctx, &own(&ctx, 10)).await.map(|_| ()),
    });
    assert!(matches!(&errors[0], Error::Misuse { what } if *what == refused), "{errors:?}");
    assert!(matches!(&errors[1], Error::Aborted { by: 0, .. }), "{errors:?}");
}

#[test]
fn a_job_that_waits_for_nothing_is_an_error() {
    let errors = with_end(async |_, index| match index {
        5 => std::future::pending().await,
        _ => Ok(()),
    });
    assert!(errors.iter().any(|error| matches!(error, Error::Bug { what } if what.contains("waits for itself"))));
}

#[test]
fn an_interrupt_ends_jobs_that_wait() {
    let errors = within_seconds(60, || {
        testing::parties(2, |mut party| {
            party.set_workers(2).unwrap();
            let interrupt = party.interrupt_handle().unwrap();
            if party.me() == 0 {
                std::thread::spawn(move || {
                    std::thread::sleep(Duration::from_millis(100));
                    interrupt.raise();
                });
            }
            let late = async |ctx: Ctx, index: usize| match (ctx.me(), index) {
                // Party 1 never sends what party 0 waits for, and waits for party 0 itself.
                (1, 3) => ctx.exchange::<Vector>(&[], &[(0, (RING, 5))]).await.map(|_| ()),
                (_, 3) => ctx.exchange::<Vector>(&[], &[(1, (RING, 5))]).await.map(|_| ()),
                _ => Ok(()),
            };
            ends(&mut party, late).unwrap_err()
        })
    });
    assert_eq!(errors[0], Error::Interrupted);
    assert!(matches!(errors[1], Error::Aborted { by: 0, .. }), "{errors:?}");
}

#[test]
fn a_peer_that_keeps_a_job_waiting_is_noticed() {
    let errors = within_seconds(60, || {
        testing::parties(2, |mut party| {
            party.set_workers(2).unwrap();
            if party.me() == 0 {
                party.set_patience(Some(Duration::from_millis(1500)));
            }
            let late = async |ctx: Ctx, index: usize| match (ctx.me(), index) {
                (_, 3) => ctx.exchange::<Vector>(&[], &[(1 - ctx.me(), (RING, 5))]).await.map(|_| ()),
                _ => Ok(()),
            };
            ends(&mut party, late).unwrap_err()
        })
    });
    assert!(matches!(errors[0], Error::Net { peer: 1, .. }), "{errors:?}");
}

#[test]
fn time_in_which_a_worker_computes_is_no_time_of_waiting() {
    within_seconds(60, || {
        testing::parties(2, |mut party| {
            party.set_workers(2).unwrap();
            if party.me() == 0 {
                party.set_patience(Some(Duration::from_millis(300)));
            }
            let slow = async |ctx: Ctx, index: usize| {
                if index == 3 && ctx.me() == 0 {
                    std::thread::sleep(Duration::from_millis(1200));
                }
                pass(&ctx, &own(&ctx, 10)).await.map(|_| ())
            };
            let done = ends(&mut party, slow);
            assert_eq!(done, Ok(()));
        })
    });
}

#[test]
fn a_panic_of_a_job_ends_the_partys_thread_and_the_peer_learns_of_it() {
    let nets = quorate_net::memory::mesh(2);
    let parties: Vec<_> = nets
        .into_iter()
        .map(|net| {
            std::thread::spawn(move || {
                let mut party = Party::new(Box::new(net));
                party.set_workers(2).unwrap();
                let panics = async |ctx: Ctx, index: usize| {
                    assert!(index != 7 || ctx.me() != 0, "a test panics");
                    pass(&ctx, &own(&ctx, 10)).await.map(|_| ())
                };
                ends(&mut party, panics)
            })
        })
        .collect();
    let ended = within_seconds(60, move || parties.into_iter().map(|party| party.join()).collect::<Vec<_>>());
    let message = ended[0].as_ref().unwrap_err().downcast_ref::<&str>().unwrap().to_string();
    assert_eq!(message, "a test panics");
    assert!(ended[1].as_ref().unwrap().is_err());
}

#[test]
fn a_lane_that_has_communicated_stays_where_it_is() {
    for workers in [1, 2] {
        let errors = within_seconds(60, move || {
            testing::parties(2, |mut party| {
                party.set_workers(workers).unwrap();
                let mut run = party.begin_alone().unwrap();
                let work = Arc::new(async |_: Ctx, ()| Ok(()));
                let moves = async |ctx: Ctx, _| {
                    pass(&ctx, &own(&ctx, 5)).await?;
                    ctx.elsewhere((), &work).await
                };
                run.phase(Phase::Online, async |ctx| ctx.join_all(1, moves).await).unwrap_err()
            })
        });
        assert!(errors.iter().any(|error| matches!(error, Error::Bug { .. })), "{errors:?}");
    }
}

#[test]
fn many_small_jobs_are_each_done_once() {
    let sums = within_seconds(120, || {
        testing::parties(3, |mut party| {
            party.set_workers(4).unwrap();
            let mut run = party.begin_alone().unwrap();
            let work = Arc::new(async |ctx: Ctx, index: u64| {
                let mine = Vector::from_u64s(Ring::of(64), &[index]);
                Ok(pass(&ctx, &mine).await?.to_u64s()[0])
            });
            let (mut sum, mut last) = (0, None);
            let chunks = Chunks { len: 20_000, chunk: 1, window: 64 };
            run.phase(Phase::Online, async |ctx| {
                let write = |range: Range<usize>, value: u64| {
                    assert_eq!(value, range.start as u64);
                    (sum, last) = (sum + value, Some(range.start));
                };
                ctx.stream(chunks, async |ctx, range| ctx.elsewhere(range.start as u64, &work).await, write).await
            })
            .unwrap();
            let costs = run.finish();
            (sum, costs.online.rounds, costs.online.bytes())
        })
    });
    assert_eq!(sums, vec![(19_999 * 10_000, 1, 160_000); 3]);
}

/// Returns, for each of two parties, the number of jobs of a stream that the other worker has begun when the session's
/// thread has been busy with one of them for a while. Before that, this job has made `inner` jobs.
fn begun_elsewhere(jobs: usize, inner: usize) -> Vec<usize> {
    within_seconds(60, move || {
        testing::parties(2, move |mut party| {
            party.set_workers(2).unwrap();
            let session = std::thread::current().id();
            let (elsewhere, seen) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicUsize::new(usize::MAX)));
            let result = seen.clone();
            let spread = async move |ctx: Ctx| {
                let chunks = Chunks { len: inner, chunk: 1, window: inner.max(1) };
                let work = async |ctx: Ctx, len: usize| pass(&ctx, &own(&ctx, len)).await;
                ctx.spread(chunks, |range| range.len(), work, |_, _| ()).await
            };
            let work = async move |ctx: Ctx, len: usize| {
                let is_first = std::thread::current().id() == session;
                elsewhere.fetch_add(usize::from(!is_first), Ordering::SeqCst);
                let rest = async |_| {
                    if is_first && seen.load(Ordering::SeqCst) == usize::MAX {
                        std::thread::sleep(Duration::from_millis(300));
                        seen.store(elsewhere.load(Ordering::SeqCst), Ordering::SeqCst);
                    }
                    Ok(())
                };
                ctx.join(spread, rest).await?;
                pass(&ctx, &own(&ctx, len)).await
            };
            let chunks = Chunks { len: jobs * 512, chunk: 512, window: jobs };
            let mut run = party.begin_alone().unwrap();
            let spread =
                run.phase(Phase::Online, async |ctx| ctx.spread(chunks, |range| range.len(), work, |_, _| ()).await);
            spread.unwrap();
            run.confirm().unwrap();
            run.finish();
            result.load(Ordering::SeqCst)
        })
    })
}

/// The session's thread is busy for a while, so no message reaches the other worker: it takes its share of the jobs,
/// waits, and leaves the rest to the session's thread.
#[test]
fn a_worker_that_waits_leaves_others_their_share() {
    let begun = begun_elsewhere(16, 0);
    // One more where some jobs had ended before.
    assert!(begun.iter().all(|begun| (1..=12).contains(begun)), "{begun:?}");
}

/// Jobs that wait in other streams do not count for the share of one.
#[test]
fn a_worker_that_waits_leaves_others_their_share_of_each_stream() {
    let begun = begun_elsewhere(16, 64);
    assert!(begun.iter().all(|begun| (1..=12).contains(begun)), "{begun:?}");
}
