//! A party's share of a value, and what it has beside the share where the value is a factor of many products.

use std::sync::Arc;

use quorate_ring::{Ring, Vector};

/// A share of party 0 or 1; at party 2 a share is a shape. Beside it stands what belongs to a value that stays a factor.
pub type Share<M> = quorate_additive::Share<M, Option<Arc<Factor>>>;

/// What a party has of a factor beside its share of the value.
pub struct Factor {
    /// The factor's name.
    pub(crate) name: u32,
    /// e, in the notation of `kept_factor`; a shape at party 2.
    pub(crate) opened: Share<Vector>,
    /// b, at party 2: it is kept while this exists.
    pub(crate) _mask: Option<Arc<Share<Vector>>>,
}

impl Factor {
    /// Returns a factor for dry runs; an empty value has no mask.
    pub(crate) fn shape(name: u32, shape: (Ring, usize)) -> Option<Factor> {
        (shape.1 > 0).then(|| Factor { name, opened: Share::shape(shape), _mask: None })
    }
}
