//! The operations of a key's owner: all are modulo p and q.

use crypto_bigint::{BoxedUint, ConcatenatingMul, NonZero, Resize};
use zeroize::{Zeroize, Zeroizing};

use super::logarithm::Logarithm;
use crate::coins::Coins;
use crate::crt::Crt;
use crate::modulus::{Form, Modulus, read_units, write};
use crate::options::{Level, PLAIN_BITS};
use crate::power::FixedBase;
use crate::primes::prime_after;
use crate::scheme::{self, Words};

const NOT_ODD: &str = "primes are odd and differ";

/// This party's secret key.
pub(crate) struct SecretKey {
    n: Modulus,
    g: BoxedUint,
    h: BoxedUint,
    p: Half,
    q: Half,
    join: Crt,
    /// Logarithms modulo p to the base g^v.
    logarithm: Logarithm,
}

/// The values that belong to one prime.
struct Half {
    /// p.
    prime: Modulus,
    /// v, of t bits.
    order: Zeroizing<NonZero<BoxedUint>>,
    order_bits: u32,
    /// Powers of g and h modulo p.
    g: FixedBase,
    h: FixedBase,
}

/// A prime, the order of h modulo it, and both bases modulo it.
pub(crate) struct Bases {
    pub prime: Zeroizing<BoxedUint>,
    pub order: Zeroizing<BoxedUint>,
    /// t, which is public.
    pub order_bits: u32,
    pub g: Form,
    pub h: Form,
}

impl Bases {
    pub fn generate(level: Level, coins: &mut Coins) -> Bases {
        let (two, bits) = (BoxedUint::from(2u8), level.prime_bits());
        let order = prime_after(&two, level.order_bits(), coins);
        let step = Zeroizing::new((*order).clone().resize(bits).shl(PLAIN_BITS));
        let prime = prime_after(&step, bits, coins);
        let modulus = Modulus::new(&prime).expect(NOT_ODD);
        let wide = Zeroizing::new(prime.wrapping_sub(BoxedUint::one_with_precision(bits)));
        let step = Zeroizing::new(NonZero::new((*step).clone()).expect("a step is not zero"));
        let cofactor = Zeroizing::new(wide.wrapping_div(&step));
        let bound = Zeroizing::new(NonZero::new((*prime).clone()).expect("a prime is not 0"));
        let draw = |coins: &mut Coins| modulus.enter_reduced(&coins.below(&bound)).pow(&cofactor);
        let raise = |x: &Form, times| {
            let mut chain = modulus.chain();
            chain.times(x);
            chain.square(times);
            chain.finish()
        };
        // Of order 2^64 v: neither the 2^63 v-th nor the 2^64-th power is 1, so it is no root of unity of a smaller
        // order.
        let g = loop {
            let g = draw(coins);
            let (low, high) = (raise(&g.pow(&order), PLAIN_BITS - 1), raise(&g, PLAIN_BITS));
            if low.is_nonzero().to_bool() && low != modulus.one() && high != modulus.one() {
                break g;
            }
        };
        let h = loop {
            let h = raise(&draw(coins), PLAIN_BITS);
            if h.is_nonzero().to_bool() && h != modulus.one() {
                break h;
            }
        };
        Bases { prime, order, order_bits: level.order_bits(), g, h }
    }
}

impl Half {
    fn new(bases: &Bases) -> Half {
        let prime = Modulus::new(&bases.prime).expect(NOT_ODD);
        let order = Zeroizing::new(NonZero::new((*bases.order).clone()).expect("a prime is not 0"));
        let g = FixedBase::new(&prime, &bases.g, PLAIN_BITS);
        let h = FixedBase::new(&prime, &bases.h, bases.order_bits);
        Half { prime, order, order_bits: bases.order_bits, g, h }
    }

    /// Returns g^m h^r for a random r modulo v, in Montgomery form.
    fn encrypt(&self, k: u32, m: &BoxedUint, coins: &mut Coins) -> Form {
        let mut chain = self.prime.chain();
        self.g.multiply(&mut chain, m, PLAIN_BITS - k..PLAIN_BITS);
        self.h.multiply(&mut chain, &coins.below(&self.order), 0..self.order_bits);
        chain.finish()
    }
}

impl SecretKey {
    pub(crate) fn from_bases(of_p: Bases, of_q: Bases) -> SecretKey {
        let [p, q] = [&of_p, &of_q].map(Half::new);
        let n = Modulus::new(&of_p.prime.concatenating_mul(&*of_q.prime)).expect(NOT_ODD);
        let join = Crt::new(&p.prime, &q.prime).expect(NOT_ODD);
        let [g, h] = [(&of_p.g, &of_q.g), (&of_p.h, &of_q.h)].map(|(x, y)| join.join(&p.prime, x, &y.retrieve()));
        let logarithm = Logarithm::new(&p.prime, &of_p.g.pow(&of_p.order)).expect(NOT_ODD);
        SecretKey { n, g, h, p, q, join, logarithm }
    }
}

impl Drop for Bases {
    fn drop(&mut self) {
        self.g.zeroize();
        self.h.zeroize();
    }
}

impl scheme::SecretKey for SecretKey {
    type Public = super::PublicKey;

    fn generate(level: Level, coins: &mut Coins) -> SecretKey {
        let of_p = Bases::generate(level, coins);
        let of_q = loop {
            let of_q = Bases::generate(level, coins);
            if *of_q.prime != *of_p.prime && *of_q.order != *of_p.order {
                break of_q;
            }
        };
        Self::from_bases(of_p, of_q)
    }

    fn message(&self) -> Vec<u8> {
        let mut message = Vec::new();
        [self.n.value(), &self.g, &self.h].into_iter().for_each(|number| write(number, &self.n, &mut message));
        message
    }

    fn encrypt(&self, k: u32, m: u64, coins: &mut Coins) -> Vec<u8> {
        let m = Zeroizing::new(BoxedUint::from(m << (PLAIN_BITS - k)));
        let [of_p, of_q] = [&self.p, &self.q].map(|half| half.encrypt(k, &m, coins));
        let mut message = Vec::new();
        write(&self.join.join(&self.p.prime, &of_p, &of_q.retrieve()), &self.n, &mut message);
        message
    }

    fn read(&self, message: &[u8]) -> Result<Vec<BoxedUint>, &'static str> {
        read_units(&self.n, self.n.value(), message)
    }

    fn decrypt(&self, k: u32, ciphertext: &BoxedUint, _: usize) -> Result<Words, &'static str> {
        let power = Zeroizing::new(self.p.prime.enter(ciphertext).pow_bounded_exp(&self.p.order, self.p.order_bits));
        Ok(Zeroizing::new(vec![self.logarithm.of(&self.p.prime, &power, k)?]))
    }
}
