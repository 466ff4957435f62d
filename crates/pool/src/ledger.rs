//! The ledger of a lot: what was made of it, what is reserved, and the keys of the rest.

use std::collections::BTreeMap;
use std::fmt;
use std::ops::Range;

use serde::{Deserialize, Serialize};
use zeroize::{Zeroize, ZeroizeOnDrop};

use crate::sealing::TAG_BYTES;
use crate::sizes::{KEY_BYTES, MOST_BUNDLES};

/// The number of correlations of each kind in one bundle.
pub type Contents = BTreeMap<String, u64>;

/// The name of a lot, the same at all parties.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct LotId(pub [u8; 32]);

impl fmt::Display for LotId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0[..8].iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

impl fmt::Debug for LotId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "lot {self}")
    }
}

/// Bundles that were made together.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Batch {
    /// The name of the batch, the same at all parties: bundles of unlike batches do not fit each other.
    pub id: [u8; 32],
    /// The public name of the session that made it, under which keys of functions are evaluated.
    pub origin: [u8; 32],
}

/// Neighbouring places of one batch, whose bundles are not reserved.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Places {
    /// The first place.
    pub start: u32,
    /// The place after the last one.
    pub end: u32,
    /// The batch of their bundles.
    pub batch: Batch,
}

/// The state of a lot.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Lot {
    /// The contents of each bundle.
    pub contents: Contents,
    /// The bytes of each bundle at this party.
    pub bundle_bytes: u64,
    /// All places before this one are reserved, or given up.
    pub reserved: u32,
    /// The next bundle that is made gets this place.
    pub end: u32,
    /// The places whose bundles can be reserved, in order.
    pub places: Vec<Places>,
}

impl Lot {
    /// Returns the number of bundles that can be reserved.
    pub fn left(&self) -> u32 {
        self.places.iter().map(|places| places.end - places.start).sum()
    }
}

#[derive(Clone, Serialize, Deserialize, Zeroize, ZeroizeOnDrop)]
pub(crate) struct BundleKey(pub [u8; KEY_BYTES]);

/// A bundle that is reserved: its key and its batch.
pub(crate) type Reserved = (BundleKey, Batch);

#[derive(Clone, Serialize, Deserialize)]
pub(crate) struct Ledger {
    contents: Contents,
    pub bundle_bytes: u64,
    pub reserved: u32,
    pub end: u32,
    places: Vec<Places>,
    /// The keys of all bundles that can be reserved, by place.
    keys: BTreeMap<u32, BundleKey>,
}

impl Ledger {
    pub fn new(contents: Contents, bundle_bytes: u64) -> Ledger {
        Ledger { contents, bundle_bytes, reserved: 0, end: 0, places: vec![], keys: BTreeMap::new() }
    }

    pub fn lot(&self) -> Lot {
        let Ledger { contents, bundle_bytes, reserved, end, places, .. } = self;
        let (contents, places) = (contents.clone(), places.clone());
        Lot { contents, bundle_bytes: *bundle_bytes, reserved: *reserved, end: *end, places }
    }

    /// Returns whether the numbers go together, as in every ledger that was written.
    pub fn is_whole(&self) -> bool {
        let mut before = self.reserved;
        let in_order = self.places.iter().all(|places| {
            let follows = before <= places.start && places.start < places.end;
            before = places.end;
            follows
        });
        let places = || self.places.iter().flat_map(|places| places.start..places.end);
        in_order && before <= self.end && self.room().is_some() && places().eq(self.keys.keys().copied())
    }

    /// Returns how many more bundles can be made; `None` if there are too many already.
    pub fn room(&self) -> Option<u32> {
        MOST_BUNDLES.checked_sub(self.end.checked_sub(self.reserved)?)
    }

    /// Returns the batch of a place that can be reserved.
    pub fn batch(&self, place: u32) -> Option<Batch> {
        self.places.iter().find(|places| (places.start..places.end).contains(&place)).map(|places| places.batch)
    }

    /// Takes out what there is of all places before `end`.
    pub fn reserve(&mut self, end: u32) -> BTreeMap<u32, Reserved> {
        let after = self.keys.split_off(&end);
        let keys = std::mem::replace(&mut self.keys, after);
        let taken = keys.into_iter().filter_map(|(place, key)| Some((place, (key, self.batch(place)?)))).collect();
        self.places.retain(|places| places.end > end);
        self.places.iter_mut().for_each(|places| places.start = places.start.max(end));
        self.reserved = self.reserved.max(end);
        self.end = self.end.max(end);
        taken
    }

    /// Gives up all places outside of these ranges, which are in order.
    pub fn keep(&mut self, usable: &[Range<u32>]) {
        let parts = |places: &Places| {
            let Places { start, end, batch } = *places;
            let part = move |range: &Range<u32>| (start.max(range.start), end.min(range.end), batch);
            usable.iter().map(part).filter(|(start, end, _)| start < end).collect::<Vec<_>>()
        };
        let kept = self.places.iter().flat_map(parts).map(|(start, end, batch)| Places { start, end, batch });
        self.places = kept.collect();
        self.keys.retain(|place, _| usable.iter().any(|range| range.contains(place)));
    }

    /// Puts bundles back that were reserved, all of them from `reserved` on.
    pub fn release(&mut self, reserved: u32, held: BTreeMap<u32, Reserved>) {
        let mut places: Vec<Places> = Vec::new();
        for (place, (key, batch)) in held {
            self.keys.insert(place, key);
            extend(&mut places, Places { start: place, end: place + 1, batch });
        }
        self.places.drain(..).for_each(|after| extend(&mut places, after));
        (self.places, self.reserved) = (places, reserved);
    }

    /// Adds bundles after the last place.
    pub fn add(&mut self, batch: Batch, keys: Vec<BundleKey>) {
        let start = self.end;
        self.keys.extend((start..).zip(keys));
        self.end = self.keys.last_key_value().map_or(start, |(place, _)| start.max(place + 1));
        if self.end > start {
            extend(&mut self.places, Places { start, end: self.end, batch });
        }
    }
}

/// Appends places, to the last ones if they continue those.
fn extend(all: &mut Vec<Places>, next: Places) {
    match all.last_mut() {
        Some(last) if last.end == next.start && last.batch == next.batch => last.end = next.end,
        _ => all.push(next),
    }
}

/// Returns the bytes of a sealed bundle in the file of blocks.
pub(crate) fn sealed_bytes(bundle_bytes: u64) -> u64 {
    bundle_bytes + TAG_BYTES as u64
}
