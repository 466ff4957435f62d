//! What Yao's sharing costs, as formulas. Tests hold these, dry runs and the wire equal.

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
    /// Labels of inputs, which are made before.
    pub input_labels: usize,
    /// Where circuits are garbled ahead, labels of what enters them, each of which is sent.
    pub entry_labels: usize,
    /// Tables of their ANDs.
    pub tables: usize,
}

/// The evaluator's bits of a matrix, chunk by chunk.
fn of_evaluator(rows: usize, lanes: usize) -> Cost {
    let bytes =
        |chunks: Chunks| (0..chunks.count()).map(move |i| Bits::packed_bytes(rows, chunks.range(i).len()) as u64);
    let sent = bytes(inputs::chunks(lanes, rows)).sum();
    Cost { rounds: [u32::from(rows * lanes > 0), 0], sent: [0, sent], input_labels: rows * lanes, ..Cost::default() }
}

/// So many labels from the garbler, which drew those of 0 ahead.
fn sent_labels(mut cost: Cost, count: usize) -> Cost {
    cost.sent[GARBLER] += (count * LABEL_BYTES) as u64;
    cost.entry_labels += count;
    cost.rounds[EVALUATOR] = if count > 0 { cost.rounds[GARBLER] + 1 } else { 0 };
    cost
}

/// Sharing bits that `owner` knows.
pub fn input_labels(owner: usize, rows: usize, lanes: usize, garbling: Garbling) -> Cost {
    match (owner, garbling) {
        (GARBLER, Garbling::Streamed) => Cost::default(),
        (GARBLER, Garbling::Ahead) => sent_labels(Cost::default(), rows * lanes),
        _ => bits_to_labels(rows, lanes, garbling),
    }
}

/// B2Y.
pub fn bits_to_labels(rows: usize, lanes: usize, garbling: Garbling) -> Cost {
    match garbling {
        Garbling::Streamed => of_evaluator(rows, lanes),
        Garbling::Ahead => sent_labels(of_evaluator(rows, lanes), rows * lanes),
    }
}

/// A2Y.
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

/// A garbled circuit.
pub fn garble(program: &Program, instances: usize, garbling: Garbling) -> Cost {
    let bytes = table_bytes(program, instances);
    match garbling {
        Garbling::Streamed => Cost { rounds: [0, u32::from(bytes > 0)], sent: [bytes, 0], ..Cost::default() },
        Garbling::Ahead => Cost { tables: bytes as usize / TABLE_BYTES, ..Cost::default() },
    }
}
