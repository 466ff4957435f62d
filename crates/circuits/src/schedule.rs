//! The order of gates: by layers, or in short runs of independent ANDs.

use std::collections::VecDeque;

use crate::circuit::operands;
use crate::{Circuit, Gate, Wire};

/// Local gates in order, and ANDs that do not depend on each other.
#[derive(Default)]
pub(crate) struct Group {
    pub local: Vec<(Wire, Gate)>,
    pub ands: Vec<(Wire, Wire, Wire)>,
}

/// The largest number of gates that wait for a run to end: enough to look ahead, few enough to visit again and again.
const WAITING: usize = 256;

/// Returns one group for each AND-depth: the local gates at that depth, then the ANDs that lead to the next.
pub(crate) fn layers(circuit: &Circuit) -> Vec<Group> {
    let depths = circuit.depths();
    let mut groups: Vec<Group> = Vec::new();
    for (wire, gate) in circuit.gates() {
        let depth = depths[wire as usize] as usize;
        let at = if matches!(gate, Gate::And(..)) { depth - 1 } else { depth };
        if groups.len() <= at {
            groups.resize_with(at + 1, Group::default);
        }
        match gate {
            Gate::And(a, b) => groups[at].ands.push((wire, a, b)),
            local => groups[at].local.push((wire, local)),
        }
    }
    groups
}

/// Returns runs of at most `limit` ANDs, in about the order of the circuit. Gates that need a run's results wait until
/// it is full, and others go before them.
pub(crate) fn runs(circuit: &Circuit, limit: usize) -> Vec<Group> {
    let mut runs = Runs {
        limit: limit.max(1),
        blocked: vec![false; circuit.wires() as usize],
        waiting: VecDeque::new(),
        current: Group::default(),
        done: Vec::new(),
    };
    for (wire, gate) in circuit.gates() {
        runs.visit(wire, gate);
        while runs.current.ands.len() >= runs.limit || runs.waiting.len() > WAITING {
            runs.end_run();
        }
    }
    while !runs.waiting.is_empty() || !runs.current.ands.is_empty() || !runs.current.local.is_empty() {
        runs.end_run();
    }
    runs.done
}

struct Runs {
    limit: usize,
    /// Wires whose gate is in the current run's ANDs or waits for it.
    blocked: Vec<bool>,
    waiting: VecDeque<(Wire, Gate)>,
    current: Group,
    done: Vec<Group>,
}

impl Runs {
    fn visit(&mut self, wire: Wire, gate: Gate) {
        let blocked = operands(gate).into_iter().flatten().any(|from| self.blocked[from as usize]);
        match gate {
            Gate::And(a, b) if !blocked && self.current.ands.len() < self.limit => self.current.ands.push((wire, a, b)),
            Gate::Xor(..) | Gate::Inv(_) | Gate::Constant(_) if !blocked => {
                return self.current.local.push((wire, gate));
            }
            _ => self.waiting.push_back((wire, gate)),
        }
        self.blocked[wire as usize] = true;
    }

    /// Closes the run and visits the gates that waited for it, in order.
    fn end_run(&mut self) {
        let run = std::mem::take(&mut self.current);
        run.ands.iter().for_each(|&(wire, ..)| self.blocked[wire as usize] = false);
        self.done.push(run);
        for (wire, gate) in std::mem::take(&mut self.waiting) {
            self.blocked[wire as usize] = false;
            self.visit(wire, gate);
        }
    }
}
