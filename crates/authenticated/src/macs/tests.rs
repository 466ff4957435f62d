//! Maps and updates keep MACs.

use quorate_crypto::{Prg, Seed};
use quorate_engine::Positions;

use super::*;

pub(crate) const DELTAS: [u128; 3] = [
    0x1234_5678_9abc_def1_0fed_cba9_8765_4321,
    0xfeed_0000_1111_2222_3333_4444_5555_6660,
    0x0246_8ace_1357_9bdf_0000_ffff_8888_1110,
];

fn block(coins: &mut Prg) -> u128 {
    u128::from(coins.next_u64()) << 64 | u128::from(coins.next_u64())
}

/// Returns the other parties, in order.
fn peers_of(party: usize, n: usize) -> impl Iterator<Item = usize> {
    (0..n).filter(move |&peer| peer != party)
}

/// Returns all parties' parts of random bits.
pub(crate) fn random(coins: &mut Prg, n: usize, (rows, lanes): (usize, usize)) -> Vec<MacBits> {
    let mut own = || {
        let mut bits = Bits::zeros(rows, lanes);
        (0..rows).for_each(|row| {
            (0..lanes).for_each(|lane| bits.words_of_mut(row)[lane / 64] |= (coins.next_u64() & 1) << (lane % 64))
        });
        bits
    };
    let own: Vec<Bits> = (0..n).map(|_| own()).collect();
    // By the party whose bits they are for, then by the party whose Delta they are under.
    let mut macs = || Blocks::new((0..rows * lanes).map(|_| block(coins)).collect());
    let macs: Vec<Vec<Blocks>> = (0..n).map(|_| (0..n).map(|_| macs()).collect()).collect();
    let part = |party: usize| {
        let with_peer = |peer: usize| {
            let mut keys = macs[peer][party].clone();
            xor_chosen(&mut keys, &own[peer], DELTAS[party]);
            WithPeer { macs: macs[party][peer].clone(), keys }
        };
        MacBits { own: Wiped(own[party].clone()), peers: peers_of(party, n).map(with_peer).collect() }
    };
    (0..n).map(part).collect()
}

/// Returns the bits of the parties, and asserts that every MAC is right.
pub(crate) fn together(parts: &[MacBits]) -> Bits {
    let n = parts.len();
    for party in 0..n {
        for (with_peer, peer) in parts[party].peers.iter().zip(peers_of(party, n)) {
            let place = peers_of(peer, n).position(|other| other == party).unwrap();
            let mut keys = parts[peer].peers[place].keys.clone();
            xor_chosen(&mut keys, &parts[party].own, DELTAS[peer]);
            assert_eq!(keys.as_slice(), with_peer.macs.as_slice());
        }
    }
    let mut bits = (*parts[0].own).clone();
    parts[1..].iter().for_each(|part| bits.xor_assign(&part.own));
    bits
}

/// Applies a function to every party's part, and returns the bits of the results.
pub(crate) fn all(n: usize, part: impl Fn(usize) -> MacBits) -> Bits {
    together(&(0..n).map(part).collect::<Vec<_>>())
}

#[test]
fn every_map_keeps_macs_and_does_to_bits_what_it_does_to_plain_ones() {
    let mut coins = Seed::from_bytes([7; 32]).prg("quorate/spdz2k/macs/test", b"");
    for shape in [(0, 5), (3, 0)] {
        let parts = random(&mut coins, 2, shape);
        assert_eq!(MacBits::blank(false, 1, (1, 0)).in_rows(shape).shape(), shape);
        let mut changed = parts[0].clone();
        changed.add_chosen(&parts[1], &Bits::shape(shape.0, shape.1));
        assert_eq!(changed.shape(), shape);
    }
    for (n, (rows, lanes)) in [2, 3].into_iter().flat_map(|n| SHAPES.map(|shape| (n, shape))) {
        let parts = random(&mut coins, n, (rows, lanes));
        let mask = together(&random(&mut coins, n, (rows, lanes)));
        let lists = [vec![0], vec![], (0..rows as u32).collect()];
        let from = [lanes as u32 - 1, 0, lanes as u32 / 2];
        let maps = [
            LinearBits::Rows(rows / 2..rows),
            LinearBits::GatherRows(&[rows as u32 - 1, 0, 0]),
            LinearBits::Lanes(lanes / 3..lanes),
            LinearBits::Lanes(0..0),
            LinearBits::GatherLanes(Positions::Given(&from)),
            LinearBits::Mask(&mask),
            LinearBits::ZerosBelow(2),
            LinearBits::SumRows(&lists),
            LinearBits::SideBySide,
            LinearBits::RowsToLanes,
        ];
        for map in maps {
            let mapped = all(n, |i| parts[i].linear(&map));
            assert_eq!(mapped.to_bools(), map.apply(&together(&parts)).to_bools());
        }
        let row: Vec<MacBits> = parts.iter().map(|part| part.linear(&LinearBits::SideBySide)).collect();
        for map in [LinearBits::RepeatRow(3), LinearBits::LanesToRows(rows), LinearBits::LanesToRows(lanes)] {
            let mapped = all(n, |i| row[i].linear(&map));
            assert_eq!(mapped.to_bools(), map.apply(&together(&row)).to_bools());
        }
        let back = all(n, |i| row[i].clone().in_rows((rows, lanes)));
        assert_eq!(back.to_bools(), together(&parts).to_bools());
        let flipped = all(n, |i| parts[i].clone().flipped(&mask, (i == 0, DELTAS[i])));
        let mut expected = together(&parts);
        expected.xor_assign(&mask);
        assert_eq!(flipped.to_bools(), expected.to_bools());
        sums_keep_macs(&mut coins, &parts, &mask);
    }
}

const SHAPES: [(usize, usize); 6] = [(1, 1), (1, 70), (3, 1), (4, 66), (6, 12), (2, 128)];

/// Sums with other parts keep MACs.
fn sums_keep_macs(coins: &mut Prg, parts: &[MacBits], mask: &Bits) {
    let (n, (rows, lanes)) = (parts.len(), parts[0].shape());
    let others = random(coins, n, (rows, lanes));
    let added = all(n, |i| {
        let mut added = parts[i].clone();
        added.add_chosen(&others[i], mask);
        added
    });
    let mut chosen = together(&others);
    chosen.and_assign(mask);
    chosen.xor_assign(&together(parts));
    assert_eq!(added.to_bools(), chosen.to_bools());
    let pairs = |i: usize| [[&parts[i], &others[i]], [&others[i], &others[i]]];
    let sums = all(n, |i| MacBits::sums_below_each_other(pairs(i)));
    let sum = all(n, |i| parts[i].clone().xor(&others[i]));
    let mut expected = together(parts);
    expected.xor_assign(&together(&others));
    assert_eq!(sum.to_bools(), expected.to_bools());
    assert_eq!(sums.slice_rows(0..rows).to_bools(), expected.to_bools());
    assert!(!sums.slice_rows(rows..2 * rows).to_bools().contains(&true));
    let row = |part: &MacBits| part.linear(&LinearBits::Rows(0..1));
    let chosen = Bits::from_bools(2, lanes, &(0..2 * lanes).map(|i| i % 3 < 2).collect::<Vec<_>>());
    let sums = all(n, |i| row(&parts[i]).sums_of_chosen(&chosen)).to_bools();
    let first = together(&parts.iter().map(row).collect::<Vec<_>>()).to_bools();
    let expected = chosen
        .to_bools()
        .chunks(lanes)
        .map(|row| row.iter().zip(&first).filter(|(x, y)| **x && **y).count() % 2 == 1)
        .collect::<Vec<_>>();
    assert_eq!(sums, expected);
}

#[test]
fn every_update_keeps_macs_and_does_to_bits_what_it_does_to_plain_ones() {
    let mut coins = Seed::from_bytes([8; 32]).prg("quorate/spdz2k/macs/test", b"");
    let steps = [
        RowStep::Xor { out: 0, a: 1, b: 2 },
        RowStep::Xor { out: 3, a: 3, b: 0 },
        RowStep::Copy { out: 2, from: 3 },
        RowStep::Clear { out: 1 },
    ];
    for (n, lanes) in [(2, 1), (2, 70), (3, 70)] {
        let whole = random(&mut coins, n, (4, lanes));
        let updates = [
            (UpdateBits::Write(0), (4, lanes)),
            (UpdateBits::Write(lanes - 1), (4, 1)),
            (UpdateBits::Rows { xored: &[3, 0], set: &[1] }, (3, lanes)),
            (UpdateBits::Steps(&[2, 0], &steps), (2, lanes)),
        ];
        for (update, shape) in updates {
            let part = random(&mut coins, n, shape);
            let (mut changed, mut plain) = (whole.clone(), together(&whole));
            changed.iter_mut().zip(&part).for_each(|(whole, part)| whole.update(part, &update));
            update.apply(&mut plain, &together(&part));
            assert_eq!(together(&changed).to_bools(), plain.to_bools());
        }
        let joined = all(n, |i| MacBits::concat_lanes(&[&whole[i], &whole[i].slice(0..1)]));
        assert_eq!((joined.rows(), joined.lanes()), (4, lanes + 1));
        assert_eq!(all(n, |i| MacBits::concat_rows(&[&whole[i], &whole[i]])).rows(), 8);
    }
}
