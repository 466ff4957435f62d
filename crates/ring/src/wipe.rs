//! Zeroing memory so that the compiler keeps it.

/// Overwrites `bytes` with zeros, also when nobody reads them afterwards.
pub(crate) fn wipe(bytes: &mut [u8]) {
    bytes.fill(0);
    zeroize::optimization_barrier(bytes);
}
