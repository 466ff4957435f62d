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
