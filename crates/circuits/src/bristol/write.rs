//! The writer of Bristol Fashion.

use std::fmt::Write;

use crate::{Circuit, Gate, Wire};

/// Returns the circuit in Bristol Fashion. Reading it gives the same circuit.
///
/// In a file, outputs are the last wires: an output that is an input, or occurs twice, becomes a copy (EQW).
pub fn write_fashion(circuit: &Circuit) -> String {
    let names = Names::new(circuit);
    let mut text = String::with_capacity(32 * circuit.len() + 64);
    let mut line = |arguments: std::fmt::Arguments| {
        text.write_fmt(arguments).and_then(|()| text.write_char('\n')).expect("a string takes all text");
    };
    line(format_args!("{} {}", circuit.len() + names.copies.len(), names.wires));
    for groups in [circuit.inputs(), circuit.outputs()] {
        let widths: String = groups.iter().map(|width| format!(" {width}")).collect();
        line(format_args!("{}{widths}", groups.len()));
    }
    line(format_args!(""));
    let name = |wire: Wire| names.names[wire as usize];
    for (wire, gate) in circuit.gates() {
        let out = name(wire);
        match gate {
            Gate::Xor(a, b) => line(format_args!("2 1 {} {} {out} XOR", name(a), name(b))),
            Gate::And(a, b) => line(format_args!("2 1 {} {} {out} AND", name(a), name(b))),
            Gate::Inv(a) => line(format_args!("1 1 {} {out} INV", name(a))),
            Gate::Constant(bit) => line(format_args!("1 1 {} {out} EQ", u8::from(bit))),
        }
    }
    for &(from, out) in &names.copies {
        line(format_args!("1 1 {} {out} EQW", name(from)));
    }
    text
}

/// The file's numbers for the wires.
struct Names {
    names: Vec<u64>,
    /// Outputs that are copies of a wire.
    copies: Vec<(Wire, u64)>,
    wires: u64,
}

impl Names {
    fn new(circuit: &Circuit) -> Names {
        const UNNAMED: u64 = u64::MAX;
        let inputs = u64::from(circuit.input_wires());
        let mut names: Vec<u64> = (0..inputs).collect();
        names.resize(circuit.wires() as usize, UNNAMED);
        let outputs = circuit.output_wires();
        // Outputs are numbered from 0 until the number of wires before them is known.
        let mut copies = Vec::new();
        let mut last = vec![false; names.len()];
        for (i, &wire) in outputs.iter().enumerate() {
            if u64::from(wire) < inputs || last[wire as usize] {
                copies.push((wire, i as u64));
            } else {
                (last[wire as usize], names[wire as usize]) = (true, i as u64);
            }
        }
        let wires = circuit.wires() + copies.len() as u64;
        let first_output = wires - outputs.len() as u64;
        let mut next = inputs;
        for (name, last) in names.iter_mut().zip(last).skip(inputs as usize) {
            if last {
                *name += first_output;
            } else {
                *name = next;
                next += 1;
            }
        }
        copies.iter_mut().for_each(|(_, name)| *name += first_output);
        Names { names, copies, wires }
    }
}
