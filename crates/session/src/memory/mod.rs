//! Memory of a run: the bytes that steps take, the limits, and how steps run within these.

pub(crate) mod allowed;
pub(crate) mod free;
pub(crate) mod gate;
pub(crate) mod limit;
pub(crate) mod need;
pub(crate) mod schedule;
pub(crate) mod sizes;
pub(crate) mod split;
