//! The names of sessions. Sessions of several programs share one deployment: parties that open one name meet.
//!
//! On the wire a name is a hash of fixed length. It separates sessions and authenticates nothing: who takes part is
//! decided by certificates.

use std::fmt;

use crate::ConfigProblem;

/// Bytes of a session's identifier: half of it is a hash of the name; half identifies the options of a default name, or
/// is another hash of one that was given. So nobody finds two given names of one identifier.
pub(crate) const ID_BYTES: usize = 2 * HALF;
/// Half of an identifier.
const HALF: usize = 8;
/// The most bytes of a name.
const MAX_NAME_BYTES: usize = 64;

const NAME: &str = "quorate-net 2026-11-29 name of a session";
const OPTIONS: &str = "quorate-net 2026-11-29 options of a session with a default name";
const GIVEN: &str = "quorate-net 2026-11-30 given name of a session";
const BRANCH: &str = "quorate-net 2026-11-30 branch of a session";

/// The identifier of a session in hellos and answers: hashes of its name and options.
pub(crate) type SessionId = [u8; ID_BYTES];

/// The name under which the parties of one session meet.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SessionName {
    name: String,
    /// The hash of the options, where the name is a default.
    options: Option<[u8; HALF]>,
}

impl SessionName {
    /// Checks a name: 1 to 64 bytes of letters, digits, punctuation, and spaces between them.
    ///
    /// # Errors
    /// [`ConfigProblem::Session`].
    pub fn new(name: &str) -> Result<Self, ConfigProblem> {
        let is_shown = |c: char| c.is_alphanumeric() || c.is_ascii_graphic() || c == ' ';
        let fits = (1..=MAX_NAME_BYTES).contains(&name.len()) && name.trim() == name;
        match fits && name.chars().all(is_shown) {
            true => Ok(SessionName { name: name.into(), options: None }),
            false => Err(ConfigProblem::Session(name.chars().take(MAX_NAME_BYTES).collect())),
        }
    }

    /// Returns a default name: sessions of this name meet where `options` are the same bytes, too.
    #[must_use]
    pub fn with_options(self, options: &[u8]) -> Self {
        SessionName { options: Some(half(OPTIONS, options)), ..self }
    }

    /// Returns the name of a branch of this session, the `number`-th. No other branch of the session has it.
    #[must_use]
    pub fn branch(&self, branch: &SessionName, number: u32) -> Self {
        let own = [&self.id()[..], &number.to_le_bytes(), branch.name.as_bytes()].concat();
        let name = format!("{}, branch {} ({})", self.name, branch.name, number + 1);
        SessionName { name, options: Some(half(BRANCH, &own)) }
    }

    pub(crate) fn id(&self) -> SessionId {
        let mut id = [0; ID_BYTES];
        id[..HALF].copy_from_slice(&half(NAME, self.name.as_bytes()));
        id[HALF..].copy_from_slice(&self.options.unwrap_or_else(|| half(GIVEN, self.name.as_bytes())));
        id
    }
}

impl Default for SessionName {
    fn default() -> Self {
        SessionName { name: "default".into(), options: None }
    }
}

impl fmt::Display for SessionName {
    /// Writes the name without the options.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.name)
    }
}

/// Returns whether two sessions have the same name, with any options.
pub(crate) fn is_namesake(one: &SessionId, other: &SessionId) -> bool {
    one[..HALF] == other[..HALF]
}

fn half(context: &str, bytes: &[u8]) -> [u8; HALF] {
    let [a, b, c, d, e, f, g, h, ..] = blake3::derive_key(context, bytes);
    [a, b, c, d, e, f, g, h]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_short_and_can_be_read() {
        for good in ["a", "score.py", "Bewertung für März 2", "x:/[]\"", &"n".repeat(64)] {
            assert!(SessionName::new(good).is_ok(), "{good:?}");
        }
        for bad in
            ["", " ", " a", "a ", "a\nb", "a\u{202e}b", "a\u{200b}", "\u{1b}[31m", &"n".repeat(65), &"ü".repeat(33)]
        {
            assert!(matches!(SessionName::new(bad), Err(ConfigProblem::Session(_))), "{bad:?}");
        }
    }

    #[test]
    fn names_and_options_tell_sessions_apart() {
        let name = |name| SessionName::new(name).unwrap();
        let ids = [name("a"), name("b"), name("a").with_options(b""), name("a").with_options(b"x")].map(|n| n.id());
        for (i, id) in ids.iter().enumerate() {
            assert!(!ids[..i].contains(id), "{i}");
            assert_eq!(is_namesake(&ids[0], id), i != 1, "{i}");
        }
        assert_eq!(name("a").with_options(b"x").id(), ids[3]);
        assert!(ids.iter().all(|id| id[HALF..] != [0; HALF]), "all of it depends on the name or the options");
        assert_ne!(ids[0][HALF..], ids[1][HALF..]);
    }

    #[test]
    fn branches_have_names_of_their_own() {
        let name = |name| SessionName::new(name).unwrap();
        let branch = |of: &SessionName, branch, number| of.branch(&name(branch), number);
        let (a, x) = (name("a"), name("a").with_options(b"x"));
        let all = [&a, &x].map(|of| [branch(of, "b", 0), branch(of, "b", 1), branch(of, "c", 1)]).concat();
        let ids: Vec<SessionId> = all.iter().chain([&a, &x]).map(SessionName::id).collect();
        assert!((0..ids.len()).all(|i| !ids[..i].contains(&ids[i])));
        assert!(!is_namesake(&ids[0], &a.id()), "a party that waits for a branch does not take the session for it");
        assert!(!is_namesake(&ids[0], &ids[1]), "nor one branch for another one of its name");
        assert_eq!(all[0].to_string(), "a, branch b (1)");
    }
}
