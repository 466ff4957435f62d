//! A line that takes time, between a new port and another one.

use std::io::{Read, Write};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::mpsc;
use std::thread;
use std::time::{Duration, Instant};

/// Returns an address behind which `target` is this far away, and is called by `call`.
pub fn far_away(
    target: SocketAddr,
    rtt: Duration,
    call: impl Fn(SocketAddr) -> Option<TcpStream> + Send + 'static,
) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let address = listener.local_addr().expect("an address");
    thread::spawn(move || {
        for near in listener.incoming().flatten() {
            let Some(far) = call(target) else { continue };
            let ends = [(near.try_clone(), far.try_clone()), (far.try_clone(), near.try_clone())];
            for (from, to) in ends {
                let (Ok(mut from), Ok(mut to)) = (from, to) else { continue };
                let (carry, carried) = mpsc::channel::<(Instant, Vec<u8>)>();
                thread::spawn(move || {
                    let mut piece = [0; 4096];
                    while let Ok(bytes @ 1..) = from.read(&mut piece) {
                        let _ = carry.send((Instant::now() + rtt / 2, piece[..bytes].to_vec()));
                    }
                });
                thread::spawn(move || {
                    for (due, bytes) in carried {
                        thread::sleep(due.saturating_duration_since(Instant::now()));
                        let _ = to.write_all(&bytes);
                    }
                    let _ = to.shutdown(Shutdown::Both);
                });
            }
        }
    });
    address
}
