//! Somebody on the network changes which session a caller names before TLS. No session ends of it.

use std::io::{Read, Write, copy};
use std::net::{Shutdown, TcpListener};
use std::sync::Arc;
use std::sync::atomic::AtomicUsize;

use super::super::keys::tests::scratch;
use super::super::knock::ANSWER_BYTES;
use super::super::session::{SessionId, SessionName};
use super::super::{PartyConfig, TcpNet, keygen};
use super::*;
use crate::{Net, Wait};

/// The place of the session in an answer.
const SESSION_AT: usize = 13;
const LONGEST: Duration = Duration::from_secs(30);

/// A way to an address on which somebody changes the session that callers name.
struct Misleader {
    address: SocketAddr,
    /// The number of further answers to change.
    left: Arc<AtomicUsize>,
    streams: Arc<Mutex<Vec<TcpStream>>>,
}

impl Misleader {
    fn to(called: SocketAddr, session: SessionId) -> Misleader {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let (left, streams) = (Arc::new(AtomicUsize::new(0)), Arc::<Mutex<Vec<TcpStream>>>::default());
        let (counts, held) = (Arc::clone(&left), Arc::clone(&streams));
        thread::spawn(move || {
            for caller in listener.incoming().map(Result::unwrap) {
                let Ok(there) = TcpStream::connect(called) else { continue };
                let ends = [&caller, &caller, &there, &there].map(|stream| stream.try_clone().unwrap());
                held.lock().unwrap().extend([caller, there]);
                let [mut from_caller, mut to_caller, mut from_called, mut to_called] = ends;
                let counts = Arc::clone(&counts);
                thread::spawn(move || {
                    let mut answer = [0; ANSWER_BYTES];
                    if from_caller.read_exact(&mut answer).is_ok() {
                        let one_less = |left: usize| left.checked_sub(1);
                        if counts.fetch_update(Ordering::SeqCst, Ordering::SeqCst, one_less).is_ok() {
                            answer[SESSION_AT..][..session.len()].copy_from_slice(&session);
                        }
                        let _ = to_called.write_all(&answer).and_then(|()| copy(&mut from_caller, &mut to_called));
                    }
                    let _ = to_called.shutdown(Shutdown::Both);
                });
                thread::spawn(move || {
                    let _ = copy(&mut from_called, &mut to_caller);
                    let _ = to_caller.shutdown(Shutdown::Both);
                });
            }
        });
        Misleader { address, left, streams }
    }

    /// Changes this many further answers.
    fn mislead(&self, answers: usize) {
        self.left.store(answers, Ordering::SeqCst);
    }

    fn has_misled(&self) -> bool {
        self.left.load(Ordering::SeqCst) == 0
    }

    fn cut(&self) {
        for stream in self.streams.lock().unwrap().drain(..) {
            let _ = stream.shutdown(Shutdown::Both);
        }
    }
}

fn exchange(nets: &mut [TcpNet], mark: u8) {
    for me in [0, 1] {
        nets[me].send(1 - me, vec![mark]).unwrap();
        assert_eq!(nets[1 - me].recv(Wait::Until(Instant::now() + LONGEST)).unwrap(), Some((me, vec![mark])));
    }
}

#[test]
fn a_changed_session_in_an_answer_ends_neither_session() {
    let dir = scratch("misled");
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    drop(listener); // sessions share the port, so that they open it themselves
    let name = |name: &str| SessionName::new(name).unwrap();
    let misleader = Misleader::to(address, name("two").id());
    for me in [0, 1] {
        keygen(&dir, me).unwrap();
    }
    let config = |me: usize, session: &str| {
        // Party 1 calls by way of the misleader. Nobody calls party 1.
        let called = [address, misleader.address][me].to_string();
        let certificate = |party: usize| dir.join(format!("party{party}.crt"));
        let parties = [called, "127.0.0.1:1".into()].into_iter().zip(0..);
        let parties = parties.map(|(address, party)| PartyConfig { address, certificates: vec![certificate(party)] });
        let config = TcpConfig::new(me, parties.collect(), dir.join(format!("party{me}.key")));
        TcpConfig { session: name(session), connect_timeout: LONGEST, reconnect_timeout: LONGEST, ..config }
    };
    thread::scope(|scope| {
        let open = |me, session| {
            let config = config(me, session);
            scope.spawn(move || TcpNet::connect(&config).unwrap())
        };
        // Session two is open at party 0, which waits for party 1.
        let (one, two) = (open(0, "one"), open(0, "two"));
        thread::sleep(Duration::from_millis(500));
        misleader.mislead(2);
        let mut first = [open(1, "one"), one].map(|party| party.join().unwrap());
        first.reverse();
        assert!(misleader.has_misled());
        exchange(&mut first, 1);
        misleader.mislead(2);
        misleader.cut(); // the link is continued by calls that are led to session two, too
        exchange(&mut first, 2);
        assert!(misleader.has_misled());
        let mut second = [two, open(1, "two")].map(|party| party.join().unwrap());
        exchange(&mut second, 3);
        exchange(&mut first, 4);
    });
    std::fs::remove_dir_all(&dir).unwrap();
}
