//! The operations of the peer with a public key: answers.

use crypto_bigint::BoxedUint;
use zeroize::Zeroizing;

use crate::coins::Coins;
use crate::modulus::{Modulus, is_unit, read_units, write};
use crate::options::{Level, PLAIN_BITS};
use crate::power::{FixedBase, Pair};
use crate::scheme::{self, BAD_BASE, BAD_KEY_LENGTH, BAD_MODULUS, Query, Words, mask};

/// A peer's public key.
pub(crate) struct PublicKey {
    level: Level,
    modulus: Modulus,
    /// Powers of g and h.
    g: FixedBase,
    h: FixedBase,
}

impl scheme::PublicKey for PublicKey {
    fn read_key(level: Level, message: &[u8]) -> Result<PublicKey, &'static str> {
        let (bits, bytes) = (level.modulus_bits(), level.modulus_bits() as usize / 8);
        if message.len() != 3 * bytes {
            return Err(BAD_KEY_LENGTH);
        }
        let number =
            |i: usize| BoxedUint::from_be_slice(&message[i * bytes..(i + 1) * bytes], bits).map_err(|_| BAD_KEY_LENGTH);
        let (n, g, h) = (number(0)?, number(1)?, number(2)?);
        if n.bits_vartime() != bits {
            return Err(BAD_MODULUS);
        }
        let modulus = Modulus::new(&n).ok_or(BAD_MODULUS)?;
        for base in [&g, &h] {
            if *base >= n || base.is_one().into() || !is_unit(base, &n) {
                return Err(BAD_BASE);
            }
        }
        let table = |base: &BoxedUint, bits| FixedBase::new(&modulus, &modulus.enter_reduced(base), bits);
        let (g, h) = (table(&g, PLAIN_BITS), table(&h, level.blinding_bits()));
        Ok(PublicKey { level, modulus, g, h })
    }

    fn read(&self, message: &[u8]) -> Result<Vec<BoxedUint>, &'static str> {
        read_units(&self.modulus, self.modulus.value(), message)
    }

    fn answer(&self, k: u32, queries: &[Query<'_>], coins: &mut Coins) -> (Vec<u8>, Words) {
        let (mut message, mut shares) = (Vec::new(), Zeroizing::new(Vec::with_capacity(queries.len())));
        for query in queries {
            let [a, b] = [query.a, query.b].map(|c| self.modulus.enter_reduced(c));
            let drawn = coins.word() & mask(k);
            let mut chain = self.modulus.chain();
            Pair::new(&self.modulus, &a, &b, k).multiply(&mut chain, k, query.y, query.x);
            let exponent = Zeroizing::new(BoxedUint::from(drawn << (PLAIN_BITS - k)));
            self.g.multiply(&mut chain, &exponent, PLAIN_BITS - k..PLAIN_BITS);
            let bits = self.level.blinding_bits();
            self.h.multiply(&mut chain, &coins.bits(bits), 0..bits);
            write(&chain.finish().retrieve(), &self.modulus, &mut message);
            shares.push(drawn.wrapping_neg() & mask(k));
        }
        (message, shares)
    }
}
