//! Where correlations come from: protocols among all parties, or a third party that deals to two.

use quorate_engine::{Ctx, Error};
use quorate_gadgets::here::Local;
use quorate_ring::Ring;

use crate::kind::{Kind, Material};
use crate::party::Authenticated;

pub(crate) const MISCOUNTED: Error = Error::Bug { what: "a source that made other correlations than it was asked for" };

/// The dimensions m, k, n of a product of an m x k matrix with a k x n one.
pub type Dims = (usize, usize, usize);

/// A party's source of correlations, which it makes or receives together with the sources of the others.
pub trait Source: Send + Sync {
    /// Makes a number of correlations of each kind, and returns them in this order.
    fn make_all<'a>(
        &'a self,
        party: &'a Authenticated,
        ctx: &'a Ctx,
        kinds: &'a [(Kind, usize)],
    ) -> Local<'a, Vec<Material>>;

    /// Makes correlations of one kind that nothing else is made with.
    fn make<'a>(&'a self, party: &'a Authenticated, ctx: &'a Ctx, kind: &'a Kind, len: usize) -> Local<'a, Material> {
        Box::pin(async move {
            let mut made = self.make_all(party, ctx, &[(kind.clone(), len)]).await?;
            made.pop().ok_or(MISCOUNTED)
        })
    }

    /// Returns the bytes of a matrix triple of two parties, and of the same products with triples of elements; `None`
    /// if there are no matrix triples.
    fn bytes_of_matrices(&self, ring: Ring, dims: Dims) -> Option<[usize; 2]> {
        let _ = (ring, dims);
        None
    }
}

/// The error of a draw of correlations that are not in the bundle of a run.
pub const LACKING: Error = Error::Bug { what: "a run draws correlations that it has not taken from its pool" };

/// The source of a session whose correlations come from a pool: it makes nothing.
pub struct FromPool;

impl Source for FromPool {
    fn make_all<'a>(&'a self, _: &'a Authenticated, _: &'a Ctx, _: &'a [(Kind, usize)]) -> Local<'a, Vec<Material>> {
        Box::pin(async { Err(LACKING) })
    }
}

/// The source of a session whose keys must not be used any more: it makes nothing.
pub(crate) struct Nobody;

impl Source for Nobody {
    fn make_all<'a>(&'a self, _: &'a Authenticated, _: &'a Ctx, _: &'a [(Kind, usize)]) -> Local<'a, Vec<Material>> {
        Box::pin(async { Err(Error::Poisoned) })
    }
}
