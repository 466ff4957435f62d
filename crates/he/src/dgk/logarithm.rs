//! Logarithms in a group of order 2^64, by halves, in constant time.
//!
//! With y of order 2^64, let m be the logarithm of x to the base y^(2^(64-k)). The low half of its bits is the
//! logarithm of x^(2^(k/2)); divided out, it leaves the high half. Windows of up to four bits are looked up.

use crypto_bigint::{BoxedUint, CtEq, Word};
use zeroize::{Zeroize, Zeroizing};

use crate::modulus::{Form, Modulus};
use crate::options::PLAIN_BITS;
use crate::power::{FixedBase, powers};

/// The number of bits that are looked up.
const LEAF: u32 = 4;

/// The reason why no logarithm was found.
pub(crate) const NO_POWER: &str = "an answer that is no ciphertext of this key";

/// Tables for one y.
pub(crate) struct Logarithm {
    /// Powers of 1/y.
    inverse: FixedBase,
    /// The 16 numbers whose 16th power is 1, as powers of y^(2^60).
    leaves: Vec<BoxedUint>,
}

impl Logarithm {
    /// Makes the tables for y of order 2^64; `None` if it has no inverse.
    pub fn new(modulus: &Modulus, y: &Form) -> Option<Logarithm> {
        let inverse = Option::<Form>::from(y.invert())?;
        let mut root = modulus.chain();
        root.times(y);
        root.square(PLAIN_BITS - LEAF);
        let leaves = powers(modulus, root.value(), 1 << LEAF);
        Some(Logarithm { inverse: FixedBase::new(modulus, &inverse, PLAIN_BITS), leaves })
    }

    /// Returns the m < 2^k with x = y^(2^(64-k) m), or an error if there is none, in the same time.
    pub fn of(&self, modulus: &Modulus, x: &Form, k: u32) -> Result<u64, &'static str> {
        let (m, found) = self.search(modulus, x, k);
        if found == 1 { Ok(m) } else { Err(NO_POWER) }
    }

    /// Returns the logarithm, and 1 if there is one.
    fn search(&self, modulus: &Modulus, x: &Form, k: u32) -> (u64, u64) {
        if k <= LEAF {
            return self.look_up(x, k);
        }
        let (low, high) = (k / 2, k - k / 2);
        let mut raised = modulus.chain();
        raised.times(x);
        raised.square(high);
        let (of_low, found_low) = self.search(modulus, raised.value(), low);
        let mut rest = modulus.chain();
        rest.times(x);
        let exponent = Zeroizing::new(BoxedUint::from(of_low << (PLAIN_BITS - k)));
        self.inverse.multiply(&mut rest, &exponent, PLAIN_BITS - k..PLAIN_BITS - high);
        let (of_high, found_high) = self.search(modulus, rest.value(), high);
        (of_high << low | of_low, found_low & found_high)
    }

    fn look_up(&self, x: &Form, k: u32) -> (u64, u64) {
        let x = x.as_montgomery();
        let (mut m, mut found) = (0, 0);
        for (i, leaf) in self.leaves.iter().step_by(1 << (LEAF - k)).enumerate() {
            let equal: Word = x.ct_eq(leaf).to_u8().into();
            m |= equal.wrapping_neg() & i as Word;
            found |= equal;
        }
        (m, found)
    }
}

impl Drop for Logarithm {
    fn drop(&mut self) {
        self.leaves.iter_mut().for_each(Zeroize::zeroize);
    }
}
