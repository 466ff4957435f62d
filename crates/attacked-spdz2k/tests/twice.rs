//! Attempts that a lie passes by chance.

/// Returns whether triples are right if two attempts both make some. A lie that passes a check by chance, once in 2^24
/// times or less, does not pass twice.
pub fn twice(attempt: impl Fn() -> Option<bool>) -> Option<bool> {
    attempt().and_then(|_| attempt())
}
