//! What can be wrong with keys from outside and with calls. Nothing here carries a point, a root or a leaf.

/// Why bytes are not keys, or keys are not to be had.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum FssError {
    /// The domain has no such size.
    #[error("a domain has 2^{least} to 2^{most} points here, not 2^{bits}")]
    Domain {
        /// The logarithm asked for.
        bits: u32,
        /// The smallest that there is.
        least: u32,
        /// The largest.
        most: u32,
    },
    /// The payloads' ring has no such width.
    #[error("payloads have 1 to 128 bits, not {bits}")]
    Payload {
        /// Bits asked for.
        bits: u32,
    },
    /// Keys of another version of this format.
    #[error("keys have the version {got}; this program reads version {expected}")]
    Version {
        /// What this program reads.
        expected: u8,
        /// What came.
        got: u8,
    },
    /// Keys of another kind, domain or form than was agreed.
    #[error("keys of another form: {what} is {got} where {expected} was agreed")]
    Form {
        /// What differs.
        what: &'static str,
        /// What was agreed.
        expected: u64,
        /// What came.
        got: u64,
    },
    /// Bytes of keys that do not have the length that shape and number demand.
    #[error("these keys take {expected_bytes} bytes, got {got_bytes}")]
    Length {
        /// Bytes that the shape demands.
        expected_bytes: usize,
        /// Bytes given.
        got_bytes: usize,
    },
    /// Roots and corrections of different numbers of keys.
    #[error("{roots} roots for the corrections of {corrections} keys")]
    Count {
        /// How many roots.
        roots: usize,
        /// How many keys' corrections.
        corrections: usize,
    },
    /// Roots that are not of the side that they are said to be of.
    #[error("roots of the other side, or changed ones")]
    Root,
}
