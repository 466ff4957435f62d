//! Tests of `neighbours`: folders, requests, and what else may arrive at the socket.

use std::env;
use std::fs::{Permissions, create_dir_all, remove_dir_all, set_permissions};
use std::os::unix::fs::{PermissionsExt, chown, symlink};
use std::sync::Arc;
use std::sync::mpsc::sync_channel;
use std::thread;
use std::time::Instant;

use proptest::prelude::*;
use rustls::pki_types::CertificateDer;

use super::super::door::Door;
use super::super::keys::tests::scratch;
use super::super::knock::AnswerKeys;
use super::super::pinned::Pinned;
use super::super::port::{Identity, Obstacle, Port, Way};
use super::super::{PartyConfig, TcpConfig, keygen};
use super::*;
use crate::{FolderFault, NetError};

/// Returns the way to a session of this process that takes no callers.
fn here() -> Way {
    Way::Here { callers: sync_channel(0).0, guests: Arc::default() }
}

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

    fn spot(&self) -> Spot {
        Spot::within(Folder::made(self.folder()).unwrap(), "127.0.0.1:9000")
    }

    /// Returns the fault of a folder in it.
    fn fault(&self, name: &str) -> FolderFault {
        match Folder::made(self.0.join(name)).err() {
            Some(InUse::NotShared { folder, fault }) if folder == self.0.join(name) => fault,
            other => panic!("{other:?}"),
        }
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
    let of = |name| scratch.fault(name);
    assert!(Folder::made(scratch.folder()).is_ok());
    for open in [0o701, 0o710, 0o740, 0o755, 0o777] {
        scratch.set(0o755, open);
        assert_eq!(of("quorate"), FolderFault::Open, "{open:o}");
    }
    scratch.set(0o777, 0o700);
    assert_eq!(of("quorate"), FolderFault::Exposed, "others may put another folder there");
    scratch.set(0o1777, 0o700);
    assert!(Folder::made(scratch.folder()).is_ok(), "as in /tmp");
    symlink(scratch.folder(), scratch.0.join("link")).unwrap();
    assert_eq!(of("link"), FolderFault::NoFolder);
    assert_eq!(of("nowhere/quorate"), FolderFault::NotMade(ErrorKind::NotFound));
    // Only the system's administrator can give folders away.
    if chown(scratch.folder(), Some(4_294_000_000), None).is_ok() {
        assert_eq!(of("quorate"), FolderFault::Foreign);
    }
}

#[test]
fn each_address_has_a_place_of_its_own() {
    let scratch = Scratch::new("addresses");
    let of = |address| Spot::within(Folder::made(scratch.folder()).unwrap(), address);
    assert_eq!(of("a:1").socket(), of("a:1").socket());
    assert_ne!(of("a:1").socket(), of("a:2").socket());
    assert_ne!(of("a:1").lock(), of("a:1").socket());
    assert_ne!(of("a:1").name(&[1; ID_BYTES]), of("a:1").name(&[2; ID_BYTES]));
    assert_ne!(of("a:1").name(&[1; ID_BYTES]), of("a:2").name(&[1; ID_BYTES]));
}

#[test]
fn an_owner_leaves_nothing_behind() {
    let scratch = Scratch::new("ends");
    let (lock, socket) = (scratch.spot().lock(), scratch.spot().socket());
    std::fs::write(&socket, b"of an owner that was killed").unwrap();
    let ownership = own(&scratch);
    assert!(lock.exists() && UnixStream::connect(&socket).is_ok());
    drop(ownership);
    assert!(!lock.exists() && !socket.exists());
}

fn own(scratch: &Scratch) -> Ownership {
    scratch.spot().own().unwrap().ok().expect("an address that nobody owns")
}

fn request(fingerprint: u8, session: u8) -> Request {
    Request { fingerprint: [fingerprint; FINGERPRINT_BYTES], session: [session; ID_BYTES], process: 7 }
}

#[test]
fn whatever_arrives_at_the_socket_sessions_join() {
    let scratch = Scratch::new("garbage");
    let certificates = [vec![1], vec![2]].map(|bytes| vec![CertificateDer::from(bytes)]);
    let keys = Arc::new(AnswerKeys::of_called(0, &certificates));
    let identity = Identity { address: "127.0.0.1:9000".into(), fingerprint: [1; FINGERPRINT_BYTES], keys };
    let owned = (false, Some(own(&scratch)));
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let (port, _) = Port::open(Arc::new(identity), listener, owned, ([9; ID_BYTES], here())).unwrap();
    let spot = scratch.spot();
    let own = std::process::id();
    // It was open before anybody could join.
    assert!(matches!(spot.join(&request(1, 9)), Reception::Taken { process, leaving: false } if process == own));
    let mut held = Vec::new();
    for bytes in [&b""[..], b"GET / HTTP/1.1\r\n\r\n", &MAGIC, &[0; REQUEST_BYTES], &[255; 5000]] {
        let mut stream = UnixStream::connect(spot.socket()).unwrap();
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
    let late = port.enter([6; ID_BYTES], 7, || panic!("welcome at a port that is closed"));
    assert_eq!(late, Err(Obstacle::Closed));
}

#[test]
fn no_session_waits_for_the_owner_of_another_port() {
    let dir = scratch("slow-owner");
    let party = |i: usize| {
        keygen(&dir, i).unwrap();
        PartyConfig { address: "127.0.0.1:0".into(), certificates: vec![dir.join(format!("party{i}.crt"))] }
    };
    let parties: Vec<PartyConfig> = (0..2).map(party).collect();
    let pinned = Pinned::load(0, &parties, &dir.join("party0.key")).unwrap();
    let config = |address: &str| {
        let mut config = TcpConfig::new(0, parties.clone(), dir.join("party0.key"));
        config.parties[0].address = address.into();
        config
    };
    // An address that nobody can own, at which an owner listens that says nothing.
    let taken = TcpListener::bind("127.0.0.1:0").unwrap(); // by no other test
    let address = taken.local_addr().unwrap().to_string();
    let Ok(spot) = Spot::of(&address) else { return };
    let _held = LockFile::take(&spot.lock()).unwrap().unwrap();
    let silent = UnixListener::bind(spot.socket()).unwrap();
    let deadline = Instant::now() + ANSWERS * 5;
    thread::scope(|scope| {
        let waits = scope.spawn(|| Door::open(&config(&address), &pinned, None, deadline).map(drop));
        let (_held, start) = (silent.accept().unwrap(), Instant::now());
        drop(Door::open(&config("127.0.0.1:0"), &pinned, None, deadline).unwrap());
        assert!(start.elapsed() < ANSWERS * 3 / 4, "{:?}", start.elapsed());
        assert!(matches!(waits.join().unwrap(), Err(NetError::PortInUse { why: InUse::Silent, .. })));
    });
    let _ = (remove_file(spot.socket()), remove_dir_all(&dir));
}

/// Returns an owner's end and a member's end of a membership at a socket that listens.
fn members() -> (Member, Membership) {
    let (owner, stream) = UnixStream::pair().unwrap();
    let listener = InheritedSocket::new(TcpListener::bind("127.0.0.1:0").unwrap());
    (Member(InheritedSocket::new(owner)), Membership { stream: InheritedSocket::new(stream), listener })
}

#[test]
fn a_socket_that_was_closed_is_not_listened_at() {
    let scratch = Scratch::new("closed");
    let ownership = own(&scratch);
    let hosts = ownership.listener();
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    for listens in [true, false] {
        if !listens {
            silence(&listener);
        }
        let welcomed = thread::scope(|scope| {
            let member = scope.spawn(|| scratch.spot().join(&request(1, 3)));
            let (owner, _) = Member::ask(hosts.accept().unwrap().0).unwrap();
            owner.welcome(&listener).unwrap();
            matches!(member.join().unwrap(), Reception::Welcome(_))
        });
        assert_eq!(welcomed, listens);
    }
    let (_owner, membership) = members();
    assert!(membership.listening().is_some());
    silence(&*membership.listener);
    assert!(membership.listening().is_none());
}

#[test]
fn a_caller_whose_socket_could_not_be_opened_is_lost_alone() {
    let (owner, membership) = members();
    // This is what arrives at a process with too many open files.
    (&*owner.0).write_all(&[Class::Guest.byte(); 1 + REPLY_BYTES]).unwrap();
    let stream = TcpStream::connect(membership.listening().unwrap().local_addr().unwrap()).unwrap();
    let from = stream.peer_addr().unwrap();
    owner.hand(&Caller { stream, from, class: Class::Informed, reply: [3; REPLY_BYTES] });
    let next = membership.next().unwrap();
    assert_eq!((next.class, next.reply), (Class::Informed, [3; REPLY_BYTES]));
}

#[test]
fn an_owner_whose_files_were_replaced_leaves_those_of_the_next() {
    let scratch = Scratch::new("replaced");
    let (lock, socket) = (scratch.spot().lock(), scratch.spot().socket());
    let ownership = own(&scratch);
    for path in [&lock, &socket] {
        // The old file stays: the new one has another number.
        std::fs::rename(path, path.with_extension("old")).unwrap();
        std::fs::write(path, b"of another owner").unwrap();
    }
    drop(ownership);
    assert!(lock.exists() && socket.exists());
}

#[test]
fn an_owner_whose_queue_is_full_is_not_waited_for() {
    let scratch = Scratch::new("full");
    let ownership = own(&scratch);
    rustix::net::listen(ownership.listener(), 0).unwrap();
    let _first = UnixStream::connect(scratch.spot().socket()).unwrap();
    let (sender, told) = std::sync::mpsc::channel();
    let spot = scratch.spot();
    thread::spawn(move || sender.send(matches!(spot.join(&request(1, 3)), Reception::Nobody)));
    assert_eq!(told.recv_timeout(ANSWERS * 5), Ok(true));
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

#[test]
fn folders_with_long_paths_are_named_and_those_that_the_advice_allows_are_used() {
    let scratch = Scratch::new("long");
    for (bytes, is_used) in [(60, true), (61, true), (62, false), (200, false)] {
        let room = bytes - 1 - scratch.0.as_os_str().len();
        let runtime = scratch.0.join("x".repeat(room));
        create_dir_all(&runtime).unwrap();
        set_permissions(&runtime, Permissions::from_mode(0o700)).unwrap();
        let owned = Spot::within(Folder::made(runtime.join("quorate")).unwrap(), "127.0.0.1:9000").own();
        match owned {
            Err(InUse::NotShared { fault: FolderFault::LongPath, .. }) => assert!(!is_used, "{bytes}"),
            other => assert!(is_used && other.is_ok_and(|owned| owned.is_ok()), "{bytes}"),
        }
    }
}
