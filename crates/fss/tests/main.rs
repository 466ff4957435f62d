//! Keys in the hands of their holders, compared with the expected results.

mod common;
mod evaluation;
mod hostile;
mod paper;
mod papers_tree;
mod timing;
mod verified;
mod wire;
