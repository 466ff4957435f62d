//! Waits for a peer whose connection is alive but that does not send what is due: they end.

use std::cell::Cell;
use std::sync::Barrier;
use std::thread::sleep;
use std::time::{Duration, Instant};

use crate::common::{RING, chain, own, pass, within_seconds};
use quorate_engine::{Cause, Chunks, Ctx, Error, Fault, Party, Phase, Result, testing};
use quorate_ring::{Ring, Vector};

const LIMIT: Duration = Duration::from_millis(400);

/// The point at which a party sends nothing.
#[derive(Clone, Copy, Debug, PartialEq)]
enum At {
    Handshake,
    Offline,
    Online,
    Credit,
    Progress,
    Confirmation,
}

/// A run of three parties. The party that `withholds` does not go on until the others have given up.
fn run(party: &mut Party, at: At, withholds: Option<&Barrier>) -> Result<()> {
    let others = Cell::new(withholds);
    let stay = || others.take().map(Barrier::wait);
    if at == At::Handshake {
        stay();
    }
    let mut run = party.begin_alone()?;
    let phase = if at == At::Offline { Phase::Offline } else { Phase::Online };
    run.phase(phase, async |ctx| {
        let value = chain(ctx, own(ctx, 3), 2).await?;
        match at {
            At::Credit => reading(ctx, &stay).await?,
            At::Progress => streaming(ctx, &stay).await?,
            At::Offline | At::Online => drop(stay()),
            At::Handshake | At::Confirmation => {}
        }
        chain(ctx, value, 2).await
    })?;
    if at == At::Confirmation {
        stay();
    }
    run.confirm()?;
    run.finish();
    Ok(())
}

/// Party 1 reads, or does not, what the others send beyond any window.
async fn reading<T>(ctx: &Ctx, stay: &impl Fn() -> Option<T>) -> Result<()> {
    const LEN: usize = 1 << 18;
    let x = Vector::zeros(Ring::of(64), LEN);
    for _ in 0..8 {
        match ctx.me() {
            1 => {
                stay();
                ctx.exchange::<Vector>(&[], &[(0, (Ring::of(64), LEN)), (2, (Ring::of(64), LEN))]).await?;
            }
            _ => drop(ctx.exchange::<Vector>(&[(1, &x)], &[]).await?),
        }
    }
    Ok(())
}

/// A stream in which party 1 makes progress, or does not, though it owes no message.
async fn streaming<T>(ctx: &Ctx, stay: &impl Fn() -> Option<T>) -> Result<()> {
    let chunks = Chunks { len: 20, chunk: 1, window: 2 };
    let work = async |_: Ctx, _| {
        stay();
        Ok(())
    };
    ctx.stream(chunks, work, |_, ()| {}).await
}

#[test]
fn who_withholds_something_is_named_and_the_session_goes_on() {
    within_seconds(60, || {
        for at in [At::Handshake, At::Offline, At::Online, At::Credit, At::Progress, At::Confirmation] {
            let gave_up = Barrier::new(3);
            let errors = testing::parties(3, |mut party| {
                party.set_patience((party.me() != 1).then_some(LIMIT));
                let begun = Instant::now();
                let error = match party.me() {
                    1 => run(&mut party, at, Some(&gave_up)).err(),
                    _ => {
                        let error = run(&mut party, at, None).err();
                        gave_up.wait();
                        error
                    }
                };
                let waited = begun.elapsed();
                assert!(!party.is_over(), "{at:?}");
                party.set_patience(None);
                while let Err(error) = run(&mut party, at, None) {
                    assert!(
                        matches!(error, Error::Aborted { cause: Cause::Stalled { peer: 1 }, .. }),
                        "{at:?}: {error}"
                    );
                }
                (error, waited)
            });
            let phase = if at == At::Offline { Phase::Offline } else { Phase::Online };
            let told = |me: usize| match &errors[me].0 {
                Some(Error::Aborted { cause: Cause::Stalled { peer: 1 }, .. }) => me == 1,
                Some(Error::Net { peer: 1, fault: Fault::Stalled { .. }, reported_by, .. }) => reported_by.is_some(),
                _ => false,
            };
            let found_out = |me: usize| match &errors[me] {
                (Some(Error::Net { peer: 1, fault: Fault::Stalled { .. }, phase: found, reported_by, .. }), waited) => {
                    *found == phase && reported_by.is_none() && *waited >= LIMIT
                }
                _ => false,
            };
            // Who began later may be told by the other.
            assert!([0, 2].into_iter().any(found_out), "{at:?}: {errors:?}");
            assert!([0, 2].into_iter().all(|me| found_out(me) || told(me)), "{at:?}: {errors:?}");
            // At the end, party 1 has the confirmations of all: the run counts there, as after an interrupt.
            assert!(told(1) || (at == At::Confirmation && errors[1].0.is_none()), "{at:?}: {:?}", errors[1]);
        }
    });
}

#[test]
fn the_message_says_who_how_long_where_and_what_to_do() {
    within_seconds(20, || {
        let gave_up = Barrier::new(2);
        let errors = testing::parties(2, |mut party| {
            party.set_patience((party.me() == 0).then_some(Duration::from_millis(1100)));
            let me = party.me();
            let mut run = party.begin_alone().unwrap();
            let error = run.phase(Phase::Online, async |ctx| match me {
                0 => pass(ctx, &own(ctx, 1)).await.map(drop),
                _ => {
                    gave_up.wait();
                    Ok(())
                }
            });
            if me == 0 {
                gave_up.wait();
            }
            error.err()
        });
        let message = errors[0].as_ref().unwrap().to_string();
        for words in ["party 1", "alive", "within 1 s", "(online phase)", "stall_timeout_s in [limits]"] {
            assert!(message.contains(words), "{message}");
        }
    });
}

/// A limit does not end waits that make progress: this party's own work, its work with others, a peer that sends a
/// message now and then (however long it takes in total), and a long message in pieces. Nor does it end a run that is
/// predicted to take long.
#[test]
fn who_gets_on_is_waited_for() {
    within_seconds(60, || {
        let results = testing::parties(2, |mut party| {
            party.set_patience(Some(3 * LIMIT));
            let mut run = party.begin_alone()?;
            run.phase(Phase::Online, async |ctx| {
                if ctx.me() == 0 {
                    sleep(2 * LIMIT); // the peer waits
                    for _ in 0..2 {
                        pass(ctx, &own(ctx, 1)).await?;
                        sleep(2 * LIMIT);
                    }
                    return pass(ctx, &own(ctx, 1)).await.map(drop);
                }
                for _ in 0..3 {
                    pass(ctx, &own(ctx, 1)).await?;
                }
                Ok(())
            })?;
            run.finish();
            party.set_patience(Some(LIMIT));
            let mut run = party.begin_alone()?;
            run.predict(|| 60.0);
            run.phase(Phase::Online, async |ctx| {
                if ctx.me() == 0 {
                    sleep(2 * LIMIT);
                }
                ctx.exchange(&[(1 - ctx.me(), &own(ctx, 1))], &[(1 - ctx.me(), (RING, 1))]).await.map(drop)
            })?;
            run.finish();
            Result::Ok(())
        });
        results.into_iter().for_each(|result| result.unwrap());
    });
}
