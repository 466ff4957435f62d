//! Levels that are read without a lock, and certificates that change.

use std::path::PathBuf;

use quorate_pool::{Batch, Change, Contents, Folder, Levels, LotId, Owner, Pool, PoolError, State, StoreKey};
use zeroize::Zeroizing;

use crate::disks::{Machine, Unsynced, key, owner};

const LOT: LotId = LotId([0xa1; 32]);
const CHANGE: Change = Change { old: [5; 32], new: [6; 32] };

fn renewed() -> Owner {
    Owner { pins: CHANGE.new, ..owner() }
}

fn filled(machine: &Machine) -> Pool<Machine> {
    let mut pool = Pool::create(machine.clone(), key(), owner(), [9; 32], vec![4]).unwrap();
    fill(&mut pool);
    pool
}

fn fill<D: quorate_pool::Disk>(pool: &mut Pool<D>) {
    pool.begin(LOT, Contents::from([("triple".into(), 2)]), 5).unwrap();
    let bundles = [b"first", b"secon", b"third"].map(|bytes| Zeroizing::new(bytes.to_vec()));
    pool.append(LOT, Batch { id: [1; 32], origin: [2; 32] }, bundles.into()).unwrap();
    pool.count(LOT).unwrap();
}

fn rebind(machine: &Machine, change: Change) -> Result<Option<bool>, PoolError> {
    Pool::rebind(machine.clone(), key(), (1, 3), change)
}

/// Returns what a pool of this owner gives for its next place.
fn next(machine: &Machine, owner: &Owner, place: u32) -> Vec<u8> {
    let mut pool = Pool::open(machine.clone(), key(), owner).unwrap().unwrap();
    pool.reserve(LOT, place + 1).unwrap();
    pool.take(LOT, place).unwrap().bytes.to_vec()
}

#[test]
fn a_pool_gives_what_is_left_under_the_new_certificates_alone() {
    let machine = Machine::default();
    drop(filled(&machine));
    assert_eq!(next(&machine, &owner(), 0), b"first");
    assert_eq!(rebind(&machine, CHANGE), Ok(Some(true)));
    assert_eq!(Pool::open(machine.clone(), key(), &owner()).err(), Some(PoolError::Certificates));
    assert_eq!(rebind(&machine, CHANGE), Ok(Some(false)), "it is done already");
    let mut pool = Pool::open(machine.clone(), key(), &renewed()).unwrap().unwrap();
    assert_eq!(pool.lots()[&LOT].left(), 2);
    assert!(pool.take(LOT, 0).is_err(), "what was used before stays used");
    drop(pool);
    assert_eq!(next(&machine, &renewed(), 1), b"secon");
}

#[test]
fn a_pool_of_others_is_not_rebound() {
    let machine = Machine::default();
    assert_eq!(rebind(&machine, CHANGE), Ok(None));
    drop(filled(&machine));
    let files = machine.copy();
    let others = Change { old: [7; 32], new: [6; 32] };
    assert_eq!(rebind(&machine, others), Err(PoolError::Certificates));
    for seat in [(0, 3), (1, 5)] {
        let refused = Pool::rebind(machine.clone(), key(), seat, CHANGE);
        assert!(matches!(refused, Err(PoolError::Foreign { .. })), "{seat:?}");
    }
    let other_key = StoreKey::take(&mut [8; 32]).unwrap();
    let refused = Pool::rebind(machine.clone(), other_key, (1, 3), CHANGE);
    assert!(matches!(refused, Err(PoolError::Altered { .. })));
    assert_eq!(machine.copy(), files, "nothing is written");
    machine.replace_by_copies(&files);
    assert_eq!(rebind(&machine, CHANGE), Err(PoolError::Moved));
}

#[test]
fn a_pool_with_secrets_keeps_them_and_one_in_use_is_erased() {
    let machine = Machine::default();
    let made = Pool::create_with_secrets(machine.clone(), key(), owner(), ([9; 32], vec![4]), b"secrets");
    let mut pool = made.unwrap();
    fill(&mut pool);
    pool.leave().unwrap();
    drop(pool);
    assert_eq!(rebind(&machine, CHANGE), Ok(Some(true)));
    let mut pool = Pool::open(machine.clone(), key(), &renewed()).unwrap().unwrap();
    assert_eq!((pool.secrets(), pool.lots()[&LOT].left()), (Some(&b"secrets"[..]), 3));
    pool.enter().unwrap();
    drop(pool);
    let back = Change { old: CHANGE.new, new: CHANGE.old };
    assert!(matches!(rebind(&machine, back), Err(PoolError::Dead { .. })));
    // Nothing is left to bind to certificates: whoever opens it hears that it is dead, and makes another one.
    for owner in [owner(), renewed()] {
        assert!(matches!(Pool::open(machine.clone(), key(), &owner), Err(PoolError::Dead { .. })));
    }
    let other = Owner { me: 0, ..owner() };
    assert!(matches!(Pool::open(machine.clone(), key(), &other), Err(PoolError::Foreign { .. })));
}

/// The machine stops at each change: the pool is then bound to the old certificates or to the new ones, and the same
/// call finishes.
#[test]
fn a_crash_at_any_change_leaves_a_pool_of_the_old_or_the_new_certificates() {
    let mut ends = [0; 2];
    for unsynced in [Unsynced::Kept, Unsynced::Lost, Unsynced::Hollow] {
        for changes in 0.. {
            let machine = Machine::default();
            drop(filled(&machine));
            assert_eq!(next(&machine, &owner(), 0), b"first");
            machine.fail_after(changes, true);
            let is_done = rebind(&machine, CHANGE).is_ok();
            machine.restart(unsynced);
            let bound = [owner(), renewed()].map(|owner| Pool::open(machine.clone(), key(), &owner).is_ok());
            assert_ne!(bound[0], bound[1], "it is bound to one of the two");
            assert!(bound[1] || !is_done);
            ends[usize::from(bound[1])] += 1;
            assert_eq!(rebind(&machine, CHANGE), Ok(Some(bound[0])));
            assert_eq!(next(&machine, &renewed(), 1), b"secon");
            if is_done {
                break;
            }
        }
    }
    assert!(ends[0] >= 3 && ends[1] >= 4, "{ends:?}");
}

/// A folder that is removed with this.
struct Place(PathBuf);

impl Place {
    fn new(name: &str) -> Place {
        let path = std::env::temp_dir().join(format!("quorate-levels-{}-{name}", std::process::id()));
        std::fs::create_dir(&path).unwrap();
        Place(path)
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

#[test]
fn levels_are_read_while_the_pool_is_locked_and_change_nothing() {
    let place = Place::new("locked");
    let path = place.0.join("pool");
    assert_eq!(Levels::of_folder(&path, &key()), Ok(None));
    let mut pool = Pool::create(Folder::lock(&path).unwrap(), key(), owner(), [9; 32], vec![]).unwrap();
    let level = || Levels::of_folder(&path, &key()).unwrap().unwrap();
    assert_eq!((level().id, level().state, level().lots.len()), ([9; 32], State::Free, 0));
    fill(&mut pool);
    assert_eq!(level().lots, pool.lots());
    pool.reserve(LOT, 2).unwrap();
    assert_eq!((level().lots[&LOT].left(), level().lots[&LOT].reserved), (1, 2));
    drop(pool);
    let other_key = StoreKey::take(&mut [8; 32]).unwrap();
    assert!(matches!(Levels::of_folder(&path, &other_key), Err(PoolError::Altered { .. })));
}

#[test]
fn levels_state_whether_secrets_are_in_use() {
    let place = Place::new("secrets");
    let path = place.0.join("pool");
    let made = Pool::create_with_secrets(Folder::lock(&path).unwrap(), key(), owner(), ([9; 32], vec![]), b"secrets");
    let mut pool = made.unwrap();
    fill(&mut pool);
    let level = || Levels::of_folder(&path, &key()).unwrap().unwrap();
    assert_eq!(level().state, State::InUse);
    pool.leave().unwrap();
    assert_eq!((level().state, level().lots[&LOT].left()), (State::Idle, 3));
    pool.bury("it was lent").unwrap();
    assert_eq!((level().state, level().lots.len()), (State::Dead { why: "it was lent".into() }, 0));
}
