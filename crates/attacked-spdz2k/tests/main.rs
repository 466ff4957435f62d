//! Parties that deviate, and the exact check that finds it; what parties hear shows nothing.

extern crate quorate_attacked_spdz2k as quorate_spdz2k;

mod adversarial;
#[path = "../../spdz2k/tests/common.rs"]
mod common;
mod compared;
mod matrix;
mod onesided;
mod online;
mod twice;
