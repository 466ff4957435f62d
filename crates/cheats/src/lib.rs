//! An adversary for tests of attacks, in place of `quorate-adversary`. It changes the values that a test names,
//! continues after failed checks, and records messages.
#![forbid(unsafe_code)]

mod dealer;
mod spoil;

use std::borrow::Cow;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

pub use dealer::{BatchAdversary, DealerAdversary, Forgery, Lie, Told};
pub use quorate_adversary::Twist;
use quorate_ring::{Bits, Module, Ring, Vector, Wiped};
pub use spoil::{DealtKeys, Spoil};

/// The amount of a deviation. For bits, the first one or the first two are flipped, whatever the amount.
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
pub trait Twisted {
    /// Makes the value wrong by this amount.
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

/// Values that an adversary records as vectors.
pub trait Heard {
    /// Returns the value as a vector, bits as elements mod 2, row after row.
    fn as_vector(&self) -> Vector;
}

impl Heard for Vector {
    fn as_vector(&self) -> Vector {
        self.clone()
    }
}

impl Heard for Bits {
    fn as_vector(&self) -> Vector {
        let rows: Vec<Vector> = (0..self.rows()).map(|row| self.row(row).to_vector(Ring::of(1))).collect();
        Vector::concat(&rows.iter().collect::<Vec<_>>())
    }
}

/// Locks a value that the workers of a party share.
fn locked<T>(shared: &Mutex<T>) -> MutexGuard<'_, T> {
    shared.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The adversary of a party, which may deviate. Without further instructions it follows the protocol.
#[derive(Default)]
pub struct Adversary {
    twists: Mutex<Vec<(Twist, By)>>,
    goes_on: AtomicBool,
    endures: AtomicBool,
    heard: Mutex<Option<Vec<Vec<Vector>>>>,
}

impl Adversary {
    /// Returns the adversary of a party that follows the protocol until it is told otherwise.
    pub fn none() -> Adversary {
        Adversary::default()
    }

    /// Returns the value of the party at a place: unchanged, or as a test asks.
    pub fn at<T: Twisted>(&self, at: Twist, mut value: T) -> T {
        let twists = locked(&self.twists);
        twists.iter().filter(|(twist, _)| *twist == at).for_each(|(_, by)| value.twist(*by));
        value
    }

    /// Returns whether the party continues after a check that fails.
    pub fn goes_on(&self) -> bool {
        self.goes_on.load(Ordering::SeqCst)
    }

    /// Returns whether the party's keys stay in use after a check that fails.
    pub fn endures(&self) -> bool {
        self.endures.load(Ordering::SeqCst)
    }

    /// Notes what all parties sent of one value.
    pub fn hears<M: Heard>(&self, told: &[M]) {
        if let Some(heard) = &mut *locked(&self.heard) {
            heard.push(told.iter().map(Heard::as_vector).collect());
        }
    }

    /// Makes the party deviate at this place from here on, too.
    pub fn twist(&self, twist: Twist, by: By) {
        locked(&self.twists).push((twist, by));
    }

    /// Makes the party continue after checks that fail.
    pub fn go_on(&self) {
        self.goes_on.store(true, Ordering::SeqCst);
    }

    /// Lets keys outlive checks that fail from here on, so that a test can try an attack many times.
    pub fn endure(&self) {
        self.endures.store(true, Ordering::SeqCst);
    }

    /// Records what parties send from here on.
    pub fn listen(&self) {
        *locked(&self.heard) = Some(vec![]);
    }

    /// Returns the recorded messages: owners' inputs less their masks, and for openings the low parts of all parties.
    pub fn heard(&self) -> Vec<Vec<Vector>> {
        locked(&self.heard).take().unwrap_or_default()
    }
}
