//! The forms of comparisons and truncations between which a session chooses.

use quorate_gadgets::cost::Link;
use quorate_gadgets::{Choice, Choices};

const AUTO: &str = "auto";
const EDABITS: &str = "edabits";
const KEYS: &str = "keys";

/// The form of comparisons and truncations.
pub const COMPARISONS: Choice = Choice {
    name: "comparisons",
    values: &[AUTO, EDABITS, KEYS],
    help: "how semi-honest sessions compare and truncate: by whichever is predicted to be faster on the stated network \
           (auto), by dealt edaBits, with few bytes (edabits), or by dealt keys, with few rounds (keys)",
};

/// The link of a session that names no network: threads of one process.
const THREADS: Link = Link { round_trip_seconds: 16e-6, bytes_per_second: 4e9 };

/// The form in which signs, equality and truncation are computed.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Comparisons {
    /// The form that is predicted to take less time on this link.
    Cheaper(Link),
    /// Carries of dealt bits.
    EdaBits,
    /// Parities of dealt keys.
    Keys,
}

impl Default for Comparisons {
    fn default() -> Comparisons {
        Comparisons::Cheaper(THREADS)
    }
}

impl Comparisons {
    /// Returns the choice of a session.
    pub(crate) fn of(choices: &Choices) -> Comparisons {
        match choices.of(&COMPARISONS) {
            EDABITS => Comparisons::EdaBits,
            KEYS => Comparisons::Keys,
            _ => choices.link.map_or_else(Comparisons::default, Comparisons::Cheaper),
        }
    }
}
