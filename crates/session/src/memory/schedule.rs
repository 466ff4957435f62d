//! The schedule of a run under a limit on memory: each step runs whole, in pieces, or within the pieces of the step
//! that uses it.
//!
//! The bound is that of running the steps one after another, in the program's order. It counts everything that the
//! session holds, each value from its step to its last use, and the step's own working room. The schedule keeps the
//! bound below the limit in two stages:
//!
//! - A step that can be cut works on one piece at a time.
//! - If the values between the steps are still too large, a value that only one step uses is never whole. Each piece
//!   of that step makes its own piece of the value, unless its operands take more memory than the value. An input that
//!   is read in parts is never whole if all steps that use it can read it by pieces; each of them reads it by itself.
//!
//! The memory between the bound and the limit is for steps out of order (see [`gate`](crate::memory::gate)).
//!
//! If users set no limit, a program whose bound exceeds [`Rule::BY_SIZE`] runs in pieces in the same way: large
//! pieces, and only of large steps.
//!
//! The schedule depends only on the program, the number of parties and the limit, so all parties come to the same one.

mod reads;

use std::collections::{BTreeMap, BTreeSet};

use quorate_gadgets::Footprint;
use quorate_graph::{Domain, Graph, NodeId, Op};
use quorate_planner::Work;

use crate::memory::limit::Limit;
use crate::memory::schedule::reads::is_in_a;
use crate::memory::sizes::{
    LANE_BYTES, LOCAL_STEP_BYTES, Sizes, TALKING_STEP_BYTES, bytes_of, bytes_with_windows, held_bytes, opened_bytes,
    plain_bytes, products_one_by_one, value_bytes, working_bytes,
};
use crate::memory::split::{Split, near_of, own_period, span};
use crate::work::order::{Counts, Places};

/// The least number of elements of a piece, where a unit is one element.
const LEAST_ELEMENTS: usize = 1 << 10;
/// The largest number of elements of a piece where users set a limit.
const LONGEST: usize = 1 << 16;
/// The longest chain of steps that make pieces for each other.
const MOST_DEEP: usize = 16;
/// The number of pieces under way at a time, where the limit has room for them: one is computed while another's
/// messages travel.
const WINDOW: usize = 2;
/// Bytes of an element of an input that is read in parts, while a piece of it is read and encoded.
const READ_BYTES: u64 = 48;
/// Bytes that a step may take in addition for chunks that are under way while others' messages travel.
const WIDE_BYTES: u64 = 128 << 20;

/// The way in which a step runs that does not run whole.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Way {
    /// In pieces of `units` units, `window` pieces at a time.
    Pieces { units: usize, window: usize },
    /// Not as a step of its own: the pieces of its only user make what they need of it.
    Within,
}

/// The bounds that the steps of a run keep to.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Bounds {
    pub limit: Limit,
    /// The largest number of elements that a step which talks (exchanges messages) works on at a time, whatever memory
    /// it takes. The correlations that it draws are made for that number.
    longest: usize,
    /// The number of times that the bounds were tightened.
    tries: usize,
}

impl Bounds {
    /// The successive tightenings: the largest number of elements of a piece, and the divisor `d` of the memory besides
    /// live values. At least one part in `d` of that memory is left to steps.
    const TIGHTER: [(usize, u64); 5] =
        [(LONGEST, 2), (1 << 14, 4), (1 << 12, 8), (LEAST_ELEMENTS, 16), (LEAST_ELEMENTS, u64::MAX)];

    /// Returns bounds that limit memory alone.
    pub fn only(limit: Limit) -> Bounds {
        Bounds { limit, longest: usize::MAX, tries: 0 }
    }

    /// Returns tighter bounds, with shorter pieces and room for a turn of correlations. The run did not fit the limit
    /// because such a turn took `turn_bytes`.
    pub fn tighter(self, limit: Limit, schedule: &Schedule, turn_bytes: u64) -> Option<Bounds> {
        let &(longest, parts) = Bounds::TIGHTER.get(self.tries)?;
        let left = limit.bytes().unwrap_or(u64::MAX).saturating_sub(schedule.live_bytes);
        Some(Bounds { limit: limit.less(turn_bytes.min(left - left / parts)), longest, tries: self.tries + 1 })
    }
}

/// The rule that decides which steps run in pieces, and in which pieces.
#[derive(Clone, Copy, Debug)]
struct Rule {
    /// Bytes that the bound must not exceed.
    limit: u64,
    /// Bytes that a step may always work with, regardless of other memory in use.
    step: u64,
    /// Values of fewer bytes stay whole.
    value: u64,
    /// The largest number of elements of a piece.
    elements: usize,
    /// The number of elements beyond which a step that talks runs in pieces in any case.
    longest: usize,
}

impl Rule {
    /// All steps run whole.
    const WHOLE: Rule = Rule { limit: u64::MAX, ..Rule::BY_SIZE };
    /// The rule where no limit is set: a program that takes more than a gigabyte runs in pieces, which are so large
    /// that their rounds hardly count.
    const BY_SIZE: Rule =
        Rule { limit: 1 << 30, step: 256 << 20, value: 64 << 20, elements: 1 << 20, longest: usize::MAX };

    /// Returns the rule under a limit, where every byte counts.
    fn under(limit: u64) -> Rule {
        Rule { limit, step: 0, value: 0, elements: LONGEST, longest: usize::MAX }
    }
}

/// The schedule of a run: the way in which each step runs, and the memory that this takes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Schedule {
    ways: BTreeMap<NodeId, Way>,
    /// The steps among those that run whole that have more chunks under way in their streams than usual, with the
    /// factor.
    windows: BTreeMap<NodeId, usize>,
    /// Bytes that the steps work with at one party, their results included, by the step's place.
    rooms: Vec<u64>,
    /// Bytes at one party of the values that exist before the run.
    pub held_bytes: u64,
    /// Bytes at one party before anything is computed.
    pub base_bytes: u64,
    /// Bytes of values at one party where they are most, without what a step works with.
    pub live_bytes: u64,
    /// Bytes at one party at the peak, without correlations made ahead.
    pub peak_bytes: u64,
    /// The step at the peak; `None` where the peak is the values that the session held before.
    pub at: Option<NodeId>,
}

/// The input of a schedule.
pub(crate) struct Given<'a> {
    pub backend: &'a dyn Footprint,
    pub work: &'a Work<'a>,
    /// Values that exist before the run.
    pub held: &'a BTreeSet<NodeId>,
    /// Whether a value stays after the run.
    pub keeps: &'a dyn Fn(NodeId) -> bool,
    /// Bytes that each step keeps of what it opens until that is checked, as found by a dry run.
    pub unchecked: &'a BTreeMap<NodeId, u64>,
    /// The factor by which more chunks than usual may be under way where the line's delay is long.
    pub windows: usize,
}

impl Schedule {
    /// Returns the first of these schedules that fits the limit: every step whole; large steps in pieces; in addition,
    /// values within their users' pieces. If none fits, returns the last one. If no limit is set, that of
    /// [`Rule::BY_SIZE`] counts, and steps stay whole if pieces save less than a quarter of the memory.
    pub fn of(given: &Given<'_>, Bounds { limit, longest, .. }: Bounds) -> Schedule {
        let rule = match limit {
            Limit::None => Rule::BY_SIZE,
            Limit::Named(bytes) => Rule::under(bytes),
            Limit::Free(bytes) => Rule { elements: Rule::BY_SIZE.elements, ..Rule::under(bytes) },
        };
        let rule = Rule { longest, elements: rule.elements.min(longest), ..rule };
        let whole = given.walk(&Rule::WHOLE, &BTreeSet::new());
        if whole.peak_bytes <= rule.limit && longest == usize::MAX {
            return whole;
        }
        if given.windows > 1 {
            // If memory counts, no more chunks than usual are under way.
            return Schedule::of(&Given { windows: 1, ..*given }, Bounds { limit, longest, tries: 0 });
        }
        let mut best = given.walk(&rule, &BTreeSet::new());
        if best.peak_bytes > rule.limit {
            let fused = given.walk(&rule, &given.within(&rule));
            best = if fused.peak_bytes < best.peak_bytes { fused } else { best };
        }
        let saves = limit != Limit::None || best.peak_bytes <= whole.peak_bytes / 4 * 3;
        if saves { best } else { whole }
    }

    /// Returns whether every step runs whole because the program takes little memory.
    pub fn is_whole_by_size(&self) -> bool {
        self.peak_bytes <= Rule::BY_SIZE.limit
    }

    /// Changes all sums of bytes that include the values which exist before the run.
    pub fn change_held(&mut self, change: impl Fn(u64) -> u64) {
        let sums = [&mut self.held_bytes, &mut self.base_bytes, &mut self.live_bytes, &mut self.peak_bytes];
        sums.into_iter().for_each(|bytes| *bytes = change(*bytes));
    }

    /// Returns a schedule in which every step runs whole and takes the given bytes.
    #[cfg(test)]
    pub fn with_rooms(rooms: impl Iterator<Item = u64>) -> Schedule {
        Schedule { rooms: rooms.collect(), ..Schedule::default() }
    }

    /// Returns a schedule in which everything that can be runs in pieces of `units` units. `within`: all values that
    /// can be are within others' pieces.
    #[cfg(test)]
    pub fn in_pieces(given: &Given<'_>, units: usize, within: bool) -> Schedule {
        let mut inner = BTreeSet::new();
        if within {
            inner.extend(given.can_be_within(&given.uses(), &given.last_uses()).into_keys());
            inner.extend(given.read_by_pieces(&inner));
        }
        let cut = given.work.nodes.iter().filter(|&id| !inner.contains(id) && Split::of(given.graph(), *id).is_some());
        let cut = cut.map(|&id| (id, Way::Pieces { units, window: 2 }));
        let ways = cut.chain(inner.iter().map(|&id| (id, Way::Within))).collect();
        Schedule { ways, ..Schedule::default() }
    }

    /// Returns whether every step runs whole.
    pub fn is_whole(&self) -> bool {
        self.ways.is_empty()
    }

    /// Returns this schedule for other nodes.
    pub fn moved(&self, to: &dyn Fn(NodeId) -> NodeId) -> Schedule {
        let ways = self.ways.iter().map(|(&id, &way)| (to(id), way)).collect();
        let windows = self.windows.iter().map(|(&id, &windows)| (to(id), windows)).collect();
        Schedule { ways, windows, at: self.at.map(to), rooms: self.rooms.clone(), ..*self }
    }

    /// Returns whether all steps run in the same way in both schedules.
    pub fn goes_like(&self, other: &Schedule) -> bool {
        self.ways == other.ways
    }

    pub fn way(&self, id: NodeId) -> Option<Way> {
        self.ways.get(&id).copied()
    }

    /// Returns the factor by which a step has more chunks of its streams under way than usual.
    pub fn windows(&self, id: NodeId) -> usize {
        self.windows.get(&id).copied().unwrap_or(1)
    }

    pub fn is_within(&self, id: NodeId) -> bool {
        self.way(id) == Some(Way::Within)
    }

    /// Returns the bytes that the step at a place takes besides its operands.
    pub fn step_bytes(&self, place: usize) -> u64 {
        self.rooms.get(place).copied().unwrap_or(0)
    }

    /// Returns whether a step may exchange messages. Outside of A, sums do, and operands may have to be converted.
    pub fn talks(&self, work: &Work<'_>, id: NodeId) -> bool {
        self.talks_in_a(work.graph, id) || !is_in_a(work, id)
    }

    /// Returns whether a step exchanges messages, its own or those of the values that its pieces make.
    fn talks_in_a(&self, graph: &Graph, id: NodeId) -> bool {
        !self.is_within(id) && self.any_talks(graph, id)
    }

    /// Returns whether a node, or a value that is made within its pieces, exchanges messages.
    fn any_talks(&self, graph: &Graph, id: NodeId) -> bool {
        let node = graph.node(id);
        node.op.talks() || node.inputs.iter().any(|&input| self.is_within(input) && self.any_talks(graph, input))
    }

    /// Returns what a step reads: its operands. An operand that is within the step's pieces is replaced by what it is
    /// made of.
    pub fn sources(&self, graph: &Graph, id: NodeId) -> Vec<NodeId> {
        let mut sources = Vec::new();
        let inputs = &graph.node(id).inputs;
        for (place, &input) in inputs.iter().enumerate() {
            match self.is_within(input) {
                true if inputs[..place].contains(&input) => {} // made once
                true => sources.extend(self.sources(graph, input)),
                false => sources.push(input),
            }
        }
        sources
    }
}

impl Given<'_> {
    fn graph(&self) -> &Graph {
        self.work.graph
    }

    /// Counts how often each node's value is used.
    fn uses(&self) -> Counts<'_> {
        let mut uses = Counts::none(Places(&self.work.nodes));
        let operands = self.work.nodes.iter().flat_map(|&id| self.graph().node(id).inputs.iter().copied());
        let reveals = self.work.reveals.iter().map(|reveal| reveal.node);
        operands.chain(reveals).for_each(|id| *uses.of(id) += 1);
        uses
    }

    /// Returns the step that uses each node's value last.
    fn last_uses(&self) -> BTreeMap<NodeId, NodeId> {
        let operands = |&id: &NodeId| self.graph().node(id).inputs.iter().map(move |&input| (input, id));
        self.work.nodes.iter().flat_map(operands).collect()
    }

    /// Goes through the steps in order, and cuts into pieces the steps that do not fit the limit.
    fn walk(&self, rule: &Rule, within: &BTreeSet<NodeId>) -> Schedule {
        let (graph, work) = (self.graph(), self.work);
        let bytes = |id: NodeId| held_bytes(self.backend, self.work, id);
        let inputs = work.nodes.iter().map(|&id| graph.node(id)).filter(|node| matches!(node.op, Op::Input { .. }));
        let held_bytes = self.held.iter().map(|&id| bytes(id)).sum::<u64>();
        let mut live = held_bytes + inputs.filter(|node| !node.is_streamed()).map(plain_bytes).sum::<u64>();
        live += LOCAL_STEP_BYTES * work.nodes.len() as u64;
        let mut schedule =
            Schedule { held_bytes, base_bytes: live, live_bytes: live, peak_bytes: live, ..Schedule::default() };
        schedule.ways = within.iter().map(|&id| (id, Way::Within)).collect();
        let unchecked = |id: &NodeId| self.unchecked.get(id).copied().unwrap_or_default();
        live += within.iter().map(unchecked).sum::<u64>();
        let mut uses = self.uses();
        let mut opened: BTreeMap<NodeId, u64> = BTreeMap::new();
        work.reveals.iter().for_each(|reveal| *opened.entry(reveal.node).or_default() += 1);
        schedule.rooms = vec![0; work.nodes.len()];
        for (place, &id) in work.nodes.iter().enumerate().filter(|(_, id)| !within.contains(id)) {
            live += bytes(id) + unchecked(&id);
            let mut room = self.settle(&mut schedule, id, (rule, rule.limit.saturating_sub(live).max(rule.step)));
            room += if graph.node(id).is_streamed() { plain_bytes(graph.node(id)) } else { 0 };
            if schedule.way(id).is_none() {
                room = self.widen(&mut schedule, id, room);
            }
            if schedule.talks(work, id) {
                (live, room) = (live + TALKING_STEP_BYTES, room.max(LANE_BYTES));
            }
            schedule.rooms[place] = bytes(id) + room;
            schedule.peak(live, room, id);
            for input in schedule.sources(graph, id).into_iter().chain(std::iter::once(id)) {
                let left = uses.of(input);
                *left = left.saturating_sub(u32::from(input != id));
                if *left == 0 && !self.held.contains(&input) && !(self.keeps)(input) {
                    live -= bytes(input);
                }
            }
            // The value may be opened while other steps still run.
            live += opened.remove(&id).unwrap_or(0) * plain_bytes(graph.node(id));
        }
        live += opened.iter().map(|(&id, times)| times * plain_bytes(graph.node(id))).sum::<u64>();
        // Values that exist before, which no step of this run makes.
        live += self.held.iter().map(unchecked).sum::<u64>();
        for reveal in &work.reveals {
            live += opened_bytes(graph.node(reveal.node));
            schedule.peak(live, LANE_BYTES, reveal.node);
        }
        schedule
    }

    /// Raises the number of a step's chunks under way, up to [`WIDE_BYTES`]; returns the memory that the step then
    /// works with.
    fn widen(&self, schedule: &mut Schedule, id: NodeId, room: u64) -> u64 {
        if self.work.domains.of(id) != Domain::A {
            return room; // circuits are garbled, or go by rows of bits, in windows of their own
        }
        let sizes = Sizes::whole(self.graph(), id);
        let wide = |windows| bytes_with_windows(self.backend, self.graph(), id, &sizes, windows);
        let more = |windows| wide(windows) - wide(1);
        let Some(windows) = (2..=self.windows).rev().find(|&windows| more(windows) <= WIDE_BYTES) else { return room };
        if more(windows) == 0 {
            return room; // all of it is under way in one window
        }
        schedule.windows.insert(id, windows);
        room + more(windows)
    }

    /// Decides how a step runs for which `left` bytes remain besides its result. Returns the memory that the step works
    /// with.
    fn settle(&self, schedule: &mut Schedule, id: NodeId, (rule, left): (&Rule, u64)) -> u64 {
        let graph = self.graph();
        let whole = working_bytes(self.backend, graph, id, &Sizes::whole(graph, id));
        let must = graph.node(id).inputs.iter().any(|&input| schedule.is_within(input));
        let can = self.work.domains.of(id) == Domain::A;
        let Some(split) = Split::of(graph, id).filter(|_| must || can) else { return whole };
        let (all, each) = (split.units(graph.node(id)).max(1), self.elements_per_unit(id, split));
        let long = graph.node(id).op.talks() && all.saturating_mul(each) > rule.longest;
        if !must && !long && whole <= left {
            return whole;
        }
        // Rounds of an extreme need powers of two: only so do their winners meet as those of the whole.
        let row = if matches!(split, Split::Rounds(_)) { 1 } else { self.row(schedule, id) };
        let whole_rows = |units: usize| if units > row { units - units % row } else { units };
        let rooms = sizes(split, each, rule.elements).map(|units| whole_rows(units).min(all)).map(|units| {
            let window = WINDOW.min(all.div_ceil(units)) as u64;
            let room = self.room(schedule, id, &split.load(graph, id, units)) + self.afterwards(id, split, units);
            (units, window, room)
        });
        // The window's number of pieces at a time; else one at a time; and if that is too much still, the smallest.
        let rooms: Vec<(usize, u64, u64)> = rooms.collect();
        let fits = |&&(_, window, room): &&(usize, u64, u64)| room.saturating_mul(window) <= left;
        let one = |&(units, _, room): &(usize, u64, u64)| (units, 1, room);
        let alone = || rooms.iter().map(one).find(|&(_, _, room)| room <= left).or(rooms.last().map(one));
        let Some((units, window, room)) = rooms.iter().find(fits).copied().or_else(alone) else { return whole };
        let room = room.saturating_mul(window);
        if !must && !long && room >= whole {
            return whole;
        }
        let window = window as usize;
        schedule.ways.insert(id, Way::Pieces { units, window });
        room
    }

    /// Returns the number of elements that the pieces of a step should have a multiple of, so that all of them read
    /// alike what is within them.
    fn row(&self, schedule: &Schedule, id: NodeId) -> usize {
        let inputs = &self.graph().node(id).inputs;
        let within = || inputs.iter().filter(|&&input| schedule.is_within(input));
        let node = self.graph().node(id);
        let near = near_of(self.graph(), node).filter(|_| within().next().is_some()).map(|(each, _)| each);
        let repeated = own_period(&node.op).filter(|&period| period < node.elements());
        let own = near.or(repeated).unwrap_or(1);
        let rows = within().map(|&input| self.row(schedule, input));
        rows.fold(own, |row, other| if other.is_multiple_of(row) { other } else { row })
    }

    /// Returns the largest number of elements that one unit works on.
    fn elements_per_unit(&self, id: NodeId, split: Split) -> usize {
        let (graph, node) = (self.graph(), self.graph().node(id));
        let products = products_one_by_one(self.backend, graph, node, &split.load(graph, id, 1));
        split.elements_per_unit(node).max(products)
    }

    /// Returns the bytes of what is left to do when pieces of `units` units are done: the winners' own tournament.
    fn afterwards(&self, id: NodeId, split: Split, units: usize) -> u64 {
        let Split::Rounds(axis) = split else { return 0 };
        let winners = Sizes::elements(self.graph().node(id), axis.len.div_ceil(units) * axis.inner);
        2 * winners.result as u64 * self.backend.shares() * 8 + working_bytes(self.backend, self.graph(), id, &winners)
    }

    /// Returns the bytes of a piece: what is made for it, copies of what it reads, its own work and its result.
    fn room(&self, schedule: &Schedule, id: NodeId, load: &Sizes) -> u64 {
        let graph = self.graph();
        let node = graph.node(id);
        let (mut making, mut made) = (0, 0);
        for (&input, operand) in node.inputs.iter().zip(&load.operands) {
            let source = graph.node(input);
            made += if operand.copied { bytes_of(self.backend, source, operand.len) } else { 0 };
            if schedule.is_within(input) {
                let moves = matches!(node.op, Op::Gather(_) | Op::Broadcast);
                let len = near_of(graph, node).filter(|_| moves).map_or(operand.len, |near| span(near, load.result));
                let load = match (&source.op, near_of(graph, source)) {
                    (Op::MatMul { k, n, .. }, Some(near)) => {
                        let rows = span(near, len) / k.max(&1);
                        Split::Rows { m: rows, k: *k, n: *n }.load(graph, input, rows)
                    }
                    _ => Sizes::elements(source, len),
                };
                making += self.room(schedule, input, &load);
            }
        }
        let own = working_bytes(self.backend, graph, id, load) + bytes_of(self.backend, node, load.result);
        let read = if node.is_streamed() { READ_BYTES * load.result as u64 } else { 0 };
        making.max(made + own + read)
    }

    /// Returns the values that are never whole. Each is used by one step, which can make it piece by piece. It takes at
    /// least as much memory as the values that must be held to make it there.
    fn within(&self, rule: &Rule) -> BTreeSet<NodeId> {
        let graph = self.graph();
        let uses = self.uses();
        let last = self.last_uses();
        let can = self.can_be_within(&uses, &last);
        // The bytes that must be held in place of each value that is within a step.
        let mut within: BTreeMap<NodeId, u64> = BTreeMap::new();
        for &id in self.work.nodes.iter().filter(|id| can.contains_key(id)) {
            let node = graph.node(id);
            let held_for = |&input: &NodeId| match within.get(&input) {
                Some(&held) => held,
                None if self.is_read(input) => 0,
                None if last.get(&input) != Some(&id) || self.held.contains(&input) || (self.keeps)(input) => 0,
                None => value_bytes(self.backend, graph.node(input)),
            };
            let held = node.inputs.iter().map(held_for).sum();
            let own = value_bytes(self.backend, node);
            if (held <= own || matches!(node.op, Op::Reshape)) && own >= rule.value {
                within.insert(id, held);
            }
        }
        let mut within: BTreeSet<NodeId> = within.into_keys().collect();
        within.extend(self.read_by_pieces(&within));
        within
    }

    /// Returns the nodes that one step alone uses, by ranges, with their distance from a step that runs in pieces.
    fn can_be_within(&self, uses: &Counts<'_>, last: &BTreeMap<NodeId, NodeId>) -> BTreeMap<NodeId, usize> {
        let graph = self.graph();
        let mut can = BTreeMap::new();
        let read = self.products_of_read();
        for &id in self.work.nodes.iter().rev() {
            let op = &graph.node(id).op;
            let moves =
                matches!(op, Op::Gather(_) | Op::Broadcast | Op::Reshape | Op::Constant(_)) || read.contains(&id);
            let apart = (op.is_elementwise() || moves) && is_in_a(self.work, id);
            if self.is_read(id) {
                continue;
            }
            let by = |user: &NodeId| graph.node(*user).inputs.iter().filter(|&&input| input == id).count();
            let is_used_by_it = |user: &&NodeId| by(user) == uses.get(id) as usize;
            let Some(user) = last.get(&id).filter(|user| apart && is_used_by_it(user)) else { continue };
            let depth = can.get(user).map_or(1, |depth| depth + 1);
            if self.takes_ranges(*user, id, &can) && depth <= MOST_DEEP && !(self.keeps)(id) {
                can.insert(id, depth);
            }
        }
        let right = |id: &NodeId| matches!(graph.node(*id).op, Op::MatMul { .. }).then(|| graph.node(*id).inputs[1]);
        debug_assert!(can.keys().filter_map(right).all(|factor| !can.contains_key(&factor)), "right factors are whole");
        can
    }
}

/// Returns the possible numbers of units of a piece, of `each` elements a unit, in descending powers of two.
fn sizes(split: Split, each: usize, most: usize) -> impl Iterator<Item = usize> {
    let each = each.next_power_of_two();
    // The winners of single rows would be all rows.
    let fewest = if matches!(split, Split::Rounds(_)) { 16 } else { 1 };
    let [most, least] = [most, LEAST_ELEMENTS].map(|elements| (elements / each).max(fewest));
    std::iter::successors(Some(most), move |&units| (units > least).then_some(units / 2))
}

impl Schedule {
    fn peak(&mut self, live: u64, room: u64, at: NodeId) {
        self.live_bytes = self.live_bytes.max(live);
        if live + room > self.peak_bytes {
            (self.peak_bytes, self.at) = (live + room, Some(at));
        }
    }
}

#[cfg(test)]
mod tests;
