//! The suites of every sharing over shares that are wider than their values and have tags.

mod gadgets;
mod tampered;
