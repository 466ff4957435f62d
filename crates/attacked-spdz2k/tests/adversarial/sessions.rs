//! Tests that an abort, or a run that was cut off, ends the keys: no correlations are made, and no more messages are
//! sent. Checks run one after the other.

use quorate_authenticated::Kind;
use quorate_engine::testing::{At, Change, Liar, Lie, What, lying, over};
use quorate_engine::{Ctx, Error, Phase, Result, Sharing, Stocks, dry};
use quorate_gadgets::{Family, Revokes};
use quorate_ring::{Bits, Ring, Vector};
use quorate_spdz2k::{Params, Spdz2k};

const KINDS: [Kind; 3] = [Kind::Triple { bits: 4 }, Kind::BitTriple, Kind::DaBit { bits: 4 }];

/// The honest party's results of a second request, in the same run and in another run; and the messages that it sent
/// for them.
struct Second {
    first: Error,
    again: Option<Error>,
    later: Option<Error>,
    begun: Option<Error>,
    said: usize,
}

fn second(kind: &Kind, what: What, message: usize) -> Option<Second> {
    let liars = [Liar::default(), Liar::new(Lie { at: At::Number(message), what })];
    let mut ends = over(lying(&liars), |mut party| {
        let me = party.me();
        let mut run = party.begin_alone().unwrap();
        let set_up = run.phase(Phase::Offline, async |ctx| Spdz2k::set_up(ctx, Params::new(48, false)?, None).await);
        let s = set_up.unwrap();
        let liar = &liars[me];
        liar.begin();
        let (mut again, mut said) = (None, 0);
        let done: Result<()> = run.phase(Phase::Offline, async |ctx| {
            let made = s.make(ctx, kind, 1).await.map(drop);
            if made.is_err() {
                let before = liar.sent().len();
                again = s.make(ctx, kind, 1).await.err();
                said = liar.sent().len() - before;
            }
            made
        });
        run.finish();
        let later = dry::run(me, 2, Phase::Offline, async |ctx: &Ctx| s.make(ctx, kind, 1).await.map(drop)).err();
        let before = liar.sent().len();
        let begun = party.begin_alone().err();
        said += liar.sent().len() - before;
        done.err().map(|first| Second { first, again, later, begun, said })
    });
    ends.swap_remove(0)
}

#[test]
fn nothing_is_made_after_an_abort_or_a_run_that_was_cut_off() {
    let mut found = [0; 2];
    for kind in &KINDS {
        for (what, message) in [
            (What::Changed(Change::Bit(3)), 1),
            (What::Changed(Change::Bit(3)), 5),
            (What::Changed(Change::LastBit), 9),
            (What::Shorter, 4),
            (What::Gone, 2),
            (What::Gone, 8),
            (What::Silent, 6),
            (What::Withheld, 9),
        ] {
            let Some(Second { first, again, later, begun, said }) = second(kind, what, message) else { continue };
            let cut = matches!(first, Error::Net { .. });
            let case = format!("{kind}, {what:?} at {message}: {first}");
            assert!(cut || again.is_none() || again == Some(Error::Poisoned), "{case}");
            assert!(later == Some(Error::Poisoned) && begun == Some(Error::Poisoned) && said == 0, "{case}");
            found[usize::from(cut)] += 1;
        }
    }
    println!("{} runs ended in an abort, {} were cut off", found[0], found[1]);
    assert!(found[0] > 5 && found[1] > 5, "{found:?}");
}

/// Returns the end of each protocol that sends messages, in a session whose keys have ended, and the number of messages
/// sent.
fn after_an_abort(wiped: bool) -> (Vec<(&'static str, Option<Error>)>, usize) {
    let liars = [Liar::default(), Liar::new(Lie { at: At::Number(5), what: What::Changed(Change::Bit(3)) })];
    let mut ends = over(lying(&liars), |mut party| {
        let (me, ring) = (party.me(), Ring::of(8));
        let mut run = party.begin_alone().unwrap();
        let set_up = run.phase(Phase::Offline, async |ctx| Spdz2k::set_up(ctx, Params::new(48, false)?, None).await);
        let mut s = set_up.unwrap();
        // These exist before the abort, and are of no use after it.
        let (mut ends, mut sent) = (vec![], 0);
        let done: Result<()> = run.phase(Phase::Online, async |ctx| {
            let kinds = [Kind::Mask { owner: 0, bits: 8 }, Kind::BitMask { owner: 0 }];
            let [elements, bits] = [s.make(ctx, &kinds[0], 1).await?, s.make(ctx, &kinds[1], 1).await?];
            liars[me].begin();
            let made = s.make(ctx, &Kind::Triple { bits: 8 }, 1).await.map(drop);
            if me == 1 || made.is_ok() {
                return made;
            }
            let alpha = s.insecure_alpha();
            s.cut_off();
            if wiped {
                s.wipe();
                assert!(s.insecure_alpha() != alpha && s.insecure_delta() == 0);
            }
            let ([x, b], before) = ([&elements.vectors[0], &elements.vectors[0]], liars[me].sent().len());
            let own = (Vector::from_u64s(ring, &[7]), Bits::from_bools(1, 1, &[true]));
            ends.push(("input", s.input(ctx, 0, (ring, 1), Some(&own.0)).await.err()));
            ends.push(("input of bits", s.input_bits(ctx, 0, (1, 1), Some(&own.1)).await.err()));
            ends.push(("open", s.open(ctx, x).await.err()));
            ends.push(("open bits", s.open_bits(ctx, &bits.bits[0]).await.err()));
            ends.push(("product", s.mul(ctx, x, b).await.err()));
            ends.push(("check", s.check(ctx).await.err()));
            sent = liars[me].sent().len() - before;
            made
        });
        run.finish();
        done.err().map(|_| (ends, sent))
    });
    ends.swap_remove(0).unwrap()
}

/// This covers openings and inputs with masks that were made before, which need no new correlations.
#[test]
fn nothing_is_said_under_keys_that_are_over_and_they_are_wiped() {
    for wiped in [false, true] {
        let (ends, sent) = after_an_abort(wiped);
        assert_eq!(ends.len(), 6);
        for (what, end) in ends {
            assert_eq!(end, Some(Error::Poisoned), "{what}");
        }
        assert_eq!(sent, 0);
    }
}

/// Opens values on two lanes, and then checks: on each lane, or on neither.
async fn two_checks(ctx: &Ctx, s: &Spdz2k, side_by_side: bool) -> Result<()> {
    let ring = Ring::of(16);
    let own = (ctx.me() == 0).then(|| Vector::from_u64s(ring, &[7]));
    let x = s.input(ctx, 0, (ring, 1), own.as_ref()).await?;
    let lane = async |ctx: Ctx| {
        s.mul(&ctx, &x, &x).await?;
        if side_by_side { s.check(&ctx).await.map(drop) } else { Ok(()) }
    };
    ctx.join(lane, lane).await?;
    let checked = s.check(ctx).await?;
    s.reveal(ctx, &checked, &x, None).await?;
    s.check(ctx).await.map(drop)
}

/// Returns the ends of both parties, and the lengths of their messages.
fn checked_twice(side_by_side: bool, lie: Option<Lie>) -> (Vec<Result<()>>, [Vec<usize>; 2]) {
    let liars = [Liar::default(), lie.map_or_else(Liar::default, Liar::new)];
    let ends = over(lying(&liars), |mut party| {
        let me = party.me();
        let mut run = party.begin_alone().unwrap();
        let set_up = run.phase(Phase::Offline, async |ctx| Spdz2k::insecure_set_up(ctx, Params::default(), None).await);
        // Another party may end before this one has all of the set-up.
        let done = set_up.and_then(|s| {
            liars[me].begin();
            run.phase(Phase::Online, async |ctx| two_checks(ctx, &s, side_by_side).await)
        });
        run.finish();
        done
    });
    (ends, [0, 1].map(|party| liars[party].sent()))
}

/// Two checks are never under way at once: the values of a failing check reveal alpha, with which a cheater would forge
/// the other one.
#[test]
fn a_check_is_not_begun_while_another_one_is_under_way() {
    let (ends, _) = checked_twice(true, None);
    let refused = |done: &Result<()>| matches!(done, Err(Error::Bug { what }) if what.contains("side by side"));
    assert!(ends.iter().any(refused) && ends.iter().all(Result::is_err), "{ends:?}");
}

/// A party that reads the others' parts of the tags and keeps its own back receives nothing more.
#[test]
fn nothing_is_said_after_a_check_whose_last_opening_is_held_back() {
    // 64 rows over Z_2^(16+64), and the opening of their commitment.
    const OPENED: usize = 64 * 10 + 32;
    let (done, said) = checked_twice(false, None);
    assert_eq!(done, vec![Ok(()); 2]);
    let first = said.each_ref().map(|said| said.iter().position(|&bytes| bytes == OPENED).unwrap());
    assert!(said[0][first[0] + 1..].contains(&OPENED), "there are two checks");
    for what in [What::Silent, What::Gone] {
        let (done, said) = checked_twice(false, Some(Lie { at: At::Number(first[1]), what }));
        assert!(matches!(done[0], Err(Error::Net { .. })), "{done:?}");
        assert!(said[0].len() <= first[0] + 1, "{what:?}: {} messages", said[0].len());
    }
}

/// A party that has seen a result claims that its user stopped the run: the others do not draw again.
#[test]
fn a_run_that_a_peer_stops_after_it_saw_results_is_not_done_again() {
    for (stops, tossed) in [(false, true), (true, false), (true, true)] {
        let ends = over(lying(&[Liar::default(), Liar::default()]), |mut party| {
            let me = party.me();
            let mut run = party.begin_alone().unwrap();
            let set_up =
                run.phase(Phase::Offline, async |ctx| Spdz2k::set_up(ctx, Params::new(48, false)?, None).await);
            let s = set_up.unwrap();
            run.finish();
            let interrupt = party.interrupt_handle().unwrap();
            let mut run = party.begin_alone().unwrap();
            s.forget();
            let done: Result<()> = run.phase(Phase::Online, async |ctx| {
                if tossed {
                    let own = (me == 0).then(|| Vector::from_u64s(Ring::of(8), &[7]));
                    let x = s.input(ctx, 0, (Ring::of(8), 1), own.as_ref()).await?;
                    let checked = s.check(ctx).await?;
                    s.reveal(ctx, &checked, &x, None).await?;
                }
                ctx.broadcast(None, &[0]).await?;
                if stops && me == 1 {
                    interrupt.raise();
                }
                let waits = if stops { vec![(1 - me, 1)] } else { vec![] };
                ctx.exchange_bytes(&[], &waits).await.map(drop)
            });
            run.finish();
            if done.is_err() {
                s.cut_off();
            }
            s.forget();
            let make = async |ctx: &Ctx| s.make(ctx, &Kind::Random { bits: 8 }, 1).await.map(drop);
            // If keys have ended, no peer has to be asked.
            let later = match stops && tossed {
                true => dry::run(me, 2, Phase::Offline, make).map(drop),
                false => party.begin_alone().and_then(|mut run| {
                    let made = run.phase(Phase::Offline, make);
                    run.finish();
                    made
                }),
            };
            (done, later)
        });
        for (me, (done, later)) in ends.iter().enumerate() {
            assert_eq!(done.is_err(), stops, "party {me}: {done:?}");
            let expected = if stops && tossed { Err(Error::Poisoned) } else { Ok(()) };
            assert_eq!(*later, expected, "party {me}, {stops}, {tossed}");
        }
    }
}
