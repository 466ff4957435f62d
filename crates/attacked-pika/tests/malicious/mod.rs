//! Tests of the malicious form.

mod aborts;
mod batches;
mod choices;
mod comparison;
mod costs;
mod dealer;
mod gadgets;
mod links;
#[path = "../../../attacked-spdz2k/tests/adversarial/outcomes.rs"]
#[allow(dead_code)]
pub mod outcomes;
mod pairs;
mod places;
mod pools;
mod views;
