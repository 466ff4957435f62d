//! Shares with tags, over the ring in which they were authenticated.

use quorate_engine::Linear;
use quorate_ring::{Ring, Vector};

/// One party's shares of a vector over Z_2^m and of its tags. All tags add up to alpha times the sum of all shares, mod
/// 2^m.
#[derive(Clone)]
pub struct Shared {
    /// Shares of the elements.
    pub share: Vector,
    /// Shares of alpha times the elements.
    pub tag: Vector,
}

impl Drop for Shared {
    fn drop(&mut self) {
        self.share.wipe();
        self.tag.wipe();
    }
}

impl Shared {
    /// Applies a Z-linear function to shares and tags.
    pub fn map(&self, function: impl Fn(&Vector) -> Vector) -> Shared {
        Shared { share: function(&self.share), tag: function(&self.tag) }
    }

    /// Applies a function that is linear in both arguments to shares and tags.
    pub(crate) fn zip(mut self, other: &Shared, function: impl Fn(&mut Vector, &Vector)) -> Shared {
        function(&mut self.share, &other.share);
        function(&mut self.tag, &other.tag);
        self
    }

    /// Returns the sum of two vectors.
    pub fn plus(self, other: &Shared) -> Shared {
        self.zip(other, Vector::add_assign)
    }

    /// Returns the difference of two vectors.
    pub fn minus(self, other: &Shared) -> Shared {
        self.zip(other, Vector::sub_assign)
    }

    /// Returns the products with public factors over the same ring.
    pub fn times(&self, factors: &Vector) -> Shared {
        self.map(|vector| Linear::Factors(factors).apply(vector))
    }

    /// Returns 2^shift times the vector, in a ring of at most `shift` more bits.
    pub fn raised(&self, ring: Ring, shift: u32) -> Shared {
        self.map(|vector| Linear::Raise(ring, shift).apply(vector))
    }

    /// Returns the vector modulo the size of a smaller ring.
    pub fn reduced(&self, ring: Ring) -> Shared {
        self.map(|vector| Linear::Reduce(ring).apply(vector))
    }
}

/// Returns zeros with the ring and length of a vector.
pub fn blank(like: &Vector) -> Vector {
    match like.is_shape() {
        true => Vector::shape(like.ring(), like.len()),
        false => Vector::zeros(like.ring(), like.len()),
    }
}

/// Returns the sum of the vectors of all parties.
pub fn sum(parts: &[Shared]) -> Shared {
    parts[1..].iter().fold(parts[0].clone(), |sum, part| sum.plus(part))
}

/// Joins vectors, one after the other.
pub fn joined(parts: &[&Shared]) -> Shared {
    let all = |of: fn(&Shared) -> &Vector| Vector::concat(&parts.iter().map(|&part| of(part)).collect::<Vec<_>>());
    Shared { share: all(|part| &part.share), tag: all(|part| &part.tag) }
}
