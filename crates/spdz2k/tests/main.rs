//! Correlations that parties make before inputs are known, and their use: they are right, at the stated cost, and any
//! deviation is found.

mod adversarial;
mod common;
mod compared;
mod convolution;
mod gadgets;
mod masks;
mod matrix;
mod misuse;
mod numbers;
mod offline;
mod one_hot;
mod onesided;
mod online;
mod paper;
mod triples;
mod turns;
mod words;
