//! The builder: bits and numbers as wires, simplified as they are made.
//!
//! A [`Bit`] is a node and whether it is negated. So inverters cost nothing while building, and appear only where a
//! gate or an output needs one. Constants are computed at once, existing gates are reused, and [`Builder::finish`]
//! leaves out gates that no output needs.

mod add;
mod aes;
mod columns;
mod compare;
mod divide;
mod known;
mod multiply;
mod prefix;
mod select;
mod shift;

pub use compare::{Extreme, Extremum};
pub use divide::Quotient;
pub use shift::Direction;

use known::Known;

use crate::program::slots_in_order;
use crate::{Circuit, CircuitError, Gate, Wire};

/// A bit while building: a node, perhaps negated.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Bit(u32);

impl Bit {
    /// 0.
    pub const FALSE: Bit = Bit(0);
    /// 1.
    pub const TRUE: Bit = Bit(1);

    /// Returns the constant `bit`.
    pub fn constant(bit: bool) -> Bit {
        Bit(u32::from(bit))
    }

    fn node(self) -> usize {
        (self.0 >> 1) as usize
    }

    fn negated(self) -> bool {
        self.0 & 1 == 1
    }

    fn is_constant(self) -> bool {
        self.node() == 0
    }
}

impl std::ops::Not for Bit {
    type Output = Bit;

    fn not(self) -> Bit {
        Bit(self.0 ^ 1)
    }
}

/// The quantity that a circuit is optimised for.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Goal {
    /// ANDs: for garbling, whose rounds do not depend on the circuit.
    Size,
    /// AND-depth: for protocols that take a round for each layer of ANDs.
    Depth,
}

/// The reading of the bits of a number, lowest first.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Sign {
    /// Unsigned: from 0 on.
    Unsigned,
    /// Two's complement.
    Signed,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Node {
    /// 0; node 0 is the only one.
    Zero,
    Input,
    /// The xor of two nodes, the lower first; neither is negated.
    Xor(u32, u32),
    /// The and of two bits, the lower first.
    And(Bit, Bit),
}

impl Node {
    /// Returns the nodes that it reads.
    fn reads(self) -> [Option<usize>; 2] {
        match self {
            Node::Zero | Node::Input => [None, None],
            Node::Xor(a, b) => [Some(a as usize), Some(b as usize)],
            Node::And(a, b) => [Some(a.node()), Some(b.node())],
        }
    }
}

/// Builds a [`Circuit`]. Numbers are slices of bits, lowest bit first.
///
/// ```
/// use quorate_circuits::{Builder, Goal};
///
/// let mut builder = Builder::new();
/// let (x, y) = (builder.input(8), builder.input(8));
/// let sum = builder.add(&x, &y, Goal::Size);
/// let circuit = builder.finish(&[&sum])?;
/// assert_eq!(circuit.counts().and, 7);
/// # Ok::<(), quorate_circuits::CircuitError>(())
/// ```
pub struct Builder {
    nodes: Vec<Node>,
    depths: Vec<u32>,
    known: Known,
    inputs: Vec<u32>,
}

impl Default for Builder {
    fn default() -> Builder {
        Builder::new()
    }
}

impl Builder {
    /// Creates a builder without inputs.
    pub fn new() -> Builder {
        Builder { nodes: vec![Node::Zero], depths: vec![0], known: Known::default(), inputs: Vec::new() }
    }

    /// Adds the next group of inputs.
    pub fn input(&mut self, width: u32) -> Vec<Bit> {
        self.inputs.push(width);
        (0..width).map(|_| self.push(Node::Input, 0)).collect()
    }

    /// Returns a xor b.
    pub fn xor(&mut self, a: Bit, b: Bit) -> Bit {
        let negated = (a.0 ^ b.0) & 1;
        let (low, high) = (a.0.min(b.0) >> 1, a.0.max(b.0) >> 1);
        let plain = match (low, high) {
            (low, high) if low == high => Bit::FALSE,
            (0, high) => Bit(high << 1),
            (low, high) => {
                let depth = self.depths[low as usize].max(self.depths[high as usize]);
                self.shared(Node::Xor(low, high), depth)
            }
        };
        Bit(plain.0 ^ negated)
    }

    /// Returns a AND b.
    pub fn and(&mut self, a: Bit, b: Bit) -> Bit {
        let (low, high) = (a.min(b), a.max(b));
        match (low, high) {
            (Bit::FALSE, _) => Bit::FALSE,
            (Bit::TRUE, high) => high,
            (low, high) if low == high => low,
            (low, high) if low == !high => Bit::FALSE,
            (low, high) => {
                let depth = 1 + self.depth(low).max(self.depth(high));
                self.shared(Node::And(low, high), depth)
            }
        }
    }

    /// Returns a OR b.
    pub fn or(&mut self, a: Bit, b: Bit) -> Bit {
        !self.and(!a, !b)
    }

    /// Returns a xor b, bit by bit.
    ///
    /// # Panics
    /// If widths differ, as in all methods of the builder.
    pub fn xor_words(&mut self, a: &[Bit], b: &[Bit]) -> Vec<Bit> {
        same_width(a, b);
        a.iter().zip(b).map(|(&a, &b)| self.xor(a, b)).collect()
    }

    /// Returns a AND b, bit by bit.
    pub fn and_words(&mut self, a: &[Bit], b: &[Bit]) -> Vec<Bit> {
        same_width(a, b);
        a.iter().zip(b).map(|(&a, &b)| self.and(a, b)).collect()
    }

    /// Returns the AND of each bit of `word` with `bit`.
    pub fn and_bit(&mut self, bit: Bit, word: &[Bit]) -> Vec<Bit> {
        word.iter().map(|&other| self.and(bit, other)).collect()
    }

    /// Returns the xor of each bit of `word` with `bit`.
    pub fn xor_bit(&mut self, bit: Bit, word: &[Bit]) -> Vec<Bit> {
        word.iter().map(|&other| self.xor(bit, other)).collect()
    }

    /// Returns `word` with every bit negated.
    pub fn not_words(&self, word: &[Bit]) -> Vec<Bit> {
        word.iter().map(|&bit| !bit).collect()
    }

    /// Returns the AND of all bits, in the least depth; 1 without bits.
    pub fn all(&mut self, bits: &[Bit]) -> Bit {
        let mut bits = bits.to_vec();
        // The two shallowest bits are combined at a time.
        bits.sort_by_key(|&bit| std::cmp::Reverse(self.depth(bit)));
        while bits.len() > 1 {
            let (a, b) = (bits.pop().expect("two bits"), bits.pop().expect("two bits"));
            let both = self.and(a, b);
            let at = bits.partition_point(|&bit| self.depth(bit) > self.depth(both));
            bits.insert(at, both);
        }
        bits.pop().unwrap_or(Bit::TRUE)
    }

    /// Returns the OR of all bits, in the least depth; 0 without bits.
    pub fn any(&mut self, bits: &[Bit]) -> Bit {
        !self.all(&self.not_words(bits))
    }

    /// Returns the bits of a constant of this width.
    pub fn number(&self, value: u128, width: usize) -> Vec<Bit> {
        (0..width).map(|i| Bit::constant(i < 128 && value >> i & 1 == 1)).collect()
    }

    /// Returns the circuit with these groups of outputs, without the gates that none of them needs.
    ///
    /// Its gates are in the order in which they were made, or depth first from the outputs: the order with fewer values
    /// alive at once is chosen.
    ///
    /// # Errors
    /// [`CircuitError::TooManyWires`].
    pub fn finish(self, outputs: &[&[Bit]]) -> Result<Circuit, CircuitError> {
        let widths: Vec<u32> = outputs.iter().map(|group| group.len() as u32).collect();
        let outputs: Vec<Bit> = outputs.concat();
        let as_made = self.emitted(&widths, &outputs, Emitter::emit_as_made)?;
        let depth_first = self.emitted(&widths, &outputs, Emitter::emit_depth_first)?;
        let fewer = slots_in_order(&depth_first) < slots_in_order(&as_made);
        Ok(if fewer { depth_first } else { as_made })
    }

    fn emitted(
        &self,
        widths: &[u32],
        outputs: &[Bit],
        emit: fn(&mut Emitter, &[Node], &[Bit]),
    ) -> Result<Circuit, CircuitError> {
        let mut emitter = Emitter::new(&self.nodes);
        emit(&mut emitter, &self.nodes, outputs);
        let wires = outputs.iter().map(|&bit| emitter.wire(bit)).collect();
        Circuit::new(self.inputs.clone(), emitter.gates, widths.to_vec(), wires)
    }

    /// Returns the AND-depth of a bit.
    fn depth(&self, bit: Bit) -> u32 {
        self.depths[bit.node()]
    }

    fn shared(&mut self, node: Node, depth: u32) -> Bit {
        if let Some(known) = self.known.find(&self.nodes, node) {
            return Bit(known << 1);
        }
        let bit = self.push(node, depth);
        self.known.insert(&self.nodes);
        bit
    }

    fn push(&mut self, node: Node, depth: u32) -> Bit {
        let index = u32::try_from(self.nodes.len()).ok().filter(|&index| index < 1 << 31);
        self.nodes.push(node);
        self.depths.push(depth);
        Bit(index.expect("a builder holds at most 2^31 nodes") << 1)
    }
}

const NO_WIRE: Wire = Wire::MAX;

/// Turns nodes into gates.
struct Emitter {
    gates: Vec<Gate>,
    input_wires: u32,
    /// The wires of each node, plain and negated.
    wires: Vec<[Wire; 2]>,
}

impl Emitter {
    fn new(nodes: &[Node]) -> Emitter {
        let mut wires = vec![[NO_WIRE; 2]; nodes.len()];
        let mut input_wires = 0;
        for (wires, _) in wires.iter_mut().zip(nodes).filter(|(_, node)| **node == Node::Input) {
            wires[0] = input_wires;
            input_wires += 1;
        }
        Emitter { gates: Vec::new(), input_wires, wires }
    }

    /// Emits the gates that the outputs need, in the order of the nodes.
    fn emit_as_made(&mut self, nodes: &[Node], outputs: &[Bit]) {
        let mut needed = vec![false; nodes.len()];
        outputs.iter().for_each(|bit| needed[bit.node()] = true);
        for (index, node) in nodes.iter().enumerate().rev() {
            if needed[index] {
                node.reads().into_iter().flatten().for_each(|from| needed[from] = true);
            }
        }
        for (index, _) in needed.into_iter().enumerate().filter(|&(_, needed)| needed) {
            self.emit(index, nodes[index]);
        }
    }

    /// Emits the gates that each output needs, before it.
    fn emit_depth_first(&mut self, nodes: &[Node], outputs: &[Bit]) {
        let mut open: Vec<usize> = outputs.iter().rev().map(|bit| bit.node()).collect();
        while let Some(&index) = open.last() {
            let missing = |from: &usize| self.wires[*from][0] == NO_WIRE && nodes[*from] != Node::Zero;
            match nodes[index].reads().into_iter().flatten().find(missing) {
                Some(from) => open.push(from),
                None => {
                    open.pop();
                    if self.wires[index][0] == NO_WIRE {
                        self.emit(index, nodes[index]);
                    }
                }
            }
        }
    }

    fn emit(&mut self, index: usize, node: Node) {
        let gate = match node {
            Node::Zero | Node::Input => return,
            Node::Xor(a, b) => Gate::Xor(self.wires[a as usize][0], self.wires[b as usize][0]),
            Node::And(a, b) => Gate::And(self.wire(a), self.wire(b)),
        };
        self.wires[index][0] = self.push(gate);
    }

    fn wire(&mut self, bit: Bit) -> Wire {
        let at = (bit.node(), usize::from(bit.negated()));
        if self.wires[at.0][at.1] == NO_WIRE {
            let gate = match bit.is_constant() {
                true => Gate::Constant(bit == Bit::TRUE),
                false => Gate::Inv(self.wires[at.0][0]),
            };
            self.wires[at.0][at.1] = self.push(gate);
        }
        self.wires[at.0][at.1]
    }

    fn push(&mut self, gate: Gate) -> Wire {
        self.gates.push(gate);
        self.input_wires.wrapping_add(self.gates.len() as u32 - 1)
    }
}

fn same_width(a: &[Bit], b: &[Bit]) {
    assert!(a.len() == b.len(), "numbers of {} and {} bits", a.len(), b.len());
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn constants_fold_and_gates_are_shared() {
        let mut b = Builder::new();
        let x = b.input(2);
        let (p, q) = (x[0], x[1]);
        assert_eq!(b.xor(p, p), Bit::FALSE);
        assert_eq!(b.xor(p, !p), Bit::TRUE);
        assert_eq!(b.xor(Bit::TRUE, p), !p);
        assert_eq!(b.and(p, Bit::TRUE), p);
        assert_eq!(b.and(Bit::FALSE, p), Bit::FALSE);
        assert_eq!(b.and(p, p), p);
        assert_eq!(b.and(!p, p), Bit::FALSE);
        assert_eq!(b.or(p, !p), Bit::TRUE);
        assert_eq!(b.xor(p, q), b.xor(q, p));
        assert_eq!(b.xor(!p, q), !b.xor(p, q));
        assert_eq!(b.and(p, !q), b.and(!q, p));
        assert_ne!(b.and(p, q), b.and(p, !q));
        assert_eq!(b.all(&[]), Bit::TRUE);
        assert_eq!(b.any(&[]), Bit::FALSE);
        assert_eq!(b.all(&[p]), p);
    }

    #[test]
    fn only_needed_gates_are_kept() {
        let mut b = Builder::new();
        let x = b.input(2);
        let both = b.and(x[0], x[1]);
        b.and(both, !x[0]);
        let neither = b.and(!x[0], !x[1]);
        let circuit = b.finish(&[&[!neither], &[Bit::TRUE, x[1]]]).unwrap();
        let gates: Vec<Gate> = circuit.gates().map(|(_, gate)| gate).collect();
        assert_eq!(gates, [Gate::Inv(0), Gate::Inv(1), Gate::And(2, 3), Gate::Inv(4), Gate::Constant(true)]);
        assert_eq!((circuit.outputs(), circuit.output_wires()), (&[1, 2][..], &[5, 6, 1][..]));
    }

    #[test]
    fn trees_are_shallow() {
        let mut b = Builder::new();
        for width in 1..70u32 {
            let x = b.input(width);
            let all = b.all(&x);
            assert_eq!(b.depth(all), width.next_power_of_two().ilog2(), "{width}");
        }
    }
}
