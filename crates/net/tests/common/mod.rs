//! Meshes on loopback for tests, with short time-outs.
#![allow(dead_code)] // each test binary uses its own part

pub mod child;
pub mod far;
pub mod proxy;

use std::net::{Ipv4Addr, SocketAddr, TcpListener};
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU16, AtomicUsize, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use quorate_net::tcp::{PartyConfig, TcpConfig, TcpNet, keygen};
use quorate_net::{Net, NetError, Wait};

/// Keys of some parties in a directory that is removed at the end.
pub struct Keys(PathBuf);

impl Keys {
    pub fn new(parties: usize) -> Self {
        static NEXT: AtomicUsize = AtomicUsize::new(0);
        let name = format!("quorate-net-{}-{}", std::process::id(), NEXT.fetch_add(1, Ordering::Relaxed));
        let keys = Keys(std::env::temp_dir().join(name));
        for party in 0..parties {
            keygen(&keys.0, party).unwrap();
        }
        keys
    }

    pub fn path(&self) -> &Path {
        &self.0
    }
}

impl Drop for Keys {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

pub fn listeners(parties: usize) -> Vec<TcpListener> {
    (0..parties).map(|_| TcpListener::bind("127.0.0.1:0").unwrap()).collect()
}

/// Returns addresses of this machine at which nothing listens, for parties that bind them later.
///
/// Their ports are below those that the system chooses: no other test gets one in between.
pub fn free_addresses(parties: usize) -> Vec<SocketAddr> {
    static NEXT: AtomicU16 = AtomicU16::new(0);
    const PORTS: Range<u16> = 14_000..19_000;
    let own = (std::process::id() % 50) as u16 * 100; // processes that run side by side begin at different ports
    let next = || PORTS.start + (own + NEXT.fetch_add(1, Ordering::Relaxed)) % PORTS.len() as u16;
    let addresses = std::iter::repeat_with(|| SocketAddr::from((Ipv4Addr::LOCALHOST, next())));
    addresses.filter(|address| TcpListener::bind(address).is_ok()).take(parties).collect()
}

pub fn addresses(listeners: &[TcpListener]) -> Vec<SocketAddr> {
    listeners.iter().map(|listener| listener.local_addr().unwrap()).collect()
}

/// The time for which links are waited for: far longer than what does not wait for them takes on a busy machine.
const RECONNECT: Duration = Duration::from_secs(40);
/// The longest time for what does not wait until `RECONNECT` is over.
pub const SOON: Duration = Duration::from_secs(20);

/// The configuration of a party, with time-outs short enough for tests.
pub fn config(me: usize, keys: &Path, addresses: &[SocketAddr]) -> TcpConfig {
    let parties = addresses
        .iter()
        .enumerate()
        .map(|(i, address)| PartyConfig {
            address: address.to_string(),
            certificates: vec![keys.join(format!("party{i}.crt"))],
        })
        .collect();
    TcpConfig {
        connect_timeout: Duration::from_secs(60),
        peer_timeout: Duration::from_secs(5),
        reconnect_timeout: RECONNECT,
        heartbeat: Duration::from_millis(150),
        ..TcpConfig::new(me, parties, keys.join(format!("party{me}.key")))
    }
}

/// Returns the configuration with short time-outs, for tests of time-outs.
pub fn impatient(config: TcpConfig) -> TcpConfig {
    TcpConfig { peer_timeout: Duration::from_secs(2), reconnect_timeout: Duration::from_secs(1), ..config }
}

/// Connects parties that were configured by hand, all at once.
pub fn connect(parties: Vec<(TcpConfig, TcpListener)>) -> Vec<Result<TcpNet, NetError>> {
    thread::scope(|scope| {
        let joins: Vec<_> = parties
            .into_iter()
            .map(|(config, listener)| scope.spawn(move || TcpNet::connect_on(&config, listener)))
            .collect();
        joins.into_iter().map(|join| join.join().unwrap()).collect()
    })
}

pub fn mesh(parties: usize, keys: &Keys) -> Vec<TcpNet> {
    mesh_of(parties, keys, |config| config)
}

pub fn mesh_of(parties: usize, keys: &Keys, change: impl Fn(TcpConfig) -> TcpConfig) -> Vec<TcpNet> {
    let listeners = listeners(parties);
    let addresses = addresses(&listeners);
    let configs = (0..parties).map(|me| change(config(me, keys.path(), &addresses))).zip(listeners).collect();
    connect(configs).into_iter().map(Result::unwrap).collect()
}

pub fn within(seconds: u64) -> Wait {
    Wait::Until(Instant::now() + Duration::from_secs(seconds))
}

/// Returns the next frame, which must arrive within 60 s.
pub fn receive(net: &mut TcpNet) -> (usize, Vec<u8>) {
    net.recv(within(60)).unwrap().expect("a frame in time")
}

/// Returns the next failure, which must occur within 60 s, and how long it took.
pub fn failure(net: &mut TcpNet) -> (NetError, Duration) {
    let start = Instant::now();
    (net.recv(within(60)).expect_err("a failure in time"), start.elapsed())
}
