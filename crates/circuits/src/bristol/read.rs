//! The reader: it checks the header against the text, then reads a line for each gate.

use std::cmp::Ordering;

use super::lines::{Lines, Words};
use crate::circuit::{MAX_PORT_WIRES, MAX_WIRES};
use crate::{Circuit, CircuitError, Field, Gate, Wire};

/// The format of a text.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Format {
    Old,
    Fashion,
}

/// The shortest gate, with the end of its line: `1 1 0 1 EQ`.
const SHORTEST_GATE_BYTES: u64 = 11;

/// The shortest number, with the space after it.
const SHORTEST_NUMBER_BYTES: u64 = 2;

struct Header {
    gates: u64,
    wires: u64,
    inputs: Vec<u32>,
    outputs: Vec<u32>,
}

pub(super) fn circuit(text: &[u8], format: Format) -> Result<Circuit, CircuitError> {
    let mut lines = Lines::new(text);
    let header = header(&mut lines, format)?;
    let circuit = Circuit::open(header.inputs)?;
    let written = vec![UNWRITTEN; (header.wires - u64::from(circuit.input_wires())) as usize];
    let mut reader = Reader { format, circuit, wires: header.wires, written };
    let mut found = 0;
    let mut last_line = 0;
    while found < header.gates {
        let words = lines.expect(Field::Gate)?;
        last_line = words.line;
        reader.gate(words)?;
        found += 1;
    }
    while let Some(words) = lines.next()? {
        last_line = words.line;
        found += 1;
    }
    if found != header.gates {
        return Err(CircuitError::WrongCount { line: last_line, field: Field::Gates, promised: header.gates, found });
    }
    reader.close(header.outputs, last_line)
}

fn header(lines: &mut Lines, format: Format) -> Result<Header, CircuitError> {
    let mut words = lines.expect(Field::Gates)?;
    let line = words.line;
    let (gates, wires) = (words.number(Field::Gates)?, words.bounded(Field::Wires, MAX_WIRES)?);
    words.end()?;
    let (mut inputs, outputs) = match format {
        Format::Fashion => (
            groups(lines, Field::InputGroups, Field::InputWidth)?,
            groups(lines, Field::OutputGroups, Field::OutputWidth)?,
        ),
        Format::Old => {
            let mut words = lines.expect(Field::InputWidth)?;
            let inputs = vec![width(&mut words, Field::InputWidth)?, width(&mut words, Field::InputWidth)?];
            let outputs = vec![width(&mut words, Field::OutputWidth)?];
            words.end()?;
            (inputs, outputs)
        }
    };
    // Groups without wires take no values.
    inputs.retain(|&width| width > 0);
    for (field, widths) in [(Field::InputWidth, &inputs), (Field::OutputWidth, &outputs)] {
        let ports: u64 = widths.iter().map(|&width| u64::from(width)).sum();
        if ports > MAX_PORT_WIRES {
            return Err(CircuitError::TooLarge { line, field, got: ports, limit: MAX_PORT_WIRES });
        }
        if ports > wires {
            return Err(CircuitError::WrongCount { line, field: Field::Wires, promised: wires, found: ports });
        }
    }
    let left = lines.bytes_left() + 1;
    let written = wires - inputs.iter().map(|&width| u64::from(width)).sum::<u64>();
    for (field, got, room) in
        [(Field::Gates, gates, left / SHORTEST_GATE_BYTES), (Field::Wires, written, left / SHORTEST_NUMBER_BYTES)]
    {
        if got > room {
            return Err(CircuitError::Unfounded { line, field, got, room });
        }
    }
    Ok(Header { gates, wires, inputs, outputs })
}

/// Reads a line `count width...`.
fn groups(lines: &mut Lines, count: Field, each: Field) -> Result<Vec<u32>, CircuitError> {
    let mut words = lines.expect(count)?;
    let promised = words.number(count)?;
    let found = words.count();
    if promised != found {
        return Err(CircuitError::WrongCount { line: words.line, field: count, promised, found });
    }
    (0..found).map(|_| width(&mut words, each)).collect()
}

fn width(words: &mut Words, field: Field) -> Result<u32, CircuitError> {
    Ok(words.bounded(field, MAX_PORT_WIRES)? as u32)
}

const UNWRITTEN: Wire = Wire::MAX;

struct Reader {
    format: Format,
    circuit: Circuit,
    wires: u64,
    /// The circuit's wire for each of the file's wires after the inputs.
    written: Vec<Wire>,
}

impl Reader {
    fn gate(&mut self, mut words: Words) -> Result<(), CircuitError> {
        let line = words.line;
        let name = words.last();
        let inputs = words.number(Field::GateInputs)?;
        let outputs = words.number(Field::GateOutputs)?;
        let known = match (self.format, name) {
            (_, b"XOR" | b"AND") => (inputs, outputs) == (2, 1),
            (_, b"INV") | (Format::Fashion, b"EQ" | b"EQW") => (inputs, outputs) == (1, 1),
            (Format::Fashion, b"MAND") => outputs > 0 && outputs.checked_mul(2) == Some(inputs),
            (Format::Fashion, _) => {
                return Err(CircuitError::UnknownGate { line, known: "XOR, AND, INV, EQ, EQW and MAND" });
            }
            (Format::Old, _) => return Err(CircuitError::UnknownGate { line, known: "XOR, AND and INV" }),
        };
        if !known {
            return Err(CircuitError::Arity { line, inputs, outputs });
        }
        match (words.count() - 1).cmp(&inputs.saturating_add(outputs)) {
            Ordering::Less => return Err(CircuitError::ShortLine { line, expected: Field::Wire }),
            Ordering::Greater => return Err(CircuitError::Trailing { line }),
            Ordering::Equal => {}
        }
        match name {
            b"MAND" => self.many_ands(&mut words, outputs),
            _ => self.single(&mut words, name),
        }
    }

    fn single(&mut self, words: &mut Words, name: &[u8]) -> Result<(), CircuitError> {
        let ours = match name {
            b"XOR" => {
                let (a, b) = (self.read(words)?, self.read(words)?);
                self.circuit.push(Gate::Xor(a, b))?
            }
            b"AND" => {
                let (a, b) = (self.read(words)?, self.read(words)?);
                self.circuit.push(Gate::And(a, b))?
            }
            b"INV" => {
                let a = self.read(words)?;
                self.circuit.push(Gate::Inv(a))?
            }
            b"EQ" => {
                let got = words.number(Field::Constant)?;
                if got > 1 {
                    return Err(CircuitError::Constant { line: words.line, got });
                }
                self.circuit.push(Gate::Constant(got == 1))?
            }
            // EQW.
            _ => self.read(words)?,
        };
        self.write(words, ours)
    }

    fn many_ands(&mut self, words: &mut Words, count: u64) -> Result<(), CircuitError> {
        let mut first = Vec::new();
        for _ in 0..count {
            first.push(self.read(words)?);
        }
        let mut ours = Vec::new();
        for a in first {
            let b = self.read(words)?;
            ours.push(self.circuit.push(Gate::And(a, b))?);
        }
        ours.into_iter().try_for_each(|ours| self.write(words, ours))
    }

    /// Reads the number of the next wire, which must have been written. Returns the circuit's wire.
    fn read(&self, words: &mut Words) -> Result<Wire, CircuitError> {
        let wire = self.wire(words)?;
        let inputs = u64::from(self.circuit.input_wires());
        if wire < inputs {
            return Ok(wire as Wire);
        }
        match self.written[(wire - inputs) as usize] {
            UNWRITTEN => Err(CircuitError::ReadBeforeWritten { line: words.line, wire }),
            ours => Ok(ours),
        }
    }

    /// Reads the number of the next wire, which must be new, and maps it to the circuit's wire.
    fn write(&mut self, words: &mut Words, ours: Wire) -> Result<(), CircuitError> {
        let wire = self.wire(words)?;
        let place = wire.checked_sub(self.circuit.input_wires().into());
        match place.map(|place| &mut self.written[place as usize]) {
            Some(place) if *place == UNWRITTEN => *place = ours,
            _ => return Err(CircuitError::WrittenTwice { line: words.line, wire }),
        }
        Ok(())
    }

    fn wire(&self, words: &mut Words) -> Result<u64, CircuitError> {
        let wire = words.number(Field::Wire)?;
        match wire < self.wires {
            true => Ok(wire),
            false => Err(CircuitError::NoSuchWire { line: words.line, wire, wires: self.wires }),
        }
    }

    fn close(self, outputs: Vec<u32>, line: u64) -> Result<Circuit, CircuitError> {
        let inputs = u64::from(self.circuit.input_wires());
        let missing = self.written.iter().filter(|&&ours| ours == UNWRITTEN).count() as u64;
        if missing > 0 {
            let found = self.wires - missing;
            return Err(CircuitError::WrongCount { line, field: Field::Wires, promised: self.wires, found });
        }
        let count: u64 = outputs.iter().map(|&width| u64::from(width)).sum();
        let ours = |wire: u64| match wire.checked_sub(inputs) {
            None => wire as Wire,
            Some(place) => self.written[place as usize],
        };
        let output_wires = (self.wires - count..self.wires).map(ours).collect();
        self.circuit.close(outputs, output_wires)
    }
}
