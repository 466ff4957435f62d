//! quorate-graph
