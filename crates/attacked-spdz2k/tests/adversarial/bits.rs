//! Tests of parties that use wrong bits with MACs, or a different Delta for each peer.

use quorate_adversary::{Adversary, By, Twist};
use quorate_authenticated::Kind;
use quorate_engine::testing::parties;
use quorate_engine::{Error, Phase, Result, Stocks};
use quorate_spdz2k::{Params, Spdz2k};

use super::outcomes::is_found;

/// A party proves its bits and then uses a wrong one for its MACs, or two wrong ones with the right sum. It would know
/// the error of an edaBit.
#[test]
fn other_bits_than_were_proven_are_found() {
    for (n, cheat) in [(2, 0), (2, 1), (3, 1)] {
        // These are so short that their bits are proven.
        for kind in [Kind::EdaBit { bits: 3, ring: 11, cut: 0 }, Kind::TruncMask { bits: 4, cut: 2 }] {
            for by in [By::Plus(0), By::Pair(0)] {
                let ends = lied_by(n, cheat, &kind, (Twist::MacBit, by));
                assert!(ends.iter().all(is_found), "{kind}, {by:?}: {ends:?}");
            }
        }
    }
}

/// A party uses other bits towards party 0 than towards the rest. Party 0 finds them; the others may have finished
/// before they are informed.
#[test]
fn other_bits_for_each_peer_are_found() {
    let kinds = [Kind::BitTriple, Kind::BitMask { owner: 1 }, Kind::BitZero, Kind::EdaBit { bits: 2, ring: 2, cut: 0 }];
    for kind in kinds {
        // If two bits are wrong, each has a coin of its own.
        for (n, by) in [(3, By::Plus(0)), (3, By::Pair(0)), (4, By::Plus(0))] {
            let ends = lied_by(n, 1, &kind, (Twist::Bits { peer: 0 }, by));
            let found = matches!(ends[0], Err(Error::Cheating { check }) if check.contains("same towards"));
            assert!(found, "{kind}, {by:?}: {ends:?}");
        }
    }
}

/// A party sends wrong lowest bits of its sums, for one leaky AND or for two, which would then not be ANDs.
#[test]
fn leaky_ands_that_are_none_are_found() {
    for (n, cheat) in [(2, 0), (2, 1), (3, 0), (3, 2), (4, 1)] {
        for by in [By::Plus(0), By::Pair(0)] {
            let ends = lied_by(n, cheat, &Kind::BitTriple, (Twist::Flip, by));
            let check =
                |done: &Result<()>| matches!(done, Err(Error::Cheating { check }) if check.contains("in the making"));
            assert!(ends.iter().all(is_found) && ends.iter().any(check), "{by:?} of party {cheat} of {n}: {ends:?}");
        }
    }
}

/// The bits that are added to opened bits are not a sharing of zero.
#[test]
fn sharings_that_are_not_of_zero_are_found() {
    for cheat in [0, 2] {
        let ends = lied(3, cheat, &Kind::BitZero, Twist::BitZero);
        let check =
            |done: &Result<()>| matches!(done, Err(Error::Cheating { check }) if check.contains("same towards"));
        assert!(ends.iter().all(is_found) && ends.iter().any(check), "{ends:?}");
    }
}

/// In openings of lowest bits of elements, one share is wrong, or two are, one larger and one smaller. A daBit of
/// several parties would then be two different bits. The last openings are checked before correlations are used.
#[test]
fn a_dabit_that_is_two_bits_is_found() {
    for (n, cheat) in [(3, 0), (3, 2), (4, 1)] {
        for by in [By::Plus(0), By::Pair(0)] {
            let ends = lied_by(n, cheat, &Kind::DaBit { bits: 4 }, (Twist::Lowest, by));
            let tags = |done: &Result<()>| matches!(done, Err(Error::Cheating { check }) if check.contains("tags"));
            assert!(ends.iter().all(is_found) && ends.iter().any(tags), "{by:?} of party {cheat} of {n}: {ends:?}");
        }
    }
}

/// Returns what parties have of twenty correlations of a kind if one party lies about a bit.
fn lied(n: usize, cheat: usize, kind: &Kind, twist: Twist) -> Vec<Result<()>> {
    lied_by(n, cheat, kind, (twist, By::Plus(0)))
}

fn lied_by(n: usize, cheat: usize, kind: &Kind, (twist, by): (Twist, By)) -> Vec<Result<()>> {
    parties(n, |mut party| {
        let mut run = party.begin_alone().unwrap();
        let done = run.phase(Phase::Offline, async |ctx| {
            let s = Spdz2k::set_up(ctx, Params::new(32, true).unwrap(), None).await?;
            if ctx.me() == cheat {
                s.adversary().twist(twist, by);
            }
            s.make(ctx, kind, 20).await
        });
        run.finish();
        done.map(|_| ())
    })
}

/// A party uses another Delta towards one peer than towards the rest. The check of leaky ANDs finds a difference in any
/// bit, in bits that the peer never receives, too.
#[test]
fn a_delta_that_differs_from_peer_to_peer_is_found() {
    for (cheat, by) in [(2, By::Plus(77)), (1, By::Plus(1)), (2, By::Minus(1))] {
        let ends = parties(3, |mut party| {
            let mut run = party.begin_alone().unwrap();
            let done = run.phase(Phase::Offline, async |ctx| {
                let adversary = Adversary::none();
                if ctx.me() == cheat {
                    adversary.twist(Twist::Delta { peer: 0 }, by);
                    adversary.go_on();
                }
                let params = Params::new(32, true).unwrap();
                let s = Spdz2k::set_up_as(ctx, params, None, adversary).await?;
                s.make(ctx, &Kind::Link, 5).await?;
                s.make(ctx, &Kind::BitTriple, 5).await
            });
            run.finish();
            done.map(|_| ())
        });
        let check =
            |done: &Result<()>| matches!(done, Err(Error::Cheating { check }) if check.contains("in the making"));
        assert!(ends.iter().all(is_found) && ends.iter().any(check), "{by:?} of party {cheat}: {ends:?}");
    }
}
