//! What can go wrong when two parties should hold the two sides of one garbled circuit. Nothing here carries a label.

/// Why a circuit cannot be garbled or evaluated.
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
    /// Bytes of labels that do not have the length that their shape demands.
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
    /// A starting tweak in the middle of a segment.
    #[error("the first tweak must be a multiple of {multiple}")]
    Tweak {
        /// Of what.
        multiple: u128,
    },
    /// Tables for more gates than there are.
    #[error("{bytes} bytes of tables came where {left_bytes} were left")]
    SurplusTables {
        /// Bytes that came.
        bytes: usize,
        /// Bytes that were still to come.
        left_bytes: u64,
    },
    /// The circuit was left before its end.
    #[error("tables of {missing_bytes} bytes are missing")]
    MissingTables {
        /// How many.
        missing_bytes: u64,
    },
    /// An output label that is neither the one for 0 nor the one for 1.
    #[error("an output label is none of the two that it can be: the tables were changed, or the sides differ")]
    NotALabel,
}
