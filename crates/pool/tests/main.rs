//! Tests of pools.

mod crashes;
mod disks;
mod folders;
mod lives;
mod places;
mod upkeep;
