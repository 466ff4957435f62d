//! The check of a program on values before it runs, by a party that has all values: whether every result fits its
//! dtype.
//!
//! First the ranges: the intervals of range analysis, started from the actual range of the inputs and not from stated
//! bounds. If the intervals do not prove that a result fits, the values that it depends on are computed, as integers
//! that do not wrap. The protocol's results are not examined.

use std::collections::{BTreeMap, BTreeSet};

use crate::cut;
use crate::digits;
use crate::dtype::{Dtype, shown};
use crate::error::{Advice, BuildError, Excess, Fault};
use crate::graph::Graph;
use crate::interval::Interval;
use crate::known::Known;
use crate::node::{Node, NodeId, Op};
use crate::ranges::{self, Reach};
use crate::real::Real;
use crate::reference;
use crate::rules::Truncation;

/// The largest number of numbers that are computed for a check: 16 bytes each.
const MOST_ELEMENTS: usize = 1 << 26;
/// The largest number of elements of inputs that are read in parts, which a check reads whole.
const MOST_READ: usize = 1 << 22;
/// The largest number of sums and products that are computed where only digits may be lost.
const MOST_WORK: usize = 1 << 25;
/// The bytes for each number that a check holds: the number, and that before it is rounded.
const NUMBER_BYTES: u64 = 24;

/// The ranges of arrays that were run, and the memory that a look for lost digits may take.
#[derive(Clone, Debug)]
pub struct Checker {
    ranges: BTreeMap<NodeId, Interval>,
    most_bytes: u64,
}

/// The result of a check.
#[derive(Clone, Debug, Default)]
pub struct Checked {
    /// Saturations and roundings that differ from numpy's, at the user's lines.
    pub warnings: Vec<BuildError>,
    ranges: BTreeMap<NodeId, Interval>,
}

/// A run before it starts: its steps, operands first, and the ranges of their values.
struct Look<'g> {
    graph: &'g Graph,
    nodes: &'g [NodeId],
    ranges: BTreeMap<NodeId, Interval>,
    doubtful: BTreeSet<NodeId>,
    /// Steps that may lose digits.
    coarse: BTreeSet<NodeId>,
    /// The sums of magnitudes of sums that were computed.
    magnitudes: BTreeMap<NodeId, Vec<i128>>,
}

impl Checker {
    /// Returns a checker that looks for lost digits where that takes at most `most_bytes` of memory.
    pub fn new(most_bytes: u64) -> Checker {
        Checker { ranges: BTreeMap::new(), most_bytes }
    }

    /// Checks a run of `nodes`, operands first. `values` returns the values, in ring units, of nodes that are inputs or
    /// that were run before. It is called for few nodes, all at once.
    ///
    /// # Errors
    /// The first result that leaves its dtype ([`Fault::Leaves`]), at its line; any error of `values`.
    pub fn look<E: From<BuildError>>(
        &self,
        graph: &Graph,
        nodes: &[NodeId],
        inputs: impl Fn(NodeId) -> Option<Interval>,
        values: impl FnOnce(&[NodeId]) -> Result<Vec<Vec<i128>>, E>,
    ) -> Result<Checked, E> {
        let (ranges, doubtful, coarse) = (BTreeMap::new(), BTreeSet::new(), BTreeSet::new());
        let mut look = Look { graph, nodes, ranges, doubtful, coarse, magnitudes: BTreeMap::new() };
        look.propagate(|id| self.ranges.get(&id).copied().or_else(|| inputs(id)));
        look.leave_out_much(self.most_bytes);
        if look.doubtful.is_empty() && look.coarse.is_empty() {
            return Ok(Checked { warnings: vec![], ranges: look.ranges });
        }
        let steps = look.behind(look.doubtful.iter().chain(&look.coarse));
        if steps.iter().map(|&id| graph.node(id).elements()).sum::<usize>() > MOST_ELEMENTS {
            return Ok(Checked { warnings: look.unseen(), ranges: look.ranges });
        }
        let given: Vec<NodeId> = look.given_to(&steps);
        let is_streamed = |id: &&NodeId| graph.node(**id).is_streamed();
        if given.iter().filter(is_streamed).map(|&id| graph.node(id).elements()).sum::<usize>() > MOST_READ {
            return Ok(Checked { warnings: look.unseen(), ranges: look.ranges });
        }
        let known = given.iter().copied().zip(values(&given)?).collect();
        let warnings = look.compute(&steps, known)?;
        Ok(Checked { warnings, ranges: look.ranges })
    }

    /// Keeps the ranges of `arrays` of a run that ended well.
    pub fn note(&mut self, checked: Checked, arrays: impl Fn(NodeId) -> bool) {
        self.ranges.extend(checked.ranges.into_iter().filter(|&(id, _)| arrays(id)));
    }

    /// Forgets an array.
    pub fn forget(&mut self, id: NodeId) {
        self.ranges.remove(&id);
    }
}

impl Look<'_> {
    /// Computes the range of every step, and finds the steps whose range exceeds their dtype.
    fn propagate(&mut self, known: impl Fn(NodeId) -> Option<Interval>) {
        for &id in self.nodes {
            let node = self.graph.node(id);
            for &input in &node.inputs {
                let range = || known(input).unwrap_or_else(|| self.graph.node(input).range());
                self.ranges.entry(input).or_insert_with(range);
            }
            let range = match &node.op {
                Op::Input { .. } => known(id).unwrap_or_else(|| node.range()),
                Op::Part { index, .. } => {
                    let array = self.graph.node(node.inputs[0]).inputs[*index];
                    self.ranges.get(&array).copied().unwrap_or_else(|| node.range())
                }
                op => self.reach_of(id, node, op),
            };
            self.ranges.insert(id, range);
        }
    }

    fn reach_of(&mut self, id: NodeId, node: &Node, op: &Op) -> Interval {
        let inputs: Vec<Known> = node.inputs.iter().map(|input| self.known(*input)).collect();
        let rules = self.graph.rules();
        let reach = ranges::reach(op, &inputs, node.dtype, rules.truncation);
        let half = rules.truncation == Truncation::Probabilistic && cut::product_shift(op, &inputs, node.dtype) > 0;
        let crowded = |range: Interval| {
            let whole = cut::product_shift(op, &inputs, node.dtype);
            half && !Interval::signed(node.dtype.bits() - 1).shr(whole).covers(range)
        };
        let doubt = match reach {
            Reach::Fits(range) => node.interval.is_none() && crowded(range),
            Reach::Leaves(_) => node.interval.is_none(),
            Reach::Unknown => saturates(op),
        };
        let doubt = doubt || matches!(op, Op::Scale(by) if by.saturates(inputs[0].range(), node.dtype));
        if doubt || self.rounds_down(node) {
            self.doubtful.insert(id);
        }
        let range = match (reach, node.interval) {
            (Reach::Fits(range), Some(proven)) => range.clamped(proven),
            (Reach::Fits(range), None) => range,
            (_, proven) => proven.unwrap_or_else(|| node.dtype.range()),
        };
        if digits::may_lose(node, &inputs, range) {
            self.coarse.insert(id);
        }
        range
    }

    /// Drops the steps that may lose digits if checking them takes too much work, more than `most_bytes` of memory, or
    /// a shuffle that has not run.
    fn leave_out_much(&mut self, most_bytes: u64) {
        let steps = self.behind(self.coarse.iter());
        let given: Vec<&Node> = self.given_to(&steps).into_iter().map(|id| self.graph.node(id)).collect();
        let known = given.iter().map(|node| node.elements()).sum::<usize>();
        let work = steps.iter().map(|&id| digits::work(self.graph.node(id))).fold(known, usize::saturating_add);
        let has_room = self.most_held(&steps, known) as u64 * NUMBER_BYTES <= most_bytes;
        if work <= MOST_WORK && has_room && !given.iter().any(|node| matches!(node.op, Op::Part { .. })) {
            return;
        }
        // Means lose digits most rarely.
        let others: BTreeSet<NodeId> = self.coarse.iter().copied().filter(|&id| self.averaged(id).is_none()).collect();
        let has_means = others.len() < self.coarse.len();
        self.coarse = if has_means { others } else { BTreeSet::new() };
        self.leave_out_much(most_bytes);
    }

    /// Returns the largest number of numbers that are held at once while the steps are computed.
    fn most_held(&self, steps: &[NodeId], given: usize) -> usize {
        let mut last: BTreeMap<NodeId, usize> = BTreeMap::new();
        for (i, &id) in steps.iter().enumerate() {
            last.extend(self.graph.node(id).inputs.iter().map(|&input| (input, i)));
        }
        let (mut held, mut most) = (given, given);
        for (i, &id) in steps.iter().enumerate() {
            held += self.graph.node(id).elements();
            most = most.max(held);
            let mut inputs = self.graph.node(id).inputs.to_vec();
            inputs.sort_unstable();
            inputs.dedup();
            let done = inputs.iter().filter(|input| last[input] == i && !self.graph.node(**input).is_public());
            held -= done.map(|&input| self.graph.node(input).elements()).sum::<usize>().min(held);
        }
        most
    }

    /// Returns the sum of which a step takes the mean, if it does.
    fn averaged(&self, id: NodeId) -> Option<NodeId> {
        let node = self.graph.node(id);
        node.inputs.first().copied().filter(|&sum| digits::is_mean(node, self.graph.node(sum)))
    }

    fn known(&self, id: NodeId) -> Known {
        Known { interval: self.ranges.get(&id).copied(), ..Known::of(self.graph.node(id)) }
    }

    /// Returns whether the step may round a negative real differently from numpy.
    fn rounds_down(&self, node: &Node) -> bool {
        let from = || self.known(node.inputs[0]);
        matches!(node.op, Op::Convert) && node.dtype.is_integer() && from().dtype.frac() > 0 && from().range().lo() < 0
    }

    /// Returns the given steps and those that they depend on, in order, up to arrays of shuffles, whose order
    /// the parties choose, and of orders that ran before.
    fn behind<'a>(&self, some: impl Iterator<Item = &'a NodeId>) -> Vec<NodeId> {
        let doubts: Vec<NodeId> = some.copied().collect();
        let running: BTreeSet<NodeId> = self.nodes.iter().copied().collect();
        let given = |id: NodeId| {
            let node = self.graph.node(id);
            let of_the_run = || running.contains(&node.inputs[0]) && !self.graph.node(node.inputs[0]).op.is_random();
            !running.contains(&id) || matches!(node.op, Op::Part { .. }) && !of_the_run()
        };
        self.graph.needed(&doubts, &given)
    }

    /// Returns the warning for doubtful steps that are not checked.
    fn unseen(&self) -> Vec<BuildError> {
        let said = |&id: &NodeId| {
            let node = self.graph.node(id);
            BuildError::new(Fault::NotLooked { op: node.op.name() }, node.source.clone())
        };
        self.doubtful.iter().take(1).map(said).collect()
    }

    /// Returns the nodes that these steps need and do not compute: inputs, and nodes that were run before.
    fn given_to(&self, steps: &[NodeId]) -> Vec<NodeId> {
        let steps: BTreeSet<NodeId> = steps.iter().copied().collect();
        let mut given = BTreeSet::new();
        for &id in &steps {
            let node = self.graph.node(id);
            if matches!(node.op, Op::Input { .. }) {
                given.insert(id);
            }
            given.extend(node.inputs.iter().copied().filter(|input| !steps.contains(input)));
        }
        given.into_iter().filter(|&id| !self.graph.node(id).is_public()).collect()
    }

    /// Computes the steps on integers that do not wrap, up to the first that leaves its dtype.
    fn compute(
        &mut self,
        steps: &[NodeId],
        mut known: BTreeMap<NodeId, Vec<i128>>,
    ) -> Result<Vec<BuildError>, BuildError> {
        let mut warnings = Vec::new();
        let mut uses: BTreeMap<NodeId, usize> = BTreeMap::new();
        steps.iter().flat_map(|&id| &self.graph.node(id).inputs).for_each(|&id| *uses.entry(id).or_default() += 1);
        let averaged: BTreeSet<NodeId> = self.coarse.iter().filter_map(|&id| self.averaged(id)).collect();
        for &id in steps {
            let node = self.graph.node(id);
            if known.contains_key(&id) || node.is_public() {
                continue;
            }
            let Some(mut result) = self.value(node, &mut known) else {
                return Err(self.error(id, Leaving::beyond_all()));
            };
            if averaged.contains(&id) {
                self.note_magnitudes(id, &known);
            }
            if self.coarse.contains(&id) {
                warnings.extend(self.coarseness(id, &result, &known));
            }
            if self.doubtful.contains(&id) {
                if let Some(leaving) = self.leaves(node, &result) {
                    return Err(self.error(id, leaving));
                }
                warnings.extend(self.warning(node, &result, &known));
                if let Some(range) = Interval::of(&result).filter(|range| node.dtype.range().covers(*range)) {
                    self.ranges.insert(id, range);
                }
            }
            if node.interval.is_some() {
                // The result is proven to fit, or is meant to wrap.
                result.iter_mut().for_each(|value| *value = node.dtype.wrap(*value));
            }
            for input in &node.inputs {
                if let Some(left) = uses.get_mut(input) {
                    *left -= 1;
                    if *left == 0 {
                        known.remove(input);
                    }
                }
            }
            known.insert(id, result);
        }
        Ok(warnings)
    }

    /// Computes a step; `None` where 128 bits do not hold the result.
    fn value(&self, node: &Node, known: &mut BTreeMap<NodeId, Vec<i128>>) -> Option<Vec<i128>> {
        for input in &node.inputs {
            if let Some(values) = self.graph.node(*input).constant() {
                known.entry(*input).or_insert(values);
            }
        }
        let nodes: Vec<&Node> = node.inputs.iter().map(|&input| self.graph.node(input)).collect();
        let values: Vec<&[i128]> = node.inputs.iter().map(|input| known[input].as_slice()).collect();
        reference::exact(&node.op, &nodes, &values, &node.shape, node.dtype)
    }

    /// Returns the values by which a result leaves its dtype, if it does; products count before they are shifted.
    fn leaves(&self, node: &Node, result: &[i128]) -> Option<Leaving> {
        if node.interval.is_some() || node.op.is_approximate() {
            return None;
        }
        let inputs: Vec<Known> = node.inputs.iter().map(|&id| Known::of(self.graph.node(id))).collect();
        let shift = cut::product_shift(&node.op, &inputs, node.dtype);
        let either_way = shift > 0 && self.graph.rules().truncation == Truncation::Probabilistic;
        let all = match node.dtype {
            Dtype::Int { .. } | Dtype::Fixed { .. } => Interval::signed(node.dtype.bits() - u32::from(either_way)),
            _ => node.dtype.range(),
        };
        let allowed = all.shr(shift);
        let index = result.iter().position(|&v| !allowed.contains(v))?;
        let range = Interval::spanning(result);
        let bits = range.signed_bits() + shift + u32::from(either_way);
        Some(Leaving { index, value: Some(result[index]), range, bits, shift })
    }

    fn error(&self, id: NodeId, leaving: Leaving) -> BuildError {
        let node = self.graph.node(id);
        let dtype = node.dtype;
        let Leaving { index, value, range, bits, shift } = leaving;
        let stated = |id: &NodeId| {
            let node = self.graph.node(*id);
            matches!(node.op, Op::Input { .. }) && node.dtype == dtype && !node.room.grows
        };
        let all = self.graph.needed(&[id], &|id| self.graph.get(id).is_err());
        let whole = Interval::signed(bits.clamp(1, 127));
        let enough = match range.lo() < 0 || !dtype.is_unsigned() {
            true => dtype.holding(whole),
            false => dtype.holding(range),
        };
        let advice = match (&node.op, enough) {
            (Op::Convert, _) => dtype.holding(range).map_or(Advice::Scale, Advice::Target),
            (_, None) => Advice::Scale,
            (_, Some(to)) if all.iter().any(stated) => Advice::Inputs { from: dtype, to },
            (_, Some(to)) => Advice::Operands(to),
        };
        let shown = match value {
            Some(value) if dtype.is_fixed() => shown(dtype.decode(value)),
            Some(value) => value.to_string(),
            None => "a value beyond all dtypes".into(),
        };
        let whole_bits = (shift > 0 && value.is_some()).then_some(bits);
        let what = Box::new(Excess { index, shown, whole_bits, advice });
        BuildError::new(Fault::Leaves { op: node.op.name(), dtype, what }, node.source.clone())
    }

    /// Returns whether the user's line of `node` also computes its operand, which is not just converted there.
    fn is_computed_by(&self, mut operand: NodeId, node: &Node) -> bool {
        // What a value that was run before is made of may be forgotten.
        while let Ok(of) = self.graph.get(operand) {
            if of.op != Op::Convert {
                return !of.is_public() && !matches!(of.op, Op::Input { .. }) && of.source == node.source;
            }
            operand = of.inputs[0];
        }
        false
    }

    /// Returns whether the user's line of a step also computes with its result.
    fn is_used_by_line(&self, id: NodeId) -> bool {
        let source = &self.graph.node(id).source;
        let uses = |&user: &NodeId| {
            let user = self.graph.node(user);
            user.source == *source && user.inputs.contains(&id)
        };
        self.nodes.iter().any(uses)
    }

    /// Returns the function that takes a conversion as its argument, if its results are small where its arguments are.
    fn taken_by(&self, id: NodeId) -> Option<Real> {
        let takes = |&user: &NodeId| match self.graph.node(user).op {
            Op::Real(function @ (Real::Tanh | Real::Gelu)) if self.graph.node(user).inputs[0] == id => Some(function),
            _ => None,
        };
        if matches!(self.graph.node(id).op, Op::Convert) { self.nodes.iter().find_map(takes) } else { None }
    }

    /// Computes the sum of magnitudes for a sum of which a mean is taken.
    fn note_magnitudes(&mut self, id: NodeId, known: &BTreeMap<NodeId, Vec<i128>>) {
        let node = self.graph.node(id);
        let terms: Vec<i128> = known[&node.inputs[0]].iter().map(|value| value.abs()).collect();
        let of = [self.graph.node(node.inputs[0])];
        if let Some(sums) = reference::exact(&node.op, &of, &[&terms], &node.shape, node.dtype) {
            self.magnitudes.insert(id, sums);
        }
    }

    /// Returns the warning for a result that loses digits, if it does.
    fn coarseness(&self, id: NodeId, result: &[i128], known: &BTreeMap<NodeId, Vec<i128>>) -> Option<BuildError> {
        let node = self.graph.node(id);
        let nodes: Vec<&Node> = node.inputs.iter().map(|&input| self.graph.node(input)).collect();
        let values: Vec<&[i128]> = node.inputs.iter().map(|input| known[input].as_slice()).collect();
        let magnitudes = match self.averaged(id) {
            Some(sum) => Some(self.magnitudes.get(&sum)?.as_slice()), // none if the sum was computed in an earlier run
            None => None,
        };
        let around = digits::Around {
            magnitudes,
            taken_by: &|| self.taken_by(id),
            takes_few: &|| self.behind([id].iter()).iter().any(|&id| takes_few(&self.graph.node(id).op)),
            is_a_part: &|| {
                node.inputs.iter().any(|&input| self.is_computed_by(input, node)) || self.is_used_by_line(id)
            },
        };
        let fault = digits::lost(node, &nodes, &values, result, around)?;
        Some(BuildError::new(fault, node.source.clone()))
    }

    /// Returns the warning for a result that differs from numpy's, if it does.
    fn warning(&self, node: &Node, result: &[i128], known: &BTreeMap<NodeId, Vec<i128>>) -> Option<BuildError> {
        let operand = |place: usize| known.get(node.inputs.get(place)?);
        let from = |place: usize| self.graph.node(node.inputs[place]).dtype;
        let fault = match &node.op {
            Op::Divide => {
                let (x, y) = (operand(0)?, operand(1)?);
                let most = node.dtype.range().hi();
                let index = (0..result.len()).find(|&i| y[i] == 0 || result[i].abs() == most)?;
                let numpy = match (y[index], x[index]) {
                    (0, 0) => "nan",
                    (0, _) => "infinity",
                    _ => "larger number",
                };
                let of = format!("{} / {}", shown(from(0).decode(x[index])), shown(from(1).decode(y[index])));
                let advice = "divide by mpc.maximum(y, smallest) where y may be 0 or nearly so";
                Fault::Saturates { op: "divide", index, of, numpy, advice }
            }
            Op::Scale(by) => {
                let x = operand(0)?;
                let index = (0..x.len()).find(|&i| by.is_saturated(i, x[i], node.dtype))?;
                let of = shown(from(0).decode(x[index]));
                let advice = "state no dtype, a wider one, or clip what is divided";
                Fault::Saturates { op: "divide", index, of, numpy: "larger number", advice }
            }
            Op::Real(function) => {
                let x = operand(0)?;
                let most = node.dtype.range().hi();
                let numpy = |i: usize| function.beyond(x[i], result[i].abs() >= most);
                let (index, numpy) = (0..result.len()).find_map(|i| numpy(i).map(|numpy| (i, numpy)))?;
                let of = shown(from(0).decode(x[index]));
                Fault::Saturates {
                    op: function.name(),
                    index,
                    of,
                    numpy,
                    advice: "clip the argument to the domain first",
                }
            }
            Op::Convert if node.dtype.is_integer() && from(0).frac() > 0 => {
                let (x, frac) = (operand(0)?, from(0).frac());
                let index = x.iter().position(|v| *v < 0 && v & ((1 << frac) - 1) != 0)?;
                let (down, value) = (x[index] >> frac, shown(from(0).decode(x[index])));
                Fault::RoundsDown { index, from: value, to: down as f64, numpy: (down + 1) as f64 }
            }
            _ => return None,
        };
        Some(BuildError::new(fault, node.source.clone()))
    }
}

/// Returns whether the operation takes no more than 16 fractional bits.
fn takes_few(op: &Op) -> bool {
    matches!(op, Op::Softmax(_) | Op::Real(Real::Exp | Real::Sigmoid | Real::Tanh | Real::Gelu))
}

/// A result beyond its dtype.
struct Leaving {
    index: usize,
    /// The value; `None`: 128 bits do not hold it.
    value: Option<i128>,
    range: Interval,
    /// The bits that would hold the whole result.
    bits: u32,
    shift: u32,
}

impl Leaving {
    fn beyond_all() -> Leaving {
        Leaving { index: 0, value: None, range: Interval::signed(127), bits: 128, shift: 0 }
    }
}

/// Returns whether an operation without a proven range may return a stated value in place of the function's.
fn saturates(op: &Op) -> bool {
    match op {
        Op::Divide => true,
        Op::Real(function) => !matches!(function, Real::Sigmoid | Real::Tanh | Real::Gelu),
        _ => false,
    }
}
