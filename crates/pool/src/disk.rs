//! What a pool does with files.

use crate::error::PoolError;

/// A whole file.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Stored {
    /// The number of the file that has these bytes now, as [`Disk::create`] returned it.
    pub number: u64,
    /// Its bytes.
    pub bytes: Vec<u8>,
}

/// The files of one folder, by name. What was written is on the disk once it was synced: a file by [`Disk::sync`], its
/// name by [`Disk::sync_names`].
pub trait Disk {
    /// Makes a new, empty file, in place of one with this name, and returns its number. The number stays when the file
    /// is renamed. No other file of this disk has had it or will have it, whatever its name; nor has a copy.
    ///
    /// # Errors
    /// [`PoolError::NoBirths`] if the disk has no such numbers; [`PoolError::Disk`].
    fn create(&mut self, name: &str) -> Result<u64, PoolError>;

    /// Returns the names of all files.
    ///
    /// # Errors
    /// [`PoolError::Disk`].
    fn names(&self) -> Result<Vec<String>, PoolError>;

    /// Returns a whole file; `None` if there is none.
    ///
    /// # Errors
    /// Those of [`Disk::create`].
    fn read(&self, name: &str) -> Result<Option<Stored>, PoolError>;

    /// Fills `bytes` from a place of a file on.
    ///
    /// # Errors
    /// [`PoolError::Disk`], also if the file is too short.
    fn read_at(&self, name: &str, start: u64, bytes: &mut [u8]) -> Result<(), PoolError>;

    /// Writes a whole file, which may exist, and keeps its number then.
    ///
    /// # Errors
    /// [`PoolError::Disk`].
    fn write(&mut self, name: &str, bytes: &[u8]) -> Result<(), PoolError>;

    /// Writes from a place of a file on, which may exist.
    ///
    /// # Errors
    /// [`PoolError::Disk`].
    fn write_at(&mut self, name: &str, start: u64, bytes: &[u8]) -> Result<(), PoolError>;

    /// Waits until the bytes of a file are on the disk.
    ///
    /// # Errors
    /// [`PoolError::Disk`].
    fn sync(&mut self, name: &str) -> Result<(), PoolError>;

    /// Gives a file another name; a file that has that name is replaced. Once the names are synced, the bytes of the
    /// replaced file are gone under any further name that it has.
    ///
    /// # Errors
    /// [`PoolError::Disk`].
    fn rename(&mut self, from: &str, to: &str) -> Result<(), PoolError>;

    /// Removes a file, if there is one.
    ///
    /// # Errors
    /// [`PoolError::Disk`].
    fn remove(&mut self, name: &str) -> Result<(), PoolError>;

    /// Waits until the names of all files are on the disk.
    ///
    /// # Errors
    /// [`PoolError::Disk`].
    fn sync_names(&mut self) -> Result<(), PoolError>;
}

impl<D: Disk + ?Sized> Disk for Box<D> {
    fn create(&mut self, name: &str) -> Result<u64, PoolError> {
        (**self).create(name)
    }

    fn names(&self) -> Result<Vec<String>, PoolError> {
        (**self).names()
    }

    fn read(&self, name: &str) -> Result<Option<Stored>, PoolError> {
        (**self).read(name)
    }

    fn read_at(&self, name: &str, start: u64, bytes: &mut [u8]) -> Result<(), PoolError> {
        (**self).read_at(name, start, bytes)
    }

    fn write(&mut self, name: &str, bytes: &[u8]) -> Result<(), PoolError> {
        (**self).write(name, bytes)
    }

    fn write_at(&mut self, name: &str, start: u64, bytes: &[u8]) -> Result<(), PoolError> {
        (**self).write_at(name, start, bytes)
    }

    fn sync(&mut self, name: &str) -> Result<(), PoolError> {
        (**self).sync(name)
    }

    fn rename(&mut self, from: &str, to: &str) -> Result<(), PoolError> {
        (**self).rename(from, to)
    }

    fn remove(&mut self, name: &str) -> Result<(), PoolError> {
        (**self).remove(name)
    }

    fn sync_names(&mut self) -> Result<(), PoolError> {
        (**self).sync_names()
    }
}

/// Replaces a file by a new one, whose text is made for its number: after a crash at any time, the name has the file
/// from before or the new one.
///
/// # Errors
/// [`PoolError`]; then it has the file from before or the new one.
pub(crate) fn replace(
    disk: &mut impl Disk,
    name: &str,
    text: impl FnOnce(u64) -> Result<Vec<u8>, PoolError>,
) -> Result<(), PoolError> {
    let new = format!("{name}.new");
    let number = disk.create(&new)?;
    disk.write(&new, &text(number)?)?;
    disk.sync(&new)?;
    disk.rename(&new, name)?;
    disk.sync_names()
}
