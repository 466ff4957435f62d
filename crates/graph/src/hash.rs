//! Prefix hashes. Parties compare them before they send anything that depends on an input: equal hashes mean equal
//! programs, and otherwise the first operation that differs is found.

use std::fmt;
use std::str::FromStr;

use quorate_circuits::{Circuit, Gate};
use quorate_ring::Conv;

use crate::column::{Column, Given, Meaning};
use crate::dtype::Dtype;
use crate::index::{Index, Layer};
use crate::node::{Division, Node, NodeId, Op};
use crate::scale::Scale;
use crate::shape::Axis;
use crate::units::Units;

/// Keys that separate the purposes of hashes. A derived key would have to be computed anew for each node.
const OPERATION: &[u8; 32] = b"quorate/graph: an operation, v.1";
const PART: &[u8; 32] = b"quorate/graph: what makes it, v1";
const REVEALS: &[u8; 32] = b"quorate/graph: runs' reveals, v1";

/// The hash of a program up to and including one node. It covers operations, attributes, operands, shapes, dtypes,
/// intervals, constants, and the names and words of tables' columns. It covers neither source lines nor values of
/// inputs.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Hash(pub [u8; 32]);

impl fmt::Debug for Hash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0[..8].iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

impl Hash {
    /// Returns the hash of the empty program.
    pub fn empty() -> Hash {
        Hash(*blake3::hash(b"quorate program 2").as_bytes())
    }

    /// Returns the hash of an operation with its attributes.
    pub(crate) fn of_op(op: &Op) -> Hash {
        let mut writer = Writer(blake3::Hasher::new_keyed(OPERATION));
        writer.op(op);
        writer.finish()
    }

    /// Returns the hash of the program that `self` stands for, followed by `node`, whose operation has the hash `op`.
    pub(crate) fn then(self, node: &Node, op: Hash) -> Hash {
        let mut writer = Writer(blake3::Hasher::new_keyed(&self.0));
        writer.hash(op);
        writer.sizes(node.inputs.iter().map(|id| id.index()));
        writer.value(node);
        writer.finish()
    }

    /// Returns the hash of the part of the program that makes the value of node `id`. Its operation has the hash
    /// `self`, and its operands are made of `parts`. Each input and each random value of the program counts as itself,
    /// distinct from others like it. Intervals follow from the rest, except those of inputs and those that the program
    /// states.
    pub(crate) fn of_part(self, id: NodeId, node: &Node, parts: &[Hash]) -> Hash {
        let mut writer = Writer(blake3::Hasher::new_keyed(PART));
        writer.hash(self);
        writer.size(parts.len());
        parts.iter().for_each(|&part| writer.hash(part));
        let is_one = matches!(node.op, Op::Input { .. } | Op::Submitted(_)) || node.op.is_random();
        writer.tag(is_one.into());
        if is_one {
            writer.size(id.index());
        }
        // A program may state a range (`Builder::stated`) in a step that does nothing else.
        match is_one || node.op == Op::Reshape {
            true => writer.value(node),
            false => writer.form(node),
        }
        writer.finish()
    }

    /// Returns the hash of a session's runs up to one more, which reveals the values of these parts to these parties
    /// (`None`: to all).
    pub fn then_reveals(self, reveals: &[(Hash, Option<usize>)]) -> Hash {
        let mut writer = Writer(blake3::Hasher::new_keyed(REVEALS));
        writer.hash(self);
        writer.size(reveals.len());
        for (part, to) in reveals {
            writer.hash(*part);
            writer.tag(to.is_some().into());
            writer.size(to.unwrap_or(0));
        }
        writer.finish()
    }

    /// Returns the hash of a session's runs up to the moment at which the branch of this name and number was made.
    pub fn then_branch(self, name: &str, number: u32) -> Hash {
        let mut writer = Writer(blake3::Hasher::new_derive_key("quorate branch 1"));
        writer.hash(self);
        writer.size(name.len());
        writer.0.update(name.as_bytes());
        writer.size(number as usize);
        writer.finish()
    }

    /// Returns the hash of a step, independent of the steps before it.
    pub(crate) fn of_step(node: &Node, operands: &[&Node]) -> Hash {
        let mut writer = Writer(blake3::Hasher::new_derive_key("quorate step 1"));
        writer.op(&node.op);
        writer.value(node);
        writer.size(operands.len());
        for operand in operands {
            writer.value(operand);
            writer.tag(u8::from(operand.is_public()));
            writer.known_as(operand);
            if let Op::Constant(units) = &operand.op
                && units.len() == 1
            {
                writer.units(&units.to_vec());
            }
        }
        writer.finish()
    }
}

impl fmt::Display for Hash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

/// A text that is not a hash.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("a hash is 64 digits from 0 to 9 and a to f")]
pub struct HashError;

impl FromStr for Hash {
    type Err = HashError;

    fn from_str(text: &str) -> Result<Hash, HashError> {
        let digits = text.bytes().map(|digit| char::from(digit).to_digit(16)).collect::<Option<Vec<u32>>>();
        let digits = digits.filter(|digits| digits.len() == 64).ok_or(HashError)?;
        Ok(Hash(std::array::from_fn(|i| (digits[2 * i] << 4 | digits[2 * i + 1]) as u8)))
    }
}

/// Returns the first node in which two programs differ, given the hashes after each of their nodes. If one program
/// is the beginning of the other, returns the first node that it lacks. `None`: they are the same.
pub fn first_difference(ours: &[Hash], theirs: &[Hash]) -> Option<usize> {
    let common = ours.len().min(theirs.len());
    (0..common).find(|&i| ours[i] != theirs[i]).or((ours.len() != theirs.len()).then_some(common))
}

/// An encoder into a hash. Every list is written after its length, so that no two nodes have the same encoding.
struct Writer(blake3::Hasher);

impl Writer {
    fn finish(self) -> Hash {
        Hash(*self.0.finalize().as_bytes())
    }

    fn hash(&mut self, hash: Hash) {
        self.0.update(&hash.0);
    }

    fn tag(&mut self, tag: u8) {
        self.0.update(&[tag]);
    }

    fn size(&mut self, size: usize) {
        self.0.update(&(size as u64).to_le_bytes());
    }

    fn scale(&mut self, scale: &Scale) {
        [&scale.whole, &scale.factors].into_iter().for_each(|units| self.repeated(units));
        self.sizes([scale.shift, scale.product_bits, scale.ring_bits].into_iter().map(|bits| bits as usize));
        match &scale.limits {
            Some(limits) => self.repeated(limits),
            None => self.units(&[]),
        }
    }

    fn sizes(&mut self, sizes: impl ExactSizeIterator<Item = usize>) {
        self.size(sizes.len());
        sizes.for_each(|s| self.size(s));
    }

    fn units(&mut self, values: &[i128]) {
        self.size(values.len());
        self.blocks(values, |v| v.to_le_bytes());
    }

    /// Writes public numbers as they are kept. Their repeats follow from the shape and from the number of elements that
    /// each stands for.
    fn repeated(&mut self, units: &Units) {
        self.units(&units.to_vec());
        if units.each() > 1 {
            self.text("each");
            self.size(units.each());
        }
    }

    /// Writes many small values through one buffer, since hashing is faster on long slices.
    fn blocks<T: Copy, const N: usize>(&mut self, values: &[T], bytes: impl Fn(T) -> [u8; N]) {
        let mut buffer = Vec::with_capacity(N * values.len().min(4096));
        for chunk in values.chunks(4096) {
            buffer.clear();
            chunk.iter().for_each(|&v| buffer.extend_from_slice(&bytes(v)));
            self.0.update(&buffer);
        }
    }

    /// Writes the shape and dtype of a node's value.
    fn form(&mut self, node: &Node) {
        self.sizes(node.shape.iter().copied());
        self.dtype(node.dtype);
    }

    /// Writes what is known of a node's value.
    fn value(&mut self, node: &Node) {
        self.form(node);
        match node.interval {
            None => self.tag(0),
            Some(interval) => {
                self.tag(1);
                self.units(&[interval.lo(), interval.hi()]);
            }
        }
    }

    /// Writes what the costs of a node's users depend on besides its value: an input is known to its owner, and a
    /// factor is opened once.
    fn known_as(&mut self, node: &Node) {
        match node.op {
            Op::Input { owner, .. } => {
                self.tag(1);
                self.size(owner);
            }
            Op::AsFactor => self.tag(2),
            _ => self.tag(0),
        }
    }

    fn axis(&mut self, axis: &Axis) {
        self.sizes([axis.outer, axis.len, axis.inner].into_iter());
    }

    fn dtype(&mut self, dtype: Dtype) {
        let (tag, bits, frac) = match dtype {
            Dtype::Bit => (0, 1, 0),
            Dtype::Int { bits } => (1, bits, 0),
            Dtype::Fixed { bits, frac } => (2, bits, frac),
            Dtype::Uint { bits } => (3, bits, 0),
        };
        self.0.update(&[tag, bits as u8, frac as u8]);
    }

    fn index(&mut self, index: &Index) {
        match index {
            Index::List(list) => {
                self.tag(0);
                self.size(list.len());
                self.blocks(list, u32::to_le_bytes);
            }
            Index::Steps { start, steps } => {
                self.tag(1);
                self.size(*start as usize);
                self.size(steps.len());
                self.blocks(steps, |(count, step)| (i128::from(count) << 64 | i128::from(step as u64)).to_le_bytes());
            }
            Index::Exchange { layer: Layer { count, p, r, distance }, side, width } => {
                self.tag(2);
                let numbers = [*count, *p, *r, *distance, *side as u32, *width];
                self.sizes(numbers.into_iter().map(|number| number as usize));
            }
        }
    }

    fn text(&mut self, text: &str) {
        self.size(text.len());
        self.0.update(text.as_bytes());
    }

    fn column(&mut self, Column { name, meaning }: &Column) {
        self.text(name);
        match meaning {
            Meaning::Numbers => self.tag(0),
            Meaning::Words(words) => {
                self.tag(1);
                self.size(words.len());
                words.iter().for_each(|word| self.text(word));
            }
            Meaning::Days => self.tag(2),
        }
    }

    fn given(&mut self, given: &Given) {
        match given {
            Given::ByClients { campaign, hash } => {
                self.text(campaign);
                self.hash(Hash(*hash));
            }
            Given::Before { name, owners, own } => {
                self.size(usize::MAX); // no campaign's name is as long
                self.text(name);
                for parties in [owners, own] {
                    let all: Vec<usize> = parties.iter().collect();
                    self.sizes(all.into_iter());
                }
            }
        }
    }

    fn circuit(&mut self, circuit: &Circuit) {
        for widths in [circuit.inputs(), circuit.outputs(), circuit.output_wires()] {
            self.size(widths.len());
            self.blocks(widths, u32::to_le_bytes);
        }
        self.size(circuit.len());
        let encoded = |(_, gate): (_, Gate)| match gate {
            Gate::Xor(a, b) => (0u128, a, b),
            Gate::And(a, b) => (1, a, b),
            Gate::Inv(a) => (2, a, 0),
            Gate::Constant(bit) => (3, u32::from(bit), 0),
        };
        let gates: Vec<(u128, u32, u32)> = circuit.gates().map(encoded).collect();
        self.blocks(&gates, |(kind, a, b)| (kind << 64 | u128::from(a) << 32 | u128::from(b)).to_le_bytes());
    }

    fn op(&mut self, op: &Op) {
        self.text(op.name());
        match op {
            Op::Input { owner, column, streamed } => {
                self.size(*owner);
                column.iter().for_each(|column| self.column(column));
                if *streamed {
                    self.text("streamed");
                }
            }
            Op::Submitted(submission) | Op::Masked(submission) => {
                self.given(&submission.given);
                self.column(&submission.column);
            }
            Op::Combined { holders, rows, coin_bits } => self.sizes([*holders, *rows, *coin_bits as usize].into_iter()),
            Op::Constant(values) | Op::FloorDiv(values) | Op::Remainder(values) => self.repeated(values),
            Op::Scale(scale) => {
                self.scale(scale);
                if let Some(upper) = &scale.upper {
                    self.text("upper");
                    self.size(upper.from as usize);
                    self.scale(&upper.scale);
                }
            }
            Op::IntDivide(Division { quotient_bits, .. }) => {
                self.sizes(quotient_bits.iter().map(|&bits| bits as usize)); // the name gives the rest
            }
            Op::MatMul { batch, m, k, n } => self.sizes([*batch, *m, *k, *n].into_iter()),
            Op::Conv(conv) => {
                let Conv { batch, groups, channels, filters, image, window, stride, dilation, before, after } = **conv;
                let pairs = [image, window, stride, dilation, before, after];
                self.sizes([batch, groups, channels, filters].into_iter());
                self.sizes(pairs.concat().into_iter());
            }
            Op::Sum(axis) | Op::Max(axis) | Op::Min(axis) | Op::ArgMax(axis) => self.axis(axis),
            Op::ArgMin(axis) | Op::CumSum(axis) | Op::Softmax(axis) | Op::AssertOneHot(axis) => self.axis(axis),
            Op::Shl(bits) | Op::Shr(bits) => self.size(*bits as usize),
            Op::To(domain) => self.tag(*domain as u8),
            Op::Shuffle { rows } => self.size(*rows),
            Op::Order { rows, descending } => self.sizes([*rows, usize::from(*descending)].into_iter()),
            Op::Part { index, before } => self.sizes([*index, *before].into_iter()),
            Op::Gather(index) => self.index(index),
            Op::Add | Op::Sub | Op::Neg | Op::Mul | Op::Lt | Op::Eq | Op::And | Op::Or | Op::Xor | Op::Not => {}
            Op::AsFactor
            | Op::Counted
            | Op::AssertWithin
            | Op::Behind
            | Op::Select
            | Op::Other
            | Op::Reshape
            | Op::Broadcast
            | Op::Concat
            | Op::Cast
            | Op::Bits
            | Op::Compose
            | Op::Convert => {}
            Op::Circuit(circuit) => self.circuit(circuit),
            Op::Lookup(table) => {
                self.units(&[table.first()]);
                self.units(&table.entries().to_vec());
            }
            Op::Real(_) | Op::Divide => {} // the name gives the function
        }
    }
}
