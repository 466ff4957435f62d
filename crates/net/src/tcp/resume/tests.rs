//! Tests of `resume`: callers that are not the peer, and attempts in any order.

use std::net::{SocketAddr, TcpListener};
use std::path::PathBuf;

use super::super::hello::HELLO_BYTES;
use super::super::keys::tests::scratch;
use super::super::session::{SessionId, SessionName};
use super::super::{PartyConfig, TcpNet, keygen};
use super::*;
use crate::{Net, Wait};

/// Returns the session that the parties have open.
fn session() -> SessionId {
    SessionName::default().id()
}

/// Three parties, and everyone's keys.
struct Three {
    nets: Vec<TcpNet>,
    pinned: Vec<Pinned>,
    address: SocketAddr,
    addresses: Vec<SocketAddr>,
}

fn three(name: &str) -> Three {
    let dir: PathBuf = scratch(name);
    let listeners: Vec<TcpListener> = (0..3).map(|_| TcpListener::bind("127.0.0.1:0").unwrap()).collect();
    let addresses: Vec<SocketAddr> = listeners.iter().map(|listener| listener.local_addr().unwrap()).collect();
    let party = |i: usize| {
        keygen(&dir, i).unwrap();
        PartyConfig { address: addresses[i].to_string(), certificates: vec![dir.join(format!("party{i}.crt"))] }
    };
    let parties: Vec<PartyConfig> = (0..3).map(party).collect();
    let key = |me: usize| dir.join(format!("party{me}.key"));
    let pinned = (0..3).map(|me| Pinned::load(me, &parties, &key(me)).unwrap()).collect();
    let connecting: Vec<_> = listeners
        .into_iter()
        .enumerate()
        .map(|(me, listener)| {
            let config = TcpConfig::new(me, parties.clone(), key(me));
            let config = TcpConfig { reconnect_timeout: Duration::from_secs(10), ..config };
            thread::spawn(move || TcpNet::connect_on(&config, listener).unwrap())
        })
        .collect();
    let nets = connecting.into_iter().map(|party| party.join().unwrap()).collect();
    std::fs::remove_dir_all(&dir).unwrap();
    Three { nets, pinned, address: addresses[0], addresses }
}

impl Three {
    /// Calls party 0 with the certificate of party `who`, as party `says` with this nonce, to continue its link.
    /// Returns the verdict and the claim of party 0, if it answers.
    fn take_over(
        &self,
        who: usize,
        says: usize,
        nonce: Nonce,
        claim: &dyn Fn(&Exported) -> [u8; CLAIM_BYTES],
    ) -> Option<(Verdict, Option<Claim>)> {
        let never = AtomicBool::new(false);
        let deadline = Instant::now() + Duration::from_secs(30);
        let stream = TcpStream::connect(self.address).unwrap();
        let mut talk = Talk::call(stream, &self.pinned[who], 0, session(), deadline, &never).unwrap();
        let connection = talk.channel().exported().unwrap();
        let (version, verdict, purpose) = (VERSION, Verdict::Welcome, Purpose::Resume);
        let session = session();
        let hello = Hello {
            version,
            release: Some(Release::OURS),
            verdict,
            purpose,
            from: says,
            to: 0,
            parties: 3,
            nonce,
            session,
        }
        .encode();
        talk.say_bytes(&[&hello[..], &claim(&connection)].concat()).unwrap();
        let theirs = Hello::decode(&talk.hear_bytes::<HELLO_BYTES>().ok()?).unwrap();
        let link = self.nets[1].shared.link(0).unwrap();
        let answer = talk.hear_bytes().ok().and_then(|bytes| link.key().read(&bytes, Side::Called, &connection));
        Some((theirs.verdict, answer))
    }

    /// Returns a claim of party 1 with its own key.
    fn own(&self, attempt: u64, received: u64) -> impl Fn(&Exported) -> [u8; CLAIM_BYTES] + use<> {
        let shared = Arc::clone(&self.nets[1].shared);
        move |connection| shared.link(0).unwrap().key().write(Claim { attempt, received }, Side::Caller, connection)
    }
}

#[test]
fn only_the_process_with_the_link_takes_it_over() {
    let mut three = three("takeover");
    let [_, nonce, other] = [0, 1, 2].map(|party| three.nets[0].nonces()[party]);
    // Another party, with the right claim of party 1.
    let own = three.own(1, 0);
    assert_eq!(three.take_over(2, 1, nonce, &own), Some((Verdict::OtherNumbers, None)));
    // Party 1's certificate without the key of its link, with that of another connection, and with no nonce of it.
    assert_eq!(three.take_over(1, 1, nonce, &|_| [0; CLAIM_BYTES]), None);
    let another: Exported = [1; 32].into();
    assert_eq!(three.take_over(1, 1, nonce, &|_| own(&another)), None);
    assert_eq!(three.take_over(1, 1, other, &own), Some((Verdict::NoLink, None)));
    // Party 2 with its own link's key, as itself, does not reach the link of party 1.
    assert_eq!(three.take_over(2, 2, other, &own), None);
    assert!(three.nets[0].shared.links().all(|(_, link)| !link.is_away()));
    three.nets[1].send(0, vec![7]).unwrap();
    assert_eq!(three.nets[0].recv(Wait::Until(Instant::now() + HANDSHAKE)).unwrap(), Some((1, vec![7])));
    let first = three.nets[0].shared.link(1).unwrap().concede(Claim { attempt: 1, received: 0 });
    assert!(first.is_some(), "no attempt was accepted before");
}

#[test]
fn an_attempt_counts_once_and_the_newest_one_only() {
    let three = three("attempts");
    let nonce = three.nets[0].nonces()[1];
    let received = 4; // the sign that all are connected
    let begun = three.take_over(1, 1, nonce, &three.own(5, received)).unwrap();
    assert_eq!(begun, (Verdict::Welcome, Some(Claim { attempt: 5, received })));
    for attempt in [5, 4, 0] {
        let again = three.take_over(1, 1, nonce, &three.own(attempt, received));
        assert_eq!(again, Some((Verdict::NoLink, None)), "attempt {attempt}");
    }
    let newer = three.take_over(1, 1, nonce, &three.own(6, 1 << 40)).unwrap();
    assert_eq!(newer.0, Verdict::Welcome);
    let end = Instant::now() + HANDSHAKE;
    while three.nets[0].shared.link(1).unwrap().failure().is_none() {
        assert!(Instant::now() < end, "bytes that were never sent are acknowledged");
        thread::sleep(TICK);
    }
}

#[test]
fn a_caller_of_another_session_is_refused() {
    let (three, never) = (three("sessions"), AtomicBool::new(false));
    let stream = TcpStream::connect(three.address).unwrap();
    let mut talk = Talk::call(stream, &three.pinned[1], 0, session(), Instant::now() + HANDSHAKE * 2, &never).unwrap();
    let other = SessionName::new("other").unwrap().id();
    let (version, verdict, purpose, nonce) = (VERSION, Verdict::Welcome, Purpose::Resume, three.nonce(1));
    let hello = Hello {
        version,
        release: Some(Release::OURS),
        verdict,
        purpose,
        from: 1,
        to: 0,
        parties: 3,
        nonce,
        session: other,
    };
    talk.say(&hello).unwrap();
    assert_eq!(talk.hear().unwrap().verdict, Verdict::OtherSession);
}

#[test]
fn a_party_whose_port_refuses_for_a_second_is_gone() {
    let (mut refusals, start) = (Refusals::default(), Instant::now());
    let mut at = |millis, refused| refusals.note(refused, start + Duration::from_millis(millis));
    assert!(!at(0, true) && !at(999, true) && at(1000, true));
    assert!(!at(1100, false), "a time-out, or a connection");
    assert!(!at(1200, true) && !at(2199, true) && at(2200, true));
}

impl Three {
    /// Calls party `to` as party `from`, with this claim to their link and more bytes.
    fn call<'a>(&self, from: usize, to: usize, more: &[u8], never: &'a AtomicBool) -> Talk<'a> {
        let stream = TcpStream::connect(self.addresses[to]).unwrap();
        let mut talk =
            Talk::call(stream, &self.pinned[from], to, session(), Instant::now() + HANDSHAKE * 2, never).unwrap();
        let connection = talk.channel().exported().unwrap();
        let claim = Claim { attempt: 1, received: 0 };
        let claim = self.nets[from].shared.link(to).unwrap().key().write(claim, Side::Caller, &connection);
        let (version, verdict, purpose, nonce) = (VERSION, Verdict::Welcome, Purpose::Resume, self.nonce(from));
        let session = session();
        let hello =
            Hello { version, release: Some(Release::OURS), verdict, purpose, from, to, parties: 3, nonce, session }
                .encode();
        talk.say_bytes(&[&hello[..], &claim, more].concat()).unwrap();
        talk
    }

    fn nonce(&self, party: usize) -> Nonce {
        self.nets[0].nonces()[party]
    }
}

#[test]
fn a_caller_has_the_higher_number_and_says_no_more_than_its_claim() {
    let (three, never) = (three("callers"), AtomicBool::new(false));
    assert_eq!(three.call(0, 1, &[], &never).hear().unwrap().verdict, Verdict::OtherNumbers);
    assert!(three.call(1, 0, &[1, 0, 0, 0, 7], &never).hear().is_err());
    assert!(three.nets.iter().flat_map(|net| net.shared.links()).all(|(_, link)| !link.is_away()));
    assert_eq!(three.call(1, 0, &[], &never).hear().unwrap().verdict, Verdict::Welcome);
}

#[test]
fn a_party_has_one_handshake_at_a_time() {
    let (three, never) = (three("handshakes"), AtomicBool::new(false));
    let call = |who: usize| {
        let stream = TcpStream::connect(three.address).unwrap();
        Talk::call(stream, &three.pinned[who], 0, session(), Instant::now() + HANDSHAKE * 2, &never).unwrap()
    };
    let mut older = call(1);
    thread::sleep(Duration::from_millis(500)); // until its certificate was seen
    let (start, _newer, other) = (Instant::now(), call(1), call(2));
    assert!(older.hear().is_err());
    assert!(start.elapsed() < HANDSHAKE / 2, "{:?}", start.elapsed());
    other.stream().set_nonblocking(true).unwrap();
    assert!(matches!(other.stream().peek(&mut [0]), Err(error) if error.kind() == ErrorKind::WouldBlock));
}

#[test]
fn who_was_never_reached_is_not_said_to_be_gone() {
    let refused = Attempt::Dial(ErrorKind::ConnectionRefused);
    for (reply, is_sign) in
        [(Ok(false), true), (Err(refused), true), (Ok(true), false), (Err(Attempt::Unresolved), false)]
    {
        assert_eq!(is_sign_of_end(true, reply), is_sign, "{reply:?}");
        assert!(!is_sign_of_end(false, reply), "{reply:?}");
    }
}

/// Something else than the party may answer at an address that was never reached.
#[test]
fn only_an_address_that_was_reached_says_that_a_party_is_gone() {
    let refused = || Err(Attempt::Dial(ErrorKind::ConnectionRefused));
    let signs = [refused(), Ok(false), Ok(true), Err(Attempt::Dial(ErrorKind::TimedOut))];
    assert_eq!(signs.map(|sign| is_sign_of_end(true, sign)), [true, true, false, false]);
    assert!(!is_sign_of_end(false, refused()) && !is_sign_of_end(false, Ok(false)));
}
