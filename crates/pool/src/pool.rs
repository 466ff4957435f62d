//! One party's pool: its lots, what they hold, and how bundles come in and go out.

use std::collections::BTreeMap;
use std::ops::Range;

use serde::{Deserialize, Serialize};
use zeroize::Zeroizing;

use crate::disk::{Disk, Stored, replace};
use crate::error::PoolError;
use crate::folder::Folder;
use crate::ledger::{Batch, BundleKey, Contents, Ledger, Lot, LotId, Reserved, sealed_bytes};
use crate::life::{Life, Secrets};
use crate::sealing::{Key, StoreKey, TAG_BYTES, open_file, open_once, random, seal_file, seal_once};
use crate::sizes::{MOST_BUNDLES, PoolId};

/// The format of all files.
const FORMAT: u32 = 2;
pub(crate) const HEADER: &str = "pool";
pub(crate) const LEDGER: &str = ".ledger";
const BLOCKS: &str = ".blocks";
const NEW: &str = ".new";

/// The party and the session for which a pool is.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Owner {
    /// The number of the party.
    pub me: u32,
    /// The number of all parties.
    pub parties: u32,
    /// A hash of all parties' certificates, in their order.
    pub pins: [u8; 32],
    /// The protocol and the options on which correlations depend, for people.
    pub terms: String,
}

#[derive(Serialize, Deserialize)]
pub(crate) struct Header {
    pub id: PoolId,
    pub owner: Owner,
    /// The prices by which runs are planned, in the caller's format.
    prices: Vec<u8>,
    pub life: Life,
}

/// Why a pool is dead that a process found in use.
const CUT_OFF: &str = "a session that used it, or made it, ended without a word: it was killed, or the machine stopped";

/// The correlations of one run, opened.
pub struct Bundle {
    /// The bytes as they were made; wiped when dropped.
    pub bytes: Zeroizing<Vec<u8>>,
    /// The batch to which they belong.
    pub batch: Batch,
}

/// A lot while the pool is open.
struct Open {
    ledger: Ledger,
    /// What is reserved and was not taken, by place.
    held: BTreeMap<u32, Reserved>,
    /// What was written and is not counted yet.
    uncounted: Option<(Batch, Vec<BundleKey>)>,
}

impl Open {
    fn new(ledger: Ledger) -> Open {
        Open { ledger, held: BTreeMap::new(), uncounted: None }
    }
}

/// A party's pool, open in this process alone. After a change that failed, what the disk has is not known: then all
/// further changes are refused, until the pool is opened again.
pub struct Pool<D: Disk = Folder> {
    disk: D,
    key: StoreKey,
    pub(crate) header: Header,
    lots: BTreeMap<LotId, Open>,
    failed: Option<PoolError>,
}

impl<D: Disk> Pool<D> {
    /// Opens the pool in a folder; `None` if there is none in it. Removes the remains of changes that a crash cut off.
    ///
    /// # Errors
    /// [`PoolError::Dead`] for a pool whose secrets are erased, and for one that is found in use, which is erased here;
    /// [`PoolError`] if a file cannot be read, does not open, or is for another owner.
    pub fn open(disk: D, key: StoreKey, owner: &Owner) -> Result<Option<Pool<D>>, PoolError> {
        let Some(file) = disk.read(HEADER)? else { return Ok(None) };
        let header: Header = opened(&key.of_file(&[b"header"]), HEADER, &file)?;
        match check(&header.owner, owner) {
            Err(PoolError::Certificates) if matches!(header.life, Life::Dead { .. }) => {} // nothing is left to bind
            checked => checked?,
        }
        let mut pool = Pool { disk, key, header, lots: BTreeMap::new(), failed: None };
        if let Life::Open(_) = pool.header.life {
            pool.bury(CUT_OFF)?;
        }
        let names = pool.disk.names()?;
        if let Life::Dead { why } = &pool.header.life {
            let dead = PoolError::Dead { id: pool.header.id, why: why.clone() };
            pool.remove_lots(&names)?;
            return Err(dead);
        }
        for id in names.iter().filter_map(|name| lot_named(name, LEDGER)) {
            let (name, key) = (file_of(id, LEDGER), pool.key_of(id));
            let file = pool.disk.read(&name)?.unwrap_or_default();
            let ledger: Ledger = opened(&key, &name, &file)?;
            if !ledger.is_whole() {
                return Err(PoolError::Altered { file: name });
            }
            pool.lots.insert(id, Open::new(ledger));
        }
        pool.tidy(&names)?;
        Ok(Some(pool))
    }

    /// Makes a pool without lots. A pool of which nothing is left may be in the folder, and is removed.
    ///
    /// # Errors
    /// [`PoolError::Taken`] where another process has made one in it; [`PoolError::Disk`].
    pub fn create(disk: D, key: StoreKey, owner: Owner, id: PoolId, prices: Vec<u8>) -> Result<Pool<D>, PoolError> {
        Self::created(disk, key, owner, (id, prices, Life::Free))
    }

    /// Makes a pool without lots whose bundles are of use under these secrets alone; they may be empty at this party.
    /// It is in use by this process, as after [`Pool::enter`]. A dead pool, or one of which nothing is left, may be in
    /// the folder, and is removed.
    ///
    /// # Errors
    /// Those of [`Pool::create`].
    pub fn create_with_secrets(
        disk: D,
        key: StoreKey,
        owner: Owner,
        (id, prices): (PoolId, Vec<u8>),
        secrets: &[u8],
    ) -> Result<Pool<D>, PoolError> {
        Self::created(disk, key, owner, (id, prices, Life::Open(Secrets(secrets.to_vec()))))
    }

    fn created(
        disk: D,
        key: StoreKey,
        owner: Owner,
        (id, prices, life): (PoolId, Vec<u8>, Life),
    ) -> Result<Pool<D>, PoolError> {
        let header = Header { id, owner, prices, life };
        let mut pool = Pool { disk, key, header, lots: BTreeMap::new(), failed: None };
        let names = pool.disk.names()?;
        pool.check_replaceable(&names)?;
        pool.remove_lots(&names)?;
        pool.store_header()?;
        Ok(pool)
    }

    /// Notes on the disk that this process uses the secrets; nothing is written where it does already, or where the
    /// pool has none. Call it before anything is reserved.
    ///
    /// # Errors
    /// [`PoolError::Disk`]; then nothing can be taken.
    pub fn enter(&mut self) -> Result<(), PoolError> {
        self.check_whole()?;
        let Life::Idle(secrets) = &self.header.life else { return Ok(()) };
        self.header.life = Life::Open(secrets.clone());
        self.store_header()
    }

    /// Notes on the disk that no session uses the secrets any more. Call it only at the end of a session in which no
    /// run that has taken a bundle has ended in an error. Bundles can be taken again after [`Pool::enter`].
    ///
    /// # Errors
    /// [`PoolError::Disk`], and that of an earlier change that failed; the pool is then dead for the next process, or
    /// as this call leaves it.
    pub fn leave(&mut self) -> Result<(), PoolError> {
        self.check_whole()?;
        let Life::Open(secrets) = &self.header.life else { return Ok(()) };
        self.header.life = Life::Idle(secrets.clone());
        self.store_header()
    }

    /// Erases the pool for a reason, the end of a sentence: the secrets, then all lots. Its identifier and the reason
    /// stay on the disk. This party uses it no more, whatever the disk does. If the disk takes no new header, and says
    /// that the secrets are idle, they are removed without a trace.
    ///
    /// # Errors
    /// [`PoolError::Disk`]; a pool that the disk says is in use is then erased by the next process that finds it. In
    /// all other cases the secrets are still there.
    pub fn bury(&mut self, why: &str) -> Result<(), PoolError> {
        let dead = PoolError::Dead { id: self.header.id, why: why.to_owned() };
        (self.header.life, self.header.prices) = (Life::Dead { why: why.to_owned() }, vec![]);
        self.lots.clear();
        let stored =
            self.store_header().or_else(|error| if self.is_idle() { self.remove_header() } else { Err(error) });
        let erased = stored.and_then(|()| self.disk.names()).and_then(|names| self.remove_lots(&names));
        self.failed = Some(dead);
        erased
    }

    /// Returns the secrets of the pool; `None` where it has none, or is dead. They may be empty at this party.
    pub fn secrets(&self) -> Option<&[u8]> {
        self.header.life.secrets().map(|secrets| &secrets.0[..])
    }

    /// Returns whether another process could use the secrets, as far as the disk says.
    fn is_idle(&self) -> bool {
        let read = self.disk.read(HEADER);
        let there = read.map(|file| file.map(|file| opened(&self.key.of_file(&[b"header"]), HEADER, &file)));
        !matches!(there, Ok(None | Some(Ok(Header { life: Life::Open(_) | Life::Dead { .. }, .. }))))
    }

    fn remove_header(&mut self) -> Result<(), PoolError> {
        self.disk.remove(HEADER)?;
        self.disk.sync_names()
    }

    fn remove_lots(&mut self, names: &[String]) -> Result<(), PoolError> {
        let of_pool =
            |name: &&String| name.ends_with(NEW) || [LEDGER, BLOCKS].iter().any(|kind| lot_named(name, kind).is_some());
        let mut of_pool = names.iter().filter(of_pool).peekable();
        if of_pool.peek().is_none() {
            return Ok(());
        }
        of_pool.try_for_each(|name| self.disk.remove(name))?;
        self.disk.sync_names()
    }

    /// Refuses to replace a pool that has bundles left.
    fn check_replaceable(&self, names: &[String]) -> Result<(), PoolError> {
        let Some(file) = self.disk.read(HEADER)? else { return Ok(()) };
        let there: Header = opened(&self.key.of_file(&[b"header"]), HEADER, &file)?;
        if matches!(there.life, Life::Dead { .. } | Life::Open(_)) {
            return Ok(());
        }
        for id in names.iter().filter_map(|name| lot_named(name, LEDGER)) {
            let (name, key) = (file_of(id, LEDGER), self.key.of_file(&[b"ledger", &there.id, &id.0]));
            let ledger: Ledger = opened(&key, &name, &self.disk.read(&name)?.unwrap_or_default())?;
            if ledger.lot().left() > 0 {
                return Err(PoolError::Taken);
            }
        }
        Ok(())
    }

    pub(crate) fn store_header(&mut self) -> Result<(), PoolError> {
        let key = self.key.of_file(&[b"header"]);
        let stored = replace(&mut self.disk, HEADER, |number| sealed(&key, HEADER, (number, &self.header)));
        stored.map_err(|error| self.fail(error))
    }

    /// Refuses everything after a change that failed.
    fn check_whole(&self) -> Result<(), PoolError> {
        self.failed.clone().map_or(Ok(()), Err)
    }

    /// Refuses bundles while the disk does not say that this process uses the secrets.
    fn check_in_use(&self) -> Result<(), PoolError> {
        self.check_whole()?;
        match self.header.life.is_in_use() {
            true => Ok(()),
            false => Err(PoolError::bug("a bundle of a pool whose secrets are not in use")),
        }
    }

    /// Returns the pool's name.
    pub fn id(&self) -> PoolId {
        self.header.id
    }

    /// Returns the prices by which runs are planned.
    pub fn prices(&self) -> &[u8] {
        &self.header.prices
    }

    /// Returns all lots, by name.
    pub fn lots(&self) -> BTreeMap<LotId, Lot> {
        self.lots.iter().map(|(&id, lot)| (id, lot.ledger.lot())).collect()
    }

    /// Returns whether no bundle is left in any lot.
    pub fn is_empty(&self) -> bool {
        self.lots.values().all(|lot| lot.ledger.lot().left() == 0)
    }

    /// Begins a lot, of which nothing is made yet.
    ///
    /// # Errors
    /// [`PoolError::Disk`].
    pub fn begin(&mut self, id: LotId, contents: Contents, bundle_bytes: u64) -> Result<(), PoolError> {
        self.check_whole()?;
        if self.lots.contains_key(&id) {
            return Err(PoolError::bug("a lot is begun twice"));
        }
        let ledger = Ledger::new(contents, bundle_bytes);
        self.store(id, &ledger)?;
        self.lots.insert(id, Open::new(ledger));
        Ok(())
    }

    /// Gives up the bundles of all places before `reserved`, the largest such number at any party, and of those outside
    /// of `usable`, which are in order: some party does not have them. Has the next bundle made at `end` or later, the
    /// largest such number. Nothing is written if that is so already.
    ///
    /// # Errors
    /// [`PoolError::Disk`].
    pub fn align(&mut self, id: LotId, (reserved, end): (u32, u32), usable: &[Range<u32>]) -> Result<(), PoolError> {
        let mut ledger = self.lot(id)?.ledger.clone();
        let before = ledger.lot().left();
        ledger.keep(usable);
        if reserved <= ledger.reserved && end <= ledger.end && ledger.lot().left() == before {
            return Ok(());
        }
        ledger.reserve(reserved);
        ledger.end = ledger.end.max(end);
        if ledger.room().is_none() {
            return Err(PoolError::TooMany);
        }
        self.store(id, &ledger)?;
        self.lot(id)?.ledger = ledger;
        Ok(())
    }

    /// Writes bundles to the disk, at the places after the last one. They do not count yet, and a crash loses them.
    ///
    /// # Errors
    /// [`PoolError::TooMany`], [`PoolError::Disk`].
    pub fn append(&mut self, id: LotId, batch: Batch, bundles: Vec<Zeroizing<Vec<u8>>>) -> Result<(), PoolError> {
        let Ledger { end, bundle_bytes, .. } = self.lot(id)?.ledger;
        self.check_in_use()?;
        let room = self.lot(id)?.ledger.room().unwrap_or(0);
        if bundles.len() > room as usize || end.checked_add(room).is_none() {
            return Err(PoolError::TooMany);
        }
        if bundles.iter().any(|bundle| bundle.len() as u64 != bundle_bytes) {
            return Err(PoolError::bug("a bundle of a wrong length"));
        }
        let mut keys = Vec::with_capacity(bundles.len());
        for (place, bundle) in (end..).zip(bundles) {
            keys.push(self.write(id, place, &batch, bundle).map_err(|error| self.fail(error))?);
        }
        let name = file_of(id, BLOCKS);
        let has_file = bundle_bytes > 0 && !keys.is_empty();
        let synced = if has_file { self.disk.sync(&name).and_then(|()| self.disk.sync_names()) } else { Ok(()) };
        synced.map_err(|error| self.fail(error))?;
        self.lot(id)?.uncounted = Some((batch, keys));
        Ok(())
    }

    /// Writes a sealed bundle and returns its key. A party whose part of the correlations is empty writes nothing.
    fn write(&mut self, id: LotId, place: u32, batch: &Batch, mut bundle: Zeroizing<Vec<u8>>) -> Sealed {
        let key = Key::new(*random()?);
        if !bundle.is_empty() {
            let tag = seal_once(&key, &self.place(id, place, batch), &mut bundle)?;
            let (name, bytes) = (file_of(id, BLOCKS), bundle.len() as u64);
            let offset = offset_of(place, bytes);
            self.disk.write_at(&name, offset, &bundle)?;
            self.disk.write_at(&name, offset + bytes, &tag)?;
        }
        Ok(BundleKey(*key))
    }

    /// Counts the bundles that [`Pool::append`] wrote last.
    ///
    /// # Errors
    /// [`PoolError::Disk`].
    pub fn count(&mut self, id: LotId) -> Result<(), PoolError> {
        let lot = self.lot(id)?;
        let Some((batch, keys)) = lot.uncounted.take() else {
            return Err(PoolError::bug("nothing was written that could count"));
        };
        let mut ledger = lot.ledger.clone();
        ledger.add(batch, keys);
        self.store(id, &ledger)?;
        self.lot(id)?.ledger = ledger;
        Ok(())
    }

    /// Reserves all places before `end` for this process. Once this has returned, the disk has their keys no more.
    ///
    /// # Errors
    /// [`PoolError::Disk`]; then nothing can be taken.
    pub fn reserve(&mut self, id: LotId, end: u32) -> Result<(), PoolError> {
        let mut ledger = self.lot(id)?.ledger.clone();
        self.check_in_use()?;
        if end > ledger.end {
            return Err(PoolError::bug("a place is reserved that was not made"));
        }
        if end <= ledger.reserved {
            return Ok(());
        }
        let taken = ledger.reserve(end);
        self.store(id, &ledger)?;
        let lot = self.lot(id)?;
        lot.ledger = ledger;
        lot.held.extend(taken);
        Ok(())
    }

    /// Opens a bundle that is reserved, and forgets its key, and those of all places before it.
    ///
    /// # Errors
    /// [`PoolError::Altered`] if the bundle is not the one that was written; [`PoolError::Disk`]; [`PoolError::Bug`] if
    /// this process did not reserve it, or has taken it.
    pub fn take(&mut self, id: LotId, place: u32) -> Result<Bundle, PoolError> {
        self.check_in_use()?;
        let lot = self.lot(id)?;
        let bundle_bytes = lot.ledger.bundle_bytes;
        let Some((key, batch)) = lot.held.remove(&place) else {
            return Err(PoolError::bug("a bundle is taken that is not reserved"));
        };
        lot.held.retain(|&at, _| at > place);
        if bundle_bytes == 0 {
            return Ok(Bundle { bytes: Zeroizing::default(), batch });
        }
        let name = file_of(id, BLOCKS);
        let len = usize::try_from(sealed_bytes(bundle_bytes)).map_err(|_| PoolError::TooMany)?;
        let mut bytes = Zeroizing::new(vec![0; len]);
        self.disk.read_at(&name, offset_of(place, bundle_bytes), &mut bytes)?;
        let opened = open_once(&Zeroizing::new(key.0), &self.place(id, place, &batch), &mut bytes)?;
        if opened.is_none_or(|opened| opened as u64 != bundle_bytes) {
            return Err(PoolError::Altered { file: name });
        }
        bytes.truncate(len - TAG_BYTES);
        Ok(Bundle { bytes, batch })
    }

    /// Gives back all places from `next` on that this process reserved: this party has begun no run with them. The
    /// parties must have agreed on `next` or a larger number for every run that they began.
    ///
    /// # Errors
    /// [`PoolError::Disk`].
    pub fn release(&mut self, id: LotId, next: u32) -> Result<(), PoolError> {
        let lot = self.lot(id)?;
        let back = lot.held.split_off(&next);
        lot.held.clear();
        if back.is_empty() {
            return Ok(());
        }
        let mut ledger = lot.ledger.clone();
        ledger.release(next, back);
        self.store(id, &ledger)?;
        self.lot(id)?.ledger = ledger;
        Ok(())
    }

    /// Removes the remains of crashes, and the blocks of lots of which nothing is left.
    fn tidy(&mut self, names: &[String]) -> Result<(), PoolError> {
        let is_used_up = |id| self.lots.get(&id).is_none_or(|lot| lot.ledger.lot().left() == 0);
        let remains =
            names.iter().filter(|name| name.ends_with(NEW) || lot_named(name, BLOCKS).is_some_and(is_used_up));
        let remains: Vec<&String> = remains.collect();
        remains.into_iter().try_for_each(|name| self.disk.remove(name))
    }

    /// Returns a lot, unless an earlier change failed.
    fn lot(&mut self, id: LotId) -> Result<&mut Open, PoolError> {
        self.check_whole()?;
        self.lots.get_mut(&id).ok_or(PoolError::bug("there is no such lot"))
    }

    fn fail(&mut self, error: PoolError) -> PoolError {
        self.lots.values_mut().for_each(|lot| (lot.held, lot.uncounted) = Default::default());
        self.failed = Some(error.clone());
        error
    }

    fn key_of(&self, id: LotId) -> Key {
        self.key.of_file(&[b"ledger", &self.header.id, &id.0])
    }

    fn store(&mut self, id: LotId, ledger: &Ledger) -> Result<(), PoolError> {
        let (name, key) = (file_of(id, LEDGER), self.key_of(id));
        let stored = replace(&mut self.disk, &name, |number| sealed(&key, &name, (number, ledger)));
        stored.map_err(|error| self.fail(error))
    }

    /// Returns what a bundle is bound to.
    fn place(&self, id: LotId, place: u32, batch: &Batch) -> Vec<u8> {
        let Header { id: pool, owner, .. } = &self.header;
        let numbers = [FORMAT, owner.me, place].map(u32::to_le_bytes);
        [&numbers.concat()[..], pool, &id.0, &batch.id, &batch.origin].concat()
    }
}

/// The key of a bundle that was written.
type Sealed = Result<BundleKey, PoolError>;

fn check(made: &Owner, here: &Owner) -> Result<(), PoolError> {
    let other = |made: String, here: String| Err(PoolError::Foreign { made, here });
    if (made.me, made.parties) != (here.me, here.parties) {
        let party = |owner: &Owner| format!("party {} of {}", owner.me, owner.parties);
        return other(format!("for {}", party(made)), party(here));
    }
    if made.terms != here.terms {
        return other(format!("with {}", made.terms), format!("one with {}", here.terms));
    }
    if made.pins != here.pins {
        return Err(PoolError::Certificates);
    }
    Ok(())
}

pub(crate) fn file_of(id: LotId, kind: &str) -> String {
    let name: String = id.0.iter().map(|byte| format!("{byte:02x}")).collect();
    name + kind
}

/// Returns the lot of which a file of this kind is.
pub(crate) fn lot_named(name: &str, kind: &str) -> Option<LotId> {
    let digits = name.strip_suffix(kind).filter(|digits| digits.len() == 64)?;
    let byte = |i: usize| digits.get(2 * i..2 * i + 2).and_then(|pair| u8::from_str_radix(pair, 16).ok());
    let bytes: Vec<u8> = (0..32).map(byte).collect::<Option<_>>()?;
    let id = LotId(bytes.try_into().ok()?);
    (file_of(id, kind) == name).then_some(id)
}

/// Returns where a bundle is in its file. Places that are [`MOST_BUNDLES`] apart share one.
fn offset_of(place: u32, bundle_bytes: u64) -> u64 {
    u64::from(place % MOST_BUNDLES) * sealed_bytes(bundle_bytes)
}

/// Returns a sealed file with its format, for the file with this number.
fn sealed<T: Serialize>(key: &Key, name: &str, contents: (u64, &T)) -> Result<Vec<u8>, PoolError> {
    let text = encoded(&contents)?;
    Ok([&FORMAT.to_le_bytes()[..], &seal_file(key, &bound(name), &text)?].concat())
}

/// Encodes into rooms of growing size, each of which is wiped.
fn encoded<T: Serialize>(contents: &T) -> Result<Zeroizing<Vec<u8>>, PoolError> {
    let mut room = 1 << 10;
    loop {
        let mut text = Zeroizing::new(vec![0; room]);
        match postcard::to_slice(contents, &mut text).map(|used| used.len()) {
            Ok(len) => {
                text.truncate(len);
                return Ok(text);
            }
            Err(postcard::Error::SerializeBufferFull) => room *= 4,
            Err(_) => return Err(PoolError::bug("a file that cannot be encoded")),
        }
    }
}

/// Opens a sealed file, which must be the one that it was sealed for: the bytes of an earlier one, put back in its
/// place, are refused.
pub(crate) fn opened<T: for<'d> Deserialize<'d>>(key: &Key, name: &str, file: &Stored) -> Result<T, PoolError> {
    let altered = || PoolError::Altered { file: name.into() };
    let (format, sealed) = file.bytes.split_first_chunk().ok_or_else(altered)?;
    match u32::from_le_bytes(*format) {
        FORMAT => {}
        found => return Err(PoolError::Format { found, reads: FORMAT }),
    }
    let text = open_file(key, &bound(name), sealed)?.ok_or_else(altered)?;
    let (number, contents): (u64, T) = postcard::from_bytes(&text).map_err(|_| altered())?;
    match number == file.number {
        true => Ok(contents),
        false => Err(PoolError::Moved),
    }
}

/// Returns what a file is bound to.
fn bound(name: &str) -> Vec<u8> {
    [&FORMAT.to_le_bytes()[..], name.as_bytes()].concat()
}
