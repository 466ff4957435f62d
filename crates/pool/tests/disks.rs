//! A disk in memory that loses what was not synced, at any of its operations.

use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::rc::Rc;

use quorate_pool::{Disk, Owner, PoolError, StoreKey, Stored};

type Files = BTreeMap<String, Stored>;

/// What is left of changes that were not synced when the machine stops.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unsynced {
    /// All of them.
    Kept,
    /// None of them.
    Lost,
    /// Their names, but not their bytes.
    Hollow,
}

/// A machine's disk; clones are the same disk.
#[derive(Clone, Default)]
pub struct Machine {
    /// What programs see.
    seen: Rc<RefCell<Files>>,
    /// The names on the disk, with the bytes that were synced under them.
    durable: Rc<RefCell<Files>>,
    /// Bytes that were synced, by the name that the file has now.
    synced: Rc<RefCell<Files>>,
    /// The number of changes until one fails, and all after it.
    until_failure: Rc<Cell<Option<usize>>>,
    /// Whether only one change fails.
    is_lasting: Rc<Cell<bool>>,
    pub changes: Rc<Cell<usize>>,
    /// The number of the file that was made last.
    number: Rc<Cell<u64>>,
}

impl Machine {
    /// Has the change after `count` others fail, and all later ones if it lasts.
    pub fn fail_after(&self, count: usize, is_lasting: bool) {
        self.until_failure.set(Some(count));
        self.is_lasting.set(is_lasting);
    }

    /// Starts the machine again after it has stopped.
    pub fn restart(&self, unsynced: Unsynced) {
        self.until_failure.set(None);
        let durable = self.durable.borrow().clone();
        let seen = self.seen.borrow().clone();
        let left = match unsynced {
            Unsynced::Kept => seen,
            Unsynced::Lost => durable,
            Unsynced::Hollow => {
                let synced = self.synced.borrow();
                let hollow = |file: &Stored| Stored { number: file.number, bytes: vec![] };
                let left = |(name, file)| (String::clone(name), synced.get(name).cloned().unwrap_or(hollow(file)));
                seen.iter().map(left).collect()
            }
        };
        *self.seen.borrow_mut() = left.clone();
        *self.synced.borrow_mut() = left.clone();
        *self.durable.borrow_mut() = left;
    }

    /// Returns all files as they are.
    pub fn copy(&self) -> Files {
        self.seen.borrow().clone()
    }

    /// Puts the bytes of all files back into the files that are there, as `cp` does.
    pub fn put_back(&self, files: &Files) {
        for (name, before) in files {
            let mut seen = self.seen.borrow_mut();
            let number = seen.get(name).map_or_else(|| self.next_number(), |file| file.number);
            seen.insert(name.clone(), Stored { number, bytes: before.bytes.clone() });
        }
        self.restart(Unsynced::Kept);
    }

    /// Replaces files by copies, as `tar` and `rsync` do.
    pub fn replace_by_copies(&self, files: &Files) {
        let copy = |(name, file): (&String, &Stored)| {
            (name.clone(), Stored { number: self.next_number(), bytes: file.bytes.clone() })
        };
        self.seen.borrow_mut().extend(files.iter().map(copy));
        self.restart(Unsynced::Kept);
    }

    fn next_number(&self) -> u64 {
        self.number.set(self.number.get() + 1);
        self.number.get()
    }

    /// Puts all files back as they were, as an image of the disk does.
    pub fn restore(&self, files: &Files) {
        *self.seen.borrow_mut() = files.clone();
        self.restart(Unsynced::Kept);
    }

    /// Changes a file as somebody with access to the disk could.
    pub fn alter(&self, name: &str, change: impl FnOnce(&mut Vec<u8>)) {
        change(&mut self.seen.borrow_mut().get_mut(name).expect("there is such a file").bytes);
        self.restart(Unsynced::Kept);
    }

    fn change(&self) -> Result<(), PoolError> {
        self.changes.set(self.changes.get() + 1);
        match self.until_failure.get() {
            Some(0) => {
                if !self.is_lasting.get() {
                    self.until_failure.set(None);
                }
                Err(PoolError::Disk { file: "test".into(), what: "written", why: "it failed".into() })
            }
            Some(left) => {
                self.until_failure.set(Some(left - 1));
                Ok(())
            }
            None => Ok(()),
        }
    }
}

impl Disk for Machine {
    fn create(&mut self, name: &str) -> Result<u64, PoolError> {
        self.change()?;
        let number = self.next_number();
        self.seen.borrow_mut().insert(name.into(), Stored { number, bytes: vec![] });
        self.synced.borrow_mut().remove(name);
        Ok(number)
    }

    fn names(&self) -> Result<Vec<String>, PoolError> {
        Ok(self.seen.borrow().keys().cloned().collect())
    }

    fn read(&self, name: &str) -> Result<Option<Stored>, PoolError> {
        Ok(self.seen.borrow().get(name).cloned())
    }

    fn read_at(&self, name: &str, start: u64, bytes: &mut [u8]) -> Result<(), PoolError> {
        let (seen, start) = (self.seen.borrow(), start as usize);
        let part = seen.get(name).and_then(|file| file.bytes.get(start..start + bytes.len()));
        let short = || PoolError::Disk { file: name.into(), what: "read", why: "too short".into() };
        bytes.copy_from_slice(part.ok_or_else(short)?);
        Ok(())
    }

    fn write(&mut self, name: &str, bytes: &[u8]) -> Result<(), PoolError> {
        self.change()?;
        self.seen.borrow_mut().entry(name.into()).or_default().bytes = bytes.into();
        Ok(())
    }

    fn write_at(&mut self, name: &str, start: u64, bytes: &[u8]) -> Result<(), PoolError> {
        self.change()?;
        let (mut seen, start) = (self.seen.borrow_mut(), start as usize);
        let file = &mut seen.entry(name.into()).or_default().bytes;
        file.resize(file.len().max(start + bytes.len()), 0);
        file[start..start + bytes.len()].copy_from_slice(bytes);
        Ok(())
    }

    fn sync(&mut self, name: &str) -> Result<(), PoolError> {
        self.change()?;
        let file = self.seen.borrow().get(name).cloned().unwrap_or_default();
        self.synced.borrow_mut().insert(name.into(), file.clone());
        if let Some(durable) = self.durable.borrow_mut().get_mut(name) {
            *durable = file;
        }
        Ok(())
    }

    fn rename(&mut self, from: &str, to: &str) -> Result<(), PoolError> {
        self.change()?;
        for files in [&self.seen, &self.synced] {
            let file = files.borrow_mut().remove(from).unwrap_or_default();
            files.borrow_mut().insert(to.into(), file);
        }
        Ok(())
    }

    fn remove(&mut self, name: &str) -> Result<(), PoolError> {
        self.change()?;
        self.seen.borrow_mut().remove(name);
        self.synced.borrow_mut().remove(name);
        Ok(())
    }

    fn sync_names(&mut self) -> Result<(), PoolError> {
        self.change()?;
        let synced = self.synced.borrow();
        let hollow = |file: &Stored| Stored { number: file.number, bytes: vec![] };
        let left = |(name, file): (&String, &Stored)| (name.clone(), synced.get(name).cloned().unwrap_or(hollow(file)));
        *self.durable.borrow_mut() = self.seen.borrow().iter().map(left).collect();
        Ok(())
    }
}

pub fn key() -> StoreKey {
    StoreKey::take(&mut [7; 32]).unwrap()
}

pub fn owner() -> Owner {
    Owner { me: 1, parties: 3, pins: [5; 32], terms: "rss, trunc=exact".into() }
}
