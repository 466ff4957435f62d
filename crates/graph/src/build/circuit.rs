//! Boolean circuits as operations: a batch of bits in, a batch of bits out.

use std::sync::Arc;

use quorate_circuits::Circuit;

use super::{Builder, Operand};
use crate::dtype::Dtype;
use crate::error::Fault;
use crate::node::{NodeId, Op};
use crate::shape;

impl Builder<'_> {
    pub(super) fn build_circuit(&mut self, circuit: &Arc<Circuit>, inputs: &[Operand<'_>]) -> Result<NodeId, Fault> {
        let widths = circuit.inputs();
        if inputs.len() != widths.len() {
            return Err(Fault::CircuitInputs { given: inputs.len(), wanted: widths.to_vec() });
        }
        let (mut operands, mut batch) = (Vec::with_capacity(inputs.len()), Vec::new());
        for (position, (&input, &width)) in inputs.iter().zip(widths).enumerate() {
            let dtype = match input {
                Operand::Node(id) => self.graph.get(id)?.dtype,
                Operand::Ints { .. } => Dtype::Bit, // public 0s and 1s; no other numbers fit
                Operand::Reals { .. } => Dtype::FIXED64,
            };
            if dtype != Dtype::Bit {
                return Err(Fault::CircuitBits { position, dtype });
            }
            let given = self.shape_of(input)?;
            let Some((_, leading)) = given.split_last().filter(|(last, _)| **last == width as usize) else {
                return Err(Fault::CircuitWidth { position, shape: given.as_slice().into(), width });
            };
            batch = shape::broadcast(&batch, leading)?;
            operands.push((self.place(input, dtype, &given)?, width as usize));
        }
        let with = |last: usize| batch.iter().copied().chain([last]).collect::<Vec<_>>();
        let whole = |(id, width): (NodeId, usize)| self.broadcast_node(id, &with(width));
        let operands = operands.into_iter().map(whole).collect::<Result<_, _>>()?;
        let to = with(circuit.output_wires().len());
        shape::elements(&to)?;
        self.graph.push(Op::Circuit(circuit.clone()), operands, to, Dtype::Bit, &self.at)
    }
}
