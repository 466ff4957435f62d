//! The choice of a sharing for each step of a program, by predicted time.

pub(crate) mod assign;
pub(crate) mod outline;
pub(crate) mod prices;
