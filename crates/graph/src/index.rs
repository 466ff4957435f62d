//! The positions that a gather reads, in little memory: a program keeps its indices for as long as it lives.

use std::borrow::Cow;
use std::ops::Range;
use std::sync::Arc;

use quorate_ring::Runs;

/// A layer of Batcher's merge exchange (Knuth, volume 3, algorithm 5.2.2M): row i of `count` meets row i + distance
/// where i & p == r. No row is in two pairs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Layer {
    /// The number of rows.
    pub count: u32,
    /// The bit of a row's number that decides whether it is the first of a pair: a power of two.
    pub p: u32,
    /// The value of that bit for the first of a pair: 0 or `p`.
    pub r: u32,
    /// The distance from the first to the second of a pair, in rows: an odd multiple of `p`.
    pub distance: u32,
}

/// The rows that a [`Layer`] moves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Side {
    /// The first row of each pair, in order.
    Lower,
    /// The second row of each pair.
    Upper,
    /// The rows in no pair.
    Rest,
    /// All rows in their order again, from lower, upper and rest one after another.
    Back,
}

impl Layer {
    fn is_lower(self, row: u32) -> bool {
        row < self.count.saturating_sub(self.distance) && row & self.p == self.r
    }

    fn is_upper(self, row: u32) -> bool {
        row >= self.distance && row < self.count && self.is_lower(row - self.distance)
    }

    /// Returns whether no row is in two pairs, as in all layers of merge exchange.
    fn is_regular(self) -> bool {
        let Layer { p, r, distance, .. } = self;
        p.is_power_of_two() && (r == 0 || r == p) && distance.is_multiple_of(p) && !(distance / p).is_multiple_of(2)
    }

    /// Returns the number of pairs of a regular layer: the first rows of pairs are every second block of `p` rows, from
    /// row `r` on.
    fn pairs(self) -> usize {
        let (p, firsts) = (self.p as usize, self.count.saturating_sub(self.distance) as usize);
        let (blocks, rest) = (firsts / (2 * p), firsts % (2 * p));
        blocks * p + rest.saturating_sub(self.r as usize).min(p)
    }

    /// Returns the number of rows of one side.
    pub fn count_of(self, side: Side) -> usize {
        match side {
            Side::Back => self.count as usize,
            _ if !self.is_regular() => self.rows(side).len(),
            Side::Lower | Side::Upper => self.pairs(),
            Side::Rest => self.count as usize - 2 * self.pairs(),
        }
    }

    /// Returns the rows of one side.
    pub fn rows(self, side: Side) -> Vec<u32> {
        let all = 0..self.count;
        match side {
            Side::Lower => all.filter(|&row| self.is_lower(row)).collect(),
            Side::Upper => all.filter(|&row| self.is_upper(row)).collect(),
            Side::Rest => all.filter(|&row| !self.is_lower(row) && !self.is_upper(row)).collect(),
            Side::Back => {
                let pairs = self.count_of(Side::Lower) as u32;
                let mut next = [0, pairs, 2 * pairs];
                let place = |row| {
                    let side = if self.is_lower(row) { 0 } else { 2 - usize::from(self.is_upper(row)) };
                    next[side] += 1;
                    next[side] - 1
                };
                all.map(place).collect()
            }
        }
    }
}

/// Positions in a flattened array, in the order in which a gather takes them.
#[derive(Clone, Debug, PartialEq)]
pub enum Index {
    /// Nested steps from `start`: for each (count, step), outermost first, `count` positions at distance `step`.
    Steps {
        /// The first position.
        start: u32,
        /// (count, step) of each level of the nest, outermost first.
        steps: Arc<[(u32, i64)]>,
    },
    /// Rows of `width` elements of one side of a layer.
    Exchange {
        /// The layer of the network.
        layer: Layer,
        /// The side of the layer.
        side: Side,
        /// The number of elements of a row.
        width: u32,
    },
    /// Any other positions.
    List(Arc<[u32]>),
}

/// The deepest nest of steps; deeper ones are kept as lists.
const MOST_STEPS: usize = 6;

impl From<Vec<u32>> for Index {
    fn from(list: Vec<u32>) -> Index {
        match steps(&list) {
            Some(steps) => Index::Steps { start: list.first().copied().unwrap_or(0), steps: steps.into() },
            None => Index::List(list.into()),
        }
    }
}

impl Index {
    /// Returns all positions.
    pub fn expand(&self) -> Cow<'_, [u32]> {
        match self {
            Index::List(list) => Cow::Borrowed(list),
            Index::Steps { start, steps } => Cow::Owned(stepped(*start, steps)),
            Index::Exchange { layer, side, width: 1 } => Cow::Owned(layer.rows(*side)),
            Index::Exchange { layer, side, width } => {
                Cow::Owned(layer.rows(*side).iter().flat_map(|row| row * width..(row + 1) * width).collect())
            }
        }
    }

    /// Returns nested steps from `start`, outermost first, in the form that [`Index::from`] gives their list. Neither
    /// takes time for each position, except where the nest is too deep.
    pub fn strided(start: u32, levels: &[(u32, i64)]) -> Index {
        if levels.iter().any(|&(count, _)| count == 0) {
            return Index::from(vec![]);
        }
        let mut nest: Vec<(u32, i64)> = Vec::new();
        for &(count, step) in levels.iter().rev().filter(|&&(count, _)| count > 1) {
            match nest.last_mut() {
                // The inner level goes on where it would end.
                Some((inner, by)) if step == i64::from(*inner) * *by => *inner *= count,
                _ => nest.push((count, step)),
            }
        }
        nest.reverse();
        match nest.len() > MOST_STEPS {
            true => Index::List(stepped(start, &nest).into()),
            false => Index::Steps { start, steps: nest.into() },
        }
    }

    /// Returns the first position `len` times: a placeholder for `len` positions that are not read.
    pub fn of_len(len: usize) -> Index {
        Index::Steps { start: 0, steps: [(len as u32, 0)].into() }
    }

    /// Returns the positions as runs, if they are steps of long ones.
    pub fn runs(&self) -> Option<Runs> {
        /// A shorter run takes as long as its list.
        const LONG: u32 = 64;
        let Index::Steps { start, steps } = self else { return None };
        let (&(width, step), outer) = steps.split_last().filter(|&(&(width, step), _)| width >= LONG && step < 2)?;
        (step >= 0).then(|| Runs { starts: stepped(*start, outer), width, repeats: step == 0 })
    }

    /// Returns the number of positions.
    pub fn len(&self) -> usize {
        match self {
            Index::List(list) => list.len(),
            Index::Steps { steps, .. } => steps.iter().map(|&(count, _)| count as usize).product(),
            Index::Exchange { layer, side, width } => layer.count_of(*side) * *width as usize,
        }
    }

    /// Returns whether there are no positions.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Returns the positions `range`.
    ///
    /// # Panics
    /// If `range` exceeds the number of positions.
    pub fn part(&self, range: Range<usize>) -> Vec<u32> {
        match self {
            Index::List(list) => list[range].to_vec(),
            Index::Steps { start, steps } => {
                let axes: Vec<(usize, i64)> = steps.iter().map(|&(count, step)| (count as usize, step)).collect();
                walk(i64::from(*start), &axes, range).map(|position| position as u32).collect()
            }
            Index::Exchange { layer, side, width } => {
                let (rows, width) = (layer.rows(*side), *width as usize);
                range.map(|i| rows[i / width] * width as u32 + (i % width) as u32).collect()
            }
        }
    }
}

/// Returns the numbers `range` of a nest of (count, step), outermost first, from `start` on.
pub(crate) fn walk(start: i64, axes: &[(usize, i64)], range: Range<usize>) -> impl Iterator<Item = i64> {
    let mut at = vec![0; axes.len()];
    let (mut rest, mut position) = (range.start, start);
    for (d, &(count, step)) in axes.iter().enumerate().rev() {
        at[d] = rest % count.max(1);
        rest /= count.max(1);
        position += at[d] as i64 * step;
    }
    range.map(move |_| {
        let current = position;
        for (d, &(count, step)) in axes.iter().enumerate().rev() {
            at[d] += 1;
            position += step;
            if at[d] < count {
                break;
            }
            position -= count as i64 * step;
            at[d] = 0;
        }
        current
    })
}

/// Returns the nest of steps that gives `list`, outermost first, if there is one.
fn steps(list: &[u32]) -> Option<Vec<(u32, i64)>> {
    if list.is_empty() {
        return Some(vec![(0, 0)]);
    }
    let mut nest = Vec::new();
    let mut block = 1;
    while block < list.len() {
        let start = |i: usize| i64::from(list[i * block]);
        let (blocks, step) = (list.len() / block, start(1) - start(0));
        let count = 1 + (1..blocks).take_while(|&i| start(i) - start(i - 1) == step).count();
        if nest.len() == MOST_STEPS || !list.len().is_multiple_of(block * count) {
            return None;
        }
        nest.push((count as u32, step));
        block *= count;
    }
    nest.reverse();
    are_stepped(list, list[0], &nest).then_some(nest)
}

/// Returns whether `list` is what [`stepped`] gives.
fn are_stepped(list: &[u32], start: u32, steps: &[(u32, i64)]) -> bool {
    let Some((&(count, step), inner)) = steps.split_first() else { return list == [start] };
    let at = |i: usize| (i64::from(start) + i as i64 * step) as u32;
    match inner.is_empty() {
        true => list.iter().enumerate().all(|(i, &position)| position == at(i)),
        false => list.chunks(list.len() / count as usize).enumerate().all(|(i, part)| are_stepped(part, at(i), inner)),
    }
}

fn stepped(start: u32, steps: &[(u32, i64)]) -> Vec<u32> {
    let mut all = vec![start];
    for &(count, step) in steps {
        let mut next = Vec::with_capacity(all.len() * count as usize);
        // Steps back wrap around, too.
        let step = step as u32;
        all.iter().for_each(|base: &u32| next.extend((0..count).map(|i| base.wrapping_add(i.wrapping_mul(step)))));
        all = next;
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn regular_lists_are_kept_as_steps() {
        let regular: [Vec<u32>; 7] = [
            vec![],
            vec![5],
            vec![3, 3, 3],
            (10..90).collect(),
            (0..50).rev().collect(),
            (0..6).flat_map(|i| (0..4).map(move |j| j * 6 + i)).collect(), // a transpose
            (0..3).flat_map(|i| (0..4).flat_map(move |j| (0..2).map(move |k| i + 40 * j + 7 * k))).collect(),
        ];
        for list in regular {
            let index = Index::from(list.clone());
            assert!(matches!(index, Index::Steps { .. }), "{list:?}");
            assert_eq!(*index.expand(), *list);
            check_parts(&index);
        }
    }

    #[test]
    fn long_runs_are_known() {
        let of = |levels: &[(u32, i64)]| Index::strided(1000, levels).runs();
        for levels in
            [vec![(100, 1)], vec![(3, 200), (64, 1)], vec![(3, 1), (64, 0)], vec![(2, -500), (5, 70), (65, 1)]]
        {
            assert_eq!(of(&levels).unwrap().list(), stepped(1000, &levels), "{levels:?}");
        }
        for levels in [vec![], vec![(0, 1)], vec![(3, 200), (63, 1)], vec![(100, 2)], vec![(100, -1)]] {
            assert_eq!(of(&levels), None, "{levels:?}");
        }
    }

    #[test]
    fn strides_are_kept_as_their_list_is() {
        let mut coin = 7u32;
        let mut draw = |below: u32| {
            coin = coin.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            (coin >> 8) % below
        };
        let mut deep = 0;
        for _ in 0..4000 {
            let depth = draw(9) as usize;
            let levels: Vec<(u32, i64)> = (0..depth).map(|_| (draw(4), i64::from(draw(9)) - 2)).collect();
            // Strides of whole arrays, whose levels go on in each other.
            let mut stride = 1 + i64::from(draw(2));
            let mut whole: Vec<(u32, i64)> = levels.iter().map(|&(count, _)| (count, 0)).collect();
            for (count, step) in whole.iter_mut().rev() {
                (*step, stride) = (stride, stride * i64::from(*count).max(1));
            }
            for levels in [levels, whole] {
                let list = stepped(1000, &levels);
                let index = Index::strided(1000, &levels);
                assert_eq!(index, Index::from(list.clone()), "{levels:?}");
                assert_eq!(*index.expand(), *list, "{levels:?}");
                deep += usize::from(matches!(index, Index::List(_)));
            }
        }
        assert!(deep > 0);
    }

    /// Checks that every part of an index is that of its positions.
    fn check_parts(index: &Index) {
        let all = index.expand();
        for start in 0..=all.len() {
            for end in [start, start + 1, (start + all.len()) / 2, all.len()] {
                if start <= end && end <= all.len() {
                    assert_eq!(index.part(start..end), all[start..end], "{index:?} from {start} to {end}");
                }
            }
        }
    }

    #[test]
    fn any_list_comes_back() {
        let mut coin = 1u32;
        for len in 0..200 {
            let list: Vec<u32> = (0..len % 23)
                .map(|i| {
                    coin = coin.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
                    if len % 2 == 0 { coin >> 30 } else { i + (coin >> 31) }
                })
                .collect();
            assert_eq!(*Index::from(list.clone()).expand(), *list);
        }
        let odd = vec![0, 1, 2, 5, 7];
        assert_eq!(Index::from(odd.clone()), Index::List(odd.into()));
        assert_eq!(*Index::from(vec![0, u32::MAX]).expand(), [0, u32::MAX]);
    }

    /// Returns every layer of the network for `count` rows.
    fn network(count: u32) -> Vec<Layer> {
        let top = count.max(1).next_power_of_two() / 2;
        let mut layers = Vec::new();
        let mut p = top;
        while p > 0 {
            let (mut q, mut r, mut distance) = (top, 0, p);
            loop {
                layers.push(Layer { count, p, r, distance });
                if q == p {
                    break;
                }
                (distance, q, r) = (q - p, q / 2, p);
            }
            p /= 2;
        }
        layers
    }

    #[test]
    fn sides_of_a_layer_are_all_rows_once_and_back_undoes_them() {
        for layer in (0..40).flat_map(network) {
            assert!(layer.is_regular(), "{layer:?}");
            let [lower, upper, rest, back] = [Side::Lower, Side::Upper, Side::Rest, Side::Back].map(|side| {
                let rows = layer.rows(side);
                assert_eq!(layer.count_of(side), rows.len(), "{layer:?}, {side:?}");
                rows
            });
            let expected: Vec<u32> = lower.iter().map(|row| row + layer.distance).collect();
            assert_eq!(upper, expected);
            let mixed = [lower, upper, rest].concat();
            let undone: Vec<u32> = back.iter().map(|&i| mixed[i as usize]).collect();
            assert_eq!(undone, (0..layer.count).collect::<Vec<_>>(), "{layer:?}");
        }
    }

    #[test]
    fn rows_of_any_layer_are_counted() {
        let upto = |limit: u32| 0..limit;
        for (count, p, r, distance) in upto(9)
            .flat_map(|count| upto(5).flat_map(move |p| upto(5).map(move |r| (count, p, r))))
            .flat_map(|(count, p, r)| upto(8).map(move |distance| (count, p, r, distance)))
        {
            let layer = Layer { count, p, r, distance };
            for side in [Side::Lower, Side::Upper, Side::Rest] {
                assert_eq!(layer.count_of(side), layer.rows(side).len(), "{layer:?}, {side:?}");
            }
        }
    }

    #[test]
    fn wide_rows_move_together() {
        let layer = Layer { count: 4, p: 1, r: 0, distance: 1 };
        let index = Index::Exchange { layer, side: Side::Upper, width: 3 };
        assert_eq!(*index.expand(), [3, 4, 5, 9, 10, 11]);
        check_parts(&index);
        check_parts(&Index::List([5, 0, 5].into()));
    }
}
