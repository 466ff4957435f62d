//! Dealing, checking and evaluating keys: points, roots and leaves are secret; starts of windows, ends of intervals and
//! tables are not.

use quorate_crypto::{Seed, SessionId, Tccr};
use quorate_fss::{Corrections, Growing, Hash, Kernel, Keys, Places, Roots, Shape, Side, Table, verified};
use quorate_fss::{deal, intervals, lookup, visit, window};
use quorate_ring::{Ring, Vector};

use super::Case;
use super::memcheck::hide;

/// More than four keys, which are evaluated at once.
const KEYS: usize = 6;

fn hash() -> Hash {
    Hash::with_kernel(&Tccr::new(&SessionId::from_bytes([3; 32])), Kernel::Portable).unwrap()
}

fn roots(side: Side) -> Roots {
    let mut nodes: Vec<u128> = (1..=KEYS as u128).map(|i| i.wrapping_mul(0x9e37_79b9_7f4a_7c15_f39c_c060)).collect();
    hide(&mut nodes);
    Roots::new(side, nodes)
}

fn points(mask: u64) -> Vec<u64> {
    let mut points = vec![12345; KEYS];
    hide(&mut points);
    points.into_iter().map(|point| point & mask).collect()
}

fn shapes() -> Vec<Shape> {
    [(2, 1), (8, 1), (9, 2), (11, 4)].map(|(bits, blocks)| Shape::new(bits, blocks).unwrap()).into()
}

/// Returns a side's keys, whose corrections are public.
fn keys(shape: Shape, side: Side) -> Keys {
    let corrections = Corrections::from_bytes(shape, KEYS, &vec![0x5a; KEYS * shape.key_bytes()]).unwrap();
    Keys::new(roots(side), corrections).unwrap()
}

fn each_key(work: impl Fn(&Hash, Keys)) {
    for shape in shapes() {
        [Side::First, Side::Second].into_iter().for_each(|side| work(&hash(), keys(shape, side)));
    }
}

fn verified_shapes() -> Vec<verified::Shape> {
    [(3, 53), (5, 64), (8, 80), (6, 128)].map(|(bits, k)| verified::Shape::new(bits, Ring::of(k)).unwrap()).into()
}

fn each_verified_key(work: impl Fn(&Hash, verified::Keys)) {
    for shape in verified_shapes() {
        for side in [Side::First, Side::Second] {
            let bytes = vec![0x5a; KEYS * shape.key_bytes()];
            let corrections = verified::Corrections::from_bytes(shape, KEYS, &bytes).unwrap();
            work(&hash(), verified::Keys::new(roots(side), corrections).unwrap());
        }
    }
}

/// Returns tables of words of 32 and 64 bits, and tables in planes, whose neighbours differ little.
fn tables(len: usize) -> Vec<Table> {
    let near: Vec<u64> = (0..len as u64).collect();
    let far: Vec<u64> = near.iter().map(|i| i.wrapping_mul(0x9e37_79b9_7f4a_7c15)).collect();
    let mut tables = vec![Table::new(Ring::of(32), &near), Table::new(Ring::of(64), &near)];
    tables.extend([8, 32, 33, 64].map(|k| Table::in_words(Ring::of(k), &far)));
    tables
}

fn starts(shape: Shape) -> Vec<u64> {
    (0..KEYS as u64).map(|i| (i * 77) & shape.mask()).collect()
}

pub const CASES: &[Case] = &[
    ("fss: keys that are dealt", || {
        for shape in shapes() {
            drop(deal(&hash(), shape, &points(shape.mask()), roots(Side::First), roots(Side::Second)));
        }
    }),
    ("fss: keys without a dealer", || {
        for (shape, side) in shapes().into_iter().flat_map(|shape| [Side::First, Side::Second].map(|s| (shape, s))) {
            let mut growing = Growing::new(shape, roots(side));
            for _ in 0..shape.levels() {
                let sums = growing.level_sums(&hash());
                growing.correct(&hash(), &sums);
            }
            let sums = growing.leaf_sums(&hash());
            drop(growing.finish(&sums));
        }
    }),
    ("fss: leaves", || {
        each_key(|hash, keys| {
            let (shape, starts) = (keys.shape(), starts(keys.shape()));
            let len = (shape.mask() + 1).min(700);
            drop(window(hash, &keys, &starts, len as usize));
            visit(hash, &keys, &starts, len, |_, _, leaves| drop(leaves.to_vec()));
        });
    }),
    ("fss: sums over tables", || {
        each_key(|hash, keys| {
            let len = (keys.shape().mask() + 1).min(700) as usize;
            tables(len).iter().for_each(|table| drop(lookup(hash, &keys, &starts(keys.shape()), table)));
        });
    }),
    ("fss: sums at places", || {
        let shape = Shape::wide(9).unwrap();
        let table = Table::backwards(Ring::of(32), &(0..400).collect::<Vec<_>>());
        let places = Places::new(shape, Ring::of(32), 400, Some(table.into()));
        let blocks = Ring::of(128);
        let mut roots = Vector::from_u64s(blocks, &[9; KEYS]);
        hide(roots.bytes_mut());
        let count = KEYS * shape.key_bytes().div_ceil(16);
        let (opened, corrections) = (Vector::from_u64s(Ring::of(9), &[300; KEYS]), Vector::zeros(blocks, count));
        drop(places.sums(&hash(), Side::Second, &opened, [&roots, &corrections]).unwrap());
    }),
    ("fss: parities of intervals", || {
        each_key(|hash, keys| {
            let mask = keys.shape().mask();
            drop(intervals(hash, &keys, 2, |row, key| [(77 * row as u64) & mask, (5 + 3 * key as u64) & mask]));
        });
    }),
    ("fss: verified keys that are dealt", || {
        for shape in verified_shapes() {
            let mut alpha = [u128::MAX / 7];
            hide(&mut alpha);
            let [first, second] = [Side::First, Side::Second].map(roots);
            drop(verified::deal(&hash(), shape, &points(shape.mask()), alpha[0], first, second));
        }
    }),
    ("fss: verified keys that are checked", || {
        each_verified_key(|hash, keys| {
            let coins = verified::coins(keys.shape(), &mut Seed::from_bytes([5; 32]).prg("quorate/fss/timing", b""));
            drop(verified::check(hash, &keys, &coins));
        });
    }),
    ("fss: values of verified keys", || {
        each_verified_key(|hash, keys| verified::visit(hash, &keys, |_, _, values| drop(values.to_vec())));
    }),
    ("fss: windows of verified keys", || {
        each_verified_key(|hash, keys| {
            let bits = keys.shape().bits();
            for ring in [8, 32, 64].map(Ring::of) {
                let entries: Vec<u64> = (0..1 << (bits + 2)).map(|i: u64| i.wrapping_mul(0x9e37_79b9)).collect();
                let windows = verified::Windows::new(hash.kernel(), bits + 2, bits, ring, &entries);
                drop(windows.sums(hash, &keys, &[3; KEYS]));
            }
        });
    }),
];
