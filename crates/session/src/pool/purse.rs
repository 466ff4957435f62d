//! A session's pool at one party: its storage, and how far the session has come in each lot.

use std::collections::BTreeMap;
use std::sync::{Arc, OnceLock};

use quorate_crypto::SessionId;
use quorate_engine::{Error, Result};
use quorate_pool::{Batch, Bundle, LotId, PoolError, PoolId};
use zeroize::Zeroizing;

use super::common::{Agreed, Common, agree};
use super::keeps::{Keeps, Opens};
use super::mortal;
use super::notes::{self, At, Offer, Tag, Told};
use crate::error::SessionError;
use crate::options::PoolMode;

/// A party's pool before the setup of its session.
pub(crate) struct Source {
    opens: Box<dyn Opens>,
    open: Option<Box<dyn Keeps>>,
    /// The name and the error of a pool that is erased.
    dead: Option<(PoolId, PoolError)>,
    complaint: Complaint,
}

/// The first error of a disk that ends no run: a pool could not be erased, or what is left could not be given back.
pub(crate) type Complaint = Arc<OnceLock<PoolError>>;

impl Source {
    /// Opens the pool, if there is one.
    ///
    /// # Errors
    /// Those of [`Opens::open`].
    pub fn new(opens: Box<dyn Opens>) -> std::result::Result<Source, PoolError> {
        match opens.open() {
            Err(error @ PoolError::Dead { id, .. }) => {
                Ok(Source { opens, open: None, dead: Some((id, error)), complaint: Complaint::default() })
            }
            opened => Ok(Source { open: opened?, opens, dead: None, complaint: Complaint::default() }),
        }
    }

    /// Returns where errors are noted that end no run.
    pub fn complaint(&self) -> Complaint {
        self.complaint.clone()
    }

    /// Erases a pool with secrets if this error of a setup shows that a party did not follow the protocol.
    pub fn bury_after(&mut self, error: &Error) {
        let Some(pool) = self.open.as_mut().filter(|pool| pool.secrets().is_some()) else { return };
        if SessionError::from(error.clone()).is_deviation() {
            note(&self.complaint, pool.bury(&format!("a setup did not end well ({error})")));
        }
    }

    /// Returns what this party tells the others in the setup.
    pub fn note(&self) -> Vec<u8> {
        match &self.dead {
            Some((id, _)) => id.to_vec(),
            None => notes::write(self.open.as_deref().map(Offer::of).as_ref()),
        }
    }

    /// Agrees with the other parties on a pool with secrets, by the notes of all. If another party says that this pool
    /// is dead, it is erased here, too.
    ///
    /// # Errors
    /// [`Error::Malformed`]; those of [`mortal::agree`]; [`SessionError::Pool`] for a pool that is dead here.
    pub fn agree_on_mortal(
        &mut self,
        (mode, me): (PoolMode, usize),
        notes: &[Vec<u8>],
    ) -> std::result::Result<Agreed, SessionError> {
        if let (PoolMode::Use, Some((_, dead))) = (mode, &self.dead) {
            return Err(dead.clone().into());
        }
        let told = notes.iter().enumerate().map(|(peer, note)| notes::read_told(peer, note));
        let told: Vec<Told> = told.collect::<Result<_>>()?;
        let agreed = mortal::agree((mode, me), &told);
        if let (Err(SessionError::PoolDeadThere { party }), Some(pool)) = (&agreed, &mut self.open) {
            pool.bury(&format!("party {party} says that it has ended there"))?;
        }
        agreed
    }

    /// Returns the secrets of the pool on which the parties agreed; `None` for a new one, and for one without secrets.
    pub fn secrets(&self, agreed: &Agreed) -> Option<Zeroizing<Vec<u8>>> {
        match (agreed, &self.open) {
            (Agreed::Same(_), Some(pool)) => pool.secrets().map(|secrets| Zeroizing::new(secrets.to_vec())),
            _ => None,
        }
    }

    /// Agrees with the other parties by the notes of all.
    ///
    /// # Errors
    /// [`Error::Malformed`]; those of [`agree`].
    pub fn agree(&self, (mode, me): (PoolMode, usize), notes: &[Vec<u8>]) -> std::result::Result<Agreed, SessionError> {
        let offers = notes.iter().enumerate().map(|(peer, note)| notes::read(peer, note));
        agree((mode, me), &offers.collect::<Result<Vec<_>>>()?)
    }

    /// Returns the prices of the pool on which the parties agreed; `None` for a new one.
    pub fn prices(&self, agreed: &Agreed) -> Option<&[u8]> {
        match (agreed, &self.open) {
            (Agreed::Same(_), Some(pool)) => Some(pool.prices()),
            _ => None,
        }
    }

    /// Returns the pool of a session. A new one is named after the session, and has the session's secrets. One that
    /// another party is ahead of gives up what that party has reserved.
    ///
    /// # Errors
    /// [`PoolError`].
    pub fn settle(
        self,
        agreed: Agreed,
        (session, secrets): (&SessionId, Option<&[u8]>),
        prices: Vec<u8>,
    ) -> std::result::Result<Purse, SessionError> {
        let Source { opens, open, complaint, .. } = self;
        let (mut pool, common) = match (agreed, open) {
            (Agreed::Same(common), Some(pool)) => (pool, common),
            (_, open) => {
                drop(open); // and its lock
                let id = blake3::derive_key("quorate/session/pool", session.as_bytes());
                (opens.create(id, prices, secrets)?, BTreeMap::new())
            }
        };
        let mut lots = BTreeMap::new();
        for (id, common) in common {
            pool.align(id, (common.reserved, common.end), &common.usable())?;
            let next = common.reserved;
            lots.insert(id, Lot { common, next, reserved: next });
        }
        Ok(Purse { pool, lots, may_be_chosen: false, has_failed: false, complaint })
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
    /// Whether parties may have chosen a place for the current run.
    may_be_chosen: bool,
    /// Whether such a run has ended in an error. Others may have begun it with a place that this party has not begun.
    has_failed: bool,
    complaint: Complaint,
}

fn note(complaint: &Complaint, done: std::result::Result<(), PoolError>) {
    if let Err(error) = done {
        let _ = complaint.set(error);
    }
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
        for (peer, at) in here.clone().enumerate() {
            if at.next.max(at.reserved) > common.end {
                return Err(Error::Malformed { peer, what: "state of a pool" });
            }
        }
        let next = here.clone().map(|at| at.next).max().unwrap_or(0);
        let Some((place, batch)) = common.place(next) else { return Ok(None) };
        let reserve = common.to_reserve(place, here.map(|at| at.reserved));
        Ok(Some(Place { lot: id, place, batch, reserve }))
    }

    /// Notes that a run begins with a place: no later run gets it, or an earlier one.
    pub fn begin(&mut self, Place { lot: id, place, .. }: Place) {
        if let Some(lot) = self.lots.get_mut(&id) {
            lot.next = place + 1;
        }
    }

    /// Notes on the disk that this session uses the secrets of the pool, if it has any, before it reserves anything.
    ///
    /// # Errors
    /// [`PoolError`].
    pub fn enter(&mut self) -> std::result::Result<(), PoolError> {
        self.pool.enter()
    }

    /// Erases the pool. If the disk refuses that, the next process does it where it finds the pool in use; the session
    /// says so at its end.
    pub fn bury(&mut self, why: &str) {
        note(&self.complaint, self.pool.bury(why));
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

    /// Notes whether, from now on, parties may have chosen a place for the current run: once notes are exchanged, and
    /// until all have refused it.
    pub fn may_be_chosen(&mut self, may_be: bool) {
        self.may_be_chosen = may_be;
    }

    /// Notes that the current run has ended in an error. If parties may have chosen a place, nothing is given back.
    pub fn fail(&mut self) {
        self.has_failed |= self.may_be_chosen;
    }

    /// Takes the bundle of a run, once all parties have reserved its place.
    ///
    /// # Errors
    /// [`PoolError`]; [`Error::Bug`] for another batch than the parties agreed on.
    pub fn take(&mut self, Place { lot: id, place, batch, .. }: Place) -> std::result::Result<Bundle, SessionError> {
        let bundle = self.pool.take(id, place)?;
        match notes::tag(&bundle.batch) == batch {
            true => Ok(bundle),
            false => Err(Error::Bug { what: "a bundle of another batch than the parties agreed on" }.into()),
        }
    }

    /// Gives back, at the end of the session, what was reserved and not used, unless a run has failed. What cannot be
    /// given back is lost. A pool with secrets is dead from now on unless the session ended well. Errors are noted for
    /// the end of the session.
    pub fn release(mut self, has_ended_well: bool) {
        if !self.has_failed {
            for (&id, lot) in &self.lots {
                note(&self.complaint, self.pool.release(id, lot.next));
            }
        }
        if has_ended_well && self.pool.secrets().is_some() {
            note(&self.complaint, self.pool.leave());
        }
    }
}

/// Returns the name of what a session makes in a run, the same at all parties.
pub(crate) fn batch(session: &SessionId, run: u32) -> Batch {
    let mut hasher = blake3::Hasher::new_derive_key("quorate/session/pool batch");
    hasher.update(session.as_bytes()).update(&run.to_le_bytes());
    Batch { id: hasher.finalize().into(), origin: *session.as_bytes() }
}
