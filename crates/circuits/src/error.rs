//! What can be wrong with a circuit from outside, or with what it is given.

/// What a line of a Bristol file counts or names.
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
    /// How many wires a group of input wires has.
    InputWidth,
    /// How many wires a group of output wires has.
    OutputWidth,
    /// How many wires a gate reads.
    GateInputs,
    /// How many wires a gate writes.
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

/// Why a circuit cannot be read, built or evaluated. Lines count from 1.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum CircuitError {
    /// A byte that is neither printable ASCII nor white space.
    #[error("line {line}: a circuit file is plain text, and this line has the byte {byte:#04x}")]
    NotText {
        /// Where.
        line: u64,
        /// The byte.
        byte: u8,
    },
    /// The text ends too early.
    #[error("line {line}: the file ends where {expected} was expected")]
    Truncated {
        /// The line after the last one.
        line: u64,
        /// What should have come.
        expected: Field,
    },
    /// A line ends too early.
    #[error("line {line}: the line ends where {expected} was expected")]
    ShortLine {
        /// Where.
        line: u64,
        /// What should have come.
        expected: Field,
    },
    /// Something else stands where a number should.
    #[error("line {line}: {field} should be a whole number")]
    NotANumber {
        /// Where.
        line: u64,
        /// What was expected.
        field: Field,
    },
    /// A number beyond what this library holds.
    #[error("line {line}: {field} is {got}; at most {limit} can be handled")]
    TooLarge {
        /// Where.
        line: u64,
        /// What is too large.
        field: Field,
        /// What the file says (the largest 64-bit number if it says more).
        got: u64,
        /// The most.
        limit: u64,
    },
    /// The header promises more gates or wires than the text could describe.
    #[error("line {line}: {field} is {got}, but the text that follows has room for {room} at most")]
    Unfounded {
        /// Where.
        line: u64,
        /// What is promised.
        field: Field,
        /// How many.
        got: u64,
        /// How many there can be.
        room: u64,
    },
    /// A line has more numbers than it should.
    #[error("line {line}: more follows than the line should have")]
    Trailing {
        /// Where.
        line: u64,
    },
    /// The numbers of gates or wires do not agree with what the file contains.
    #[error("line {line}: {field} was given as {promised}, and it is {found}")]
    WrongCount {
        /// Where it shows.
        line: u64,
        /// What was counted.
        field: Field,
        /// The header's number.
        promised: u64,
        /// What there is.
        found: u64,
    },
    /// A gate of a kind that the format does not have.
    #[error("line {line}: no such gate; there are {known}")]
    UnknownGate {
        /// Where.
        line: u64,
        /// The gates of the format.
        known: &'static str,
    },
    /// A gate with a number of wires that its kind does not have.
    #[error("line {line}: this gate cannot have {inputs} inputs and {outputs} outputs")]
    Arity {
        /// Where.
        line: u64,
        /// Wires read.
        inputs: u64,
        /// Wires written.
        outputs: u64,
    },
    /// An EQ gate of something else than a bit.
    #[error("line {line}: a constant is 0 or 1, not {got}")]
    Constant {
        /// Where.
        line: u64,
        /// What stands there.
        got: u64,
    },
    /// A wire beyond the number of wires.
    #[error("line {line}: wire {wire} of a circuit with {wires} wires")]
    NoSuchWire {
        /// Where.
        line: u64,
        /// The wire.
        wire: u64,
        /// How many wires there are.
        wires: u64,
    },
    /// A wire that is an input or was written before is written.
    #[error("line {line}: wire {wire} is written a second time")]
    WrittenTwice {
        /// Where.
        line: u64,
        /// The wire.
        wire: u64,
    },
    /// A wire is read above the line that writes it, as in any cycle.
    #[error("line {line}: wire {wire} is read before it is written")]
    ReadBeforeWritten {
        /// Where.
        line: u64,
        /// The wire.
        wire: u64,
    },
    /// A circuit too large for this library.
    #[error("a circuit of {wires} wires; at most {limit} can be handled")]
    TooManyWires {
        /// How many it would have.
        wires: u64,
        /// The most.
        limit: u64,
    },
    /// A gate or an output refers to a wire that does not stand before it.
    #[error("{at} refers to wire {wire}, of {wires} that stand before it", at = Position(*gate))]
    Dangling {
        /// The gate, from 0; none for an output.
        gate: Option<u64>,
        /// The wire.
        wire: u64,
        /// How many wires there are at that point.
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

/// Where a circuit in memory refers to a wire.
struct Position(Option<u64>);

impl std::fmt::Display for Position {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self.0 {
            Some(gate) => write!(f, "gate {gate}"),
            None => f.write_str("an output"),
        }
    }
}
