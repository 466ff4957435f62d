//! quorate-ring
