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
//! A party is gone, so that its link fails, if its port refuses connections for a second or if another process has its
//! certificate. A reply that the session is not open counts as a refused connection. The called party calls the
//! caller's address to find this out. It relies on a refusal or a reply only if it reached the address while the link
//! was connected.

use std::io::ErrorKind;
use std::net::{Shutdown, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::Receiver;
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use super::callers::{Caller, Handshakes};
use super::claim::{CLAIM_BYTES, Claim, Exported, Side};
use super::connect::certified;
use super::door::Door;
use super::draws::Backoff;
use super::handshake::{Broken, Talk, ask};
use super::hello::{Hello, Nonce, Purpose, VERSION, Verdict};
use super::knock::Status;
use super::names::call;
use super::pinned::Pinned;
use super::service::Shared;
use super::{TcpConfig, io_error};
use crate::{Attempt, NetError, Release};

/// The first and the longest pause between two attempts. The longest one is short, since attempts may be cut, too.
const AGAIN: [Duration; 2] = [Duration::from_millis(10), Duration::from_millis(250)];
/// The first and the longest pause before the called party looks whether the other one is there.
const LOOK: [Duration; 2] = [Duration::from_millis(100), Duration::from_millis(250)];
/// The time after which a party counts as gone if its port refuses all connections.
const REFUSED: Duration = Duration::from_secs(1);
/// The number of heartbeats for which a peer still counts as there, and within which it has to give a sign.
const ALIVE_BEATS: u32 = 4;
/// The time-out of one attempt after its connection was made.
const HANDSHAKE: Duration = Duration::from_secs(5);
/// The interval at which a pause looks whether it should end.
const TICK: Duration = Duration::from_millis(2);
/// A party's side of resuming its links.
pub(crate) struct Resumer {
    pub(crate) config: TcpConfig,
    /// The certificates that the peers showed when they met.
    pub(crate) pinned: Pinned,
    pub(crate) nonces: Vec<Nonce>,
    pub(crate) shared: Arc<Shared>,
    /// Whether each party's address could be reached while the links were connected.
    reached: Vec<AtomicBool>,
    handshakes: Handshakes,
    /// The handshake of each party that has shown its certificate.
    talking: Vec<Mutex<Option<(u64, TcpStream)>>>,
    /// Whether a thread looks after each link.
    tending: Vec<AtomicBool>,
}

/// The only handshake of a party that has shown its certificate: a newer one ends an older one, so that one party
/// cannot use up threads and sockets.
struct OnlyTalk<'a>(&'a Mutex<Option<(u64, TcpStream)>>, u64);

impl<'a> OnlyTalk<'a> {
    fn begin(talking: &'a Mutex<Option<(u64, TcpStream)>>, number: u64, stream: &TcpStream) -> Self {
        let mut held = talking.lock().unwrap_or_else(PoisonError::into_inner);
        let newer = stream.try_clone().ok().map(|stream| (number, stream));
        if let Some((_, older)) = std::mem::replace(&mut *held, newer) {
            // Its thread reads the end of the connection and ends.
            let _ = older.shutdown(Shutdown::Both);
        }
        OnlyTalk(talking, number)
    }
}

impl Drop for OnlyTalk<'_> {
    fn drop(&mut self) {
        let mut held = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        held.take_if(|(number, _)| *number == self.1);
    }
}

/// The refused connections in a row, after which a party is gone.
#[derive(Default)]
struct Refusals {
    since: Option<Instant>,
}

impl Refusals {
    /// Notes whether a connection was refused. Returns whether the party is gone.
    fn note(&mut self, refused: bool, now: Instant) -> bool {
        if !refused {
            self.since = None;
            return false;
        }
        now.duration_since(*self.since.get_or_insert(now)) >= REFUSED
    }
}

/// The thread that answers peers, and their way to it.
pub(crate) struct Listening {
    thread: JoinHandle<()>,
    door: Door,
}

impl Listening {
    /// Says that the session is leaving: the next one of its name waits for its end.
    pub(crate) fn leave(&self) {
        self.door.leave();
    }

    /// Ends the thread. The links' threads were told to stop before.
    pub(crate) fn end(self) {
        drop(self.door); // no more callers
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

impl Resumer {
    /// Prepares to resume links.
    ///
    /// # Errors
    /// [`NetError::Io`] if the system has no randomness.
    pub(crate) fn new(
        config: TcpConfig,
        pinned: Pinned,
        nonces: Vec<Nonce>,
        shared: Arc<Shared>,
    ) -> Result<Self, NetError> {
        let reached = nonces.iter().map(|_| AtomicBool::new(false)).collect();
        let talking = nonces.iter().map(|_| Mutex::new(None)).collect();
        let tending = nonces.iter().map(|_| AtomicBool::new(false)).collect();
        let handshakes = Handshakes::new()?;
        Ok(Resumer { config, pinned, nonces, shared, reached, handshakes, talking, tending })
    }

    fn stopped(&self) -> bool {
        self.shared.stop.load(Ordering::Relaxed)
    }

    /// Starts a thread that looks after a link without a connection, if there is none for it.
    pub(crate) fn tend(self: &Arc<Self>, peer: usize) {
        if self.tending[peer].swap(true, Ordering::SeqCst) {
            return;
        }
        let this = Arc::clone(self);
        let tend = move || {
            loop {
                match peer < this.config.me {
                    true => this.dial(peer),
                    false => this.watch(peer),
                }
                this.tending[peer].store(false, Ordering::SeqCst);
                // The connection may have been lost again while this thread still counted.
                if this.stopped() || !this.is_away(peer) || this.tending[peer].swap(true, Ordering::SeqCst) {
                    return;
                }
            }
        };
        // Without a thread, the link fails when its time is over.
        if thread::Builder::new().name("quorate-resume".into()).spawn(tend).is_err() {
            self.tending[peer].store(false, Ordering::SeqCst);
        }
    }

    // --- the side that dials

    fn dial(&self, peer: usize) {
        let Ok(mut backoff) = Backoff::new(AGAIN[0], AGAIN[1]) else { return self.end(peer) };
        let mut refusals = Refusals::default();
        while !self.stopped() && self.is_away(peer) {
            let called = call(&self.config.parties[peer].address, &|| self.stopped());
            let (refused, end) = match called {
                Ok(stream) => match self.attempt(stream, peer) {
                    Ok(end) => (false, end),
                    Err(broken) => (matches!(broken, Broken::NotOpen { .. }), End::Again),
                },
                Err(attempt) => (is_refusal(attempt), End::Again),
            };
            let gone = refusals.note(refused, Instant::now());
            match end {
                End::Again if gone => return self.end(peer),
                End::Again => self.sleep(backoff.pause()),
                End::Gone => return self.end(peer),
                End::Over => return,
            }
        }
    }

    /// Tries to continue the link over this connection.
    fn attempt(&self, stream: TcpStream, peer: usize) -> Result<End, Broken> {
        let (session, deadline) = (self.config.session.id(), Instant::now() + HANDSHAKE);
        let mut talk = Talk::call(stream, &self.pinned, peer, session, deadline, &self.shared.stop)?;
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
        let Ok(mut backoff) = Backoff::new(LOOK[0], LOOK[1]) else { return self.end(peer) };
        let (mut refusals, mut last) = (Refusals::default(), None);
        loop {
            self.sleep(backoff.pause());
            let Some(since) = self.away_since(peer).filter(|_| !self.stopped()) else { return };
            if last.replace(since) != Some(since) {
                refusals = Refusals::default(); // the link was continued in between
            }
            let reached = self.reached[peer].load(Ordering::Relaxed);
            let refused = is_sign_of_end(reached, self.is_open_at(peer));
            if refusals.note(refused, Instant::now()) {
                return self.end_since(peer, since);
            }
        }
    }

    /// Returns whether a party has this session open; true also if it does not reply.
    fn is_open_at(&self, peer: usize) -> Result<bool, Attempt> {
        let stream = call(&self.config.parties[peer].address, &|| self.stopped())?;
        let (session, deadline) = (self.config.session.id(), Instant::now() + HANDSHAKE);
        let reply = ask(stream, &self.pinned, peer, session, deadline, &self.shared.stop);
        Ok(reply.map_or(true, |status| status == Status::Open))
    }

    /// Answers the peers that dial, and notes which of them can be reached.
    ///
    /// # Errors
    /// [`NetError::Io`].
    pub(crate) fn listen(self: &Arc<Self>, door: Door, callers: Receiver<Caller>) -> Result<Listening, NetError> {
        let (this, thread) = (Arc::clone(self), thread::Builder::new().name("quorate-answers".into()));
        let thread = thread.spawn(move || this.answer_all(&callers));
        Ok(Listening { thread: thread.map_err(|error| io_error("starting a thread", error))?, door })
    }

    /// Answers callers until the door is closed.
    fn answer_all(&self, callers: &Receiver<Caller>) {
        thread::scope(|scope| {
            // Without a thread, no party counts as reached, and none is gone because its port refuses.
            let _ = thread::Builder::new().spawn_scoped(scope, || self.reach_all());
            for (caller, number) in callers.iter().zip(0..) {
                self.handshakes.begin(number, &caller);
                let answer = move || {
                    let _ = self.answer(caller, number);
                    self.handshakes.end(number);
                };
                // Without a thread, the caller is dropped, and calls again.
                if thread::Builder::new().spawn_scoped(scope, answer).is_err() {
                    self.handshakes.end(number);
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
        let mut talk = Talk::answer(caller.stream, &caller.reply, &self.pinned, deadline, &self.shared.stop)?;
        let peer = certified(&self.pinned, talk.channel())?;
        let _only = self.talking.get(peer).map(|talking| OnlyTalk::begin(talking, number, talk.stream()));
        self.handshakes.end(number);
        let theirs = talk.hear()?;
        if theirs.version != VERSION {
            return self.refuse(talk, peer, Verdict::OtherVersion);
        }
        if theirs.session != self.config.session.id() {
            return self.refuse(talk, peer, Verdict::OtherSession);
        }
        if theirs.from != peer || theirs.to != self.config.me || peer <= self.config.me {
            return self.refuse(talk, peer, Verdict::OtherNumbers);
        }
        if theirs.purpose != Purpose::Resume {
            if self.speaks(peer) {
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
        // An honest caller says nothing more until it is answered.
        if !talk.has_heard_all() {
            return Err(Broken::Stranger);
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
        let (purpose, nonce, session) = (Purpose::Resume, self.nonces[me], self.config.session.id());
        let release = Some(Release::OURS);
        Hello { version: VERSION, release, verdict, purpose, from: me, to, parties, nonce, session }
    }

    fn is_away(&self, peer: usize) -> bool {
        self.away_since(peer).is_some()
    }

    fn away_since(&self, peer: usize) -> Option<Instant> {
        self.shared.link(peer)?.away_since()
    }

    /// Waits for a sign that the process which holds the other end of the link is there. Returns whether one came: a
    /// process that vanished a moment ago sends none.
    fn speaks(&self, peer: usize) -> bool {
        let (asked, patience) = (Instant::now(), self.shared.heartbeat * ALIVE_BEATS);
        while !self.stopped() && asked.elapsed() < patience {
            let Some(link) = self.shared.link(peer) else { return false };
            if !link.is_alive(patience) {
                return false;
            }
            if link.heard_within(asked.elapsed()) {
                return true;
            }
            drop(link);
            thread::sleep(TICK);
        }
        false
    }

    fn end(&self, peer: usize) {
        if let Some(since) = self.away_since(peer) {
            self.end_since(peer, since);
        }
    }

    /// Fails a link that is away, unless it was continued in between.
    fn end_since(&self, peer: usize, since: Instant) {
        if let Some(mut link) = self.shared.link(peer)
            && link.away_since() == Some(since)
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

/// Returns whether a party's address says that its process is gone: only if it was `reached` while there was a link.
/// Otherwise something else may answer there.
fn is_sign_of_end(reached: bool, is_open: Result<bool, Attempt>) -> bool {
    reached && is_open.map_or_else(is_refusal, |is_open| !is_open)
}

fn is_refusal(attempt: Attempt) -> bool {
    attempt == Attempt::Dial(ErrorKind::ConnectionRefused)
}

#[cfg(test)]
mod tests;
