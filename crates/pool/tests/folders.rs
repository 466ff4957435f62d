//! Pools in folders of the file system.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;
use std::sync::atomic::{AtomicUsize, Ordering};

use quorate_pool::{Batch, Contents, Disk, Folder, LotId, Pool, PoolError};
use zeroize::Zeroizing;

use crate::disks::{key, owner};

const LOT: LotId = LotId([0xa1; 32]);

/// A folder that is removed with this.
struct Place(PathBuf);

impl Place {
    fn new() -> Place {
        static COUNT: AtomicUsize = AtomicUsize::new(0);
        let number = COUNT.fetch_add(1, Ordering::Relaxed);
        let path = std::env::temp_dir().join(format!("quorate-pools-{}-{number}", std::process::id()));
        fs::create_dir(&path).unwrap();
        Place(path)
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

#[test]
fn a_pool_in_a_folder_comes_back_and_its_files_are_for_its_owner_alone() {
    let place = Place::new();
    let path = place.0.join("deep").join("pool");
    let mut pool = Pool::create(Folder::lock(&path).unwrap(), key(), owner(), [9; 32], vec![4]).unwrap();
    pool.begin(LOT, Contents::from([("triple".into(), 2)]), 5).unwrap();
    let bundles = [b"first", b"secon"].map(|bytes| Zeroizing::new(bytes.to_vec()));
    pool.append(LOT, Batch { id: [1; 32], origin: [2; 32] }, bundles.into()).unwrap();
    pool.count(LOT).unwrap();
    drop(pool);
    let mut pool = Pool::open(Folder::lock(&path).unwrap(), key(), &owner()).unwrap().unwrap();
    pool.reserve(LOT, 2).unwrap();
    assert_eq!(pool.take(LOT, 0).unwrap().bytes.as_slice(), b"first");
    assert_eq!(pool.take(LOT, 1).unwrap().bytes.as_slice(), b"secon");
    let mut files: Vec<String> = Vec::new();
    for file in fs::read_dir(&path).unwrap().map(Result::unwrap) {
        assert_eq!(file.metadata().unwrap().permissions().mode() & 0o777, 0o600, "{file:?}");
        files.push(file.file_name().into_string().unwrap());
    }
    files.sort();
    let of_lot = "a1".repeat(32);
    assert_eq!(files, [format!("{of_lot}.blocks"), format!("{of_lot}.ledger"), "lock".into(), "pool".into()]);
    drop(pool);
    drop(Pool::open(Folder::lock(&path).unwrap(), key(), &owner()).unwrap());
    assert!(!path.join(format!("{of_lot}.blocks")).exists(), "blocks of which nothing is left are removed");
}

#[test]
fn a_folder_is_open_once_and_closed_to_others() {
    let place = Place::new();
    let path = place.0.join("pool");
    let first = Folder::lock(&path).unwrap();
    assert!(matches!(Folder::lock(&path), Err(PoolError::InUse { folder }) if folder == path.display().to_string()));
    drop(first);
    drop(Folder::lock(&path).unwrap());
    fs::set_permissions(&path, fs::Permissions::from_mode(0o750)).unwrap();
    assert!(Folder::lock(&path).err().unwrap().to_string().contains("chmod 700"));
    fs::set_permissions(&path, fs::Permissions::from_mode(0o700)).unwrap();
    assert!(Pool::open(Folder::lock(&path).unwrap(), key(), &owner()).unwrap().is_none());
}

#[test]
fn a_copy_of_a_folder_is_refused_and_a_renamed_folder_is_not() {
    let place = Place::new();
    let [path, copy, renamed] = ["pool", "copy", "renamed"].map(|name| place.0.join(name));
    drop(Pool::create(Folder::lock(&path).unwrap(), key(), owner(), [9; 32], vec![]).unwrap());
    drop(Folder::lock(&copy).unwrap());
    fs::copy(path.join("pool"), copy.join("pool")).unwrap();
    let refused = Pool::open(Folder::lock(&copy).unwrap(), key(), &owner()).err();
    assert_eq!(refused, Some(PoolError::Moved));
    fs::rename(&path, &renamed).unwrap();
    assert!(Pool::open(Folder::lock(&renamed).unwrap(), key(), &owner()).unwrap().is_some());
    fs::remove_dir_all(&renamed).unwrap();
    drop(Folder::lock(&renamed).unwrap());
    fs::copy(copy.join("pool"), renamed.join("pool")).unwrap();
    let refused = Pool::open(Folder::lock(&renamed).unwrap(), key(), &owner()).err();
    assert_eq!(refused, Some(PoolError::Moved), "a backup, put back at the same place");
}

/// The ways in which files of a backup come back into the folder of a pool.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Back {
    /// `cp`: the bytes go into the files that are there.
    InPlace,
    /// `rsync`: a new file replaces the one that is there.
    Renamed,
    /// `tar`: the file that is there is removed first.
    Anew,
    /// Hard links, made when the pool was as old.
    Linked,
}

/// A bundle is used, and the files from before come back: a pool in which anything has changed since is refused.
#[test]
fn earlier_files_that_are_put_back_into_the_folder_are_refused() {
    for back in [Back::InPlace, Back::Renamed, Back::Anew, Back::Linked] {
        for part in ["", "pool", ".ledger", ".blocks"] {
            let place = Place::new();
            let (path, backup) = (place.0.join("pool"), place.0.join("backup"));
            let disk = Folder::lock(&path).unwrap();
            let mut pool = Pool::create_with_secrets(disk, key(), owner(), ([9; 32], vec![]), b"keys").unwrap();
            pool.begin(LOT, Contents::new(), 5).unwrap();
            let bundles = vec![Zeroizing::new(b"first".to_vec()), Zeroizing::new(b"secon".to_vec())];
            pool.append(LOT, Batch { id: [1; 32], origin: [2; 32] }, bundles).unwrap();
            pool.count(LOT).unwrap();
            pool.leave().unwrap();
            fs::create_dir(&backup).unwrap();
            let names: Vec<_> = fs::read_dir(&path).unwrap().map(|file| file.unwrap().file_name()).collect();
            for name in &names {
                let (from, to) = (path.join(name), backup.join(name));
                match back {
                    Back::Linked => fs::hard_link(from, to).unwrap(),
                    _ => assert!(fs::copy(from, to).is_ok()),
                }
            }
            pool.enter().unwrap();
            pool.reserve(LOT, 1).unwrap();
            assert_eq!(pool.take(LOT, 0).unwrap().bytes.as_slice(), b"first");
            pool.leave().unwrap();
            drop(pool);
            let put_back = names.iter().filter(|name| name.to_str().unwrap().ends_with(part));
            for (from, to) in put_back.map(|name| (backup.join(name), path.join(name))) {
                match back {
                    Back::InPlace => assert!(fs::copy(from, to).is_ok()),
                    Back::Renamed => {
                        fs::copy(from, path.join("temporary")).unwrap();
                        fs::rename(path.join("temporary"), to).unwrap();
                    }
                    Back::Anew => {
                        fs::remove_file(&to).unwrap();
                        fs::copy(from, to).unwrap();
                    }
                    Back::Linked => {
                        fs::remove_file(&to).unwrap();
                        fs::hard_link(from, to).unwrap();
                    }
                }
            }
            let opened = Pool::open(Folder::lock(&path).unwrap(), key(), &owner());
            match (part, back, opened) {
                (".blocks", _, Ok(Some(pool))) => assert_eq!(pool.lots()[&LOT].left(), 1, "{back:?}"),
                (_, Back::Linked, Err(PoolError::Altered { .. })) | (_, _, Err(PoolError::Moved)) => {}
                (.., opened) => panic!("{back:?} {part}: {:?}", opened.err()),
            }
        }
    }
}

/// Changes that follow each other faster than the clock of the file system ticks: inodes are used again, births not.
#[test]
fn files_of_one_name_have_numbers_of_their_own() {
    let place = Place::new();
    let path = place.0.join("pool");
    let mut numbers = std::collections::BTreeSet::new();
    for _ in 0..4 {
        let mut folder = Folder::lock(&path).unwrap();
        assert!(folder.read("file").unwrap().is_none_or(|file| numbers.contains(&file.number)));
        for _ in 0..20 {
            let number = folder.create("file.new").unwrap();
            folder.rename("file.new", "file").unwrap();
            folder.sync_names().unwrap();
            assert_eq!(folder.read("file").unwrap().unwrap().number, number);
            assert!(numbers.insert(number), "two files have one number");
        }
    }
}

/// What a crash left under the name of a new file is not written into: it may be a hard link, or a file of a backup.
#[test]
fn a_new_file_is_new() {
    let place = Place::new();
    let path = place.0.join("pool");
    let mut folder = Folder::lock(&path).unwrap();
    let number = folder.create("file.new").unwrap();
    folder.write("file.new", b"old").unwrap();
    fs::hard_link(path.join("file.new"), place.0.join("kept")).unwrap();
    assert_ne!(folder.create("file.new").unwrap(), number);
    folder.write("file.new", b"new").unwrap();
    assert_eq!(fs::read(place.0.join("kept")).unwrap(), b"old");
}

/// A process that only looks whether a pool is in use has the lock for a moment.
#[test]
fn a_lock_that_is_soon_free_is_waited_for() {
    let place = Place::new();
    let path = place.0.join("pool");
    drop(Folder::lock(&path).unwrap());
    let looking = fs::File::open(path.join("lock")).unwrap();
    looking.lock_shared().unwrap();
    let thread = std::thread::spawn(move || {
        std::thread::sleep(std::time::Duration::from_millis(30));
        drop(looking);
    });
    drop(Folder::lock(&path).unwrap());
    thread.join().unwrap();
}

#[test]
fn errors_name_the_file_and_the_reason() {
    let place = Place::new();
    let place = place.0.join("pool");
    let mut folder = Folder::lock(&place).unwrap();
    folder.write("short", b"123").unwrap();
    let error = folder.read_at("short", 1, &mut [0; 9]).unwrap_err().to_string();
    assert!(error.contains("short cannot be read"), "{error}");
    fs::create_dir(place.join("taken")).unwrap();
    let error = folder.write("taken", b"").unwrap_err().to_string();
    assert!(error.contains("taken cannot be written: Is a directory"), "{error}");
    folder.remove("never was").unwrap();
}

/// A script that is started twice does not take the first one for a process that was killed.
#[test]
fn a_second_process_leaves_a_pool_in_use_as_it_is() {
    let place = Place::new();
    let path = place.0.join("pool");
    let disk = Folder::lock(&path).unwrap();
    let mut pool = Pool::create_with_secrets(disk, key(), owner(), ([9; 32], vec![]), b"keys").unwrap();
    assert!(matches!(Folder::lock(&path), Err(PoolError::InUse { .. })));
    pool.begin(LOT, Contents::new(), 5).unwrap();
    pool.leave().unwrap();
    drop(pool);
    let pool = Pool::open(Folder::lock(&path).unwrap(), key(), &owner()).unwrap().unwrap();
    assert_eq!(pool.secrets(), Some(&b"keys"[..]));
}
