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
    fn push(&mut self, left: u32, right: u32) {
        self.left.push(left);
        self.right.push(right);
    }

    fn all_of(&mut self, rows: &[u32]) {
        for (i, &left) in rows.iter().enumerate() {
            rows[i + 1..].iter().for_each(|&right| self.push(left, right));
        }
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
                let first = self.sample.len();
                for (i, &below) in self.below.iter().enumerate() {
                    pairs.push(self.sample[self.middle(below)], (first + i) as u32);
                }
            }
            Step::Split { t } => {
                for segment in &self.segments {
                    let (pivots, others) = self.rows[segment.clone()].split_at(pivots(segment.len(), t));
                    pairs.all_of(pivots);
                    for &row in others {
                        pivots.iter().for_each(|&pivot| pairs.push(row, pivot));
                    }
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
            Step::Sample => self.sample = results.in_order(&self.sample)?,
            Step::Search => self.search(&mut results),
            Step::Split { t } => self.split(t, &mut results)?,
            Step::Rest => {
                for segment in std::mem::take(&mut self.segments) {
                    let sorted = results.in_order(&self.rows[segment.clone()])?;
                    self.rows[segment].copy_from_slice(&sorted);
                }
            }
        }
        Ok(())
    }

    /// Returns the place in the sample with which a row is compared next. `below` has a power of two as a factor, which
    /// is halved by each level.
    fn middle(&self, below: u32) -> usize {
        (below + (1 << self.depth >> 1)) as usize - 1
    }

    fn search(&mut self, results: &mut Results<'_>) {
        let half = 1 << self.depth >> 1;
        for below in &mut self.below {
            if results.next() {
                *below += half;
            }
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
        for segment in std::mem::take(&mut self.segments) {
            let (pivots, others) = self.rows[segment.clone()].split_at(pivots(segment.len(), t));
            let pivots_in_order = results.in_order(pivots)?;
            let places: Vec<usize> =
                pivots.iter().filter_map(|p| pivots_in_order.iter().position(|q| q == p)).collect();
            let mut parts = vec![vec![]; pivots.len() + 1];
            for &row in others {
                // Where row < pivot holds for one pivot, it holds for all that are larger.
                let is_below = places.iter().fold(0usize, |bits, place| bits | usize::from(results.next()) << place);
                let above = (is_below | 1 << pivots.len()).trailing_zeros() as usize;
                if is_below >> above != (1 << (pivots.len() - above)) - 1 {
                    return Err(Failure::Contradiction);
                }
                parts[above].push(row);
            }
            let mut at = segment.start;
            for (i, part) in parts.iter().enumerate() {
                self.rows[at..at + part.len()].copy_from_slice(part);
                segments.extend((part.len() > 1).then_some(at..at + part.len()));
                at += part.len();
                if let Some(&pivot) = pivots_in_order.get(i) {
                    self.rows[at] = pivot;
                    at += 1;
                }
            }
        }
        self.segments = segments;
        Ok(())
    }
}

/// Returns the number of pivots of a segment of two rows or more.
fn pivots(len: usize, t: usize) -> usize {
    if len > 2 * t { 3.min(len) } else { 1 }
}

/// The results of a level, in the order of its pairs.
struct Results<'b> {
    words: &'b [u64],
    next: usize,
}

impl Results<'_> {
    fn next(&mut self) -> bool {
        let bit = self.words[self.next / 64] >> (self.next % 64) & 1 == 1;
        self.next += 1;
        bit
    }

    /// Returns rows of which all pairs were compared, in order.
    fn in_order(&mut self, rows: &[u32]) -> Result<Vec<u32>, Failure> {
        let mut below = vec![0; rows.len()];
        for i in 0..rows.len() {
            for j in i + 1..rows.len() {
                let larger = if self.next() { j } else { i };
                below[larger] += 1;
            }
        }
        let mut sorted = vec![None; rows.len()];
        for (&row, place) in rows.iter().zip(below) {
            // Two rows above equally many others: some three rows are each below the next.
            if sorted[place].replace(row).is_some() {
                return Err(Failure::Contradiction);
            }
        }
        sorted.into_iter().collect::<Option<_>>().ok_or(Failure::Contradiction)
    }
}

#[cfg(test)]
mod tests;
