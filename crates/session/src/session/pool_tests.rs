//! Tests of sessions with pools: right results, what is refused, and plans that are alike.

use quorate_engine::{Mismatch, Rates};
use quorate_graph::Dtype;

use super::pool_world_for_tests::{FAMILIES, Program, World, expected};
use super::requests_tests::{binary, here};
use super::*;
use crate::pool::Supply;

fn all<T>(results: Vec<Result<T, SessionError>>) -> Vec<T> {
    results.into_iter().map(|result| result.unwrap()).collect()
}

/// Returns whether all parties are refused: each says why, or that another one was refused before it could see.
fn are_refused<T>(results: &[Result<T, SessionError>], is_meant: impl Fn(&SessionError) -> bool) -> bool {
    let errors: Vec<&SessionError> = results.iter().filter_map(|result| result.as_ref().err()).collect();
    let heard = |error: &SessionError| matches!(error, SessionError::Engine(quorate_engine::Error::Aborted { .. }));
    errors.len() == results.len()
        && errors.iter().any(|error| is_meant(error))
        && errors.iter().all(|error| is_meant(error) || heard(error))
}

fn is_exhausted(error: &SessionError) -> bool {
    matches!(error, SessionError::PoolExhausted { .. })
}

#[test]
fn runs_take_their_correlations_from_the_pool() {
    for family in FAMILIES {
        let mut world = World::new(family);
        for levels in all(world.make(3)) {
            assert_eq!(levels.iter().map(|level| (level.made, level.left)).collect::<Vec<_>>(), [(3, 3); 2]);
        }
        // Plans follow the prices of the pool, not of the machine on which a party runs now.
        Rates::forget();
        for _ in 0..3 {
            for bytes in all(world.deploy(|_| PoolMode::Use, |seated| seated.run_all())) {
                // A byte for each peer says that a place is reserved.
                assert!(bytes.iter().all(|&sent| (sent as usize) < family.1), "{family:?}: {bytes:?}");
            }
        }
        assert_eq!(world.no_place_is_taken_twice(), 6);
        let results = world.deploy(|_| PoolMode::Use, |seated| seated.run_all());
        assert!(are_refused(&results, is_exhausted), "{results:?}");
        let errors = results.iter().filter_map(|result| result.as_ref().err());
        let text = errors.filter(|error| is_exhausted(error)).map(ToString::to_string).next().unwrap_or_default();
        assert!(text.contains("no correlations left for this run") && text.contains("quorate preprocess"), "{text}");
        for levels in all(world.make(2)) {
            assert_eq!(levels.iter().map(|level| (level.made, level.left)).collect::<Vec<_>>(), [(2, 2); 2]);
        }
        all(world.deploy(|_| PoolMode::Use, |seated| seated.run_all()));
        assert_eq!(world.no_place_is_taken_twice(), 8);
    }
}

#[test]
fn a_session_takes_one_place_after_the_other_and_gives_the_rest_back() {
    let times = 40;
    for family in FAMILIES {
        let mut world = World::new(family);
        all(world.make(times));
        let runs = |count: usize| {
            move |seated: &mut super::pool_world_for_tests::Seated| {
                let mut sent = vec![];
                for _ in 0..count {
                    sent.push(seated.run_all()?[0]);
                }
                Ok(sent)
            }
        };
        for sent in all(world.deploy(|_| PoolMode::Use, runs(5))) {
            let peers = family.1 as u64 - 1;
            assert_eq!(sent, [peers, 0, peers, 0, peers], "of 40 places two are reserved at a time, then of 38");
        }
        all(world.deploy(|_| PoolMode::Use, runs(times as usize - 5)));
        assert_eq!(world.no_place_is_taken_twice(), 2 * times as usize);
    }
}

#[test]
fn a_run_without_a_bundle_is_refused_at_all_parties_and_the_session_goes_on() {
    for family in FAMILIES {
        let mut world = World::new(family);
        all(world.make(1));
        let results = world.deploy(
            |_| PoolMode::Use,
            |seated| {
                let program = Program::build(&mut seated.session);
                let product = program.first[0];
                let other = binary(&mut seated.session, quorate_graph::BinaryOp::Eq, product, product);
                let error = seated.run(&[other]).err().map(|error| error.to_string()).unwrap_or_default();
                let (values, _) = seated.run(&program.first)?;
                assert!(values == expected()[0]);
                Ok(error)
            },
        );
        let errors = all(results);
        let is_meant = |error: &String| error.contains("never had correlations for this run");
        assert!(errors.iter().any(is_meant) && errors.iter().all(|error| !error.is_empty()), "{errors:?}");
    }
}

#[test]
fn sessions_of_other_modes_do_what_they_say() {
    let mut world = World::new(FAMILIES[0]);
    let refused = world.deploy(|_| PoolMode::Use, |seated| seated.run_all());
    let is_meant = |error: &SessionError| matches!(error, SessionError::NoPool { parties } if parties == "0, 1, 2");
    assert!(are_refused(&refused, is_meant), "{refused:?}");
    all(world.make(2));
    all(world.deploy(
        |_| PoolMode::Make,
        |seated| {
            let program = Program::build(&mut seated.session);
            assert!(matches!(seated.run(&program.first), Err(SessionError::MakesPool)));
            Ok(())
        },
    ));
    all(world.deploy(
        |_| PoolMode::Use,
        |seated| {
            Program::build(&mut seated.session);
            assert!(matches!(seated.session.make_pool(vec![]), Err(SessionError::MakesNoPool)));
            assert!(matches!(seated.session.branch("a").err(), Some(SessionError::PoolBranch)));
            Ok(())
        },
    ));
    let modes = |me: usize| if me == 1 { PoolMode::None } else { PoolMode::Use };
    for (me, result) in world.deploy(modes, |seated| seated.run_all()).into_iter().enumerate() {
        match result.unwrap_err() {
            SessionError::Engine(quorate_engine::Error::Mismatch(Mismatch::Options { theirs, ours, .. })) => {
                let (own, other) = if me == 1 { ("pool=none", "pool=use") } else { ("pool=use", "pool=none") };
                assert!(ours.contains(own) && theirs.contains(other), "{ours} {theirs}");
            }
            SessionError::Engine(quorate_engine::Error::Aborted { .. }) if me != 1 => {}
            other => panic!("{other}"),
        }
    }
    assert_eq!(world.no_place_is_taken_twice(), 0);
}

#[test]
fn a_run_that_draws_nothing_takes_nothing() {
    let mut world = World::new(FAMILIES[1]);
    all(world.make(1));
    let results = world.deploy(
        |_| PoolMode::Use,
        |seated| {
            let parties = seated.session.parties();
            let x = seated.session.build(here(), |mut b| b.input(0, parties, &[2], Dtype::INT64, None)).unwrap();
            seated.session.provide(x, 0, &Data::Ints(vec![4, 5])).unwrap();
            let sum = binary(&mut seated.session, quorate_graph::BinaryOp::Add, x, x);
            seated.run(&[sum])
        },
    );
    for (values, bytes) in all(results) {
        assert!(values == [Data::Ints(vec![8, 10])] && bytes == 0);
    }
    assert_eq!(world.no_place_is_taken_twice(), 0);
}

/// Marks of factors change messages, and a pool holds no mask of a value.
#[test]
fn factors_of_many_products_are_sent_as_often_as_they_are_used() {
    let mut world = World::new(FAMILIES[2]);
    let build = |session: &mut Session| {
        let parties = session.parties();
        let [x, w] = [0, 1].map(|owner| {
            let x = session.build(here(), |mut b| b.input(owner, parties, &[2, 2], Dtype::INT64, None)).unwrap();
            session.provide(x, owner, &Data::Ints(vec![1, 2, 3, 4])).unwrap();
            x
        });
        let once = session.build(here(), |mut b| b.matmul(x, w)).unwrap();
        session.build(here(), |mut b| b.matmul(once, w)).unwrap()
    };
    let made = world.deploy(
        |_| PoolMode::Make,
        move |seated| {
            let twice = build(&mut seated.session);
            let content = seated.session.plan(&[(twice, None)], &[], None)?.content.unwrap();
            let request = seated.session.make_pool(vec![Supply { content, times: 1 }])?;
            seated.session.made(request)
        },
    );
    all(made);
    for (values, _) in all(world.deploy(
        |_| PoolMode::Use,
        move |seated| {
            let twice = build(&mut seated.session);
            seated.run(&[twice])
        },
    )) {
        assert!(values == [Data::Ints(vec![37, 54, 81, 118])]);
    }
}

#[test]
fn garbled_circuits_have_no_pool() {
    let mut world = World::new(FAMILIES[1]);
    let planned = world.deploy(
        |_| PoolMode::Make,
        |seated| {
            let program = Program::build(&mut seated.session);
            let node = program.first[0];
            let in_y = seated.session.build(here(), |mut b| b.to(node, quorate_graph::Domain::Y)).unwrap();
            let less = binary(&mut seated.session, quorate_graph::BinaryOp::Lt, in_y, node);
            seated.session.plan(&[(less, None)], &[], None).map(drop)
        },
    );
    for result in planned {
        let error = result.unwrap_err();
        assert!(
            matches!(&error, SessionError::NotPoolable { step, .. } if step.contains("requests_tests.rs:1")),
            "{error}"
        );
    }
}

/// A party whose disk is set back may have used what it still has.
#[test]
fn a_party_with_an_old_disk_is_refused() {
    for family in FAMILIES {
        let mut world = World::new(family);
        all(world.make(40));
        let old = world.disks[1].0.lock().unwrap().clone();
        let runs = |count: usize| {
            move |seated: &mut super::pool_world_for_tests::Seated| {
                (0..count).try_for_each(|_| seated.run_all().map(drop))
            }
        };
        all(world.deploy(|_| PoolMode::Use, runs(2)));
        let recent = world.disks[1].0.lock().unwrap().clone();
        all(world.deploy(|_| PoolMode::Use, runs(2)));
        let last = std::mem::replace(&mut *world.disks[1].0.lock().unwrap(), recent);
        all(world.deploy(|_| PoolMode::Use, runs(1))); // as far behind as a crash leaves a party
        *world.disks[1].0.lock().unwrap() = old;
        let results = world.deploy(|_| PoolMode::Use, runs(1));
        let is_meant = |error: &SessionError| matches!(error, SessionError::OldPool { party: 1 });
        assert!(are_refused(&results, is_meant), "{results:?}");
        *world.disks[1].0.lock().unwrap() = last;
        all(world.deploy(|_| PoolMode::Use, runs(1)));
        assert_eq!(world.no_place_is_taken_twice(), 2 * 6);
    }
}
