//! The demand for random numbers with their bits, and the batches in which numbers of each party are made for it.

use quorate_authenticated::{Kind, SharedBits, Tagged};
use quorate_ot::vole::Digits;
use quorate_ring::Ring;

use crate::params::Params;
use crate::privateedabit::Sizes;

/// The number of bits that are made together.
const BATCH: usize = 1 << 17;

/// The demand: numbers of w bits over Z_2^k, and what goes with them.
#[derive(Clone, Copy)]
pub(crate) struct Wanted {
    pub width: u32,
    pub ring: Ring,
    /// The range of bits that are also wanted as numbers of their own.
    pub part: Option<[u32; 2]>,
    /// The number of the lowest pairs of neighbouring bits whose products are wanted.
    pub pairs: usize,
}

impl Wanted {
    /// Returns a demand for numbers and their bits.
    fn new(width: u32, ring: Ring) -> Wanted {
        Wanted { width, ring, part: None, pairs: 0 }
    }

    /// Returns a demand for edaBits; they are also shifted right by `cut` if that is not 0.
    pub fn edabits(width: u32, ring: Ring, cut: u32) -> Wanted {
        Wanted { part: (cut > 0).then_some([cut, width]), ..Wanted::new(width, ring) }
    }

    /// Returns a demand for truncation masks.
    pub fn trunc_masks(ring: Ring, cut: u32) -> Wanted {
        Wanted { part: Some([cut, ring.bits() - 1]), ..Wanted::new(ring.bits(), ring) }
    }

    /// Returns a demand for comparison masks.
    pub fn comparison_masks(ring: Ring, pairs: usize) -> Wanted {
        Wanted { pairs, ..Wanted::new(ring.bits(), ring) }
    }

    /// Returns the demand of a kind that is made from numbers.
    pub fn of(kind: &Kind) -> Option<Wanted> {
        match *kind {
            Kind::EdaBit { bits, ring, cut } => Some(Wanted::edabits(bits, Ring::of(ring), cut)),
            Kind::ComparisonMask { bits, pairs } => Some(Wanted::comparison_masks(Ring::of(bits), pairs as usize)),
            Kind::TruncMask { bits, cut } => Some(Wanted::trunc_masks(Ring::of(bits), cut)),
            _ => None,
        }
    }

    /// Returns the positions into which carries are wanted as elements.
    pub fn carries(&self) -> Vec<u32> {
        match self.part {
            Some(part) => part.to_vec(),
            None => {
                if self.ring.bits() > self.width {
                    vec![self.width]
                } else {
                    vec![]
                }
            }
        }
    }

    /// Returns the number of ANDs of an addition; the carry out of the top counts only where it is wanted.
    pub fn ands(&self) -> usize {
        if self.carries().contains(&self.width) { self.width as usize } else { self.width as usize - 1 }
    }

    /// Returns the bits that are left of the first number, and of the second one where a part is wanted.
    fn kept(&self) -> Vec<Vec<u32>> {
        match self.part {
            None => vec![(0..self.width).collect()],
            Some([from, to]) => vec![(0..from).chain(to..self.width).collect(), (0..to - from).collect()],
        }
    }

    /// Returns the bits that are sent of these numbers.
    pub fn told(&self) -> Vec<Vec<u32>> {
        let others = |kept: Vec<u32>| (0..self.ring.bits()).filter(|bit| !kept.contains(bit)).collect();
        self.kept().into_iter().map(others).collect()
    }

    /// Returns the number of numbers that each demand takes.
    pub fn numbers(&self) -> usize {
        if self.part.is_some() { 2 } else { 1 }
    }

    /// Returns the number of all bits of those numbers.
    pub fn chosen_bits(&self) -> usize {
        self.numbers() * self.ring.bits() as usize
    }

    /// Returns the sizes of a batch if cut and choose takes fewer bytes than a proof of every bit that is wanted.
    fn cut_and_choose(&self, (params, digits): (Params, Digits), lanes: usize) -> Option<Sizes> {
        if !params.bits_have_macs() {
            return None;
        }
        let (ring, count) = (self.ring, self.numbers() * lanes);
        let (all_bits, bits) = (ring.bits() as usize, self.width as usize);
        let element = |ring: Ring, count: usize| digits.message_bytes((ring, count), false);
        let sizes = Sizes::of(count, params.inner_bits())?;
        // In either way a bit with a MAC takes 4 bytes.
        let told = ring.packed_bytes(count * (sizes.bucket - 1)) + (self.chosen_bits() - bits) * lanes / 8;
        let chosen = element(params.shares(ring), sizes.all()) + 4 * all_bits * sizes.all() + told;
        let proven = element(params.words(ring), bits * lanes) + 4 * bits * lanes;
        (params.always_cuts() || chosen < proven).then_some(sizes)
    }

    /// Returns the batches of `len` numbers. If the first one is proven, all are: batches of proven numbers are larger
    /// than those by cut and choose.
    pub fn batches(self, params: (Params, Digits), len: usize) -> Batches {
        let of_bits = |bits: u32| (BATCH / bits as usize).max(1);
        let chosen = of_bits(self.ring.bits());
        let chooses = self.cut_and_choose(params, chosen.min(len)).is_some();
        Batches { wanted: self, params, most: if chooses { chosen } else { of_bits(self.width) }, chooses }
    }
}

/// The batches in which numbers are made.
pub(crate) struct Batches {
    wanted: Wanted,
    params: (Params, Digits),
    /// The number of numbers that are made together.
    pub most: usize,
    chooses: bool,
}

impl Batches {
    /// Returns the sizes of a batch of `lanes` numbers, if they are made by cut and choose.
    pub fn chosen(&self, lanes: usize) -> Option<Sizes> {
        if self.chooses { self.wanted.cut_and_choose(self.params, lanes) } else { None }
    }
}

/// A number of one party in each lane, as elements, and its bits in the form of the session's bits.
pub(crate) struct OwnNumbers {
    pub value: Tagged,
    /// The part that is wanted.
    pub part: Option<Tagged>,
    pub bits: SharedBits,
}

/// Returns the number of triples of bits with MACs that one correlation of a kind takes.
pub(crate) fn bit_triples_of(kind: &Kind, parties: usize) -> usize {
    match kind {
        Kind::BitTriple => 1,
        _ => Wanted::of(kind).map_or(0, |wanted| (parties - 1) * wanted.ands() + wanted.pairs),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The lanes of each batch of `len` numbers.
    fn lanes(batches: &Batches, len: usize) -> impl Iterator<Item = usize> {
        let most = batches.most;
        (0..len).step_by(most).map(move |start| most.min(len - start))
    }

    /// No batch exceeds the bound, whatever the number: short numbers are proven, and with cut and choose a batch of
    /// them would be too large.
    #[test]
    fn no_batch_is_larger_than_it_may_be() {
        let params = (Params::default(), Params::default().digits().unwrap());
        let wanted = |width: u32, cut: u32| Wanted::edabits(width, Ring::of(64), cut);
        for wanted in (1..=64).map(|width| wanted(width, 0)).chain((4..=64).map(|width| wanted(width, 3))) {
            for len in [1, 100, 2048, 2049, 16_384, 40_000] {
                let batches = wanted.batches(params, len);
                for lanes in lanes(&batches, len) {
                    let bits = match batches.chosen(lanes) {
                        Some(sizes) => {
                            assert_eq!(sizes.count, wanted.numbers() * lanes);
                            64
                        }
                        None => wanted.width as usize,
                    };
                    assert!(lanes * bits <= BATCH, "{} bits, {len}", wanted.width);
                }
            }
        }
        // Here a larger batch would be made by cut and choose, not proven.
        for width in [8, 9] {
            let wanted = wanted(width, 0);
            let batches = wanted.batches(params, 40_000);
            assert!(lanes(&batches, 40_000).all(|lanes| batches.chosen(lanes).is_none()), "{width} bits");
            assert!(
                wanted.cut_and_choose(params, 2048).is_none() && wanted.cut_and_choose(params, BATCH / 9).is_some()
            );
        }
    }
}
