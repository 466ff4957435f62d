//! A party in a process of its own: this program once more, which runs one entry.

use std::io::Read;
use std::net::SocketAddr;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::Duration;

use quorate_net::Net;
use quorate_net::tcp::{SessionName, TcpConfig, TcpNet};

use super::{Keys, config, within};

const KEYS: &str = "QUORATE_NET_TEST_KEYS";
const ADDRESSES: &str = "QUORATE_NET_TEST_ADDRESSES";
const ME: &str = "QUORATE_NET_TEST_ME";
const SESSION: &str = "QUORATE_NET_TEST_SESSION";

/// The frame that ends a party in a process of its own.
pub const END: u8 = 255;

/// Not a test: the party. It echoes until it is lost or told to end.
#[test]
#[ignore = "run by other tests as a child process"]
fn party() {
    let (Ok(keys), Ok(addresses)) = (std::env::var(KEYS), std::env::var(ADDRESSES)) else { return };
    let addresses: Vec<SocketAddr> = addresses.split(',').map(|address| address.parse().unwrap()).collect();
    let session =
        std::env::var(SESSION).map_or_else(|_| SessionName::default(), |name| SessionName::new(&name).unwrap());
    let me = std::env::var(ME).unwrap().parse().unwrap();
    let config = TcpConfig { session, ..config(me, keys.as_ref(), &addresses) };
    let mut net = TcpNet::connect(&config).unwrap();
    while let Ok(Some((from, frame))) = net.recv(within(60)) {
        if frame == [END] {
            return;
        }
        net.send(from, frame).unwrap();
    }
}

/// The process of a party, which ends with the test, whatever its outcome.
pub struct Process(Child);

impl Process {
    /// Starts a party of a session; of the default one if there is no name.
    pub fn of_party(me: usize, keys: &Keys, addresses: &[SocketAddr], session: Option<&str>) -> Process {
        Process(Process::command(me, keys, addresses, session).spawn().unwrap())
    }

    /// Starts a party of a session like `of_party`, with another folder for what the user runs.
    pub fn of_party_in(folder: &Path, me: usize, keys: &Keys, addresses: &[SocketAddr], session: &str) -> Process {
        let mut command = Process::command(me, keys, addresses, Some(session));
        command.arg("--nocapture");
        Process(command.env("XDG_RUNTIME_DIR", folder).stderr(Stdio::piped()).spawn().unwrap())
    }

    fn command(me: usize, keys: &Keys, addresses: &[SocketAddr], session: Option<&str>) -> Command {
        let addresses: Vec<String> = addresses.iter().map(SocketAddr::to_string).collect();
        let mut command = Command::new(std::env::current_exe().unwrap());
        command
            .args(["--exact", "common::child::party", "--ignored"])
            .env(KEYS, keys.path())
            .env(ADDRESSES, addresses.join(","))
            .env(ME, me.to_string())
            .stdout(Stdio::null());
        command.envs(session.map(|name| (SESSION, name)));
        command
    }

    pub fn id(&self) -> u32 {
        self.0.id()
    }

    pub fn kill(&mut self) {
        let _ = (self.0.kill(), self.0.wait());
    }

    /// Stops the process. Returns once it has stopped.
    #[cfg(unix)]
    pub fn freeze(&self) {
        let pid = self.0.id().to_string();
        assert!(Command::new("kill").args(["-STOP", &pid]).status().unwrap().success());
        let stopped =
            || Command::new("ps").args(["-o", "stat=", "-p", &pid]).output().unwrap().stdout.starts_with(b"T");
        while !stopped() {
            thread::sleep(Duration::from_millis(10));
        }
    }

    /// Lets a process that was stopped continue.
    #[cfg(unix)]
    pub fn thaw(&self) {
        assert!(Command::new("kill").args(["-CONT", &self.0.id().to_string()]).status().unwrap().success());
    }

    /// Waits for the end of a process of `of_party_in`, which has to fail. Returns what it printed.
    pub fn failure(&mut self) -> String {
        let mut printed = String::new();
        self.0.stderr.take().unwrap().read_to_string(&mut printed).unwrap();
        assert!(!self.0.wait().unwrap().success());
        printed
    }

    /// Waits for the end of the process, which has to succeed.
    pub fn end(&mut self) {
        assert!(self.0.wait().unwrap().success());
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        self.kill();
    }
}
