//! What Yao's sharing costs, as formulas. Tests hold these, dry runs and the wire equal.

use quorate_circuits::Program;
use quorate_engine::Chunks;
use quorate_garble::table_bytes;
use quorate_ring::{Bits, Ring};

use crate::yao::{EVALUATOR, GARBLER, inputs};

/// Rounds and bytes by party; party 0 garbles.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Cost {
    /// The rounds after which each party is done.
    pub rounds: [u32; 2],
    /// Payload bytes that each sends.
    pub sent: [u64; 2],
    /// Labels of inputs, which are made before.
    pub input_labels: usize,
}

/// The evaluator's bits of a matrix, chunk by chunk.
fn of_evaluator(rows: usize, lanes: usize) -> Cost {
    let bytes =
        |chunks: Chunks| (0..chunks.count()).map(move |i| Bits::packed_bytes(rows, chunks.range(i).len()) as u64);
    let sent = bytes(inputs::chunks(lanes, rows)).sum();
    Cost { rounds: [u32::from(rows * lanes > 0), 0], sent: [0, sent], input_labels: rows * lanes }
}

/// Sharing bits that `owner` knows.
pub fn input_labels(owner: usize, rows: usize, lanes: usize) -> Cost {
    if owner == GARBLER { Cost::default() } else { of_evaluator(rows, lanes) }
}

/// B2Y.
pub fn bits_to_labels(rows: usize, lanes: usize) -> Cost {
    of_evaluator(rows, lanes)
}

/// A2Y.
pub fn ring_to_labels(ring: Ring, len: usize) -> Cost {
    let mut cost = of_evaluator(ring.bits() as usize, len);
    if ring.bits() > 1 && len > 0 {
        cost.sent[GARBLER] = table_bytes(&inputs::adder(ring.bits()), len);
        cost.rounds[EVALUATOR] = cost.rounds[GARBLER] + 1;
    }
    cost
}

/// A garbled circuit.
pub fn garble(program: &Program, instances: usize) -> Cost {
    let tables = table_bytes(program, instances);
    Cost { rounds: [0, u32::from(tables > 0)], sent: [tables, 0], input_labels: 0 }
}
