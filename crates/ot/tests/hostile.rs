//! A peer that violates the protocol at the start of a session.

use quorate_engine::testing::parties;
use quorate_engine::{Ctx, Error, Party, Phase, Result};
use quorate_ot::{Options, Ot};

/// Bytes of the three messages of a session's start, with 32 trees of depth 4.
const MESSAGES: [usize; 3] = [34, 128 * 96, 32 * (3 * 64 + 32) + 32];

/// Sets up party 0 against party 1, which sends these messages, whatever it receives.
fn against(messages: &[Vec<u8>]) -> Result<()> {
    let results = parties(2, |mut party| match party.me() {
        0 => setup(&mut party).map(drop),
        _ => {
            let mut run = party.begin_alone()?;
            let work = async |ctx: &Ctx| {
                for (message, length) in messages.iter().zip(MESSAGES) {
                    ctx.exchange_bytes(&[(0, message)], &[(0, length)]).await?;
                }
                Ok(())
            };
            run.phase(Phase::Offline, work)?;
            run.finish();
            Ok(())
        }
    });
    results.into_iter().next().unwrap()
}

fn setup(party: &mut Party) -> Result<Vec<Vec<u8>>> {
    let peer = 1 - party.me();
    party.insecure_record();
    let mut run = party.begin_alone()?;
    run.phase(Phase::Offline, async |ctx| Ot::setup(ctx, peer, Options::default()).await.map(drop))?;
    run.finish();
    Ok(party.insecure_transcript().into_iter().map(|message| message.bytes).collect())
}

/// Returns the messages that party 1 sent in a session of its own.
fn recorded() -> Vec<Vec<u8>> {
    let transcripts = parties(2, |mut party| setup(&mut party));
    let messages = transcripts[0].clone().unwrap();
    assert_eq!(messages.iter().map(Vec::len).collect::<Vec<_>>(), MESSAGES);
    messages
}

#[test]
fn a_replay_of_another_session_is_cheating() {
    let error = against(&recorded()).unwrap_err();
    assert!(matches!(error, Error::Cheating { check: "trees of the OT extension" }), "{error}");
}

#[test]
fn messages_of_any_other_length_are_refused() {
    let good = recorded();
    for at in 0..3 {
        for length in [0, 1, MESSAGES[at] - 1, MESSAGES[at] + 1, 3 * MESSAGES[at]] {
            let mut messages = good.clone();
            messages[at].resize(length, 7);
            let error = against(&messages).unwrap_err();
            assert!(matches!(error, Error::Malformed { peer: 1, .. }), "message {at} of {length} bytes: {error}");
        }
    }
}

#[test]
fn points_off_the_curve_are_refused() {
    for (from, bytes) in [(0, [0xff; 32]), (64 * 128 + 32, [0xff; 32]), (64, [0; 32]), (96 * 128 - 32, [0; 32])] {
        let mut messages = recorded();
        messages[1][from..from + 32].copy_from_slice(&bytes);
        let error = against(&messages).unwrap_err();
        assert!(error.to_string().contains("not on the curve"), "{error}");
    }
}

#[test]
fn noise_is_refused() {
    let mut prg = quorate_crypto::Seed::from_bytes([3; 32]).prg("quorate/ot/test", b"");
    for at in 1..3 {
        let mut messages = recorded();
        prg.fill(&mut messages[at]);
        let error = against(&messages).unwrap_err();
        assert!(matches!(error, Error::Malformed { peer: 1, .. } | Error::Cheating { .. }), "{error}");
    }
}
