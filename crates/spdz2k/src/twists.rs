//! The places at which a party in a test may deviate: it has a wrong value at one place, and continues with it. Outside
//! of tests every party has the right values.

use std::borrow::Cow;

use quorate_ring::Module;

/// The value of a cheater that is wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Twist {
    /// Its factors in the transfers towards a peer.
    Factors {
        /// The peer.
        peer: usize,
    },
    /// Its factors in one row of OTs.
    Transfer {
        /// The peer.
        peer: usize,
        /// The place among all factors of the step.
        factor: usize,
        /// The row.
        row: usize,
    },
    /// The factor a of triples: another one is authenticated than went into the transfers. The cheater corrects the
    /// products by the product with its own B.
    Factor,
    /// What it authenticates of triples; the number is the place among all vectors of the step.
    Authenticated(usize),
    /// The product of two factors that it alone knows.
    Product,
    /// Its share of rho, or of sigma.
    Rho,
    /// Its share of what a sacrifice has to leave zero: the first opening of a challenge, or the second.
    Zero(usize),
    /// Its share of the differences within buckets, or of delta in matrix triples.
    Difference,
    /// Its part beta of B.
    Beta,
    /// Its share of c after the division.
    Quotient,
    /// Its share of what the division has to leave zero.
    Rest,
    /// Its part of the tags of whole words.
    WordTag,
    /// What it sends of its share to open an element.
    Low,
    /// What it alone sends of a value that it knows.
    Known,
    /// What it sends of its bits to open them.
    OpenedBit,
    /// What it sends one peer of its inputs, and of its share in every opening.
    Apart {
        /// The peer.
        peer: usize,
    },
    /// Its share of an element whose lowest bit is opened below a bit that has both forms.
    Lowest,
    /// What it sends of upper bits in a row check.
    Row,
    /// Its part of the tags in a row check.
    RowTag,
    /// A switch of a shuffle.
    Switch,
    /// The bits that it chooses for MACs, which are its elements.
    MacBit,
    /// Its part of sharings of zero, as bits.
    BitZero,
    /// What it sends of the lowest bits of sums when leaky ANDs are made.
    Flip,
    /// Its bits in the transfers towards a peer.
    Bits {
        /// The peer.
        peer: usize,
    },
    /// The bits that it proves to be bits.
    ProvenBit,
    /// Its numbers when they are authenticated.
    Number,
    /// Its authenticated numbers: what it sends of them later.
    ToldNumber,
    /// What it sends of the sum of two numbers.
    Sum,
    /// A0 of its proof of such sums.
    Proof,
    /// The bits of numbers that it sends in order to take them off.
    ToldBit,
}

/// Values that can be wrong in tests; outside of tests they are not.
#[cfg(not(feature = "testing"))]
pub(crate) trait Twisted {}

#[cfg(not(feature = "testing"))]
impl<T> Twisted for T {}

#[cfg(not(feature = "testing"))]
impl crate::keys::Keys {
    /// Returns the value of this party at a place, unchanged.
    #[inline(always)]
    pub(crate) fn twisted<T>(&self, _: Twist, value: T) -> T {
        value
    }
}

impl crate::keys::Keys {
    /// Returns the message to a peer: the same one as to all others, unless a test says otherwise.
    pub(crate) fn told_to<'m, M: Module + Twisted>(&self, peer: usize, value: &'m M) -> Cow<'m, M> {
        self.twisted(Twist::Apart { peer }, Cow::Borrowed(value))
    }
}

#[cfg(feature = "testing")]
pub use insecure::By;
#[cfg(feature = "testing")]
pub(crate) use insecure::Twisted;

/// INSECURE, for tests only: parties that deviate, and other access for tests.
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

    /// The amount of a deviation. Of bits, the first one or the first two are flipped, whatever the amount.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub enum By {
        /// The first element is larger by this power of two.
        Plus(u32),
        /// The first element is smaller by this power of two.
        Minus(u32),
        /// The first element is larger by this power of two, and the second one smaller: their sum stays the same.
        Pair(u32),
        /// Elements are larger by this number: the first one, and others at equal distances.
        Steps {
            /// The distance.
            apart: usize,
            /// The number of elements.
            count: usize,
            /// The amount.
            by: i128,
        },
        /// All elements are larger by this number.
        All(i128),
    }

    /// Values that can be wrong.
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
        /// Returns the value of this party at a place: the right one, or the one that a test asks for.
        pub(crate) fn twisted<T: Twisted>(&self, at: Twist, mut value: T) -> T {
            let twists = self.twists.borrow();
            twists.iter().filter(|(twist, _)| *twist == at).for_each(|(_, by)| value.twist(*by));
            value
        }

        /// Makes this party deviate at this place from here on, too.
        pub fn insecure_twist(&self, twist: Twist, by: By) {
            self.twists.borrow_mut().push((twist, by));
        }

        /// Has numbers with bits made by cut and choose from here on, wherever that is possible.
        pub fn insecure_choose(&self) {
            self.chooses.set(true);
        }

        /// Lets these keys outlive checks that fail from here on, so that a test can try an attack many times.
        pub fn insecure_endure(&self) {
            self.endures.set(true);
        }
    }

    impl Spdz2k {
        /// Makes this party deviate at this place from here on, as [`Keys::insecure_twist`] does.
        pub fn insecure_twist(&self, twist: Twist, by: By) {
            self.keys.insecure_twist(twist, by);
        }

        /// Has numbers with bits made by cut and choose from here on, as [`Keys::insecure_choose`] does.
        pub fn insecure_choose(&self) {
            self.keys.insecure_choose();
        }

        /// Lets the keys outlive checks that fail from here on, as [`Keys::insecure_endure`] does.
        pub fn insecure_endure(&self) {
            self.keys.insecure_endure();
        }
    }

    impl Params {
        /// Returns W and L of triples over Z_2^k, for tests that change what is sent of one row.
        pub fn insecure_rows(self, ring: Ring) -> (usize, usize) {
            (self.values(ring).bits() as usize, self.noise_bits())
        }

        /// Returns the number of numbers in a bucket if `count` numbers are made by cut and choose.
        pub fn insecure_bucket(self, count: usize) -> usize {
            Sizes::of(count, self.inner_bits()).map_or(0, |sizes| sizes.bucket)
        }
    }
}
