//! A network in front of a party, which loses connections.

use std::io::{Read, Write};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;

/// What happens to the bytes of connections.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Weather {
    Fair,
    /// A connection is reset after a random number of bytes, at most this one.
    Bytes(u64),
    /// Bytes of the connections that there are do not arrive; new connections work.
    Silent,
    /// Connections end at once.
    Down,
}

struct State {
    weather: Mutex<Weather>,
    ends: AtomicBool,
    alive: Mutex<Vec<[TcpStream; 2]>>,
    connections: AtomicUsize,
    cuts: AtomicUsize,
    random: AtomicU64,
    /// The bytes that the first caller sent.
    first: Mutex<Vec<u8>>,
}

/// A network that can be cut. It ends with the process.
#[derive(Clone)]
pub struct Proxy {
    pub address: SocketAddr,
    state: Arc<State>,
}

impl Proxy {
    pub fn to(target: SocketAddr) -> Proxy {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let state = Arc::new(State {
            weather: Mutex::new(Weather::Fair),
            ends: AtomicBool::new(false),
            alive: Mutex::new(Vec::new()),
            connections: AtomicUsize::new(0),
            cuts: AtomicUsize::new(0),
            random: AtomicU64::new(u64::from(address.port())),
            first: Mutex::new(Vec::new()),
        });
        let proxy = Proxy { address, state };
        let this = proxy.clone();
        thread::spawn(move || {
            for near in listener.incoming().flatten() {
                match TcpStream::connect(target) {
                    _ if this.weather() == Weather::Down => {}
                    Ok(far) => this.carry(near, far),
                    Err(_) if this.state.ends.load(Ordering::Relaxed) => return, // it refuses all further calls
                    Err(_) => {}
                }
            }
        });
        proxy
    }

    pub fn set(&self, weather: Weather) {
        *self.state.weather.lock().unwrap() = weather;
    }

    /// Lets it end with its target: after that has refused a call, it refuses all calls. Otherwise it accepts calls and
    /// hangs up, as a router does.
    pub fn end_with_target(&self) {
        self.state.ends.store(true, Ordering::Relaxed);
    }

    pub fn weather(&self) -> Weather {
        *self.state.weather.lock().unwrap()
    }

    pub fn connections(&self) -> usize {
        self.state.connections.load(Ordering::Relaxed)
    }

    pub fn cuts(&self) -> usize {
        self.state.cuts.load(Ordering::Relaxed)
    }

    /// Returns what the first caller sent.
    pub fn first(&self) -> Vec<u8> {
        self.state.first.lock().unwrap().clone()
    }

    /// Resets all connections.
    pub fn cut(&self) {
        for ends in self.state.alive.lock().unwrap().drain(..) {
            self.reset(&ends);
        }
    }

    fn reset(&self, ends: &[TcpStream; 2]) {
        for end in ends {
            let _ = rustix::net::sockopt::set_socket_linger(end, Some(Duration::ZERO));
            let _ = end.shutdown(Shutdown::Both);
        }
        self.state.cuts.fetch_add(1, Ordering::Relaxed);
    }

    fn random(&self) -> u64 {
        // The numbers of splitmix64.
        let mut z = self.state.random.fetch_add(0x9e37_79b9_7f4a_7c15, Ordering::Relaxed);
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    fn carry(&self, near: TcpStream, far: TcpStream) {
        let is_first = self.state.connections.fetch_add(1, Ordering::Relaxed) == 0;
        let clone = |stream: &TcpStream| stream.try_clone().unwrap();
        self.state.alive.lock().unwrap().push([clone(&near), clone(&far)]);
        for (from, to, recorded) in [(clone(&near), clone(&far), is_first), (far, near, false)] {
            let this = self.clone();
            thread::spawn(move || this.forward(from, to, recorded));
        }
    }

    fn forward(&self, mut from: TcpStream, mut to: TcpStream, recorded: bool) {
        let began = self.weather();
        let mut left = if let Weather::Bytes(most) = began { 1 + self.random() % most } else { u64::MAX };
        let mut piece = [0; 16 << 10];
        while let Ok(bytes @ 1..) = from.read(&mut piece) {
            if (self.weather(), began == Weather::Silent) == (Weather::Silent, false) {
                continue;
            }
            if recorded {
                self.state.first.lock().unwrap().extend_from_slice(&piece[..bytes]);
            }
            let now = left.min(bytes as u64) as usize;
            left -= now as u64;
            if to.write_all(&piece[..now]).is_err() {
                break;
            }
            if left == 0 {
                self.reset(&[from, to]);
                return;
            }
        }
        let _ = (from.shutdown(Shutdown::Read), to.shutdown(Shutdown::Write));
    }
}
