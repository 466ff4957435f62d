//! The live labels: a program's slots, each with the lanes of a batch.

use quorate_circuits::{Local, Program};
use quorate_crypto::{RUN, Run};

use crate::Labels;
use crate::labels::wipe;
use crate::walk::{Batch, Pack};

/// Runs `$body` with `$lanes` as a constant.
macro_rules! with_lanes {
    ($value:expr, $lanes:ident => $body:expr) => {
        match $value {
            1 => {
                const $lanes: usize = 1;
                $body
            }
            2 => {
                const $lanes: usize = 2;
                $body
            }
            4 => {
                const $lanes: usize = 4;
                $body
            }
            8 => {
                const $lanes: usize = 8;
                $body
            }
            _ => {
                const $lanes: usize = RUN;
                $body
            }
        }
    };
}

/// Labels by slot and lane; wiped on drop.
pub(crate) struct Slots {
    blocks: Vec<u128>,
}

impl Slots {
    /// Makes room for a program's slots in `instances` instances.
    pub fn new(program: &Program, instances: usize) -> Slots {
        let lanes = instances.min(RUN).next_power_of_two();
        Slots { blocks: vec![0; program.slots() * lanes] }
    }

    /// Copies a batch of `inputs` to the first slots.
    pub fn load(&mut self, inputs: &Labels, batch: Batch) {
        for (wire, slot) in (0..inputs.wires()).zip(self.blocks.chunks_exact_mut(batch.lanes)) {
            let from = &inputs.wire(wire)[batch.first..batch.first + batch.live];
            slot[..batch.live].copy_from_slice(from);
        }
    }

    /// Copies a batch of `outputs`, from their instance `first` on, from its slots.
    pub fn store(&self, program: &Program, outputs: &mut Labels, batch: Batch, first: usize) {
        for (wire, &slot) in program.output_slots().iter().enumerate() {
            let from = &self.blocks[slot as usize * batch.lanes..][..batch.live];
            outputs.wire_mut(wire)[first..first + batch.live].copy_from_slice(from);
        }
    }

    /// Runs local gates. An inverter adds `delta`, and so does the constant 1. The evaluator, whose `delta` is 0,
    /// copies a label for an inverter, and holds the label 0 for a constant.
    pub fn local(&mut self, gates: &[Local], batch: Batch, delta: u128) {
        with_lanes!(batch.lanes, LANES => self.local_in::<LANES>(gates, delta));
    }

    fn local_in<const LANES: usize>(&mut self, gates: &[Local], delta: u128) {
        let (slots, _) = self.blocks.as_chunks_mut::<LANES>();
        for gate in gates {
            match *gate {
                Local::Xor { out, a, b } => {
                    let (a, b) = (slots[a as usize], slots[b as usize]);
                    slots[out as usize] = std::array::from_fn(|lane| a[lane] ^ b[lane]);
                }
                Local::Inv { out, a } => slots[out as usize] = slots[a as usize].map(|label| label ^ delta),
                Local::Constant { out, bit } => slots[out as usize] = [if bit { delta } else { 0 }; LANES],
            }
        }
    }

    /// Passes the labels that a pack reads, all first ones and all second ones, to `compute`, and writes its results.
    #[inline]
    pub fn ands(&mut self, pack: &Pack, compute: impl FnOnce([&Run; 2], &mut Run)) {
        let mut out = [0; RUN];
        if pack.batch.lanes == RUN {
            let (slots, _) = self.blocks.as_chunks_mut::<RUN>();
            let [and] = pack.ands else { unreachable!("16 lanes of a gate are a pack") };
            compute([&slots[and.a as usize], &slots[and.b as usize]], &mut out);
            slots[and.out as usize] = out;
        } else {
            let [a, b] = with_lanes!(pack.batch.lanes, LANES => self.gather::<LANES>(pack));
            compute([&a, &b], &mut out);
            with_lanes!(pack.batch.lanes, LANES => self.scatter::<LANES>(pack, &out));
        }
    }

    fn gather<const LANES: usize>(&self, pack: &Pack) -> [Run; 2] {
        let (slots, _) = self.blocks.as_chunks::<LANES>();
        let mut read = [[0; RUN]; 2];
        let [first, second] = &mut read;
        for ((and, a), b) in pack.ands.iter().zip(first.as_chunks_mut().0).zip(second.as_chunks_mut().0) {
            (*a, *b) = (slots[and.a as usize], slots[and.b as usize]);
        }
        read
    }

    fn scatter<const LANES: usize>(&mut self, pack: &Pack, labels: &Run) {
        let (slots, _) = self.blocks.as_chunks_mut::<LANES>();
        for (and, labels) in pack.ands.iter().zip(labels.as_chunks().0) {
            slots[and.out as usize] = *labels;
        }
    }
}

impl Drop for Slots {
    fn drop(&mut self) {
        wipe(&mut self.blocks);
    }
}
