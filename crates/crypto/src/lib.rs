//! quorate-crypto
