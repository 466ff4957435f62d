//! Which steps of a program run in which sharing: by predicted time.

pub(crate) mod assign;
pub(crate) mod outline;
pub(crate) mod prices;
