//! Links between the parties: opaque bounded frames from one numbered party to another.
//!
//! | module | transport of the frames |
//! |---|---|
//! | [`memory`] | queues between the threads of one process |
//! | [`shaped`] | the same, with the delay and the bandwidth of a network |
//! | [`tcp`] | TCP with TLS 1.3 between processes and machines |
//!
//! This crate is independent of shares, lanes and rounds, and code above it is independent of the transport. A party
//! holds one [`Net`], sends frames into it, and receives the frames of all its peers from it.
#![forbid(unsafe_code)]

mod error;
mod interrupt;
mod link;
mod mailbox;
pub mod memory;
mod peers;
#[doc(hidden)]
#[cfg(feature = "readers")]
pub mod readers;
mod release;
pub mod shaped;
pub mod tcp;

pub use error::{Attempt, ConfigProblem, FolderFault, InUse, KeyProblem, NetError, Place, Refusal};
pub use interrupt::Interrupt;
pub use link::{Frame, MAX_FRAME, Net, Wait};
pub use release::Release;
pub use tcp::WIRE_VERSION;
