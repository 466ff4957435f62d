//! quorate-net
