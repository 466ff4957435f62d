//! Matrices of bits with MACs: the local work of each party.
//!
//! **Notation**: a bit is the xor of all parties' own bits; for its own bit a party has a MAC M
//! under the Delta of each peer, and that peer the key K = M xor bit Delta. MACs and keys lie row after row.

use quorate_engine::{LinearBits, RowStep, UpdateBits};
use quorate_ot::{Blocks, PIECES};
use quorate_ring::chosen::{self, Masks};
use quorate_ring::{Bits, Ring, Wiped, meter};
use zeroize::Zeroize;

/// One party's part of bits: its own, and its MACs and keys with each peer, in order.
pub struct MacBits {
    /// The party's own bits.
    pub own: Wiped<Bits>,
    /// MACs and keys, by peer.
    pub peers: Vec<WithPeer>,
}

/// MACs of a party's own bits under the Delta of a peer, and keys of that peer's bits.
#[derive(Clone)]
pub struct WithPeer {
    /// MACs of the party's own bits.
    pub macs: Blocks,
    /// Keys of the peer's bits.
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
    /// Returns zeros with this number of peers, or their shape in a dry run.
    pub fn blank(dry: bool, peers: usize, (rows, lanes): (usize, usize)) -> MacBits {
        let (own, blocks) = match dry {
            true => (Bits::shape(rows, lanes), Blocks::shape(rows * lanes)),
            false => (Bits::zeros(rows, lanes), Blocks::new(vec![0; rows * lanes])),
        };
        let with_peer = WithPeer { macs: blocks.clone(), keys: blocks };
        MacBits { own: Wiped(own), peers: vec![with_peer; peers] }
    }

    /// Returns the numbers of rows and lanes.
    pub fn shape(&self) -> (usize, usize) {
        (self.own.rows(), self.own.lanes())
    }

    /// Returns the number of bits of all rows.
    pub fn len(&self) -> usize {
        self.own.rows() * self.own.lanes()
    }

    /// Returns whether there are no bits.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Applies a map to all MACs and keys.
    pub fn each(&self, map: impl Fn(&Blocks) -> Blocks) -> Vec<WithPeer> {
        self.peers.iter().map(|peer| WithPeer { macs: map(&peer.macs), keys: map(&peer.keys) }).collect()
    }

    /// Joins the MACs, and the keys, of all parts by a function.
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

    /// Applies a linear map to the bits.
    pub fn linear(&self, map: &LinearBits<'_>) -> MacBits {
        let shape = self.shape();
        MacBits { own: Wiped(map.apply(&self.own)), peers: self.each(|blocks| mapped(map, shape, blocks)) }
    }

    /// Updates the bits with others.
    pub fn update(&mut self, part: &MacBits, update: &UpdateBits<'_>) {
        let (shape, of_part) = (self.shape(), part.shape());
        update.apply(&mut self.own, &part.own);
        self.change(part, |whole, part| {
            if !whole.is_shape() && !part.is_shape() {
                changed(update, (whole.as_mut_slice(), shape), (part.as_slice(), of_part));
            }
        });
    }

    /// Stacks the rows of all parts, one below the other.
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

    /// Joins the lanes of all parts, side by side.
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

    /// Arranges the bits of one row in rows of `lanes` lanes.
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

    /// Returns the bits of a range, of one row.
    pub fn slice(&self, range: std::ops::Range<usize>) -> MacBits {
        self.linear(&LinearBits::Lanes(range))
    }

    /// Returns, for each row of public bits, the xor of the bits that it selects, in one row.
    pub fn sums_of_chosen(&self, chosen: &Bits) -> MacBits {
        let rows = chosen.rows();
        // Each row reads all blocks.
        stream(2 * self.peers.len() * rows * 16 * self.len());
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

    /// Returns the xor with the same number of other bits.
    pub fn xor(mut self, other: &MacBits) -> MacBits {
        self.own.xor_assign(&other.own);
        self.change(other, |into, from| {
            charge(into.len());
            if from.is_shape() {
                into.become_shape();
            }
            add(into.as_mut_slice(), from.as_slice());
        });
        self
    }

    /// Returns the sums of two pairs, one below the other.
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

    /// Adds those of other bits that public bits select.
    pub fn add_chosen(&mut self, other: &MacBits, chosen: &Bits) {
        let mut own = Wiped((*other.own).clone());
        own.and_assign(chosen);
        self.own.xor_assign(&own);
        self.change(other, |into, from| {
            assert!(into.len() == from.len(), "bits of different shapes");
            charge_sum(into.len());
            if from.is_shape() || chosen.is_shape() {
                into.become_shape();
                return;
            }
            let (lanes, masks) = (chosen.lanes().max(1), Masks::new());
            let rows = into.as_mut_slice().chunks_mut(lanes).zip(from.as_slice().chunks(lanes)).enumerate();
            for (row, (into, from)) in rows {
                for ((into, from), &word) in into.chunks_mut(64).zip(from.chunks(64)).zip(chosen.words_of(row)) {
                    for (i, (into, from)) in into.iter_mut().zip(from).enumerate() {
                        *into ^= from & masks.block(word, i);
                    }
                }
            }
        });
    }

    /// Returns the xor with public bits. Party 0 changes its own bits; the others change their keys of party 0, their
    /// first peer.
    pub fn flipped(mut self, by: &Bits, (first, delta): (bool, u128)) -> MacBits {
        match (first, self.peers.first_mut()) {
            (false, Some(party_0)) => xor_chosen(&mut party_0.keys, by, delta),
            _ => self.own.xor_assign(by),
        }
        self
    }
}

/// Returns zeros with the length of `like`, or their shape.
pub fn nothing(like: &Blocks) -> Blocks {
    if like.is_shape() { Blocks::shape(like.len()) } else { Blocks::new(vec![0; like.len()]) }
}

/// Applies a map of bits to their MACs or keys.
fn mapped(map: &LinearBits<'_>, (rows, lanes): (usize, usize), x: &Blocks) -> Blocks {
    let blocks = x.as_slice();
    // Builds the blocks of a result of `rows` rows and `lanes` lanes row by row.
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

/// Applies an update of bits to their MACs or keys.
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

/// Changes each block by a mask from its bit, row after row: 0, or all ones.
fn each_chosen(blocks: &mut [u128], bits: &Bits, change: impl Fn(&mut u128, u128)) {
    let rows = blocks.chunks_mut(bits.lanes().max(1)).take(bits.rows());
    for (row, blocks) in rows.enumerate() {
        chosen::each(blocks, bits.words_of(row), &change);
    }
}

/// Sets blocks to zero where a bit is not set.
fn keep_chosen(blocks: &mut Blocks, bits: &Bits) {
    change_chosen(blocks, bits, |block, bit| *block &= bit);
}

/// Adds a block where a bit is set.
pub fn xor_chosen(blocks: &mut Blocks, bits: &Bits, block: u128) {
    change_chosen(blocks, bits, |into, bit| *into ^= block & bit);
}

/// Changes each block by a mask from its bit; shapes stay shapes.
fn change_chosen(blocks: &mut Blocks, bits: &Bits, change: impl Fn(&mut u128, u128)) {
    chosen_from(blocks, 0, bits, change);
}

/// Changes blocks from `start` on, each by a mask from its bit; shapes stay shapes.
pub(crate) fn chosen_from(blocks: &mut Blocks, start: usize, bits: &Bits, change: impl Fn(&mut u128, u128)) {
    charge(bits.rows() * bits.lanes());
    match bits.is_shape() || blocks.is_shape() {
        true => blocks.become_shape(),
        false => each_chosen(&mut blocks.as_mut_slice()[start..], bits, change),
    }
}

/// Returns the shape of blocks that a dry run has in place of these, and charges a pass over them.
pub(crate) fn shape_of(len: usize) -> Blocks {
    charge(len);
    Blocks::shape(len)
}

/// Charges a loop over this number of bytes of blocks.
fn stream(bytes: usize) {
    meter::stream_within(bytes, bytes.saturating_mul(PIECES));
}

/// Charges a pass over `len` blocks that are read and written.
pub(crate) fn charge(len: usize) {
    stream(2 * 16 * len);
}

/// Charges a sum of `len` blocks: two are read and one is written for each.
pub(crate) fn charge_sum(len: usize) {
    stream(3 * 16 * len);
}

/// Charges `count` blocks that are fetched from public places.
pub(crate) fn charge_fetched(from: &Blocks, count: usize) {
    meter::fetched_within(count, size_of::<u128>() * from.len());
}

/// The cost of hashing a block, as about this number of bytes of a simple loop.
const HASHED_BYTES: usize = 64;

/// Charges the hashing of blocks.
pub(crate) fn charge_hash(blocks: &Blocks) {
    meter::stream(HASHED_BYTES * blocks.len());
}

/// Returns the hash of what a hasher has, followed by blocks.
pub fn hash(mut hasher: blake3::Hasher, blocks: &Blocks) -> [u8; 32] {
    charge_hash(blocks);
    hasher.update(blocks.as_bytes());
    let hash = *hasher.finalize().as_bytes();
    hasher.zeroize();
    hash
}

#[cfg(test)]
pub(crate) mod tests;
