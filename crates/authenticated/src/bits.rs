//! Bits as elements of Z_2^(1+s), row after row. The xor is a sum, and the rows of a matrix are slices.

use std::borrow::Cow;

use quorate_engine::{Axis, Linear, LinearBits, Positions, RowStep, Update, UpdateBits};
use quorate_ring::{Bits, Ring, Vector};

use crate::tagged::Tagged;

/// One party's share of a matrix of bits.
#[derive(Clone)]
pub struct TaggedBits {
    /// The number of rows.
    pub rows: usize,
    /// The number of lanes.
    pub lanes: usize,
    /// The bits, row after row.
    pub elements: Tagged,
}

/// Returns public bits as elements of a ring, row after row.
pub(crate) fn to_elements(bits: &Bits, ring: Ring) -> Vector {
    match bits.rows() {
        0 if !bits.is_shape() => Vector::zeros(ring, 0),
        0 => Vector::shape(ring, 0),
        1 => bits.to_vector(ring),
        _ => LinearBits::SideBySide.apply(bits).to_vector(ring),
    }
}

/// Returns the lowest bits of elements that lie row after row.
pub fn from_elements(elements: &Vector, (rows, lanes): (usize, usize)) -> Bits {
    let all = elements.low_bit();
    let row = |i: usize| all.slice_lanes(i * lanes..(i + 1) * lanes);
    match rows {
        0 if all.is_shape() => Bits::shape(0, lanes),
        0 => Bits::zeros(0, lanes),
        _ => Bits::concat_rows(&(0..rows).map(row).collect::<Vec<_>>().iter().collect::<Vec<_>>()),
    }
}

impl TaggedBits {
    pub(crate) fn shape(&self) -> (usize, usize) {
        (self.rows, self.lanes)
    }

    pub(crate) fn zip(&self, other: &TaggedBits, function: impl Fn(&mut Vector, &Vector)) -> TaggedBits {
        assert!(self.shape() == other.shape(), "bits of different shapes");
        TaggedBits { elements: self.elements.zip(&other.elements, function), ..*self }
    }

    /// Stacks the rows of all parts, one below the other.
    pub(crate) fn concat_rows(parts: &[&TaggedBits]) -> TaggedBits {
        let elements = Tagged::concat(&parts.iter().map(|part| &part.elements).collect::<Vec<_>>());
        TaggedBits { rows: parts.iter().map(|part| part.rows).sum(), lanes: parts[0].lanes, elements }
    }

    /// Joins the lanes of all parts, side by side.
    pub(crate) fn concat_lanes(parts: &[&TaggedBits]) -> TaggedBits {
        let lanes = parts.iter().map(|part| part.lanes).sum();
        let slices = |row: usize| parts.iter().map(move |part| part.row(row));
        let all: Vec<Tagged> = (0..parts[0].rows).flat_map(slices).collect();
        match all.is_empty() {
            true => TaggedBits { lanes, ..parts[0].clone() },
            false => {
                TaggedBits { lanes, rows: parts[0].rows, elements: Tagged::concat(&all.iter().collect::<Vec<_>>()) }
            }
        }
    }

    fn row(&self, row: usize) -> Tagged {
        self.elements.linear(&Linear::Slice(row * self.lanes..(row + 1) * self.lanes))
    }

    /// Gathers elements into a matrix of this shape, row after row; `from` gives the position for (row, lane).
    fn gather(&self, (rows, lanes): (usize, usize), from: impl Fn(usize, usize) -> usize) -> TaggedBits {
        let place = |at: usize| from(at / lanes, at % lanes) as u32;
        let list = || Cow::Owned((0..rows * lanes).map(place).collect());
        let elements = self.elements.linear(&Linear::Gather(Positions::later(rows * lanes, &list)));
        TaggedBits { rows, lanes, elements }
    }

    /// Applies a linear map to the bits.
    pub(crate) fn linear(&self, map: &LinearBits<'_>) -> TaggedBits {
        let &TaggedBits { rows, lanes, ref elements } = self;
        let in_rows = |rows: usize, map: &Linear<'_>| TaggedBits { rows, lanes, elements: elements.linear(map) };
        match map {
            LinearBits::Rows(range) => in_rows(range.len(), &Linear::Slice(range.start * lanes..range.end * lanes)),
            LinearBits::GatherRows(list) => {
                self.gather((list.len(), lanes), |row, lane| list[row] as usize * lanes + lane)
            }
            LinearBits::Lanes(range) => self.gather((rows, range.len()), |row, lane| row * lanes + range.start + lane),
            LinearBits::GatherLanes(positions) => {
                self.gather((rows, positions.len()), |row, lane| row * lanes + positions.list()[lane] as usize)
            }
            LinearBits::Mask(mask) => in_rows(rows, &Linear::Factors(&to_elements(mask, Ring::of(1)))),
            LinearBits::RepeatRow(count) => in_rows(*count, &Linear::Repeat(*count)),
            LinearBits::ZerosBelow(more) => {
                let zeros = elements.map(|vector| match vector.is_shape() {
                    true => Vector::shape(vector.ring(), more * lanes),
                    false => Vector::zeros(vector.ring(), more * lanes),
                });
                TaggedBits { rows: rows + more, lanes, elements: Tagged::concat(&[elements, &zeros]) }
            }
            LinearBits::SumRows(lists) => {
                let sums = elements.map(|vector| sums_of_rows(vector, lists, lanes));
                TaggedBits { rows: lists.len(), lanes, elements: sums }
            }
            LinearBits::SideBySide => TaggedBits { rows: 1, lanes: rows * lanes, elements: elements.clone() },
            LinearBits::RowsToLanes => self.gather((1, rows * lanes), |_, at| at % rows * lanes + at / rows),
            LinearBits::LanesToRows(rows) => self.gather((*rows, lanes / rows), |row, lane| lane * rows + row),
        }
    }

    /// Updates the bits with others.
    pub(crate) fn update(&mut self, part: &TaggedBits, update: &UpdateBits<'_>) {
        let (rows, lanes) = self.shape();
        self.elements.change(&part.elements, |whole, part_of| match update {
            UpdateBits::Write(start) => {
                let axis = Axis { outer: 1, len: rows, inner: lanes };
                Update::WriteLanes(axis, *start..start + part.lanes).apply(whole, part_of);
            }
            UpdateBits::Rows { xored, set } => {
                for (i, &row) in xored.iter().chain(set.iter()).enumerate() {
                    let from = part_of.slice(i * lanes..(i + 1) * lanes);
                    match i < xored.len() {
                        true => whole.add_at(row as usize * lanes, &from),
                        false => whole.write_at(row as usize * lanes, &from),
                    }
                }
            }
            UpdateBits::Steps(set, steps) => {
                for (i, &row) in set.iter().enumerate() {
                    whole.write_at(row as usize * lanes, &part_of.slice(i * lanes..(i + 1) * lanes));
                }
                steps.iter().for_each(|step| row_step(whole, step, lanes));
            }
        });
    }
}

fn sums_of_rows(elements: &Vector, lists: &[Vec<u32>], lanes: usize) -> Vector {
    if elements.is_shape() {
        return Vector::shape(elements.ring(), lists.len() * lanes);
    }
    let mut sums = Vector::zeros(elements.ring(), lists.len() * lanes);
    for (i, list) in lists.iter().enumerate() {
        for &row in list {
            sums.add_at(i * lanes, &elements.slice(row as usize * lanes..(row as usize + 1) * lanes));
        }
    }
    sums
}

fn row_step(elements: &mut Vector, step: &RowStep, lanes: usize) {
    let row = |elements: &Vector, row: u32| elements.slice(row as usize * lanes..(row as usize + 1) * lanes);
    let (out, value) = match *step {
        RowStep::Xor { out, a, b } => {
            let mut sum = row(elements, a);
            sum.add_assign(&row(elements, b));
            (out, sum)
        }
        RowStep::Copy { out, from } => (out, row(elements, from)),
        RowStep::Clear { out } => (out, Vector::zeros(elements.ring(), lanes)),
    };
    elements.write_at(out as usize * lanes, &value);
}
