//! Linear maps of shared values, as data: every family applies them to its shares, and to tags where it has some.
//!
//! The set is closed, so each family decides how to apply a map to shares in a larger ring than their value's. For
//! example, a slice is the same there, but reduction to a smaller ring is not.

use std::borrow::Cow;
use std::cell::{LazyCell, OnceCell};
use std::ops::Range;

use quorate_ring::{Bits, Conv, Ring, Runs, Vector};

/// A function that returns positions.
type Maker<'a> = &'a dyn Fn() -> Cow<'a, [u32]>;

/// Positions to gather from. Positions given later are computed at their first use; shapes never use them.
pub enum Positions<'a> {
    /// Positions that are given.
    Given(&'a [u32]),
    /// The number of positions, and the function that returns them.
    Later(usize, LazyCell<Cow<'a, [u32]>, Maker<'a>>),
    /// Positions in long runs, and the list of them where it is needed.
    InRuns(&'a Runs, OnceCell<Vec<u32>>),
}

impl<'a> Positions<'a> {
    /// Returns `len` positions, which `make` returns at their first use.
    pub fn later(len: usize, make: Maker<'a>) -> Self {
        Positions::Later(len, LazyCell::new(make))
    }

    /// Returns positions in runs.
    pub fn in_runs(runs: &'a Runs) -> Self {
        Positions::InRuns(runs, OnceCell::new())
    }

    /// Returns the number of positions.
    pub fn len(&self) -> usize {
        match self {
            Positions::Given(list) => list.len(),
            Positions::Later(len, _) => *len,
            Positions::InRuns(runs, _) => runs.len(),
        }
    }

    /// Returns whether there are none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Returns the positions.
    pub fn list(&self) -> &[u32] {
        match self {
            Positions::Given(list) => list,
            Positions::Later(_, list) => list,
            Positions::InRuns(runs, list) => list.get_or_init(|| runs.list()),
        }
    }
}

/// An axis of a row-major array: (outer, len, inner).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Axis {
    /// Product of the lengths of the axes before it.
    pub outer: usize,
    /// The length of the axis.
    pub len: usize,
    /// Product of the lengths of the axes after it.
    pub inner: usize,
}

/// A map of vectors over Z_2^k that is Z-linear.
pub enum Linear<'a> {
    /// The elements of a range.
    Slice(Range<usize>),
    /// The elements at these positions.
    Gather(Positions<'a>),
    /// The vector, repeated this many times.
    Repeat(usize),
    /// The negative of x.
    Neg,
    /// A public number times x.
    Scale(i128),
    /// Public numbers times x, element by element.
    Factors(&'a Vector),
    /// A public matrix times x.
    MatrixLeft(&'a Vector, (usize, usize, usize)),
    /// x times a public matrix.
    MatrixRight(&'a Vector, (usize, usize, usize)),
    /// Images x, convolved with public filters.
    Filter(&'a Vector, &'a Conv),
    /// Public images, convolved with filters x.
    Images(&'a Vector, &'a Conv),
    /// 2^shift x.
    Shl(u32),
    /// x in a ring that is not larger.
    Reduce(Ring),
    /// 2^shift x in this ring, which has at most `shift` bits more than the ring Z_2^k of x. A multiple of 2^k in x
    /// becomes a multiple of the size of the new ring, so it vanishes.
    Raise(Ring, u32),
    /// Sums over an axis.
    SumAxis(Axis),
    /// Running sums of rows of `lanes` elements: each row plus all rows above it.
    RunningSums {
        /// Lanes of a row.
        lanes: usize,
    },
    /// The sum of 2^i times row i; a last row of signs has the negative weight.
    Weigh {
        /// The number of rows.
        rows: usize,
        /// Whether the last row is a sign.
        signed: bool,
    },
}

impl Linear<'_> {
    /// Applies the map to a vector.
    pub fn apply(&self, x: &Vector) -> Vector {
        let changed = |change: &dyn Fn(&mut Vector)| {
            let mut x = x.clone();
            change(&mut x);
            x
        };
        match self {
            Linear::Slice(range) => x.slice(range.clone()),
            Linear::Gather(positions) if x.is_shape() => x.gathered_shape(positions.len()),
            Linear::Gather(Positions::InRuns(runs, _)) => x.gather_runs(runs),
            Linear::Gather(positions) => x.gather(positions.list()),
            Linear::Repeat(count) => Vector::concat(&vec![x; *count]),
            Linear::Neg => changed(&Vector::neg_assign),
            Linear::Scale(factor) => changed(&|x| x.scale_signed(*factor)),
            Linear::Factors(factors) => changed(&|x| x.mul_assign(factors)),
            Linear::MatrixLeft(matrix, dims) => Vector::matmul(matrix, x, *dims),
            Linear::MatrixRight(matrix, dims) => Vector::matmul(x, matrix, *dims),
            Linear::Filter(filters, conv) => Vector::convolve(x, filters, conv),
            Linear::Images(images, conv) => Vector::convolve(images, x, conv),
            Linear::Shl(shift) => changed(&|x| x.shl(*shift)),
            Linear::Reduce(ring) => {
                assert!(ring.bits() <= x.ring().bits(), "wraps do not vanish in a larger ring");
                x.convert(*ring)
            }
            Linear::Raise(ring, shift) => {
                assert!(ring.bits() <= x.ring().bits() + shift, "wraps do not vanish in a larger ring");
                let mut raised = x.convert(*ring);
                raised.shl(*shift);
                raised
            }
            Linear::SumAxis(Axis { outer, len, inner }) => x.sum_axis(*outer, *len, *inner),
            Linear::RunningSums { lanes } => running_sums(x, *lanes),
            Linear::Weigh { rows, signed } => weigh(x, *rows, *signed),
        }
    }
}

/// Adds up rows, in log2(rows) additions of the whole vector.
fn running_sums(x: &Vector, lanes: usize) -> Vector {
    let mut sums = x.clone();
    let mut step = lanes;
    while step > 0 && step < x.len() && !x.is_shape() {
        let mut later = sums.slice(step..sums.len());
        later.add_assign(&sums.slice(0..sums.len() - step));
        sums.write_at(step, &later);
        step *= 2;
    }
    sums
}

fn weigh(x: &Vector, rows: usize, signed: bool) -> Vector {
    let lanes = x.len() / rows.max(1);
    let row = |i: usize, weight: usize| {
        let mut term = x.slice(i * lanes..(i + 1) * lanes);
        term.shl(weight as u32);
        term
    };
    let mut sum = x.slice(0..lanes);
    (1..rows).for_each(|i| sum.add_assign(&row(i, i)));
    if signed {
        sum.sub_assign(&row(rows - 1, rows));
    }
    sum
}

/// A map of matrices of bits that is F_2-linear.
pub enum LinearBits<'a> {
    /// The rows of a range.
    Rows(Range<usize>),
    /// The rows with these numbers.
    GatherRows(&'a [u32]),
    /// The lanes of a range.
    Lanes(Range<usize>),
    /// The lanes at these positions.
    GatherLanes(Positions<'a>),
    /// x and public bits.
    Mask(&'a Bits),
    /// The only row, repeated this many times.
    RepeatRow(usize),
    /// x with this many rows of zeros below.
    ZerosBelow(usize),
    /// One row for each list: the sum of the rows in it.
    SumRows(&'a [Vec<u32>]),
    /// All rows side by side, in one row.
    SideBySide,
    /// The columns of x one after the other, in one row.
    RowsToLanes,
    /// The inverse of [`LinearBits::RowsToLanes`], for this number of rows.
    LanesToRows(usize),
}

impl LinearBits<'_> {
    /// Applies the map to a matrix.
    pub fn apply(&self, x: &Bits) -> Bits {
        match self {
            LinearBits::Rows(range) => x.slice_rows(range.clone()),
            LinearBits::GatherRows(rows) => x.gather_rows(rows),
            LinearBits::Lanes(range) => x.slice_lanes(range.clone()),
            LinearBits::GatherLanes(positions) if x.is_shape() => x.gathered_shape(positions.len()),
            LinearBits::GatherLanes(Positions::InRuns(runs, _)) => x.gather_runs(runs),
            LinearBits::GatherLanes(positions) => x.gather_lanes(positions.list()),
            LinearBits::Mask(mask) => {
                let mut x = x.clone();
                x.and_assign(mask);
                x
            }
            LinearBits::RepeatRow(count) => x.broadcast_row(*count),
            LinearBits::ZerosBelow(rows) => Bits::concat_rows(&[x, &zeros_like(x, *rows)]),
            LinearBits::SumRows(lists) => x.sum_rows(lists),
            LinearBits::SideBySide => {
                let rows: Vec<Bits> = (0..x.rows()).map(|row| x.row(row)).collect();
                Bits::concat_lanes(&rows.iter().collect::<Vec<_>>())
            }
            LinearBits::RowsToLanes => x.rows_to_lanes(),
            LinearBits::LanesToRows(rows) => x.lanes_to_rows(*rows),
        }
    }
}

fn zeros_like(x: &Bits, rows: usize) -> Bits {
    if x.is_shape() { Bits::shape(rows, x.lanes()) } else { Bits::zeros(rows, x.lanes()) }
}

/// An update of a vector by another one, the part: Z-linear in both.
pub enum Update {
    /// The part overwrites the elements from this position on.
    Write(usize),
    /// The part is (axis, lanes of a range) and overwrites these lanes of all positions on an axis.
    WriteLanes(Axis, Range<usize>),
    /// The part is a piece of an array, from this position on, and is added to the array's sums along an axis.
    AddSums(Axis, usize),
}

impl Update {
    /// Applies the update to `whole`.
    pub fn apply(&self, whole: &mut Vector, part: &Vector) {
        match self {
            Update::Write(start) => whole.write_at(*start, part),
            Update::WriteLanes(axis, lanes) => write_lanes(whole, part, *axis, lanes),
            Update::AddSums(axis, start) => add_sums(whole, part, *axis, *start),
        }
    }
}

fn write_lanes(whole: &mut Vector, part: &Vector, axis: Axis, lanes: &Range<usize>) {
    for row in 0..axis.len {
        let mut lane = lanes.start;
        while lane < lanes.end {
            let (block, from) = (lane / axis.inner, lane % axis.inner);
            let count = (axis.inner - from).min(lanes.end - lane);
            let at = row * lanes.len() + lane - lanes.start;
            whole.write_at((block * axis.len + row) * axis.inner + from, &part.slice(at..at + count));
            lane += count;
        }
    }
}

fn add_sums(sums: &mut Vector, part: &Vector, axis: Axis, start: usize) {
    let (block, inner, mut at) = (axis.len * axis.inner, axis.inner, start);
    let end = start + part.len();
    while at < end {
        let (from, lane, left) = (at % block, at % inner, end - at);
        // A run of whole blocks, of whole rows of one block, or of a part of a row.
        let (count, outer, len, width) = match (from, lane) {
            (0, _) if left >= block => (left / block * block, left / block, axis.len, inner),
            (_, 0) if left.min(block - from) >= inner => {
                let rows = left.min(block - from) / inner;
                (rows * inner, 1, rows, inner)
            }
            _ => {
                let width = (inner - lane).min(left);
                (width, 1, 1, width)
            }
        };
        let some = part.slice(at - start..at - start + count).sum_axis(outer, len, width);
        sums.add_at(at / block * inner + lane, &some);
        at += count;
    }
}

/// A step that replaces one row of a matrix of bits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RowStep {
    /// Row `out` is row a xor row b.
    Xor {
        /// The row that is written.
        out: u32,
        /// The first row.
        a: u32,
        /// The second row.
        b: u32,
    },
    /// Row `out` is row `from`.
    Copy {
        /// The row that is written.
        out: u32,
        /// The row that is read.
        from: u32,
    },
    /// Row `out` is zero.
    Clear {
        /// The row that is written.
        out: u32,
    },
}

/// An update of a matrix of bits by another one, the part: F_2-linear in both.
pub enum UpdateBits<'a> {
    /// The part overwrites the lanes from this position on.
    Write(usize),
    /// The first rows of the part are added to the rows `xored`; the next ones overwrite the rows `set`.
    Rows {
        /// The rows that are added to.
        xored: &'a [u32],
        /// The rows that are overwritten.
        set: &'a [u32],
    },
    /// The rows of the part overwrite these rows; then come steps of single rows.
    Steps(&'a [u32], &'a [RowStep]),
}

impl UpdateBits<'_> {
    /// Applies the update to `whole`.
    pub fn apply(&self, whole: &mut Bits, part: &Bits) {
        match self {
            UpdateBits::Write(start) => whole.write_lanes_at(*start, part),
            UpdateBits::Rows { xored, set } => {
                whole.xor_rows(xored, part, 0);
                whole.set_rows(set, part, xored.len());
            }
            UpdateBits::Steps(set, steps) => {
                whole.set_rows(set, part, 0);
                steps.iter().for_each(|step| match *step {
                    RowStep::Xor { out, a, b } => whole.set_row_to_xor(out, a, b),
                    RowStep::Copy { out, from } => whole.copy_row(out, from),
                    RowStep::Clear { out } => whole.clear_row(out),
                });
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SHAPES: [(usize, usize, usize); 8] =
        [(1, 1, 1), (1, 13, 1), (3, 5, 1), (1, 4, 6), (3, 4, 5), (2, 1, 7), (4, 7, 2), (12, 1, 1)];

    fn counted(k: u32, len: usize, seed: u64) -> Vector {
        let word = |i: u64| (i + seed).wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ (i + seed) >> 3;
        Vector::from_u64s(Ring::of(k), &(0..len as u64).map(word).collect::<Vec<_>>())
    }

    fn bits(rows: usize, lanes: usize, seed: usize) -> Bits {
        let bit = |i: usize| (i + seed).wrapping_mul(0x9e37_79b9) >> 7 & 1 == 1;
        Bits::from_bools(rows, lanes, &(0..rows * lanes).map(bit).collect::<Vec<_>>())
    }

    #[test]
    fn factors_may_be_negative_in_every_ring() {
        for ring in [8, 64, 128, 190, 254].map(Ring::of) {
            let x = Vector::from_i64s(ring, &[7, -3, 0]);
            assert_eq!(Linear::Scale(-5).apply(&x).to_limbs(), Vector::from_i64s(ring, &[-35, 15, 0]).to_limbs());
        }
    }

    #[test]
    fn maps_are_linear_and_those_of_shapes_are_shapes() {
        let list = [4, 0, 0, 11];
        let later = || Cow::Owned(vec![7, 2]);
        let (factors, matrix) = (counted(20, 12, 5), counted(20, 6, 9));
        let sides = Conv { batch: 2, channels: 2, before: [0, 1], ..Conv::plain([1, 3], [1, 2]) };
        let (filters, twelve) = (counted(20, 4, 8), Conv { filters: 3, ..sides });
        let images = counted(20, 12, 4);
        let runs = Runs { starts: vec![7, 0], width: 4, repeats: false };
        assert_eq!(Positions::in_runs(&runs).list(), [7, 8, 9, 10, 0, 1, 2, 3]);
        let maps = [
            Linear::Slice(3..9),
            Linear::Gather(Positions::Given(&list)),
            Linear::Gather(Positions::later(2, &later)),
            Linear::Gather(Positions::in_runs(&runs)),
            Linear::Repeat(3),
            Linear::Neg,
            Linear::Scale(-5),
            Linear::Factors(&factors),
            Linear::MatrixLeft(&matrix, (2, 3, 4)),
            Linear::MatrixRight(&matrix, (4, 3, 2)),
            Linear::Filter(&filters, &sides),
            Linear::Images(&images, &twelve),
            Linear::Shl(7),
            Linear::Reduce(Ring::of(9)),
            Linear::Raise(Ring::of(31), 11),
            Linear::SumAxis(Axis { outer: 2, len: 3, inner: 2 }),
            Linear::RunningSums { lanes: 4 },
            Linear::Weigh { rows: 6, signed: true },
        ];
        for (i, map) in maps.iter().enumerate() {
            let [x, y] = [1, 2].map(|seed| counted(20, 12, seed));
            let mut sum = x.clone();
            sum.add_assign(&y);
            let mut apart = map.apply(&x);
            apart.add_assign(&map.apply(&y));
            assert_eq!(map.apply(&sum).to_u64s(), apart.to_u64s(), "map {i}");
            let has_public = matches!(
                map,
                Linear::Factors(_)
                    | Linear::MatrixLeft(..)
                    | Linear::MatrixRight(..)
                    | Linear::Filter(..)
                    | Linear::Images(..)
            );
            if !has_public {
                let shape = map.apply(&Vector::shape(x.ring(), x.len()));
                assert!(shape.is_shape() && (shape.ring(), shape.len()) == (apart.ring(), apart.len()), "map {i}");
            }
        }
    }

    #[test]
    fn maps_of_bits_are_linear_and_those_of_shapes_are_shapes() {
        let (rows, list, lists) = ([2, 2, 0], [6, 0, 1], [vec![0, 2], vec![], vec![1]]);
        let mask = bits(3, 8, 77);
        let runs = Runs { starts: vec![5, 0], width: 3, repeats: true };
        let maps = [
            LinearBits::Rows(1..3),
            LinearBits::GatherRows(&rows),
            LinearBits::Lanes(2..7),
            LinearBits::GatherLanes(Positions::Given(&list)),
            LinearBits::GatherLanes(Positions::in_runs(&runs)),
            LinearBits::Mask(&mask),
            LinearBits::ZerosBelow(2),
            LinearBits::SumRows(&lists),
            LinearBits::SideBySide,
            LinearBits::RowsToLanes,
        ];
        for (i, map) in maps.iter().enumerate() {
            let [x, y] = [1, 2].map(|seed| bits(3, 8, seed));
            let mut sum = x.clone();
            sum.xor_assign(&y);
            let mut apart = map.apply(&x);
            apart.xor_assign(&map.apply(&y));
            assert_eq!(map.apply(&sum).to_bools(), apart.to_bools(), "map {i}");
            if !matches!(map, LinearBits::Mask(_)) {
                let shape = map.apply(&Bits::shape(3, 8));
                assert!(shape.is_shape() && (shape.rows(), shape.lanes()) == (apart.rows(), apart.lanes()), "map {i}");
            }
        }
        let back = LinearBits::LanesToRows(3).apply(&LinearBits::RowsToLanes.apply(&mask));
        assert_eq!(back.to_bools(), mask.to_bools());
    }

    #[test]
    fn rows_are_repeated_summed_up_and_changed_in_their_places() {
        let x = Vector::from_u64s(Ring::of(32), &[1, 2, 3, 4, 5, 6]);
        assert_eq!(Linear::RunningSums { lanes: 2 }.apply(&x).to_u64s(), [1, 2, 4, 6, 9, 12]);
        assert_eq!(Linear::RunningSums { lanes: 1 }.apply(&x).to_u64s(), [1, 3, 6, 10, 15, 21]);
        let mut whole = x.clone();
        Update::Write(2).apply(&mut whole, &Vector::from_u64s(Ring::of(32), &[8, 9]));
        assert_eq!(whole.to_u64s(), [1, 2, 8, 9, 5, 6]);
        let row = Bits::from_bools(1, 3, &[true, false, true]);
        assert_eq!(LinearBits::RepeatRow(2).apply(&row).to_bools(), [true, false, true, true, false, true]);
        let of = |rows: &[u8]| {
            Bits::from_bools(rows.len(), 2, &rows.iter().flat_map(|r| [r & 2 != 0, r & 1 != 0]).collect::<Vec<_>>())
        };
        let part = of(&[3, 1, 2]);
        let mut whole = of(&[1, 2, 3, 0]);
        UpdateBits::Rows { xored: &[2], set: &[0, 3] }.apply(&mut whole, &part);
        assert_eq!(whole.to_bools(), of(&[1, 2, 0, 2]).to_bools());
        let steps = [RowStep::Xor { out: 1, a: 0, b: 3 }, RowStep::Copy { out: 0, from: 1 }, RowStep::Clear { out: 3 }];
        UpdateBits::Steps(&[3], &steps).apply(&mut whole, &of(&[3]));
        assert_eq!(whole.to_bools(), of(&[2, 2, 0, 0]).to_bools());
        UpdateBits::Write(1).apply(&mut whole, &Bits::from_bools(4, 1, &[true; 4]));
        assert_eq!(whole.to_bools(), of(&[3, 3, 1, 1]).to_bools());
    }

    #[test]
    fn numbers_that_are_raised_lose_their_wraps() {
        let x = counted(5, 32, 0);
        let raised = Linear::Raise(Ring::of(12), 7).apply(&x);
        assert_eq!(raised.to_u64s(), x.to_u64s().iter().map(|x| x << 7).collect::<Vec<_>>());
    }

    #[test]
    fn weighed_rows_are_the_number() {
        let rows: Vec<u64> = [1, 0, 1, 1, 1, 0].into();
        let rows = Vector::from_u64s(Ring::of(40), &rows);
        assert_eq!(Linear::Weigh { rows: 3, signed: false }.apply(&rows).to_u64s(), [7, 2]);
        assert_eq!(Linear::Weigh { rows: 3, signed: true }.apply(&rows).to_i64s(), [-1, 2]);
    }

    #[test]
    fn sums_of_all_pieces_are_the_sums() {
        for (outer, len, inner) in SHAPES {
            let (axis, count) = (Axis { outer, len, inner }, outer * len * inner);
            let all = counted(64, count, 3);
            let expected = all.sum_axis(outer, len, inner).to_u64s();
            for piece in 1..=count {
                let mut sums = Vector::zeros(all.ring(), outer * inner);
                for start in (0..count).step_by(piece) {
                    Update::AddSums(axis, start).apply(&mut sums, &all.slice(start..count.min(start + piece)));
                }
                assert_eq!(sums.to_u64s(), expected, "{axis:?} in pieces of {piece}");
            }
        }
    }

    #[test]
    fn lanes_of_all_pieces_are_the_rows() {
        for (outer, len, inner) in SHAPES {
            let (axis, lanes) = (Axis { outer, len, inner }, outer * inner);
            let all = counted(64, lanes * len, 0);
            for piece in 1..=lanes {
                let mut whole = Vector::zeros(all.ring(), all.len());
                for start in (0..lanes).step_by(piece) {
                    let range = start..lanes.min(start + piece);
                    let of = |(row, lane): (usize, usize)| (lane / inner * len + row) * inner + lane % inner;
                    let places = (0..len).flat_map(|row| range.clone().map(move |lane| (row, lane))).map(of);
                    let part = all.gather(&places.map(|place| place as u32).collect::<Vec<_>>());
                    Update::WriteLanes(axis, range.clone()).apply(&mut whole, &part);
                }
                assert_eq!(whole.to_u64s(), all.to_u64s(), "{axis:?} in pieces of {piece} lanes");
            }
        }
    }
}
