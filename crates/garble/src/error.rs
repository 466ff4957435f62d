//! Errors of two parties that hold the two sides of one garbled circuit. No variant carries a label.

/// The reason why a circuit cannot be garbled or evaluated.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum GarbleError {
    /// Labels or bits for another number of wires or instances.
    #[error("{got_wires} wires of {got_instances} instances were given for {wires} wires of {instances} instances")]
    Shape {
        /// Wires expected.
        wires: usize,
        /// Instances expected.
        instances: usize,
        /// Wires given.
        got_wires: usize,
        /// Instances given.
        got_instances: usize,
    },
    /// Bytes of labels whose length does not match their shape.
    #[error("labels take {expected_bytes} bytes here, got {got_bytes}")]
    LabelBytes {
        /// Bytes that the shape demands.
        expected_bytes: u64,
        /// Bytes given.
        got_bytes: u64,
    },
    /// A correlation whose lowest bit is not set: labels of 0 and 1 would have one colour.
    #[error("the lowest bit of the correlation must be set")]
    EvenDelta,
    /// A first tweak in the middle of a segment.
    #[error("the first tweak must be a multiple of {multiple}")]
    Tweak {
        /// The number of which it must be a multiple.
        multiple: u128,
    },
    /// Tables for more gates than the circuit has.
    #[error("{bytes} bytes of tables came where {left_bytes} were left")]
    SurplusTables {
        /// The bytes received.
        bytes: usize,
        /// The bytes that were still expected.
        left_bytes: u64,
    },
    /// The circuit was ended too early.
    #[error("tables of {missing_bytes} bytes are missing")]
    MissingTables {
        /// The bytes of tables that are missing.
        missing_bytes: u64,
    },
    /// An output label that is neither the one for 0 nor the one for 1.
    #[error("an output label is none of the two that it can be: the tables were changed, or the sides differ")]
    NotALabel,
}
