//! Tests of pools.

mod crashes;
mod disks;
mod folders;
mod places;
