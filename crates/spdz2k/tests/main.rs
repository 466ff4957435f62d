//! Correlations that parties make before inputs are known, and their use: they are right, at the stated cost, and any
//! deviation is found.

mod common;
mod convolution;
mod gadgets;
mod made;
mod masks;
mod misuse;
mod numbers;
mod offline;
mod one_hot;
mod paper;
mod pools;
mod triples;
mod turns;
mod wiped;
mod words;
