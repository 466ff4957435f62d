//! Programs: circuits as steps of local gates followed by independent ANDs, over reused slots.
//!
//! A value needs memory from the gate that writes it to the last one that reads it. A [`Program`] numbers slots instead
//! of wires, so its memory depends on the circuit's width rather than its size. It groups ANDs that do not depend on
//! each other, for one round of a protocol or for the pipelines of a processor.

use std::sync::Arc;

use crate::circuit::operands;
use crate::schedule::{self, Group};
use crate::{Circuit, Gate, Wire};

/// A place that holds one wire's value for a while.
pub type Slot = u32;

/// The order and grouping of gates.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Order {
    /// A step for every layer, so that the number of steps is the AND-depth. For protocols that take a round for each
    /// step.
    Layers,
    /// About the circuit's own order, in which fewer values live at once. A step has at most this many ANDs.
    Runs(usize),
}

/// A gate that each party computes on its own share.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Local {
    /// `out` becomes a xor b.
    Xor {
        /// The slot that is written.
        out: Slot,
        /// The first slot that is read.
        a: Slot,
        /// The second slot that is read.
        b: Slot,
    },
    /// `out` becomes not a.
    Inv {
        /// The slot that is written.
        out: Slot,
        /// The slot that is read.
        a: Slot,
    },
    /// `out` becomes a public bit.
    Constant {
        /// The slot that is written.
        out: Slot,
        /// The bit.
        bit: bool,
    },
}

/// `out` becomes a and b.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct And {
    /// The slot that is written.
    pub out: Slot,
    /// The first slot that is read.
    pub a: Slot,
    /// The second slot that is read.
    pub b: Slot,
}

/// A step: local gates, to be done one after the other, then ANDs that do not depend on each other.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Step<'a> {
    /// The local gates; one may write to a slot that it reads.
    pub local: &'a [Local],
    /// The ANDs; no slot that one writes is read or written by another.
    pub ands: &'a [And],
}

/// A circuit over slots. Input wire i starts in slot i. A clone shares the steps.
#[derive(Clone)]
pub struct Program(Arc<Parts>);

struct Parts {
    inputs: Vec<u32>,
    outputs: Vec<u32>,
    input_wires: u32,
    output_slots: Vec<Slot>,
    slots: u32,
    locals: Vec<Local>,
    ands: Vec<And>,
    /// The ends of each step's local gates and ANDs.
    ends: Vec<(u32, u32)>,
}

impl Program {
    /// Returns the program of a circuit in this order.
    pub fn new(circuit: &Circuit, order: Order) -> Program {
        let groups = match order {
            Order::Layers => schedule::layers(circuit),
            Order::Runs(limit) => schedule::runs(circuit, limit),
        };
        let mut allocator = Allocator::new(circuit, &groups);
        let mut program = Parts {
            inputs: circuit.inputs().to_vec(),
            outputs: circuit.outputs().to_vec(),
            input_wires: circuit.input_wires(),
            output_slots: Vec::new(),
            slots: 0,
            locals: Vec::with_capacity(circuit.len()),
            ands: Vec::new(),
            ends: Vec::with_capacity(groups.len()),
        };
        for group in &groups {
            program.push(group, &mut allocator);
        }
        program.output_slots = circuit.output_wires().iter().map(|&wire| allocator.slot_of(wire)).collect();
        program.slots = allocator.slots;
        Program(Arc::new(program))
    }
}

impl Parts {
    fn push(&mut self, group: &Group, allocator: &mut Allocator) {
        for &(wire, gate) in &group.local {
            self.locals.push(allocator.local(wire, gate));
        }
        let read: Vec<(Slot, Slot)> =
            group.ands.iter().map(|&(_, a, b)| (allocator.slot_of(a), allocator.slot_of(b))).collect();
        // Written slots differ from all slots that the step reads: those are given back only afterwards.
        for (&(wire, ..), (a, b)) in group.ands.iter().zip(read) {
            self.ands.push(And { out: allocator.take(wire), a, b });
        }
        for &(wire, a, b) in &group.ands {
            allocator.give_back(&[Some(a), Some(b)]);
            allocator.give_back_unread(wire);
        }
        self.ends.push((self.locals.len() as u32, self.ands.len() as u32));
    }
}

impl Program {
    /// Returns the widths of the groups of inputs.
    pub fn inputs(&self) -> &[u32] {
        &self.0.inputs
    }

    /// Returns the widths of the groups of outputs.
    pub fn outputs(&self) -> &[u32] {
        &self.0.outputs
    }

    /// Returns the input wires of all groups together; they start in slots 0, 1, ...
    pub fn input_wires(&self) -> usize {
        self.0.input_wires as usize
    }

    /// Returns the slots of the outputs after the last step, group by group.
    pub fn output_slots(&self) -> &[Slot] {
        &self.0.output_slots
    }

    /// Returns the number of slots: the largest number of values alive at once.
    pub fn slots(&self) -> usize {
        self.0.slots as usize
    }

    /// Returns the number of ANDs.
    pub fn and_count(&self) -> u64 {
        self.0.ands.len() as u64
    }

    /// Returns the number of local gates.
    pub fn local_count(&self) -> u64 {
        self.0.locals.len() as u64
    }

    /// Returns the number of steps. With [`Order::Layers`] all steps have ANDs, except perhaps the last.
    pub fn len(&self) -> usize {
        self.0.ends.len()
    }

    /// Returns whether there are no steps: nothing is computed.
    pub fn is_empty(&self) -> bool {
        self.0.ends.is_empty()
    }

    /// Returns step `index`.
    ///
    /// # Panics
    /// Unless there is such a step.
    pub fn step(&self, index: usize) -> Step<'_> {
        let (local, ands) = if index == 0 { (0, 0) } else { self.0.ends[index - 1] };
        let (local_end, ands_end) = self.0.ends[index];
        Step {
            local: &self.0.locals[local as usize..local_end as usize],
            ands: &self.0.ands[ands as usize..ands_end as usize],
        }
    }

    /// Returns the steps in order.
    pub fn steps(&self) -> impl ExactSizeIterator<Item = Step<'_>> {
        (0..self.len()).map(|index| self.step(index))
    }
}

impl std::fmt::Debug for Program {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(
            f,
            "program {:?} -> {:?} of {} steps over {} slots",
            self.0.inputs,
            self.0.outputs,
            self.len(),
            self.0.slots
        )
    }
}

/// Returns the slots of a circuit whose gates run one after another in their own order, like [`Order::Runs`] of one,
/// without making the program. This is the largest number of values alive at once.
pub(crate) fn slots_in_order(circuit: &Circuit) -> u32 {
    let mut reads = vec![0u32; circuit.wires() as usize];
    let read = circuit.gates().flat_map(|(_, gate)| operands(gate)).flatten();
    read.chain(circuit.output_wires().iter().copied()).for_each(|wire| reads[wire as usize] += 1);
    let mut slots = circuit.input_wires();
    let mut free = reads[..slots as usize].iter().filter(|&&reads| reads == 0).count();
    let mut take = |free: &mut usize| match free.checked_sub(1) {
        Some(left) => *free = left,
        None => slots += 1,
    };
    for (wire, gate) in circuit.gates() {
        let is_and = matches!(gate, Gate::And(..));
        if is_and {
            take(&mut free); // before its operands are freed, as for everything that a step writes
        }
        for from in operands(gate).into_iter().flatten() {
            reads[from as usize] -= 1;
            free += usize::from(reads[from as usize] == 0);
        }
        if !is_and {
            take(&mut free);
        }
        free += usize::from(reads[wire as usize] == 0);
    }
    slots
}

const NOWHERE: Slot = Slot::MAX;

/// Assigns every wire a slot for as long as it is read.
struct Allocator {
    /// The reads that are left, per wire; an output counts as a read that never happens.
    reads: Vec<u32>,
    slot: Vec<Slot>,
    free: Vec<Slot>,
    slots: u32,
}

impl Allocator {
    fn new(circuit: &Circuit, groups: &[Group]) -> Allocator {
        let mut reads = vec![0u32; circuit.wires() as usize];
        let mut read = |wire: Wire| reads[wire as usize] += 1;
        for group in groups {
            group.local.iter().flat_map(|&(_, gate)| operands(gate)).flatten().for_each(&mut read);
            group.ands.iter().flat_map(|&(_, a, b)| [a, b]).for_each(&mut read);
        }
        circuit.output_wires().iter().copied().for_each(&mut read);
        let inputs = circuit.input_wires();
        let mut slot = vec![NOWHERE; circuit.wires() as usize];
        (0..inputs).for_each(|wire| slot[wire as usize] = wire);
        let free = (0..inputs).rev().filter(|&wire| reads[wire as usize] == 0).collect();
        Allocator { reads, slot, free, slots: inputs }
    }

    fn slot_of(&self, wire: Wire) -> Slot {
        self.slot[wire as usize]
    }

    fn take(&mut self, wire: Wire) -> Slot {
        let slot = self.free.pop().unwrap_or_else(|| {
            self.slots += 1;
            self.slots - 1
        });
        self.slot[wire as usize] = slot;
        slot
    }

    /// Counts one read of each wire as done.
    fn give_back(&mut self, wires: &[Option<Wire>]) {
        for wire in wires.iter().flatten().map(|&wire| wire as usize) {
            self.reads[wire] -= 1;
            if self.reads[wire] == 0 {
                self.free.push(self.slot[wire]);
            }
        }
    }

    /// Frees the slot of a wire that is never read.
    fn give_back_unread(&mut self, wire: Wire) {
        if self.reads[wire as usize] == 0 {
            self.free.push(self.slot[wire as usize]);
        }
    }

    fn local(&mut self, wire: Wire, gate: Gate) -> Local {
        let [a, b] = operands(gate).map(|from| from.map_or(NOWHERE, |from| self.slot_of(from)));
        self.give_back(&operands(gate));
        let out = self.take(wire);
        self.give_back_unread(wire);
        match gate {
            Gate::Xor(..) => Local::Xor { out, a, b },
            Gate::Inv(_) => Local::Inv { out, a },
            Gate::Constant(bit) => Local::Constant { out, bit },
            Gate::And(..) => unreachable!("an AND is not local"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns a circuit of pseudorandom gates, some of them unread.
    fn some_circuit(seed: u64) -> Circuit {
        let mut state = seed;
        let mut below = |limit: u32| {
            state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
            (state >> 33) as u32 % limit
        };
        let inputs = 1 + below(9);
        let gates: Vec<Gate> = (inputs..inputs + below(200))
            .map(|wires| match below(8) {
                0..=2 => Gate::Xor(below(wires), below(wires)),
                3..=5 => Gate::And(below(wires), below(wires)),
                6 => Gate::Inv(below(wires)),
                _ => Gate::Constant(below(2) == 1),
            })
            .collect();
        let outputs: Vec<Wire> = (0..5).map(|_| below(inputs + gates.len() as u32)).collect();
        Circuit::new(vec![inputs], gates, vec![5], outputs).unwrap()
    }

    #[test]
    fn slots_are_counted_without_a_program() {
        for seed in 0..500 {
            let circuit = some_circuit(seed);
            let program = Program::new(&circuit, Order::Runs(1));
            assert_eq!(slots_in_order(&circuit) as usize, program.slots(), "{seed}");
        }
    }
}
