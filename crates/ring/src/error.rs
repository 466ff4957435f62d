//! Errors in numbers and bytes from outside. No variant carries the value itself: it may be secret.

/// The reason why bytes or numbers are not ring elements.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum RingError {
    /// The system provides no more threads.
    #[error("the system does not give {count} threads; ask for fewer")]
    Threads {
        /// Threads asked for.
        count: usize,
    },
    /// The bit length is not in 1..=256.
    #[error("a ring has 1 to 256 bits, not {bits}")]
    BadWidth {
        /// The bit length asked for.
        bits: u32,
    },
    /// A packed message does not have the length that its shape demands.
    #[error("packed elements take {expected_bytes} bytes here, got {got_bytes}")]
    BadLength {
        /// Bytes that the shape demands.
        expected_bytes: usize,
        /// Bytes given.
        got_bytes: usize,
    },
    /// A fixed-point format with more fractional bits than the ring can hold besides a sign.
    #[error("{frac_bits} fractional bits do not fit into a signed {ring_bits}-bit number")]
    BadFraction {
        /// Bits of the ring.
        ring_bits: u32,
        /// Fractional bits asked for.
        frac_bits: u32,
    },
    /// A fixed-point format in a ring of more than 128 bits.
    #[error("fixed-point numbers have at most 128 bits, not {ring_bits}")]
    WideFormat {
        /// Bits of the ring.
        ring_bits: u32,
    },
    /// An input is NaN or infinite.
    #[error("the value at position {index} is not a finite number")]
    NotFinite {
        /// Position in the input, from 0.
        index: usize,
    },
    /// An input lies outside the range of its type.
    #[error("the value at position {index} does not fit into {ring_bits} bits, {frac_bits} of them fractional")]
    Overflow {
        /// Position in the input, from 0.
        index: usize,
        /// Bits of the ring.
        ring_bits: u32,
        /// Fractional bits.
        frac_bits: u32,
    },
}
