//! The errors of circuits from outside and of their inputs.

/// A number or a name on a line of a Bristol file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Field {
    /// The number of gates.
    Gates,
    /// The number of wires.
    Wires,
    /// The number of groups of input wires.
    InputGroups,
    /// The number of groups of output wires.
    OutputGroups,
    /// The number of wires of a group of input wires.
    InputWidth,
    /// The number of wires of a group of output wires.
    OutputWidth,
    /// The number of wires that a gate reads.
    GateInputs,
    /// The number of wires that a gate writes.
    GateOutputs,
    /// A gate.
    Gate,
    /// A wire that a gate reads or writes.
    Wire,
    /// The constant of an EQ gate.
    Constant,
}

impl std::fmt::Display for Field {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Field::Gates => "the number of gates",
            Field::Wires => "the number of wires",
            Field::InputGroups => "the number of inputs",
            Field::OutputGroups => "the number of outputs",
            Field::InputWidth => "the width of an input",
            Field::OutputWidth => "the width of an output",
            Field::GateInputs => "the number of wires that a gate reads",
            Field::GateOutputs => "the number of wires that a gate writes",
            Field::Gate => "a gate",
            Field::Wire => "a wire",
            Field::Constant => "a constant",
        })
    }
}

/// The reason why a circuit cannot be read, built or evaluated. Lines count from 1.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum CircuitError {
    /// A byte that is neither printable ASCII nor white space.
    #[error("line {line}: a circuit file is plain text, and this line has the byte {byte:#04x}")]
    NotText {
        /// The line.
        line: u64,
        /// The byte.
        byte: u8,
    },
    /// The text ends too early.
    #[error("line {line}: the file ends where {expected} was expected")]
    Truncated {
        /// The line after the last one.
        line: u64,
        /// The expected content.
        expected: Field,
    },
    /// A line ends too early.
    #[error("line {line}: the line ends where {expected} was expected")]
    ShortLine {
        /// The line.
        line: u64,
        /// The expected content.
        expected: Field,
    },
    /// A word that is not a number, where a number is expected.
    #[error("line {line}: {field} should be a whole number")]
    NotANumber {
        /// The line.
        line: u64,
        /// The expected number.
        field: Field,
    },
    /// A number beyond the limits of this library.
    #[error("line {line}: {field} is {got}; at most {limit} can be handled")]
    TooLarge {
        /// The line.
        line: u64,
        /// The number that is too large.
        field: Field,
        /// The number in the file (the largest 64-bit number if it is larger).
        got: u64,
        /// The limit.
        limit: u64,
    },
    /// The header states more gates or wires than the text could describe.
    #[error("line {line}: {field} is {got}, but the text that follows has room for {room} at most")]
    Unfounded {
        /// The line.
        line: u64,
        /// The stated number.
        field: Field,
        /// The value of that number.
        got: u64,
        /// The largest possible value.
        room: u64,
    },
    /// A line has more numbers than it should.
    #[error("line {line}: more follows than the line should have")]
    Trailing {
        /// The line.
        line: u64,
    },
    /// The numbers of gates or wires do not agree with what the file contains.
    #[error("line {line}: {field} was given as {promised}, and it is {found}")]
    WrongCount {
        /// The line at which it is noticed.
        line: u64,
        /// The number that is wrong.
        field: Field,
        /// The number in the header.
        promised: u64,
        /// The number in the file's content.
        found: u64,
    },
    /// A gate of a type that the format does not have.
    #[error("line {line}: no such gate; there are {known}")]
    UnknownGate {
        /// The line.
        line: u64,
        /// The gates of the format.
        known: &'static str,
    },
    /// A gate with a number of wires that its type does not have.
    #[error("line {line}: this gate cannot have {inputs} inputs and {outputs} outputs")]
    Arity {
        /// The line.
        line: u64,
        /// Wires read.
        inputs: u64,
        /// Wires written.
        outputs: u64,
    },
    /// An EQ gate whose constant is not a bit.
    #[error("line {line}: a constant is 0 or 1, not {got}")]
    Constant {
        /// The line.
        line: u64,
        /// The constant.
        got: u64,
    },
    /// A wire beyond the number of wires.
    #[error("line {line}: wire {wire} of a circuit with {wires} wires")]
    NoSuchWire {
        /// The line.
        line: u64,
        /// The wire.
        wire: u64,
        /// The number of wires.
        wires: u64,
    },
    /// A wire that is an input or was written before is written.
    #[error("line {line}: wire {wire} is written a second time")]
    WrittenTwice {
        /// The line.
        line: u64,
        /// The wire.
        wire: u64,
    },
    /// A wire is read above the line that writes it, as in any cycle.
    #[error("line {line}: wire {wire} is read before it is written")]
    ReadBeforeWritten {
        /// The line.
        line: u64,
        /// The wire.
        wire: u64,
    },
    /// A circuit too large for this library.
    #[error("a circuit of {wires} wires; at most {limit} can be handled")]
    TooManyWires {
        /// The number of its wires.
        wires: u64,
        /// The limit.
        limit: u64,
    },
    /// A gate or an output refers to a wire that does not come before it.
    #[error("{at} refers to wire {wire}, of {wires} that stand before it", at = Position(*gate))]
    Dangling {
        /// The gate, from 0; `None` for an output.
        gate: Option<u64>,
        /// The wire.
        wire: u64,
        /// The number of wires at that point.
        wires: u64,
    },
    /// Widths that do not add up to the wires given.
    #[error("groups of {groups} wires in all for {wires} wires")]
    Groups {
        /// The sum of the widths.
        groups: u64,
        /// The wires given.
        wires: u64,
    },
    /// Inputs that do not match the circuit.
    #[error("the circuit has {expected} input wires, and values for {got} were given")]
    Inputs {
        /// Input wires.
        expected: usize,
        /// Rows given.
        got: usize,
    },
}

/// The place at which a circuit in memory refers to a wire.
struct Position(Option<u64>);

impl std::fmt::Display for Position {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self.0 {
            Some(gate) => write!(f, "gate {gate}"),
            None => f.write_str("an output"),
        }
    }
}
