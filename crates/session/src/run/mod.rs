//! A run of a program as data flow, on any sharing, live or dry.

pub(crate) mod ahead;
pub(crate) mod conversions;
mod dataflow;
pub(crate) mod executor;
#[cfg(test)]
mod flow_control_tests;
pub(crate) mod operations;
pub(crate) mod pacing;
mod pieces;
#[cfg(test)]
mod programs_for_tests;
#[cfg(test)]
mod random_tests;
pub(crate) mod shapes;
#[cfg(test)]
mod staged_tests;
mod values;
