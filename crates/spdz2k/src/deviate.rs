//! What cheaters in tests do where triples are made; nothing outside of tests.

use quorate_ring::{Vector, Wiped};

use crate::keys::Keys;
#[cfg(feature = "testing")]
use crate::shared::blank;

/// Where a party may deviate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    /// A factor of the OTs of a row, towards party 0.
    Transfer {
        /// The place among all factors of the step.
        factor: usize,
        /// The row.
        row: usize,
    },
    /// What it authenticates: the place among all vectors of the step.
    Authenticated(usize),
    /// Its share of rho.
    Rho,
    /// Its share of what has to be zero: the first of the sacrifices, or the second.
    Zero(usize),
    /// Its share of the differences within buckets.
    Difference,
}

impl Keys {
    /// What a cheater in a test has in place of a value at this step.
    #[cfg(feature = "testing")]
    pub(crate) fn other(&self, step: Step, value: &Vector) -> Option<Wiped<Vector>> {
        let by = self.deviations.borrow().iter().find(|(at, _)| *at == step)?.1;
        let mut other = Wiped(blank(value));
        if !value.is_shape() {
            other.add_assign(&Vector::from_i128s(value.ring(), &vec![by; value.len()]));
        }
        other.add_assign(value);
        Some(other)
    }

    /// The same outside of tests: nothing.
    #[cfg(not(feature = "testing"))]
    pub(crate) fn other(&self, _: Step, _: &Vector) -> Option<Wiped<Vector>> {
        None
    }

    /// From here on every value of this step is off by so much, too.
    #[cfg(feature = "testing")]
    pub fn insecure_deviate(&self, step: Step, by: i128) {
        self.deviations.borrow_mut().push((step, by));
    }
}
