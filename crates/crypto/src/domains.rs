//! The domain separators of this crate's hashes, in one list.
//!
//! Callers of [`Seed::derive`](crate::Seed::derive), [`Seed::prg`](crate::Seed::prg) and the commitments provide names
//! of their own, of the form `quorate/crate/use`; a name is used for one purpose only. The encoding of such a name is a
//! byte that distinguishes the two uses of a seed, the name's length, and the name.

/// The hash of contributions to a session id (key derivation context of BLAKE3).
pub const SESSION_ID: &str = "quorate 2025 crypto session id from contributions v1";
/// Commitments.
pub const COMMITMENT: &str = "quorate 2025 crypto commitment v1";
/// The key of the TCCR hash's permutation.
pub const TCCR_KEY: &str = "quorate 2025 crypto tccr permutation key v1";

/// The keys of the TCCR hash's segments.
pub const TCCR_SEGMENT: &str = "quorate 2025 crypto tccr segment key v1";

/// The keys of other permutations of a session, by name.
pub const TCCR_OTHER: &str = "quorate 2026 crypto other permutation key v1";

/// All domains, for the test that no two are equal.
pub const ALL: [&str; 5] = [SESSION_ID, COMMITMENT, TCCR_KEY, TCCR_SEGMENT, TCCR_OTHER];

/// First byte of the hash input when a seed derives another seed.
pub(crate) const SEED_DERIVE: u8 = 1;
/// First byte of the hash input when a seed starts a generator.
pub(crate) const SEED_PRG: u8 = 2;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn domains_differ() {
        for (i, domain) in ALL.iter().enumerate() {
            assert!(!domain.is_empty() && !ALL[..i].contains(domain), "{domain} is used twice");
        }
        assert_ne!(SEED_DERIVE, SEED_PRG);
    }
}
