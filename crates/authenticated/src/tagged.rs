//! Shares with tags. A value x of Z_2^k is the sum of all parties' shares in Z_2^(k+s), modulo 2^k; the sum of the tags
//! is alpha times that of the shares, modulo 2^(k+s).
//!
//! A value that one party knows is marked with that party: its share is the whole value, and those of the others are
//! zeros. Inputs are such values, and so are the results of linear maps, products and public numbers on inputs of one
//! party. The mark follows from the program alone, alike at all parties and in dry runs. A value without a mark may be
//! known to a party, or to none.

use quorate_engine::{Linear, Update};
use quorate_ring::{Ring, Vector, Wiped};

use crate::shared::Shared;

/// One party's shares of a vector and of its tags. Wiped when dropped: a value that one party knows is all in its
/// share.
pub struct Tagged {
    /// The ring of the values.
    pub(crate) ring: Ring,
    /// The shares, over a ring with s more bits.
    pub share: Wiped<Vector>,
    /// The shares of the tags.
    pub tag: Wiped<Vector>,
    /// The party that knows all of the vector, and has all of it in its share.
    pub(crate) known: Option<usize>,
}

impl Clone for Tagged {
    fn clone(&self) -> Self {
        self.map(Vector::clone)
    }
}

impl Tagged {
    /// Returns the ring and the number of the values.
    pub fn shape(&self) -> (Ring, usize) {
        (self.ring, self.share.len())
    }

    /// Returns the ring of shares of values over another ring.
    fn wide(&self, ring: Ring) -> Ring {
        Ring::of(ring.bits() + self.share.ring().bits() - self.ring.bits())
    }

    /// Applies a linear function to share and tag.
    pub(crate) fn map(&self, function: impl Fn(&Vector) -> Vector) -> Tagged {
        let [share, tag] = [&self.share, &self.tag].map(|vector| Wiped(function(vector)));
        Tagged { ring: self.ring, share, tag, known: self.known }
    }

    /// Applies a function that is linear in both arguments to two shares, and to their tags.
    pub fn zip(&self, other: &Tagged, function: impl Fn(&mut Vector, &Vector)) -> Tagged {
        let mut result = self.clone();
        result.change(other, function);
        result
    }

    /// Applies a function that is linear in both arguments to share and tag, in place.
    pub(crate) fn change(&mut self, other: &Tagged, function: impl Fn(&mut Vector, &Vector)) {
        function(&mut self.share, &other.share);
        function(&mut self.tag, &other.tag);
        self.known = self.known.filter(|_| self.known == other.known);
    }

    /// Returns the vector with a mark of the party that knows it.
    pub fn known_to(self, known: Option<usize>) -> Tagged {
        Tagged { known, ..self }
    }

    /// Returns shares of values over this ring.
    pub fn of(ring: Ring, shared: &Shared) -> Tagged {
        Tagged { ring, share: Wiped(shared.share.clone()), tag: Wiped(shared.tag.clone()), known: None }
    }

    /// Returns shares and tags, of any ring.
    pub fn shared(&self) -> Shared {
        Shared { share: (*self.share).clone(), tag: (*self.tag).clone() }
    }

    /// Returns half of each value modulo half the size; all shares and tags have to be even.
    pub fn halved(&self) -> Tagged {
        let ring = Ring::of(self.ring.bits() - 1);
        let wide = self.wide(ring);
        let half = |x: &Vector| {
            let mut half = Wiped(x.clone());
            half.shr_logical(1);
            half.convert(wide)
        };
        Tagged { ring, ..self.map(half) }
    }

    /// Joins vectors, one after the other.
    pub fn concat(parts: &[&Tagged]) -> Tagged {
        let all =
            |of: fn(&Tagged) -> &Vector| Wiped(Vector::concat(&parts.iter().map(|&part| of(part)).collect::<Vec<_>>()));
        let known = parts[0].known.filter(|_| parts.iter().all(|part| part.known == parts[0].known));
        Tagged { ring: parts[0].ring, share: all(|part| &part.share), tag: all(|part| &part.tag), known }
    }

    /// Applies a linear map of the values: its rings and public factors are those of values, and are widened here.
    pub fn linear(&self, map: &Linear<'_>) -> Tagged {
        let ring = self.share.ring();
        let each = |map: &Linear<'_>| self.map(|vector| map.apply(vector));
        match map {
            Linear::Factors(factors) => each(&Linear::Factors(&factors.convert(ring))),
            Linear::MatrixLeft(matrix, dims) => each(&Linear::MatrixLeft(&matrix.convert(ring), *dims)),
            Linear::MatrixRight(matrix, dims) => each(&Linear::MatrixRight(&matrix.convert(ring), *dims)),
            Linear::Filter(filters, conv) => each(&Linear::Filter(&filters.convert(ring), conv)),
            Linear::Images(images, conv) => each(&Linear::Images(&images.convert(ring), conv)),
            Linear::Reduce(small) => Tagged { ring: *small, ..each(&Linear::Reduce(self.wide(*small))) },
            Linear::Raise(other, shift) => Tagged { ring: *other, ..each(&Linear::Raise(self.wide(*other), *shift)) },
            Linear::Slice(_)
            | Linear::Gather(_)
            | Linear::Repeat(_)
            | Linear::Neg
            | Linear::Scale(_)
            | Linear::Shl(_)
            | Linear::SumAxis(_)
            | Linear::RunningSums { .. }
            | Linear::Weigh { .. } => each(map),
        }
    }

    /// Applies an update, which moves and adds elements, alike in every ring.
    pub(crate) fn update(&mut self, part: &Tagged, update: &Update) {
        self.change(part, |whole, part| update.apply(whole, part));
    }
}
