//! Products and their masks, part by part: every part of a long vector stays in the first-level cache while all shares
//! are multiplied and all masks are drawn, and parts run side by side where a party has threads.
//!
//! A part is a range of *units* that lie one after the other in memory: elements of a vector, words of packed bits.

use std::ops::Range;

use quorate_engine::Stream;
use quorate_ring::{Bits, Module, Ring, Vector, threads};

use crate::maps::Maps;
use crate::share::{Shared, Wiped};

/// Bytes of a part: five vectors of it fill the cache.
const PART_BYTES: usize = 8 << 10;
/// Bytes of masks from which on a product is worth several threads.
const THREADED_BYTES: usize = 1 << 20;

/// A module that can be worked on part by part.
pub(crate) trait Parts: Module + Send + Sync {
    fn units(shape: Self::Shape) -> usize;
    fn unit_bytes(shape: Self::Shape) -> usize;
    /// The shape of so many units of a value of this shape.
    fn part_shape(shape: Self::Shape, units: usize) -> Self::Shape;
    /// self += other[range].
    fn add_part(&mut self, other: &Self, range: Range<usize>);
    /// self += a[range] b[range].
    fn add_mul_parts(&mut self, a: &Self, b: &Self, range: Range<usize>);
    /// self += a[range] b.
    fn add_mul_part(&mut self, a: &Self, range: Range<usize>, b: &Self);
}

impl Parts for Vector {
    fn units((_, len): (Ring, usize)) -> usize {
        len
    }
    fn unit_bytes((ring, _): (Ring, usize)) -> usize {
        ring.carrier().bytes()
    }
    fn part_shape((ring, _): (Ring, usize), units: usize) -> (Ring, usize) {
        (ring, units)
    }
    fn add_part(&mut self, other: &Self, range: Range<usize>) {
        self.add_range(other, range);
    }
    fn add_mul_parts(&mut self, a: &Self, b: &Self, range: Range<usize>) {
        self.add_mul_ranges(a, b, range);
    }
    fn add_mul_part(&mut self, a: &Self, range: Range<usize>, b: &Self) {
        self.add_mul_range(a, range, b);
    }
}

impl Parts for Bits {
    fn units((rows, lanes): (usize, usize)) -> usize {
        rows * lanes.div_ceil(64)
    }
    fn unit_bytes(_: (usize, usize)) -> usize {
        8
    }
    fn part_shape(_: (usize, usize), units: usize) -> (usize, usize) {
        (1, 64 * units)
    }
    fn add_part(&mut self, other: &Self, range: Range<usize>) {
        self.xor_words(other, range);
    }
    fn add_mul_parts(&mut self, a: &Self, b: &Self, range: Range<usize>) {
        self.add_and_words(a, b, range);
    }
    fn add_mul_part(&mut self, a: &Self, range: Range<usize>, b: &Self) {
        self.add_and_words_of(a, range, b);
    }
}

/// The operands of a chunk of a product, and where its masks come from.
pub(crate) struct Chunk<'a, M: Parts> {
    pub maps: &'a Maps,
    pub streams: &'a [Stream],
    pub x: &'a Shared<M>,
    pub y: &'a Shared<M>,
    /// The units of the operands that the chunk is about.
    pub units: Range<usize>,
    pub dry: bool,
}

/// Memory for one part of a chunk.
struct Place<'a> {
    units: Range<usize>,
    product: &'a mut [u8],
    shares: Vec<&'a mut [u8]>,
}

impl<M: Parts> Chunk<'_, M> {
    /// Writes the product v^(p), less this party's own masks, and the masks' part of the result's shares: bytes of the units
    /// of the chunk; of none where this is a dry run.
    pub fn compute(&self, product: &mut [u8], shares: Vec<&mut [u8]>) {
        let width = M::unit_bytes(self.x.shape);
        if self.dry {
            let units = self.units.clone();
            return self.compute_part(Place { units, product, shares });
        }
        let mut shares: Vec<_> = shares.into_iter().map(|share| share.chunks_mut(PART_BYTES)).collect();
        let place = |(i, product): (usize, _)| {
            let start = self.units.start + i * (PART_BYTES / width);
            let units = start..(start + PART_BYTES / width).min(self.units.end);
            Place { units, product, shares: shares.iter_mut().filter_map(Iterator::next).collect() }
        };
        let masks = product.len() * self.maps.held.len() * self.maps.threshold;
        let places: Vec<Place<'_>> = product.chunks_mut(PART_BYTES).enumerate().map(place).collect();
        match masks >= THREADED_BYTES {
            true => threads::side_by_side(places, |place| self.compute_part(place)),
            false => places.into_iter().for_each(|place| self.compute_part(place)),
        }
    }

    fn blank(&self, units: usize) -> Wiped<M> {
        let shape = M::part_shape(self.x.shape, units);
        Wiped(if self.dry { M::phantom(shape) } else { M::zeros(shape) })
    }

    fn compute_part(&self, mut place: Place<'_>) {
        let Chunk { maps, streams, x, .. } = *self;
        let width = M::unit_bytes(x.shape);
        let chunk_bytes = (self.units.len() * width) as u64;
        let start_bytes = ((place.units.start - self.units.start) * width) as u64;
        let mut product = self.product(&place.units);
        let [mut share, mut mask] = [0, 1].map(|_| self.blank(place.units.len()));
        for (i, (&set, stream)) in maps.held.iter().zip(streams).enumerate() {
            // n >= 3 gives every share a holder that sends another one: there is a first draw.
            for (draw, holder) in maps.holders(set).filter(|&p| maps.chi(p) != set).enumerate() {
                let drawn = if draw == 0 { &mut share } else { &mut mask };
                stream.fill_at(draw as u64 * chunk_bytes + start_bytes, drawn.bytes_mut());
                if holder == maps.me {
                    product.sub_assign(drawn);
                }
                if draw > 0 {
                    share.add_assign(&mask);
                }
            }
            if let Some(place) = place.shares.get_mut(i) {
                place.copy_from_slice(share.bytes_mut());
            }
        }
        place.product.copy_from_slice(product.bytes_mut());
    }

    /// v^(p) for a range of units.
    fn product(&self, units: &Range<usize>) -> Wiped<M> {
        let mut product = self.blank(units.len());
        let mut sums = [0, 1].map(|_| self.blank(units.len()));
        for (firsts, seconds) in &self.maps.products {
            let mut sum = |which: usize, operand: &Shared<M>, shares: &[usize]| {
                sums[which].bytes_mut().fill(0);
                shares.iter().for_each(|&share| sums[which].add_part(&operand.shares[share], units.clone()));
            };
            match (firsts.as_slice(), seconds.as_slice()) {
                ([x], [y]) => product.add_mul_parts(&self.x.shares[*x], &self.y.shares[*y], units.clone()),
                ([x], seconds) => {
                    sum(1, self.y, seconds);
                    product.add_mul_part(&self.x.shares[*x], units.clone(), &sums[1]);
                }
                (firsts, seconds) => {
                    sum(0, self.x, firsts);
                    sum(1, self.y, seconds);
                    product.add_mul_assign(&sums[0], &sums[1]);
                }
            }
        }
        product
    }
}
