//! The options of a session that every family on authenticated shares has.

use quorate_engine::Result;
use quorate_gadgets::{Choice, Choices};

use crate::params::Params;

/// The number of bits of the keys.
pub const MAC: Choice = Choice {
    name: "mac",
    values: &["64", "48", "32"],
    help: "bits of the MAC keys: 64; or, for values of up to 32 bits, 48 (42-bit statistical security, fewer bytes) or \
           32 (26-bit, needs allow_weak)",
};

/// Whether less than 40 bits of statistical security are allowed.
pub const ALLOW_WEAK: Choice = Choice {
    name: "allow_weak",
    values: &["no", "yes"],
    help: "whether less than 40-bit statistical security is allowed",
};

impl Params {
    /// Returns the parameters that these options choose.
    ///
    /// # Errors
    /// Those of [`Params::new`].
    pub fn chosen(choices: &Choices) -> Result<Params> {
        let key_bits = match choices.of(&MAC) {
            "32" => 32,
            "48" => 48,
            _ => 64,
        };
        Params::new(key_bits, choices.of(&ALLOW_WEAK) == "yes")
    }
}
