//! The values of a run, the order of its steps, and their costs.

pub(crate) mod data;
pub(crate) mod effort;
pub(crate) mod order;
pub(crate) mod seen;
pub(crate) mod value;
