//! Faults at every step of a party that uses or makes bundles. Whatever happens, no place is taken in two runs, and the
//! next session goes on.

use super::pool_world_for_tests::{FAMILIES, Fault, How, World};
use super::*;

const HOW: [How; 3] = [How::Refused, How::EndsBefore, How::EndsAfter];

fn faults(parties: usize, calls: &'static [&'static str], most: usize) -> impl Iterator<Item = Fault> {
    let each = move |party: usize| {
        calls.iter().flat_map(move |&call| {
            (0..most).flat_map(move |nth| HOW.into_iter().map(move |how| Fault { party, call, nth, how }))
        })
    };
    (0..parties).flat_map(each)
}

/// Runs the program until nothing is left; returns how often it ran in all, and the number of sessions.
fn use_up(world: &mut World, what: &str) -> (usize, usize) {
    let (mut ran, mut sessions) = (0, 0);
    loop {
        let results = world.deploy(|_| PoolMode::Use, |seated| seated.run_all());
        sessions += 1;
        if results.iter().any(|result| matches!(result, Err(SessionError::PoolExhausted { .. }))) {
            assert!(results.iter().all(Result::is_err), "{what}: {results:?}");
            return (ran, sessions);
        }
        for result in results {
            assert!(result.is_ok(), "{what}: {result:?}");
        }
        ran += 1;
    }
}

#[test]
fn faults_in_the_use_of_a_pool_lose_no_more_than_their_places() {
    let times = 4;
    let mut failed = 0;
    for family in FAMILIES {
        for fault in faults(family.1, &["reserve", "take", "release"], 2) {
            let mut world = World::new(family);
            world.make(times).into_iter().for_each(|made| drop(made.unwrap()));
            world.fault = Some(fault);
            // In one session: each run is asked for again, which takes another place.
            let results = world.deploy(
                |_| PoolMode::Use,
                |seated| {
                    let first = seated.run_all();
                    if first.is_err() { seated.run_all() } else { first }
                },
            );
            failed += usize::from(results.iter().any(Result::is_err));
            world.fault = None;
            let (ran, _) = use_up(&mut world, &format!("{family:?} {fault:?}"));
            assert!(ran + 2 >= times as usize - 1, "{family:?} {fault:?}: {ran} runs were left");
            world.no_place_is_taken_twice();
        }
    }
    assert!(failed > 20, "{failed}");
}

#[test]
fn a_making_that_fails_is_made_again() {
    let mut failed = 0;
    for family in FAMILIES {
        for fault in faults(family.1, &["begin", "align", "append", "count"], 2) {
            let mut world = World::new(family);
            world.fault = Some(fault);
            let results = world.make(2);
            failed += usize::from(results.iter().any(Result::is_err));
            world.fault = None;
            for levels in world.make(2) {
                let levels = levels.unwrap_or_else(|error| panic!("{family:?} {fault:?}: {error}"));
                assert!(levels.iter().all(|level| level.left == 2), "{family:?} {fault:?}: {levels:?}");
            }
            let (ran, _) = use_up(&mut world, &format!("{family:?} {fault:?}"));
            assert_eq!(ran, 2, "{family:?} {fault:?}");
            world.no_place_is_taken_twice();
        }
    }
    assert!(failed > 20, "{failed}");
}
