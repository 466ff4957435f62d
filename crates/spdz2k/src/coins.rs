//! Public coins. They are tossed after everything that they are for is fixed; no seed is used for two tosses.

use quorate_crypto::{Prg, Seed, SessionId};
use quorate_engine::{Ctx, Result};
use quorate_ring::{Bits, Module, Ring, Vector};

/// The result of one toss; empty in a dry run.
pub(crate) struct Coins(Option<Prg>);

impl Coins {
    /// Tosses coins. Two rounds.
    pub async fn toss(ctx: &Ctx, session: &SessionId) -> Result<Coins> {
        let seed = Seed::from_bytes(ctx.toss(session).await?);
        Ok(Coins((!ctx.is_dry()).then(|| seed.prg("quorate/spdz2k/coins", b""))))
    }

    /// Draws rows of uniform bits.
    pub fn bits(&mut self, (rows, lanes): (usize, usize)) -> Bits {
        let Some(prg) = &mut self.0 else { return Bits::shape(rows, lanes) };
        let mut drawn = Bits::zeros(rows, lanes);
        prg.fill(drawn.bytes_mut());
        Module::reduce(&mut drawn);
        drawn
    }

    /// Draws uniform words; `None` in a dry run.
    pub fn words(&mut self, len: usize) -> Option<Vec<u64>> {
        let prg = self.0.as_mut()?;
        let mut bytes = vec![0; 8 * len];
        prg.fill(&mut bytes);
        Some(bytes.as_chunks::<8>().0.iter().map(|word| u64::from_le_bytes(*word)).collect())
    }

    /// Draws rows of uniform words of `bits` bits; empty rows in a dry run.
    pub fn rows(&mut self, bits: u32, (rows, len): (usize, usize)) -> Vec<Vec<u64>> {
        let short = |word: &mut u64| *word &= u64::MAX >> (64 - bits);
        let mut row = || {
            let mut row = self.words(len).unwrap_or_default();
            row.iter_mut().for_each(short);
            row
        };
        (0..rows).map(|_| row()).collect()
    }

    /// Draws uniform elements of GF(2^128); `None` in a dry run.
    pub fn blocks(&mut self, len: usize) -> Option<Vec<u128>> {
        let words = self.words(2 * len)?;
        Some(words.as_chunks::<2>().0.iter().map(|[low, high]| u128::from(*high) << 64 | u128::from(*low)).collect())
    }

    /// Draws a uniform permutation of `count` places; `None` in a dry run.
    pub fn permutation(&mut self, count: usize) -> Option<Vec<u32>> {
        let words = self.words(count)?;
        let mut order: Vec<u32> = (0..count as u32).collect();
        for (i, &word) in words.iter().enumerate().rev() {
            // No place has a probability above 1 / (i + 1) by a factor of more than 1 + i / 2^64.
            order.swap(i, ((u128::from(word) * (i as u128 + 1)) >> 64) as usize);
        }
        Some(order)
    }

    /// Draws uniform elements of Z_2^bits, as elements of a ring that is at least as large.
    pub fn draw(&mut self, bits: u32, (ring, len): (Ring, usize)) -> Vector {
        let Some(prg) = &mut self.0 else { return Vector::shape(ring, len) };
        let mut drawn = Vector::zeros(Ring::of(bits), len);
        prg.fill(drawn.bytes_mut());
        Module::reduce(&mut drawn);
        if drawn.ring() == ring { drawn } else { drawn.convert(ring) }
    }
}

#[cfg(test)]
mod tests {
    use quorate_crypto::Seed;

    use super::*;

    #[test]
    fn rows_and_words_of_rows_have_coins_of_their_own() {
        let mut coins = Coins(Some(Seed::from_bytes([3; 32]).prg("quorate/spdz2k/coins", b"")));
        let rows = coins.rows(48, (4, 50));
        let mut all: Vec<u64> = rows.iter().flatten().copied().collect();
        assert!(rows.iter().all(|row| row.len() == 50) && all.iter().all(|&word| word < 1 << 48));
        all.sort_unstable();
        all.dedup();
        assert_eq!(all.len(), 200);
        assert!(all.iter().fold(0, |or, word| or | word) == (1 << 48) - 1);
    }
}
