//! New connections for links that lost theirs. The party that dialled at first dials again, with pauses in between; the
//! other party listens for it.
//!
//! ```text
//!   caller                            called
//!   challenge, answer, TLS: as for a first connection
//!   hello (resume), claim  ─────────►  checks the claim; gives its old connection up
//!                          ◄─────────  hello (welcome), claim
//!   both continue at the byte that the other's claim names
//! ```
//! A claim is proven with the key of the link's first connection, and names its sender's position (see `claim`). Every
//! attempt has a number. The called party continues the newest attempt only: it states its position after it has given
//! up all earlier connections, so no byte arrives twice.
//!
//! A party is gone, so that its link fails at once, if its port refuses connections or if another process has its
//! certificate. The called party finds this out by connecting to the caller's address, without a word; it believes a
//! refusal only if the address could be reached while the link was connected.

use std::io::ErrorKind;
use std::net::{Shutdown, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use mio::{Events, Interest, Poll, Token, Waker};

use super::callers::{Caller, Guests, Handshakes, WaitingRoom};
use super::claim::{CLAIM_BYTES, Claim, Exported, Side};
use super::connect::certified;
use super::draws::Backoff;
use super::handshake::{Broken, Talk};
use super::hello::{Hello, Nonce, Purpose, VERSION, Verdict};
use super::names::call;
use super::pinned::Pinned;
use super::service::Shared;
use super::{TcpConfig, io_error};
use crate::{Attempt, NetError};

/// The first and the longest pause between two attempts. The longest one is short, since attempts may be cut, too.
const AGAIN: [Duration; 2] = [Duration::from_millis(10), Duration::from_millis(250)];
/// The number of refusals in a row after which a party counts as gone, and the pause between them.
const REFUSALS: usize = 2;
const BETWEEN_REFUSALS: Duration = Duration::from_millis(100);
/// The number of heartbeats that may be missing while a peer still counts as there.
const ALIVE_BEATS: u32 = 4;
/// The time-out of one attempt after its connection was made.
const HANDSHAKE: Duration = Duration::from_secs(5);
/// The interval at which callers are looked at while some have not spoken.
const TICK: Duration = Duration::from_millis(2);

const CALLS: Token = Token(0);
const STOP: Token = Token(1);

/// A party's side of resuming its links.
pub(crate) struct Resumer {
    pub(crate) config: TcpConfig,
    pub(crate) pinned: Pinned,
    pub(crate) nonces: Vec<Nonce>,
    pub(crate) guests: Guests,
    pub(crate) shared: Arc<Shared>,
    /// Whether each party's address could be reached while the links were connected.
    reached: Vec<AtomicBool>,
    handshakes: Handshakes,
}

/// The thread that listens for peers, and what ends its wait.
pub(crate) struct Listening {
    thread: JoinHandle<()>,
    waker: Waker,
}

impl Listening {
    /// Ends the thread. The links' threads were told to stop before.
    pub(crate) fn end(self) {
        let _ = self.waker.wake();
        let _ = self.thread.join();
    }
}

/// The end of the attempts to continue a link.
enum End {
    /// Try again.
    Again,
    /// The peer's process is gone.
    Gone,
    /// The link has a connection, or has failed.
    Over,
}

impl From<Broken> for End {
    fn from(_: Broken) -> End {
        End::Again
    }
}

impl Resumer {
    /// Prepares to resume links.
    ///
    /// # Errors
    /// [`NetError::Io`] if the system has no randomness.
    pub(crate) fn new(
        config: TcpConfig,
        pinned: Pinned,
        nonces: Vec<Nonce>,
        guests: Guests,
        shared: Arc<Shared>,
    ) -> Result<Self, NetError> {
        let reached = nonces.iter().map(|_| AtomicBool::new(false)).collect();
        Ok(Resumer { config, pinned, nonces, guests, shared, reached, handshakes: Handshakes::new()? })
    }

    fn stopped(&self) -> bool {
        self.shared.stop.load(Ordering::Relaxed)
    }

    /// Starts a thread that looks after a link without a connection.
    pub(crate) fn tend(self: &Arc<Self>, peer: usize) {
        let this = Arc::clone(self);
        let tend = move || match peer < this.config.me {
            true => this.dial(peer),
            false => this.watch(peer),
        };
        // Without a thread, the link fails when its time is over.
        let _ = thread::Builder::new().name("quorate-resume".into()).spawn(tend);
    }

    // --- the side that dials

    fn dial(&self, peer: usize) {
        let Ok(mut backoff) = Backoff::new(AGAIN[0], AGAIN[1]) else { return };
        let mut refusals = 0;
        while !self.stopped() && self.is_away(peer) {
            let end = match call(&self.config.parties[peer].address, &|| self.stopped()) {
                Ok(stream) => {
                    refusals = 0;
                    self.attempt(stream, peer).unwrap_or_else(End::from)
                }
                Err(Attempt::Dial(ErrorKind::ConnectionRefused)) => {
                    refusals += 1;
                    if refusals >= REFUSALS { End::Gone } else { End::Again }
                }
                Err(_) => End::Again,
            };
            match end {
                End::Again if refusals > 0 => self.sleep(BETWEEN_REFUSALS),
                End::Again => self.sleep(backoff.pause()),
                End::Gone => return self.end(peer),
                End::Over => return,
            }
        }
    }

    /// Tries to continue the link over this connection.
    fn attempt(&self, stream: TcpStream, peer: usize) -> Result<End, Broken> {
        let mut talk = Talk::call(stream, &self.pinned, peer, Instant::now() + HANDSHAKE, &self.shared.stop)?;
        let connection = talk.channel().exported().ok_or(Broken::Stranger)?;
        let Some((claim, bytes)) = self.claim(peer, &connection) else { return Ok(End::Over) };
        talk.say_bytes(&[&self.hello(peer, Verdict::Welcome).encode()[..], &bytes].concat())?;
        let theirs = talk.hear()?;
        match theirs.verdict {
            Verdict::NoLink => return Ok(End::Gone),
            Verdict::Welcome if theirs.purpose == Purpose::Resume => {}
            _ => return Ok(End::Again),
        }
        let answer = self.check_claim(peer, &talk.hear_bytes()?, Side::Called, &connection)?;
        if answer.attempt != claim.attempt {
            return Err(Broken::Stranger);
        }
        self.shared.resume(peer, talk.establish()?, answer);
        Ok(End::Over)
    }

    fn claim(&self, peer: usize, connection: &Exported) -> Option<(Claim, [u8; CLAIM_BYTES])> {
        let mut link = self.shared.link(peer)?;
        let claim = link.claim()?;
        Some((claim, link.key().write(claim, Side::Caller, connection)))
    }

    fn check_claim(
        &self,
        peer: usize,
        bytes: &[u8; CLAIM_BYTES],
        side: Side,
        connection: &Exported,
    ) -> Result<Claim, Broken> {
        let link = self.shared.link(peer).ok_or(Broken::Stranger)?;
        link.key().read(bytes, side, connection).ok_or(Broken::Stranger)
    }

    // --- the side that is called

    /// Looks whether the process of a party that dials is gone, while its link is away.
    fn watch(&self, peer: usize) {
        let Ok(mut backoff) = Backoff::new(BETWEEN_REFUSALS, AGAIN[1]) else { return };
        let mut refusals = 0;
        while !self.stopped() && self.is_away(peer) {
            let reached = self.reached[peer].load(Ordering::Relaxed);
            let called = call(&self.config.parties[peer].address, &|| self.stopped());
            let refused = matches!(called, Err(Attempt::Dial(ErrorKind::ConnectionRefused)));
            refusals = if refused && reached { refusals + 1 } else { 0 };
            if refusals >= REFUSALS {
                return self.end(peer);
            }
            self.sleep(if refused { BETWEEN_REFUSALS } else { backoff.pause() });
        }
    }

    /// Listens for the peers that dial, and notes which of them can be reached.
    ///
    /// # Errors
    /// [`NetError::Io`].
    pub(crate) fn listen(self: &Arc<Self>, listener: TcpListener) -> Result<Listening, NetError> {
        let failed = |error| io_error("listening for peers", error);
        let poll = Poll::new().map_err(failed)?;
        let waker = Waker::new(poll.registry(), STOP).map_err(failed)?;
        let mut calls = mio::net::TcpListener::from_std(listener.try_clone().map_err(failed)?);
        poll.registry().register(&mut calls, CALLS, Interest::READABLE).map_err(failed)?;
        let this = Arc::clone(self);
        let thread = thread::Builder::new().name("quorate-calls".into());
        let thread = thread.spawn(move || {
            let _registered = calls;
            this.accept_all(&listener, poll);
        });
        Ok(Listening { thread: thread.map_err(failed)?, waker })
    }

    fn accept_all(&self, listener: &TcpListener, mut poll: Poll) {
        let (keys, mut events) = (self.pinned.answer_keys(), Events::with_capacity(16));
        let Ok(mut waiting) = WaitingRoom::new(&keys, &self.guests) else { return };
        let mut numbers = 0..;
        thread::scope(|scope| {
            scope.spawn(|| self.reach_all());
            while !self.stopped() {
                let (spoke, more) = waiting.admit(listener);
                for (caller, number) in spoke.into_iter().zip(&mut numbers) {
                    self.handshakes.begin(number, &caller);
                    scope.spawn(move || {
                        let _ = self.answer(caller, number);
                        self.handshakes.end(number);
                    });
                }
                let pause = match (more, waiting.is_empty()) {
                    (true, _) => Some(Duration::ZERO),
                    (false, false) => Some(TICK),
                    (false, true) => None,
                };
                if poll.poll(&mut events, pause).is_err_and(|error| error.kind() != ErrorKind::Interrupted) {
                    return;
                }
            }
        });
    }

    fn reach_all(&self) {
        for (peer, party) in self.config.parties.iter().enumerate().skip(self.config.me + 1) {
            if let Ok(stream) = call(&party.address, &|| self.stopped()) {
                self.reached[peer].store(true, Ordering::Relaxed);
                let _ = stream.shutdown(Shutdown::Both);
            }
        }
    }

    /// Answers a caller that may be a peer whose link is away.
    fn answer(&self, caller: Caller, number: u64) -> Result<(), Broken> {
        let deadline = Instant::now() + HANDSHAKE;
        let mut talk = Talk::answer(caller.stream, &self.pinned, deadline, &self.shared.stop)?;
        let peer = certified(&self.pinned, talk.channel())?;
        self.handshakes.end(number);
        let theirs = talk.hear()?;
        if theirs.version != VERSION {
            return self.refuse(talk, peer, Verdict::OtherVersion);
        }
        if theirs.from != peer || theirs.to != self.config.me {
            return self.refuse(talk, peer, Verdict::OtherNumbers);
        }
        if theirs.purpose != Purpose::Resume {
            if self.is_alive(peer) {
                return self.refuse(talk, peer, Verdict::Duplicate);
            }
            // Another process, or the next session: it calls again until this one has ended.
            if theirs.nonce != self.nonces[peer] {
                self.end(peer);
            }
            return Err(Broken::Stranger);
        }
        let connection = talk.channel().exported().ok_or(Broken::Stranger)?;
        let bytes = talk.hear_bytes()?;
        if theirs.nonce != self.nonces[peer] {
            return self.refuse(talk, peer, Verdict::NoLink);
        }
        let claim = self.check_claim(peer, &bytes, Side::Caller, &connection)?;
        let Some(answer) = self.concede(peer, claim, &connection) else {
            return self.refuse(talk, peer, Verdict::NoLink);
        };
        talk.say_bytes(&[&self.hello(peer, Verdict::Welcome).encode()[..], &answer].concat())?;
        self.shared.resume(peer, talk.establish()?, claim);
        Ok(())
    }

    /// Gives up the link's old connection for a new one. `None` if the link has failed.
    fn concede(&self, peer: usize, claim: Claim, connection: &Exported) -> Option<[u8; CLAIM_BYTES]> {
        let mut link = self.shared.link(peer)?;
        let answer = link.concede(claim)?;
        Some(link.key().write(answer, Side::Called, connection))
    }

    fn refuse(&self, mut talk: Talk<'_>, peer: usize, verdict: Verdict) -> Result<(), Broken> {
        talk.say(&self.hello(peer, verdict))?;
        talk.hang_up();
        Ok(())
    }

    // --- both sides

    fn hello(&self, to: usize, verdict: Verdict) -> Hello {
        let (me, parties) = (self.config.me, self.config.parties.len());
        Hello { version: VERSION, verdict, purpose: Purpose::Resume, from: me, to, parties, nonce: self.nonces[me] }
    }

    fn is_away(&self, peer: usize) -> bool {
        self.shared.link(peer).is_some_and(|link| link.is_away())
    }

    /// Returns whether the peer is certainly there: its process holds the other end of the link.
    fn is_alive(&self, peer: usize) -> bool {
        self.shared.link(peer).is_some_and(|link| link.is_alive(self.shared.heartbeat * ALIVE_BEATS))
    }

    fn end(&self, peer: usize) {
        if let Some(mut link) = self.shared.link(peer)
            && link.is_away()
        {
            link.end();
        }
        self.shared.wake();
    }

    fn sleep(&self, pause: Duration) {
        let end = Instant::now() + pause;
        while !self.stopped() && Instant::now() < end {
            thread::sleep(TICK.min(end.saturating_duration_since(Instant::now())));
        }
    }
}

#[cfg(test)]
mod tests {
    use std::net::SocketAddr;
    use std::path::PathBuf;

    use super::super::hello::HELLO_BYTES;
    use super::super::keys::tests::scratch;
    use super::super::{PartyConfig, TcpNet, keygen};
    use super::*;
    use crate::{Net, Wait};

    /// Three parties, and everyone's keys.
    struct Three {
        nets: Vec<TcpNet>,
        pinned: Vec<Pinned>,
        address: SocketAddr,
    }

    fn three(name: &str) -> Three {
        let dir: PathBuf = scratch(name);
        let listeners: Vec<TcpListener> = (0..3).map(|_| TcpListener::bind("127.0.0.1:0").unwrap()).collect();
        let addresses: Vec<SocketAddr> = listeners.iter().map(|listener| listener.local_addr().unwrap()).collect();
        let party = |i: usize| {
            keygen(&dir, i).unwrap();
            PartyConfig { address: addresses[i].to_string(), certificate: dir.join(format!("party{i}.crt")) }
        };
        let parties: Vec<PartyConfig> = (0..3).map(party).collect();
        let key = |me: usize| dir.join(format!("party{me}.key"));
        let pinned = (0..3).map(|me| Pinned::load(me, &parties, &key(me)).unwrap()).collect();
        let connecting: Vec<_> = listeners
            .into_iter()
            .enumerate()
            .map(|(me, listener)| {
                let config = TcpConfig::new(me, parties.clone(), key(me));
                thread::spawn(move || TcpNet::connect_on(&config, listener).unwrap())
            })
            .collect();
        let nets = connecting.into_iter().map(|party| party.join().unwrap()).collect();
        std::fs::remove_dir_all(&dir).unwrap();
        Three { nets, pinned, address: addresses[0] }
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
            let mut talk = Talk::call(stream, &self.pinned[who], 0, deadline, &never).unwrap();
            let connection = talk.channel().exported().unwrap();
            let (version, verdict, purpose) = (VERSION, Verdict::Welcome, Purpose::Resume);
            let hello = Hello { version, verdict, purpose, from: says, to: 0, parties: 3, nonce }.encode();
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
}
