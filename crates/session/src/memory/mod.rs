//! Memory of a run: what steps take, what limits them, and how steps run that would take too much.

pub(crate) mod allowed;
pub(crate) mod free;
pub(crate) mod gate;
pub(crate) mod limit;
pub(crate) mod need;
pub(crate) mod schedule;
pub(crate) mod sizes;
pub(crate) mod split;
