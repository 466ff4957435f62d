//! What the parties tell each other about their pools, in the greetings of the setup and of runs.

use std::collections::BTreeMap;

use quorate_engine::{Error, Result};
use quorate_pool::{Batch, Lot, LotId, PoolId};

use super::keeps::Keeps;

/// The largest numbers of lots of a pool, and of stretches of a lot, that a note may list.
pub(crate) const MOST_LOTS: usize = 1024;
const MOST_STRETCHES: usize = 4096;

/// Neighbouring places of one batch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Stretch {
    pub start: u32,
    pub end: u32,
    pub batch: Tag,
}

/// A short hash of a batch and of the session that made it.
pub(crate) type Tag = [u8; 16];

/// Returns the short hash of a batch.
pub(crate) fn tag(batch: &Batch) -> Tag {
    let mut hasher = blake3::Hasher::new_derive_key("quorate/session/pool batch tag");
    hasher.update(&batch.id).update(&batch.origin);
    let mut tag = Tag::default();
    tag.copy_from_slice(&hasher.finalize().as_bytes()[..16]);
    tag
}

/// What a party has of a lot.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Has {
    pub reserved: u32,
    pub end: u32,
    pub stretches: Vec<Stretch>,
}

impl Has {
    fn of(lot: &Lot) -> Has {
        let stretches = lot.places.iter().map(|p| Stretch { start: p.start, end: p.end, batch: tag(&p.batch) });
        Has { reserved: lot.reserved, end: lot.end, stretches: stretches.collect() }
    }

    /// Returns the number of places from `from` on and before `to`.
    pub fn between(&self, from: u32, to: u32) -> u32 {
        self.stretches.iter().map(|s| s.end.min(to).saturating_sub(s.start.max(from))).sum()
    }
}

/// What a party has in its pool.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Offer {
    pub id: PoolId,
    /// A hash of the prices by which runs are planned.
    pub prices: [u8; 32],
    pub lots: BTreeMap<LotId, Has>,
}

impl Offer {
    pub fn of(pool: &dyn Keeps) -> Offer {
        let lots = pool.lots().iter().map(|(&id, lot)| (id, Has::of(lot))).collect();
        let prices = blake3::derive_key("quorate/session/pool prices", pool.prices());
        Offer { id: pool.id(), prices, lots }
    }

    /// Returns whether no bundle is left.
    pub fn is_empty(&self) -> bool {
        self.lots.values().all(|has| has.stretches.is_empty())
    }
}

/// What a party says of its pool in the setup of a session.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Told {
    Nothing,
    /// It has been erased.
    Dead(PoolId),
    Live(Offer),
}

/// Reads what a peer says of its pool in the setup: a dead one has a name alone.
///
/// # Errors
/// [`Error::Malformed`].
pub(crate) fn read_told(peer: usize, note: &[u8]) -> Result<Told> {
    match PoolId::try_from(note) {
        Ok(id) => Ok(Told::Dead(id)),
        Err(_) => Ok(read(peer, note)?.map_or(Told::Nothing, Told::Live)),
    }
}

/// Writes what a party has: nothing for `None`.
pub(crate) fn write(offer: Option<&Offer>) -> Vec<u8> {
    let Some(offer) = offer else { return vec![] };
    let mut note = [offer.id, offer.prices].concat();
    for (id, has) in &offer.lots {
        note.extend(id.0);
        for number in [has.reserved, has.end, has.stretches.len() as u32] {
            note.extend(number.to_le_bytes());
        }
        for stretch in &has.stretches {
            note.extend(stretch.start.to_le_bytes());
            note.extend(stretch.end.to_le_bytes());
            note.extend(stretch.batch);
        }
    }
    note
}

/// Reads what a peer has.
///
/// # Errors
/// [`Error::Malformed`].
pub(crate) fn read(peer: usize, mut note: &[u8]) -> Result<Option<Offer>> {
    if note.is_empty() {
        return Ok(None);
    }
    let note = &mut note;
    let offer = read_offer(note).filter(|_| note.is_empty());
    offer.map(Some).ok_or(Error::Malformed { peer, what: "description of a pool" })
}

fn read_offer(note: &mut &[u8]) -> Option<Offer> {
    let (id, prices) = (take(note)?, take(note)?);
    let mut lots = BTreeMap::new();
    while !note.is_empty() {
        let lot = LotId(take(note)?);
        let after = lots.last_key_value().is_none_or(|(&last, _)| last < lot);
        if lots.len() == MOST_LOTS || !after {
            return None;
        }
        let [reserved, end, count] = [number(note)?, number(note)?, number(note)?];
        if count as usize > MOST_STRETCHES || reserved > end {
            return None;
        }
        let (mut stretches, mut before) = (Vec::new(), reserved);
        for _ in 0..count {
            let stretch = Stretch { start: number(note)?, end: number(note)?, batch: take(note)? };
            if stretch.start < before || stretch.end <= stretch.start || stretch.end > end {
                return None;
            }
            before = stretch.end;
            stretches.push(stretch);
        }
        lots.insert(lot, Has { reserved, end, stretches });
    }
    Some(Offer { id, prices, lots })
}

fn take<const N: usize>(note: &mut &[u8]) -> Option<[u8; N]> {
    let (taken, rest) = note.split_first_chunk()?;
    *note = rest;
    Some(*taken)
}

fn number(note: &mut &[u8]) -> Option<u32> {
    take(note).map(u32::from_le_bytes)
}

/// The state of a lot at a party before a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct At {
    /// The party has begun no run with this place or a later one.
    pub next: u32,
    /// All places before this one are reserved on the party's disk.
    pub reserved: u32,
}

/// Writes the state of all lots, in their order.
pub(crate) fn write_run(lots: impl Iterator<Item = At>) -> Vec<u8> {
    lots.flat_map(|at| [at.next.to_le_bytes(), at.reserved.to_le_bytes()].concat()).collect()
}

/// Reads the state of this many lots at a peer.
///
/// # Errors
/// [`Error::Malformed`].
pub(crate) fn read_run(peer: usize, note: &[u8], lots: usize) -> Result<Vec<At>> {
    let (pairs, rest) = note.as_chunks::<8>();
    if pairs.len() != lots || !rest.is_empty() {
        return Err(Error::Malformed { peer, what: "state of a pool" });
    }
    let at = |pair: &[u8; 8]| {
        let both = u64::from_le_bytes(*pair);
        At { next: both as u32, reserved: (both >> 32) as u32 }
    };
    Ok(pairs.iter().map(at).collect())
}

/// Returns a note that begins with what it says of a pool.
pub(crate) fn with(pool: &[u8], mut rest: Vec<u8>) -> Vec<u8> {
    rest.splice(..0, [&(pool.len() as u32).to_le_bytes()[..], pool].concat());
    rest
}

/// A note of each party.
type Notes = Vec<Vec<u8>>;

/// Splits the parties' notes into what they say of pools and the rest.
///
/// # Errors
/// [`Error::Malformed`].
pub(crate) fn split(notes: &[Vec<u8>]) -> Result<(Notes, Notes)> {
    let one = |(peer, note): (usize, &Vec<u8>)| {
        let parts = note.split_first_chunk().and_then(|(len, rest)| {
            rest.split_at_checked(u32::from_le_bytes(*len) as usize).map(|(pool, rest)| (pool.to_vec(), rest.to_vec()))
        });
        parts.ok_or(Error::Malformed { peer, what: "note of a wrong length" })
    };
    Ok(notes.iter().enumerate().map(one).collect::<Result<Vec<_>>>()?.into_iter().unzip())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn offer() -> Offer {
        let stretch = |start, end| Stretch { start, end, batch: [end as u8; 16] };
        let has = |reserved, end, stretches| Has { reserved, end, stretches };
        let lots =
            [(LotId([1; 32]), has(3, 9, vec![stretch(3, 5), stretch(6, 9)])), (LotId([2; 32]), has(0, 0, vec![]))];
        Offer { id: [7; 32], prices: [8; 32], lots: lots.into() }
    }

    #[test]
    fn what_a_party_has_is_read_back_and_nothing_else() {
        let note = write(Some(&offer()));
        assert_eq!(read(1, &note).unwrap(), Some(offer()));
        assert_eq!(read(1, &[]).unwrap(), None);
        assert_eq!(read_told(1, &note).unwrap(), Told::Live(offer()));
        assert_eq!(read_told(1, &[]).unwrap(), Told::Nothing);
        assert_eq!(read_told(1, &[5; 32]).unwrap(), Told::Dead([5; 32]));
        assert!(read_told(1, &[5; 33]).is_err());
        assert!((1..note.len()).filter(|len| read(1, &note[..*len]).is_ok()).all(|len| len == 64 || len == 64 + 92));
        let altered = |change: &dyn Fn(&mut Offer)| {
            let mut other = offer();
            change(&mut other);
            read(1, &write(Some(&other)))
        };
        let first = |offer: &mut Offer, change: fn(&mut Has)| change(offer.lots.first_entry().unwrap().get_mut());
        assert!(altered(&|o| first(o, |has| has.stretches[0].start = 2)).is_err(), "before what is reserved");
        assert!(altered(&|o| first(o, |has| has.stretches[0].end = 3)).is_err(), "empty");
        assert!(altered(&|o| first(o, |has| has.stretches[1].start = 4)).is_err(), "overlapping");
        assert!(altered(&|o| first(o, |has| has.end = 8)).is_err(), "beyond the end");
        let mut twice = note.clone();
        twice.extend_from_slice(&note[64..64 + 92]);
        assert!(read(1, &twice).is_err(), "a lot twice");
        let mut many = note[..64 + 40].to_vec();
        many.extend(u32::MAX.to_le_bytes());
        assert!(read(1, &many).is_err());
    }

    #[test]
    fn states_and_parts_of_notes_are_read_back() {
        let all = [At { next: 5, reserved: 9 }, At { next: u32::MAX, reserved: 0 }];
        let note = write_run(all.into_iter());
        assert_eq!(read_run(0, &note, 2).unwrap(), all);
        assert!(read_run(0, &note, 1).is_err() && read_run(0, &note[..15], 2).is_err());
        let notes = [with(&note, vec![1, 2]), with(&[], vec![])];
        assert_eq!(split(&notes).unwrap(), (vec![note, vec![]], vec![vec![1, 2], vec![]]));
        assert!(split(&[vec![1, 0, 0, 0]]).is_err() && split(&[vec![0; 3]]).is_err());
    }
}
