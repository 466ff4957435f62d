//! Tests of sessions with pools where parties may cheat: such a pool is made in one session, and no session uses it
//! after one that did not end well.

use quorate_graph::BinaryOp;
use quorate_pool::PoolError;

use super::pool_world_for_tests::{Fault, How, Program, Seated, World, expected};
use super::requests_tests::binary;
use super::*;

/// The families whose pools have secrets, with a number of parties.
const FAMILIES: [(Protocol, usize); 3] = [(Protocol::Spdz2k, 2), (Protocol::Spdz2k, 3), (Protocol::PikaMalicious, 3)];

/// Returns parties whose pools have this many bundles of both runs. Correlations of `spdz2k` come from a dealer, as
/// most tests have it; sessions that use them are as always.
fn made(family: (Protocol, usize), times: u32) -> World {
    let mut world = World::new(family);
    if family.0 == Protocol::Spdz2k {
        world.options.family.insert("offline".into(), "insecure_dealer".into());
    }
    all(world.make(times));
    world
}

fn all<T>(results: Vec<Result<T, SessionError>>) -> Vec<T> {
    results.into_iter().map(|result| result.unwrap()).collect()
}

fn use_all(world: &mut World) -> Vec<Result<[u64; 2], SessionError>> {
    world.deploy(|_| PoolMode::Use, Seated::run_all)
}

fn is_exhausted<T>(result: &Result<T, SessionError>) -> bool {
    matches!(result, Err(SessionError::PoolExhausted { .. }))
}

/// Returns whether no party opens a session, since the pool of one is dead. Others may hear first that it stops.
fn are_dead<T>(results: &[Result<T, SessionError>]) -> bool {
    let is_dead = |error: &SessionError| {
        matches!(error, SessionError::Pool(PoolError::Dead { .. }) | SessionError::PoolDeadThere { .. })
    };
    results.iter().all(Result::is_err) && results.iter().filter_map(|result| result.as_ref().err()).any(is_dead)
}

#[test]
fn sessions_use_a_pool_one_after_the_other_and_make_nothing() {
    for family in FAMILIES {
        let mut world = made(family, 3);
        for _ in 0..3 {
            for bytes in all(use_all(&mut world)) {
                assert!(bytes.iter().all(|&sent| (sent as usize) < family.1), "{family:?}: {bytes:?}");
            }
        }
        assert_eq!(world.no_place_is_taken_twice(), 6);
        for _ in 0..2 {
            let results = use_all(&mut world);
            assert!(results.iter().all(is_exhausted), "an exhausted pool is alive: {results:?}");
        }
        for levels in all(world.make(1)) {
            assert_eq!(levels.iter().map(|level| (level.made, level.left)).collect::<Vec<_>>(), [(1, 1); 2]);
        }
        all(use_all(&mut world));
    }
}

/// Without a dealer: the parties make all of it together.
#[test]
fn a_pool_of_real_correlations_serves_a_later_session() {
    let mut world = World::new((Protocol::Spdz2k, 2));
    all(world.make(1));
    all(use_all(&mut world));
    assert!(use_all(&mut world).iter().all(is_exhausted));
}

#[test]
fn a_pool_that_is_not_used_up_is_not_made_again() {
    for family in FAMILIES {
        let mut world = made(family, 2);
        all(use_all(&mut world));
        let refused = world.make(3);
        let closed = |result: &Result<_, SessionError>| matches!(result, Err(SessionError::PoolClosed));
        assert!(refused.iter().any(closed) && refused.iter().all(Result::is_err), "{refused:?}");
        all(use_all(&mut world));
    }
}

#[test]
fn refusals_leave_a_pool_alive() {
    for family in FAMILIES {
        let mut world = made(family, 2);
        let results = world.deploy(
            |_| PoolMode::Use,
            |seated| {
                let program = Program::build(&mut seated.session);
                let other = binary(&mut seated.session, BinaryOp::Eq, program.first[0], program.first[0]);
                let refused = seated.run(&[other]).map(drop);
                let (values, _) = seated.run(&program.first)?;
                assert!(values == expected()[0]);
                Ok(is_exhausted(&refused))
            },
        );
        assert!(all(results).into_iter().all(|refused| refused), "{family:?}");
        // A party without a pool, as with a wrong path, changes nothing at the others.
        let files = std::mem::take(&mut *world.disks[1].0.lock().unwrap());
        for result in use_all(&mut world) {
            assert!(matches!(&result, Err(SessionError::NoPool { parties }) if parties == "1"), "{result:?}");
        }
        *world.disks[1].0.lock().unwrap() = files;
        all(world.deploy(
            |_| PoolMode::Use,
            |seated| {
                let program = Program::build(&mut seated.session);
                seated.run(&program.first).map(drop)
            },
        ));
    }
}

/// A backup of one party is found, and nothing is given up: either party may state a wrong number.
#[test]
fn a_party_with_an_old_disk_is_refused_and_nothing_is_given_up() {
    for family in FAMILIES {
        let mut world = made(family, 6);
        let old = world.disks[1].0.lock().unwrap().clone();
        for _ in 0..3 {
            all(use_all(&mut world));
        }
        let last = std::mem::replace(&mut *world.disks[1].0.lock().unwrap(), old);
        for result in use_all(&mut world) {
            let Err(SessionError::PoolBehind { party: 1, reserved: 0, other: 3, .. }) = result else {
                panic!("{result:?}")
            };
        }
        *world.disks[1].0.lock().unwrap() = last;
        all(use_all(&mut world));
    }
}

/// A party's disk refuses a change, or its process ends: afterwards the pool is dead at all parties, or alive at all.
#[test]
fn a_fault_of_one_party_ends_the_pool_everywhere_or_nowhere() {
    let how = [How::Refused, How::EndsBefore, How::EndsAfter];
    let calls = ["enter", "reserve", "take", "release", "leave"];
    let cases = || calls.into_iter().flat_map(|call| how.map(|how| (call, how)));
    let (mut dead, mut alive) = (0, 0);
    for (family, (call, how)) in FAMILIES.into_iter().flat_map(|family| cases().map(move |case| (family, case))) {
        let party = family.1 - 1;
        let what = format!("{family:?}: {how:?} {call} at {party}");
        let mut world = made(family, 3);
        world.fault = Some(Fault { party, call, nth: 0, how });
        let first = use_all(&mut world);
        world.fault = None;
        // A party that has died tells the others, at the latest in the setup of the next session.
        let second = use_all(&mut world);
        let third = use_all(&mut world);
        world.no_place_is_taken_twice();
        if are_dead(&third) {
            let is_at_end = ["release", "leave"].contains(&call);
            assert!(is_at_end || first.iter().any(Result::is_err), "{what}: it died for nothing");
            assert!(second.iter().all(Result::is_err), "{what}: {second:?}");
            assert!(world.make(1).iter().all(Result::is_ok), "{what}: a dead pool is replaced");
            dead += 1;
        } else {
            assert!(third.iter().all(|result| result.is_ok() || is_exhausted(result)), "{what}: {third:?}");
            alive += 1;
        }
    }
    assert!(dead > 10 && alive > 5, "{dead} dead, {alive} alive");
}

/// A run that fails at one party after others have taken their bundles ends the pool there, and erases it.
#[test]
fn a_run_that_fails_erases_the_pool() {
    for family in FAMILIES {
        let mut world = made(family, 3);
        world.fault = Some(Fault { party: 1, call: "take", nth: 0, how: How::Refused });
        let results = world.deploy(
            |_| PoolMode::Use,
            |seated| {
                let failed = seated.run_all().is_err();
                Ok((failed, seated.run_all().is_err()))
            },
        );
        let failed = all(results);
        assert!(failed.iter().all(|(first, _)| *first), "{family:?}");
        if failed.iter().all(|(_, second)| !second) {
            continue; // they were told before they had taken their bundles
        }
        assert!(failed.iter().all(|(_, second)| *second), "{family:?}");
        world.fault = None;
        // A party that had not taken its bundle yet hears of the death here.
        let results = use_all(&mut world);
        assert!(are_dead(&results), "{family:?}: {results:?}");
        for disk in &world.disks {
            let files = disk.0.lock().unwrap().keys().cloned().collect::<Vec<_>>();
            assert_eq!(files, ["pool"], "{family:?}: lots are left");
        }
        let texts: Vec<String> = results.iter().map(|result| result.as_ref().err().unwrap().to_string()).collect();
        assert!(texts.iter().all(|text| text.contains("pool again")), "{texts:?}");
        assert!(texts.iter().any(|text| text.contains("did not end well")), "{texts:?}");
    }
}

/// A making that is cut off leaves a dead pool.
#[test]
fn a_making_that_fails_leaves_a_dead_pool() {
    let (spdz2k, pika) = ((Protocol::Spdz2k, 2), (Protocol::PikaMalicious, 3));
    for (family, call, how) in
        [(spdz2k, "count", How::Refused), (pika, "append", How::EndsAfter), (pika, "count", How::Refused)]
    {
        let mut world = World::new(family);
        world.fault = Some(Fault { party: 1, call, nth: 0, how });
        assert!(world.make(2).iter().all(Result::is_err), "{family:?} {call}");
        world.fault = None;
        let results = use_all(&mut world);
        assert!(are_dead(&results), "{family:?} {call}: {results:?}");
    }
}

/// A run that fails after the disk has noted that the keys are in use, and before they were used here, ends the pool:
/// another party may have used them.
#[test]
fn a_run_that_fails_before_its_bundle_is_taken_ends_the_pool() {
    for family in FAMILIES {
        for call in ["enter", "reserve", "take"] {
            let mut world = made(family, 3);
            world.fault = Some(Fault { party: 1, call, nth: 0, how: How::Refused });
            world.deploy(|_| PoolMode::Use, |seated| Ok(seated.run_all().is_err())).into_iter().for_each(drop);
            world.fault = None;
            assert_eq!(world.disks[1].0.lock().unwrap().keys().collect::<Vec<_>>(), ["pool"], "{family:?} {call}");
            assert!(are_dead(&use_all(&mut world)), "{family:?} {call}");
        }
    }
}

/// A disk that does not note the end of a session: the session's end says so.
#[test]
fn a_pool_that_is_not_closed_is_told() {
    let mut world = made(FAMILIES[0], 3);
    world.fault = Some(Fault { party: 1, call: "leave", nth: 0, how: How::Refused });
    assert!(use_all(&mut world).iter().all(Result::is_ok));
    let complaints = world.complaints.lock().unwrap().clone();
    assert!(matches!(&complaints[..], [(1, text)] if text.contains("the test says so")), "{complaints:?}");
}
