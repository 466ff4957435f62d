//! Secret primes p = 1 modulo a step.
//!
//! Every candidate is drawn anew: the number of refused ones, which time reveals, is independent of the chosen prime. A
//! candidate is refused by trial division or a Miller-Rabin test. The chosen one has passed enough of these, and a
//! Lucas test, to be composite with probability below 2^-128 by the bound of FIPS 186-5, appendix C.

use crypto_bigint::{BitOps, BoxedUint, NonZero, Resize};
use crypto_primes::Flavor;
use crypto_primes::fips::{FipsOptions, is_prime};
use zeroize::Zeroizing;

use crate::coins::Coins;

/// The probability that a composite passes is below 2 to the minus this number.
const ERROR_BITS: u32 = 128;
/// The number of Miller-Rabin tests for sizes that the bound does not cover: the error is at most 4 to the minus this
/// number.
const MOST_TESTS: usize = 64;

/// Returns a prime of `bits` bits, the two highest ones set, that is one more than an odd multiple of the even `step`.
pub(crate) fn prime_after(step: &BoxedUint, bits: u32, coins: &mut Coins) -> Zeroizing<BoxedUint> {
    let tests = FipsOptions::with_error_bound(bits, ERROR_BITS).unwrap_or(FipsOptions::with_mr_iterations(MOST_TESTS));
    let tests = tests.with_trial_division_test().with_lucas_test();
    let step = Zeroizing::new(NonZero::new(step.clone().resize(bits)).expect("a step is not zero"));
    loop {
        let candidate = candidate(&step, bits, coins);
        if top_bits_set(&candidate, bits) && is_prime(coins, Flavor::Any, &*candidate, tests) {
            return candidate;
        }
    }
}

/// Returns one more than an odd multiple of the step near a random number whose two highest bits are set.
fn candidate(step: &NonZero<BoxedUint>, bits: u32, coins: &mut Coins) -> Zeroizing<BoxedUint> {
    let mut near = coins.bits(bits);
    [bits - 1, bits - 2].into_iter().for_each(|bit| BitOps::set_bit_vartime(&mut *near, bit, true));
    let mut factor = Zeroizing::new(near.wrapping_div(step));
    BitOps::set_bit_vartime(&mut *factor, 0, true);
    let multiple = Zeroizing::new(factor.wrapping_mul(step.as_ref()));
    Zeroizing::new(multiple.wrapping_add(BoxedUint::one_with_precision(bits)))
}

/// Returns whether the two highest bits are set: the product of two such numbers has twice their bits.
fn top_bits_set(candidate: &BoxedUint, bits: u32) -> bool {
    candidate.bit_vartime(bits - 1) && candidate.bit_vartime(bits - 2)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::coins::test_coins;

    #[test]
    fn primes_have_the_form_asked_for() {
        let mut coins = test_coins(1);
        for (step, bits) in [(2u128, 64), (2, 128), (6, 64), (1 << 64, 128), (3 << 70, 256)] {
            for _ in 0..4 {
                let p = prime_after(&BoxedUint::from(step), bits, &mut coins);
                let rest = p.wrapping_sub(BoxedUint::one_with_precision(bits));
                let (factor, zero) = rest.div_rem(&NonZero::new(BoxedUint::from(step)).unwrap());
                assert_eq!((p.bits_vartime(), factor.bit_vartime(0), zero.is_zero().to_bool()), (bits, true, true));
                assert!(top_bits_set(&p, bits));
                assert!(crypto_primes::is_prime(Flavor::Any, &*p), "by another set of tests");
            }
        }
    }
}
