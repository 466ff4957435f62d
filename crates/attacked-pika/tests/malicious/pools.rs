//! Sessions that take their correlations from a pool, with cheaters: after a run that does not end well the keys of the
//! pool are of no use at any honest party, the dealer included.

use quorate_adversary::{By, Twist};
use quorate_engine::testing::{Liar, parties};
use quorate_engine::{Ctx, Error, Phase, Result, Stocks, dry};
use quorate_gadgets::{Pools, Revokes};
use quorate_pika::PikaMalicious;

use super::dealer::kinds;
use super::links::{Results, demand, in_order, params, program, wanted};
use super::outcomes::{Cheat, Outcome, Table, changes, is_an_end, with_cheat};
use crate::common::N;

/// One party's end.
struct End {
    done: Result<Results>,
    /// Whether its keys have ended.
    over: bool,
}

/// Makes the correlations of `program` in one session, and returns another one that serves them.
async fn ready(ctx: &Ctx) -> Result<PikaMalicious> {
    let demand = demand(ctx.me());
    let first = PikaMalicious::set_up(ctx, params(), None).await?;
    let made = first.make_kinds(ctx, demand.totals()).await?;
    first.check_made(ctx)?;
    let s = PikaMalicious::set_up_under(ctx, params(), (None, &first.secrets())).await?;
    let read = |(kind, material)| {
        let mut bytes = vec![];
        first.pack(material, &mut bytes)?;
        Ok((Clone::clone(kind), s.unpack(kind, demand.totals()[kind], &bytes)?))
    };
    let made = made.iter().map(read).collect::<Result<_>>()?;
    s.fill_from_pool(first.origin(), demand, made)?;
    Ok(s)
}

fn from_pool(cheat: Option<Cheat>, twist: Option<(usize, Twist, By)>) -> (Vec<End>, Vec<Liar>) {
    with_cheat(N, cheat, |mut party, liar| {
        let me = party.me();
        let mut run = party.begin_alone().unwrap();
        let s = run.phase(Phase::Offline, async |ctx| ready(ctx).await).unwrap();
        if let Some((_, at, by)) = twist.filter(|(party, ..)| *party == me) {
            s.insecure_online().adversary().twist(at, by);
        }
        liar.begin();
        let done = run.phase(Phase::Online, async |ctx| program(&s, ctx).await);
        run.finish();
        if done.is_err() {
            s.cut_off();
        }
        End { done, over: s.is_over() }
    })
}

/// Returns whether an honest party noticed. Keys end with a run that does not end well.
fn judge(what: &str, cheater: usize, ends: Vec<End>) -> bool {
    let mut noticed = false;
    for (me, End { done, over }) in ends.into_iter().enumerate().filter(|(me, _)| *me != cheater) {
        match done {
            Ok(results) => assert!(in_order(results).0 == wanted(me) && !over, "{what}, party {me}"),
            Err(error) => {
                assert!(is_an_end(&error), "{what}, party {me}: {error}");
                assert!(over, "{what}, party {me}: the keys live on after {error}");
                noticed = true;
            }
        }
    }
    noticed
}

fn sampled(step: usize) -> Table {
    let (ends, liars) = from_pool(None, None);
    assert!(!judge("without a cheater", N, ends));
    let mut table = Table::default();
    for (party, liar) in liars.iter().enumerate() {
        let cases =
            (0..liar.sent().len()).flat_map(|message| changes(message, (8, 48)).map(|change| (message, change)));
        for (message, (change, what)) in cases.skip(party).step_by(step) {
            let cheat = Cheat { party, message, what };
            let (ends, liars) = from_pool(Some(cheat), None);
            let noticed = judge(&format!("{cheat:?}"), party, ends);
            if liars[party].has_lied() {
                table.add("from a pool", N, change, if noticed { Outcome::Noticed } else { Outcome::Right });
            }
        }
    }
    table
}

#[test]
fn no_lie_of_a_link_leaves_a_pool_in_use_after_an_error() {
    let table = sampled(41);
    println!("{table}");
    let (all, noticed) = table.totals();
    assert!(all > 20 && 10 * noticed > 8 * all, "{noticed} of {all}");
}

#[test]
#[ignore = "takes minutes: make adversary"]
fn adversary_every_lie_of_a_link_in_sessions_from_a_pool() {
    let table = sampled(1);
    println!("{table}");
    assert!(table.totals().0 > 800);
}

/// P0 or P1 opens, or checks, another value than it has: the keys end at the other one, and at the dealer.
#[test]
fn wrong_openings_and_rows_end_the_keys_of_all_honest_parties() {
    for cheat in [0, 1] {
        for twist in [Twist::Low, Twist::OpenedBit, Twist::Row, Twist::RowTag] {
            let what = format!("{twist:?} of {cheat}");
            let (ends, _) = from_pool(None, Some((cheat, twist, By::Plus(0))));
            let over: Vec<bool> = ends.iter().map(|end| end.over).collect();
            assert!(judge(&what, cheat, ends), "{what} is not found");
            assert!((0..N).all(|me| me == cheat || over[me]), "{what}: a pool lives on, {over:?}");
        }
    }
}

/// Bytes of every kind come back as they were, and fit the keys of the other session. The dealer keeps its own masks,
/// and nothing else: no keys, no tags, no shares.
#[test]
fn every_kind_is_read_back_and_a_dealer_keeps_its_masks_alone() {
    const LEN: usize = 3;
    let ends = parties(N, |mut party| {
        let me = party.me();
        let mut run = party.begin_alone().unwrap();
        let kept = run.phase(Phase::Offline, async |ctx| {
            let first = PikaMalicious::set_up(ctx, params(), None).await?;
            let secrets = first.secrets();
            let second = PikaMalicious::set_up_under(ctx, params(), (None, &secrets)).await?;
            let keys = |s: &PikaMalicious| (s.insecure_online().insecure_alpha(), s.insecure_online().insecure_delta());
            assert!(me == 2 && secrets.is_empty() && keys(&second) == (0, 0) || keys(&first) == keys(&second));
            let mut kept = vec![];
            for kind in kinds(48) {
                let made = first.make(ctx, &kind, LEN).await?;
                let (mut bytes, mut again) = (vec![], vec![]);
                first.pack(&made, &mut bytes)?;
                second.pack(&second.unpack(&kind, LEN, &bytes)?, &mut again)?;
                assert!(bytes == again && bytes.len() == second.packed_bytes(&kind, LEN), "{kind}");
                assert!(PikaMalicious::fits_pools(&kind), "{kind}");
                kept.push((kind, bytes.len()));
            }
            Ok(kept)
        });
        run.finish();
        kept.unwrap()
    });
    for (me, kept) in ends.into_iter().enumerate() {
        for (kind, bytes) in kept {
            let is_own = kind.to_string().contains("mask of party 2");
            assert_eq!(bytes > 0, me < 2 || is_own, "{kind} at party {me}");
        }
    }
}

#[test]
fn keys_of_another_party_or_of_other_options_are_refused() {
    let secrets = parties(N, |mut party| {
        let mut run = party.begin_alone().unwrap();
        let s = run.phase(Phase::Offline, async |ctx| PikaMalicious::set_up(ctx, params(), None).await).unwrap();
        run.finish();
        s.secrets()
    });
    let refused = |me: usize, secrets: &[u8]| {
        let set_up = async |ctx: &Ctx| PikaMalicious::set_up_under(ctx, params(), (None, secrets)).await.map(drop);
        dry::run(me, N, Phase::Offline, set_up).err()
    };
    assert_eq!((refused(0, &secrets[0]), refused(2, &secrets[2])), (None, None));
    assert!(matches!(refused(2, &secrets[0]), Some(Error::Misuse { .. })), "party 2 takes no keys");
    assert!(matches!(refused(0, &secrets[2]), Some(Error::Misuse { .. })), "party 0 needs keys");
}
