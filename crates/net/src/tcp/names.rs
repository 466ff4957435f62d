//! The addresses of parties: from a configured name to addresses, and to one TCP connection.

use std::io::{self, ErrorKind};
use std::net::{SocketAddr, TcpListener, TcpStream, ToSocketAddrs};
use std::sync::atomic::Ordering;
use std::sync::mpsc::{self, RecvTimeoutError};
use std::thread;
use std::time::Duration;

use super::TcpConfig;
use crate::{Attempt, ConfigProblem, InUse, NetError};

/// The interval at which a thread that waits for the resolver checks whether it should stop.
const TICK: Duration = Duration::from_millis(5);
/// The time-out of one TCP connection.
const DIAL: Duration = Duration::from_secs(1);

/// Returns the address at which a party listens, as it is configured, and those that its name has.
///
/// # Errors
/// [`NetError::BadConfig`] for an address that cannot be parsed; [`NetError::Unresolved`] for a name that does not
/// resolve; [`NetError::Interrupted`].
pub(crate) fn listening(config: &TcpConfig) -> Result<(&str, Vec<SocketAddr>), NetError> {
    let address = config.listen.as_ref().unwrap_or(&config.parties[config.me].address);
    let stopped = || config.stop.as_ref().is_some_and(|stop| stop.load(Ordering::Relaxed));
    let resolved = resolve(address, &stopped).ok_or_else(|| match stopped() {
        true => NetError::Interrupted,
        false if has_port(address) => NetError::Unresolved { party: config.me, address: address.clone() },
        false => NetError::BadConfig(ConfigProblem::Address(address.clone())),
    })?;
    Ok((address, resolved))
}

/// Returns a hash of this party's number and address, and of the number of parties. Sessions with the same one may
/// share a port. Certificates are not in it: while they are replaced, sessions with the old ones run beside those
/// with the new ones. Nor are the peers' addresses, which a router may translate.
pub(crate) fn deployment(config: &TcpConfig) -> [u8; 32] {
    let mut hasher = blake3::Hasher::new_derive_key("quorate-net 2026-11-30 parties that share a port");
    let (me, parties) = (config.me as u64, config.parties.len() as u64);
    hasher.update(&me.to_le_bytes()).update(&parties.to_le_bytes());
    hasher.update(config.parties[config.me].address.as_bytes());
    *hasher.finalize().as_bytes()
}

/// Opens the port on which the peers call, at one of these addresses.
///
/// # Errors
/// [`NetError::PortInUse`]; [`NetError::Io`].
pub(crate) fn bind(config: &TcpConfig, address: &str, resolved: &[SocketAddr]) -> Result<TcpListener, NetError> {
    let mut bound = TcpListener::bind(resolved);
    if config.listen.is_none() && matches!(&bound, Err(error) if error.kind() == ErrorKind::AddrNotAvailable) {
        // Peers use an address that belongs to a router in front of this machine.
        let port = resolved[0].port();
        bound = TcpListener::bind(("::", port)).or_else(|error| match error.kind() {
            ErrorKind::AddrInUse => Err(error),
            _ => TcpListener::bind(("0.0.0.0", port)), // without IPv6
        });
    }
    bound.map_err(|error| match error.kind() {
        ErrorKind::AddrInUse => NetError::PortInUse { address: address.into(), why: InUse::Elsewhere },
        _ => super::io_error("listening for peers", error),
    })
}

/// Makes one TCP connection to `address`, trying each address of its name.
///
/// # Errors
/// The last failure. A refused connection only if every address refused: no other address may lead to the party.
pub(crate) fn call(address: &str, stopped: &dyn Fn() -> bool) -> Result<TcpStream, Attempt> {
    let addresses = resolve(address, stopped).ok_or(Attempt::Unresolved)?;
    let addresses = addresses.into_iter().take_while(|_| !stopped());
    first(addresses, |address| TcpStream::connect_timeout(&address, DIAL)).map_err(Attempt::Dial)
}

/// Returns the first connection that is made; or the last failure, a refusal only if there is no other.
fn first<T>(
    addresses: impl Iterator<Item = SocketAddr>,
    connect: impl Fn(SocketAddr) -> io::Result<T>,
) -> Result<T, ErrorKind> {
    let mut last = None;
    for address in addresses {
        match connect(address) {
            Ok(stream) => return Ok(stream),
            Err(error) if error.kind() == ErrorKind::ConnectionRefused => last = last.or(Some(error.kind())),
            Err(error) => last = Some(error.kind()),
        }
    }
    Err(last.unwrap_or(ErrorKind::NotFound))
}

/// Returns an address that is written in numbers.
pub(crate) fn numeric(address: &str) -> Option<SocketAddr> {
    address.parse().ok()
}

fn has_port(address: &str) -> bool {
    address.rsplit_once(':').is_some_and(|(host, port)| !host.is_empty() && port.parse::<u16>().is_ok())
}

/// Returns the addresses of a name; `None` also if told to stop.
pub(crate) fn resolve(address: &str, stopped: &dyn Fn() -> bool) -> Option<Vec<SocketAddr>> {
    if let Some(numeric) = numeric(address) {
        return Some(vec![numeric]);
    }
    let address = address.to_owned();
    let ask = move || address.to_socket_addrs().map(Iterator::collect).unwrap_or_default();
    let addresses: Vec<SocketAddr> = in_background(ask, stopped)?;
    (!addresses.is_empty()).then_some(addresses)
}

/// Returns the result of work that may take long and cannot be stopped, such as the system's resolver. When this party
/// stops, the work is left to itself.
fn in_background<T: Send + 'static>(
    work: impl FnOnce() -> T + Send + 'static,
    stopped: &dyn Fn() -> bool,
) -> Option<T> {
    let (done, result) = mpsc::channel();
    thread::Builder::new().name("quorate-dns".into()).spawn(move || done.send(work())).ok()?;
    while !stopped() {
        match result.recv_timeout(TICK) {
            Err(RecvTimeoutError::Timeout) => {}
            ended => return ended.ok(),
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use std::time::Instant;

    use super::*;

    #[test]
    fn names_are_resolved_and_nonsense_is_not() {
        let never = || false;
        assert_eq!(resolve("127.0.0.1:80", &never), Some(vec!["127.0.0.1:80".parse().unwrap()]));
        assert!(resolve("localhost:80", &never).is_some_and(|found| found.iter().all(|a| a.port() == 80)));
        assert_eq!(resolve("no port", &never), None);
    }

    #[test]
    fn a_party_refuses_if_all_its_addresses_do() {
        use ErrorKind::{ConnectionRefused as Refused, TimedOut};
        let told = |answers: &[Option<ErrorKind>]| {
            let address = |port| SocketAddr::from(([127, 0, 0, 1], port as u16));
            let connect = |address: SocketAddr| match answers[usize::from(address.port())] {
                Some(kind) => Err(kind.into()),
                None => Ok(()),
            };
            first((0..answers.len()).map(address), connect).err()
        };
        assert_eq!(told(&[Some(Refused), Some(Refused)]), Some(Refused));
        assert_eq!(told(&[Some(TimedOut), Some(Refused)]), Some(TimedOut));
        assert_eq!(told(&[Some(Refused), Some(TimedOut)]), Some(TimedOut));
        assert_eq!(told(&[Some(Refused), None]), None);
    }

    #[test]
    fn a_resolver_that_hangs_is_left_when_this_party_stops() {
        let start = Instant::now();
        let hangs = || thread::sleep(Duration::from_secs(30));
        assert_eq!(in_background(hangs, &|| start.elapsed() > Duration::from_millis(50)), None);
        assert!(start.elapsed() < Duration::from_secs(10));
    }
}
