//! The errors that several protocols share.

use quorate_engine::Error;

/// The error for an exchange that returns too few messages.
pub(crate) const LOST: Error = Error::Bug { what: "an exchange without its answer" };

/// The error of a system without randomness.
pub(crate) const NO_RANDOMNESS: Error = Error::Bug { what: "the operating system has no randomness to give" };
