//! quorate-engine
