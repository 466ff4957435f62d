//! Keys as their holders use them, compared with what they should give.

mod common;
mod evaluation;
mod hostile;
mod paper;
mod timing;
mod verified;
mod wire;
