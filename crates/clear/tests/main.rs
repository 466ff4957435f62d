//! The tests that all families have in common, on values in the clear: they test the general gadgets apart from every
//! protocol.

mod gadgets;
mod party;
mod wide;
