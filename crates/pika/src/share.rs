//! A party's share of a value, and what parties keep of a value that stays a factor of many products (`kept_factor`).

use std::collections::BTreeMap;
use std::sync::{Arc, Weak};

use quorate_engine::{Error, Held, Result};
use quorate_ring::{Ring, Vector};
use zeroize::ZeroizeOnDrop;

/// A share of party 0 or 1; at party 2 a share is a shape. A value that stays a factor keeps its further parts beside
/// it.
pub type Share<M> = quorate_additive::Share<M, Factor>;

/// A party's data of a factor, beside its share of the value. Its parts are wiped when dropped.
pub struct Factor {
    /// The factor's name.
    pub(crate) name: u32,
    /// e; a shape at party 2.
    pub(crate) opened: Share<Vector>,
    /// b, at party 2: it is kept while this exists, and wiped with the last that holds it.
    pub(crate) _mask: Option<Arc<Share<Vector>>>,
}

impl ZeroizeOnDrop for Factor {}

impl Factor {
    /// Returns a factor for dry runs; an empty value has no mask.
    pub(crate) fn shape(name: u32, shape: (Ring, usize)) -> Option<Factor> {
        (shape.1 > 0).then(|| Factor { name, opened: Share::shape(shape), _mask: None })
    }
}

type ByName = BTreeMap<u32, Arc<Share<Vector>>>;

/// The masks of all factors, at party 2.
#[derive(Default)]
pub(crate) struct Masks {
    /// Those of the run that is under way, which no other run may forget.
    pub(crate) new: Held<ByName>,
    /// Those of the runs before that some value still has; parties beside this one have them, too.
    pub(crate) kept: Arc<Held<BTreeMap<u32, Weak<Share<Vector>>>>>,
}

const NO_MASK: Error = Error::Bug { what: "a product by a factor whose mask is not there" };

impl Masks {
    /// Keeps a new mask. An earlier mask of that name belongs to a run that does not count.
    pub fn keep(&self, name: u32, mask: Share<Vector>) {
        self.new.lock().insert(name, Arc::new(mask));
    }

    pub fn of(&self, name: u32) -> Result<Arc<Share<Vector>>> {
        let new = self.new.lock().get(&name).cloned();
        new.or_else(|| self.kept.lock().get(&name).and_then(Weak::upgrade)).ok_or(NO_MASK)
    }

    /// Ends a run: keeps its masks, and forgets those of values that no longer exist.
    pub fn forget(&self) {
        let new = self.new.take();
        let mut kept = self.kept.lock();
        kept.extend(new.iter().map(|(name, mask)| (*name, Arc::downgrade(mask))));
        drop(new);
        kept.retain(|_, mask| mask.strong_count() > 0);
    }

    /// Returns the masks for runs beside the one that is under way.
    pub fn beside(&self) -> Masks {
        Masks { new: Held::default(), kept: self.kept.clone() }
    }

    /// Returns the masks of the runs before for another program that goes on from them. Its names of further factors
    /// have nothing to do with those here.
    pub fn branch(&self) -> Masks {
        let kept = self.kept.lock().clone();
        Masks { new: Held::default(), kept: Arc::new(Held::new(kept)) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn mask() -> Share<Vector> {
        Share::shape((Ring::of(8), 1))
    }

    /// A mask is kept before anything holds it, and until its run has ended.
    #[test]
    fn the_end_of_a_run_leaves_masks_of_the_run_beside_it() {
        let one = Masks::default();
        one.keep(7, mask());
        let held = one.of(7).unwrap();
        one.forget();
        let other = one.beside();
        assert!(other.of(7).is_ok(), "a value of an earlier run stays a factor in both");
        other.keep(8, mask());
        one.forget();
        assert!(other.of(8).is_ok() && one.of(8).is_err());
        let kept = other.of(8).unwrap();
        other.forget();
        assert!(one.of(8).is_ok());
        drop((held, kept));
        one.forget();
        other.forget();
        assert!([7, 8].iter().all(|&name| one.of(name).is_err() && other.of(name).is_err()));
    }

    /// The steps of a branch have other values than those of the same name in the session.
    #[test]
    fn names_of_a_branch_are_its_own() {
        let one = Masks::default();
        one.keep(7, mask());
        let held = one.of(7).unwrap();
        one.forget();
        let branch = one.branch();
        assert!(Arc::ptr_eq(&held, &branch.of(7).unwrap()), "a value of an earlier run stays a factor in both");
        branch.keep(8, mask());
        let of_branch = branch.of(8).unwrap();
        branch.forget();
        assert!(one.of(8).is_err());
        one.keep(8, mask());
        let of_one = one.of(8).unwrap();
        one.forget();
        assert!(!Arc::ptr_eq(&of_one, &of_branch) && Arc::ptr_eq(&branch.of(8).unwrap(), &of_branch));
        drop(held);
        one.forget();
        branch.forget();
        assert!(one.of(7).is_err() && branch.of(7).is_err(), "neither keeps it for the other");
    }
}
