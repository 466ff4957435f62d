//! Pools of correlations: what the parties agree on about theirs, how runs take bundles out of them, and how bundles
//! are made.
//!
//! The storage is `quorate-pool`. A session owns one pool for as long as it is open, and its main worker alone uses it:
//! a branch or a side would take a place a second time.
//!
//! **Agreement.** In the setup every party tells the others what its pool has ([`notes`]). From all of that, each
//! computes the same places that all parties can use ([`common`]). A party whose pool is behind the others by more than
//! a crash explains is refused.
//!
//! **A run** takes one place of the lot with exactly its content ([`content`]). It is the first one that all parties
//! can use and that none of them has begun a run with. The plans that the parties compare include it. Where some party
//! has not reserved it, all parties reserve it on their disks, and wait for each other before they send anything that
//! depends on it ([`using`]).
//!
//! **Secrets.** Where parties may cheat, a pool is of use only under its secrets. It is made in one session, and erased
//! after a session that does not end well ([`mortal`]). What this party has decides whether its folder takes a new
//! pool; what others state may end its pool, and gives up places, but changes nothing else.
//!
//! **Making** appends batches of bundles to lots, and counts each batch once all parties have it on their disks
//! ([`making`]).

mod common;
pub(crate) mod content;
mod keeps;
mod making;
mod mortal;
pub(crate) mod notes;
mod purse;
mod upkeep;
mod using;

pub(crate) use common::Agreed;
pub use content::Content;
pub(crate) use keeps::InFolder;
pub use keeps::{Keeps, Location, Opens};
pub(crate) use making::make;
pub use making::{Level, Supply};
pub(crate) use notes::{split, with};
pub(crate) use purse::{Complaint, Purse, Source};
pub use upkeep::{Held, HeldLot, levels, rebind};
pub(crate) use using::{Spending, meet};
