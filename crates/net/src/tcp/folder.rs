//! The folder in which the processes of this user find each other, and locks of files in it. A lock belongs to a
//! process, not to its forks, and ends with it, however it ends.

use std::collections::BTreeMap;
use std::env;
use std::fs::{DirBuilder, File, OpenOptions, read, read_dir, remove_file, symlink_metadata};
use std::io::{self, ErrorKind};
use std::os::unix::fs::{DirBuilderExt, FileExt, MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use rustix::fs::{FlockOperation, OFlags, fcntl_lock};
use rustix::io::Errno;
use rustix::process::{Flock, FlockType, fcntl_getlk};

use super::per_process::{PerProcess, lock};
use crate::{FolderFault, InUse};

/// A folder that only this user can enter.
pub(crate) struct Folder(PathBuf);

impl Folder {
    /// Returns this user's folder, which is made if there is none.
    ///
    /// # Errors
    /// [`InUse::NotShared`].
    pub(crate) fn of_this_user() -> Result<Folder, InUse> {
        // The system removes the first of them when the user logs out.
        let runtime = env::var_os("XDG_RUNTIME_DIR").map(PathBuf::from);
        let folder = match runtime.filter(|path| path.is_absolute() && path.is_dir()) {
            Some(runtime) => runtime.join("quorate"),
            None => env::temp_dir().join(format!("quorate-{}", rustix::process::geteuid().as_raw())),
        };
        Folder::made(folder)
    }

    /// Returns the folder at this path, which is made if there is none.
    ///
    /// # Errors
    /// [`InUse::NotShared`].
    pub(crate) fn made(folder: PathBuf) -> Result<Folder, InUse> {
        let made = DirBuilder::new().mode(0o700).create(&folder);
        match check(&folder, made.map_err(|error| error.kind())) {
            Ok(()) => Ok(Folder(folder)),
            Err(fault) => Err(InUse::NotShared { folder, fault }),
        }
    }

    /// Returns the path of a file in it.
    pub(crate) fn file(&self, name: &str) -> PathBuf {
        self.0.join(name)
    }

    /// Returns the reason for which a file of it cannot be used.
    pub(crate) fn fault(&self, error: &io::Error) -> InUse {
        let fault = match error.kind() {
            ErrorKind::InvalidInput => FolderFault::LongPath, // that of a socket
            kind => FolderFault::NoFiles(kind),
        };
        InUse::NotShared { folder: self.0.clone(), fault }
    }

    /// Removes the files whose names begin and end so and which no process holds: those of processes that were killed.
    pub(crate) fn sweep(&self, begin: &str, end: &str) {
        for entry in read_dir(&self.0).into_iter().flatten().flatten() {
            if entry.file_name().to_str().is_some_and(|name| name.starts_with(begin) && name.ends_with(end)) {
                drop(LockFile::take(&entry.path()));
            }
        }
    }
}

/// Checks that only this user can enter a folder, and only this user or the system can replace it.
fn check(folder: &Path, made: Result<(), ErrorKind>) -> Result<(), FolderFault> {
    let me = rustix::process::geteuid().as_raw();
    let unmade = |error: io::Error| FolderFault::NotMade(made.err().unwrap_or(error.kind()));
    let it = symlink_metadata(folder).map_err(unmade)?;
    let above = folder.parent().ok_or(FolderFault::Exposed)?.metadata().map_err(unmade)?;
    // In a folder that all may write to (sticky), only the owner of an entry can replace it.
    let above_is_safe = [0, me].contains(&above.uid()) && (above.mode() & 0o022 == 0 || above.mode() & 0o1000 != 0);
    if it.uid() != me {
        return Err(FolderFault::Foreign);
    }
    if !it.is_dir() {
        return Err(FolderFault::NoFolder);
    }
    if it.mode() & 0o077 != 0 {
        return Err(FolderFault::Open);
    }
    if !above_is_safe {
        return Err(FolderFault::Exposed);
    }
    Ok(())
}

/// A file's device and inode, which distinguish it from another file of the same name.
pub(crate) type Inode = (u64, u64);

pub(crate) fn inode(path: &Path) -> Option<Inode> {
    symlink_metadata(path).ok().map(|file| (file.dev(), file.ino()))
}

/// The locked files of this process. To close any handle of a file gives up all locks that the process has on it, so a
/// file that is held is not opened again.
static HELD: PerProcess<BTreeMap<PathBuf, Held>> = PerProcess::new(BTreeMap::new());

struct Held {
    file: File,
    note: Note,
}

/// What a process writes into a file that it has locked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Note {
    pub(crate) process: u32,
    pub(crate) leaving: bool,
}

const NOTE_BYTES: usize = 5;

impl Note {
    fn encode(self) -> [u8; NOTE_BYTES] {
        let [a, b, c, d] = self.process.to_le_bytes();
        [a, b, c, d, self.leaving.into()]
    }

    /// Decodes a note. Other bytes are those of a process that has not written its note yet.
    fn decode(bytes: &[u8]) -> Note {
        match *bytes {
            [a, b, c, d, leaving] => Note { process: u32::from_le_bytes([a, b, c, d]), leaving: leaving == 1 },
            _ => Note { process: 0, leaving: false },
        }
    }
}

/// A file that this process has locked. Dropping it removes the file and gives the lock up.
pub(crate) struct LockFile {
    path: PathBuf,
    file: Inode,
}

impl LockFile {
    /// Locks a file, which is made if there is none. Returns the holder's note if it is held.
    ///
    /// # Errors
    /// Those of the system.
    pub(crate) fn take(path: &Path) -> io::Result<Result<LockFile, Note>> {
        let mut held = lock(HELD.here());
        if let Some(Held { note, .. }) = held.get(path) {
            return Ok(Err(*note));
        }
        let file = OpenOptions::new().create(true).truncate(false).write(true).mode(0o600).open(path)?;
        match fcntl_lock(&file, FlockOperation::NonBlockingLockExclusive) {
            Err(Errno::AGAIN | Errno::ACCESS) => return Ok(Err(Note::decode(&read(path).unwrap_or_default()))),
            locked => locked?,
        }
        let ours = file.metadata()?;
        let ours = (ours.dev(), ours.ino());
        let note = Note { process: std::process::id(), leaving: false };
        // The holder before removes the file before it gives the lock up.
        if inode(path) != Some(ours) {
            return Ok(Err(Note::decode(&[])));
        }
        file.write_all_at(&note.encode(), 0)?;
        held.insert(path.to_owned(), Held { file, note });
        Ok(Ok(LockFile { path: path.to_owned(), file: ours }))
    }

    /// Returns whether some process holds the file at this path, this one included. It neither makes nor locks a file.
    ///
    /// # Errors
    /// Those of the system.
    pub(crate) fn is_taken(path: &Path) -> io::Result<bool> {
        let held = lock(HELD.here()); // the file must not be closed while this process has a lock on it
        if held.contains_key(path) {
            return Ok(true);
        }
        let flags = (OFlags::NOFOLLOW | OFlags::NONBLOCK).bits();
        let file = match OpenOptions::new().read(true).custom_flags(flags.cast_signed()).open(path) {
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(false),
            opened => opened?,
        };
        Ok(fcntl_getlk(&file, &Flock::from(FlockType::WriteLock))?.is_some())
    }

    /// Notes that what the file stands for is about to end.
    pub(crate) fn note_leaving(&self) {
        if let Some(held) = lock(HELD.here()).get_mut(&self.path) {
            held.note.leaving = true;
            let _ = held.file.write_all_at(&held.note.encode(), 0);
        }
    }

    /// Returns whether it is the file at this path: somebody may have removed it.
    pub(crate) fn is_at(&self, path: &Path) -> bool {
        self.path == path && inode(path) == Some(self.file)
    }

    /// Returns whether this process holds it, and not one that this one was forked from.
    pub(crate) fn is_held_here(&self) -> bool {
        lock(HELD.here()).contains_key(&self.path)
    }
}

impl Drop for LockFile {
    fn drop(&mut self) {
        let mut all = lock(HELD.here());
        let Some(held) = all.remove(&self.path) else { return };
        // If somebody emptied the folder, the file there may be that of another process.
        if inode(&self.path) == Some(self.file) {
            let _ = remove_file(&self.path);
        }
        drop(held); // before another thread may lock a file of this name
    }
}

#[cfg(test)]
mod tests;
