//! The sharings in which operations can run.

use std::fmt;
use std::str::FromStr;

/// A sharing that values can be in.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Domain {
    /// Arithmetic: summands in Z_2^k.
    A,
    /// Boolean: a number's bits as summands in Z_2.
    B,
    /// Yao: a number's bits as labels of a garbled circuit.
    Y,
}

impl Domain {
    /// All sharings, in order.
    pub const ALL: [Domain; 3] = [Domain::A, Domain::B, Domain::Y];
}

impl fmt::Display for Domain {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Domain::A => "A",
            Domain::B => "B",
            Domain::Y => "Y",
        })
    }
}

/// A text that does not name a sharing.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("there is no sharing {text:?}: say \"A\" (arithmetic), \"B\" (Boolean) or \"Y\" (Yao)")]
pub struct DomainError {
    text: String,
}

impl FromStr for Domain {
    type Err = DomainError;

    fn from_str(text: &str) -> Result<Domain, DomainError> {
        Domain::ALL
            .into_iter()
            .find(|domain| domain.to_string() == text)
            .ok_or_else(|| DomainError { text: text.into() })
    }
}
