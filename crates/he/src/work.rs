//! What triples take of a party, in products of words: for predictions, so about.
//!
//! A product modulo a number of w words counts 2 w^2, its reduction by Montgomery included, and two more for each word;
//! an entry of a table that is chosen among 16 is a loop over all of them.

use quorate_ring::meter::{self, Kernel, charge};

use crate::options::{EXCESS, Options, PLAIN_BITS, Scheme, slot_bits};
use crate::power::{WINDOW, pair_window};

/// Bits of a word.
const WORD: u32 = 64;
const WORD_BYTES: u64 = 8;
/// Products that a power takes beyond its window's: a table of 16 entries, or leaving and entering Montgomery form.
const TABLE: u64 = 1 << WINDOW;

/// Products modulo numbers of so many words, and entries of tables chosen for them.
#[derive(Clone, Copy, Default)]
struct Products {
    words: u64,
    products: u64,
    chosen: u64,
}

impl Products {
    fn modulo(bits: u32) -> Products {
        Products { words: u64::from(bits.div_ceil(WORD)), ..Products::default() }
    }

    fn plain(self, products: u64) -> Products {
        Products { products: self.products + products, ..self }
    }

    /// A power of a fixed base.
    fn fixed(self, exponent_bits: u32) -> Products {
        self.chosen(exponent_bits.div_ceil(WINDOW).into())
    }

    fn chosen(self, entries: u64) -> Products {
        Products { products: self.products + entries, chosen: self.chosen + entries, ..self }
    }

    /// A power of another base.
    fn power(self, exponent_bits: u32) -> Products {
        self.plain(TABLE + u64::from(exponent_bits)).chosen(exponent_bits.div_ceil(WINDOW).into())
    }

    /// Charges them so many times.
    fn charge(self, times: usize) {
        let steps = self.products * (2 * self.words * self.words + 2 * self.words);
        charge(Kernel::MultiplyLong, (times as u64 * steps) as usize);
        // An entry is read, and what is chosen so far read and written.
        meter::stream((3 * TABLE * self.chosen * self.words * WORD_BYTES) as usize * times);
    }
}

fn ciphertexts(options: Options) -> Products {
    Products::modulo(8 * options.ciphertext_bytes() as u32)
}

/// Modulo p^2 and q^2 for Paillier, p and q for DGK.
fn halves(options: Options) -> Products {
    Products::modulo(4 * options.ciphertext_bytes() as u32)
}

/// Charges the factors of so many triples, encrypted by the key's owner.
pub(crate) fn charge_encryptions(options: Options, k: u32, len: usize) {
    match options.scheme {
        Scheme::Paillier => halves(options).plain(4).fixed(options.level.modulus_bits() / 2).charge(4 * len),
        Scheme::Dgk => halves(options).plain(2).fixed(k).fixed(options.level.order_bits()).charge(4 * len),
    }
}

/// Charges the answers to so many triples, whose factors are read.
pub(crate) fn charge_answers(options: Options, k: u32, len: usize) {
    let ciphertexts = ciphertexts(options);
    ciphertexts.plain(1).charge(2 * len);
    match options.scheme {
        Scheme::Paillier => {
            let randomiser = ciphertexts.plain(4).fixed(options.level.modulus_bits() + EXCESS);
            horner(ciphertexts, slot_bits(k), k).charge(len);
            randomiser.charge(len.div_ceil(options.pack(k)));
        }
        Scheme::Dgk => {
            let blinding = options.level.blinding_bits();
            horner(ciphertexts, k, k).plain(1).fixed(k).fixed(blinding).charge(len);
        }
    }
}

/// Charges the answers to so many triples, read and decrypted by the key's owner.
pub(crate) fn charge_decryptions(options: Options, k: u32, len: usize) {
    let packs = len.div_ceil(options.pack(k));
    ciphertexts(options).plain(1).charge(packs);
    let halves = halves(options);
    match options.scheme {
        Scheme::Paillier => halves.plain(4).power(options.level.modulus_bits() / 2).charge(2 * packs),
        Scheme::Dgk => logarithm(halves.plain(2).power(options.level.order_bits()), k).charge(len),
    }
}

/// Two ciphertexts to the powers of k bits, into a product that is squared so many times.
fn horner(products: Products, squarings: u32, k: u32) -> Products {
    let window = pair_window(k);
    let table = 2 * (1u64 << (2 * window)) + 2 * (1u64 << window);
    products.plain(2 + table + u64::from(squarings) + u64::from(k.div_ceil(window)))
}

/// A logarithm of k bits, by halves.
fn logarithm(products: Products, k: u32) -> Products {
    let (low, high) = (k / 2, k - k / 2);
    match k {
        0..=4 => products,
        _ => {
            let here = products.plain(2 + u64::from(high)).fixed(low.min(PLAIN_BITS));
            logarithm(logarithm(here, low), high)
        }
    }
}

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
    use quorate_ring::meter::charged;

    use super::*;

    fn steps(options: Options, k: u32, own: usize, theirs: usize) -> u64 {
        let before = charged();
        charge_encryptions(options, k, own);
        charge_answers(options, k, theirs);
        charge_decryptions(options, k, own);
        (charged() - before).of(Kernel::MultiplyLong)
    }

    #[test]
    fn work_is_that_of_powers() {
        // Two factors, modulo p^2 and q^2 of 48 words each, raised to 1536 bits in windows of four.
        let encryptions = 4 * (384 + 4) * (2 * 48 * 48 + 2 * 48);
        let answers = steps(Options::PAILLIER, 64, 0, 15);
        let decryption = steps(Options::PAILLIER, 64, 15, 0) - 15 * encryptions;
        // One run of squarings over 15 slots, and one randomiser.
        let square = 2 * 96 * 96 + 2 * 96;
        assert!((15 * 201 + 800..15 * 201 + 800 + 15 * 90).contains(&(answers / square)), "{answers}");
        assert!((2 * 1536..2 * 2000).contains(&(decryption / (2 * 48 * 48 + 2 * 48))), "{decryption}");
        for k in [1, 4, 5, 8, 32, 63, 64] {
            let [paillier, dgk] = [Options::PAILLIER, Options::DGK].map(|options| steps(options, k, 100, 100));
            assert!(paillier > 4 * dgk && dgk > 0, "k = {k}: {paillier} and {dgk}");
        }
        assert_eq!(steps(Options::DGK, 64, 0, 0), 0);
    }

    #[test]
    fn tables_are_megabytes() {
        assert_eq!(table_bytes(Options::PAILLIER), (800 * 16 + 384 * 16) * 768);
        assert_eq!(table_bytes(Options::DGK), (16 + 160 + 32 + 64) * 16 * 384);
    }
}
