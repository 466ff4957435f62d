//! What the pools of all parties have in common, as each party computes it from what all have told.

use std::collections::BTreeMap;
use std::ops::Range;

use quorate_pool::{LotId, MOST_BUNDLES};

use super::notes::{Has, Offer, Stretch, Tag};
use crate::error::SessionError;
use crate::options::PoolMode;

/// One part in this many of what is left is reserved at a time, at most [`MOST_RESERVED`] places. A crash may leave one
/// party that far behind the others, and a party that is further behind has an old disk.
const PART: u32 = 16;
const MOST_RESERVED: u32 = 64;

/// The places of a lot that all parties can use.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Common {
    /// The places from `reserved` on of which all parties have bundles of one batch, in order.
    usable: Vec<Stretch>,
    /// No party has a bundle before this place that it has not reserved, or that is not given up.
    pub reserved: u32,
    /// The largest end at any party.
    pub end: u32,
}

impl Common {
    /// Returns what these parties have in common.
    pub fn of(each: &[&Has]) -> Common {
        let most = |number: fn(&Has) -> u32| each.iter().map(|has| number(has)).max().unwrap_or(0);
        let (reserved, end) = (most(|has| has.reserved), most(|has| has.end));
        let whole: Vec<Stretch> = each.first().map_or(vec![], |has| has.stretches.clone());
        let mut usable = each.iter().skip(1).fold(whole, |all, has| intersection(&all, &has.stretches));
        usable.iter_mut().for_each(|stretch| stretch.start = stretch.start.max(reserved));
        usable.retain(|stretch| stretch.start < stretch.end);
        // A batch of a making that was cut off may have left a gap, which no party has, or has any more.
        let after = |has: &&Has| has.stretches.iter().find(|stretch| stretch.end > reserved).map(|first| first.start);
        let first = each.iter().filter_map(after).min().unwrap_or(end);
        Common { usable, reserved: reserved.max(first), end }
    }

    /// Returns the places that all parties can use. The others are given up: no other party will ever have them.
    pub fn usable(&self) -> Vec<Range<u32>> {
        self.usable.iter().map(|stretch| stretch.start..stretch.end).collect()
    }

    /// Returns the first place from `next` on, with its batch.
    pub fn place(&self, next: u32) -> Option<(u32, Tag)> {
        let stretch = self.usable.iter().find(|stretch| stretch.end > next)?;
        Some((stretch.start.max(next), stretch.batch))
    }

    /// Returns the number of places from `next` on.
    pub fn rest(&self, next: u32) -> u32 {
        self.usable.iter().map(|stretch| stretch.end.saturating_sub(stretch.start.max(next))).sum()
    }

    /// Returns the end of `count` places from `place` on.
    fn end_of(&self, place: u32, mut count: u32) -> u32 {
        let mut end = place;
        for stretch in self.usable.iter().filter(|stretch| stretch.end > place) {
            let start = stretch.start.max(place);
            end = start + count.min(stretch.end - start);
            count -= end - start;
            if count == 0 {
                break;
            }
        }
        end
    }

    /// Returns up to where all parties reserve before a run with `place`; `None` where all have reserved it.
    pub fn to_reserve(&self, place: u32, reserved: impl Iterator<Item = u32> + Clone) -> Option<u32> {
        let most = reserved.clone().max().unwrap_or(0);
        if reserved.min().unwrap_or(0) > place {
            return None;
        }
        // A party that is ahead has reserved for a run of which others have not heard the end.
        let step = (self.rest(place) / (PART + 1)).clamp(1, MOST_RESERVED);
        Some(if most > place { most } else { self.end_of(place, step) })
    }
}

/// Returns the places that are in both, in stretches of one batch.
fn intersection(one: &[Stretch], other: &[Stretch]) -> Vec<Stretch> {
    let mut both = vec![];
    let mut others = other.iter().peekable();
    for a in one {
        while let Some(b) = others.peek() {
            let (start, end) = (a.start.max(b.start), a.end.min(b.end));
            if start < end && a.batch == b.batch {
                both.push(Stretch { start, end, batch: a.batch });
            }
            if b.end > a.end {
                break;
            }
            others.next();
        }
    }
    both
}

/// What the parties do with their pools.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Agreed {
    /// They make a new one.
    New,
    /// They go on with the one that all of them have, which has these lots in common.
    Same(BTreeMap<LotId, Common>),
}

impl Agreed {
    /// Returns a hash that parties compare which go on with a pool: they must have been told alike.
    pub fn hash(&self) -> [u8; 32] {
        let mut hasher = blake3::Hasher::new_derive_key("quorate/session/agreed pool");
        let Agreed::Same(lots) = self else { return hasher.finalize().into() };
        for (id, Common { usable, reserved, end }) in lots {
            hasher.update(&id.0).update(&[*reserved, *end, usable.len() as u32].map(u32::to_le_bytes).concat());
            for Stretch { start, end, batch } in usable {
                hasher.update(&[*start, *end].map(u32::to_le_bytes).concat()).update(batch);
            }
        }
        hasher.finalize().into()
    }

    /// Returns the hash of parties that refuse a pool, for reasons that may be unlike.
    pub fn hash_of_refusal() -> [u8; 32] {
        blake3::derive_key("quorate/session/refused pool", b"")
    }
}

/// Agrees on a pool by what each party has.
///
/// # Errors
/// [`SessionError::NoPool`], [`SessionError::PoolsUnlike`], [`SessionError::PoolNumbers`], [`SessionError::OldPool`];
/// of the same kind at all parties.
pub(crate) fn agree((mode, me): (PoolMode, usize), offers: &[Option<Offer>]) -> Result<Agreed, SessionError> {
    let lacking: Vec<usize> = (0..offers.len()).filter(|&party| offers[party].is_none()).collect();
    let all: Vec<&Offer> = offers.iter().flatten().collect();
    let alike = all.windows(2).all(|two| (two[0].id, two[0].prices) == (two[1].id, two[1].prices));
    match mode {
        // A folder that was not mounted, or a wrong name, erases nothing that is of use.
        PoolMode::Make if (!lacking.is_empty() || !alike) && all.iter().all(|offer| offer.is_empty()) => {
            return Ok(Agreed::New);
        }
        _ if !lacking.is_empty() => return Err(SessionError::NoPool { parties: numbers(&lacking) }),
        _ if !alike => return Err(SessionError::PoolsUnlike),
        _ => {}
    }
    let mut lots = BTreeMap::new();
    for id in all.first().into_iter().flat_map(|offer| offer.lots.keys()) {
        let each: Vec<&Has> = all.iter().filter_map(|offer| offer.lots.get(id)).collect();
        if each.len() == all.len() {
            check_numbers(me, &each)?;
            let common = Common::of(&each);
            check_age(&each, &common)?;
            lots.insert(*id, common);
        }
    }
    Ok(Agreed::Same(lots))
}

/// Refuses numbers that no ledger reaches: a party is at most one batch behind the others, and none has more than
/// [`MOST_BUNDLES`] places that it has not reserved. What comes next would write them to the disks of all.
fn check_numbers(me: usize, each: &[&Has]) -> Result<(), SessionError> {
    let least = each.iter().map(|has| has.end).min().unwrap_or(0);
    let is_wrong = |has: &&Has| has.end - least > MOST_BUNDLES || has.end - has.reserved.min(has.end) > MOST_BUNDLES;
    let wrong = each.iter().position(is_wrong);
    wrong.map_or(Ok(()), |party| {
        Err(SessionError::PoolNumbers { party, what: "made", theirs: each[party].end, ours: each[me].end })
    })
}

/// Refuses a party whose ledger is older than a crash explains: it may be a backup.
fn check_age(each: &[&Has], common: &Common) -> Result<(), SessionError> {
    let (most, reserved) = (reserved_at_most(common), each.iter().map(|has| has.reserved).max().unwrap_or(0));
    let behind = each.iter().position(|has| has.between(has.reserved, reserved) > most);
    behind.map_or(Ok(()), |party| Err(SessionError::OldPool { party }))
}

/// Returns the number of places by which a crash may leave a party behind the others.
pub(super) fn reserved_at_most(common: &Common) -> u32 {
    (common.rest(0) / PART).max(1)
}

pub(super) fn numbers(parties: &[usize]) -> String {
    parties.iter().map(usize::to_string).collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;

    const X: Tag = [1; 16];
    const Y: Tag = [2; 16];

    fn has(reserved: u32, stretches: &[(u32, u32, Tag)]) -> Has {
        let all = stretches.iter().map(|&(start, end, batch)| Stretch { start, end, batch });
        let end = stretches.last().map_or(reserved, |last| last.1);
        Has { reserved, end, stretches: all.collect() }
    }

    #[test]
    fn places_are_those_of_one_batch_at_all_parties() {
        let parties = [
            has(0, &[(0, 10, X), (10, 20, Y), (30, 40, X)]),
            has(3, &[(3, 8, X), (8, 25, Y), (35, 50, X)]),
            has(0, &[(0, 50, X)]),
        ];
        let [a, b, c] = &parties;
        let common = Common::of(&[a, b]);
        assert_eq!((common.reserved, common.end, common.rest(0)), (3, 50, 5 + 10 + 5));
        assert_eq!([0, 3, 7].map(|next| common.place(next)), [Some((3, X)), Some((3, X)), Some((7, X))]);
        assert_eq!([8, 20, 36, 40].map(|next| common.place(next)), [Some((10, Y)), Some((35, X)), Some((36, X)), None]);
        assert_eq!((common.end_of(3, 2), common.end_of(3, 6), common.end_of(12, 100)), (5, 11, 40));
        assert_eq!(Common::of(&[a, b, c]).rest(0), 5 + 5);
        assert_eq!(Common::of(&[a, &Has::default()]).rest(0), 0);
    }

    /// Compares with sets of places.
    #[test]
    fn places_equal_those_of_sets() {
        let mut state = 1u64;
        let mut random = |below: u32| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (state >> 33) as u32 % below
        };
        let mut usable = 0;
        for _ in 0..300 {
            let mut party = || {
                let mut at = random(4);
                let reserved = at;
                let mut stretches = vec![];
                for _ in 0..random(5) {
                    let start = at + random(3);
                    at = start + 1 + random(6);
                    stretches.push((start, at, if random(3) == 0 { Y } else { X }));
                }
                has(reserved, &stretches)
            };
            let parties = [party(), party(), party()];
            let each: Vec<&Has> = parties.iter().collect();
            let common = Common::of(&each);
            let batch = |has: &Has, at: u32| {
                has.stretches.iter().find(|s| (s.start..s.end).contains(&at)).map(|stretch| stretch.batch)
            };
            let expected: Vec<(u32, Tag)> = (common.reserved..60)
                .filter_map(|at| {
                    let tags: Vec<Option<Tag>> = parties.iter().map(|has| batch(has, at)).collect();
                    tags[0].filter(|_| tags.iter().all(|tag| *tag == tags[0])).map(|tag| (at, tag))
                })
                .collect();
            let (mut found, mut next) = (vec![], 0);
            while let Some((place, tag)) = common.place(next) {
                found.push((place, tag));
                next = place + 1;
            }
            assert_eq!(found, expected);
            usable += found.len();
        }
        assert!(usable > 100, "{usable}");
    }

    #[test]
    fn a_part_of_what_is_left_is_reserved() {
        let common = |places: u32| Common::of(&[&has(0, &[(0, places, X)])]);
        let to = |common: &Common, place, reserved: [u32; 2]| common.to_reserve(place, reserved.into_iter());
        assert_eq!(to(&common(10), 4, [5, 5]), None);
        assert_eq!(to(&common(10), 4, [4, 4]), Some(5));
        assert_eq!(to(&common(10), 4, [4, 7]), Some(7), "nothing more than the one that is ahead has");
        assert_eq!(to(&common(1000), 0, [0, 0]), Some(58));
        assert_eq!(to(&common(100_000), 0, [0, 0]), Some(64));
        assert_eq!(to(&common(10), 9, [9, 9]), Some(10));
        // A party that crashes before it has reserved is never taken for one with an old disk.
        for places in 1..2000 {
            for place in [0, places / 3, places - 1] {
                let lot = common(places);
                let end = to(&lot, place, [place, place]).unwrap();
                assert!(end > place && end <= places);
                let [here, there] =
                    [has(end, &[(end, places, X)]), has(place, &[(place, places, X)])].map(|mut has| {
                        has.stretches.retain(|stretch| stretch.start < stretch.end);
                        has
                    });
                assert!(check_age(&[&here, &there], &Common::of(&[&here, &there])).is_ok(), "{place} of {places}");
            }
        }
        let old = [has(100, &[(100, 200, X)]), has(90, &[(90, 200, X)])];
        let each: Vec<&Has> = old.iter().collect();
        assert!(matches!(check_age(&each, &Common::of(&each)), Err(SessionError::OldPool { party: 1 })));
    }

    #[test]
    fn parties_agree_on_one_pool() {
        let offer = |id: u8, lots: &[(u8, Has)]| {
            let lots = lots.iter().map(|(id, has)| (LotId([*id; 32]), has.clone())).collect();
            Some(Offer { id: [id; 32], prices: [0; 32], lots })
        };
        let full = |id| offer(id, &[(1, has(0, &[(0, 9, X)])), (2, has(0, &[(0, 9, X)]))]);
        let less = offer(1, &[(1, has(0, &[(0, 5, X)]))]);
        let made = |offers: &[Option<Offer>]| agree((PoolMode::Make, 0), offers);
        let used = |offers: &[Option<Offer>]| agree((PoolMode::Use, 0), offers);
        let Ok(Agreed::Same(lots)) = used(&[full(1), less]) else { panic!("one pool") };
        assert_eq!(lots.iter().map(|(id, lot)| (id.0[0], lot.rest(0))).collect::<Vec<_>>(), [(1, 5)]);
        assert!(matches!(used(&[None, full(1), None]), Err(SessionError::NoPool { parties }) if parties == "0, 2"));
        assert!(matches!(used(&[full(1), full(2)]), Err(SessionError::PoolsUnlike)));
        assert!(matches!(made(&[full(1), full(2)]), Err(SessionError::PoolsUnlike)));
        assert!(matches!(made(&[full(1), offer(2, &[])]), Err(SessionError::PoolsUnlike)));
        assert!(matches!(made(&[full(1), None]), Err(SessionError::NoPool { .. })));
        assert!(matches!(made(&[offer(1, &[]), None]), Ok(Agreed::New)));
        assert!(matches!(made(&[offer(1, &[]), offer(2, &[])]), Ok(Agreed::New)));
        assert!(matches!(made(&[offer(1, &[]), offer(1, &[])]), Ok(Agreed::Same(_))));
        let mut priced = full(1);
        priced.as_mut().unwrap().prices = [1; 32];
        assert!(matches!(used(&[full(1), priced]), Err(SessionError::PoolsUnlike)));
    }

    /// Numbers that a defect or a broken disk can state are refused before any party writes them.
    #[test]
    fn numbers_that_no_ledger_reaches_are_refused() {
        let offer =
            |has: &Has| Some(Offer { id: [1; 32], prices: [0; 32], lots: [(LotId([1; 32]), has.clone())].into() });
        let ends = |reserved, end| Has { reserved, end, stretches: vec![] };
        let full = has(0, &[(0, MOST_BUNDLES, X)]);
        for mode in [PoolMode::Make, PoolMode::Use] {
            let refused = |other: Has| agree((mode, 0), &[offer(&full), offer(&other)]).err();
            for wrong in [ends(u32::MAX, u32::MAX), ends(0, u32::MAX), ends(0, MOST_BUNDLES + 1)] {
                let text = refused(wrong.clone()).unwrap().to_string();
                assert!(text.contains("party 1") && text.contains(&wrong.end.to_string()), "{text}");
            }
            assert!(refused(ends(1, MOST_BUNDLES + 1)).is_none(), "a party that was cut off in its second batch");
            let text = agree((mode, 0), &[offer(&ends(u32::MAX, u32::MAX)), offer(&full)]).unwrap_err().to_string();
            assert!(text.contains("party 0"), "{text}");
        }
    }

    /// A batch that one party alone has counted: it is given up, and then passed over.
    #[test]
    fn a_gap_is_given_up_and_then_passed_over() {
        let (one, other) = (has(90, &[(90, 100, X), (100, 5100, Y)]), has(90, &[(90, 100, X)]));
        let common = Common::of(&[&one, &other]);
        assert_eq!((common.reserved, common.end, common.usable()), (90, 5100, vec![Range { start: 90, end: 100 }]));
        // Nothing else is left; the party that has the batch has not given it up yet, and may be cut off again.
        let [one, other] = [has(100, &[(100, 5100, Y)]), Has { end: 5100, ..has(100, &[]) }];
        let common = Common::of(&[&one, &other]);
        assert_eq!((common.reserved, common.usable()), (100, vec![]));
        assert!(check_age(&[&one, &other], &common).is_ok());
        let gone = Has { end: 5100, ..has(100, &[]) };
        let common = Common::of(&[&gone, &other]);
        assert_eq!((common.reserved, common.end), (5100, 5100));
        // Later batches follow the gap.
        let later = Has { end: 6000, ..has(98, &[(98, 100, X), (5100, 6000, Y)]) };
        let common = Common::of(&[&later, &later]);
        assert_eq!((common.reserved, common.to_reserve(99, [99, 99].into_iter())), (98, Some(5152)));
        let ahead = has(5152, &[(5152, 6000, Y)]);
        let behind = Has { end: 6000, ..has(99, &[(99, 100, X), (5100, 6000, Y)]) };
        let each = [&ahead, &behind];
        assert!(check_age(&each, &Common::of(&each)).is_ok(), "a crash explains this");
    }
}
