//! Evaluation of circuits in the clear, for many instances at once: bit-sliced, with a word for 64 instances of every
//! wire.

use quorate_ring::Bits;

use crate::program::Local;
use crate::{Circuit, CircuitError, Order, Program};

/// Words of 64 instances that are processed together: one cache line for every slot.
const WORDS: usize = 8;

type Value = [u64; WORDS];

impl Circuit {
    /// Returns the outputs for these inputs: row i is wire i of the inputs or outputs, a lane is an instance.
    ///
    /// # Errors
    /// [`CircuitError::Inputs`] unless there is a row for every input wire.
    pub fn evaluate(&self, inputs: &Bits) -> Result<Bits, CircuitError> {
        Program::new(self, Order::Runs(1)).evaluate(inputs)
    }
}

impl Program {
    /// Returns the outputs for these inputs: row i is wire i of the inputs or outputs, a lane is an instance. Unlike
    /// [`Circuit::evaluate`], it does not have to order the gates.
    ///
    /// # Errors
    /// [`CircuitError::Inputs`] unless there is a row for every input wire.
    pub fn evaluate(&self, inputs: &Bits) -> Result<Bits, CircuitError> {
        if inputs.rows() != self.input_wires() {
            return Err(CircuitError::Inputs { expected: self.input_wires(), got: inputs.rows() });
        }
        let (rows, lanes) = (self.output_slots().len(), inputs.lanes());
        if inputs.is_shape() {
            return Ok(Bits::shape(rows, lanes));
        }
        let mut outputs = Bits::zeros(rows, lanes);
        let mut slots = vec![[0; WORDS]; self.slots()];
        for first in (0..lanes.div_ceil(64)).step_by(WORDS) {
            let count = (lanes.div_ceil(64) - first).min(WORDS);
            for (row, slot) in slots[..self.input_wires()].iter_mut().enumerate() {
                slot[..count].copy_from_slice(&inputs.words_of(row)[first..first + count]);
            }
            self.run(&mut slots);
            for (row, &slot) in self.output_slots().iter().enumerate() {
                outputs.words_of_mut(row)[first..first + count].copy_from_slice(&slots[slot as usize][..count]);
            }
        }
        Ok(outputs)
    }

    fn run(&self, slots: &mut [Value]) {
        for step in self.steps() {
            for local in step.local {
                match *local {
                    Local::Xor { out, a, b } => slots[out as usize] = zip(slots, a, b, |a, b| a ^ b),
                    Local::Inv { out, a } => slots[out as usize] = zip(slots, a, a, |a, _| !a),
                    Local::Constant { out, bit } => slots[out as usize] = [if bit { u64::MAX } else { 0 }; WORDS],
                }
            }
            for and in step.ands {
                slots[and.out as usize] = zip(slots, and.a, and.b, |a, b| a & b);
            }
        }
    }
}

#[inline(always)]
fn zip(slots: &[Value], a: u32, b: u32, apply: impl Fn(u64, u64) -> u64) -> Value {
    let (a, b) = (&slots[a as usize], &slots[b as usize]);
    std::array::from_fn(|i| apply(a[i], b[i]))
}
