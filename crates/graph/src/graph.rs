//! The program: an append-only list of checked nodes.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use crate::build::{Builder, Proofs, Recent};
use crate::clamp::clamped;
use crate::column::Column;
use crate::dtype::{Dtype, shown};
use crate::error::{BuildError, Fault, Shape};
use crate::hash::Hash;
use crate::interval::Interval;
use crate::literals::{Literal, Literals};
use crate::node::{Node, NodeId, Op, Room, Source};
use crate::origin::origin;
use crate::ranges::{self, Known, Reach};
use crate::ready::Cache;
use crate::repetitions::StepHashes;
use crate::units::Units;
use crate::{digits, real, reference, shape, sparse, unbounded, unproven};

/// An operation whose result may leave its dtype (and would wrap), given the stated bounds; or public numbers that
/// their dtype changes much.
#[derive(Clone, Debug, PartialEq)]
pub struct RangeWarning {
    /// The operation, or the constant.
    pub node: NodeId,
    /// The warning without its line.
    pub fault: Fault,
}

/// A typed program. Nodes are only ever added, so a [`NodeId`] stays valid. Nodes that are no longer needed may be
/// [forgotten](Graph::forget).
#[derive(Clone, Debug, Default)]
pub struct Graph {
    /// The newest nodes, from this number on, and the hashes after each.
    pub(crate) first: usize,
    pub(crate) nodes: Vec<Node>,
    pub(crate) hashes: Vec<Hash>,
    /// The remaining nodes before them.
    pub(crate) old: BTreeMap<NodeId, Node>,
    pub(crate) steps: StepHashes,
    warnings: Vec<RangeWarning>,
    rules: Rules,
    /// Whether errors of results are stated by the code that builds nodes now.
    errors_are_stated: bool,
    /// The names of files that contain lines: one string for all lines of a file.
    pub(crate) files: BTreeSet<Arc<str>>,
    pub(crate) literals: Literals,
    pub(crate) ready: Cache,
    pub(crate) recent: Recent,
    pub(crate) proofs: Proofs,
    /// Lines that a warning was given for, with its subject; lines in loops are warned of once.
    warned: BTreeSet<(Arc<str>, u32, About)>,
}

/// The subject of a warning; each line is warned of each subject once.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum About {
    Results,
    Quotients,
    PublicNumbers,
}

impl About {
    fn of(fault: &Fault) -> About {
        match fault {
            Fault::Rounded { .. } => About::PublicNumbers,
            Fault::FewBits { .. } => About::Quotients,
            _ => About::Results,
        }
    }
}

/// Returns whether results are squares, or sums of squares.
fn squares(op: &Op, inputs: &[NodeId]) -> bool {
    let of_itself = matches!(inputs, [a, b] if a == b);
    of_itself && matches!(op, Op::Mul | Op::MatMul { m: 1, n: 1, .. })
}

/// Returns the room of results of these operands.
fn room(operands: &[&Node], dtype: Dtype) -> Room {
    let secret = operands.iter().filter(|node| !node.is_public());
    let room = secret.fold(Room::STATED, |room, node| room.and(node.room));
    Room { grows: room.grows && dtype.is_fixed(), ..room }
}

/// The rules by which a program is built.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Rules {
    /// Whether a possible overflow, or an input without a bound, is an error instead of a warning.
    pub strict: bool,
    /// The truncation of products of fixed point.
    pub truncation: Truncation,
    /// The results that are reported if they are not proven to fit.
    pub watch: Watch,
    /// Whether repetitions of steps are counted ([`Graph::repetitions`]).
    pub counts_steps: bool,
    /// The rings of the family that runs the program.
    pub rings: Rings,
    /// The party whose one-hot inputs cannot be proven, in families that prove such inputs.
    pub proves_nothing: Option<usize>,
    /// Whether programs mark values as factors of several products ([`Op::AsFactor`]), for families that then send
    /// less.
    pub keeps_factors: bool,
    /// Whether places and divisors are proven to lie within stated bounds of inputs, because parties may cheat.
    pub proves_bounds: bool,
}

/// The rings of a family, as it states them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rings {
    /// The name of the family.
    pub family: &'static str,
    /// The largest number of bits of a ring over which it makes correlations, at most 126.
    pub most_bits: u32,
}

impl Rings {
    /// Returns the dtype of counts and positions: int(64), or as wide as the family supports.
    pub fn whole(self) -> Dtype {
        Dtype::Int { bits: self.most_bits.min(Dtype::INT64.bits()) }
    }
}

impl Default for Rings {
    /// Returns the rings of a program that is not run by any family.
    fn default() -> Self {
        Rings { family: "no protocol", most_bits: 126 }
    }
}

/// Which results that are not proven to fit their dtype are reported.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Watch {
    /// Only those that stated bounds allow to leave it.
    #[default]
    Stated,
    /// All of them, while the program is built, once for each line.
    Program,
    /// When the program runs, those whose values leave their dtype ([`Checker`](crate::Checker)). Results that stated
    /// bounds allow to leave it are reported while building.
    Values,
}

/// The truncation of products of fixed point.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Truncation {
    /// Rounded down, whatever the value.
    #[default]
    Exact,
    /// Rounded down or up, in one round, where the value is at most a quarter of the ring's size.
    Probabilistic,
}

impl Graph {
    /// Returns an empty program.
    pub fn new() -> Graph {
        Graph::default()
    }

    /// Returns an empty program under these rules.
    pub fn with(rules: Rules) -> Graph {
        Graph { rules, ..Graph::default() }
    }

    /// Returns an empty program under [strict](Rules::strict) rules: a possible overflow, or an input without a bound,
    /// is an error.
    pub fn strict() -> Graph {
        Graph::with(Rules { strict: true, ..Rules::default() })
    }

    /// Returns a builder that adds operations for the user's line `source`.
    pub fn at(&mut self, mut source: Source) -> Builder<'_> {
        match self.files.get(&source.file) {
            Some(file) => source.file = file.clone(),
            None => {
                self.files.insert(source.file.clone());
            }
        }
        Builder::new(self, source)
    }

    /// Returns the newest nodes, operands before the operations that use them; all nodes, where nothing was forgotten.
    pub fn nodes(&self) -> &[Node] {
        &self.nodes
    }

    /// Returns the number of the first of [`Graph::nodes`].
    pub fn first(&self) -> usize {
        self.first
    }

    /// Returns the number of nodes added so far.
    pub fn len(&self) -> usize {
        self.first + self.nodes.len()
    }

    /// Returns whether nothing was added yet.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Returns the node `id`, which must be of this graph and not be forgotten.
    pub fn node(&self, id: NodeId) -> &Node {
        match id.index().checked_sub(self.first) {
            Some(place) => &self.nodes[place],
            None => &self.old[&id],
        }
    }

    /// Returns the node `id`, or [`Fault::UnknownNode`].
    pub fn get(&self, id: NodeId) -> Result<&Node, Fault> {
        let node = match id.index().checked_sub(self.first) {
            Some(place) => self.nodes.get(place),
            None => self.old.get(&id),
        };
        node.ok_or(Fault::UnknownNode { node: id.0, nodes: self.len() })
    }

    /// Returns the hash of the program up to and including `id`, one of the newest nodes.
    pub fn prefix_hash(&self, id: NodeId) -> Hash {
        self.hashes[id.index() - self.first]
    }

    /// Returns the prefix hashes of the newest nodes.
    pub fn hashes(&self) -> &[Hash] {
        &self.hashes
    }

    /// Returns, in building order, results that may leave their dtype and public numbers that their dtype changes.
    pub fn warnings(&self) -> &[RangeWarning] {
        &self.warnings
    }

    /// Takes the warnings of the operations since the last call.
    pub fn take_warnings(&mut self) -> Vec<RangeWarning> {
        std::mem::take(&mut self.warnings)
    }

    /// Returns the nodes that have to be run for `targets`, operands first: the targets and what they depend on, up to
    /// nodes that are `done`.
    pub fn needed(&self, targets: &[NodeId], done: impl Fn(NodeId) -> bool) -> Vec<NodeId> {
        let end = targets.iter().map(|id| id.index() + 1).max().unwrap_or(0);
        // One bit for each of the nodes from `first` on: requests are small, and sessions long.
        let mut wanted = vec![0u64; end.saturating_sub(self.first).div_ceil(64)];
        let (mut older, mut needed) = (BTreeSet::new(), Vec::new());
        let mut want = |id: NodeId, wanted: &mut [u64]| match id.index().checked_sub(self.first) {
            Some(place) => wanted[place / 64] |= 1 << (place % 64),
            None => {
                older.insert(id);
            }
        };
        targets.iter().for_each(|&id| want(id, &mut wanted));
        // From the newest node back, since operands come before the nodes that use them.
        for word in (0..wanted.len()).rev() {
            while let Some(bit) = wanted[word].checked_ilog2() {
                wanted[word] ^= 1 << bit;
                let place = 64 * word + bit as usize;
                let id = NodeId((self.first + place) as u32);
                if !done(id) {
                    needed.push(id);
                    self.nodes[place].inputs.iter().for_each(|&id| want(id, &mut wanted));
                }
            }
        }
        while let Some(id) = older.pop_last() {
            if !done(id) {
                needed.push(id);
                older.extend(self.node(id).inputs.iter());
            }
        }
        needed.reverse();
        needed
    }

    /// Returns the number of bits by which the product `id` is shifted right (exactly, towards minus infinity) after it
    /// wrapped in the ring of its dtype; 0 for other operations.
    pub fn product_shift(&self, id: NodeId) -> u32 {
        let node = self.node(id);
        ranges::product_shift(&node.op, &self.known(&node.inputs), node.dtype)
    }

    /// Returns the bits of the smallest ring in which every difference of a value of `a` and a value of `b` is proven
    /// to be representable with its sign. If they are at most the dtype's bits, one most significant bit decides a
    /// comparison (in the smaller ring, where it has fewer bits). Otherwise they are one bit more, and the values need
    /// a comparison over the full range. `a == b` gives the bits for comparisons among the values of one array.
    pub fn difference_bits(&self, a: NodeId, b: NodeId) -> u32 {
        self.node(a).range().sub(self.node(b).range()).signed_bits()
    }

    /// Returns the bits of the largest value of `id` that is proven possible, in ring units; 0 where none is positive.
    pub fn value_bits(&self, id: NodeId) -> u32 {
        128 - self.node(id).range().hi().max(0).leading_zeros()
    }

    /// Returns the bits of the largest magnitude, in ring units, of a quotient of the division `id` by a divisor other
    /// than 0, as far as it is proven. The quotient need not fit the dtype.
    pub fn quotient_bits(&self, id: NodeId) -> u32 {
        let node = self.node(id);
        let (a, b) = (self.node(node.inputs[0]), self.node(node.inputs[1]));
        128 - real::quotients(a.range(), b.range(), self.quotient_shift(id)).1.leading_zeros()
    }

    /// Returns the number of bits by which the dividend of the division `id` is shifted left.
    pub fn quotient_shift(&self, id: NodeId) -> u32 {
        let node = self.node(id);
        ranges::quotient_shift(&self.known(&node.inputs), node.dtype)
    }

    /// Describes a node in a message, as in `lt of (569,) int(64) at score.py:14`: operation, operand, and line.
    pub fn describe(&self, id: NodeId) -> String {
        let node = self.node(id);
        let on = match (&node.op, node.inputs.as_slice()) {
            (Op::Select, [_, value, _]) => self.get(*value).unwrap_or(node),
            (_, [first, ..]) => self.get(*first).unwrap_or(node),
            _ => node,
        };
        let from = match &node.op {
            Op::Input { owner, column: None } => format!(" from party {owner}"),
            Op::Input { owner, column: Some(column) } => format!(" from party {owner}, {column},"),
            _ => String::new(),
        };
        format!("{} of {} {}{from} at {}", node.op.name(), Shape::from(on.shape.as_slice()), on.dtype, node.source)
    }

    /// Checks the values that the owner gives for the input `id`, in ring units: their number, the dtype and the stated
    /// bound. Only for the owner: the fault names a value.
    pub fn check_input(&self, id: NodeId, units: &[i128]) -> Result<(), Fault> {
        let node = self.get(id)?;
        if units.len() != node.elements() {
            let shape = Shape::from(node.shape.as_slice());
            return Err(Fault::Count { given: units.len(), shape, wanted: node.elements() });
        }
        let range = node.range();
        let Some(index) = units.iter().position(|&v| !range.contains(v)) else { return Ok(()) };
        let value = node.dtype.decode(units[index]);
        let shown = if node.dtype.is_fixed() { shown(value) } else { units[index].to_string() };
        let all = Interval::spanning(units);
        if node.interval.is_none() || node.dtype == Dtype::Bit {
            return Err(Fault::OutOfRange { index, value, shown, dtype: node.dtype, fits: node.dtype.holding(all) });
        }
        let (lo, hi) = (node.dtype.decode(range.lo()), node.dtype.decode(range.hi()));
        let (lowest, highest) = (node.dtype.decode(all.lo()), node.dtype.decode(all.hi()));
        let largest = lowest.abs().max(highest);
        // A stated magnitude gives a range of both signs, as far as the dtype has them.
        let of_magnitude = range.lo() == -range.hi() || range.lo() == node.dtype.range().lo();
        Err(match node.room {
            Room { assumed: true, .. } => Fault::BeyondReals { index, shown, largest },
            _ if of_magnitude => Fault::OutOfBound { index, shown, lo, hi, largest },
            _ => Fault::OutOfBounds { index, shown, lo, hi, lowest, highest },
        })
    }

    /// Returns the rules by which the program is built.
    pub fn rules(&self) -> Rules {
        self.rules
    }

    pub(crate) fn is_strict(&self) -> bool {
        self.rules.strict
    }

    /// Forgets every node from the `len`-th on, so that a call that failed leaves no trace.
    pub(crate) fn truncate(&mut self, len: usize) {
        for warning in self.warnings.iter().filter(|w| w.node.index() >= len) {
            let Source { file, line } = self.node(warning.node).source.clone();
            self.warned.remove(&(file, line, About::of(&warning.fault)));
        }
        self.nodes.truncate(len - self.first);
        self.hashes.truncate(len - self.first);
        self.steps.truncate(len);
        self.literals.truncate(len);
        self.warnings.retain(|w| w.node.index() < len);
        self.recent.truncate(len);
        self.proofs.truncate(len);
    }

    /// Sets whether the code that builds nodes from here on states the errors of their results, as an imported network
    /// does. Lost digits of such results are not reported.
    pub fn set_errors_are_stated(&mut self, are_stated: bool) {
        self.errors_are_stated = are_stated;
    }

    /// Accepts the stated bound of an input without a proof. All parties must do so before building on the input.
    pub fn trust(&mut self, input: NodeId) {
        if let Some(node) = input.index().checked_sub(self.first).and_then(|place| self.nodes.get_mut(place)) {
            node.unproven = None;
        }
    }

    /// Removes `id` if it is the newest node (otherwise does nothing), so that a refused input leaves no trace.
    pub fn take_back(&mut self, id: NodeId) {
        if id.index() + 1 == self.len() {
            self.truncate(id.index());
        }
    }

    /// Adds an operation whose operands are checked; evaluates it at once where all of them are public.
    pub(crate) fn push(
        &mut self,
        op: Op,
        inputs: Vec<NodeId>,
        shape: Vec<usize>,
        dtype: Dtype,
        source: &Source,
    ) -> Result<NodeId, Fault> {
        shape::elements(&shape)?;
        let operands = self.operands(&inputs);
        // Approximate and random results are left to the protocol, which gives the same on every machine.
        if !operands.is_empty() && !op.is_approximate() && !op.is_random() && operands.iter().all(|n| n.is_public()) {
            return self.fold(&op, &inputs, shape, dtype, source);
        }
        let name = op.name();
        let known = self.known(&inputs);
        let reach = match squares(&op, &inputs) {
            true => ranges::reach_of_squares(&op, &known, dtype, self.rules.truncation),
            false => ranges::reach(&op, &known, dtype, self.rules.truncation),
        };
        let room = room(&operands, dtype);
        let may_wrap = self.rules.watch == Watch::Program && unbounded::may_wrap(&op, &known, dtype);
        let mut overflow = None;
        let clamped = if op == Op::Select { clamped(self, &inputs) } else { None };
        let interval = match reach {
            _ if clamped.is_some() => clamped,
            // Values without a stated range lie in their dtype, which is an error only under strict rules. A function's
            // result is saturated in its dtype; results that may grow start from that range.
            Reach::Unknown if room.grows && op.is_approximate() => Some(dtype.range()),
            Reach::Unknown => (self.rules.strict && !op.is_random()).then(|| dtype.range()),
            Reach::Fits(interval) => Some(interval),
            // If nothing was stated, values are checked instead.
            Reach::Leaves(_) if room.assumed && self.rules.watch == Watch::Values && !self.rules.strict => None,
            Reach::Leaves(exact) => {
                let shift = ranges::product_shift(&op, &known, dtype);
                overflow = Some(Fault::may_overflow(name, dtype, exact, shift));
                None
            }
        };
        let id = self.append(Node { interval, room, ..Node::new(op, inputs, shape, dtype, source) })?;
        if may_wrap && interval.is_none() && overflow.is_none() && !self.was_warned(id, About::Results) {
            overflow = Some(unbounded::fault(self, id));
        }
        self.warn(id, overflow)
    }

    /// Warns that no value of a quotient has many bits, where values are not checked.
    pub(crate) fn warn_of_few(&mut self, id: NodeId) {
        let node = self.node(id);
        if self.rules.watch != Watch::Program || !node.dtype.is_fixed() || node.is_public() || node.error_is_stated {
            return;
        }
        if let Some(fault) = node.interval.and_then(|values| digits::few_bits(node.op.name(), node.dtype, values)) {
            self.warn_once(id, fault);
        }
    }

    /// Returns whether the line of a node was warned of this subject.
    fn was_warned(&self, id: NodeId, about: About) -> bool {
        let Source { file, line } = &self.node(id).source;
        self.warned.contains(&(file.clone(), *line, about))
    }

    fn warn_once(&mut self, node: NodeId, fault: Fault) {
        let Source { file, line } = self.node(node).source.clone();
        if self.warned.insert((file, line, About::of(&fault))) {
            self.warnings.push(RangeWarning { node, fault });
        }
    }

    /// Sets the room of results of `id`, which was built last.
    pub(crate) fn give_room(&mut self, id: NodeId, room: Room) {
        if let Some(node) = id.index().checked_sub(self.first).and_then(|place| self.nodes.get_mut(place)) {
            node.room = room;
        }
    }

    /// Sets that digits that `id` loses are not reported.
    pub(crate) fn state_error(&mut self, id: NodeId) {
        if let Some(node) = id.index().checked_sub(self.first).and_then(|place| self.nodes.get_mut(place)) {
            node.error_is_stated = true;
        }
    }

    /// Sets the meaning of the values of `id`, which was built last.
    pub(crate) fn give_column(&mut self, id: NodeId, column: Option<Arc<Column>>) {
        if let Some(node) = id.index().checked_sub(self.first).and_then(|place| self.nodes.get_mut(place)) {
            node.origin.column = column;
        }
    }

    /// Returns the node after adding a warning, once for each line; in strict mode, returns the error.
    pub(crate) fn warn(&mut self, node: NodeId, fault: Option<Fault>) -> Result<NodeId, Fault> {
        let Some(fault) = fault else { return Ok(node) };
        if self.rules.strict {
            return Err(fault);
        }
        self.warn_once(node, fault);
        Ok(node)
    }

    /// Adds a constant of checked values; equal values are kept once. A recent small constant is reused.
    pub(crate) fn push_constant(
        &mut self,
        values: Vec<i128>,
        shape: Vec<usize>,
        dtype: Dtype,
        source: &Source,
    ) -> Result<NodeId, Fault> {
        let interval = Some(Interval::spanning(&values));
        let one = matches!(values.as_slice(), [first, rest @ ..] if rest.iter().all(|v| v == first));
        if one && let Some(id) = self.literals.find(values[0], &shape, dtype) {
            return Ok(id);
        }
        let literal = one.then(|| Literal { value: values[0], shape: shape.clone(), dtype });
        let op = Op::Constant(Units::from(if one { &values[..1] } else { &values }));
        let id = self.append(Node { interval, ..Node::new(op, vec![], shape, dtype, source) })?;
        literal.into_iter().for_each(|literal| self.literals.keep(literal, id));
        Ok(id)
    }

    /// Returns `id`, or a copy of it where it is a public array that other users may hold, too. `before` is the number
    /// of nodes before it was asked for. Users release their arrays and ask for them again at any time.
    pub fn own(&mut self, id: NodeId, before: usize, source: Source) -> Result<NodeId, BuildError> {
        let node = self.node(id);
        if id.index() >= before || !node.is_public() {
            return Ok(id);
        }
        let node = Node { source: source.clone(), ..node.clone() };
        self.append(node).map_err(|fault| BuildError::new(fault, source))
    }

    pub(crate) fn append(&mut self, mut node: Node) -> Result<NodeId, Fault> {
        let Rings { family, most_bits } = self.rules.rings;
        if node.dtype.bits() > most_bits {
            return Err(Fault::Ring { dtype: node.dtype, family, most_bits });
        }
        let id = NodeId(u32::try_from(self.len()).map_err(|_| Fault::TooManyNodes)?);
        let before = self.hashes.last().copied().unwrap_or_else(Hash::empty);
        let op = Hash::of_op(&node.op);
        node.origin = origin(self, id, &node, op)?;
        node.error_is_stated = self.errors_are_stated;
        node.sparse = sparse::sparse(self, &node).map(Box::new);
        node.unproven = unproven::unproven(self, id, &node);
        self.hashes.push(before.then(&node, op));
        self.nodes.push(node);
        Ok(id)
    }

    fn fold(
        &mut self,
        op: &Op,
        inputs: &[NodeId],
        shape: Vec<usize>,
        dtype: Dtype,
        source: &Source,
    ) -> Result<NodeId, Fault> {
        let operands = self.operands(inputs);
        if let (Op::Broadcast | Op::Reshape, Op::Constant(values)) = (op, &operands[0].op)
            && let one = values.to_vec()
            && one.len() == 1
        {
            return self.push_constant(one, shape, dtype, source); // for every size of the shape
        }
        let full = |n: &&Node| match &n.op {
            Op::Constant(values) => values.expand(n.elements()),
            _ => Vec::new(),
        };
        let values: Vec<Vec<i128>> = operands.iter().map(full).collect();
        let slices: Vec<&[i128]> = values.iter().map(Vec::as_slice).collect();
        let Some(result) = reference::exact(op, &operands, &slices, &shape, dtype) else {
            return Err(Fault::public_result(op.name(), dtype, &[i128::MAX]));
        };
        let Some(holding) = dtype.holding(Interval::spanning(&result)) else {
            return Err(Fault::public_result(op.name(), dtype, &result));
        };
        // A conversion must keep the dtype that the user asked for.
        match holding == dtype || !matches!(op, Op::Convert) {
            true => self.push_constant(result, shape, holding, source),
            false => Err(Fault::public_result(op.name(), dtype, &result)),
        }
    }

    pub(crate) fn operands(&self, inputs: &[NodeId]) -> Vec<&Node> {
        inputs.iter().map(|&id| self.node(id)).collect()
    }

    /// Returns the known ranges of the operands' values.
    pub(crate) fn known(&self, inputs: &[NodeId]) -> Vec<Known> {
        inputs.iter().map(|&id| Known::of(self.node(id))).collect()
    }
}
