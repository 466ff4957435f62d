//! Errors in keys from outside and in calls. No variant carries a point, a root or a leaf.

/// The reason why bytes are not keys, or keys cannot be made.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum FssError {
    /// The size of the domain is not supported.
    #[error("a domain has 2^{least} to 2^{most} points here, not 2^{bits}")]
    Domain {
        /// The requested logarithm.
        bits: u32,
        /// The smallest supported one.
        least: u32,
        /// The largest supported one.
        most: u32,
    },
    /// The width of the payloads' ring is not supported.
    #[error("payloads have 1 to 128 bits, not {bits}")]
    Payload {
        /// The requested bits.
        bits: u32,
    },
    /// Keys of another version of this format.
    #[error("keys have the version {got}; this program reads version {expected}")]
    Version {
        /// The version that this program reads.
        expected: u8,
        /// The received version.
        got: u8,
    },
    /// Keys of another kind, domain or form than agreed.
    #[error("keys of another form: {what} is {got} where {expected} was agreed")]
    Form {
        /// The property that differs.
        what: &'static str,
        /// The agreed value.
        expected: u64,
        /// The received value.
        got: u64,
    },
    /// Bytes of keys whose length does not match the shape and the number.
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
        /// The number of roots.
        roots: usize,
        /// The number of keys in the corrections.
        corrections: usize,
    },
    /// Roots that do not belong to the stated side.
    #[error("roots of the other side, or changed ones")]
    Root,
}
