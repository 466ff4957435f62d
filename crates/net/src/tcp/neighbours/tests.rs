//! Tests of `neighbours`: folders, requests, and what else may arrive at the socket.

use std::fs::{Permissions, create_dir_all, remove_dir_all, set_permissions};
use std::os::unix::fs::{PermissionsExt, chown, symlink};
use std::sync::Arc;
use std::thread;
use std::time::Instant;

use proptest::prelude::*;
use rustls::pki_types::CertificateDer;

use super::super::knock::AnswerKeys;
use super::super::port::{Identity, Port};
use super::*;

/// A folder in a folder, for this user alone, which is removed at the end.
struct Scratch(PathBuf);

impl Scratch {
    fn new(name: &str) -> Scratch {
        let above = env::temp_dir().join(format!("quorate-neighbours-{name}-{}", std::process::id()));
        let _ = remove_dir_all(&above);
        let scratch = Scratch(above);
        create_dir_all(scratch.folder()).unwrap();
        scratch.set(0o755, 0o700);
        scratch
    }

    fn folder(&self) -> PathBuf {
        self.0.join("quorate")
    }

    fn set(&self, above: u32, folder: u32) {
        set_permissions(&self.0, Permissions::from_mode(above)).unwrap();
        set_permissions(self.folder(), Permissions::from_mode(folder)).unwrap();
    }

    fn spot(&self) -> Option<Spot> {
        Spot::within(&self.folder(), "127.0.0.1:9000")
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = remove_dir_all(&self.0);
    }
}

#[test]
fn only_a_folder_of_this_user_alone_is_used() {
    let scratch = Scratch::new("folders");
    assert!(scratch.spot().is_some());
    for open in [0o701, 0o710, 0o740, 0o755, 0o777] {
        scratch.set(0o755, open);
        assert!(scratch.spot().is_none(), "{open:o}");
    }
    scratch.set(0o777, 0o700);
    assert!(scratch.spot().is_none(), "others may put another folder there");
    scratch.set(0o1777, 0o700);
    assert!(scratch.spot().is_some(), "as in /tmp");
    let link = scratch.0.join("link");
    symlink(scratch.folder(), &link).unwrap();
    assert!(Spot::within(&link, "127.0.0.1:9000").is_none(), "a link to a folder");
    assert!(Spot::within(&scratch.0.join("nowhere"), "127.0.0.1:9000").is_none());
    // Only the system's administrator can give folders away.
    if chown(scratch.folder(), Some(4_294_000_000), None).is_ok() {
        assert!(scratch.spot().is_none(), "another user's folder");
    }
}

#[test]
fn each_address_has_a_place_of_its_own() {
    let scratch = Scratch::new("addresses");
    let of = |address| Spot::within(&scratch.folder(), address).unwrap();
    assert_eq!(of("a:1").socket, of("a:1").socket);
    assert_ne!(of("a:1").socket, of("a:2").socket);
    assert_ne!(of("a:1").lock, of("a:1").socket);
}

#[test]
fn an_owner_leaves_nothing_behind() {
    let scratch = Scratch::new("ends");
    let (lock, socket) = (scratch.spot().unwrap().lock, scratch.spot().unwrap().socket);
    std::fs::write(&socket, b"of an owner that was killed").unwrap();
    let ownership = scratch.spot().unwrap().own().ok().unwrap();
    let listener = ownership.listen().unwrap();
    assert!(lock.exists() && UnixStream::connect(&socket).is_ok());
    drop((ownership, listener));
    assert!(!lock.exists() && !socket.exists());
}

fn request(fingerprint: u8, session: u8) -> Request {
    Request { fingerprint: [fingerprint; FINGERPRINT_BYTES], session: [session; ID_BYTES], process: 7 }
}

#[test]
fn whatever_arrives_at_the_socket_sessions_join() {
    let scratch = Scratch::new("garbage");
    let certificates = [vec![1], vec![2]].map(CertificateDer::from);
    let keys = Arc::new(AnswerKeys::of_called(0, &certificates));
    let identity = Identity { address: "127.0.0.1:9000".into(), fingerprint: [1; FINGERPRINT_BYTES], keys };
    let ownership = scratch.spot().unwrap().own().ok().unwrap();
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = Port::open(Arc::new(identity), listener, Some(ownership), false).unwrap();
    let spot = scratch.spot().unwrap();
    let mut held = Vec::new();
    for bytes in [&b""[..], b"GET / HTTP/1.1\r\n\r\n", &MAGIC, &[0; REQUEST_BYTES], &[255; 5000]] {
        let mut stream = UnixStream::connect(&spot.socket).unwrap();
        stream.write_all(bytes).unwrap();
        held.push(stream);
    }
    let Reception::Welcome(membership) = spot.join(&request(1, 3)) else { panic!("not welcome") };
    assert!(matches!(spot.join(&request(2, 4)), Reception::Refused), "another deployment");
    assert!(matches!(spot.join(&request(1, 3)), Reception::Taken { process: 7, leaving: false }));
    membership.leave();
    let is_left = || matches!(spot.join(&request(1, 3)), Reception::Taken { leaving: true, .. });
    let end = Instant::now() + ANSWERS * 10;
    while !is_left() {
        assert!(Instant::now() < end);
        thread::sleep(Duration::from_millis(5));
    }
    membership.end();
    while !matches!(spot.join(&request(1, 3)), Reception::Welcome(_)) {
        assert!(Instant::now() < end);
        thread::sleep(Duration::from_millis(5));
    }
    // Most of the others were hung up on; one that says nothing has had its time.
    thread::sleep(ANSWERS);
    for mut stream in held {
        stream.set_read_timeout(Some(ANSWERS)).unwrap();
        let told = stream.read(&mut [0; 8]);
        assert!(!matches!(&told, Ok(1..)), "{told:?}");
    }
    let (member, start) = (spot.join(&request(1, 5)), Instant::now());
    port.close();
    let Reception::Welcome(member) = member else { panic!("not welcome") };
    assert!(member.next().is_none() && start.elapsed() < ANSWERS);
    assert!(matches!(spot.join(&request(1, 6)), Reception::Nobody));
}

proptest! {
    #[test]
    fn requests_are_read_as_written(
        fingerprint: [u8; FINGERPRINT_BYTES], session: SessionId, process: u32, at in 0..8usize,
    ) {
        let request = Request { fingerprint, session, process };
        let mut bytes = request.encode();
        prop_assert_eq!(Request::decode(&bytes), Some(request));
        bytes[at] ^= 1;
        prop_assert_eq!(Request::decode(&bytes), None);
    }
}
