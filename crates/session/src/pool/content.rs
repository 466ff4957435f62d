//! The content of a bundle: the correlations of one run, kind by kind, and their bytes.

use std::any::Any;
use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use quorate_engine::{Demand, Error, MaterialOf};
use quorate_gadgets::Family;
use quorate_graph::{Graph, NodeId};
use quorate_pool::LotId;
use zeroize::Zeroizing;

use crate::error::SessionError;

/// The correlations of one run: what a pool makes for it, and where it finds them. Runs with equal contents share a
/// lot.
#[derive(Clone)]
pub struct Content {
    /// The number of correlations by kind, with all that tells kinds apart; in the order of a bundle.
    pub(crate) counts: BTreeMap<String, u64>,
    /// The number of correlations by the name of their kind in messages.
    pub(crate) named: BTreeMap<String, u64>,
    family: &'static str,
    /// The kinds of the family with these names.
    kinds: Arc<dyn Any + Send + Sync>,
}

impl fmt::Debug for Content {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.named.fmt(f)
    }
}

impl PartialEq for Content {
    fn eq(&self, other: &Content) -> bool {
        (self.family, &self.counts) == (other.family, &other.counts)
    }
}

/// The kinds of a content by their full names.
pub(crate) type Kinds<K> = BTreeMap<String, (K, usize)>;

impl Content {
    /// Returns the number of correlations by the names of their kinds in messages.
    pub fn by_name(&self) -> &BTreeMap<String, u64> {
        &self.named
    }

    /// Returns the content of a demand; `None` where it has no correlations.
    pub(crate) fn of<B: Family>(totals: &BTreeMap<B::Kind, usize>) -> Option<Content> {
        let full = |(kind, &len): (&B::Kind, &usize)| (B::name_of(kind), (kind.clone(), len));
        let kinds: Kinds<B::Kind> = totals.iter().filter(|(_, len)| **len > 0).map(full).collect();
        if kinds.is_empty() {
            return None;
        }
        let mut named = BTreeMap::new();
        for (kind, len) in kinds.values() {
            *named.entry(kind.to_string()).or_default() += *len as u64;
        }
        let counts = kinds.iter().map(|(name, (_, len))| (name.clone(), *len as u64)).collect();
        Some(Content { counts, named, family: B::DESCRIPTOR.name, kinds: Arc::new(kinds) })
    }

    /// Returns the lot of bundles with this content.
    pub fn lot(&self) -> LotId {
        let mut hasher = blake3::Hasher::new_derive_key("quorate/session/pool content");
        let mut text = |text: &str| {
            hasher.update(&(text.len() as u64).to_le_bytes()).update(text.as_bytes());
        };
        text(self.family);
        for (name, count) in &self.counts {
            text(name);
            text(&count.to_string());
        }
        LotId(hasher.finalize().into())
    }

    /// Returns the kinds, of the family that it was planned for.
    pub(crate) fn kinds<B: Family>(&self) -> Result<&Kinds<B::Kind>, Error> {
        self.kinds.downcast_ref().ok_or(Error::Bug { what: "a content of another family" })
    }
}

/// Checks that a pool can hold all correlations of a demand.
///
/// # Errors
/// [`SessionError::NotPoolable`], which names the step.
pub(crate) fn check<B: Family>(demand: &Demand<B::Kind>, graph: &Graph) -> Result<(), SessionError> {
    let Some(kind) = demand.totals().keys().find(|kind| !B::fits_pools(kind)) else { return Ok(()) };
    let step = demand.by_step().iter().find(|(_, drawn)| drawn.contains_key(kind)).map(|(&step, _)| step);
    let step = step.map_or("a step of this run".into(), |step| graph.describe(NodeId(step)));
    Err(SessionError::NotPoolable { step, kind: kind.to_string() })
}

/// Returns the bytes of a bundle at this party.
pub(crate) fn bundle_bytes<B: Family>(backend: &B, kinds: &Kinds<B::Kind>) -> u64 {
    kinds.values().map(|(kind, len)| backend.packed_bytes(kind, *len) as u64).sum()
}

/// Returns the `at`-th bundle of correlations that were made for several.
pub(crate) fn bundle<B: Family>(
    backend: &B,
    kinds: &Kinds<B::Kind>,
    made: &BTreeMap<B::Kind, MaterialOf<B>>,
    at: usize,
) -> Result<Zeroizing<Vec<u8>>, Error> {
    let bytes = bundle_bytes(backend, kinds) as usize;
    // The room is never taken anew, which would leave a copy.
    let mut out = Zeroizing::new(Vec::with_capacity(bytes));
    for (kind, len) in kinds.values() {
        let all = made.get(kind).ok_or(Error::Bug { what: "a kind that was not made" })?;
        backend.pack(&all.slice(&backend.layout(kind), at * len..(at + 1) * len), &mut out)?;
    }
    match out.len() == bytes {
        true => Ok(out),
        false => Err(Error::Bug { what: "a bundle of another length than its content has" }),
    }
}

/// Reads a bundle.
pub(crate) fn unpacked<B: Family>(
    backend: &B,
    kinds: &Kinds<B::Kind>,
    mut bytes: &[u8],
) -> Result<BTreeMap<B::Kind, MaterialOf<B>>, Error> {
    const LENGTH: Error = Error::Bug { what: "a bundle of another length than its content" };
    let mut made = BTreeMap::new();
    for (kind, len) in kinds.values() {
        let (own, rest) = bytes.split_at_checked(backend.packed_bytes(kind, *len)).ok_or(LENGTH)?;
        made.insert(kind.clone(), backend.unpack(kind, *len, own)?);
        bytes = rest;
    }
    if bytes.is_empty() { Ok(made) } else { Err(LENGTH) }
}
