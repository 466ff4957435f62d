//! The files of a pool in a folder of the file system.

use std::cell::Cell;
use std::fs::{self, DirBuilder, File, OpenOptions, TryLockError};
use std::io::{self, Read, Write};
use std::os::unix::fs::{DirBuilderExt, FileExt, MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::thread::sleep;
use std::time::{Duration, Instant, UNIX_EPOCH};

use crate::disk::{Disk, Stored};
use crate::error::PoolError;

const LOCK: &str = "lock";
const FOLDER_MODE: u32 = 0o700;
const FILE_MODE: u32 = 0o600;
const OTHERS: u32 = 0o077;

/// How long another process may have the lock that only looks whether the folder is in use.
const LOCK_PATIENCE: Duration = Duration::from_millis(300);
/// How long the clock of a file system may stand still.
const CLOCK_PATIENCE: Duration = Duration::from_secs(4);
const PAUSE: Duration = Duration::from_millis(2);

/// A folder that this process has locked, as long as this exists.
///
/// The number of a file is made from its inode and the time of its birth. Restoring a file does not set them: a copy
/// has an inode or a birth of its own, and a file that is overwritten keeps both, with a text that states others.
/// Inodes are used again, and clocks stand still for some milliseconds, so a file gets another birth than the one
/// before it.
#[derive(Debug)]
pub struct Folder {
    path: PathBuf,
    _lock: File,
    /// The birth of the file that was made or read last.
    birth: Cell<Duration>,
    /// Files that have lost their names, and are emptied once the disk has this.
    replaced: Vec<File>,
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
        let start = Instant::now();
        loop {
            match lock.try_lock() {
                Ok(()) => break,
                Err(TryLockError::WouldBlock) if start.elapsed() < LOCK_PATIENCE => sleep(PAUSE),
                Err(TryLockError::WouldBlock) => return Err(PoolError::InUse { folder: name }),
                Err(TryLockError::Error(error)) => return Err(failed("locked")(error)),
            }
        }
        Ok(Folder { path: path.into(), _lock: lock, birth: Cell::default(), replaced: vec![] })
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

fn number_of(inode: u64, birth: Duration) -> u64 {
    let mut hasher = blake3::Hasher::new_derive_key("quorate/pool/file number");
    hasher.update(&inode.to_le_bytes()).update(&birth.as_nanos().to_le_bytes());
    let mut number = [0; 8];
    hasher.finalize_xof().fill(&mut number);
    u64::from_le_bytes(number)
}

/// Returns the inode and the birth of a file in a folder.
fn origin(folder: &Path, name: &str, file: &File) -> Result<(u64, Duration), PoolError> {
    let stated = file.metadata().map_err(|error| failed(&folder.join(name), "read", &error))?;
    let birth = stated.created().ok().and_then(|time| time.duration_since(UNIX_EPOCH).ok());
    let no_births = || PoolError::NoBirths { folder: folder.display().to_string() };
    Ok((stated.ino(), birth.filter(|birth| !birth.is_zero()).ok_or_else(no_births)?))
}

/// Returns the names of the files in a folder, which need not be locked.
pub(crate) fn names(folder: &Path) -> Result<Vec<String>, PoolError> {
    let listed = fs::read_dir(folder).and_then(|entries| {
        entries.map(|entry| Ok(entry?.file_name().to_string_lossy().into_owned())).collect::<io::Result<_>>()
    });
    listed.map_err(|error| failed(folder, "listed", &error))
}

/// Returns a file in a folder, which need not be locked, and its birth; `None` if there is no such file.
pub(crate) fn read(folder: &Path, name: &str) -> Result<Option<(Stored, Duration)>, PoolError> {
    let path = folder.join(name);
    let mut file = match File::open(&path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        opened => opened.map_err(|error| failed(&path, "read", &error))?,
    };
    let (inode, birth) = origin(folder, name, &file)?;
    let mut bytes = vec![];
    file.read_to_end(&mut bytes).map_err(|error| failed(&path, "read", &error))?;
    Ok(Some((Stored { number: number_of(inode, birth), bytes }, birth)))
}

impl Disk for Folder {
    fn create(&mut self, name: &str) -> Result<u64, PoolError> {
        let (path, start) = (self.path.join(name), Instant::now());
        loop {
            self.remove(name)?; // what a crash has left may be a file of a backup
            let made = OpenOptions::new().create_new(true).write(true).mode(FILE_MODE).open(&path);
            let (inode, birth) = origin(&self.path, name, &made.map_err(|error| failed(&path, "written", &error))?)?;
            if birth != self.birth.get() {
                self.birth.set(birth);
                return Ok(number_of(inode, birth));
            }
            if start.elapsed() > CLOCK_PATIENCE {
                return Err(PoolError::NoBirths { folder: self.path.display().to_string() });
            }
            sleep(PAUSE);
        }
    }

    fn names(&self) -> Result<Vec<String>, PoolError> {
        names(&self.path)
    }

    fn read(&self, name: &str) -> Result<Option<Stored>, PoolError> {
        let Some((stored, birth)) = read(&self.path, name)? else { return Ok(None) };
        self.birth.set(self.birth.get().max(birth));
        Ok(Some(stored))
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
        let path = self.path.join(to);
        let before = match OpenOptions::new().write(true).open(&path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => None,
            opened => Some(opened.map_err(|error| failed(&path, "replaced", &error))?),
        };
        self.on(to, "replaced", fs::rename(self.path.join(from), path))?;
        self.replaced.extend(before);
        Ok(())
    }

    fn remove(&mut self, name: &str) -> Result<(), PoolError> {
        match fs::remove_file(self.path.join(name)) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
            done => self.on(name, "removed", done),
        }
    }

    fn sync_names(&mut self) -> Result<(), PoolError> {
        let synced = File::open(&self.path).and_then(|folder| folder.sync_all());
        synced.map_err(|error| failed(&self.path, "synced", &error))?;
        // Only now: before, a crash could bring the name of a replaced file back.
        let emptied = self.replaced.drain(..).try_for_each(|file| file.set_len(0).and_then(|()| file.sync_all()));
        emptied.map_err(|error| failed(&self.path, "emptied of what was replaced", &error))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The file system of /proc has no births.
    #[test]
    #[cfg(target_os = "linux")]
    fn a_file_system_without_births_is_refused() {
        let refused = read(Path::new("/proc/self"), "status").err();
        assert_eq!(refused, Some(PoolError::NoBirths { folder: "/proc/self".into() }));
    }
}
