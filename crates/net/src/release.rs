//! The release of this software, as parties report it to each other. It is not compared: the wire version is.

use std::fmt;

/// The first two numbers of a release.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Release {
    /// The number before the first dot.
    pub major: u8,
    /// The number after it.
    pub minor: u8,
}

impl Release {
    /// The release of this party.
    pub const OURS: Release =
        Release { major: number(env!("CARGO_PKG_VERSION_MAJOR")), minor: number(env!("CARGO_PKG_VERSION_MINOR")) };

    /// Returns the release that two bytes of a hello name; `None` for that of an old one, which has zeros there.
    pub(crate) fn named(bytes: [u8; 2]) -> Option<Release> {
        let [major, minor] = bytes;
        (bytes != [0, 0]).then_some(Release { major, minor })
    }
}

impl fmt::Display for Release {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}", self.major, self.minor)
    }
}

/// Returns the number that the digits state. A number above 255 does not compile.
const fn number(digits: &str) -> u8 {
    let (bytes, mut at, mut number) = (digits.as_bytes(), 0, 0u8);
    while at < bytes.len() {
        number = number * 10 + (bytes[at] - b'0');
        at += 1;
    }
    number
}
