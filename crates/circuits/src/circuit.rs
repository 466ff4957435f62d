//! A Boolean circuit: gates in topological order, eight bytes each.

use crate::CircuitError;

/// The number of a wire. The inputs come first, in the order of their groups; then every gate writes the next wire.
pub type Wire = u32;

/// The largest number of wires of a circuit.
pub const MAX_WIRES: u64 = 1 << 30;
/// The largest number of input wires, and of output wires.
pub const MAX_PORT_WIRES: u64 = 1 << 24;

/// The function of a gate. In a protocol only `And` has costs.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Gate {
    /// a xor b.
    Xor(Wire, Wire),
    /// a and b.
    And(Wire, Wire),
    /// not a.
    Inv(Wire),
    /// A public bit.
    Constant(bool),
}

/// A gate in eight bytes: two bits of type, thirty of wire, and the second wire.
#[derive(Clone, Copy, PartialEq, Eq)]
struct Packed {
    kind_a: u32,
    b: u32,
}

const WIRE_BITS: u32 = 30;

impl Packed {
    fn new(gate: Gate) -> Packed {
        let (kind, a, b) = match gate {
            Gate::Xor(a, b) => (0, a, b),
            Gate::And(a, b) => (1, a, b),
            Gate::Inv(a) => (2, a, 0),
            Gate::Constant(bit) => (3, 0, u32::from(bit)),
        };
        Packed { kind_a: kind << WIRE_BITS | a, b }
    }

    fn gate(self) -> Gate {
        let a = self.kind_a & ((1 << WIRE_BITS) - 1);
        match self.kind_a >> WIRE_BITS {
            0 => Gate::Xor(a, self.b),
            1 => Gate::And(a, self.b),
            2 => Gate::Inv(a),
            _ => Gate::Constant(self.b == 1),
        }
    }
}

/// The number of gates of each type.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Counts {
    /// AND gates: the costs of a protocol.
    pub and: u64,
    /// XOR gates.
    pub xor: u64,
    /// Inverters.
    pub inv: u64,
    /// Constants.
    pub constant: u64,
}

/// A Boolean circuit.
#[derive(Clone, PartialEq, Eq)]
pub struct Circuit {
    inputs: Vec<u32>,
    outputs: Vec<u32>,
    input_wires: u32,
    gates: Vec<Packed>,
    output_wires: Vec<Wire>,
}

impl Circuit {
    /// Creates a circuit of these gates, and checks it. Gate i writes wire (sum of `inputs`) + i and reads lower ones;
    /// `outputs` has the widths of the groups of `output_wires`.
    ///
    /// # Errors
    /// [`CircuitError::TooManyWires`], [`CircuitError::Groups`], [`CircuitError::Dangling`].
    pub fn new(
        inputs: Vec<u32>,
        gates: impl IntoIterator<Item = Gate>,
        outputs: Vec<u32>,
        output_wires: Vec<Wire>,
    ) -> Result<Circuit, CircuitError> {
        let mut circuit = Circuit::open(inputs)?;
        for gate in gates {
            circuit.push(gate)?;
        }
        circuit.close(outputs, output_wires)
    }

    /// Creates a circuit that has only its inputs yet.
    pub(crate) fn open(inputs: Vec<u32>) -> Result<Circuit, CircuitError> {
        let input_wires = port_wires(&inputs)?;
        Ok(Circuit { inputs, outputs: Vec::new(), input_wires, gates: Vec::new(), output_wires: Vec::new() })
    }

    /// Sets the outputs.
    pub(crate) fn close(mut self, outputs: Vec<u32>, output_wires: Vec<Wire>) -> Result<Circuit, CircuitError> {
        let groups = u64::from(port_wires(&outputs)?);
        if groups != output_wires.len() as u64 {
            return Err(CircuitError::Groups { groups, wires: output_wires.len() as u64 });
        }
        let wires = self.wires();
        if let Some(&wire) = output_wires.iter().find(|&&wire| u64::from(wire) >= wires) {
            return Err(CircuitError::Dangling { gate: None, wire: wire.into(), wires });
        }
        self.gates.shrink_to_fit();
        (self.outputs, self.output_wires) = (outputs, output_wires);
        Ok(self)
    }

    /// Adds a gate. Returns the wire that it writes.
    pub(crate) fn push(&mut self, gate: Gate) -> Result<Wire, CircuitError> {
        let wires = self.wires();
        if wires >= MAX_WIRES {
            return Err(CircuitError::TooManyWires { wires: wires + 1, limit: MAX_WIRES });
        }
        match operands(gate).into_iter().flatten().find(|&wire| u64::from(wire) >= wires) {
            Some(wire) => Err(CircuitError::Dangling { gate: Some(self.gates.len() as u64), wire: wire.into(), wires }),
            None => {
                self.gates.push(Packed::new(gate));
                Ok(wires as Wire)
            }
        }
    }

    /// Returns the widths of the groups of inputs.
    pub fn inputs(&self) -> &[u32] {
        &self.inputs
    }

    /// Returns the widths of the groups of outputs.
    pub fn outputs(&self) -> &[u32] {
        &self.outputs
    }

    /// Returns the input wires of all groups together; they are wires 0, 1, ...
    pub fn input_wires(&self) -> u32 {
        self.input_wires
    }

    /// Returns the output wires, group by group. A wire may occur twice, and may be an input.
    pub fn output_wires(&self) -> &[Wire] {
        &self.output_wires
    }

    /// Returns the number of wires: inputs and gates.
    pub fn wires(&self) -> u64 {
        u64::from(self.input_wires) + self.gates.len() as u64
    }

    /// Returns the number of gates.
    pub fn len(&self) -> usize {
        self.gates.len()
    }

    /// Returns whether there are no gates: outputs are inputs.
    pub fn is_empty(&self) -> bool {
        self.gates.is_empty()
    }

    /// Returns the gates with the wires that they write, each after those that it reads.
    pub fn gates(&self) -> impl ExactSizeIterator<Item = (Wire, Gate)> + DoubleEndedIterator + '_ {
        let first = self.input_wires;
        self.gates.iter().enumerate().map(move |(i, packed)| (first + i as u32, packed.gate()))
    }

    /// Returns the numbers of gates of each type.
    pub fn counts(&self) -> Counts {
        let mut counts = Counts::default();
        for (_, gate) in self.gates() {
            match gate {
                Gate::Xor(..) => counts.xor += 1,
                Gate::And(..) => counts.and += 1,
                Gate::Inv(_) => counts.inv += 1,
                Gate::Constant(_) => counts.constant += 1,
            }
        }
        counts
    }

    /// Returns the AND-depth of every wire: the number of ANDs on the longest path to it.
    pub fn depths(&self) -> Vec<u32> {
        let mut depths = vec![0; self.wires() as usize];
        for (wire, gate) in self.gates() {
            let deepest = operands(gate).into_iter().flatten().map(|from| depths[from as usize]).max().unwrap_or(0);
            depths[wire as usize] = deepest + u32::from(matches!(gate, Gate::And(..)));
        }
        depths
    }

    /// Returns the number of ANDs at each AND-depth, from 1. Its length is the circuit's depth: the number of rounds,
    /// if an AND takes one.
    pub fn layers(&self) -> Vec<u64> {
        let depths = self.depths();
        let mut layers = Vec::new();
        for (wire, gate) in self.gates() {
            if matches!(gate, Gate::And(..)) {
                let depth = depths[wire as usize] as usize;
                layers.resize(layers.len().max(depth), 0);
                layers[depth - 1] += 1;
            }
        }
        layers
    }

    /// Returns the AND-depth.
    pub fn depth(&self) -> usize {
        self.layers().len()
    }
}

impl std::fmt::Debug for Circuit {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "circuit {:?} -> {:?} of {} gates", self.inputs, self.outputs, self.len())
    }
}

/// Returns the wires that a gate reads.
pub(crate) fn operands(gate: Gate) -> [Option<Wire>; 2] {
    match gate {
        Gate::Xor(a, b) | Gate::And(a, b) => [Some(a), Some(b)],
        Gate::Inv(a) => [Some(a), None],
        Gate::Constant(_) => [None, None],
    }
}

fn port_wires(widths: &[u32]) -> Result<u32, CircuitError> {
    let wires = widths.iter().map(|&width| u64::from(width)).sum();
    if wires > MAX_PORT_WIRES {
        return Err(CircuitError::TooManyWires { wires, limit: MAX_PORT_WIRES });
    }
    Ok(wires as u32)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn gates_survive_packing() {
        let top = (MAX_WIRES - 1) as u32;
        let all = [
            Gate::Xor(0, top),
            Gate::And(top, 0),
            Gate::And(top, top),
            Gate::Inv(top),
            Gate::Constant(false),
            Gate::Constant(true),
        ];
        for gate in all {
            assert_eq!(Packed::new(gate).gate(), gate);
        }
        assert_eq!(size_of::<Packed>(), 8);
    }

    #[test]
    fn counts_depths_and_layers() {
        let gates =
            [Gate::And(0, 1), Gate::Xor(2, 0), Gate::And(3, 1), Gate::And(0, 1), Gate::Inv(4), Gate::Constant(true)];
        let circuit = Circuit::new(vec![2], gates, vec![1, 1], vec![6, 0]).unwrap();
        assert_eq!(circuit.counts(), Counts { and: 3, xor: 1, inv: 1, constant: 1 });
        assert_eq!(circuit.depths(), [0, 0, 1, 1, 2, 1, 2, 0]);
        assert_eq!(circuit.layers(), [2, 1]);
        assert_eq!((circuit.depth(), circuit.wires(), circuit.len()), (2, 8, 6));
    }

    #[test]
    fn impossible_circuits_are_refused() {
        let refused = |inputs: Vec<u32>, gates: Vec<Gate>, outputs: Vec<u32>, wires: Vec<u32>| {
            Circuit::new(inputs, gates, outputs, wires).unwrap_err()
        };
        assert_eq!(
            refused(vec![1], vec![Gate::Xor(0, 1)], vec![1], vec![1]),
            CircuitError::Dangling { gate: Some(0), wire: 1, wires: 1 }
        );
        assert_eq!(
            refused(vec![1], vec![Gate::Inv(0)], vec![1], vec![2]),
            CircuitError::Dangling { gate: None, wire: 2, wires: 2 }
        );
        assert_eq!(refused(vec![1], vec![], vec![2], vec![0]), CircuitError::Groups { groups: 2, wires: 1 });
        let wires = u64::from(u32::MAX) * 2;
        assert_eq!(
            refused(vec![u32::MAX, u32::MAX], vec![], vec![], vec![]),
            CircuitError::TooManyWires { wires, limit: MAX_PORT_WIRES }
        );
    }
}
