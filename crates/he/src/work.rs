//! What a party keeps for its keys: for predictions, so about.

use crate::options::{EXCESS, Options, PLAIN_BITS, Scheme};
use crate::power::WINDOW;

/// Bytes of the tables that a party keeps for a key of its own and one of its peer's.
pub(crate) fn table_bytes(options: Options) -> u64 {
    let entries = |bits: u32| u64::from(bits.div_ceil(WINDOW)) << WINDOW;
    let (level, bytes) = (options.level, options.ciphertext_bytes() as u64);
    match options.scheme {
        Scheme::Paillier => entries(level.modulus_bits() + EXCESS) * bytes + entries(level.modulus_bits() / 2) * bytes,
        Scheme::Dgk => {
            let public = entries(PLAIN_BITS) + entries(level.blinding_bits());
            (public + 2 * entries(PLAIN_BITS) + entries(level.order_bits())) * bytes
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tables_are_megabytes() {
        assert_eq!(table_bytes(Options::PAILLIER), (800 * 16 + 384 * 16) * 768);
        assert_eq!(table_bytes(Options::DGK), (16 + 160 + 32 + 64) * 16 * 384);
    }
}
