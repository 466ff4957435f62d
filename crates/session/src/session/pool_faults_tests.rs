//! Faults at every step of a party that uses or makes bundles. Whatever happens, no place is taken in two runs, and the
//! next session goes on.

use super::pool_world_for_tests::{FAMILIES, Fault, How, Program, World};
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

/// One party is cut off before it counts a batch that another one has counted: the places of this batch are given up,
/// nobody is taken for one with an old disk, and the lot is filled up again.
#[test]
fn a_batch_that_one_party_alone_has_counted_is_given_up() {
    for family in FAMILIES {
        let mut world = World::new(family);
        world.make(12).into_iter().for_each(|made| drop(made.unwrap()));
        for _ in 0..9 {
            assert!(world.deploy(|_| PoolMode::Use, |seated| seated.run_all()).iter().all(Result::is_ok));
        }
        world.fault = Some(Fault { party: 1, call: "count", nth: 0, how: How::EndsBefore });
        assert!(world.make(200).iter().any(Result::is_err), "{family:?}");
        world.fault = None;
        world.make(10).into_iter().for_each(|made| drop(made.unwrap()));
        // A party is killed before it reserves places beyond the gap, which another one has reserved.
        world.fault = Some(Fault { party: 1, call: "reserve", nth: 6, how: How::EndsBefore });
        world.deploy(|_| PoolMode::Use, |seated| (0..5).try_for_each(|_| seated.run_all().map(drop)));
        world.fault = None;
        let (ran, _) = use_up(&mut world, &format!("{family:?}"));
        assert!(ran >= 5, "{family:?}: {ran} runs were left");
        world.no_place_is_taken_twice();
    }
}

/// Nothing of the pool was chosen in a run that was refused, or whose programs differ: what is not used is given back.
#[test]
fn runs_that_chose_no_place_burn_nothing() {
    for family in FAMILIES {
        let mut world = World::new(family);
        world.make(100).into_iter().for_each(|made| drop(made.unwrap()));
        let results = world.deploy(
            |_| PoolMode::Use,
            |seated| {
                seated.run_all()?;
                let program = Program::build(&mut seated.session);
                let me = seated.session.me();
                let differs = seated.run(&program.first[..1 + usize::from(me == Some(0))]);
                assert!(differs.is_err(), "the programs differ");
                Ok(())
            },
        );
        results.into_iter().for_each(|result| result.unwrap());
        let left = world.make(1).into_iter().map(|made| made.unwrap().iter().map(|level| level.left).min());
        assert!(left.clone().all(|left| left == Some(99)), "{family:?}: {:?}", left.collect::<Vec<_>>());
    }
}

/// A disk that does not take back what was not used: the session's end says so.
#[test]
fn what_cannot_be_given_back_is_told() {
    let mut world = World::new(FAMILIES[0]);
    world.make(100).into_iter().for_each(|made| drop(made.unwrap()));
    world.fault = Some(Fault { party: 1, call: "release", nth: 0, how: How::Refused });
    assert!(world.deploy(|_| PoolMode::Use, |seated| seated.run_all()).iter().all(Result::is_ok));
    let complaints = world.complaints.lock().unwrap().clone();
    assert!(matches!(&complaints[..], [(1, text)] if text.contains("the test says so")), "{complaints:?}");
}
