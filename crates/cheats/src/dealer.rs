//! A dealer that sends wrong values, and opens wrong values so that its last zero holds.
//!
//! For products of bits, t X - e b is zero with e = t for b = 1. Tags of x + 1 fit rows that are larger by the coins
//! that select that element. Keys that are off by Delta fit a sum that is larger by the bit's weight.
//!
//! With X = c - a b the last zero is t X - e b for rho + e at both parties, and t X - e b_1 if only P1 is sent that.
//! For odd b, or b_1, there is such an e; otherwise the dealer does not forge.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use quorate_ot::Blocks;
use quorate_ring::{Bits, Ring, Vector};

use crate::locked;
use crate::spoil::{DealtKeys, Spoil, spoilt};

/// A deviation of a dealer: it changes one element of one message of a batch by a power of two (bits and keys: in that
/// bit), and continues with the changed value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Lie {
    /// The number of the message, counted from 0.
    pub sent: usize,
    /// The number of the element.
    pub element: usize,
    /// The power of two.
    pub bit: u32,
    /// The only party that gets the changed value of a message to both.
    pub only: Option<usize>,
}

impl Lie {
    /// The top bit of any modulus.
    pub const TOP: u32 = u32::MAX;
}

/// The opening that the dealer changes: rho of products, for both or for P1; or of other wrong values.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Forgery {
    /// rho of products of elements, for both: found since both check that rho is t a - ahat.
    ToBoth,
    /// rho of products of elements, for P1 alone: found since both compare what they were sent.
    ToSecond,
    /// rho of products of bits.
    Bits,
    /// Rows: all tags of first elements are those of elements larger by 1.
    Tags,
    /// Sums of bits of P0: all keys of first bits are those of the other bit.
    Keys,
}

/// Values that a dealer sends one party, and can change.
pub trait Told {
    /// Changes the value, and returns whether it is another one now.
    fn lie(&mut self, lie: Lie) -> bool;
}

impl Told for Vector {
    fn lie(&mut self, lie: Lie) -> bool {
        let bits = self.ring().bits();
        let bit = if lie.bit == Lie::TOP { bits - 1 } else { lie.bit };
        if self.is_shape() || lie.element >= self.len() || bit >= bits {
            return false;
        }
        let mut error = Vector::constant(self.ring(), 1, 1);
        error.shl(bit);
        self.add_at(lie.element, &error);
        true
    }
}

impl Told for Bits {
    fn lie(&mut self, lie: Lie) -> bool {
        let can = !self.is_shape() && lie.element < self.lanes() && lie.bit == 0;
        if can {
            self.words_of_mut(0)[lie.element / 64] ^= 1 << (lie.element % 64);
        }
        can
    }
}

/// Bytes: an element is one byte.
impl Told for Vec<u8> {
    fn lie(&mut self, lie: Lie) -> bool {
        let byte = self.get_mut(lie.element + lie.bit as usize / 8);
        byte.map(|byte| *byte ^= 1 << (lie.bit % 8)).is_some()
    }
}

#[derive(Default)]
struct State {
    lies: Mutex<Vec<Lie>>,
    forges: Mutex<Option<Forgery>>,
    spoils: Mutex<Option<(Spoil, Option<usize>)>>,
    lied: AtomicUsize,
}

/// The adversary of a dealer, which may deviate. Without further instructions it follows the protocol.
#[derive(Default)]
pub struct DealerAdversary(Arc<State>);

impl DealerAdversary {
    /// Returns the adversary of a dealer that follows the protocol until it is told otherwise.
    pub fn none() -> DealerAdversary {
        DealerAdversary::default()
    }

    /// Makes the dealer deviate in this way from here on.
    pub fn lie(&self, lie: Lie) {
        locked(&self.0.lies).push(lie);
    }

    /// Makes the dealer open values from here on that would let wrong products pass an incomplete check.
    pub fn forge(&self, forgery: Forgery) {
        *locked(&self.0.forges) = Some(forgery);
    }

    /// Makes the dealer spoil keys from here on: all, or those of the message with this number in a batch.
    pub fn spoil(&self, spoil: Spoil, at: Option<usize>) {
        *locked(&self.0.spoils) = Some((spoil, at));
    }

    /// Returns the number of times that the dealer deviated.
    pub fn lied(&self) -> usize {
        self.0.lied.load(Ordering::SeqCst)
    }

    fn forges(&self, forgery: Forgery) -> bool {
        *locked(&self.0.forges) == Some(forgery)
    }

    /// Returns the adversary for a batch.
    pub fn batch(&self) -> BatchAdversary {
        BatchAdversary { state: self.0.clone(), sent: 0 }
    }

    /// Returns the difference between elements and those that their tags fit, with [`Forgery::Tags`]: 1 in the first
    /// place.
    pub fn error_of(&self, elements: &Vector) -> Option<Vector> {
        if elements.is_shape() || elements.is_empty() || !self.forges(Forgery::Tags) {
            return None;
        }
        let mut unit = Vector::zeros(elements.ring(), elements.len());
        unit.add_at(0, &Vector::constant(elements.ring(), 1, 1));
        Some(unit)
    }

    /// Changes the key of the first bit of P0, with [`Forgery::Keys`].
    pub fn keys(&self, of: usize, keys: &mut Blocks, delta: u128) {
        if of == 0 && !keys.is_shape() && self.forges(Forgery::Keys) {
            keys.as_mut_slice().iter_mut().take(1).for_each(|key| *key ^= delta);
        }
    }

    /// Returns the sum of a party's bits that fits such keys; the first mask has weight 1.
    pub fn sum_of_bits(&self, of: usize, sum: u64, weights: &[Vec<u64>]) -> u64 {
        match of == 0 && self.forges(Forgery::Keys) {
            true => weights.iter().filter_map(|weights| weights.first()).fold(sum ^ 1, |sum, weight| sum ^ weight),
            false => sum,
        }
    }

    /// Changes rho of products of bits a, b, c, with [`Forgery::Bits`].
    pub fn rho_of_bits(&self, rho: &mut [u64], t: u64, values: impl FnOnce() -> [Vec<bool>; 3]) {
        if rho.is_empty() || !self.forges(Forgery::Bits) {
            return;
        }
        let [a, b, c] = values();
        for (i, rho) in rho.iter_mut().enumerate() {
            if b[i] && c[i] != (a[i] && b[i]) {
                *rho ^= t;
            }
        }
    }

    /// Returns the rho that a forging dealer sends P0 and P1 for products of elements, from rho, a, b, c and P1's
    /// summand of b.
    pub fn rho(&self, t: u64, values: impl FnOnce() -> Option<[Vector; 5]>) -> Option<[Vector; 2]> {
        let forgery = [Forgery::ToBoth, Forgery::ToSecond].into_iter().find(|forgery| self.forges(*forgery))?;
        let [right, a, b, c, b_1] = values().filter(|values| !values[0].is_shape())?;
        let numbers = |x: &Vector| x.convert(Ring::of(right.ring().bits())).to_limbs();
        let (mut product, mut wrong) = (a, c);
        product.mul_assign(&b);
        wrong.sub_assign(&product);
        let b = if forgery == Forgery::ToSecond { b_1 } else { b };
        let low = |limbs: &[u64; 4]| u128::from(limbs[1]) << 64 | u128::from(limbs[0]);
        let errors: Vec<u128> = numbers(&wrong)
            .iter()
            .zip(&numbers(&b))
            .map(|(x, b)| match low(b) % 2 {
                0 => 0,
                _ => low(x).wrapping_mul(t.into()).wrapping_mul(inverse(low(b))),
            })
            .collect();
        let mut forged = right.clone();
        forged.add_assign(&Vector::from_u128s(right.ring(), &errors));
        Some(match forgery {
            Forgery::ToSecond => [right, forged],
            _ => [forged.clone(), forged],
        })
    }
}

/// Returns the inverse of an odd number modulo 2^128.
fn inverse(odd: u128) -> u128 {
    (0..7).fold(odd, |x, _| x.wrapping_mul(2u128.wrapping_sub(odd.wrapping_mul(x))))
}

/// The adversary in a batch of messages.
pub struct BatchAdversary {
    state: Arc<State>,
    /// The number of messages so far.
    sent: usize,
}

impl BatchAdversary {
    fn lies(&self) -> Vec<Lie> {
        locked(&self.state.lies).iter().filter(|lie| lie.sent == self.sent).copied().collect()
    }

    fn note(&self, deviates: bool) {
        self.state.lied.fetch_add(usize::from(deviates), Ordering::SeqCst);
    }

    /// Changes the next value that the dealer sends one party, if a test asks for it.
    pub fn told<M: Told>(&mut self, value: &mut M) {
        for lie in self.lies() {
            self.note(value.lie(lie));
        }
        self.sent += 1;
    }

    /// Returns the bytes that the dealer sends each party: changed for both or for one of them, if a test asks for it.
    pub fn told_both(&mut self, bytes: Vec<u8>) -> [Vec<u8>; 2] {
        let mut both = [bytes.clone(), bytes];
        for lie in self.lies() {
            let mut told = false;
            for (_, value) in both.iter_mut().enumerate().filter(|(i, _)| lie.only.is_none_or(|only| only == *i)) {
                told |= value.lie(lie);
            }
            self.note(told);
        }
        self.sent += 1;
        both
    }

    /// Returns the corrections of keys that the dealer sends each party: spoilt or changed, if a test asks for it.
    pub fn keys_told<'k>(&mut self, corrections: Vec<u8>, dealt: impl FnOnce() -> DealtKeys<'k>) -> [Vec<u8>; 2] {
        let spoils = *locked(&self.state.spoils);
        match spoils.filter(|(_, at)| at.is_none_or(|at| at == self.sent)) {
            Some((spoil, _)) => {
                self.note(true);
                self.sent += 1;
                spoilt(spoil, dealt(), &corrections)
            }
            None => self.told_both(corrections),
        }
    }
}
