//! The costs of Yao's sharing, by formula. Tests check that formulas, dry runs and messages agree.

use quorate_circuits::Program;
use quorate_engine::Chunks;
use quorate_garble::{LABEL_BYTES, TABLE_BYTES, table_bytes};
use quorate_ring::{Bits, Ring};

use crate::yao::{EVALUATOR, GARBLER, Garbling, inputs};

/// Rounds and bytes by party; party 0 garbles.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Cost {
    /// The rounds after which each party is done.
    pub rounds: [u32; 2],
    /// Payload bytes that each sends.
    pub sent: [u64; 2],
    /// The number of labels of inputs, which are made before.
    pub input_labels: usize,
    /// If circuits are garbled ahead, the number of labels of bits that enter them; each label is sent.
    pub entry_labels: usize,
    /// The number of tables of their ANDs.
    pub tables: usize,
}

/// Returns the cost of sending the evaluator's bits of a matrix, chunk by chunk.
fn of_evaluator(rows: usize, lanes: usize) -> Cost {
    let bytes =
        |chunks: Chunks| (0..chunks.count()).map(move |i| Bits::packed_bytes(rows, chunks.range(i).len()) as u64);
    let sent = bytes(inputs::chunks(lanes, rows)).sum();
    Cost { rounds: [u32::from(rows * lanes > 0), 0], sent: [0, sent], input_labels: rows * lanes, ..Cost::default() }
}

/// Adds the cost of `count` labels from the garbler, which drew the labels of 0 ahead.
fn sent_labels(mut cost: Cost, count: usize) -> Cost {
    cost.sent[GARBLER] += (count * LABEL_BYTES) as u64;
    cost.entry_labels += count;
    cost.rounds[EVALUATOR] = if count > 0 { cost.rounds[GARBLER] + 1 } else { 0 };
    cost
}

/// Returns the cost of sharing bits that `owner` knows.
pub fn input_labels(owner: usize, rows: usize, lanes: usize, garbling: Garbling) -> Cost {
    match (owner, garbling) {
        (GARBLER, Garbling::Streamed) => Cost::default(),
        (GARBLER, Garbling::Ahead) => sent_labels(Cost::default(), rows * lanes),
        _ => bits_to_labels(rows, lanes, garbling),
    }
}

/// Returns the cost of B2Y.
pub fn bits_to_labels(rows: usize, lanes: usize, garbling: Garbling) -> Cost {
    match garbling {
        Garbling::Streamed => of_evaluator(rows, lanes),
        Garbling::Ahead => sent_labels(of_evaluator(rows, lanes), rows * lanes),
    }
}

/// Returns the cost of A2Y.
pub fn ring_to_labels(ring: Ring, len: usize, garbling: Garbling) -> Cost {
    let rows = ring.bits() as usize;
    if rows == 1 || len == 0 {
        return bits_to_labels(rows, len, garbling);
    }
    let mut cost = of_evaluator(rows, len);
    let adder = garble(inputs::adder(ring.bits()), len, garbling);
    if garbling == Garbling::Ahead {
        return Cost { tables: adder.tables, ..sent_labels(cost, rows * len) };
    }
    cost.sent[GARBLER] = adder.sent[GARBLER];
    cost.rounds[EVALUATOR] = cost.rounds[GARBLER] + 1;
    cost
}

/// Returns the cost of a garbled circuit.
pub fn garble(program: &Program, instances: usize, garbling: Garbling) -> Cost {
    let bytes = table_bytes(program, instances);
    match garbling {
        Garbling::Streamed => Cost { rounds: [0, u32::from(bytes > 0)], sent: [bytes, 0], ..Cost::default() },
        Garbling::Ahead => Cost { tables: bytes as usize / TABLE_BYTES, ..Cost::default() },
    }
}
