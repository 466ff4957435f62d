//! Members of buckets: bits of one row with MACs, gathered and added in place, at public places.

use quorate_engine::{LinearBits, Positions};
use quorate_ot::Blocks;
use quorate_ring::chosen::Masks;
use quorate_ring::{Bits, Wiped};

use crate::macs::{MacBits, add, charge, charge_fetched, chosen_from, shape_of};

impl MacBits {
    /// Flips bits as [`MacBits::flipped`] does, in place, from bit `start` on.
    pub fn flip(&mut self, start: usize, by: &Bits, (first, delta): (bool, u128)) {
        match (first, self.peers.first_mut()) {
            (false, Some(party_0)) => {
                chosen_from(&mut party_0.keys, start, by, |key, bit| *key ^= delta & bit);
            }
            _ => {
                let rest = self.own.lanes() - start - by.lanes();
                let none = |lanes| if by.is_shape() { Bits::shape(1, lanes) } else { Bits::zeros(1, lanes) };
                self.own.xor_assign(&Bits::concat_lanes(&[&none(start), by, &none(rest)]));
            }
        }
    }

    /// Returns the bits at `places`, counted from bit `start`.
    pub fn gathered(&self, start: usize, places: &[u32]) -> MacBits {
        let blocks = |blocks: &Blocks| {
            charge_fetched(blocks, places.len());
            if blocks.is_shape() {
                return shape_of(places.len());
            }
            let from = &blocks.as_slice()[start..];
            Blocks::new(places.iter().map(|&place| from[place as usize]).collect())
        };
        MacBits { own: self.own_at(start, places), peers: self.each(blocks) }
    }

    /// Returns this party's own bits at `places`, counted from bit `start`.
    fn own_at(&self, start: usize, places: &[u32]) -> Wiped<Bits> {
        let own = Wiped(self.own.slice_lanes(start..self.own.lanes()));
        Wiped(LinearBits::GatherLanes(Positions::Given(places)).apply(&own))
    }

    /// Adds to the first bits those of `other` at `places`, counted from bit `start`. With `chosen`, adds only those
    /// that these public bits select.
    pub fn add_gathered(&mut self, (other, start): (&MacBits, usize), places: &[u32], chosen: Option<&Bits>) {
        let mut own = other.own_at(start, places);
        if let Some(chosen) = chosen {
            own.and_assign(chosen);
        }
        let rest = self.own.lanes() - places.len();
        let none = if own.is_shape() { Bits::shape(1, rest) } else { Bits::zeros(1, rest) };
        self.own.xor_assign(&Wiped(Bits::concat_lanes(&[&own, &none])));
        self.change(other, |into, from| {
            charge_fetched(from, places.len());
            charge(places.len());
            if from.is_shape() || chosen.is_some_and(Bits::is_shape) {
                into.become_shape();
                return;
            }
            let (from, masks) = (&from.as_slice()[start..], Masks::new());
            for (i, (into, places)) in into.as_mut_slice().chunks_mut(64).zip(places.chunks(64)).enumerate() {
                let word = chosen.map_or(u64::MAX, |chosen| chosen.words_of(0)[i]);
                for (i, (into, &place)) in into.iter_mut().zip(places).enumerate() {
                    *into ^= from[place as usize] & masks.block(word, i);
                }
            }
        });
    }

    /// Adds all bits of `other` to each run of that number of bits; the last run may be shorter.
    pub fn add_to_each(&mut self, other: &MacBits) {
        let (lanes, each) = (self.own.lanes(), other.own.lanes().max(1));
        let parts: Vec<Wiped<Bits>> =
            (0..lanes).step_by(each).map(|i| Wiped(other.own.slice_lanes(0..each.min(lanes - i)))).collect();
        if !parts.is_empty() {
            self.own.xor_assign(&Wiped(Bits::concat_lanes(&parts.iter().map(|part| &**part).collect::<Vec<_>>())));
        }
        self.change(other, |into, from| {
            charge(into.len());
            if from.is_shape() {
                into.become_shape();
                return;
            }
            into.as_mut_slice().chunks_mut(each).for_each(|into| add(into, from.as_slice()));
        });
    }
}

#[cfg(test)]
mod tests {
    use quorate_crypto::Seed;

    use super::*;
    use crate::macs::tests::{DELTAS, all, random, together};

    #[test]
    fn all_maps_keep_macs_and_do_to_bits_what_they_do_to_plain_ones() {
        let mut coins = Seed::from_bytes([9; 32]).prg("quorate/spdz2k/members/test", b"");
        for n in [2, 3] {
            let (from, into) = (random(&mut coins, n, (1, 200)), random(&mut coins, n, (1, 90)));
            let [plain, sum] = [&from, &into].map(|parts| together(parts).to_bools());
            let places: Vec<u32> = (0..70).map(|i| (i * 37 + 5) % 130).collect();
            let at = |i: usize| plain[65 + places[i] as usize];
            let gathered = all(n, |i| from[i].gathered(65, &places)).to_bools();
            assert_eq!(gathered, (0..70).map(at).collect::<Vec<_>>());
            let chosen = Bits::from_bools(1, 70, &(0..70).map(|i| i % 3 == 1).collect::<Vec<_>>());
            for chosen in [None, Some(&chosen)] {
                let is_added = |i: usize| i < 70 && chosen.is_none_or(|chosen| chosen.to_bools()[i]);
                let added = all(n, |i| {
                    let mut into = into[i].clone();
                    into.add_gathered((&from[i], 65), &places, chosen);
                    into
                });
                let expected = (0..90).map(|i| sum[i] ^ (is_added(i) && at(i)));
                assert_eq!(added.to_bools(), expected.collect::<Vec<_>>());
            }
            let added = all(n, |i| {
                let mut each = from[i].clone();
                each.add_to_each(&into[i]);
                each
            });
            assert_eq!(added.to_bools(), (0..200).map(|i| plain[i] ^ sum[i % 90]).collect::<Vec<_>>());
            let flipped = all(n, |i| {
                let mut flipped = from[i].clone();
                flipped.flip(65, &chosen, (i == 0, DELTAS[i]));
                flipped
            });
            let is_flipped = |i: usize| (65..135).contains(&i) && (i - 65) % 3 == 1;
            assert_eq!(flipped.to_bools(), (0..200).map(|i| plain[i] ^ is_flipped(i)).collect::<Vec<_>>());
        }
    }
}
