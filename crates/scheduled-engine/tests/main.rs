//! A party's workers under many schedules: whatever the order in which threads go on, every run ends at all parties,
//! and the next one finds nothing of it. A run in which a wake-up is lost waits for ever, which is a failure here.

extern crate quorate_scheduled_engine as quorate_engine; // the name by which the tests of `engine` call it

use std::ops::Range;

use quorate_ring::Vector;
use quorate_scheduled_engine::{Chunks, Ctx, Error, Mismatch, Misuse, Party, Phase, Result, testing};
use quorate_sync::{Arc, schedules, thread};

#[path = "../../engine/tests/common/mod.rs"]
mod common;

use common::{RING, own, pass};

/// Runs `work` on chunks of one element, at whichever workers are free. Returns what the chunks return.
async fn spread(
    ctx: &Ctx,
    len: usize,
    work: impl AsyncFn(Ctx, Vector) -> Result<Vector> + Send + Sync + 'static,
) -> Result<Vector> {
    let x = own(ctx, len);
    let mut whole = Vector::zeros(RING, len);
    let write = |range: Range<usize>, part: Vector| whole.write_at(range.start, &part);
    ctx.spread(Chunks { len, chunk: 1, window: 4 }, |range| x.slice(range), work, write).await?;
    Ok(whole)
}

/// Passes a vector to the next party, and so on until it is back.
async fn around(ctx: Ctx, mut x: Vector) -> Result<Vector> {
    for _ in 0..ctx.parties() {
        x = pass(&ctx, &x).await?;
    }
    Ok(x)
}

/// Runs a program as a run of its own. It returns what `work` makes of the party's own vector, and leaves no job.
fn run(
    party: &mut Party,
    len: usize,
    work: impl AsyncFn(Ctx, Vector) -> Result<Vector> + Send + Sync + 'static,
) -> Result<Vector> {
    let jobs = Arc::new(());
    let held = jobs.clone();
    let work = async move |ctx: Ctx, x: Vector| {
        let _held = &held;
        work(ctx, x).await
    };
    let mut run = party.begin_alone()?;
    let result = run.phase(Phase::Online, async |ctx| spread(ctx, len, work).await);
    assert_eq!(Arc::strong_count(&jobs), 1, "a job is left when the phase has ended");
    let result = result?;
    run.confirm()?;
    run.finish();
    Ok(result)
}

/// Runs the test's part of each party, with as many workers as given. A run of all parties must succeed afterwards.
fn parties(workers: &'static [usize], part: impl Fn(&mut Party) + Sync) {
    testing::parties(workers.len(), |mut party| {
        party.set_workers(workers[party.me()]).unwrap();
        part(&mut party);
        succeeds(&mut party, 2);
    });
}

fn succeeds(party: &mut Party, len: usize) {
    let values: Vec<u64> = (0..len as u64).map(|i| 1000 * i + party.me() as u64 + 1).collect();
    assert_eq!(run(party, len, around).unwrap().to_u64s(), values);
}

#[test]
fn runs_end_whatever_the_numbers_of_workers() {
    for workers in [&[2, 2][..], &[1, 3], &[3, 2]] {
        schedules(200, || parties(workers, |party| succeeds(party, 5)));
    }
}

#[test]
fn jobs_that_make_jobs_end() {
    schedules(200, || {
        parties(&[2, 3], |party| {
            let makes_jobs = async |ctx: Ctx, x: Vector| {
                let inner = spread(&ctx, 2, around).await?;
                let mut x = around(ctx, x).await?;
                x.add_assign(&inner.slice(0..1));
                Ok(x)
            };
            assert_eq!(run(party, 3, makes_jobs).unwrap().len(), 3);
        });
    });
}

#[test]
fn an_error_of_a_job_ends_the_run_and_the_next_one_succeeds() {
    schedules(200, || {
        parties(&[2, 3], |party| {
            let fails = async |ctx: Ctx, x: Vector| match (ctx.me(), x.to_u64s()[0]) {
                (0, 2001) => Err(Misuse::Other { what: "a test" }.into()),
                _ => around(ctx, x).await,
            };
            let error = run(party, 5, fails).unwrap_err();
            assert!(matches!(error, Error::Misuse { .. } | Error::Aborted { by: 0, .. }), "{error:?}");
        });
    });
}

/// The run has ended before at a party, or ends there with the interrupt.
#[test]
fn an_interrupt_ends_the_run_and_the_next_one_succeeds() {
    schedules(200, || {
        parties(&[2, 2], |party| {
            let interrupt = party.interrupt_handle().unwrap();
            let raising = (party.me() == 0).then(|| {
                let interrupt = interrupt.clone();
                thread::spawn(move || interrupt.raise())
            });
            match (party.me(), run(party, 3, around)) {
                (_, Ok(_)) | (0, Err(Error::Interrupted)) | (1, Err(Error::Aborted { by: 0, .. })) => {}
                (me, other) => panic!("party {me} ends with {other:?}"),
            }
            raising.into_iter().for_each(|thread| thread.join().unwrap());
            interrupt.take();
        });
    });
}

#[test]
fn a_job_that_waits_for_nothing_is_an_error_and_never_a_wait() {
    schedules(200, || {
        parties(&[2, 2], |party| {
            let waits = async |_: Ctx, x: Vector| match x.to_u64s()[0] {
                1001.. => std::future::pending().await,
                _ => Ok(x),
            };
            let error = run(party, 3, waits).unwrap_err();
            assert!(matches!(error, Error::Bug { .. } | Error::Aborted { .. }), "{error:?}");
        });
    });
}

/// A lane that gives way is woken by its own worker.
#[test]
fn jobs_that_are_alone_at_their_party_end() {
    schedules(200, || {
        let results = testing::parties(1, |mut party| {
            party.set_workers(3).unwrap();
            let mut run = party.begin_alone().unwrap();
            let work = Arc::new(async |_: Ctx, index: usize| {
                thread::yield_now();
                Ok(index)
            });
            let mut sum = 0;
            let start = async |ctx: Ctx, range: Range<usize>| ctx.elsewhere(range.start, &work).await;
            let chunks = Chunks { len: 6, chunk: 1, window: 3 };
            run.phase(Phase::Online, async |ctx| ctx.stream(chunks, start, |_, index| sum += index).await).unwrap();
            run.finish();
            sum
        });
        assert_eq!(results, [15]);
    });
}

/// The peer begins the run, and leaves without its part of it.
#[test]
fn jobs_that_wait_for_a_peer_that_leaves_end() {
    schedules(200, || {
        testing::parties(2, |mut party| {
            party.set_workers(3).unwrap();
            if party.me() == 1 {
                party.begin_alone().unwrap().finish();
                return;
            }
            let error = run(&mut party, 4, around).unwrap_err();
            assert_eq!(error, Error::Mismatch(Mismatch::Left { peer: 1 }));
        });
    });
}
