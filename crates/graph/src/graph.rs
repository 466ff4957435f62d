//! The program: an append-only list of checked nodes.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use crate::chunked::Chunked;
use crate::column::{Column, Given};
use crate::dtype::{Dtype, shown};
use crate::error::{Fault, Shape};
use crate::hash::Hash;
use crate::interval::Interval;
use crate::literals::Literals;
use crate::node::{Node, NodeId, Op, Room};
use crate::ready::Cache;
use crate::recent::{Proofs, Recent};
use crate::repetitions::StepHashes;
use crate::rules::Rules;
use crate::source::Source;

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
    pub(crate) nodes: Chunked<Arc<Node>>,
    pub(crate) hashes: Chunked<Hash>,
    /// The remaining nodes before them.
    pub(crate) old: Arc<BTreeMap<NodeId, Arc<Node>>>,
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
pub(crate) enum About {
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

    /// Returns the program to build on, while others still read `self`; both share almost all of their memory. Nothing
    /// may be built on `self` from here on: both share the counts of steps, too.
    pub fn continued(&self) -> Graph {
        Graph {
            first: self.first,
            nodes: self.nodes.clone(),
            hashes: self.hashes.clone(),
            old: self.old.clone(),
            steps: self.steps.shared(),
            warnings: self.warnings.clone(),
            rules: self.rules,
            errors_are_stated: self.errors_are_stated,
            files: self.files.clone(),
            literals: self.literals.clone(),
            ready: self.ready.clone(),
            recent: self.recent.clone(),
            proofs: self.proofs.clone(),
            warned: self.warned.clone(),
        }
    }

    /// Returns the newest nodes, operands before the operations that use them; all nodes, where nothing was forgotten.
    pub fn nodes(&self) -> &Chunked<Arc<Node>> {
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
        node.map(|node| &**node).ok_or(Fault::UnknownNode { node: id.0, nodes: self.len() })
    }

    /// Returns the hash of the program up to and including `id`, one of the newest nodes.
    pub fn prefix_hash(&self, id: NodeId) -> Hash {
        self.hashes[id.index() - self.first]
    }

    /// Returns the prefix hashes of the newest nodes.
    pub fn hashes(&self) -> &Chunked<Hash> {
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
    ///
    /// A session's node without a value has its operands, so none of those that are followed is forgotten. Nodes are
    /// forgotten only if no party needs them (`Program::forget` in the session): whether or not the last run counts, a
    /// party needs all arrays and, of those without a value, everything down to values that it has. Such a value stays
    /// until no array without a value is made of it. What is built later is made of arrays, or of the conversions and
    /// proofs that building remembers, which [`Graph::forget`] keeps with all that they are made of.
    ///
    /// # Panics
    /// If a target, or an operand of a node that is not `done`, was forgotten.
    pub fn needed(&self, targets: &[NodeId], done: &dyn Fn(NodeId) -> bool) -> Vec<NodeId> {
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

    /// Describes a node in a message, as in `lt of (569,) int(64) at score.py:14`: operation, operand, and line.
    pub fn describe(&self, id: NodeId) -> String {
        let node = self.node(id);
        let on = match (&node.op, node.inputs.as_slice()) {
            (Op::Select, [_, value, _]) => self.get(*value).unwrap_or(node),
            (_, [first, ..]) => self.get(*first).unwrap_or(node),
            _ => node,
        };
        let from = match &node.op {
            Op::Input { owner, column: None, .. } => format!(" from party {owner}"),
            Op::Input { owner, column: Some(column), .. } => format!(" from party {owner}, {column},"),
            Op::Submitted(from) => format!(" {from}"),
            Op::Masked(by) if matches!(by.given, Given::Before { .. }) => format!(" to be {by}"),
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
        self.check_part(id, units)
    }

    /// Checks some of the values of the input `id`, as [`Graph::check_input`] checks all of them. The fault counts from
    /// the first of these.
    pub fn check_part(&self, id: NodeId, units: &[i128]) -> Result<(), Fault> {
        let node = self.get(id)?;
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

    pub(crate) fn errors_are_stated(&self) -> bool {
        self.errors_are_stated
    }

    /// Accepts the stated bound of an input without a proof. All parties must do so before building on the input.
    pub fn trust(&mut self, input: NodeId) {
        if let Some(node) = input.index().checked_sub(self.first).and_then(|place| self.nodes.get_mut(place)) {
            let node = Arc::make_mut(node);
            node.unproven = None;
        }
    }

    /// Removes `id` if it is the newest node (otherwise does nothing), so that a refused input leaves no trace.
    pub fn take_back(&mut self, id: NodeId) {
        if id.index() + 1 == self.len() {
            self.truncate(id.index());
        }
    }

    /// Returns whether the line of a node was warned of this subject.
    pub(crate) fn was_warned(&self, id: NodeId, about: About) -> bool {
        let Source { file, line } = &self.node(id).source;
        self.warned.contains(&(file.clone(), *line, about))
    }

    pub(crate) fn warn_once(&mut self, node: NodeId, fault: Fault) {
        let Source { file, line } = self.node(node).source.clone();
        if self.warned.insert((file, line, About::of(&fault))) {
            self.warnings.push(RangeWarning { node, fault });
        }
    }

    /// Sets the room of results of `id`, which was built last.
    pub(crate) fn give_room(&mut self, id: NodeId, room: Room) {
        if let Some(node) = id.index().checked_sub(self.first).and_then(|place| self.nodes.get_mut(place)) {
            let node = Arc::make_mut(node);
            node.room = room;
        }
    }

    /// Sets that digits that `id` loses are not reported.
    pub(crate) fn state_error(&mut self, id: NodeId) {
        if let Some(node) = id.index().checked_sub(self.first).and_then(|place| self.nodes.get_mut(place)) {
            let node = Arc::make_mut(node);
            node.error_is_stated = true;
        }
    }

    /// Sets the meaning of the values of `id`, which was built last.
    pub(crate) fn give_column(&mut self, id: NodeId, column: Option<Arc<Column>>) {
        if let Some(node) = id.index().checked_sub(self.first).and_then(|place| self.nodes.get_mut(place)) {
            let node = Arc::make_mut(node);
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

    pub(crate) fn operands(&self, inputs: &[NodeId]) -> Vec<&Node> {
        inputs.iter().map(|&id| self.node(id)).collect()
    }
}
