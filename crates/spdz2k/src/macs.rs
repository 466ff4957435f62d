//! Matrices of bits with MACs: what each party does by itself.
//!
//! **Notation** as in [`crate::tinyot`]: a bit is the xor of all parties' own bits; for its own bit a party has a MAC M
//! under the Delta of each peer, and that peer the key K = M xor bit Delta. MACs and keys lie row after row.

use quorate_engine::{LinearBits, RowStep, UpdateBits};
use quorate_ot::Blocks;
use quorate_ring::{Bits, Ring, Wiped, meter};
use zeroize::Zeroize;

const HASH: &str = "quorate 2026 spdz2k tinyot v1";

/// One party's part of bits: its own, and what it has with each peer, in order.
pub struct MacBits {
    /// The party's own bits.
    pub own: Wiped<Bits>,
    /// By peer.
    pub peers: Vec<WithPeer>,
}

/// MACs of a party's own bits under the Delta of a peer, and keys of that peer's.
#[derive(Clone)]
pub struct WithPeer {
    /// Of the party's own bits.
    pub macs: Blocks,
    /// Of the peer's.
    pub keys: Blocks,
}

impl WithPeer {
    fn both_mut(&mut self) -> [&mut Blocks; 2] {
        [&mut self.macs, &mut self.keys]
    }

    fn both(&self) -> [&Blocks; 2] {
        [&self.macs, &self.keys]
    }
}

impl Clone for MacBits {
    fn clone(&self) -> Self {
        MacBits { own: Wiped((*self.own).clone()), peers: self.peers.clone() }
    }
}

impl MacBits {
    /// Zeros with so many peers, or their shape.
    pub fn blank(dry: bool, peers: usize, (rows, lanes): (usize, usize)) -> MacBits {
        let (own, blocks) = match dry {
            true => (Bits::shape(rows, lanes), Blocks::shape(rows * lanes)),
            false => (Bits::zeros(rows, lanes), Blocks::new(vec![0; rows * lanes])),
        };
        let with_peer = WithPeer { macs: blocks.clone(), keys: blocks };
        MacBits { own: Wiped(own), peers: vec![with_peer; peers] }
    }

    /// Rows and lanes.
    pub fn shape(&self) -> (usize, usize) {
        (self.own.rows(), self.own.lanes())
    }

    /// Bits of all rows.
    pub fn len(&self) -> usize {
        self.own.rows() * self.own.lanes()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// What a map makes of all MACs and keys.
    pub fn each(&self, map: impl Fn(&Blocks) -> Blocks) -> Vec<WithPeer> {
        self.peers.iter().map(|peer| WithPeer { macs: map(&peer.macs), keys: map(&peer.keys) }).collect()
    }

    /// What is put together from the MACs, and from the keys, of all parts.
    fn joined(parts: &[&MacBits], join: impl Fn(&[&Blocks]) -> Blocks) -> Vec<WithPeer> {
        let count = parts.first().map_or(0, |part| part.peers.len());
        let with_peer = |i: usize| {
            let all =
                |of: fn(&WithPeer) -> &Blocks| join(&parts.iter().map(|part| of(&part.peers[i])).collect::<Vec<_>>());
            WithPeer { macs: all(|peer| &peer.macs), keys: all(|peer| &peer.keys) }
        };
        (0..count).map(with_peer).collect()
    }

    /// Changes all MACs and keys by those of others.
    pub fn change(&mut self, other: &MacBits, change: impl Fn(&mut Blocks, &Blocks)) {
        for (into, from) in self.peers.iter_mut().zip(&other.peers) {
            into.both_mut().into_iter().zip(from.both()).for_each(|(into, from)| change(into, from));
        }
    }

    /// A linear map of the bits.
    pub fn linear(&self, map: &LinearBits<'_>) -> MacBits {
        let shape = self.shape();
        MacBits { own: Wiped(map.apply(&self.own)), peers: self.each(|blocks| mapped(map, shape, blocks)) }
    }

    /// What becomes of the bits with others.
    pub fn update(&mut self, part: &MacBits, update: &UpdateBits<'_>) {
        let (shape, of_part) = (self.shape(), part.shape());
        update.apply(&mut self.own, &part.own);
        self.change(part, |whole, part| {
            if !whole.is_shape() && !part.is_shape() {
                changed(update, (whole.as_mut_slice(), shape), (part.as_slice(), of_part));
            }
        });
    }

    /// Rows of all parts, one below the other.
    pub fn concat_rows(parts: &[&MacBits]) -> MacBits {
        let own = Bits::concat_rows(&parts.iter().map(|part| &*part.own).collect::<Vec<_>>());
        let all = |parts: &[&Blocks]| {
            let len = parts.iter().map(|part| part.len()).sum();
            if parts.iter().any(|part| part.is_shape()) {
                return shape_of(len);
            }
            charge(len);
            let mut all = Vec::with_capacity(len);
            parts.iter().for_each(|part| all.extend_from_slice(part.as_slice()));
            Blocks::new(all)
        };
        MacBits { own: Wiped(own), peers: Self::joined(parts, all) }
    }

    /// Lanes of all parts, side by side.
    pub fn concat_lanes(parts: &[&MacBits]) -> MacBits {
        let own = Bits::concat_lanes(&parts.iter().map(|part| &*part.own).collect::<Vec<_>>());
        let (rows, len) = (own.rows(), own.rows() * own.lanes());
        let all = |parts: &[&Blocks]| {
            if parts.iter().any(|part| part.is_shape()) {
                return shape_of(len);
            }
            charge(len);
            let mut all = Vec::with_capacity(len);
            for row in 0..rows {
                for part in parts {
                    let lanes = part.len() / rows;
                    all.extend_from_slice(&part.as_slice()[row * lanes..(row + 1) * lanes]);
                }
            }
            Blocks::new(all)
        };
        MacBits { own: Wiped(own), peers: Self::joined(parts, all) }
    }

    /// The bits of one row in rows of so many lanes.
    pub fn in_rows(self, (rows, lanes): (usize, usize)) -> MacBits {
        let row = |i: usize| Wiped(self.own.slice_lanes(i * lanes..(i + 1) * lanes));
        let own = match rows {
            0 => return MacBits::blank(self.own.is_shape(), self.peers.len(), (0, lanes)),
            1 => self.own,
            _ => {
                let rows: Vec<Wiped<Bits>> = (0..rows).map(row).collect();
                Wiped(Bits::concat_rows(&rows.iter().map(|row| &**row).collect::<Vec<_>>()))
            }
        };
        MacBits { own, peers: self.peers }
    }

    /// The bits of a range, of one row.
    pub fn slice(&self, range: std::ops::Range<usize>) -> MacBits {
        self.linear(&LinearBits::Lanes(range))
    }

    /// For each row of public bits the xor of those that it chooses, of one row.
    pub fn sums_of_chosen(&self, chosen: &Bits) -> MacBits {
        let rows = chosen.rows();
        if self.own.is_shape() || chosen.is_shape() {
            return MacBits::blank(true, self.peers.len(), (1, rows));
        }
        let own = Wiped(self.own.to_vector(Ring::of(1)));
        let own = Wiped(own.sums_of_chosen(chosen));
        let own = Wiped(own.low_bit());
        let sum = |blocks: &Blocks, row: usize| {
            let words = blocks.as_slice().chunks(u64::BITS as usize).zip(chosen.words_of(row));
            let each = words.flat_map(|(blocks, &word)| {
                blocks.iter().enumerate().map(move |(i, block)| block & 0u128.wrapping_sub((word >> i & 1).into()))
            });
            each.fold(0, |sum, block| sum ^ block)
        };
        MacBits { own, peers: self.each(|blocks| Blocks::new((0..rows).map(|row| sum(blocks, row)).collect())) }
    }

    /// Their xor with as many others.
    pub fn xor(mut self, other: &MacBits) -> MacBits {
        self.own.xor_assign(&other.own);
        self.change(other, |into, from| {
            charge(into.len());
            if from.is_shape() {
                *into = Blocks::shape(into.len());
            }
            add(into.as_mut_slice(), from.as_slice());
        });
        self
    }

    /// The sums of two pairs, one below the other.
    pub fn sums_below_each_other(pairs: [[&MacBits; 2]; 2]) -> MacBits {
        let sum = |[x, y]: [&MacBits; 2]| {
            let mut sum = Wiped((*x.own).clone());
            sum.xor_assign(&y.own);
            sum
        };
        let own = Wiped(Bits::concat_rows(&pairs.map(sum).each_ref().map(|sum| &**sum)));
        let len = own.rows() * own.lanes();
        let all = |parts: &[&Blocks]| {
            charge_sum(len);
            if parts.iter().any(|part| part.is_shape()) {
                return Blocks::shape(len);
            }
            let mut all = Vec::with_capacity(len);
            for pair in parts.as_chunks::<2>().0 {
                let [x, y] = pair.map(Blocks::as_slice);
                all.extend(x.iter().zip(y).map(|(x, y)| x ^ y));
            }
            Blocks::new(all)
        };
        MacBits { own, peers: Self::joined(pairs.as_flattened(), all) }
    }

    /// Adds those of others that public bits choose.
    pub fn add_chosen(&mut self, other: &MacBits, chosen: &Bits) {
        let mut own = Wiped((*other.own).clone());
        own.and_assign(chosen);
        self.own.xor_assign(&own);
        self.change(other, |into, from| {
            assert!(into.len() == from.len(), "bits of different shapes");
            charge_sum(into.len());
            if from.is_shape() || chosen.is_shape() {
                *into = Blocks::shape(into.len());
                return;
            }
            let lanes = chosen.lanes().max(1);
            let rows = into.as_mut_slice().chunks_mut(lanes).zip(from.as_slice().chunks(lanes)).enumerate();
            for (row, (into, from)) in rows {
                for ((into, from), &word) in into.chunks_mut(64).zip(from.chunks(64)).zip(chosen.words_of(row)) {
                    for (i, (into, from)) in into.iter_mut().zip(from).enumerate() {
                        *into ^= from & all_ones_if(word >> i & 1);
                    }
                }
            }
        });
    }

    /// Their xor with public bits: party 0 changes its own, and the others their keys of it, who is their first peer.
    pub fn flipped(mut self, by: &Bits, (first, delta): (bool, u128)) -> MacBits {
        match (first, self.peers.first_mut()) {
            (false, Some(party_0)) => xor_chosen(&mut party_0.keys, by, delta),
            _ => self.own.xor_assign(by),
        }
        self
    }
}

/// Zeros of the form of blocks.
pub(crate) fn nothing(like: &Blocks) -> Blocks {
    if like.is_shape() { Blocks::shape(like.len()) } else { Blocks::new(vec![0; like.len()]) }
}

/// A map of bits, of their MACs or keys.
fn mapped(map: &LinearBits<'_>, (rows, lanes): (usize, usize), x: &Blocks) -> Blocks {
    let blocks = x.as_slice();
    // Row by row of a result of so many rows and lanes.
    let taken = |(rows, lanes): (usize, usize), row: &dyn Fn(usize, &mut Vec<u128>)| {
        if x.is_shape() {
            return shape_of(rows * lanes);
        }
        charge(rows * lanes);
        let mut taken = Vec::with_capacity(rows * lanes);
        (0..rows).for_each(|i| row(i, &mut taken));
        Blocks::new(taken)
    };
    let row = |row: usize| &blocks[row * lanes..(row + 1) * lanes];
    match map {
        LinearBits::Rows(range) => taken((range.len(), lanes), &|i, all| all.extend_from_slice(row(range.start + i))),
        LinearBits::GatherRows(list) => {
            taken((list.len(), lanes), &|i, all| all.extend_from_slice(row(list[i] as usize)))
        }
        LinearBits::Lanes(range) => taken((rows, range.len()), &|i, all| all.extend_from_slice(&row(i)[range.clone()])),
        LinearBits::GatherLanes(positions) if x.is_shape() => shape_of(rows * positions.len()),
        LinearBits::GatherLanes(positions) => {
            let list = positions.list();
            let places = |row: &[u128], all: &mut Vec<u128>| all.extend(list.iter().map(|&lane| row[lane as usize]));
            taken((rows, list.len()), &|i, all| places(row(i), all))
        }
        LinearBits::Mask(mask) => {
            let mut kept = x.clone();
            keep_chosen(&mut kept, mask);
            kept
        }
        LinearBits::RepeatRow(count) => taken((*count, lanes), &|_, all| all.extend_from_slice(row(0))),
        LinearBits::ZerosBelow(more) => match x.is_shape() {
            true => Blocks::shape((rows + more) * lanes),
            false => Blocks::new(blocks.iter().copied().chain(std::iter::repeat_n(0, more * lanes)).collect()),
        },
        LinearBits::SumRows(lists) => taken((lists.len(), lanes), &|i, all| {
            let start = all.len();
            all.resize(start + lanes, 0);
            lists[i].iter().for_each(|&of| add(&mut all[start..], row(of as usize)));
        }),
        LinearBits::SideBySide => x.clone(),
        LinearBits::RowsToLanes => {
            taken((lanes, rows), &|lane, all| all.extend((0..rows).map(|row| blocks[row * lanes + lane])))
        }
        LinearBits::LanesToRows(rows) => {
            taken((*rows, lanes / rows), &|row, all| all.extend(blocks[row.min(lanes)..].iter().step_by(*rows)))
        }
    }
}

/// An update of bits, of their MACs or keys.
fn changed(
    update: &UpdateBits<'_>,
    (whole, (_, lanes)): (&mut [u128], (usize, usize)),
    (part, (rows, of_part)): (&[u128], (usize, usize)),
) {
    let row = |row: u32| row as usize * lanes..(row as usize + 1) * lanes;
    match update {
        UpdateBits::Write(start) => {
            for i in 0..rows {
                let to = i * lanes + start;
                whole[to..to + of_part].copy_from_slice(&part[i * of_part..(i + 1) * of_part]);
            }
        }
        UpdateBits::Rows { xored, set } => {
            let (added, written) = part.split_at(xored.len() * lanes);
            for (&to, from) in xored.iter().zip(added.chunks(lanes.max(1))) {
                add(&mut whole[row(to)], from);
            }
            for (&to, from) in set.iter().zip(written.chunks(lanes.max(1))) {
                whole[row(to)].copy_from_slice(from);
            }
        }
        UpdateBits::Steps(set, steps) => {
            for (&to, from) in set.iter().zip(part.chunks(lanes.max(1))) {
                whole[row(to)].copy_from_slice(from);
            }
            for step in *steps {
                match *step {
                    RowStep::Xor { out, a, b } => {
                        for lane in 0..lanes {
                            let [out, a, b] = [out, a, b].map(|row| row as usize * lanes + lane);
                            whole[out] = whole[a] ^ whole[b];
                        }
                    }
                    RowStep::Copy { out, from } => whole.copy_within(row(from), row(out).start),
                    RowStep::Clear { out } => whole[row(out)].fill(0),
                }
            }
        }
    }
}

pub(crate) fn add(into: &mut [u128], from: &[u128]) {
    into.iter_mut().zip(from).for_each(|(into, from)| *into ^= from);
}

/// All ones for 1, 0 for 0.
pub(crate) fn all_ones_if(bit: u64) -> u128 {
    0u128.wrapping_sub(bit.into())
}

/// Changes each block by its bit, row after row: 0, or all ones.
fn each_chosen(blocks: &mut [u128], bits: &Bits, change: impl Fn(&mut u128, u128)) {
    let rows = blocks.chunks_mut(bits.lanes().max(1)).take(bits.rows());
    for (row, blocks) in rows.enumerate() {
        for (blocks, &word) in blocks.chunks_mut(64).zip(bits.words_of(row)) {
            for (i, block) in blocks.iter_mut().enumerate() {
                change(block, all_ones_if(word >> i & 1));
            }
        }
    }
}

/// Zeros where a bit is not set.
fn keep_chosen(blocks: &mut Blocks, bits: &Bits) {
    chosen(blocks, bits, |block, bit| *block &= bit);
}

/// Adds a block where a bit is set.
pub(crate) fn xor_chosen(blocks: &mut Blocks, bits: &Bits, block: u128) {
    chosen(blocks, bits, |into, bit| *into ^= block & bit);
}

/// Changes blocks by a bit each; of what is only a shape a shape is left.
fn chosen(blocks: &mut Blocks, bits: &Bits, change: impl Fn(&mut u128, u128)) {
    chosen_from(blocks, 0, bits, change);
}

/// The same for blocks from a place on.
pub(crate) fn chosen_from(blocks: &mut Blocks, start: usize, bits: &Bits, change: impl Fn(&mut u128, u128)) {
    charge(bits.rows() * bits.lanes());
    match bits.is_shape() || blocks.is_shape() {
        true => *blocks = Blocks::shape(blocks.len()),
        false => each_chosen(&mut blocks.as_mut_slice()[start..], bits, change),
    }
}

/// Blocks that a dry run has in place of these.
pub(crate) fn shape_of(len: usize) -> Blocks {
    charge(len);
    Blocks::shape(len)
}

/// Charges a pass over so many blocks: read and written.
pub(crate) fn charge(len: usize) {
    meter::stream(2 * 16 * len);
}

/// The same for a sum: two are read and one is written.
pub(crate) fn charge_sum(len: usize) {
    meter::stream(3 * 16 * len);
}

/// About what hashing a block takes, in bytes of a simple loop.
const HASHED_BYTES: usize = 64;

pub(crate) fn hash(blocks: &Blocks) -> [u8; 32] {
    meter::stream(HASHED_BYTES * blocks.len());
    let mut hasher = blake3::Hasher::new_derive_key(HASH);
    hasher.update(blocks.as_bytes());
    let hash = *hasher.finalize().as_bytes();
    hasher.zeroize();
    hash
}

#[cfg(test)]
pub(crate) mod tests {
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

    /// The others, in order.
    fn peers_of(party: usize, n: usize) -> impl Iterator<Item = usize> {
        (0..n).filter(move |&peer| peer != party)
    }

    /// All parties' parts of random bits.
    pub(crate) fn random(coins: &mut Prg, n: usize, (rows, lanes): (usize, usize)) -> Vec<MacBits> {
        let mut own = || {
            let mut bits = Bits::zeros(rows, lanes);
            (0..rows).for_each(|row| {
                (0..lanes).for_each(|lane| bits.words_of_mut(row)[lane / 64] |= (coins.next_u64() & 1) << (lane % 64))
            });
            bits
        };
        let own: Vec<Bits> = (0..n).map(|_| own()).collect();
        // By whose bits they are for, then by under whose Delta.
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

    /// The bits that the parties have; every MAC is right.
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

    /// What every party makes of its part, put together.
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

    /// Sums of parts with others.
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
}
