//! The end of a run: no party ends it before all have confirmed, and the confirmation costs no round.

use crate::common::{chain, own, within_seconds};
use quorate_engine::{Cause, Costs, Error, Mismatch, Misuse, Party, Phase, Result, testing};

const REFUSAL: Error = Error::Misuse { what: Misuse::Other { what: "a refusal" } };

/// Runs a program, with or without its confirmation. Returns its costs, and the bytes on its links.
fn run(party: &mut Party, confirmed: bool) -> Result<(Costs, u64)> {
    let before = party.wire_bytes();
    let mut run = party.begin_alone()?;
    run.phase(Phase::Online, async |ctx| chain(ctx, own(ctx, 3), 4).await)?;
    if confirmed {
        run.confirm()?;
    }
    let costs = run.finish();
    Ok((costs, party.wire_bytes() - before))
}

#[test]
fn a_confirmation_is_a_short_frame_to_each_peer_and_no_round() {
    within_seconds(60, || {
        for parties in [2, 3, 5] {
            testing::parties(parties, |mut party| {
                let (plain, bytes) = run(&mut party, false).unwrap();
                let (confirmed, more) = run(&mut party, true).unwrap();
                assert_eq!(confirmed.online, plain.online);
                let word = more.saturating_sub(bytes) / (parties as u64 - 1);
                assert!((1..64).contains(&word), "{word} bytes to each peer");
            });
        }
    });
}

#[test]
fn nobody_is_through_before_all_have_said_so() {
    within_seconds(60, || {
        for parties in [2, 3, 5] {
            for late in 0..parties {
                let errors = testing::parties(parties, |mut party| {
                    let me = party.me();
                    let mut run = party.begin_alone().unwrap();
                    // One party fails after its last message: the others have everything, but may not hand it out. The
                    // news of the failure may arrive with messages that they still wait for.
                    let done = run.phase(Phase::Online, async |ctx| chain(ctx, own(ctx, 3), 4).await);
                    let end = done.and_then(|_| match me == late {
                        true => run.phase(Phase::Online, async |_| Err::<(), _>(REFUSAL)),
                        false => run.confirm(),
                    });
                    drop(run);
                    while let Err(error) = self::run(&mut party, true) {
                        assert!(matches!(error, Error::Aborted { .. }), "the session goes on: {error}");
                    }
                    end.err()
                });
                for (me, error) in errors.into_iter().enumerate() {
                    let aborted = Error::Aborted { by: late, cause: Cause::Refused };
                    assert_eq!(error, Some(if me == late { REFUSAL } else { aborted }), "party {me}");
                }
            }
        }
    });
}

#[test]
fn an_interrupt_after_the_last_word_does_not_end_the_run() {
    within_seconds(60, || {
        testing::parties(3, |mut party| {
            // A party that has ended the run interrupts its next attempt at once, while others may still wait for the
            // last confirmation of this one.
            for _ in 0..50 {
                run(&mut party, true).expect("all were done");
                if party.me() == 0 {
                    party.interrupt_handle().unwrap().raise();
                }
                assert!(run(&mut party, true).is_err());
            }
        });
    });
}

#[test]
fn a_party_that_leaves_without_a_last_word_runs_another_program() {
    within_seconds(20, || {
        let errors = testing::parties(3, |mut party| {
            let me = party.me();
            let error = run(&mut party, me != 1).err();
            party.leave(false);
            error
        });
        let left = Some(Error::Mismatch(Mismatch::Left { peer: 1 }));
        assert_eq!(errors, [left.clone(), None, left]);
    });
}
