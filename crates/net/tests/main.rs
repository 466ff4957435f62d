//! One program for all tests of the crate, so that their dependencies are compiled once.

mod common;
mod connecting;
mod cuts;
mod failures;
mod memory;
mod ports;
#[cfg(target_os = "linux")]
mod processes;
mod renewal;
mod shaped;
mod tcp;
