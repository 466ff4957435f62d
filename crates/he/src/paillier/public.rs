//! The operations of the peer with a public key: answers.

use crypto_bigint::{BoxedUint, ConcatenatingSquare};
use zeroize::Zeroizing;

use super::slots;
use crate::coins::Coins;
use crate::modulus::{Form, Modulus, is_unit, read_units, write};
use crate::options::{EXCESS, Level, slot_bits};
use crate::power::{FixedBase, Pair};
use crate::scheme::{self, BAD_BASE, BAD_KEY_LENGTH, BAD_MODULUS, Query, Words, mask};

/// A peer's public key.
pub(crate) struct PublicKey {
    level: Level,
    n: BoxedUint,
    /// N^2.
    square: Modulus,
    /// N modulo N^2.
    step: Form,
    /// Powers of h.
    randomiser: FixedBase,
}

impl PublicKey {
    /// Multiplies by an encryption of m, which has as many words as N.
    fn add(&self, chain: &mut crate::modulus::Chain<'_>, m: &BoxedUint, coins: &mut Coins) {
        let bits = self.level.modulus_bits() + EXCESS;
        self.randomiser.multiply(chain, &coins.bits(bits), 0..bits);
        let m = Zeroizing::new(self.square.enter_reduced(m));
        let multiple = Zeroizing::new(self.step.mul(&m));
        chain.times(&Zeroizing::new(self.square.one().add(&multiple)));
    }
}

impl scheme::PublicKey for PublicKey {
    fn read_key(level: Level, message: &[u8]) -> Result<PublicKey, &'static str> {
        let (bits, bytes) = (level.modulus_bits(), level.modulus_bits() as usize / 8);
        if message.len() != 3 * bytes {
            return Err(BAD_KEY_LENGTH);
        }
        let number = |bytes: &[u8], bits| BoxedUint::from_be_slice(bytes, bits).map_err(|_| BAD_KEY_LENGTH);
        let (n, h) = (number(&message[..bytes], bits)?, number(&message[bytes..], 2 * bits)?);
        if n.bits_vartime() != bits {
            return Err(BAD_MODULUS);
        }
        let square = Modulus::new(&n.concatenating_square()).ok_or(BAD_MODULUS)?;
        if h >= *square.value() || h.is_one().into() || !is_unit(&h, &n) {
            return Err(BAD_BASE);
        }
        let randomiser = FixedBase::new(&square, &square.enter_reduced(&h), bits + EXCESS);
        let step = square.enter_reduced(&n);
        Ok(PublicKey { level, n, square, step, randomiser })
    }

    fn read(&self, message: &[u8]) -> Result<Vec<BoxedUint>, &'static str> {
        read_units(&self.square, &self.n, message)
    }

    /// Answers by Horner's rule from the last query down: one run of squarings both shifts the earlier answers to the
    /// next slot and raises the query's ciphertexts.
    fn answer(&self, k: u32, queries: &[Query<'_>], coins: &mut Coins) -> (Vec<u8>, Words) {
        let slot = slot_bits(k);
        let mut masks = Zeroizing::new(BoxedUint::zero_with_precision(self.level.modulus_bits()));
        let mut shares = Zeroizing::new(vec![0; queries.len()]);
        let mut chain = self.square.chain();
        for (i, query) in queries.iter().enumerate().rev() {
            let [a, b] = [query.a, query.b].map(|c| self.square.enter_reduced(c));
            let pair = Pair::new(&self.square, &a, &b, k);
            if i + 1 < queries.len() {
                chain.square(slot - pair.squarings(k));
            }
            pair.multiply(&mut chain, k, query.y, query.x);
            let drawn = slots::draw_mask(k, coins);
            slots::write(&mut masks, slot * i as u32, &drawn);
            shares[i] = drawn.as_words()[0].wrapping_neg() & mask(k);
        }
        self.add(&mut chain, &masks, coins);
        let mut message = Vec::new();
        write(&chain.finish().retrieve(), &self.square, &mut message);
        (message, shares)
    }
}
