//! The comparisons that put shuffled rows in order: their number is fixed by the number of rows, and which rows meet
//! depends on the results so far.
//!
//! **Source**: ours. A sample of S = 2^a - 1 rows is ordered by all its pairs. Every other row finds its place among
//! them by a binary search of a levels. Each segment between two rows of the sample is then split by its first row, or
//! by its first three while it is long, and what is left of a segment is ordered by all its pairs.
//!
//! All results are public, and so is all that is computed here. Rows come shuffled, so the results are those of a
//! uniformly random order, whatever the data ([`super`]). Each level has a capacity, the number of comparisons that it
//! makes: those that the results leave unused compare row 0 with itself. Whether a level needs more than its capacity
//! depends on the uniform order alone.

use std::ops::Range;

use quorate_ring::Bits;

/// Up to this many rows are ordered by all their pairs at once.
const FEW_ROWS: usize = 56;
/// A segment is not split further if segments of its level have fewer than this many rows on average, or so.
const SHORT: usize = 6;

/// The number of rows that split a long segment.
const MOST_PIVOTS: usize = 3;

/// The reason why an order cannot be found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Failure {
    /// A level needs more comparisons than its capacity.
    Overflow,
    /// Results that no order of the rows has.
    Contradiction,
}

/// What a level compares.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Step {
    /// All pairs of the sample.
    Sample,
    /// Each other row with the row of the sample in the middle of those between which it may lie.
    Search,
    /// The rows of each segment with its first row, or with its first three in segments of more than 2 t rows.
    Split { t: usize },
    /// All pairs of each segment.
    Rest,
}

/// A level of comparisons, all of which are made at once.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Level {
    step: Step,
    /// The number of comparisons.
    pub capacity: usize,
}

/// Returns the levels for a number of rows, below 2^31.
pub(super) fn levels(rows: usize) -> Vec<Level> {
    if rows <= FEW_ROWS {
        let capacity = rows * rows.saturating_sub(1) / 2;
        return if capacity == 0 { vec![] } else { vec![Level { step: Step::Rest, capacity }] };
    }
    let depth = sample_depth(rows);
    let sample = (1 << depth) - 1;
    let root = 40 * rows.isqrt();
    let mut levels = vec![Level { step: Step::Sample, capacity: sample * (sample - 1) / 2 }];
    levels.extend((0..depth).map(|_| Level { step: Step::Search, capacity: rows - sample }));
    let splits: Vec<usize> = (1..).map(|i| average(rows, depth, i)).take_while(|&t| t >= SHORT).collect();
    levels.extend(splits.iter().enumerate().map(|(i, &t)| {
        let from_the_end = splits.len() - 1 - i;
        Level { step: Step::Split { t }, capacity: (30 + 13 * from_the_end).min(125) * rows / 100 + root }
    }));
    levels.push(Level { step: Step::Rest, capacity: rows / 2 + root });
    levels
}

/// Returns a, the levels of the search in a sample of 2^a - 1 rows: the largest with 10 * 4^a <= 27 m.
fn sample_depth(rows: usize) -> u32 {
    let most = rows as u128 * 27 / 10;
    (1..64).take_while(|&a| 1u128 << (2 * a) <= most).last().unwrap_or(0)
}

/// Returns t = floor(4.5 m (2/3)^i / 2^a).
fn average(rows: usize, depth: u32, i: u32) -> usize {
    let mut t = rows as u128 * 9;
    let mut below = 1u128 << (depth + 1);
    for _ in 0..i {
        // Neither overflows: rows < 2^31, and i stays below 60.
        (t, below) = (t * 2, below * 3);
    }
    (t / below) as usize
}

/// Two rows for each comparison of a level.
pub(super) struct Pairs {
    pub left: Vec<u32>,
    pub right: Vec<u32>,
}

impl Pairs {
    fn all_of(&mut self, rows: &[u32]) {
        for (i, &left) in rows.iter().enumerate() {
            self.one_with(left, &rows[i + 1..]);
        }
    }

    /// Adds each of these rows on the left with all pivots on the right.
    fn each_with_all(&mut self, rows: &[u32], pivots: &[u32]) {
        if let &[pivot] = pivots {
            self.left.extend_from_slice(rows);
            self.right.resize(self.right.len() + rows.len(), pivot);
            return;
        }
        for &row in rows {
            self.left.resize(self.left.len() + pivots.len(), row);
            self.right.extend_from_slice(pivots);
        }
    }

    /// Adds a row on the left with each of these on the right.
    fn one_with(&mut self, left: u32, others: &[u32]) {
        self.left.resize(self.left.len() + others.len(), left);
        self.right.extend_from_slice(others);
    }
}

/// What the results so far say about the order of the rows.
pub(super) struct Known {
    depth: u32,
    /// All rows: segments stand in their order, rows within a segment in any.
    rows: Vec<u32>,
    /// The segments of two rows and more, in order.
    segments: Vec<Range<usize>>,
    /// The rows of the sample in order, once it is ordered.
    sample: Vec<u32>,
    /// For each row that is not in the sample, the number of the sample's rows that are known to be below it.
    below: Vec<u32>,
}

impl Known {
    /// Returns what is known at first: nothing.
    pub fn of(rows: usize) -> Known {
        let depth = if rows <= FEW_ROWS { 0 } else { sample_depth(rows) };
        let sample: Vec<u32> = (0..(1u32 << depth) - 1).collect();
        Known {
            depth,
            rows: (0..rows as u32).collect(),
            segments: if rows > 1 { std::iter::once(0..rows).collect() } else { vec![] },
            below: if depth > 0 { vec![0; rows - sample.len()] } else { vec![] },
            sample,
        }
    }

    /// Returns the rows in order, once all levels are taken in.
    pub fn into_order(self) -> Result<Vec<u32>, Failure> {
        if self.segments.is_empty() { Ok(self.rows) } else { Err(Failure::Contradiction) }
    }

    /// Returns the comparisons of a level, as many as its capacity.
    pub fn pairs(&self, level: Level) -> Result<Pairs, Failure> {
        let mut pairs = Pairs { left: Vec::with_capacity(level.capacity), right: Vec::with_capacity(level.capacity) };
        match level.step {
            Step::Sample => pairs.all_of(&self.sample),
            Step::Search => {
                pairs.left.extend(self.below.iter().map(|&below| self.sample[self.middle(below)]));
                pairs.right.extend_from_slice(&self.rows[self.sample.len()..]);
            }
            Step::Split { t } => {
                for segment in &self.segments {
                    let (pivots, others) = self.rows[segment.clone()].split_at(pivots(segment.len(), t));
                    pairs.all_of(pivots);
                    pairs.each_with_all(others, pivots);
                }
            }
            Step::Rest => {
                // A hostile order may need a square of the rows: it is not listed.
                let needed = self.segments.iter().map(|s| s.len() as u128 * (s.len() as u128 - 1) / 2).sum::<u128>();
                if needed > level.capacity as u128 {
                    return Err(Failure::Overflow);
                }
                self.segments.iter().for_each(|segment| pairs.all_of(&self.rows[segment.clone()]));
            }
        }
        if pairs.left.len() > level.capacity {
            return Err(Failure::Overflow);
        }
        pairs.left.resize(level.capacity, 0);
        pairs.right.resize(level.capacity, 0);
        Ok(pairs)
    }

    /// Takes in the results of a level's comparisons: for each pair, whether the left row is below the right one.
    pub fn take(&mut self, level: Level, results: &Bits) -> Result<(), Failure> {
        let mut results = Results { words: results.words_of(0), next: 0 };
        match level.step {
            Step::Sample => InOrder::default().put(&mut self.sample, &mut results),
            Step::Search => {
                self.search(&mut results);
                Ok(())
            }
            Step::Split { t } => self.split(t, &mut results),
            Step::Rest => {
                let mut in_order = InOrder::default();
                let segments = std::mem::take(&mut self.segments);
                segments.into_iter().try_for_each(|segment| in_order.put(&mut self.rows[segment], &mut results))
            }
        }
    }

    /// Returns the place in the sample with which a row is compared next. `below` has a power of two as a factor, which
    /// is halved by each level.
    fn middle(&self, below: u32) -> usize {
        (below + (1 << self.depth >> 1)) as usize - 1
    }

    fn search(&mut self, results: &mut Results<'_>) {
        let half = self.depth - 1;
        for (below, word) in self.below.chunks_mut(64).zip(results.words) {
            below.iter_mut().enumerate().for_each(|(i, below)| *below += ((word >> i & 1) as u32) << half);
        }
        self.depth -= 1;
        if self.depth == 0 {
            self.segment_by_sample();
        }
    }

    /// Puts each row between the rows of the sample between which it lies.
    fn segment_by_sample(&mut self) {
        let first = self.sample.len();
        let mut starts = vec![0; first + 2];
        self.below.iter().for_each(|&below| starts[below as usize + 1] += 1);
        for i in 0..=first {
            // A row of the sample follows each segment but the last.
            starts[i + 1] += starts[i] + usize::from(i < first);
        }
        let mut next = starts.clone();
        for (i, &below) in self.below.iter().enumerate() {
            let place = &mut next[below as usize];
            self.rows[*place] = (first + i) as u32;
            *place += 1;
        }
        for (i, &row) in self.sample.iter().enumerate() {
            self.rows[next[i]] = row;
        }
        self.segments = (0..=first).map(|i| starts[i]..next[i]).filter(|segment| segment.len() > 1).collect();
        (self.sample, self.below) = (vec![], vec![]);
    }

    fn split(&mut self, t: usize, results: &mut Results<'_>) -> Result<(), Failure> {
        let mut segments = Vec::with_capacity(2 * self.segments.len());
        let (mut parts, mut in_order) = (Parts::default(), InOrder::default());
        for segment in std::mem::take(&mut self.segments) {
            let rows = &mut self.rows[segment.clone()];
            let mut end = segment.start;
            for len in parts.split(rows, pivots(segment.len(), t), &mut in_order, results)? {
                segments.extend((len > 1).then_some(end..end + len));
                end += len + 1;
            }
        }
        self.segments = segments;
        Ok(())
    }
}

/// Returns the number of pivots of a segment of two rows or more.
fn pivots(len: usize, t: usize) -> usize {
    if len > 2 * t { MOST_PIVOTS.min(len) } else { 1 }
}

/// The results of a level, in the order of its pairs.
struct Results<'b> {
    words: &'b [u64],
    next: usize,
}

impl Results<'_> {
    /// Returns the next result as a number, which costs no branch: results are random.
    fn next(&mut self) -> usize {
        let bit = self.words[self.next / 64] >> (self.next % 64) & 1;
        self.next += 1;
        bit as usize
    }
}

/// Puts rows in order of which all pairs were compared.
#[derive(Default)]
struct InOrder {
    /// For each row, the number of rows below it; once all are in order, its place.
    places: Vec<usize>,
    before: Vec<u32>,
}

impl InOrder {
    fn put(&mut self, rows: &mut [u32], results: &mut Results<'_>) -> Result<(), Failure> {
        /// No row has this number.
        const NONE: u32 = u32::MAX;
        let places = &mut self.places;
        places.clear();
        places.resize(rows.len(), 0);
        for i in 0..rows.len() {
            let (mine, later) = places[i..].split_at_mut(1);
            let mut above = 0;
            for place in later {
                let is_above = results.next();
                *place += is_above;
                above += is_above;
            }
            mine[0] += rows.len() - 1 - i - above;
        }
        self.before.clear();
        self.before.extend_from_slice(rows);
        rows.fill(NONE);
        places.iter().zip(&self.before).for_each(|(&place, &row)| rows[place] = row);
        // Two rows above equally many others: some three rows are each below the next.
        if rows.contains(&NONE) { Err(Failure::Contradiction) } else { Ok(()) }
    }
}

/// Splits segments by their first rows.
#[derive(Default)]
struct Parts {
    /// For each row but the pivots, the number of pivots below it.
    parts: Vec<u8>,
    before: Vec<u32>,
}

impl Parts {
    /// The largest number of parts.
    const MOST: usize = MOST_PIVOTS + 1;

    /// Puts the rows of a segment into the order of its pivots, its first rows. Returns the lengths of the parts
    /// between them.
    fn split(
        &mut self,
        rows: &mut [u32],
        pivots: usize,
        in_order: &mut InOrder,
        results: &mut Results<'_>,
    ) -> Result<impl Iterator<Item = usize>, Failure> {
        let Parts { parts, before } = self;
        let (pivot_rows, others) = rows.split_at_mut(pivots);
        in_order.put(pivot_rows, results)?;
        let places = &in_order.places;
        let mut lens = [0; Self::MOST];
        let mut contradicts = false;
        parts.clear();
        parts.extend(others.iter().map(|_| {
            // Where row < pivot holds for one pivot, it holds for all that are larger.
            let is_below = places.iter().fold(0, |bits, place| bits | results.next() << place);
            let part = (is_below | 1 << pivots).trailing_zeros() as usize;
            contradicts |= is_below != (1 << pivots) - (1 << part);
            lens[part] += 1;
            part as u8
        }));
        if contradicts {
            return Err(Failure::Contradiction);
        }
        before.clear();
        before.extend_from_slice(rows);
        let (pivot_rows, others) = before.split_at(pivots);
        let (mut next, mut end) = ([0; Self::MOST], 0);
        for part in 0..=pivots {
            next[part] = end;
            end += lens[part];
            if let Some(&pivot) = pivot_rows.get(part) {
                rows[end] = pivot;
                end += 1;
            }
        }
        for (&row, &part) in others.iter().zip(&*parts) {
            let place = &mut next[usize::from(part)];
            rows[*place] = row;
            *place += 1;
        }
        Ok(lens.into_iter().take(pivots + 1))
    }
}

#[cfg(test)]
mod tests;
