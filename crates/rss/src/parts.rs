//! Products and their masks, part by part. Every part of a long vector stays in the first-level cache while all shares
//! are multiplied and all masks are drawn. Parts run in parallel where a party has several threads.
//!
//! A part is a range of *units* that lie one after the other in memory: elements of a vector, words of packed bits.

use std::ops::Range;

use quorate_engine::Stream;
use quorate_ring::{Bits, Module, Ring, Terms, Vector, threads};

use crate::maps::Maps;
use crate::share::{Shared, Wiped};

/// Bytes of a part: five vectors of it fill the cache.
const PART_BYTES: usize = 8 << 10;
/// Bytes of masks from which on a product is worth running on several threads.
const THREADED_BYTES: usize = 1 << 20;

/// A module whose values can be processed part by part.
pub(crate) trait Parts: Module + Send + Sync {
    fn units(shape: Self::Shape) -> usize;
    fn unit_bytes(shape: Self::Shape) -> usize;
    /// Returns the shape of `units` units of a value of this shape.
    fn part_shape(shape: Self::Shape, units: usize) -> Self::Shape;
    /// Sets `self` to the sum of products of sums that a party computes by itself, for these units of x and y.
    fn set_terms(&mut self, x: &[Self], y: &[Self], units: Range<usize>, terms: &Terms);
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
    fn set_terms(&mut self, x: &[Self], y: &[Self], units: Range<usize>, terms: &Terms) {
        self.set_terms(x, y, units, terms);
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
    fn set_terms(&mut self, x: &[Self], y: &[Self], units: Range<usize>, terms: &Terms) {
        self.set_terms(x, y, units, terms);
    }
}

/// The operands of a chunk of a product, and the sources of its masks.
pub(crate) struct Chunk<'a, M: Parts> {
    pub maps: &'a Maps,
    pub streams: &'a [Stream],
    pub x: &'a Shared<M>,
    pub y: &'a Shared<M>,
    /// The units of the operands that the chunk consists of.
    pub units: Range<usize>,
    pub dry: bool,
}

/// The places of the results of one part of a chunk.
struct Place<'a> {
    units: Range<usize>,
    product: &'a mut [u8],
    shares: Vec<&'a mut [u8]>,
}

/// The working memory of a part, which stays in the cache from one part to the next.
struct Scratch<M: Parts> {
    product: Wiped<M>,
    share: Wiped<M>,
    mask: Wiped<M>,
}

impl<M: Parts> Chunk<'_, M> {
    /// Writes the product v^(p), less this party's own masks, and the masks' part of the result's shares, as bytes of
    /// the units of the chunk. In a dry run there are no bytes.
    pub fn compute(&self, product: &mut [u8], shares: Vec<&mut [u8]>) {
        let width = M::unit_bytes(self.x.shape);
        if self.dry {
            let units = self.units.clone();
            return self.compute_parts(vec![Place { units, product, shares }]);
        }
        let mut shares: Vec<_> = shares.into_iter().map(|share| share.chunks_mut(PART_BYTES)).collect();
        let place = |(i, product): (usize, _)| {
            let start = self.units.start + i * (PART_BYTES / width);
            let units = start..(start + PART_BYTES / width).min(self.units.end);
            Place { units, product, shares: shares.iter_mut().filter_map(Iterator::next).collect() }
        };
        let masks = product.len() * self.maps.held.len() * self.maps.threshold;
        let mut places: Vec<Place<'_>> = product.chunks_mut(PART_BYTES).enumerate().map(place).collect();
        if masks < THREADED_BYTES || threads::threads() == 1 {
            return self.compute_parts(places);
        }
        let each = places.len().div_ceil(threads::threads());
        let groups = std::iter::from_fn(|| {
            let group: Vec<_> = places.drain(..each.min(places.len())).collect();
            (!group.is_empty()).then_some(group)
        });
        threads::side_by_side(groups.collect(), |places| self.compute_parts(places));
    }

    fn scratch(&self, units: usize) -> Scratch<M> {
        let shape = M::part_shape(self.x.shape, units);
        let blank = || Wiped(if self.dry { M::phantom(shape) } else { M::zeros(shape) });
        Scratch { product: blank(), share: blank(), mask: blank() }
    }

    /// Computes parts of equal length; the last one may be shorter.
    fn compute_parts(&self, places: Vec<Place<'_>>) {
        let mut scratch: Option<(usize, Scratch<M>)> = None;
        for place in places {
            let units = place.units.len();
            let (_, scratch) = match &mut scratch {
                Some(found) if found.0 == units => found,
                other => other.insert((units, self.scratch(units))),
            };
            self.compute_part(place, scratch);
        }
    }

    fn compute_part(&self, mut place: Place<'_>, Scratch { product, share, mask }: &mut Scratch<M>) {
        let Chunk { maps, streams, x, y, .. } = *self;
        let width = M::unit_bytes(x.shape);
        let chunk_bytes = (self.units.len() * width) as u64;
        let start_bytes = ((place.units.start - self.units.start) * width) as u64;
        product.set_terms(&x.shares, &y.shares, place.units, &maps.products);
        for (i, (&set, stream)) in maps.held.iter().zip(streams).enumerate() {
            // Since n >= 3, every share has a holder that sends another one: there is a first draw.
            for (draw, holder) in maps.holders(set).filter(|&p| maps.chi(p) != set).enumerate() {
                let drawn = if draw == 0 { &mut *share } else { &mut *mask };
                stream.fill_at(draw as u64 * chunk_bytes + start_bytes, drawn.bytes_mut());
                if holder == maps.me {
                    product.sub_assign(drawn);
                }
                if draw > 0 {
                    share.add_assign(mask);
                }
            }
            if let Some(place) = place.shares.get_mut(i) {
                place.copy_from_slice(share.bytes_mut());
            }
        }
        place.product.copy_from_slice(product.bytes_mut());
    }
}
