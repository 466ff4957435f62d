//! The combination of two residues (Garner 1959), in constant time.

use crypto_bigint::{BoxedUint, ConcatenatingMul, Resize};
use zeroize::{Zeroize, Zeroizing};

use crate::modulus::{Form, Modulus};

/// Joins residues modulo secret coprime p and q of one size.
pub(crate) struct Crt {
    q: Zeroizing<BoxedUint>,
    /// 1/q modulo p.
    inverse: Form,
}

impl Crt {
    /// Prepares the combination; `None` if q has no inverse modulo p.
    pub fn new(p: &Modulus, q: &Modulus) -> Option<Crt> {
        let inverse = Option::<Form>::from(p.enter(q.value()).invert())?;
        Some(Crt { q: Zeroizing::new(q.value().clone()), inverse })
    }

    /// Returns the number below p q that is x modulo p and y modulo q, for y < q: y + q ((x - y) / q mod p).
    pub fn join(&self, p: &Modulus, x: &Form, y: &BoxedUint) -> BoxedUint {
        let difference = Zeroizing::new(x.sub(&p.enter(y)));
        let quotient = Zeroizing::new(Zeroizing::new(difference.mul(&self.inverse)).retrieve());
        let product = Zeroizing::new(quotient.concatenating_mul(&*self.q));
        product.wrapping_add(y.clone().resize(product.bits_precision()))
    }
}

impl Drop for Crt {
    fn drop(&mut self) {
        self.inverse.zeroize();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_residues_of_small_moduli_are_joined() {
        let [p, q] = [11u64, 13].map(|m| Modulus::new(&BoxedUint::from(m)).unwrap());
        for (p, q) in [(&p, &q), (&q, &p)] {
            let crt = Crt::new(p, q).unwrap();
            for x in 0u64..143 {
                let number = BoxedUint::from(x);
                let joined = crt.join(p, &p.enter(&number), &q.enter(&number).retrieve());
                assert_eq!(joined.as_words()[0], x);
            }
        }
        assert!(Crt::new(&p, &p).is_none());
    }
}
