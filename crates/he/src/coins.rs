//! A party's own coins, as big integers.

use std::convert::Infallible;

use crypto_bigint::rand_core::{TryCryptoRng, TryRng};
use crypto_bigint::{BoxedUint, NonZero, RandomMod};
use quorate_crypto::{Prg, Seed};
use zeroize::Zeroizing;

/// A generator of this party's coins.
pub(crate) struct Coins(Prg);

impl Coins {
    /// Returns the `number`th generator of `seed` for one purpose.
    pub fn new(seed: &Seed, domain: &'static str, number: u64) -> Coins {
        Coins(seed.prg(domain, &number.to_le_bytes()))
    }

    /// Draws 64 bits.
    pub fn word(&mut self) -> u64 {
        self.0.next_u64()
    }

    /// Draws `bits` bits.
    pub fn bits(&mut self, bits: u32) -> Zeroizing<BoxedUint> {
        let mut bytes = Zeroizing::new(vec![0; bits.div_ceil(8) as usize]);
        self.0.fill(&mut bytes);
        if !bits.is_multiple_of(8)
            && let Some(top) = bytes.last_mut()
        {
            *top &= (1 << (bits % 8)) - 1;
        }
        Zeroizing::new(BoxedUint::from_le_slice_truncated(&bytes, bits))
    }

    /// Draws a number below `bound`, by trial: the time reveals nothing about the result.
    pub fn below(&mut self, bound: &NonZero<BoxedUint>) -> Zeroizing<BoxedUint> {
        Zeroizing::new(BoxedUint::random_mod_vartime(self, bound))
    }
}

impl TryRng for Coins {
    type Error = Infallible;

    fn try_next_u32(&mut self) -> Result<u32, Infallible> {
        Ok(self.0.next_u64() as u32)
    }

    fn try_next_u64(&mut self) -> Result<u64, Infallible> {
        Ok(self.0.next_u64())
    }

    fn try_fill_bytes(&mut self, out: &mut [u8]) -> Result<(), Infallible> {
        self.0.fill(out);
        Ok(())
    }
}

impl TryCryptoRng for Coins {}

#[cfg(test)]
pub(crate) fn test_coins(number: u64) -> Coins {
    Coins::new(&Seed::from_bytes([5; 32]), "quorate/he/test", number)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_have_the_bits_asked_for() {
        let mut coins = test_coins(0);
        for bits in [1, 7, 8, 9, 63, 64, 65, 200] {
            let most = (0..200).map(|_| coins.bits(bits).bits_vartime()).max().unwrap();
            assert_eq!(most, bits);
        }
        let bound = NonZero::new(BoxedUint::from(5u8)).unwrap();
        let mut seen = [0; 5];
        (0..500).for_each(|_| seen[coins.below(&bound).as_words()[0] as usize] += 1);
        assert!(seen.iter().all(|&count| count > 50), "{seen:?}");
    }
}
