//! The sources of correlations that a session may choose: the protocols alone. Tests compile `testing/dealer.rs` in
//! place of this file.

use quorate_crypto::Seed;
use quorate_engine::{Ctx, Result};
use quorate_gadgets::{Choice, Choices};

use crate::options;
use crate::params::Params;
use crate::party::Spdz2k;

/// The family's options.
pub(crate) const OPTIONS: &[Choice] = &options::OPTIONS;

/// A dealer of correlations. No value of it exists.
pub(crate) enum Dealer {}

impl Dealer {
    /// Returns the dealer of a session with these choices.
    #[inline(always)]
    pub fn chosen(_: &Choices) -> Option<Dealer> {
        None
    }

    pub fn security(self) -> String {
        match self {}
    }

    pub async fn set_up(self, _: &Ctx, _: Params, _: Option<&Seed>) -> Result<Spdz2k> {
        match self {}
    }

    pub fn dry(self, _parties: usize, _me: usize, _: Params) -> Result<Spdz2k> {
        match self {}
    }
}
