//! A session's pool at one party: its storage, and how far the session has come in each lot.

use std::collections::BTreeMap;

use quorate_crypto::SessionId;
use quorate_engine::{Error, Result};
use quorate_pool::{Batch, Bundle, LotId, PoolError};

use super::common::{Agreed, Common, agree};
use super::keeps::{Keeps, Opens};
use super::notes::{self, At, Offer, Tag};
use crate::error::SessionError;
use crate::options::PoolMode;

/// A party's pool before the setup of its session.
pub(crate) struct Source {
    opens: Box<dyn Opens>,
    open: Option<Box<dyn Keeps>>,
}

impl Source {
    /// Opens the pool, if there is one.
    ///
    /// # Errors
    /// Those of [`Opens::open`].
    pub fn new(opens: Box<dyn Opens>) -> std::result::Result<Source, PoolError> {
        let open = opens.open()?;
        Ok(Source { opens, open })
    }

    /// Returns what this party tells the others in the setup.
    pub fn note(&self) -> Vec<u8> {
        notes::write(self.open.as_deref().map(Offer::of).as_ref())
    }

    /// Agrees with the other parties by the notes of all.
    ///
    /// # Errors
    /// [`Error::Malformed`]; those of [`agree`].
    pub fn agree(&self, mode: PoolMode, notes: &[Vec<u8>]) -> std::result::Result<Agreed, SessionError> {
        let offers = notes.iter().enumerate().map(|(peer, note)| notes::read(peer, note));
        agree(mode, &offers.collect::<Result<Vec<_>>>()?)
    }

    /// Returns the prices of the pool on which the parties agreed; `None` for a new one.
    pub fn prices(&self, agreed: &Agreed) -> Option<&[u8]> {
        match (agreed, &self.open) {
            (Agreed::Same(_), Some(pool)) => Some(pool.prices()),
            _ => None,
        }
    }

    /// Returns the pool of a session. A new one is named after the session. One that another party is ahead of gives up
    /// what that party has reserved.
    ///
    /// # Errors
    /// [`PoolError`].
    pub fn settle(
        self,
        agreed: Agreed,
        session: &SessionId,
        prices: Vec<u8>,
    ) -> std::result::Result<Purse, SessionError> {
        let Source { opens, open } = self;
        let (mut pool, common) = match (agreed, open) {
            (Agreed::Same(common), Some(pool)) => (pool, common),
            (_, open) => {
                drop(open); // and its lock
                let id = blake3::derive_key("quorate/session/pool", session.as_bytes());
                (opens.create(id, prices)?, BTreeMap::new())
            }
        };
        let mut lots = BTreeMap::new();
        for (id, common) in common {
            pool.align(id, common.reserved, common.end)?;
            let next = common.reserved;
            lots.insert(id, Lot { common, next, reserved: next });
        }
        Ok(Purse { pool, lots })
    }
}

/// How far a session has come in a lot that all parties have.
struct Lot {
    common: Common,
    /// This party has begun no run with this place or a later one.
    next: u32,
    /// All places before this one are reserved on this party's disk.
    reserved: u32,
}

/// A party's pool while its session is open.
pub(crate) struct Purse {
    pub pool: Box<dyn Keeps>,
    lots: BTreeMap<LotId, Lot>,
}

/// The place of a lot on which the parties agreed for a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Place {
    pub lot: LotId,
    pub place: u32,
    pub batch: Tag,
    /// Up to where all parties reserve before; `None` where all have reserved it.
    pub reserve: Option<u32>,
}

impl Purse {
    /// Returns what this party tells the others before a run.
    pub fn note(&self) -> Vec<u8> {
        notes::write_run(self.lots.values().map(|lot| At { next: lot.next, reserved: lot.reserved }))
    }

    /// Returns what this party tells the others before it makes bundles.
    pub fn offer(&self) -> Vec<u8> {
        notes::write(Some(&Offer::of(&*self.pool)))
    }

    /// Returns the number of bundles that all parties can use, by lot, as far as this party knows.
    pub fn levels(&self) -> BTreeMap<LotId, u32> {
        self.lots.iter().map(|(&id, lot)| (id, lot.common.rest(lot.next))).collect()
    }

    /// Chooses the place for a run of this lot by the notes of all parties; `None` where there is none.
    ///
    /// # Errors
    /// [`Error::Malformed`].
    pub fn choose(&self, id: LotId, notes: &[Vec<u8>]) -> Result<Option<Place>> {
        let each = notes.iter().enumerate().map(|(peer, note)| notes::read_run(peer, note, self.lots.len()));
        let each: Vec<Vec<At>> = each.collect::<Result<_>>()?;
        let Some(at) = self.lots.keys().position(|lot| *lot == id) else { return Ok(None) };
        let (common, here) = (&self.lots[&id].common, each.iter().map(|party| party[at]));
        let next = here.clone().map(|at| at.next).max().unwrap_or(0);
        let Some((place, batch)) = common.place(next) else { return Ok(None) };
        let reserve = common.to_reserve(place, here.map(|at| at.reserved));
        Ok(Some(Place { lot: id, place, batch, reserve }))
    }

    /// Reserves places on this party's disk before a run, as all parties do.
    ///
    /// # Errors
    /// [`PoolError`].
    pub fn reserve(&mut self, Place { lot: id, reserve, .. }: Place) -> std::result::Result<(), PoolError> {
        let (Some(end), Some(lot)) = (reserve, self.lots.get_mut(&id)) else { return Ok(()) };
        self.pool.reserve(id, end)?;
        lot.reserved = lot.reserved.max(end);
        Ok(())
    }

    /// Takes the bundle of a run, once all parties have reserved its place. No later run gets this place or an earlier
    /// one, whatever becomes of this run.
    ///
    /// # Errors
    /// [`PoolError`]; [`Error::Bug`] for another batch than the parties agreed on.
    pub fn take(&mut self, Place { lot: id, place, batch, .. }: Place) -> std::result::Result<Bundle, SessionError> {
        if let Some(lot) = self.lots.get_mut(&id) {
            lot.next = place + 1;
        }
        let bundle = self.pool.take(id, place)?;
        match notes::tag(&bundle.batch) == batch {
            true => Ok(bundle),
            false => Err(Error::Bug { what: "a bundle of another batch than the parties agreed on" }.into()),
        }
    }

    /// Gives back, at the end of the session, what was reserved and not used. What cannot be given back is lost.
    pub fn release(mut self) {
        for (&id, lot) in &self.lots {
            let _ = self.pool.release(id, lot.next);
        }
    }
}

/// Returns the name of a batch that a session makes, the same at all parties.
pub(crate) fn batch(session: &SessionId, run: u32, number: u32) -> Batch {
    let mut hasher = blake3::Hasher::new_derive_key("quorate/session/pool batch");
    hasher.update(session.as_bytes()).update(&run.to_le_bytes()).update(&number.to_le_bytes());
    Batch { id: hasher.finalize().into(), origin: *session.as_bytes() }
}
