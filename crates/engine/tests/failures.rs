//! Parties fail as one: every failure reaches every party as a typed error, and the session continues if it can.

use std::time::Duration;

use crate::common::{announce, chain, own, pass, sum, within_seconds};
use quorate_engine::{
    Cause, Ctx, Error, Fault, Greeting, Mismatch, Misuse, Party, Phase, Result, Run, Step, Trace, testing,
};
use quorate_ring::Vector;

const REFUSAL: Error = Error::Misuse { what: Misuse::Other { what: "a refusal" } };

/// The moment of a run at which something happens.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Moment {
    Handshake,
    Offline,
    Online,
}

const MOMENTS: [Moment; 3] = [Moment::Handshake, Moment::Offline, Moment::Online];

/// A whole run of two phases.
fn run(party: &mut Party) -> Result<Vec<u64>> {
    let mut run = party.begin_alone()?;
    run.phase(Phase::Offline, async |ctx| chain(ctx, own(ctx, 3), 6).await)?;
    let value = run.phase(Phase::Online, async |ctx| chain(ctx, own(ctx, 3), 6).await)?;
    run.finish();
    Ok(value.to_u64s())
}

fn phase_of(moment: Moment) -> Phase {
    if moment == Moment::Offline { Phase::Offline } else { Phase::Online }
}

/// Runs up to a moment, and a little into the phase that it names; then this party continues with `then`.
fn run_up_to<'p>(party: &'p mut Party, moment: Moment, then: Result<()>) -> Result<Run<'p>> {
    let mut run = party.begin_alone()?;
    if moment == Moment::Online {
        run.phase(Phase::Offline, async |ctx| chain(ctx, own(ctx, 3), 6).await)?;
    }
    run.phase(phase_of(moment), async |ctx| {
        chain(ctx, own(ctx, 3), 2).await?;
        then
    })?;
    Ok(run)
}

#[test]
fn a_lost_party_is_named_by_every_other_in_every_phase() {
    within_seconds(60, || {
        for moment in MOMENTS {
            for lost in 0..5 {
                let errors = testing::parties(5, |mut party| {
                    if party.me() != lost {
                        return run(&mut party).err();
                    }
                    if moment != Moment::Handshake {
                        // Neither the end of the run nor that of the party is announced.
                        std::mem::forget(run_up_to(&mut party, moment, Ok(())).unwrap());
                    }
                    party.insecure_vanish();
                    None
                });
                for (me, error) in errors.into_iter().enumerate().filter(|&(me, _)| me != lost) {
                    let Some(Error::Net { peer, fault: Fault::Lost { .. }, phase, .. }) = error else {
                        panic!("party {me}, {moment:?}: {error:?}");
                    };
                    assert_eq!((peer, phase), (lost, phase_of(moment)), "party {me}, {moment:?}");
                }
            }
        }
    });
}

#[test]
fn after_a_loss_the_session_is_closed_and_says_so() {
    within_seconds(20, || {
        let errors = testing::parties(3, |mut party| {
            if party.me() == 2 {
                party.insecure_vanish();
                return None;
            }
            assert!(matches!(run(&mut party), Err(Error::Net { peer: 2, .. })));
            assert!(party.is_over());
            run(&mut party).err()
        });
        assert_eq!(errors[..2], [Some(Error::Poisoned), Some(Error::Poisoned)]);
    });
}

/// An earlier run may have closed the session at one party only: for example a stopped run in which only this party had
/// tossed coins.
#[test]
fn a_session_that_is_over_at_one_party_is_over_at_all() {
    within_seconds(20, || {
        for closed in 0..3 {
            let errors = testing::parties(3, |mut party| {
                let first: Result<()> = match party.me() == closed {
                    true => party.begin_alone().unwrap().phase(Phase::Online, async |ctx| {
                        pass(ctx, &own(ctx, 1)).await?;
                        Err(Error::Poisoned)
                    }),
                    false => Err(endless(&mut party)),
                };
                [first.err(), run(&mut party).err()]
            });
            for (me, [first, second]) in errors.into_iter().enumerate() {
                let told = Error::Aborted { by: closed, cause: Cause::Over };
                assert_eq!(first, Some(if me == closed { Error::Poisoned } else { told }), "party {me}");
                assert_eq!(second, Some(Error::Poisoned), "party {me} waits for nobody");
            }
        }
    });
}

#[test]
fn a_refusal_reaches_everybody_and_the_session_goes_on() {
    within_seconds(60, || {
        for moment in [Moment::Offline, Moment::Online] {
            for culprit in 0..3 {
                testing::parties(3, |mut party| {
                    let me = party.me();
                    for _ in 0..3 {
                        if me == culprit {
                            let error = run_up_to(&mut party, moment, Err(REFUSAL)).err();
                            assert_eq!(error, Some(REFUSAL));
                        } else {
                            let error = run(&mut party).err();
                            assert_eq!(error, Some(Error::Aborted { by: culprit, cause: Cause::Refused }));
                        }
                    }
                    assert!(!party.is_over());
                    run(&mut party).expect("the session goes on");
                });
            }
        }
    });
}

#[test]
fn a_run_that_is_dropped_is_given_up_at_every_party() {
    within_seconds(20, || {
        testing::parties(3, |mut party| {
            if party.me() == 1 {
                drop(run_up_to(&mut party, Moment::Online, Ok(())).unwrap());
            } else {
                assert_eq!(run(&mut party).err(), Some(Error::Aborted { by: 1, cause: Cause::Refused }));
            }
            run(&mut party).expect("the session goes on");
        });
    });
}

#[test]
fn an_interrupt_reaches_everybody_names_its_party_and_the_session_goes_on() {
    within_seconds(60, || {
        for victim in 0..3 {
            for early in [true, false] {
                testing::parties(3, |mut party| {
                    let me = party.me();
                    if me == victim {
                        let handle = party.interrupt_handle().expect("a live party has links");
                        if early {
                            handle.raise();
                        } else {
                            std::thread::spawn(move || {
                                std::thread::sleep(Duration::from_millis(30));
                                handle.raise();
                            });
                        }
                    }
                    match endless(&mut party) {
                        Error::Interrupted => assert_eq!(me, victim),
                        Error::Aborted { by, cause: Cause::Interrupted } => assert_eq!(by, victim),
                        other => panic!("party {me}: {other}"),
                    }
                    run(&mut party).expect("the session goes on");
                    run(&mut party).expect("and on");
                });
            }
        }
    });
}

fn endless(party: &mut Party) -> Error {
    let run = party.begin_alone();
    let ended = run.and_then(|mut run| {
        run.phase(Phase::Online, async |ctx| {
            loop {
                pass(ctx, &own(ctx, 1)).await?;
            }
        })
    });
    match ended {
        Ok(()) => Error::Poisoned,
        Err(error) => error,
    }
}

#[test]
fn retries_at_different_times_and_numbers_find_together() {
    within_seconds(120, || {
        for seed in 1..40u64 {
            let values = testing::parties(3, |mut party| {
                let me = party.me();
                party.insecure_jitter(seed * 31 + me as u64);
                let mut random = seed * 1_000_003 + me as u64;
                let mut failures = 0;
                // Each party breaks off a different number of attempts by itself, at its own times.
                for _ in 0..(seed as usize + me) % 4 {
                    random ^= random << 13;
                    random ^= random >> 7;
                    std::thread::sleep(Duration::from_micros(random % 500));
                    party.interrupt_handle().unwrap().raise();
                    failures += usize::from(run(&mut party).is_err());
                    party.interrupt_handle().unwrap().take();
                }
                loop {
                    match run(&mut party) {
                        Ok(_) => break failures,
                        Err(error) => assert!(!error.is_final(), "party {me}: {error}"),
                    }
                    failures += 1;
                    assert!(failures < 50, "party {me} does not find the others");
                }
            });
            assert_eq!(values.len(), 3);
        }
    });
}

#[test]
fn a_party_that_is_done_may_leave_while_others_go_on() {
    within_seconds(60, || {
        for seed in 0..30u64 {
            let values = testing::parties(3, |mut party| {
                party.insecure_jitter(seed * 9 + party.me() as u64 + 1);
                let mut run = party.begin_alone()?;
                let value = run.phase(Phase::Online, async |ctx| {
                    let x = announce(ctx, 0, &own(ctx, 50_000)).await?;
                    for round in 0..20 {
                        // Parties 1 and 2 alone; party 0 has nothing more to do.
                        match ctx.me() {
                            0 => {}
                            me => {
                                let other = 3 - me;
                                let y = own(ctx, round + 1);
                                ctx.exchange(&[(other, &y)], &[(other, (y.ring(), y.len()))]).await?;
                            }
                        }
                    }
                    Ok(x)
                })?;
                run.finish();
                party.leave(false);
                Result::Ok(value.to_u64s())
            });
            assert!(values.iter().all(|value| value.as_ref().unwrap() == values[0].as_ref().unwrap()));
        }
    });
}

#[test]
fn whoever_waits_for_a_party_that_left_is_told() {
    within_seconds(60, || {
        // The wait is in the handshake, for a message, for credit, or for progress.
        for wait in 0..4 {
            let errors = testing::parties(3, |mut party| {
                if party.me() == 1 {
                    if wait > 0 {
                        party.begin_alone().unwrap().finish();
                    }
                    party.leave(false);
                    return None;
                }
                let mut run = match party.begin_alone() {
                    Ok(run) => run,
                    Err(error) => return Some(error),
                };
                let x = quorate_ring::Vector::zeros(quorate_ring::Ring::of(64), 1 << 16);
                let chunks = quorate_engine::Chunks { len: 100, chunk: 1, window: 2 };
                let result = run.phase(Phase::Online, async |ctx| match wait {
                    1 => ctx.exchange(&[(1, &x)], &[(1, (x.ring(), 1 << 16))]).await.map(drop),
                    2 => loop {
                        ctx.exchange(&[(1, &x)], &[]).await?;
                    },
                    _ => ctx.stream(chunks, async |_, _| Ok(()), |_, ()| {}).await,
                });
                result.err()
            });
            for me in [0, 2] {
                assert_eq!(errors[me], Some(Error::Mismatch(Mismatch::Left { peer: 1 })), "wait {wait}, party {me}");
            }
        }
    });
}

#[test]
fn a_party_that_leaves_with_an_error_says_so() {
    within_seconds(20, || {
        let errors = testing::parties(3, |mut party| {
            run(&mut party).unwrap();
            if party.me() == 2 {
                party.leave(true);
                return None;
            }
            run(&mut party).err()
        });
        assert_eq!(errors[..2], [(); 2].map(|()| Some(Error::Aborted { by: 2, cause: Cause::Refused })));
    });
}

#[test]
fn different_programs_name_the_first_differing_node_at_every_party() {
    within_seconds(60, || {
        for seed in 0..100u64 {
            let other = seed as usize % 3;
            let errors = testing::parties(3, |mut party| {
                let me = party.me();
                party.insecure_jitter(seed * 5 + me as u64 + 1);
                // Each party has forgotten a different number of the equal nodes.
                let first = (seed as usize + me) % 7;
                let hash = |node: u64| if me == other && node >= 7 { node + 100 } else { node };
                let trace = Trace { first, hashes: (first as u64..20).map(hash).collect() };
                let program = [u8::from(me == other); 32];
                let greeting = Greeting { program, ..Greeting::default() };
                let describe = |node| format!("node {node} of {me}\n{}", "x".repeat(1000 * (me / 2)));
                let error = party.begin(&greeting, &|| trace.clone(), &describe).err();
                run(&mut party).expect("the session goes on");
                error
            });
            for (me, error) in errors.into_iter().enumerate() {
                let peer = if me == other { usize::from(me == 0) } else { other };
                let Some(Error::Mismatch(Mismatch::Program { peer: of, node, here, there })) = error else {
                    panic!("timing {seed}, party {me}: {error:?}");
                };
                assert_eq!((of, node), (peer, Some(7)), "timing {seed}, party {me}");
                assert!(here.starts_with(&format!("node 7 of {me}\n")), "{here}");
                let whole = format!("node 7 of {peer}{}", "x".repeat(1000 * (peer / 2)));
                assert_eq!(*there, whole[..whole.len().min(300)], "cut and cleaned, timing {seed}, party {me}");
            }
        }
    });
}

#[test]
fn a_longer_program_is_told_from_a_different_one() {
    within_seconds(20, || {
        let errors = testing::parties(3, |mut party| {
            let nodes = if party.me() == 0 { 5 } else { 4 };
            let greeting = Greeting { program: [nodes; 32], ..Greeting::default() };
            let last = |node| if node == 4 { "the last".to_owned() } else { unreachable!() };
            let trace = || Trace { first: 0, hashes: (0..u64::from(nodes)).collect() };
            party.begin(&greeting, &trace, &last).err()
        });
        let (end, last) = ("", "the last");
        let seen =
            [(1, last, end, "goes on with the last"), (0, end, last, "where this party's ends"), (0, end, last, "")];
        for ((peer, here, there, words), error) in seen.into_iter().zip(errors) {
            let (here, there) = (here.into(), there.into());
            let expected = Error::Mismatch(Mismatch::Program { peer, node: None, here, there });
            assert!(expected.to_string().contains(words));
            assert_eq!(error, Some(expected));
        }
    });
}

#[test]
fn different_choices_are_told_by_their_names() {
    within_seconds(20, || {
        let errors = testing::parties(3, |mut party| {
            let noise = if party.me() == 2 { "\n" } else { "" };
            let terms = format!("a=1; b={}{noise}; c=x", party.me() / 2);
            let greeting = Greeting { terms, ..Greeting::default() };
            let error = party.begin_alone_with(&greeting).err();
            let greeting = Greeting { terms: "y".repeat(Greeting::MAX_TERMS), ..Greeting::default() };
            party.begin_alone_with(&greeting).expect("alike, however long").finish();
            error
        });
        for (me, error) in errors.into_iter().enumerate() {
            let (peer, theirs, ours) = if me == 2 { (0, "b=0", "b=1\n") } else { (2, "b=1", "b=0") };
            let mismatch = Mismatch::Options { peer, theirs: theirs.into(), ours: ours.into() };
            assert_eq!(error, Some(Error::Mismatch(mismatch)), "party {me}");
        }
    });
}

/// A run for which party `other` has another plan, so that its messages make no sense to the others.
fn run_by_plan(party: &mut Party, other: usize) -> Result<()> {
    let me = party.me();
    let mut run = party.begin_alone()?;
    run.compare([u8::from(me == other); 32])?;
    let rounds = if me == other { 1 } else { 3 };
    run.phase(Phase::Online, async |ctx| chain(ctx, own(ctx, 3), rounds).await)?;
    run.finish();
    Ok(())
}

#[test]
fn different_plans_end_the_run_before_anything_else_of_it_is_read() {
    within_seconds(60, || {
        for (parties, seed) in (0..120u64).map(|seed| (2 + seed as usize % 2, seed)) {
            let other = seed as usize % parties;
            let errors = testing::parties(parties, |mut party| {
                party.insecure_jitter(seed * 5 + party.me() as u64 + 1);
                let error = run_by_plan(&mut party, other).err();
                run(&mut party).expect("the session goes on");
                error
            });
            for (me, error) in errors.into_iter().enumerate() {
                let is_other = |peer: usize| (me == other) != (peer == other);
                let found = matches!(error, Some(Error::Mismatch(Mismatch::Plan { peer })) if is_other(peer));
                // Among three, the others may both have given up before this one reads anything.
                let told = matches!(error, Some(Error::Aborted { by, cause: Cause::Mismatch }) if by != me);
                assert!(found || (told && parties == 3), "timing {seed}, party {me}: {error:?}");
            }
        }
    });
}

#[test]
fn plans_that_are_alike_cost_no_round_and_no_payload() {
    let costs = [true, false].map(|compares| {
        testing::parties(2, |mut party| {
            let mut run = party.begin_alone().unwrap();
            if compares {
                run.compare([7; 32]).unwrap();
            }
            run.phase(Phase::Online, async |ctx| chain(ctx, own(ctx, 3), 2).await).unwrap();
            run.finish()
        })
    });
    assert_eq!(costs[0], costs[1]);
}

#[test]
fn different_requests_are_told_apart_and_notes_travel() {
    within_seconds(20, || {
        testing::parties(3, |mut party| {
            let me = party.me() as u8;
            let mut greeting = Greeting { request: [me / 2; 32], ..Greeting::default() };
            let error = party.begin_alone_with(&greeting).err().expect("requests differ");
            assert!(
                matches!(error, Error::Mismatch(Mismatch::Request { peer, .. }) if peer == if me == 2 { 0 } else { 2 })
            );
            greeting = Greeting { note: vec![me; Greeting::MAX_NOTE], ..Greeting::default() };
            let run = party.begin_alone_with(&greeting).expect("notes may differ");
            assert!(run.agreement().notes.iter().zip(0..).all(|(note, from)| *note == vec![from; Greeting::MAX_NOTE]));
            run.finish();
            greeting.note.push(0);
            let error = party.begin_alone_with(&greeting).err().expect("the note is too long");
            assert!(matches!(error, Error::Misuse { .. } | Error::Aborted { cause: Cause::Refused, .. }));
        });
    });
}

trait BeginWith {
    fn begin_alone_with(&mut self, greeting: &Greeting) -> Result<Run<'_>>;
}

impl BeginWith for Party {
    fn begin_alone_with(&mut self, greeting: &Greeting) -> Result<Run<'_>> {
        self.begin(greeting, &Trace::default, &|_| String::new())
    }
}

#[test]
fn an_error_names_the_step_that_waited() {
    within_seconds(20, || {
        let errors = testing::parties(3, |mut party| {
            let me = party.me();
            let mut run = party.begin_alone().unwrap();
            let result = run.phase(Phase::Online, async |ctx| {
                let step = |i: usize| Some(Step { id: i as u32, name: format!("step {i}").into() });
                let shape = (crate::common::RING, 1);
                ctx.join_steps(4, step, async |ctx, i| match (me, i) {
                    (_, ..2) => sum(&ctx, &own(&ctx, 1)).await.map(drop),
                    // The others are connected and wait, but get no answer.
                    (1, _) => ctx.exchange::<Vector>(&[], &[(0, shape), (2, shape)]).await.map(drop),
                    _ => ctx.exchange(&[(1, &own(&ctx, 1))], &[(1, shape)]).await.map(drop),
                })
                .await
            });
            if me == 1 {
                std::mem::forget(run);
                party.insecure_vanish();
            }
            result.err()
        });
        for error in [&errors[0], &errors[2]] {
            assert!(
                matches!(error, Some(Error::Net { peer: 1, step: Some(step), .. }) if **step == *"step 2"),
                "{error:?}"
            );
        }
    });
}

#[test]
fn a_program_that_waits_for_itself_is_a_defect_not_a_hang() {
    within_seconds(20, || {
        let errors = testing::online(3, async |ctx| {
            let slot = quorate_engine::Slot::<u8>::default();
            slot.get(ctx).await;
            Ok(())
        });
        assert!(errors.iter().any(|e| matches!(e, Err(Error::Bug { .. }))));
        assert!(errors.iter().all(|e| matches!(e, Err(Error::Bug { .. } | Error::Aborted { cause: Cause::Bug, .. }))));
    });
}

#[test]
fn a_message_to_nobody_is_misuse_dry_and_live() {
    let results = testing::online(3, async |ctx| chain_to(ctx, 3).await);
    assert!(results.iter().any(|r| matches!(r, Err(Error::Misuse { .. }))));
    let dry = quorate_engine::dry::run(0, 3, Phase::Online, async |ctx| chain_to(ctx, 0).await);
    assert!(matches!(dry, Err(Error::Misuse { what: Misuse::NoSuchParty { party: 0, parties: 3 } })));
}

async fn chain_to(ctx: &Ctx, peer: usize) -> Result<()> {
    ctx.exchange(&[(peer, &own(ctx, 1))], &[]).await.map(drop)
}
