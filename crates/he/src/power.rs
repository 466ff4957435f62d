//! Powers with secret exponents, by windows; every entry of a window's table is read.

use std::ops::Range;

use crypto_bigint::BoxedUint;
use zeroize::Zeroize;

use crate::modulus::{Chain, Form, Modulus};

/// The number of bits of an exponent in a window.
pub(crate) const WINDOW: u32 = 4;

/// Tables of a base's powers: a power of the base is a product of one entry of each table, without squaring.
pub(crate) struct FixedBase {
    /// Row w has the base to the powers i 2^(4 w), i < 16.
    rows: Vec<Vec<BoxedUint>>,
}

impl FixedBase {
    /// Makes the tables for exponents of `exponent_bits` bits.
    pub fn new(modulus: &Modulus, base: &Form, exponent_bits: u32) -> FixedBase {
        let mut step = base.clone();
        let row = |_| {
            let row = powers(modulus, &step, 1 << WINDOW);
            let mut next = modulus.chain();
            next.times(&step);
            next.square(WINDOW);
            step = next.finish();
            row
        };
        FixedBase { rows: (0..exponent_bits.div_ceil(WINDOW)).map(row).collect() }
    }

    /// Multiplies by the base to a secret exponent, whose bits outside a public range are 0.
    pub fn multiply(&self, chain: &mut Chain<'_>, exponent: &BoxedUint, bits: Range<u32>) {
        let words = exponent.as_words();
        for w in bits.start / WINDOW..bits.end.div_ceil(WINDOW) {
            let bit = (w * WINDOW) as usize;
            let word = words.get(bit / 64).copied().unwrap_or(0);
            chain.times_entry(&self.rows[w as usize], word >> (bit % 64) & ((1 << WINDOW) - 1));
        }
    }
}

/// If the modulus is secret, so are the tables.
impl Drop for FixedBase {
    fn drop(&mut self) {
        self.rows.iter_mut().flatten().for_each(Zeroize::zeroize);
    }
}

/// Returns the powers 0 to `count` - 1, in Montgomery form.
pub(crate) fn powers(modulus: &Modulus, base: &Form, count: usize) -> Vec<BoxedUint> {
    let mut chain = modulus.chain();
    let next = |_| {
        let power = chain.value().to_montgomery();
        chain.times(base);
        power
    };
    (0..count).map(next).collect()
}

/// Returns the number of bits of each of two exponents of k bits in a window.
pub(crate) fn pair_window(k: u32) -> u32 {
    if k > 24 { 2 } else { 1 }
}

/// Two bases, for a^x b^y with one run of squarings (Straus 1964).
pub(crate) struct Pair {
    /// a^i b^j at i + j 2^window.
    table: Vec<BoxedUint>,
    window: u32,
}

impl Pair {
    /// Makes the table for exponents of k bits.
    pub fn new(modulus: &Modulus, a: &Form, b: &Form, k: u32) -> Pair {
        let window = pair_window(k);
        let mut chain = modulus.chain();
        let mut table = Vec::with_capacity(1 << (2 * window));
        let row = powers(modulus, a, 1 << window);
        for _ in 0..1 << window {
            for entry in 0..1 << window {
                let mut product = modulus.chain();
                product.times(chain.value());
                product.times_entry(&row[entry..=entry], 0);
                table.push(product.value().to_montgomery());
            }
            chain.times(b);
        }
        Pair { table, window }
    }

    /// Returns the number of squarings of [`Pair::multiply`] for exponents of k bits.
    pub fn squarings(&self, k: u32) -> u32 {
        k.next_multiple_of(self.window)
    }

    /// Raises the product to the power 2^[squarings](Pair::squarings), and multiplies it by a^x b^y.
    pub fn multiply(&self, chain: &mut Chain<'_>, k: u32, x: u64, y: u64) {
        let mask = (1 << self.window) - 1;
        for digit in (0..k.div_ceil(self.window)).rev() {
            let at = digit * self.window;
            chain.square(self.window);
            chain.times_entry(&self.table, x >> at & mask | (y >> at & mask) << self.window);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::coins::test_coins;

    fn modulus() -> Modulus {
        let value = BoxedUint::from_be_hex("c90fdaa22168c234c4c6628b80dc1cd129024e088a67cc74020bbea63b139b23", 256);
        Modulus::new(&value.unwrap()).unwrap()
    }

    #[test]
    fn powers_of_fixed_bases_are_those_of_the_library() {
        let (modulus, mut coins) = (modulus(), test_coins(2));
        let base = modulus.enter(&coins.bits(256));
        for bits in [1, 3, 4, 5, 64, 65, 200] {
            let table = FixedBase::new(&modulus, &base, bits);
            for _ in 0..5 {
                let exponent = coins.bits(bits);
                let mut chain = modulus.chain();
                table.multiply(&mut chain, &exponent, 0..bits);
                assert_eq!(chain.finish(), base.pow(&exponent), "{bits} bits");
            }
        }
        let table = FixedBase::new(&modulus, &base, 64);
        let (mut chain, exponent) = (modulus.chain(), BoxedUint::from(0x00ab_cd00_0000_0000u64));
        table.multiply(&mut chain, &exponent, 38..57);
        assert_eq!(chain.finish(), base.pow(&exponent));
    }

    #[test]
    fn powers_of_pairs_are_those_of_the_library() {
        let (modulus, mut coins) = (modulus(), test_coins(3));
        let [a, b, start] = [0; 3].map(|_| modulus.enter(&coins.bits(256)));
        for k in [1, 2, 7, 8, 24, 25, 31, 32, 63, 64] {
            let pair = Pair::new(&modulus, &a, &b, k);
            let [x, y] = [coins.word(), coins.word()].map(|word| word >> (64 - k));
            let mut chain = modulus.chain();
            chain.times(&start);
            pair.multiply(&mut chain, k, x, y);
            let raised = start.pow(&BoxedUint::from(1u128 << pair.squarings(k)));
            let expected = a.pow(&BoxedUint::from(x)).mul(&b.pow(&BoxedUint::from(y))).mul(&raised);
            assert_eq!(chain.finish(), expected, "k = {k}");
        }
    }
}
