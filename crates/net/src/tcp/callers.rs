//! Callers whose identity is not known yet. Limits ensure that peers connect even while strangers hold many
//! connections.
//!
//! A caller first waits, without a thread, until its whole first message has arrived; an honest caller sends it at
//! once. Then its handshake runs in a thread, and the number of these is bounded. If there are too many callers, the
//! oldest one from the address with the most callers is dropped. A caller whose certificate is known no longer counts.

use std::collections::BTreeMap;
use std::io::ErrorKind;
use std::net::{IpAddr, Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// The largest number of callers that have not sent their first message yet, and how long they have for it.
const SILENT: usize = 256;
const PATIENCE: Duration = Duration::from_secs(3);
/// The largest number of callers whose handshakes run at once.
const TALKING: usize = 64;
/// The number of callers accepted before the other callers are handled again.
const AT_ONCE: usize = 64;
/// Bytes of a TLS record's header (type, version and length); the content type of handshakes.
const RECORD_HEADER: usize = 5;
const HANDSHAKE: u8 = 22;

/// Returns whether a first record of TLS that begins like this is whole; `None` if it can never be one.
pub(crate) fn is_whole(seen: &[u8], room: usize) -> Option<bool> {
    match seen {
        [kind, ..] if *kind != HANDSHAKE => None,
        [_, _, _, high, low, ..] => {
            let record = RECORD_HEADER + usize::from(u16::from_be_bytes([*high, *low]));
            Some(seen.len() >= record.min(room))
        }
        _ => Some(false),
    }
}

/// A connection from an unknown caller.
pub(crate) struct Caller {
    pub(crate) stream: TcpStream,
    pub(crate) from: SocketAddr,
    since: Instant,
}

impl Caller {
    /// Returns whether the caller's first message is there; `None` if it will not come.
    fn has_spoken(&self) -> Option<bool> {
        let mut seen = [0; 4096];
        match self.stream.peek(&mut seen) {
            Ok(0) => None,
            Ok(bytes) => is_whole(&seen[..bytes], seen.len()).filter(|whole| *whole || self.is_in_time()),
            Err(error) if error.kind() == ErrorKind::WouldBlock => self.is_in_time().then_some(false),
            Err(error) => (error.kind() == ErrorKind::Interrupted).then_some(false),
        }
    }

    fn is_in_time(&self) -> bool {
        self.since.elapsed() < PATIENCE
    }
}

/// Returns the caller to drop if there are too many.
fn superfluous<'a>(callers: impl Iterator<Item = (&'a SocketAddr, &'a Instant)> + Clone) -> Option<usize> {
    let mut counts: BTreeMap<IpAddr, usize> = BTreeMap::new();
    callers.clone().for_each(|(from, _)| *counts.entry(from.ip()).or_default() += 1);
    let rank = |(_, (from, since)): &(usize, (&SocketAddr, &Instant))| {
        (counts.get(&from.ip()).copied().unwrap_or(0), std::cmp::Reverse(**since))
    };
    callers.enumerate().max_by_key(rank).map(|(at, _)| at)
}

/// Callers that have not sent a whole first message yet.
#[derive(Default)]
pub(crate) struct WaitingRoom(Vec<Caller>);

impl WaitingRoom {
    /// Accepts callers. Returns those whose first message is there, and whether more may be calling.
    pub(crate) fn admit(&mut self, listener: &TcpListener) -> (Vec<Caller>, bool) {
        let mut came = 0;
        while came < AT_ONCE
            && let Ok((stream, from)) = listener.accept()
        {
            came += 1;
            if stream.set_nonblocking(true).is_ok() {
                self.0.push(Caller { stream, from, since: Instant::now() });
            }
        }
        while self.0.len() > SILENT
            && let Some(at) = superfluous(self.0.iter().map(|caller| (&caller.from, &caller.since)))
        {
            self.0.remove(at);
        }
        let (mut spoke, mut silent) = (Vec::new(), Vec::new());
        for caller in self.0.drain(..) {
            match caller.has_spoken() {
                Some(true) => spoke.push(caller),
                Some(false) => silent.push(caller),
                None => {}
            }
        }
        self.0 = silent;
        (spoke, came == AT_ONCE)
    }
}

struct Talking {
    number: u64,
    stream: TcpStream,
    from: SocketAddr,
    since: Instant,
}

/// Callers whose handshakes run.
#[derive(Default)]
pub(crate) struct Handshakes {
    talking: Mutex<Vec<Talking>>,
}

impl Handshakes {
    /// Registers a caller under a number of its own, and drops another one if there are too many.
    pub(crate) fn begin(&self, number: u64, caller: &Caller) {
        let Ok(stream) = caller.stream.try_clone() else { return };
        let mut talking = self.lock();
        if talking.len() >= TALKING
            && let Some(at) = superfluous(talking.iter().map(|caller| (&caller.from, &caller.since)))
        {
            // The caller's thread reads the end of the connection and ends.
            let _ = talking.remove(at).stream.shutdown(Shutdown::Both);
        }
        talking.push(Talking { number, stream, from: caller.from, since: caller.since });
    }

    /// Removes a caller that was identified, or has gone.
    pub(crate) fn end(&self, number: u64) {
        self.lock().retain(|caller| caller.number != number);
    }

    fn lock(&self) -> MutexGuard<'_, Vec<Talking>> {
        self.talking.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_oldest_of_the_busiest_address_goes() {
        let start = Instant::now();
        let callers: Vec<(SocketAddr, Instant)> = ["10.0.0.1:1", "10.0.0.2:2", "10.0.0.1:3", "10.0.0.3:4"]
            .iter()
            .zip([5, 1, 4, 3])
            .map(|(from, since)| (from.parse().unwrap(), start + Duration::from_secs(since)))
            .collect();
        let drop = |callers: &[(SocketAddr, Instant)]| superfluous(callers.iter().map(|(from, since)| (from, since)));
        assert_eq!(drop(&callers), Some(2));
        assert_eq!(drop(&callers[..2]), Some(1), "one each: the oldest");
        assert_eq!(drop(&[]), None);
    }

    #[test]
    fn a_first_message_is_whole_when_its_record_is() {
        let hello = [HANDSHAKE, 3, 1, 0, 3, 1, 2, 3];
        for seen in 0..hello.len() {
            assert_eq!(is_whole(&hello[..seen], 4096), Some(false), "{seen} bytes");
        }
        assert_eq!(is_whole(&hello, 4096), Some(true));
        assert_eq!(is_whole(&[HANDSHAKE, 3, 1, 255, 255, 0], 6), Some(true), "more than is looked at");
        assert_eq!(is_whole(b"GET / HTTP/1.1", 4096), None);
    }

    #[test]
    fn too_many_handshakes_end_the_oldest() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let handshakes = Handshakes::default();
        let mut ends: Vec<TcpStream> = Vec::new();
        for number in 0..=TALKING as u64 {
            ends.push(TcpStream::connect(listener.local_addr().unwrap()).unwrap());
            let (stream, from) = listener.accept().unwrap();
            handshakes.begin(number, &Caller { stream, from, since: Instant::now() });
        }
        assert_eq!(ends[0].peek(&mut [0]).unwrap(), 0, "the first is closed");
        ends[1].set_nonblocking(true).unwrap();
        assert!(ends[1].peek(&mut [0]).is_err(), "the second is not");
        handshakes.end(5);
        assert_eq!(handshakes.lock().len(), TALKING - 1);
    }
}
