//! Crashes and failures at every change of the disk.

use std::collections::{BTreeMap, BTreeSet};

use quorate_pool::{Batch, Contents, LotId, Pool, PoolError};
use zeroize::Zeroizing;

use crate::disks::{Machine, Unsynced, key, owner};

const LOT: LotId = LotId([1; 32]);
const BYTES: u64 = 24;

/// A bundle that no other call returns.
fn fresh(number: &mut u64) -> Zeroizing<Vec<u8>> {
    *number += 1;
    Zeroizing::new(number.to_le_bytes().repeat(3))
}

/// A process of a party: makes two batches, then uses all bundles one by one, two reserved at a time.
struct Process<'a> {
    machine: &'a Machine,
    number: &'a mut u64,
    seen: &'a mut BTreeSet<Vec<u8>>,
}

impl Process<'_> {
    fn run(&mut self) -> Result<(), PoolError> {
        let mut pool = match Pool::open(self.machine.clone(), key(), &owner())? {
            Some(pool) => pool,
            None => Pool::create(self.machine.clone(), key(), owner(), [9; 32], vec![])?,
        };
        if pool.lots().is_empty() {
            pool.begin(LOT, Contents::from([("triple".into(), 1)]), BYTES)?;
        }
        for batch in 0..2 {
            let bundles = (0..2).map(|_| fresh(self.number)).collect();
            pool.append(LOT, Batch { id: [batch; 32], origin: [0; 32] }, bundles)?;
            pool.count(LOT)?;
        }
        loop {
            let lot = pool.lots().remove(&LOT).expect("it was begun");
            if lot.reserved == lot.end {
                return Ok(());
            }
            pool.reserve(LOT, lot.end.min(lot.reserved + 3))?;
            let places = lot.reserved..lot.end.min(lot.reserved + 2);
            for place in places.clone() {
                let bundle = pool.take(LOT, place)?;
                assert!(self.seen.insert(bundle.bytes.to_vec()), "a bundle came out twice");
            }
            pool.release(LOT, places.end)?;
        }
    }
}

/// The process crashes at each change in turn, and once more after its start. Whatever the disk keeps, no bundle comes
/// out twice, and the pool opens again.
#[test]
fn no_crash_gives_a_bundle_twice() {
    let changes = {
        let machine = Machine::default();
        Process { machine: &machine, number: &mut 0, seen: &mut BTreeSet::new() }.run().unwrap();
        machine.changes.get()
    };
    assert!(changes > 30, "{changes}");
    let mut crashes = 0;
    for unsynced in [Unsynced::Kept, Unsynced::Lost, Unsynced::Hollow] {
        for first in 0..changes {
            for second in [first / 2, first, first + 1, changes] {
                let (machine, mut number, mut seen) = (Machine::default(), 0, BTreeSet::new());
                for at in [first, second] {
                    machine.fail_after(at, true);
                    crashes +=
                        usize::from(Process { machine: &machine, number: &mut number, seen: &mut seen }.run().is_err());
                    machine.restart(unsynced);
                }
                Process { machine: &machine, number: &mut number, seen: &mut seen }.run().unwrap();
                assert!(seen.len() >= 4, "the last process uses all that it makes");
            }
        }
    }
    assert!(crashes > 3 * changes, "{crashes}");
}

/// One change fails, and the process goes on with the same pool: it refuses everything, and the next process uses the
/// rest.
#[test]
fn no_failed_write_gives_a_bundle_twice() {
    let mut refusals = 0;
    for at in 0..60 {
        let (machine, mut number, mut seen) = (Machine::default(), 0, BTreeSet::new());
        Process { machine: &machine, number: &mut number, seen: &mut seen }.run().unwrap();
        machine.fail_after(at, false);
        let Ok(pool) = Pool::open(machine.clone(), key(), &owner()) else { continue };
        let (mut pool, mut has_failed) = (pool.unwrap(), false);
        for _ in 0..6 {
            let bundles = (0..2).map(|_| fresh(&mut number)).collect();
            let batch = Batch { id: [1; 32], origin: [0; 32] };
            let made = pool.append(LOT, batch, bundles).and_then(|()| pool.count(LOT));
            let lot = pool.lots().remove(&LOT).unwrap();
            let reserved = pool.reserve(LOT, lot.end);
            has_failed |= made.is_err() || reserved.is_err();
            for place in 0..lot.end {
                if let Ok(bundle) = pool.take(LOT, place) {
                    assert!(!has_failed && seen.insert(bundle.bytes.to_vec()), "a bundle came out twice");
                }
            }
            has_failed |= pool.release(LOT, lot.end).is_err();
            refusals += usize::from(has_failed);
        }
        drop(pool);
        Process { machine: &machine, number: &mut number, seen: &mut seen }.run().unwrap();
    }
    assert!(refusals > 40, "{refusals}");
}

/// Files of any earlier time, and of any crash, are put back into the folder: a bundle never comes out again. Either
/// the pool is refused, or what was put back is what is there.
#[test]
fn earlier_files_are_refused() {
    let (mut refused, mut taken) = (0, 0);
    for unsynced in [Unsynced::Kept, Unsynced::Lost, Unsynced::Hollow] {
        for first in (0..).step_by(2) {
            let (machine, mut number, mut seen) = (Machine::default(), 0, BTreeSet::new());
            machine.fail_after(first, true);
            let done = Process { machine: &machine, number: &mut number, seen: &mut seen }.run();
            machine.restart(unsynced);
            let before = machine.copy();
            Process { machine: &machine, number: &mut number, seen: &mut seen }.run().unwrap();
            let after = machine.copy();
            let parts = [".ledger", ".blocks", "pool", ""];
            for (part, in_place) in parts.into_iter().flat_map(|part| [(part, true), (part, false)]) {
                machine.restore(&after);
                let part: BTreeMap<_, _> =
                    before.clone().into_iter().filter(|(name, _)| name.ends_with(part)).collect();
                if in_place {
                    machine.put_back(&part)
                } else {
                    machine.replace_by_copies(&part)
                }
                match (Process { machine: &machine, number: &mut number, seen: &mut seen }.run()) {
                    Ok(()) => taken += 1,
                    Err(PoolError::Moved | PoolError::Altered { .. }) => refused += 1,
                    Err(error) => panic!("{error}"),
                }
            }
            if done.is_ok() {
                break;
            }
        }
    }
    assert!(refused > 200 && taken > 100, "{refused} refused, {taken} taken");
}

/// After an image of the disk is put back, bundles come out again: only the other parties can tell. What they have
/// reserved is given up by alignment.
#[test]
fn a_restored_image_is_behind_and_alignment_gives_its_bundles_up() {
    let machine = Machine::default();
    let mut pool = Pool::create(machine.clone(), key(), owner(), [9; 32], vec![]).unwrap();
    pool.begin(LOT, Contents::new(), BYTES).unwrap();
    pool.append(LOT, Batch { id: [0; 32], origin: [0; 32] }, (0..4).map(|_| fresh(&mut 0)).collect()).unwrap();
    pool.count(LOT).unwrap();
    let copy = machine.copy();
    pool.reserve(LOT, 3).unwrap();
    drop(pool);
    machine.restore(&copy);
    let mut pool = Pool::open(machine.clone(), key(), &owner()).unwrap().unwrap();
    assert_eq!(pool.lots()[&LOT].reserved, 0);
    pool.align(LOT, (3, 4), std::slice::from_ref(&(0..4))).unwrap();
    assert!((0..3).all(|place| pool.take(LOT, place).is_err()));
    pool.reserve(LOT, 4).unwrap();
    assert!((0..3).all(|place| pool.take(LOT, place).is_err()) && pool.take(LOT, 3).is_ok());
}
