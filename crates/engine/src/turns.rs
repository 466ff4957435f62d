//! The division of a demand for correlations into turns: a few draws at a time, since all at once would not fit.
//!
//! A turn takes as many draws as fit, in the order of a dry run in which a step begins when those before it are done. A
//! run makes them one after the other ([`crate::turn_by_turn`]).
//!
//! A plan needs no names of draws, only what the turns make ([`Demand::turns`]). It finds that from draws that are
//! listed once and repeated. The time does not grow with the repeats, also those within others.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::ops::Range;
use std::sync::Arc;

use crate::correlations::{Demand, Request};
use crate::counting::Repeat;
use crate::lane::LaneId;

/// What one turn makes, or several equal ones.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Turn<K> {
    /// The step whose draw begins the turn.
    pub step: Option<u32>,
    /// The number of correlations by kind.
    pub totals: BTreeMap<K, usize>,
    /// The number of equal turns.
    pub times: usize,
}

/// What a turn makes: the step whose draw begins it, and the number of correlations by kind.
type Contents<K> = (Option<u32>, BTreeMap<K, usize>);

impl<K: Ord + Clone> Demand<K> {
    /// Returns what the turns make. Each turn fits, and would not with one draw more; a draw that does not fit is a
    /// turn of its own. Equal turns of a step are counted together. Repeated draws follow each other as in a run.
    ///
    /// What fits must fit with fewer draws, too. If that fails for some sizes, a turn may differ from that of a run.
    pub fn turns(&self, fits: impl Fn(&BTreeMap<K, usize>) -> bool) -> Vec<Turn<K>> {
        let listed = self.order.iter().filter_map(|at| self.draws.get(at));
        let draws = Sequence::of(&listed.map(Listed::new).collect::<Vec<_>>(), 0);
        let (mut made, mut begun, mut at) = (Vec::<(Contents<K>, usize)>::new(), Begun::default(), 0);
        let mut counted: BTreeMap<Contents<K>, usize> = BTreeMap::new();
        while at < draws.len {
            // An earlier turn began at the same draw of the repeats, so the turns since then come again.
            if let Some(Again { since, times, skipped }) = begun.begin(draws.within(at), at, made.len()) {
                let again: Vec<_> = made[since..].iter().map(|(turn, once)| (turn.clone(), once * times)).collect();
                made.extend(again);
                at += skipped;
                continue;
            }
            if begun.0.is_empty() {
                // Nothing is repeated here: turns so far do not come again.
                made.drain(..).for_each(|(turn, times)| *counted.entry(turn).or_default() += times);
            }
            let (end, totals) = fitting(&draws, at, &fits);
            made.push(((draws.step(at), totals), 1));
            at = end;
        }
        made.into_iter().for_each(|(turn, times)| *counted.entry(turn).or_default() += times);
        counted.into_iter().map(|((step, totals), times)| Turn { step, totals, times }).collect()
    }

    /// Returns the sizes of all draws: kinds and numbers of correlations.
    pub fn sizes(&self) -> BTreeSet<(K, usize)> {
        self.draws.values().map(|draw| (draw.kind.clone(), draw.len)).collect()
    }

    /// Splits the demand of a run into the turns that [`Demand::turns`] describes.
    pub fn in_turns(&self, fits: impl Fn(&BTreeMap<K, usize>) -> bool) -> VecDeque<Demand<K>> {
        let named: Vec<(LaneId, u64)> = self.order.iter().copied().filter(|at| self.draws.contains_key(at)).collect();
        let draws = Sequence::of(&named.iter().map(|at| Listed::once(&self.draws[at])).collect::<Vec<_>>(), 0);
        let (mut turns, mut at) = (VecDeque::new(), 0);
        while at < draws.len {
            let (end, _) = fitting(&draws, at, &fits);
            let mut turn = Demand::default();
            for name in &named[at..end] {
                let Request { kind, len, .. } = &self.draws[name];
                turn.record(*name, None, None, kind.clone(), *len);
            }
            turns.push_back(turn);
            at = end;
        }
        turns
    }
}

/// Repeated draws around a draw.
struct Around {
    /// The number of draws before the first repeat and up to the end of the last one.
    all: Range<usize>,
    /// The number of draws of one repeat.
    body: usize,
}

/// Where turns began within the repeated draws that the present one is in, from the outermost.
#[derive(Default)]
struct Begun(Vec<Begins>);

struct Begins {
    all: Range<usize>,
    /// By the place in a repeat: the number of draws, and of listed turns, before the turn.
    turns: BTreeMap<usize, (usize, usize)>,
}

/// Turns that come again.
struct Again {
    /// The number of listed turns before the first of them.
    since: usize,
    times: usize,
    /// The number of their draws.
    skipped: usize,
}

impl Begun {
    /// Notes that a turn begins with draw `at`, after `listed` turns, or returns the turns that come again instead.
    /// Outer repeats come first: they skip most. The next draw after a turn shows that it would not fit, and has to be
    /// the same, too.
    fn begin(&mut self, within: Vec<Around>, at: usize, listed: usize) -> Option<Again> {
        let same = self.0.iter().zip(&within).take_while(|(before, around)| before.all == around.all).count();
        self.0.truncate(same);
        self.0.extend(within[same..].iter().map(|around| Begins { all: around.all.clone(), turns: BTreeMap::new() }));
        for (depth, Around { all, body }) in within.iter().enumerate() {
            let before = self.0[depth].turns.insert((at - all.start) % body, (at, listed));
            let Some((before, since)) = before else { continue };
            let (period, rest) = (at - before, all.end - 1 - at);
            if rest >= period {
                let times = rest / period;
                self.0.truncate(depth);
                return Some(Again { since, times, skipped: times * period });
            }
        }
        None
    }
}

/// A draw with the repeated work that has it, from the outermost.
struct Listed<'d, K> {
    draw: &'d Request<K>,
    within: Vec<&'d Arc<Repeat>>,
}

impl<'d, K> Listed<'d, K> {
    fn once(draw: &'d Request<K>) -> Self {
        Listed { draw, within: Vec::new() }
    }

    fn new(draw: &'d Request<K>) -> Self {
        let mut within: Vec<_> = std::iter::successors(draw.within.as_ref(), |repeat| repeat.around.as_ref()).collect();
        within.reverse();
        Listed { draw, within }
    }
}

/// Draws in their order, of which repeated ones are listed once.
struct Sequence<'d, K> {
    parts: Vec<Part<'d, K>>,
    /// The number of draws before each part.
    starts: Vec<usize>,
    len: usize,
}

enum Part<'d, K> {
    Draw(&'d Request<K>),
    Repeated { body: Sequence<'d, K>, totals: BTreeMap<K, usize> },
}

impl<'d, K: Ord + Clone> Sequence<'d, K> {
    /// Returns the sequence of draws that are all within the same `depth` repeats.
    fn of(draws: &[Listed<'d, K>], depth: usize) -> Self {
        let mut sequence = Sequence { parts: Vec::new(), starts: Vec::new(), len: 0 };
        let mut rest = draws;
        while let Some(first) = rest.first() {
            sequence.starts.push(sequence.len);
            let Some(repeat) = first.within.get(depth) else {
                sequence.parts.push(Part::Draw(first.draw));
                (sequence.len, rest) = (sequence.len + 1, &rest[1..]);
                continue;
            };
            let is_within =
                |draw: &&Listed<'d, K>| draw.within.get(depth).is_some_and(|other| Arc::ptr_eq(other, repeat));
            let (now, later) = rest.split_at(rest.iter().take_while(is_within).count());
            let body = Sequence::of(now, depth + 1);
            let mut totals = BTreeMap::new();
            body.add(0..body.len, &mut totals);
            sequence.len += repeat.count * body.len;
            sequence.parts.push(Part::Repeated { body, totals });
            rest = later;
        }
        sequence
    }

    /// Returns the repeated draws that have draw `at`, from the outermost.
    fn within(&self, at: usize) -> Vec<Around> {
        let (mut sequence, mut start, mut within) = (self, 0, Vec::new());
        loop {
            let (place, len) = sequence.place(at - start);
            let Part::Repeated { body, .. } = &sequence.parts[place] else { return within };
            let all = start + sequence.starts[place]..start + sequence.end(place);
            start = at - (at - all.start) % len;
            within.push(Around { all, body: len });
            sequence = body;
        }
    }

    /// Returns the part that has draw `at`, and how many draws it has each time.
    fn place(&self, at: usize) -> (usize, usize) {
        let place = self.starts.partition_point(|&start| start <= at) - 1;
        (place, if let Part::Repeated { body, .. } = &self.parts[place] { body.len } else { 1 })
    }

    /// Returns the number of draws up to the end of a part.
    fn end(&self, place: usize) -> usize {
        self.starts.get(place + 1).copied().unwrap_or(self.len)
    }

    /// Returns the step of draw `at`.
    fn step(&self, at: usize) -> Option<u32> {
        let (place, len) = self.place(at);
        match &self.parts[place] {
            Part::Draw(draw) => draw.step,
            Part::Repeated { body, .. } => body.step((at - self.starts[place]) % len),
        }
    }

    /// Adds up a range of draws.
    fn add(&self, range: Range<usize>, sums: &mut BTreeMap<K, usize>) {
        let (mut at, mut place) = (range.start, self.starts.partition_point(|&start| start <= range.start));
        while at < range.end {
            let (start, end) = (self.starts[place - 1], self.end(place - 1).min(range.end));
            match &self.parts[place - 1] {
                Part::Draw(draw) => *sums.entry(draw.kind.clone()).or_default() += draw.len,
                Part::Repeated { body, totals } => {
                    let (from, to, len) = (at - start, end - start, body.len);
                    let (first, last) = (from.div_ceil(len), to / len);
                    if first > last {
                        body.add(from % len..to % len, sums);
                    } else {
                        body.add(len - (first * len - from)..len, sums);
                        for (kind, count) in totals.iter().filter(|_| last > first) {
                            *sums.entry(kind.clone()).or_default() += count * (last - first);
                        }
                        body.add(0..to % len, sums);
                    }
                }
            }
            (at, place) = (end, place + 1);
        }
    }
}

/// Returns the end of the draws from `at` on that fit together, at least one, and what they draw. Twice as many are
/// tried each time, then half of what is left in between, since there may be millions.
fn fitting<K: Ord + Clone>(
    draws: &Sequence<'_, K>,
    at: usize,
    fits: impl Fn(&BTreeMap<K, usize>) -> bool,
) -> (usize, BTreeMap<K, usize>) {
    let mut totals = BTreeMap::new();
    let (mut fit, mut too_many, mut more) = (at, draws.len + 1, 1);
    while fit + 1 < too_many {
        more = more.min(too_many - fit - 1);
        let mut tried = totals.clone();
        draws.add(fit..fit + more, &mut tried);
        let has_failed = too_many <= draws.len;
        if fit + more == at + 1 || fits(&tried) {
            (fit, totals) = (fit + more, tried);
            more = if has_failed { more.div_ceil(2) } else { 2 * more };
        } else {
            too_many = fit + more;
            more = more.div_ceil(2);
        }
    }
    (fit, totals)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::counting::Repeat;

    /// Draws of three kinds, with lengths from 0 to 12.
    fn demand(draws: u64) -> Demand<u8> {
        let mut demand = Demand::default();
        for i in 0..draws {
            let random = i.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 40;
            let (kind, len) = ((random % 3) as u8, (random / 3 % 13) as usize);
            demand.record((LaneId::ROOT, i), None, None, kind, len);
        }
        demand
    }

    /// A program of draws, by step, kind and length, some of which are repeated.
    #[derive(Clone)]
    enum Program {
        Draw(u32, u8, usize),
        Repeat(usize, Vec<Program>),
    }

    use Program::{Draw, Repeat as Again};

    /// Records a program: repeated draws once, or one by one.
    fn record(demand: &mut Demand<u8>, program: &[Program], within: Option<&Arc<Repeat>>, is_counted: bool) {
        for part in program {
            match part {
                &Draw(step, kind, len) => {
                    let at = (LaneId::ROOT, demand.draws() as u64);
                    demand.record(at, Some(step), within.cloned(), kind, len);
                }
                Again(once, body) if is_counted => {
                    let repeat = Arc::new(Repeat { count: *once, around: within.cloned() });
                    record(demand, body, Some(&repeat), true);
                }
                Again(once, body) => (0..*once).for_each(|_| record(demand, body, None, false)),
            }
        }
    }

    fn recorded(program: &[Program], is_counted: bool) -> Demand<u8> {
        let mut demand = Demand::default();
        record(&mut demand, program, None, is_counted);
        demand
    }

    /// What is made, and how often, by step and totals.
    fn counted(turns: impl Iterator<Item = (Option<u32>, BTreeMap<u8, usize>, usize)>) -> BTreeMap<String, usize> {
        let mut counted = BTreeMap::new();
        turns.for_each(|(step, totals, times)| *counted.entry(format!("{step:?} {totals:?}")).or_default() += times);
        counted
    }

    #[test]
    fn every_turn_has_as_many_draws_as_fit() {
        for (draws, limit) in
            [0, 1, 2, 3, 17, 300].into_iter().flat_map(|draws| [0, 1, 9, 40, 9999].map(|l| (draws, l)))
        {
            let demand = demand(draws);
            let fits = |totals: &BTreeMap<u8, usize>| totals.values().sum::<usize>() <= limit;
            let turns = demand.in_turns(fits);
            let orders: Vec<_> = turns.iter().flat_map(|turn| turn.order.clone()).collect();
            assert_eq!(orders, demand.order);
            for (turn, next) in turns.iter().zip(turns.iter().skip(1)) {
                let mut more = turn.totals.clone();
                let first = &next.draws[&next.order[0]];
                *more.entry(first.kind).or_default() += first.len;
                assert!(!fits(&more), "{draws} draws, {limit}: {more:?}");
            }
            assert!(turns.iter().all(|turn| turn.order.len() == 1 || fits(&turn.totals)), "{draws} draws, {limit}");
        }
    }

    /// Turns that are counted are those of a run, whatever is repeated how often.
    #[test]
    fn turns_of_repeated_draws_are_those_of_all_draws() {
        let short = vec![Draw(1, 0, 3), Draw(1, 1, 5), Draw(2, 0, 1)];
        let nested = |once, inner| {
            Again(once, vec![Draw(3, 2, 4), Again(inner, short.clone()), Draw(3, 0, 7), Again(2, vec![Draw(4, 1, 2)])])
        };
        let program = |once: usize, inner: usize| {
            vec![
                Draw(0, 0, 9),
                nested(1, 1),
                nested(once, inner),
                nested(once, 1),
                Draw(5, 1, 6),
                Again(once, short.clone()),
                Again(once, vec![Draw(6, 0, 5)]),
                Draw(7, 2, 1),
            ]
        };
        for (once, inner) in [(1, 1), (2, 3), (7, 1), (40, 5), (200, 2), (6, 90)] {
            let [all, once_each] = [false, true].map(|is_counted| recorded(&program(once, inner), is_counted));
            assert_eq!(all.totals(), once_each.totals());
            assert_eq!(all.by_step(), once_each.by_step());
            for limit in (0..30).chain([59, 100, 500, 1234, 100_000]) {
                let fits = |totals: &BTreeMap<u8, usize>| totals.values().sum::<usize>() <= limit;
                let of_run = all.in_turns(fits);
                let step = |turn: &Demand<u8>| all.draws[&turn.order[0]].step;
                let of_run = counted(of_run.iter().map(|turn| (step(turn), turn.totals.clone(), 1)));
                for demand in [&all, &once_each] {
                    let turns =
                        counted(demand.turns(fits).into_iter().map(|turn| (turn.step, turn.totals, turn.times)));
                    assert_eq!(turns, of_run, "{once} times {inner}, {limit}");
                }
            }
        }
    }

    #[test]
    fn few_sizes_are_tried_however_many_draws_there_are() {
        let tried = std::cell::Cell::new(0);
        let fits = |totals: &BTreeMap<u8, usize>| {
            tried.set(tried.get() + 1);
            totals.values().sum::<usize>() <= 200_000
        };
        let turns = demand(100_000).in_turns(fits);
        assert!(turns.len() == 3 && tried.get() < 200, "{} turns, {} tried", turns.len(), tried.get());
        tried.set(0);
        let body = vec![Draw(1, 0, 3), Draw(1, 1, 7), Draw(1, 2, 2)];
        let turns = recorded(&[Again(1 << 40, body.clone())], true).turns(fits);
        assert!(turns.len() < 5 && tried.get() < 200, "{} turns, {} tried", turns.len(), tried.get());
        tried.set(0);
        let inner = vec![Draw(1, 0, 9), Again(1 << 30, body), Draw(2, 1, 200_000)];
        let turns = recorded(&[Again(1 << 20, inner)], true).turns(fits);
        assert!(turns.len() < 9 && tried.get() < 500, "{} turns, {} tried", turns.len(), tried.get());
    }
}
