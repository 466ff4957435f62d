//! What parties make before inputs are known, and what they do with it: right, at the stated cost, and whoever deviates
//! is found.

mod adversarial;
mod common;
mod compared;
mod convolution;
mod gadgets;
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
