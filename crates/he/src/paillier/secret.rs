//! The operations of a key's owner: all are modulo p^2 and q^2.

use crypto_bigint::{BoxedUint, ConcatenatingMul, ConcatenatingSquare, NonZero};
use zeroize::{Zeroize, Zeroizing};

use super::slots;
use crate::coins::Coins;
use crate::crt::Crt;
use crate::modulus::{Form, Modulus, read_units, write};
use crate::options::{EXCESS, Level, slot_bits};
use crate::power::FixedBase;
use crate::primes::prime_after;
use crate::scheme::{self, Words};

pub(crate) const TOO_LONG: &str = "an answer of more bits than were asked for";
const NOT_ODD: &str = "primes are odd and differ";

/// This party's secret key.
pub(crate) struct SecretKey {
    level: Level,
    n: BoxedUint,
    h: BoxedUint,
    /// N^2.
    square: Modulus,
    p: Half,
    q: Half,
    plaintexts: Crt,
    ciphertexts: Crt,
}

/// The values that belong to one prime.
struct Half {
    /// p.
    modulus: Modulus,
    prime: Zeroizing<NonZero<BoxedUint>>,
    /// p - 1.
    order: Zeroizing<NonZero<BoxedUint>>,
    /// p^2.
    square: Modulus,
    /// N modulo p^2.
    step: Form,
    /// 1 / L_p((1 + N)^(p-1)) = -1/q modulo p.
    inverse: Form,
    /// Powers of h modulo p^2.
    randomiser: FixedBase,
}

impl Half {
    fn new(prime: &BoxedUint, other: &BoxedUint, n: &BoxedUint, h: &BoxedUint) -> Half {
        let bits = prime.bits_precision();
        let square = Modulus::new(&Zeroizing::new(prime.concatenating_square())).expect(NOT_ODD);
        let modulus = Modulus::new(prime).expect(NOT_ODD);
        let inverse = Option::<Form>::from(modulus.enter(other).neg().invert()).expect(NOT_ODD);
        let randomiser = FixedBase::new(&square, &square.enter(h), bits);
        let less = prime.wrapping_sub(BoxedUint::one_with_precision(bits));
        let [prime, order] =
            [prime.clone(), less].map(|x| Zeroizing::new(NonZero::new(x).expect("an odd prime is not 0 and not 1")));
        Half { modulus, prime, order, step: square.enter(n), inverse, randomiser, square }
    }

    /// Returns (1 + m N) h^alpha modulo p^2.
    fn encrypt(&self, m: &BoxedUint, alpha: &BoxedUint) -> Form {
        let alpha = Zeroizing::new(alpha.rem(&self.order));
        let mut chain = self.square.chain();
        self.randomiser.multiply(&mut chain, &alpha, 0..self.modulus.bits());
        let m = Zeroizing::new(self.square.enter(m));
        let multiple = Zeroizing::new(self.step.mul(&m));
        chain.times(&Zeroizing::new(self.square.one().add(&multiple)));
        chain.finish()
    }

    /// Returns the plaintext modulo p.
    fn decrypt(&self, ciphertext: &BoxedUint) -> Zeroizing<Form> {
        let power = self.square.enter(ciphertext).pow_bounded_exp(&self.order, self.order.bits_precision());
        let power = Zeroizing::new(Zeroizing::new(power).retrieve());
        let minus_one = Zeroizing::new(power.wrapping_sub(BoxedUint::one_with_precision(self.square.bits())));
        let l = Zeroizing::new(self.modulus.enter(&minus_one.wrapping_div(&self.prime)));
        Zeroizing::new(l.mul(&self.inverse))
    }
}

impl Drop for Half {
    fn drop(&mut self) {
        self.step.zeroize();
        self.inverse.zeroize();
    }
}

impl SecretKey {
    /// Makes a key from two primes of the same size, whose product has twice their bits, and from x, which is coprime
    /// to it.
    pub(crate) fn from_primes(level: Level, [p, q]: [&BoxedUint; 2], x: &BoxedUint) -> SecretKey {
        let n = p.concatenating_mul(q);
        let square = Modulus::new(&n.concatenating_square()).expect(NOT_ODD);
        let root = square.enter(x).square();
        let h = root.pow_bounded_exp(&n, n.bits_precision()).retrieve();
        let [of_p, of_q] = [(p, q), (q, p)].map(|(prime, other)| Half::new(prime, other, &n, &h));
        let plaintexts = Crt::new(&of_p.modulus, &of_q.modulus).expect(NOT_ODD);
        let ciphertexts = Crt::new(&of_p.square, &of_q.square).expect(NOT_ODD);
        SecretKey { level, n, h, square, p: of_p, q: of_q, plaintexts, ciphertexts }
    }

    /// Returns an encryption with a given exponent.
    pub(crate) fn encrypt_with(&self, m: &BoxedUint, alpha: &BoxedUint) -> BoxedUint {
        let [of_p, of_q] = [&self.p, &self.q].map(|half| half.encrypt(m, alpha));
        self.ciphertexts.join(&self.p.square, &of_p, &Zeroizing::new(of_q.retrieve()))
    }

    /// Returns the plaintext, smaller than N.
    pub(crate) fn decrypt_whole(&self, ciphertext: &BoxedUint) -> Zeroizing<BoxedUint> {
        let [of_p, of_q] = [&self.p, &self.q].map(|half| half.decrypt(ciphertext));
        Zeroizing::new(self.plaintexts.join(&self.p.modulus, &of_p, &Zeroizing::new(of_q.retrieve())))
    }
}

impl scheme::SecretKey for SecretKey {
    type Public = super::PublicKey;

    fn generate(level: Level, coins: &mut Coins) -> SecretKey {
        let bits = level.prime_bits();
        let p = prime_after(&BoxedUint::from(2u8), bits, coins);
        let q = loop {
            let q = prime_after(&BoxedUint::from(2u8), bits, coins);
            if *q != *p {
                break q;
            }
        };
        let n = NonZero::new(p.concatenating_mul(&*q)).expect("primes are not 0");
        let x = loop {
            let x = coins.below(&n);
            if crate::modulus::is_unit(&x, n.as_ref()) {
                break x;
            }
        };
        Self::from_primes(level, [&p, &q], &x)
    }

    fn message(&self) -> Vec<u8> {
        let mut message = self.n.to_be_bytes().to_vec();
        write(&self.h, &self.square, &mut message);
        message
    }

    fn encrypt(&self, _: u32, m: u64, coins: &mut Coins) -> Vec<u8> {
        let m = Zeroizing::new(BoxedUint::from(m));
        let alpha = coins.bits(self.level.modulus_bits() + EXCESS);
        let mut message = Vec::new();
        write(&self.encrypt_with(&m, &alpha), &self.square, &mut message);
        message
    }

    fn read(&self, message: &[u8]) -> Result<Vec<BoxedUint>, &'static str> {
        read_units(&self.square, &self.n, message)
    }

    fn decrypt(&self, k: u32, ciphertext: &BoxedUint, answers: usize) -> Result<Words, &'static str> {
        let plaintext = self.decrypt_whole(ciphertext);
        let slot = slot_bits(k);
        let rest = Zeroizing::new(plaintext.shr(slot * answers as u32));
        match rest.is_zero().into() {
            true => Ok(Zeroizing::new((0..answers as u32).map(|i| slots::read(&plaintext, slot * i, k)).collect())),
            false => Err(TOO_LONG),
        }
    }
}
