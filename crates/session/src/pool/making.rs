//! The making of bundles, batch by batch.
//!
//! A batch is made like the correlations of one large run, cut into bundles, and written to the disks of all parties.
//! Once all have it there, each counts it in its ledger. A crash anywhere leaves batches that all parties have, and
//! perhaps one that only some have counted; its places are then used by none, and given up in the next session.

use std::collections::{BTreeMap, BTreeSet};

use quorate_crypto::SessionId;
use quorate_engine::{Error, Misuse, Phase, Run};
use quorate_gadgets::Family;
use quorate_pool::{LotId, MOST_BUNDLES, PoolError};

use super::common::Common;
use super::content::{self, Content, Kinds};
use super::notes::{self, Has, MOST_LOTS, Offer};
use super::purse::{Purse, batch};
use super::using::meet;
use crate::error::SessionError;

/// The bytes of correlations that are made at a time, beside those of their making and their bytes in bundles.
const BATCH_BYTES: u64 = 64 << 20;

/// The largest number of bundles of a batch. If a batch is cut off, its places are lost until those before it are used.
const MOST_TOGETHER: u64 = MOST_BUNDLES as u64 / 16;

/// Bundles that are asked for: their content, and the number that all parties shall have.
#[derive(Clone, Debug, PartialEq)]
pub struct Supply {
    /// The correlations of a run.
    pub content: Content,
    /// The number of bundles.
    pub times: u32,
}

/// The bundles of a content after a making.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Level {
    /// The number of bundles that were made.
    pub made: u32,
    /// The number that all parties can use now.
    pub left: u32,
    /// The bytes that each takes on the disk of this party.
    pub bundle_bytes: u64,
}

/// A lot that is filled up.
struct Filling<'s, B: Family> {
    id: LotId,
    content: &'s Content,
    kinds: &'s Kinds<B::Kind>,
    common: Common,
    wanted: u32,
    /// The number of bundles of a batch.
    together: u32,
}

impl<'s, B: Family> Filling<'s, B> {
    fn of(supply: &'s Supply, offers: &[Offer], (backend, most_bytes): (&B, u64)) -> Result<Self, Error> {
        let (id, kinds, none) = (supply.content.lot(), supply.content.kinds::<B>()?, Has::default());
        let each: Vec<&Has> = offers.iter().map(|offer| offer.lots.get(&id).unwrap_or(&none)).collect();
        let bytes: u64 = kinds.values().map(|(kind, len)| backend.stock_bytes(kind, *len)).sum();
        let together = (most_bytes / bytes.max(1)).clamp(1, MOST_TOGETHER) as u32;
        let (common, wanted) = (Common::of(&each), supply.times);
        Ok(Filling { id, content: &supply.content, kinds, common, wanted, together })
    }

    fn level(&self) -> u32 {
        self.common.rest(0)
    }
}

/// Returns a hash of all on which the parties agree before they make bundles.
fn hash<B: Family>(session: &SessionId, all: &[Filling<'_, B>]) -> [u8; 32] {
    let mut hasher = blake3::Hasher::new_derive_key("quorate/session/pool making");
    hasher.update(session.as_bytes());
    for lot in all {
        hasher.update(&lot.id.0);
        let numbers = [lot.common.reserved, lot.common.end, lot.level(), lot.wanted, lot.together];
        for number in numbers {
            hasher.update(&number.to_le_bytes());
        }
    }
    hasher.finalize().into()
}

/// Makes what is asked for in a run that has begun, by what all parties have. Each content is asked for once.
///
/// # Errors
/// [`SessionError::Pool`], and any error that ends a run. What was counted before is there.
pub(crate) fn make<B: Family>(
    (run, backend): (&mut Run<'_>, &B),
    purse: &mut Purse,
    supplies: &[Supply],
    (notes, most_bytes): (&[Vec<u8>], Option<u64>),
) -> Result<Vec<Level>, SessionError> {
    let read = |(peer, note): (usize, &Vec<u8>)| {
        notes::read(peer, note)?.ok_or(Error::Malformed { peer, what: "description of a pool" })
    };
    let offers: Vec<Offer> = notes.iter().enumerate().map(read).collect::<Result<_, Error>>()?;
    let most_bytes = most_bytes.map_or(BATCH_BYTES, |most| BATCH_BYTES.min(most / 4));
    let all = supplies.iter().map(|supply| Filling::of(supply, &offers, (backend, most_bytes)));
    let all: Vec<Filling<'_, B>> = all.collect::<Result<_, Error>>()?;
    for lot in &all {
        check_numbers::<B>(lot.id, purse, &offers)?;
        let room = MOST_BUNDLES.saturating_sub(lot.common.end - lot.common.reserved);
        if lot.wanted.saturating_sub(lot.level()) > room {
            return Err(PoolError::TooMany.into());
        }
    }
    let lots: BTreeSet<LotId> = offers.iter().flat_map(|offer| offer.lots.keys().copied()).collect();
    if lots.union(&all.iter().map(|lot| lot.id).collect()).count() > MOST_LOTS {
        return Err(
            Error::from(Misuse::Other { what: "a pool has correlations for at most 1,024 different runs" }).into()
        );
    }
    run.compare(hash(&backend.origin(), &all))?;
    all.iter().map(|lot| fill((run, backend), purse, lot)).collect()
}

/// Refuses numbers of a lot that no party can have reached from what this one has. Where parties may cheat, all that
/// was made is from this session, so the numbers are alike.
fn check_numbers<B: Family>(id: LotId, purse: &Purse, offers: &[Offer]) -> Result<(), SessionError> {
    let ours = purse.pool.lots().get(&id).map_or((0, 0), |lot| (lot.reserved, lot.end));
    for (party, offer) in offers.iter().enumerate() {
        let theirs = offer.lots.get(&id).map_or((0, 0), |has| (has.reserved, has.end));
        if theirs.1.abs_diff(ours.1) > MOST_BUNDLES || B::HAS_SECRETS && theirs != ours {
            return Err(SessionError::PoolNumbers { party, what: "made", theirs: theirs.1, ours: ours.1 });
        }
    }
    Ok(())
}

/// Makes the bundles that a lot lacks.
fn fill<B: Family>(
    (run, backend): (&mut Run<'_>, &B),
    purse: &mut Purse,
    lot: &Filling<'_, B>,
) -> Result<Level, SessionError> {
    let bundle_bytes = content::bundle_bytes(backend, lot.kinds);
    let (before, number, pool) = (lot.level(), run.agreement().run, &mut purse.pool);
    if before < lot.wanted {
        if !pool.lots().contains_key(&lot.id) {
            pool.begin(lot.id, lot.content.counts.clone(), bundle_bytes)?;
        }
        pool.align(lot.id, (lot.common.reserved, lot.common.end), &lot.common.usable())?;
    }
    let mut left = before;
    while left < lot.wanted {
        let count = lot.together.min(lot.wanted - left);
        let bundles = made((run, backend), lot.kinds, count as usize)?;
        // Places of one run are in one batch: where it is cut off, no other run makes bundles for them.
        pool.append(lot.id, batch(&backend.origin(), number), bundles)?;
        run.phase(Phase::Offline, async |ctx| meet(ctx).await)?;
        pool.count(lot.id)?;
        left += count;
    }
    Ok(Level { made: left - before, left, bundle_bytes })
}

/// Makes the correlations of `count` bundles.
fn made<B: Family>(
    (run, backend): (&mut Run<'_>, &B),
    kinds: &Kinds<B::Kind>,
    count: usize,
) -> Result<Vec<zeroize::Zeroizing<Vec<u8>>>, SessionError> {
    let totals = kinds.values().map(|(kind, len)| Some((kind.clone(), len.checked_mul(count)?)));
    let totals: Option<BTreeMap<B::Kind, usize>> = totals.collect();
    let totals = totals.ok_or(Error::Bug { what: "more correlations than there are numbers" })?;
    let all = run.phase(Phase::Offline, async |ctx| {
        let made = backend.make_kinds(ctx, &totals).await?;
        backend.check_made(ctx)?;
        Ok(made)
    })?;
    Ok((0..count).map(|at| content::bundle(backend, kinds, &all, at)).collect::<Result<_, Error>>()?)
}
