//! The lives of pools with secrets: no session uses them after one that did not end well.

use quorate_pool::{Batch, Contents, LotId, Pool, PoolError};
use zeroize::Zeroizing;

use crate::disks::{Machine, Unsynced, key, owner};

const LOT: LotId = LotId([1; 32]);
const SECRETS: &[u8] = b"alpha and Delta of this party";
const ALL: [Unsynced; 3] = [Unsynced::Kept, Unsynced::Lost, Unsynced::Hollow];

fn new(machine: &Machine) -> Result<Pool<Machine>, PoolError> {
    Pool::create_with_secrets(machine.clone(), key(), owner(), ([9; 32], vec![1]), SECRETS)
}

fn open(machine: &Machine) -> Result<Option<Pool<Machine>>, PoolError> {
    Pool::open(machine.clone(), key(), &owner())
}

/// Makes three bundles, as the session does that makes the pool.
fn make(machine: &Machine) -> Result<Pool<Machine>, PoolError> {
    let mut pool = new(machine)?;
    pool.begin(LOT, Contents::from([("triple".into(), 1)]), 4)?;
    pool.append(LOT, Batch { id: [3; 32], origin: [4; 32] }, (0..3).map(|i| Zeroizing::new(vec![i; 4])).collect())?;
    pool.count(LOT)?;
    Ok(pool)
}

/// Returns a machine with a pool that no session uses.
fn idle() -> Machine {
    let machine = Machine::default();
    make(&machine).unwrap().leave().unwrap();
    machine
}

fn is_dead<T>(done: &Result<T, PoolError>) -> bool {
    matches!(done, Err(PoolError::Dead { id, .. }) if *id == [9; 32])
}

#[test]
fn sessions_that_end_well_use_a_pool_one_after_the_other() {
    let machine = idle();
    for place in 0..3 {
        let mut pool = open(&machine).unwrap().unwrap();
        assert_eq!((pool.secrets(), pool.prices()), (Some(SECRETS), &[1][..]));
        assert!(matches!(pool.reserve(LOT, 3), Err(PoolError::Bug { .. })), "the secrets are not in use yet");
        assert!(matches!(pool.take(LOT, place), Err(PoolError::Bug { .. })));
        pool.enter().unwrap();
        pool.enter().unwrap();
        pool.reserve(LOT, 3).unwrap();
        assert_eq!(*pool.take(LOT, place).unwrap().bytes, vec![place as u8; 4]);
        pool.release(LOT, place + 1).unwrap();
        pool.leave().unwrap();
    }
    assert!(open(&machine).unwrap().unwrap().is_empty());
}

#[test]
fn a_session_that_takes_nothing_leaves_the_pool_as_it_is() {
    let machine = idle();
    let files = machine.copy();
    for _ in 0..2 {
        let mut pool = open(&machine).unwrap().unwrap();
        pool.leave().unwrap();
    }
    assert_eq!(machine.copy(), files);
}

/// The session that makes the pool, or one that uses it, is killed.
#[test]
fn a_pool_that_is_found_in_use_is_erased() {
    for used in [false, true] {
        let machine = if used { idle() } else { Machine::default() };
        let mut pool = if used { open(&machine).unwrap().unwrap() } else { make(&machine).unwrap() };
        pool.enter().unwrap();
        drop(pool);
        for _ in 0..2 {
            assert!(is_dead(&open(&machine)));
            assert_eq!(machine.copy().into_keys().collect::<Vec<_>>(), ["pool"], "lots are left");
        }
    }
}

#[test]
fn a_failed_session_erases_the_pool_and_refuses_it() {
    let machine = idle();
    let before = machine.copy();
    let mut pool = open(&machine).unwrap().unwrap();
    pool.enter().unwrap();
    pool.reserve(LOT, 2).unwrap();
    pool.bury("a check failed in a run").unwrap();
    assert_eq!((pool.secrets(), pool.prices(), pool.lots().len()), (None, &[][..], 0));
    let refusals = [
        pool.enter(),
        pool.leave(),
        pool.reserve(LOT, 3),
        pool.take(LOT, 0).map(drop),
        pool.begin(LOT, Contents::new(), 4),
    ];
    assert!(refusals.iter().all(is_dead), "{refusals:?}");
    drop(pool);
    let error = open(&machine).err().unwrap().to_string();
    assert!(error.contains("a check failed in a run") && error.contains("make the pool again"), "{error}");
    let after = machine.copy();
    assert_eq!(after.len(), 1);
    assert!(after["pool"].bytes.len() < before["pool"].bytes.len(), "the secrets are in the file");
    // The folder takes another pool.
    let pool = make(&machine).unwrap();
    assert_eq!(pool.secrets(), Some(SECRETS));
}

/// Without secrets there is nothing to erase: nothing is written, and a crash loses what was reserved alone.
#[test]
fn a_pool_without_secrets_has_no_state() {
    let machine = Machine::default();
    let mut pool = Pool::create(machine.clone(), key(), owner(), [9; 32], vec![]).unwrap();
    let changes = machine.changes.get();
    pool.enter().unwrap();
    pool.leave().unwrap();
    assert_eq!((machine.changes.get(), pool.secrets()), (changes, None));
    drop(pool);
    assert!(open(&machine).unwrap().is_some());
}

/// A party may have no secrets, and its pool dies with those of the others.
#[test]
fn empty_secrets_have_a_life_too() {
    let machine = Machine::default();
    let pool = Pool::create_with_secrets(machine.clone(), key(), owner(), ([9; 32], vec![]), &[]).unwrap();
    assert_eq!(pool.secrets(), Some(&[][..]));
    drop(pool);
    assert!(is_dead(&open(&machine)));
}

/// What a session has done when it stops.
#[derive(Clone, Copy, Debug, Default, PartialEq, PartialOrd)]
enum Reached {
    #[default]
    Nothing,
    /// It has begun to note that it uses the secrets.
    Entering,
    /// The disk has said so, and bundles may be open.
    Entered,
    /// It has ended well, and has begun to note that.
    Leaving,
    Left,
    /// It has not ended well, and has begun to erase the pool.
    Burying,
    Buried,
}

/// A session that uses a bundle, and ends well or badly.
fn session(machine: &Machine, ends_well: bool, reached: &mut Reached) -> Result<(), PoolError> {
    let Some(mut pool) = open(machine)? else { return Ok(()) };
    *reached = Reached::Entering;
    pool.enter()?;
    *reached = Reached::Entered;
    let reserved = pool.lots()[&LOT].reserved;
    let used = pool.reserve(LOT, reserved + 2).and_then(|()| pool.take(LOT, reserved));
    if used.is_err() || !ends_well {
        *reached = Reached::Burying;
        pool.bury("the run failed")?;
        *reached = Reached::Buried;
        return used.map(drop);
    }
    *reached = Reached::Leaving;
    pool.release(LOT, reserved + 1)?;
    pool.leave()?;
    *reached = Reached::Left;
    Ok(())
}

/// Machines stop at each change of a session, and at each change of the next one. The pool is open to a third session
/// only if both ended well, or did not begin to use it.
#[test]
fn no_stop_of_a_machine_lets_a_dead_pool_live() {
    let (mut alive, mut dead) = (0, 0);
    for (ends_well, unsynced) in [true, false].into_iter().flat_map(|well| ALL.map(|unsynced| (well, unsynced))) {
        for (first, second) in (0..24).flat_map(|first| (0..24).map(move |second| (first, second))) {
            let machine = idle();
            let (mut may_live, mut must_live) = (true, true);
            for at in [first, second] {
                let mut reached = Reached::default();
                machine.fail_after(at, true);
                let done = session(&machine, ends_well, &mut reached);
                machine.restart(unsynced);
                may_live &= done.is_ok() && ends_well
                    || matches!(reached, Reached::Nothing | Reached::Entering | Reached::Leaving);
                must_live &= matches!(reached, Reached::Nothing | Reached::Left);
                // What was dead before is not begun again.
                assert!(may_live || reached != Reached::Left);
            }
            let opened = open(&machine);
            let what = format!("{first}, {second}, {unsynced:?}, ends well: {ends_well}");
            match opened {
                Ok(Some(pool)) => {
                    assert!(may_live, "{what}: a dead pool lives");
                    assert_eq!(pool.secrets(), Some(SECRETS), "{what}");
                    alive += 1;
                }
                Ok(None) => panic!("{what}: the pool is lost without a word"),
                Err(PoolError::Dead { .. }) => {
                    assert!(!must_live, "{what}: a pool died for nothing");
                    assert!(is_dead(&open(&machine)), "{what}");
                    dead += 1;
                }
                Err(error) => panic!("{what}: {error}"),
            }
        }
    }
    assert!(alive > 100 && dead > 1000, "{alive} alive, {dead} dead");
}

/// The machine stops at each change of the making: no part of a pool is left that a session would use.
#[test]
fn a_pool_that_was_not_finished_is_dead_or_none() {
    let mut dead = 0;
    for unsynced in ALL {
        for at in 0..40 {
            let machine = Machine::default();
            machine.fail_after(at, true);
            let made = make(&machine).and_then(|mut pool| pool.leave());
            machine.restart(unsynced);
            match open(&machine) {
                Ok(None) => assert!(made.is_err()),
                // The last change may have reached the disk.
                Ok(Some(pool)) => assert_eq!(pool.lots()[&LOT].left(), 3),
                Err(error) => {
                    assert!(made.is_err() && matches!(error, PoolError::Dead { .. }), "{error}");
                    dead += 1;
                }
            }
        }
    }
    assert!(dead > 20, "{dead}");
}

/// One change fails, the process goes on: it never writes that the session ended well.
#[test]
fn after_a_failed_write_a_pool_is_never_idle() {
    let mut failures = 0;
    for at in 0..12 {
        let machine = idle();
        let mut pool = open(&machine).unwrap().unwrap();
        machine.fail_after(at, false);
        let entered = pool.enter();
        let reserved = pool.reserve(LOT, 2);
        let has_failed = entered.is_err() || reserved.is_err();
        if !has_failed {
            continue;
        }
        failures += 1;
        assert!(pool.take(LOT, 0).is_err() && pool.release(LOT, 0).is_err() && pool.leave().is_err());
        drop(pool);
        machine.restart(Unsynced::Kept);
        // If the first write failed before anything reached the disk, the pool is as it was.
        assert!(is_dead(&open(&machine)) || entered.is_err(), "{at}");
    }
    assert!(failures > 5, "{failures}");
}

/// If the pool cannot be erased, the disk says that it is in use: the next process erases it.
#[test]
fn a_pool_that_cannot_be_erased_is_dead_for_the_next_process() {
    for at in 0..7 {
        let machine = idle();
        let mut pool = open(&machine).unwrap().unwrap();
        pool.enter().unwrap();
        machine.fail_after(at, true);
        let buried = pool.bury("the run failed");
        assert!(is_dead(&pool.leave()) && is_dead(&pool.enter()), "this process does not use it either");
        drop(pool);
        machine.restart(Unsynced::Lost);
        assert!(is_dead(&open(&machine)), "{at}: {buried:?}");
        assert_eq!(machine.copy().into_keys().collect::<Vec<_>>(), ["pool"], "{at}");
    }
}

/// Keys that ended come back with an earlier header: it is refused, whether it is put into the file or beside it.
#[test]
fn keys_that_have_ended_do_not_come_back_with_earlier_files() {
    let machine = idle();
    let alive = machine.copy();
    let mut pool = open(&machine).unwrap().unwrap();
    pool.enter().unwrap();
    pool.bury("the run failed").unwrap();
    drop(pool);
    let dead = machine.copy();
    machine.put_back(&alive);
    assert_eq!(open(&machine).err(), Some(PoolError::Moved));
    machine.restore(&dead);
    machine.replace_by_copies(&alive);
    assert_eq!(open(&machine).err(), Some(PoolError::Moved));
    // Nor is a pool made in the place of one that may be another one's.
    assert!(matches!(new(&machine), Err(PoolError::Moved)));
}

/// The disk says that the secrets are idle, and takes no new file: the header is removed.
#[test]
fn an_idle_pool_on_a_full_disk_can_be_erased() {
    for changes in 0..4 {
        let machine = idle();
        let mut pool = open(&machine).unwrap().unwrap();
        machine.fail_after(changes, false);
        pool.bury("a party deviated before a run").unwrap();
        drop(pool);
        machine.restart(Unsynced::Lost);
        let opened = open(&machine);
        assert!(matches!(opened, Ok(None)) || is_dead(&opened), "{changes}: {:?}", opened.err());
        assert!(machine.copy().keys().all(|name| name == "pool"), "{changes}: lots are left");
        assert!(make(&machine).is_ok(), "the folder takes another pool");
    }
    // A disk that takes no change at all: the caller is told.
    let machine = idle();
    let mut pool = open(&machine).unwrap().unwrap();
    machine.fail_after(0, true);
    assert!(pool.bury("a party deviated before a run").is_err() && is_dead(&pool.enter()));
}
