//! The files of a pool in a folder of the file system.

use std::fs::{self, DirBuilder, File, OpenOptions, TryLockError};
use std::io::{self, Write};
use std::os::unix::fs::{DirBuilderExt, FileExt, MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::time::UNIX_EPOCH;

use crate::disk::Disk;
use crate::error::PoolError;

const LOCK: &str = "lock";
const FOLDER_MODE: u32 = 0o700;
const FILE_MODE: u32 = 0o600;
const OTHERS: u32 = 0o077;

/// A folder that this process has locked, as long as this exists.
#[derive(Debug)]
pub struct Folder {
    path: PathBuf,
    lock: File,
}

impl Folder {
    /// Locks a folder; one that does not exist is made.
    ///
    /// # Errors
    /// [`PoolError::InUse`], [`PoolError::Open`], [`PoolError::Disk`].
    pub fn lock(path: &Path) -> Result<Folder, PoolError> {
        let name = path.display().to_string();
        let failed = |what| move |error: io::Error| failed(path, what, &error);
        DirBuilder::new().mode(FOLDER_MODE).recursive(true).create(path).map_err(failed("made"))?;
        if fs::metadata(path).map_err(failed("read"))?.mode() & OTHERS != 0 {
            return Err(PoolError::Open { folder: name });
        }
        let file = path.join(LOCK);
        let opened = OpenOptions::new().create(true).truncate(false).write(true).mode(FILE_MODE).open(&file);
        let lock = opened.map_err(failed("locked"))?;
        match lock.try_lock() {
            Ok(()) => Ok(Folder { path: path.into(), lock }),
            Err(TryLockError::WouldBlock) => Err(PoolError::InUse { folder: name }),
            Err(TryLockError::Error(error)) => Err(failed("locked")(error)),
        }
    }

    fn opened(&self, name: &str, what: &'static str) -> Result<File, PoolError> {
        let path = self.path.join(name);
        let options = OpenOptions::new().create(true).truncate(false).write(true).mode(FILE_MODE).open(&path);
        options.map_err(|error| failed(&path, what, &error))
    }

    fn on(&self, name: &str, what: &'static str, result: io::Result<()>) -> Result<(), PoolError> {
        result.map_err(|error| failed(&self.path.join(name), what, &error))
    }
}

fn failed(path: &Path, what: &'static str, error: &io::Error) -> PoolError {
    PoolError::Disk { file: path.display().to_string(), what, why: error.to_string() }
}

/// Returns the names of the files in a folder, which need not be locked.
pub(crate) fn names(folder: &Path) -> Result<Vec<String>, PoolError> {
    let listed = fs::read_dir(folder).and_then(|entries| {
        entries.map(|entry| Ok(entry?.file_name().to_string_lossy().into_owned())).collect::<io::Result<_>>()
    });
    listed.map_err(|error| failed(folder, "listed", &error))
}

/// Returns the bytes of a file in a folder, which need not be locked; `None` if there is no such file.
pub(crate) fn read(folder: &Path, name: &str) -> Result<Option<Vec<u8>>, PoolError> {
    let path = folder.join(name);
    match fs::read(&path) {
        Ok(bytes) => Ok(Some(bytes)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(failed(&path, "read", &error)),
    }
}

impl Disk for Folder {
    /// Returns a number from the lock's inode and, where the file system has it, the time at which it was made.
    fn number(&self) -> Result<u64, PoolError> {
        let lock = self.lock.metadata().map_err(|error| failed(&self.path, "read", &error))?;
        let made = lock.created().ok().and_then(|time| time.duration_since(UNIX_EPOCH).ok()).unwrap_or_default();
        let mut hasher = blake3::Hasher::new_derive_key("quorate/pool/folder");
        hasher.update(&lock.ino().to_le_bytes()).update(&made.as_nanos().to_le_bytes());
        let mut number = [0; 8];
        hasher.finalize_xof().fill(&mut number);
        Ok(u64::from_le_bytes(number))
    }

    fn names(&self) -> Result<Vec<String>, PoolError> {
        names(&self.path)
    }

    fn read(&self, name: &str) -> Result<Option<Vec<u8>>, PoolError> {
        read(&self.path, name)
    }

    fn read_at(&self, name: &str, start: u64, bytes: &mut [u8]) -> Result<(), PoolError> {
        let read = File::open(self.path.join(name)).and_then(|file| file.read_exact_at(bytes, start));
        self.on(name, "read", read)
    }

    fn write(&mut self, name: &str, bytes: &[u8]) -> Result<(), PoolError> {
        let mut file = self.opened(name, "written")?;
        self.on(name, "written", file.set_len(0).and_then(|()| file.write_all(bytes)))
    }

    fn write_at(&mut self, name: &str, start: u64, bytes: &[u8]) -> Result<(), PoolError> {
        let file = self.opened(name, "written")?;
        self.on(name, "written", file.write_all_at(bytes, start))
    }

    fn sync(&mut self, name: &str) -> Result<(), PoolError> {
        let file = self.opened(name, "synced")?;
        self.on(name, "synced", file.sync_all())
    }

    fn rename(&mut self, from: &str, to: &str) -> Result<(), PoolError> {
        self.on(to, "replaced", fs::rename(self.path.join(from), self.path.join(to)))
    }

    fn remove(&mut self, name: &str) -> Result<(), PoolError> {
        match fs::remove_file(self.path.join(name)) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
            done => self.on(name, "removed", done),
        }
    }

    fn sync_names(&mut self) -> Result<(), PoolError> {
        let synced = File::open(&self.path).and_then(|folder| folder.sync_all());
        synced.map_err(|error| failed(&self.path, "synced", &error))
    }
}
