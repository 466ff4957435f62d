//! The storage of a party's pool, as its session uses it.

use std::collections::BTreeMap;
use std::ops::Range;
use std::path::PathBuf;

use quorate_pool::{Batch, Bundle, Contents, Disk, Folder, Lot, LotId, Owner, Pool, PoolError, PoolId, StoreKey};
use zeroize::Zeroizing;

use crate::error::SessionError;

/// A pool that is open in this process alone. Its methods are those of [`Pool`].
#[allow(missing_docs, clippy::missing_errors_doc)] // as `Pool` describes them
pub trait Keeps: Send {
    fn id(&self) -> PoolId;
    fn prices(&self) -> &[u8];
    fn lots(&self) -> BTreeMap<LotId, Lot>;
    fn begin(&mut self, id: LotId, contents: Contents, bundle_bytes: u64) -> Result<(), PoolError>;
    fn align(&mut self, id: LotId, numbers: (u32, u32), usable: &[Range<u32>]) -> Result<(), PoolError>;
    fn append(&mut self, id: LotId, batch: Batch, bundles: Vec<Zeroizing<Vec<u8>>>) -> Result<(), PoolError>;
    fn count(&mut self, id: LotId) -> Result<(), PoolError>;
    fn reserve(&mut self, id: LotId, end: u32) -> Result<(), PoolError>;
    fn take(&mut self, id: LotId, place: u32) -> Result<Bundle, PoolError>;
    fn release(&mut self, id: LotId, next: u32) -> Result<(), PoolError>;
    fn secrets(&self) -> Option<&[u8]>;
    fn enter(&mut self) -> Result<(), PoolError>;
    fn leave(&mut self) -> Result<(), PoolError>;
    fn bury(&mut self, why: &str) -> Result<(), PoolError>;
}

/// The place of a party's pool: where it is opened, and where a new one is made.
pub trait Opens: Send {
    /// Opens the pool; `None` if there is none.
    ///
    /// # Errors
    /// Those of [`Pool::open`].
    fn open(&self) -> Result<Option<Box<dyn Keeps>>, PoolError>;

    /// Makes a new pool, with secrets if they are given, in place of one that is not open, and of which nothing is
    /// left.
    ///
    /// # Errors
    /// Those of [`Pool::create`].
    fn create(&self, id: PoolId, prices: Vec<u8>, secrets: Option<&[u8]>) -> Result<Box<dyn Keeps>, PoolError>;
}

/// The folder of a party's pool, and the key under which it is sealed.
pub struct Location {
    pub(crate) path: PathBuf,
    pub(crate) key: StoreKey,
}

impl Location {
    /// Returns the place of a pool; takes over the bytes of the store's key, and wipes their source.
    ///
    /// # Errors
    /// [`SessionError::Pool`] unless the key has 32 bytes.
    pub fn new(path: PathBuf, key: &mut [u8]) -> Result<Location, SessionError> {
        Ok(Location { path, key: StoreKey::take(key)? })
    }
}

/// A folder with the pool of a party.
pub(crate) struct InFolder {
    pub at: Location,
    /// The party and the session for which the pool is.
    pub owner: Owner,
}

impl Opens for InFolder {
    fn open(&self) -> Result<Option<Box<dyn Keeps>>, PoolError> {
        let opened = Pool::open(Folder::lock(&self.at.path)?, self.at.key.clone(), &self.owner)?;
        Ok(opened.map(|pool| Box::new(pool) as _))
    }

    fn create(&self, id: PoolId, prices: Vec<u8>, secrets: Option<&[u8]>) -> Result<Box<dyn Keeps>, PoolError> {
        let (folder, key, owner) = (Folder::lock(&self.at.path)?, self.at.key.clone(), self.owner.clone());
        Ok(Box::new(match secrets {
            None => Pool::create(folder, key, owner, id, prices)?,
            Some(secrets) => Pool::create_with_secrets(folder, key, owner, (id, prices), secrets)?,
        }))
    }
}

impl<D: Disk + Send> Keeps for Pool<D> {
    fn id(&self) -> PoolId {
        self.id()
    }

    fn prices(&self) -> &[u8] {
        self.prices()
    }

    fn lots(&self) -> BTreeMap<LotId, Lot> {
        self.lots()
    }

    fn begin(&mut self, id: LotId, contents: Contents, bundle_bytes: u64) -> Result<(), PoolError> {
        self.begin(id, contents, bundle_bytes)
    }

    fn align(&mut self, id: LotId, numbers: (u32, u32), usable: &[Range<u32>]) -> Result<(), PoolError> {
        self.align(id, numbers, usable)
    }

    fn append(&mut self, id: LotId, batch: Batch, bundles: Vec<Zeroizing<Vec<u8>>>) -> Result<(), PoolError> {
        self.append(id, batch, bundles)
    }

    fn count(&mut self, id: LotId) -> Result<(), PoolError> {
        self.count(id)
    }

    fn reserve(&mut self, id: LotId, end: u32) -> Result<(), PoolError> {
        self.reserve(id, end)
    }

    fn take(&mut self, id: LotId, place: u32) -> Result<Bundle, PoolError> {
        self.take(id, place)
    }

    fn release(&mut self, id: LotId, next: u32) -> Result<(), PoolError> {
        self.release(id, next)
    }

    fn secrets(&self) -> Option<&[u8]> {
        self.secrets()
    }

    fn enter(&mut self) -> Result<(), PoolError> {
        self.enter()
    }

    fn leave(&mut self) -> Result<(), PoolError> {
        self.leave()
    }

    fn bury(&mut self, why: &str) -> Result<(), PoolError> {
        self.bury(why)
    }
}
