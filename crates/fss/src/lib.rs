//! Function secret sharing: a point of a domain in two keys, each of which says nothing about it. No input and output.
mod deal;
mod error;
mod evaluate;
mod hash;
mod kernel;
mod keys;
#[cfg(feature = "testing")]
pub mod paper;
mod parity;
mod roots;
mod shape;
mod table;
pub mod verified;
mod walk;
mod wire;

pub use deal::{Dealt, deal};
pub use error::FssError;
pub use evaluate::{Sums, lookup, visit, window};
pub use hash::{Hash, Kernel};
pub use keys::{Corrections, Keys};
pub use parity::intervals;
pub use roots::{Roots, Side};
pub use shape::Shape;
pub use table::Table;
pub use wire::HEADER_BYTES;
