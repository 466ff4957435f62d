//! Memory: what steps take before they run, what limits it, and how steps go where that is too much.

pub(crate) mod allowed;
pub(crate) mod free;
pub(crate) mod gate;
pub(crate) mod limit;
pub(crate) mod need;
pub(crate) mod schedule;
pub(crate) mod sizes;
pub(crate) mod split;
