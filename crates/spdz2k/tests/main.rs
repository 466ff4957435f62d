//! What parties make before inputs are known, and what they do with it: right, at the stated cost, and whoever deviates
//! is found.

mod common;
mod forgeries;
mod gadgets;
mod lies;
mod offline;
mod one_hot;
mod onesided;
mod online;
mod paper;
mod tampered;
mod triples;
