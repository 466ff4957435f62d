//! Tests of `folder`: locks of files, as the system and other threads see them.

use std::fs::{create_dir_all, read_to_string, remove_dir_all, rename, write};

use super::*;

/// Returns a folder for one test.
fn scratch(name: &str) -> Folder {
    let path = env::temp_dir().join(format!("quorate-folder-{name}-{}", std::process::id()));
    let _ = remove_dir_all(&path);
    create_dir_all(&path).unwrap();
    Folder(path)
}

/// Returns whether the system has a lock of this process on a file.
fn is_locked(path: &Path) -> bool {
    let file = path.metadata().unwrap().ino().to_string();
    let locks = read_to_string("/proc/locks").unwrap();
    let mine = |line: &&str| line.contains("POSIX") && line.contains(&format!(" {} ", std::process::id()));
    locks.lines().filter(mine).any(|line| line.split([':', ' ']).any(|word| word == file))
}

#[test]
fn a_file_is_locked_once_and_the_next_one_reads_who_has_it() {
    let folder = scratch("once");
    let path = folder.file("a.name");
    write(&path, b"of a process that was killed").unwrap();
    let held = LockFile::take(&path).unwrap().unwrap();
    assert!(is_locked(&path) && held.is_at(&path) && !held.is_at(&folder.file("b.name")) && held.is_held_here());
    let process = std::process::id();
    for leaving in [false, true] {
        if leaving {
            held.note_leaving();
        }
        assert_eq!(LockFile::take(&path).unwrap().err(), Some(Note { process, leaving }));
        assert_eq!(Note::decode(&read(&path).unwrap()[..NOTE_BYTES]), Note { process, leaving });
        // `read` has closed a handle of the file, and the lock is gone: `take` must not do that.
        fcntl_lock(&lock(HELD.here())[&path].file, FlockOperation::NonBlockingLockExclusive).unwrap();
        assert!(LockFile::take(&path).unwrap().is_err() && is_locked(&path));
    }
    drop(held);
    assert!(!path.exists());
    drop(LockFile::take(&path).unwrap().unwrap());
    remove_dir_all(folder.0).unwrap();
}

/// That another process holds a file is tested with processes.
#[test]
fn to_ask_who_holds_a_file_neither_makes_nor_frees_it() {
    let folder = scratch("asked");
    let path = folder.file("a.name");
    let taken = || LockFile::is_taken(&path).unwrap();
    assert!(!taken() && !path.exists());
    write(&path, b"of a process that was killed").unwrap();
    assert!(!taken() && path.exists());
    let held = LockFile::take(&path).unwrap().unwrap();
    assert!(taken() && is_locked(&path), "by this process");
    drop(held);
    assert!(!taken());
    std::os::unix::fs::symlink("a.name", &path).unwrap();
    assert!(LockFile::is_taken(&path).is_err(), "not known");
    remove_dir_all(folder.0).unwrap();
}

#[test]
fn a_file_that_was_replaced_is_no_longer_held() {
    let folder = scratch("replaced");
    let path = folder.file("a.name");
    let held = LockFile::take(&path).unwrap().unwrap();
    rename(&path, folder.file("old")).unwrap();
    assert!(!held.is_at(&path));
    write(&path, b"of another process").unwrap();
    assert!(!held.is_at(&path));
    drop(held);
    assert!(path.exists() && folder.file("old").exists());
    remove_dir_all(folder.0).unwrap();
}

#[test]
fn files_of_killed_processes_are_removed() {
    let folder = scratch("sweep");
    let names = ["one.a.name", "one.b.name", "one.lock", "two.a.name"];
    names.iter().for_each(|name| write(folder.file(name), b"").unwrap());
    let held = LockFile::take(&folder.file("one.b.name")).unwrap().unwrap();
    folder.sweep("one", ".name");
    assert_eq!(names.map(|name| folder.file(name).exists()), [false, true, true, true]);
    assert!(is_locked(&folder.file("one.b.name")));
    drop(held);
    remove_dir_all(folder.0).unwrap();
}

#[test]
fn a_file_that_cannot_be_made_is_a_fault_of_the_folder() {
    let folder = scratch("faulty");
    let error = LockFile::take(&folder.file("no/a.name")).err().unwrap();
    let fault = FolderFault::NoFiles(ErrorKind::NotFound);
    assert_eq!(folder.fault(&error), InUse::NotShared { folder: folder.0.clone(), fault });
    remove_dir_all(folder.0).unwrap();
}
