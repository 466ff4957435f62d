//! What a pool does with files.

use crate::error::PoolError;

/// The files of one folder, by name. What was written is on the disk once it was synced: a file by [`Disk::sync`], its
/// name by [`Disk::sync_names`].
pub trait Disk {
    /// Returns a number of the folder, which a copy of it does not have.
    ///
    /// # Errors
    /// [`PoolError::Disk`].
    fn number(&self) -> Result<u64, PoolError>;

    /// Returns the names of all files.
    ///
    /// # Errors
    /// [`PoolError::Disk`].
    fn names(&self) -> Result<Vec<String>, PoolError>;

    /// Returns the bytes of a whole file; `None` if there is none.
    ///
    /// # Errors
    /// [`PoolError::Disk`].
    fn read(&self, name: &str) -> Result<Option<Vec<u8>>, PoolError>;

    /// Fills `bytes` from a place of a file on.
    ///
    /// # Errors
    /// [`PoolError::Disk`], also if the file is too short.
    fn read_at(&self, name: &str, start: u64, bytes: &mut [u8]) -> Result<(), PoolError>;

    /// Writes a whole file, which may exist.
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

    /// Gives a file another name; a file that has that name is replaced.
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
    fn number(&self) -> Result<u64, PoolError> {
        (**self).number()
    }

    fn names(&self) -> Result<Vec<String>, PoolError> {
        (**self).names()
    }

    fn read(&self, name: &str) -> Result<Option<Vec<u8>>, PoolError> {
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

/// Replaces a file: after a crash at any time, it has the bytes from before or these.
///
/// # Errors
/// [`PoolError::Disk`]; then it has the bytes from before or these.
pub(crate) fn replace(disk: &mut impl Disk, name: &str, bytes: &[u8]) -> Result<(), PoolError> {
    let new = format!("{name}.new");
    disk.write(&new, bytes)?;
    disk.sync(&new)?;
    disk.rename(&new, name)?;
    disk.sync_names()
}
