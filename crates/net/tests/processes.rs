//! Sessions of one party in several processes: their names, and the folder in which the processes find each other.

use std::fs::{Permissions, create_dir_all, remove_dir_all, set_permissions};
use std::net::SocketAddr;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::thread;
use std::time::Duration;

use crate::common::child::Process;
use crate::common::proxy::Proxy;
use crate::common::{Keys, config, free_addresses, receive, within};
use quorate_net::tcp::{SessionName, TcpConfig, TcpNet};
use quorate_net::{Net, NetError};

/// Party 0 has processes of its own, and party 1 is here.
struct Parties {
    keys: Keys,
    addresses: Vec<SocketAddr>,
    /// The folder for what the user of party 0 runs.
    runtime: PathBuf,
}

impl Parties {
    fn new(name: &str) -> Parties {
        let runtime = std::env::temp_dir().join(format!("quorate-processes-{name}-{}", std::process::id()));
        let _ = remove_dir_all(&runtime);
        create_dir_all(&runtime).unwrap();
        set_permissions(&runtime, Permissions::from_mode(0o700)).unwrap();
        Parties { keys: Keys::new(2), addresses: free_addresses(2), runtime }
    }

    fn config(&self, me: usize, session: &str) -> TcpConfig {
        let session = SessionName::new(session).unwrap();
        TcpConfig { session, ..config(me, self.keys.path(), &self.addresses) }
    }

    fn child(&self, session: &str) -> Process {
        Process::of_party_in(&self.runtime, 0, &self.keys, &self.addresses, session)
    }

    /// Opens a session at both parties, with a link that can be cut.
    fn open(&self, session: &str) -> (Process, TcpNet, Proxy) {
        let (child, proxy) = (self.child(session), Proxy::to(self.addresses[0]));
        let mut config = self.config(1, session);
        config.parties[0].address = proxy.address.to_string();
        (child, TcpNet::connect(&config).unwrap(), proxy)
    }

    /// The folder in which the processes of party 0 find each other.
    fn folder(&self) -> PathBuf {
        self.runtime.join("quorate")
    }
}

impl Drop for Parties {
    fn drop(&mut self) {
        let _ = remove_dir_all(&self.runtime);
    }
}

fn echo(net: &mut TcpNet, mark: u8) {
    net.send(0, vec![mark]).unwrap();
    assert_eq!(receive(net), (0, vec![mark]));
}

fn give(folder: &Path, mode: u32) {
    set_permissions(folder, Permissions::from_mode(mode)).unwrap();
}

/// The process that has the port ends, and the one that takes it over does not hear of the third, which is suspended.
#[test]
fn a_name_stays_taken_while_the_port_changes_hands() {
    let parties = Parties::new("names");
    let (mut first, _gone, _) = parties.open("first");
    let (held, mut net, _) = parties.open("held");
    let (_next, mut other, proxy) = parties.open("next");
    held.freeze();
    first.kill();
    let told = parties.child("held").failure();
    assert!(told.contains(&format!("SessionOpen {{ session: \"held\", process: {} }}", held.id())), "{told}");
    // Another process has the port: it continues links that are cut.
    proxy.cut();
    echo(&mut other, 1);
    let told = parties.child("held").failure();
    assert!(told.contains(&format!("SessionOpen {{ session: \"held\", process: {} }}", held.id())), "{told}");
    held.thaw();
    echo(&mut net, 2);
    // A name is free as soon as its session has ended, and after a process that was killed.
    let (mut held, mut net) = (held, net);
    held.kill();
    drop(net);
    net = parties.open("held").1;
    drop(net);
}

/// The process that takes the port over does not hear of a session whose process is suspended. If it told the peer that
/// the session is not open, the link would end.
#[test]
fn a_link_outlives_a_process_that_is_slow_to_join_the_next_owner() {
    let parties = Parties::new("slow");
    let (mut first, _gone, _) = parties.open("first");
    let (slow, mut net, cut) = parties.open("slow");
    let (_next, mut other, proxy) = parties.open("next");
    slow.freeze();
    first.kill();
    [cut, proxy].iter().for_each(Proxy::cut);
    echo(&mut other, 1); // another process has the port
    let early = net.recv(within(3)); // a session that is not open ends its link after a second
    assert!(matches!(early, Ok(None)), "{early:?}");
    slow.thaw();
    echo(&mut net, 2);
}

#[test]
fn a_process_that_has_the_port_is_found_after_its_folder_was_removed() {
    for all in [false, true] {
        let parties = Parties::new("removed");
        let (_child, mut net, proxy) = parties.open("first");
        let removed = if all { parties.runtime.clone() } else { parties.folder() };
        remove_dir_all(removed).unwrap();
        thread::sleep(Duration::from_millis(1500));
        let (_second, mut second, _) = parties.open("second");
        echo(&mut second, 1);
        let told = parties.child("first").failure();
        assert!(told.contains("SessionOpen"), "{told}");
        proxy.cut();
        echo(&mut net, 2);
    }
}

/// Without a lock, each of them would accept calls for the other at the one socket.
#[test]
fn no_process_takes_the_port_over_without_a_lock() {
    let parties = Parties::new("locks");
    let (mut first, _gone, _) = parties.open("first");
    let mut others = [parties.open("second"), parties.open("third")];
    give(&parties.folder(), 0o755);
    first.kill();
    for (_, net, proxy) in &mut others {
        proxy.cut();
        net.send(0, vec![1]).unwrap();
    }
    for (_, net, _) in &mut others {
        assert!(net.recv(within(1)).unwrap().is_none(), "a process took the port over");
    }
    give(&parties.folder(), 0o700);
    for (_, net, _) in &mut others {
        assert_eq!(receive(net), (0, vec![1]));
    }
}

#[test]
fn a_folder_that_is_open_to_others_is_named_until_it_is_closed() {
    let parties = Parties::new("open");
    create_dir_all(parties.folder()).unwrap();
    give(&parties.folder(), 0o755);
    let (_child, mut net, _) = parties.open("first");
    let told = parties.child("second").failure();
    assert!(told.contains("NotShared") && told.contains("fault: Open"), "{told}");
    give(&parties.folder(), 0o700); // as the message advises
    thread::sleep(Duration::from_millis(1500));
    let (_second, mut second, _) = parties.open("second");
    echo(&mut second, 1);
    echo(&mut net, 2);
}

#[test]
fn the_reasons_for_which_ports_are_not_shared_say_what_to_do() {
    use quorate_net::{FolderFault, InUse};
    let folder = PathBuf::from("/tmp/quorate-0");
    let text = |why| NetError::PortInUse { address: "a:1".into(), why }.to_string();
    let shared = |fault| text(InUse::NotShared { folder: folder.clone(), fault });
    let begin = "a:1 is in use by another process, and sessions cannot share the port: the folder /tmp/quorate-0 ";
    for (told, advice) in [
        (shared(FolderFault::NotMade(std::io::ErrorKind::NotFound)), "cannot be made (entity not found); set XDG_"),
        (shared(FolderFault::NoFolder), "is a file or a link; remove it"),
        (shared(FolderFault::Foreign), "belongs to another user; set XDG_RUNTIME_DIR to a folder of your own"),
        (shared(FolderFault::Open), "is open to other users; run chmod 700 on it"),
        (shared(FolderFault::Exposed), "can be replaced by other users"),
        (shared(FolderFault::NoFiles(std::io::ErrorKind::StorageFull)), "takes no files or locks (no storage space)"),
        (shared(FolderFault::LongPath), "has too long a path for a socket in it; set XDG_RUNTIME_DIR"),
    ] {
        assert!(told.starts_with(begin) && told[begin.len()..].starts_with(advice), "{told}");
    }
    assert!(text(InUse::Silent).contains("does not answer; continue or stop it if it is suspended"));
    assert!(text(InUse::OtherParties).contains("another deployment; choose another port"));
    assert!(text(InUse::Elsewhere).contains("is in use by another process; stop it or choose another port"));
}
