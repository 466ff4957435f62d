//! Where a party in a test may deviate: it has something else than the protocol says at one place, and goes on with
//! that. Outside of tests every party has what it should.

use std::borrow::Cow;

use quorate_ring::Module;

/// What a cheater has otherwise.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Twist {
    /// Its factors in the transfers towards a peer.
    Factors {
        /// The peer.
        peer: usize,
    },
    /// The same in one row of OTs.
    Transfer {
        /// The peer.
        peer: usize,
        /// The place among all factors of the step.
        factor: usize,
        /// The row.
        row: usize,
    },
    /// The factor a of triples: authenticated is another one than went into the transfers. Its product with the
    /// cheater's own B is made up for.
    Factor,
    /// What it authenticates of triples: the place among all vectors of the step.
    Authenticated(usize),
    /// The product of two factors that it alone knows.
    Product,
    /// Its share of rho, or of sigma.
    Rho,
    /// Its share of what a sacrifice has to leave zero: the first one of a challenge, or the second.
    Zero(usize),
    /// Its share of the differences within buckets, or of what hashes matrix triples.
    Difference,
    /// Its part beta of B.
    Beta,
    /// Its share of c, once it was divided.
    Quotient,
    /// Its share of what the division has to leave zero.
    Rest,
    /// Its part of the tags of whole words.
    WordTag,
    /// What it tells of its share to open an element.
    Low,
    /// What it alone tells of a value that it knows.
    Known,
    /// What it tells of its bits to open them.
    OpenedBit,
    /// What it tells one peer of its inputs, and of its share in every opening.
    Apart {
        /// The peer.
        peer: usize,
    },
    /// Its share of an element whose lowest bit is opened below a bit that has both forms.
    Lowest,
    /// What it tells of upper bits in a row check.
    Row,
    /// Its part of the tags in a row check.
    RowTag,
    /// A switch of a shuffle.
    Switch,
    /// The bits that it chooses for MACs, which are its elements.
    MacBit,
    /// Its part of sharings of zero, as bits.
    BitZero,
    /// What it tells of the lowest bits of sums where leaky ANDs are made.
    Flip,
    /// Its bits in the transfers towards a peer.
    Bits {
        /// The peer.
        peer: usize,
    },
    /// The bits that it proves to be bits.
    ProvenBit,
    /// Its numbers, where they are authenticated.
    Number,
    /// The same once they are: what it then tells of them.
    ToldNumber,
    /// What it tells of the sum of two numbers.
    Sum,
    /// A0 of what it proves of such sums.
    Proof,
    /// The bits that it tells of numbers to be taken off.
    ToldBit,
}

/// What can be off: outside of tests nothing is.
#[cfg(not(feature = "testing"))]
pub(crate) trait Twisted {}

#[cfg(not(feature = "testing"))]
impl<T> Twisted for T {}

#[cfg(not(feature = "testing"))]
impl crate::keys::Keys {
    /// What this party has at a place.
    #[inline(always)]
    pub(crate) fn twisted<T>(&self, _: Twist, value: T) -> T {
        value
    }
}

impl crate::keys::Keys {
    /// What is told to a peer: the same as to all others, where a test does not say otherwise.
    pub(crate) fn told_to<'m, M: Module + Twisted>(&self, peer: usize, value: &'m M) -> Cow<'m, M> {
        self.twisted(Twist::Apart { peer }, Cow::Borrowed(value))
    }
}

#[cfg(feature = "testing")]
pub use insecure::By;
#[cfg(feature = "testing")]
pub(crate) use insecure::Twisted;

/// INSECURE, for tests only: parties that deviate, and what else tests ask of parties.
#[cfg(feature = "testing")]
mod insecure {
    use std::borrow::Cow;

    use quorate_ring::{Bits, Module, Ring, Vector, Wiped};

    use super::Twist;
    use crate::keys::Keys;
    use crate::params::Params;
    use crate::party::Spdz2k;
    use crate::privateedabit::Sizes;
    use crate::shared::Shared;

    /// By how much. Of bits the first one is another, whatever this says, or the first two.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub enum By {
        /// The first element is more by this power of two.
        Plus(u32),
        /// It is less.
        Minus(u32),
        /// The first element is more by this power of two, and the second one less: their sum is what it was.
        Pair(u32),
        /// Elements are more by this number: the first one, and others that are so far apart, so many in all.
        Steps {
            /// How far.
            apart: usize,
            /// How many.
            count: usize,
            /// By how much.
            by: i128,
        },
        /// All elements are more by this number.
        All(i128),
    }

    /// What can be off.
    pub(crate) trait Twisted {
        fn twist(&mut self, by: By);
    }

    impl Twisted for Vector {
        fn twist(&mut self, by: By) {
            let (ring, len) = self.shape_of();
            if self.is_shape() || len == 0 {
                return;
            }
            let first = |bit: u32| {
                let mut power = Vector::constant(ring, 1, 1);
                power.shl(bit);
                Vector::concat(&[&power, &Vector::zeros(ring, len - 1)])
            };
            let each = |by: &dyn Fn(usize) -> i128| Vector::from_i128s(ring, &(0..len).map(by).collect::<Vec<_>>());
            match by {
                By::Plus(bit) => self.add_assign(&first(bit)),
                By::Minus(bit) => self.sub_assign(&first(bit)),
                By::Pair(bit) => self.add_assign(&each(&|i| [1 << bit, -1 << bit].get(i).copied().unwrap_or(0))),
                By::Steps { apart, count, by } => {
                    self.add_assign(&each(&|i| if i % apart == 0 && i / apart < count { by } else { 0 }));
                }
                By::All(number) => self.add_assign(&each(&|_| number)),
            }
        }
    }

    impl Twisted for Bits {
        fn twist(&mut self, by: By) {
            if !self.is_shape() && self.lanes() > 0 {
                self.words_of_mut(0)[0] ^= if matches!(by, By::Pair(_)) { 3 } else { 1 };
            }
        }
    }

    impl Twisted for u128 {
        fn twist(&mut self, by: By) {
            let mut number = Vector::from_u128s(Ring::of(u128::BITS), &[*self]);
            number.twist(by);
            *self = number.to_u128s()[0];
        }
    }

    impl Twisted for Shared {
        fn twist(&mut self, by: By) {
            self.share.twist(by);
        }
    }

    impl<M: Module + Twisted> Twisted for Wiped<M> {
        fn twist(&mut self, by: By) {
            self.0.twist(by);
        }
    }

    impl<M: Module + Twisted> Twisted for Cow<'_, M> {
        fn twist(&mut self, by: By) {
            self.to_mut().twist(by);
        }
    }

    impl<T: Twisted> Twisted for &mut T {
        fn twist(&mut self, by: By) {
            (**self).twist(by);
        }
    }

    impl<T: Twisted> Twisted for Option<T> {
        fn twist(&mut self, by: By) {
            self.iter_mut().for_each(|value| value.twist(by));
        }
    }

    impl Keys {
        /// What this party has at a place: what it should, or what a test says.
        pub(crate) fn twisted<T: Twisted>(&self, at: Twist, mut value: T) -> T {
            let twists = self.twists.borrow();
            twists.iter().filter(|(twist, _)| *twist == at).for_each(|(_, by)| value.twist(*by));
            value
        }

        /// From here on this party deviates there, too.
        pub fn insecure_twist(&self, twist: Twist, by: By) {
            self.twists.borrow_mut().push((twist, by));
        }

        /// From here on numbers with bits are made by cut and choose wherever they can be.
        pub fn insecure_choose(&self) {
            self.chooses.set(true);
        }

        /// From here on these keys outlive checks that fail, so that a test can try an attack many times.
        pub fn insecure_endure(&self) {
            self.endures.set(true);
        }
    }

    impl Spdz2k {
        /// As [`Keys::insecure_twist`].
        pub fn insecure_twist(&self, twist: Twist, by: By) {
            self.keys.insecure_twist(twist, by);
        }

        /// As [`Keys::insecure_choose`].
        pub fn insecure_choose(&self) {
            self.keys.insecure_choose();
        }

        /// As [`Keys::insecure_endure`].
        pub fn insecure_endure(&self) {
            self.keys.insecure_endure();
        }
    }

    impl Params {
        /// W and L of triples over Z_2^k, for tests that change what is sent of one row.
        pub fn insecure_rows(self, ring: Ring) -> (usize, usize) {
            (self.values(ring).bits() as usize, self.noise_bits())
        }

        /// How many numbers a bucket has where so many are cut and chosen.
        pub fn insecure_bucket(self, count: usize) -> usize {
            Sizes::of(count, self.inner_bits()).map_or(0, |sizes| sizes.bucket)
        }
    }
}
