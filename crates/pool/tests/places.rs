//! What a pool gives and refuses, on a disk that works.

use std::ops::Range;

use proptest::prelude::*;
use quorate_pool::{Batch, Contents, LotId, MOST_BUNDLES, Owner, Places, Pool, PoolError, StoreKey};
use zeroize::Zeroizing;

use crate::disks::{Machine, key, owner};

const LOT: LotId = LotId([1; 32]);
const OTHER: LotId = LotId([2; 32]);
const BYTES: u64 = 40;
const ALL: &[Range<u32>] = std::slice::from_ref(&(0..u32::MAX));

fn batch(number: u8) -> Batch {
    Batch { id: [number; 32], origin: [number + 100; 32] }
}

/// The bytes of the bundle that is made `number`-th.
fn bundle(number: u8) -> Zeroizing<Vec<u8>> {
    Zeroizing::new((0..BYTES as u8).map(|byte| byte.wrapping_mul(3) ^ number).collect())
}

fn new(machine: &Machine) -> Pool<Machine> {
    Pool::create(machine.clone(), key(), owner(), [9; 32], vec![1, 2, 3]).unwrap()
}

fn open(machine: &Machine) -> Result<Pool<Machine>, PoolError> {
    Pool::open(machine.clone(), key(), &owner()).map(|pool| pool.expect("there is a pool"))
}

fn contents() -> Contents {
    Contents::from([("triple mod 2^64".into(), 12), ("bit triple".into(), 3)])
}

/// Makes a batch for each of these numbers of bundles; the first bundle of all has number 0.
fn make(pool: &mut Pool<Machine>, sizes: &[u8]) {
    pool.begin(LOT, contents(), BYTES).unwrap();
    let mut next = 0;
    for (number, &size) in (0..).zip(sizes) {
        pool.append(LOT, batch(number), (next..next + size).map(bundle).collect()).unwrap();
        pool.count(LOT).unwrap();
        next += size;
    }
}

/// Returns the first place that is not reserved, the next to be made, and the number of bundles left.
fn level(pool: &Pool<Machine>) -> (u32, u32, u32) {
    let lot = &pool.lots()[&LOT];
    (lot.reserved, lot.end, lot.left())
}

#[test]
fn bundles_come_back_as_they_were_made_with_their_batch() {
    let machine = Machine::default();
    let mut pool = new(&machine);
    make(&mut pool, &[3, 1, 2]);
    drop(pool);
    let mut pool = open(&machine).unwrap();
    assert_eq!((pool.id(), pool.prices()), ([9; 32], &[1, 2, 3][..]));
    assert_eq!(pool.lots()[&LOT].contents, contents());
    pool.reserve(LOT, 6).unwrap();
    for (place, number) in (0..6).zip([0, 0, 0, 1, 2, 2]) {
        let taken = pool.take(LOT, place).unwrap();
        assert_eq!((&taken.bytes, taken.batch), (&bundle(place as u8), batch(number)));
    }
}

#[test]
fn a_bundle_is_taken_once_and_only_after_it_is_reserved() {
    let mut pool = new(&Machine::default());
    make(&mut pool, &[4]);
    assert!(matches!(pool.take(LOT, 0), Err(PoolError::Bug { .. })));
    pool.reserve(LOT, 3).unwrap();
    pool.take(LOT, 1).unwrap();
    for place in [0, 1, 3, 4] {
        assert!(
            matches!(pool.take(LOT, place), Err(PoolError::Bug { .. })),
            "{place}: passed over, taken, not reserved"
        );
    }
    pool.take(LOT, 2).unwrap();
    assert!(matches!(pool.reserve(LOT, 5), Err(PoolError::Bug { .. })), "there are 4");
    pool.reserve(LOT, 2).unwrap();
    assert_eq!(level(&pool), (3, 4, 1), "nothing is given back");
}

#[test]
fn what_was_reserved_is_gone_for_the_next_process() {
    let machine = Machine::default();
    let mut pool = new(&machine);
    make(&mut pool, &[4]);
    pool.reserve(LOT, 2).unwrap();
    drop(pool);
    let mut pool = open(&machine).unwrap();
    assert_eq!(level(&pool), (2, 4, 2));
    assert!(matches!(pool.take(LOT, 1), Err(PoolError::Bug { .. })));
    pool.reserve(LOT, 3).unwrap();
    assert_eq!(pool.take(LOT, 2).unwrap().bytes, bundle(2));
}

/// Alignment with what other parties have reserved and made: numbers of places never fall, so none is made twice.
#[test]
fn places_are_aligned() {
    for (reserved, end, expected) in [
        (1, 5, (1, 5, 4)),
        (3, 5, (3, 5, 2)),
        (0, 0, (1, 5, 4)),
        (1, 7, (1, 7, 4)),
        (5, 5, (5, 5, 0)),
        (8, 5, (8, 8, 0)),
        (8, 9, (8, 9, 0)),
    ] {
        let machine = Machine::default();
        let mut pool = new(&machine);
        make(&mut pool, &[2, 3]);
        pool.reserve(LOT, 1).unwrap();
        pool.align(LOT, (reserved, end), ALL).unwrap();
        assert_eq!(level(&pool), expected, "{reserved}, {end}");
        drop(pool);
        let mut pool = open(&machine).unwrap();
        assert_eq!(level(&pool), expected, "{reserved}, {end}");
        let (next, end, _) = expected;
        pool.append(LOT, batch(7), vec![bundle(70)]).unwrap();
        pool.count(LOT).unwrap();
        pool.reserve(LOT, end + 1).unwrap();
        for place in next..end {
            assert_eq!(pool.take(LOT, place).ok().map(|taken| taken.bytes), (place < 5).then(|| bundle(place as u8)));
        }
        let last = pool.take(LOT, end).unwrap();
        assert_eq!((last.bytes, last.batch), (bundle(70), batch(7)));
    }
}

/// Bundles that another party does not have are given up, also on the disk.
#[test]
fn places_that_some_party_does_not_have_are_given_up() {
    let machine = Machine::default();
    let mut pool = new(&machine);
    make(&mut pool, &[2, 3, 1]);
    let changes = machine.changes.get();
    pool.align(LOT, (0, 6), &[0..2, 2..6]).unwrap();
    assert_eq!(machine.changes.get(), changes, "nothing is given up");
    pool.align(LOT, (0, 6), &[1..3, 4..5]).unwrap();
    drop(pool);
    let mut pool = open(&machine).unwrap();
    assert_eq!(level(&pool), (0, 6, 3));
    let places = |start, end, number| Places { start, end, batch: batch(number) };
    assert_eq!(pool.lots()[&LOT].places, [places(1, 2, 0), places(2, 3, 1), places(4, 5, 1)]);
    pool.reserve(LOT, 6).unwrap();
    for place in 0..6 {
        let taken = pool.take(LOT, place).ok().map(|taken| taken.bytes);
        assert_eq!(taken, [1, 2, 4].contains(&place).then(|| bundle(place as u8)));
    }
}

#[test]
fn what_was_not_reached_is_given_back_at_the_end() {
    let machine = Machine::default();
    let mut pool = new(&machine);
    make(&mut pool, &[2, 3]);
    pool.reserve(LOT, 4).unwrap();
    pool.take(LOT, 0).unwrap();
    pool.release(LOT, 1).unwrap();
    assert!((0..5).all(|place| pool.take(LOT, place).is_err()), "they are no longer reserved");
    drop(pool);
    let mut pool = open(&machine).unwrap();
    assert_eq!(level(&pool), (1, 5, 4));
    let places = |start, end, number| Places { start, end, batch: batch(number) };
    assert_eq!(pool.lots()[&LOT].places, [places(1, 2, 0), places(2, 5, 1)]);
    pool.reserve(LOT, 5).unwrap();
    for place in 1..5 {
        assert_eq!(pool.take(LOT, place).unwrap().bytes, bundle(place as u8));
    }
    pool.release(LOT, 5).unwrap();
    assert_eq!(level(&pool), (5, 5, 0));
}

/// A party whose part of the correlations is empty counts places as all others do.
#[test]
fn empty_bundles_have_places_and_no_blocks() {
    let machine = Machine::default();
    let mut pool = new(&machine);
    pool.begin(LOT, contents(), 0).unwrap();
    pool.append(LOT, batch(3), vec![Zeroizing::default(), Zeroizing::default()]).unwrap();
    pool.count(LOT).unwrap();
    pool.reserve(LOT, 2).unwrap();
    for place in 0..2 {
        let taken = pool.take(LOT, place).unwrap();
        assert!(taken.bytes.is_empty() && taken.batch == batch(3) && pool.take(LOT, place).is_err());
    }
    assert!(!machine.copy().keys().any(|name| name.ends_with("blocks")));
}

#[test]
fn a_lot_has_a_largest_number_of_places() {
    let mut pool = new(&Machine::default());
    pool.begin(LOT, contents(), 0).unwrap();
    pool.align(LOT, (0, MOST_BUNDLES - 1), ALL).unwrap();
    let bundles = |count| vec![Zeroizing::default(); count];
    assert!(matches!(pool.append(LOT, batch(0), bundles(2)), Err(PoolError::TooMany)));
    pool.append(LOT, batch(0), bundles(1)).unwrap();
    pool.count(LOT).unwrap();
    assert!(matches!(pool.append(LOT, batch(0), bundles(1)), Err(PoolError::TooMany)));
    pool.reserve(LOT, 1).unwrap();
    pool.append(LOT, batch(0), bundles(1)).unwrap();
}

#[test]
fn files_that_were_altered_or_moved_do_not_open() {
    let machine = Machine::default();
    let mut pool = new(&machine);
    make(&mut pool, &[2]);
    pool.begin(OTHER, contents(), BYTES).unwrap();
    pool.append(OTHER, batch(0), vec![bundle(5), bundle(6)]).unwrap();
    pool.count(OTHER).unwrap();
    drop(pool);
    let files = machine.copy();
    let ledgers: Vec<&String> = files.keys().filter(|name| name.ends_with("ledger")).collect();
    for name in files.keys().filter(|name| !name.ends_with("blocks")) {
        for byte in 0..files[name].bytes.len() {
            machine.restore(&files);
            machine.alter(name, |file| file[byte] ^= 1);
            let refused = open(&machine).err();
            let expected = PoolError::Altered { file: name.clone() };
            assert!(refused == Some(expected) || byte < 4 && matches!(refused, Some(PoolError::Format { .. })));
        }
        machine.restore(&files);
        machine.alter(name, |file| file.truncate(file.len() - 1));
        assert_eq!(open(&machine).err(), Some(PoolError::Altered { file: name.clone() }));
    }
    machine.restore(&files);
    machine.alter(ledgers[0], |file| file.clone_from(&files[ledgers[1]].bytes));
    assert_eq!(open(&machine).err(), Some(PoolError::Altered { file: ledgers[0].clone() }));
}

#[test]
fn bundles_that_were_altered_or_swapped_do_not_open() {
    let machine = Machine::default();
    let mut pool = new(&machine);
    make(&mut pool, &[2]);
    drop(pool);
    let files = machine.copy();
    let name = files.keys().find(|name| name.ends_with("blocks")).unwrap();
    let sealed = BYTES as usize + 16;
    type Change = Box<dyn Fn(&mut Vec<u8>)>;
    let flips = (0..sealed).map(|byte| Box::new(move |file: &mut Vec<u8>| file[byte] ^= 0x80) as Change);
    let swap = Box::new(move |file: &mut Vec<u8>| file.rotate_left(sealed)) as Change;
    for change in flips.chain([swap]) {
        machine.restore(&files);
        machine.alter(name, change);
        let mut pool = open(&machine).unwrap();
        pool.reserve(LOT, 2).unwrap();
        assert_eq!(pool.take(LOT, 0).err(), Some(PoolError::Altered { file: name.clone() }));
    }
}

#[test]
fn a_pool_is_for_one_party_its_certificates_and_options() {
    let machine = Machine::default();
    drop(new(&machine));
    let refused = |owner: Owner, key: StoreKey| Pool::open(machine.clone(), key, &owner).err().unwrap().to_string();
    let says = |owner: Owner, text: &str| {
        let refused = refused(owner, key());
        assert!(refused.contains(text), "{refused}");
    };
    says(Owner { me: 0, ..owner() }, "made for party 1 of 3, and this session is party 0 of 3");
    says(Owner { parties: 5, ..owner() }, "party 1 of 5");
    says(Owner { pins: [6; 32], ..owner() }, "with other certificates");
    says(Owner { terms: "rss, trunc=probabilistic".into(), ..owner() }, "one with rss, trunc=probabilistic");
    let other_key = StoreKey::take(&mut [8; 32]).unwrap();
    assert!(refused(owner(), other_key).contains("pool_key"));
    machine.replace_by_copies(&machine.copy());
    assert!(refused(owner(), key()).contains("was copied"));
}

/// Another process may have made a pool in the folder since this one looked.
#[test]
fn a_pool_with_bundles_is_not_replaced() {
    let machine = Machine::default();
    let mut pool = new(&machine);
    let create = || Pool::create(machine.clone(), key(), owner(), [8; 32], vec![]).map(|pool| pool.id());
    make(&mut pool, &[2]);
    assert!(matches!(create(), Err(PoolError::Taken)));
    assert_eq!(level(&open(&machine).unwrap()), (0, 2, 2));
    pool.reserve(LOT, 2).unwrap();
    assert_eq!(create().ok(), Some([8; 32]), "nothing is left of it");
}

#[test]
fn the_source_of_a_key_is_wiped() {
    let mut bytes = [3; 32];
    assert!(StoreKey::take(&mut bytes).is_ok() && bytes == [0; 32]);
    let mut short = [3; 31];
    assert!(matches!(StoreKey::take(&mut short), Err(PoolError::Key { bytes: 31 })) && short == [0; 31]);
}

/// Two processes or two batches never share a key: what is sealed under one is sealed once.
#[test]
fn the_same_bundles_are_sealed_differently() {
    let sealed = || {
        let machine = Machine::default();
        let mut pool = new(&machine);
        pool.begin(LOT, contents(), BYTES).unwrap();
        pool.append(LOT, batch(0), vec![bundle(1), bundle(1)]).unwrap();
        let (_, blocks) = machine.copy().into_iter().find(|(name, _)| name.ends_with("blocks")).unwrap();
        blocks.bytes.chunks(BYTES as usize + 16).map(<[u8]>::to_vec).collect::<Vec<_>>()
    };
    let all: Vec<Vec<u8>> = [sealed(), sealed()].concat();
    assert!((0..4).all(|i| !all[..i].contains(&all[i]) && all[i].len() == BYTES as usize + 16));
    assert!(all.iter().all(|one| !one.windows(8).any(|part| bundle(1).windows(8).any(|plain| plain == part))));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    /// Whatever is made, reserved, aligned and opened again: a bundle comes out at most once, and as it went in.
    #[test]
    fn no_bundle_comes_out_twice(steps in proptest::collection::vec((0u8..6, 0u32..8, 0u32..8), 1..40)) {
        let machine = Machine::default();
        let mut pool = new(&machine);
        pool.begin(LOT, contents(), BYTES).unwrap();
        let (mut made_as, mut taken, mut number) = (std::collections::BTreeMap::new(), vec![], 0u8);
        for (step, a, b) in steps {
            let (reserved, end, _) = level(&pool);
            match step {
                0 if number < 200 => {
                    let bundles: Vec<u8> = (number..number + a as u8).collect();
                    made_as.extend((end..).zip(bundles.iter().copied()));
                    number += a as u8;
                    pool.append(LOT, batch(b as u8), bundles.into_iter().map(bundle).collect()).unwrap();
                    pool.count(LOT).unwrap();
                }
                1 => pool.reserve(LOT, (reserved + a).min(end)).unwrap(),
                2 => if let Ok(out) = pool.take(LOT, a + b) {
                    prop_assert_eq!(&out.bytes, &bundle(made_as[&(a + b)]));
                    taken.push(a + b);
                },
                3 => pool.align(LOT, (reserved + a % 3, end + b % 3), &[0..a + b, a + b + 1..u32::MAX]).unwrap(),
                4 => pool.release(LOT, taken.last().map_or(0, |last| last + 1)).unwrap(),
                _ => pool = { drop(pool); open(&machine).unwrap() },
            }
        }
        prop_assert!(taken.is_sorted() && taken.windows(2).all(|pair| pair[0] != pair[1]), "{:?}", taken);
    }
}
