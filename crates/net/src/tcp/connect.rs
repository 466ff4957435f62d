//! The connections of a party. Every pair of parties gets one: the party with the higher number dials, again and again
//! until the other is there. Calls of strangers are ignored, whatever their number (see `callers`). A wrong
//! certificate, version or number is a specific error.

use std::io::ErrorKind;
use std::net::{SocketAddr, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError, Sender};
use std::sync::{Mutex, PoisonError};
use std::thread::{self, Scope};
use std::time::{Duration, Instant};

use rustls::pki_types::CertificateDer;

use super::TcpConfig;
use super::callers::{Caller, Guests, Handshakes};
use super::channel::Channel;
use super::draws::Backoff;
use super::handshake::{Broken, Talk, ask};
use super::hello::{Hello, Nonce, Purpose, VERSION, Verdict};
use super::knock::Status;
use super::link::Established;
use super::names::{call, numeric, resolve};
use super::pinned::{PROTOCOL, Pinned};
use crate::{Attempt, NetError, Place, Refusal, Release};

/// The interval at which the threads check for news.
const TICK: Duration = Duration::from_millis(5);
/// The first and the longest pause between two calls to a peer that is not there yet.
pub(crate) const REDIAL: [Duration; 2] = [Duration::from_millis(50), Duration::from_secs(1)];
/// The first and the longest pause between two look-ups of the names of peers, whose addresses have reserved places.
const LOOK_UP: [Duration; 2] = [Duration::from_secs(1), Duration::from_secs(30)];
/// The first and the longest pause between two questions to the parties that have not called.
const ASK: [Duration; 2] = [Duration::from_millis(500), Duration::from_secs(5)];
/// The time-out of a caller's handshake, once it has begun.
const CALLER: Duration = Duration::from_secs(10);

/// Connects with every peer; element i is the connection to party i, none for this party.
pub(crate) fn connect_all(
    config: &TcpConfig,
    callers: &mut Receiver<Caller>,
    pinned: &Pinned,
    nonce: Nonce,
    guests: &Guests,
    deadline: Instant,
) -> Result<Vec<Option<Met>>, NetError> {
    let (news, arrivals) = mpsc::channel();
    let meeting = Meeting {
        config,
        pinned,
        nonce,
        deadline,
        stop: AtomicBool::new(false),
        callers: Handshakes::new()?,
        guests,
        claims: Mutex::new((0..config.parties.len()).map(|_| None).collect()),
    };
    thread::scope(|scope| {
        let meeting = &meeting;
        if config.me + 1 < config.parties.len() {
            let (acceptor, asks) = (news.clone(), news.clone());
            scope.spawn(|| meeting.look_up_guests());
            scope.spawn(move || meeting.accept_all(scope, callers, &acceptor));
            scope.spawn(move || meeting.ask_around(&asks));
        }
        for peer in 0..config.me {
            let news = news.clone();
            scope.spawn(move || meeting.dial(peer, &news));
        }
        drop(news);
        let result = meeting.collect(&arrivals);
        meeting.stop.store(true, Ordering::Relaxed);
        result
    })
}

/// A peer that this party is connected with.
pub(crate) struct Met {
    pub(crate) link: Established,
    /// The certificate that it showed.
    pub(crate) certificate: CertificateDer<'static>,
    pub(crate) nonce: Nonce,
    /// Whether the peer continues links over other connections.
    pub(crate) resumes: bool,
}

impl Met {
    fn new(talk: Talk<'_>, theirs: &Hello) -> Result<Met, Broken> {
        let certificate = talk.channel().peer_certificate().ok_or(Broken::Stranger)?.clone().into_owned();
        let (nonce, resumes) = (theirs.nonce, theirs.purpose == Purpose::First);
        Ok(Met { link: talk.establish()?, certificate, nonce, resumes })
    }
}

/// The reports of the threads.
enum News {
    Connected(usize, Box<Met>),
    Tried(usize, Attempt),
    /// A caller was refused that may or may not be the missing peer.
    Refused(NetError),
    Failed(NetError),
}

struct Meeting<'a> {
    config: &'a TcpConfig,
    pinned: &'a Pinned,
    nonce: Nonce,
    deadline: Instant,
    stop: AtomicBool,
    callers: Handshakes,
    guests: &'a Guests,
    /// The nonce and the connection of the caller that called as each party.
    claims: Mutex<Vec<Option<(Nonce, TcpStream)>>>,
}

impl Meeting<'_> {
    fn collect(&self, arrivals: &mpsc::Receiver<News>) -> Result<Vec<Option<Met>>, NetError> {
        let (me, parties) = (self.config.me, self.config.parties.len());
        let started = Instant::now();
        let mut links: Vec<Option<Met>> = (0..parties).map(|_| None).collect();
        let mut last = vec![Attempt::NeverCalled; parties];
        let mut refused = None;
        let mut came = vec![false; parties];
        came[me] = true;
        loop {
            if let Some(peer) = links.iter().position(has_gone) {
                // A caller that gave up may call again; a party that this one called is gone.
                if peer < me {
                    let known = self.unresolved(&last).or(self.not_opened(&last, &came, started.elapsed()));
                    return Err(known.unwrap_or_else(|| self.gone(peer, &came)));
                }
                links[peer] = None;
                continue;
            }
            // A party that never came is named before one that came and gave up waiting for it.
            let never = came.iter().position(|came| !came);
            let again = (0..parties).find(|&peer| peer != me && links[peer].is_none());
            let Some(peer) = never.or(again) else { return Ok(links) };
            if self.config.stop.as_ref().is_some_and(|stop| stop.load(Ordering::Relaxed)) {
                return Err(NetError::Interrupted);
            }
            match arrivals.recv_timeout(TICK) {
                Ok(News::Connected(peer, met)) => {
                    came[peer] = true;
                    links[peer] = Some(*met);
                }
                Ok(News::Tried(peer, attempt)) => last[peer] = last[peer].followed_by(attempt),
                Ok(News::Refused(error)) => refused = Some(error),
                Ok(News::Failed(error)) => return Err(error),
                Err(RecvTimeoutError::Timeout | RecvTimeoutError::Disconnected) => {}
            }
            if Instant::now() >= self.deadline {
                let (address, waited) = (self.config.parties[peer].address.clone(), started.elapsed());
                let timeout = NetError::ConnectTimeout { peer, address, waited, last: last[peer] };
                let known = refused.or(self.unresolved(&last)).or(self.not_opened(&last, &came, waited));
                return Err(known.unwrap_or(timeout));
            }
        }
    }

    /// Returns the error for parties that run or ran, and have not opened the session.
    fn not_opened(&self, last: &[Attempt], came: &[bool], waited: Duration) -> Option<NetError> {
        let replies = last.iter().zip(came).enumerate().filter_map(|(peer, (last, came))| match last {
            Attempt::NotOpen { other_options, gone } if !came => Some((peer, *other_options, *gone)),
            _ => None,
        });
        let replies: Vec<(usize, bool, bool)> = replies.collect();
        let (parties, session) = (replies.iter().map(|reply| reply.0).collect(), self.config.session.to_string());
        let other_options = replies.iter().any(|reply| reply.1);
        let gone = replies.iter().any(|reply| reply.2);
        (!replies.is_empty()).then_some(NetError::NotOpened { parties, session, waited, other_options, gone })
    }

    /// Returns the error for the first party whose name did not resolve at the last call.
    fn unresolved(&self, last: &[Attempt]) -> Option<NetError> {
        let party = last.iter().position(|attempt| *attempt == Attempt::Unresolved)?;
        Some(NetError::Unresolved { party, address: self.config.parties[party].address.clone() })
    }

    /// Returns the error for a party that this one called and that has left.
    fn gone(&self, peer: usize, came: &[bool]) -> NetError {
        let place = Place::at(&self.config.parties[peer].address);
        match came.iter().position(|came| !came) {
            Some(missing) => NetError::LeftEarly { peer, place, missing },
            None => NetError::Lost { peer, place, tried: Duration::ZERO },
        }
    }

    // --- the side that is called

    /// Looks up the addresses of the parties that call this one.
    fn look_up_guests(&self) {
        let stopped = || self.stop.load(Ordering::Relaxed);
        let Ok(mut backoff) = Backoff::new(LOOK_UP[0], LOOK_UP[1]) else { return };
        let callers = || self.config.parties.iter().skip(self.config.me + 1);
        while !stopped() {
            let mut names = false;
            for party in callers() {
                names |= numeric(&party.address).is_none();
                let found = resolve(&party.address, &stopped).unwrap_or_default();
                self.guests.add(found.iter().map(SocketAddr::ip));
            }
            if !names {
                return;
            }
            self.sleep(backoff.pause());
        }
    }

    fn accept_all<'scope>(
        &'scope self,
        scope: &'scope Scope<'scope, '_>,
        callers: &mut Receiver<Caller>,
        news: &Sender<News>,
    ) {
        let mut numbers = 0..;
        while !self.stop.load(Ordering::Relaxed) {
            let Ok(caller) = callers.recv_timeout(TICK) else { continue };
            let (Some(number), news) = (numbers.next(), news.clone()) else { return };
            self.callers.begin(number, &caller);
            scope.spawn(move || {
                self.answer(caller, number, &news);
                self.callers.end(number);
            });
        }
    }

    /// Asks the parties that call this one, and have not come yet, whether they have opened the session: a party whose
    /// script was not started may run others.
    fn ask_around(&self, news: &Sender<News>) {
        let Ok(mut backoff) = Backoff::new(ASK[0], ASK[1]) else { return };
        let stopped = || self.stop.load(Ordering::Relaxed);
        loop {
            self.sleep(backoff.pause());
            if stopped() || Instant::now() >= self.deadline {
                return;
            }
            for (peer, party) in self.config.parties.iter().enumerate().skip(self.config.me + 1) {
                let came = self.claims.lock().unwrap_or_else(PoisonError::into_inner)[peer].is_some();
                let Some(stream) = (!came).then(|| call(&party.address, &stopped).ok()).flatten() else { continue };
                let deadline = self.deadline.min(Instant::now() + CALLER);
                let attempt = match ask(stream, self.pinned, peer, self.config.session.id(), deadline, &self.stop) {
                    Ok(Status::Open) => Attempt::NeverCalled,
                    Ok(status) => Attempt::not_open(status == Status::OtherOptions),
                    Err(_) => continue,
                };
                let _ = news.send(News::Tried(peer, attempt));
            }
        }
    }

    fn answer(&self, caller: Caller, number: u64, news: &Sender<News>) {
        let from = caller.from;
        let refusal = |why| NetError::Refused { peer: None, place: Place::at(&from.to_string()), why };
        let _ = match self.meet_caller(caller, number) {
            Ok(Ok((peer, met))) => news.send(News::Connected(peer, Box::new(met))),
            Ok(Err(error)) => news.send(News::Failed(error)),
            Err(Broken::RefusedByUs) => news.send(News::Refused(refusal(Refusal::ByUs))),
            Err(Broken::RefusedByPeer) => news.send(News::Refused(refusal(Refusal::ByPeer))),
            Err(Broken::Closed | Broken::Stopped | Broken::Stranger | Broken::NotOpen { .. }) => Ok(()),
        };
    }

    fn meet_caller(
        &self,
        Caller { stream, from, reply, .. }: Caller,
        number: u64,
    ) -> Result<Result<(usize, Met), NetError>, Broken> {
        let deadline = self.deadline.min(Instant::now() + CALLER);
        let mut talk = Talk::answer(stream, &reply, self.pinned, deadline, &self.stop)?;
        let certified = certified(self.pinned, talk.channel())?;
        self.callers.end(number);
        let theirs = talk.hear()?;
        if theirs.version == VERSION && theirs.session != self.config.session.id() {
            // Somebody changed what the caller said before TLS: it calls again.
            talk.say(&self.hello(theirs.from, Verdict::OtherSession))?;
            talk.hang_up();
            return Err(Broken::Stranger);
        }
        if theirs.version == VERSION && theirs.purpose == Purpose::Resume {
            // The caller had a link to an earlier process of this party.
            talk.say(&self.hello(theirs.from, Verdict::NoLink))?;
            talk.hang_up();
            return Err(Broken::Stranger);
        }
        let judged = self.judge(&theirs, certified, talk.stream(), from);
        let verdict = judged.as_ref().map_or_else(|(verdict, _)| *verdict, |()| Verdict::Welcome);
        talk.say(&self.hello(theirs.from, verdict))?;
        if let Err((_, error)) = judged {
            talk.hang_up();
            return Ok(Err(error));
        }
        let answer = talk.hear()?;
        if answer.verdict != Verdict::Welcome {
            let place = Place::at(&self.config.parties[theirs.from].address);
            return Ok(Err(self.rejection(theirs.from, place, &answer)));
        }
        Ok(Ok((theirs.from, Met::new(talk, &theirs)?)))
    }

    /// Checks a caller's claim to be a party.
    fn judge(
        &self,
        theirs: &Hello,
        peer: usize,
        stream: &TcpStream,
        from: SocketAddr,
    ) -> Result<(), (Verdict, NetError)> {
        let (me, parties) = (self.config.me, self.config.parties.len());
        let place = Place::at(&from.to_string());
        let other = |verdict, what| Err((verdict, NetError::Misconfigured { peer, place: place.clone(), what }));
        if theirs.version != VERSION {
            let error = NetError::VersionMismatch {
                peer,
                place,
                theirs: theirs.version,
                ours: VERSION,
                release: theirs.release,
            };
            return Err((Verdict::OtherVersion, error));
        }
        if theirs.from == me {
            return Err((Verdict::Duplicate, NetError::DuplicateParty { party: me, place }));
        }
        if theirs.parties != parties {
            return other(Verdict::OtherParties, "another number of parties");
        }
        if peer != theirs.from {
            return other(Verdict::OtherNumbers, "its certificate belongs to another number");
        }
        if theirs.to != me || theirs.from < me || theirs.from >= parties {
            return other(Verdict::OtherNumbers, "it takes this party for another one");
        }
        let mut claims = self.claims.lock().unwrap_or_else(PoisonError::into_inner);
        let claim = &mut claims[theirs.from];
        if claim.as_ref().is_some_and(|(nonce, earlier)| *nonce != theirs.nonce && is_open(earlier)) {
            return Err((Verdict::Duplicate, NetError::DuplicateParty { party: theirs.from, place }));
        }
        *claim = stream.try_clone().ok().map(|stream| (theirs.nonce, stream));
        Ok(())
    }

    // --- the side that dials

    fn dial(&self, peer: usize, news: &Sender<News>) {
        let party = &self.config.parties[peer];
        if numeric(&party.address).is_none() {
            let _ = news.send(News::Tried(peer, Attempt::Unresolved)); // until the resolver has answered
        }
        let mut backoff = match Backoff::new(REDIAL[0], REDIAL[1]) {
            Ok(backoff) => backoff,
            Err(error) => return drop(news.send(News::Failed(error))),
        };
        while !self.stop.load(Ordering::Relaxed) && Instant::now() < self.deadline {
            let attempt = match call(&party.address, &|| self.stop.load(Ordering::Relaxed)) {
                Ok(stream) => match self.meet_called(stream, peer) {
                    Ok(Ok(met)) => {
                        let _ = news.send(News::Connected(peer, Box::new(met)));
                        return;
                    }
                    Ok(Err(error)) => {
                        let _ = news.send(News::Failed(error));
                        return;
                    }
                    Err(Broken::RefusedByUs) => return self.refuse(peer, Refusal::ByUs, news),
                    Err(Broken::RefusedByPeer) => return self.refuse(peer, Refusal::ByPeer, news),
                    Err(Broken::NotOpen { other_options }) => Attempt::not_open(other_options),
                    Err(Broken::Closed | Broken::Stopped | Broken::Stranger) => Attempt::Handshake,
                },
                Err(attempt) => attempt,
            };
            let _ = news.send(News::Tried(peer, attempt));
            self.sleep(backoff.pause());
        }
    }

    /// Sleeps for this long, or until this party stops to connect.
    fn sleep(&self, pause: Duration) {
        let end = self.deadline.min(Instant::now() + pause);
        while !self.stop.load(Ordering::Relaxed) && Instant::now() < end {
            thread::sleep(TICK.min(end.saturating_duration_since(Instant::now())));
        }
    }

    fn refuse(&self, peer: usize, why: Refusal, news: &Sender<News>) {
        let place = Place::at(&self.config.parties[peer].address);
        let _ = news.send(News::Failed(NetError::Refused { peer: Some(peer), place, why }));
    }

    fn meet_called(&self, stream: TcpStream, peer: usize) -> Result<Result<Met, NetError>, Broken> {
        let session = self.config.session.id();
        let mut talk = Talk::call(stream, self.pinned, peer, session, self.deadline, &self.stop)?;
        talk.say(&self.hello(peer, Verdict::Welcome))?;
        let theirs = talk.hear()?;
        let place = Place::at(&self.config.parties[peer].address);
        if theirs.version == VERSION && theirs.session != session {
            return Err(Broken::Stranger); // somebody changed what this party said before TLS
        }
        if theirs.verdict != Verdict::Welcome {
            return Ok(Err(self.rejection(peer, place, &theirs)));
        }
        if theirs.from != peer || theirs.to != self.config.me || theirs.parties != self.config.parties.len() {
            talk.say(&self.hello(peer, Verdict::OtherNumbers))?;
            talk.hang_up();
            return Ok(Err(NetError::Misconfigured { peer, place, what: "it has another number there" }));
        }
        talk.say(&self.hello(peer, Verdict::Welcome))?;
        Ok(Ok(Met::new(talk, &theirs)?))
    }

    // --- both sides

    fn hello(&self, to: usize, verdict: Verdict) -> Hello {
        let (from, parties) = (self.config.me, self.config.parties.len());
        let purpose = if self.config.reconnect_timeout.is_zero() { Purpose::Once } else { Purpose::First };
        let (nonce, session, release) = (self.nonce, self.config.session.id(), Some(Release::OURS));
        Hello { version: VERSION, release, verdict, purpose, from, to, parties, nonce, session }
    }

    /// Returns the peer's verdict on this party, as an error.
    fn rejection(&self, peer: usize, place: Place, hello: &Hello) -> NetError {
        match hello.verdict {
            Verdict::Duplicate => NetError::DuplicateParty { party: self.config.me, place },
            Verdict::OtherParties => NetError::Misconfigured { peer, place, what: "another number of parties" },
            Verdict::OtherVersion => {
                NetError::VersionMismatch { peer, place, theirs: hello.version, ours: VERSION, release: hello.release }
            }
            Verdict::OtherNumbers | Verdict::OtherSession | Verdict::NoLink | Verdict::Welcome => {
                NetError::Misconfigured { peer, place, what: "the parties' numbers or certificates" }
            }
        }
    }
}

/// Returns the party whose certificate the caller holds.
pub(crate) fn certified(pinned: &Pinned, channel: &Channel) -> Result<usize, Broken> {
    if channel.protocol() != Some(PROTOCOL) {
        return Err(Broken::Stranger);
    }
    let party = channel.peer_certificate().and_then(|certificate| pinned.party_of(certificate));
    party.ok_or(Broken::RefusedByUs)
}

/// Returns whether the other side of an established connection has closed it.
fn has_gone(met: &Option<Met>) -> bool {
    met.as_ref().is_some_and(|met| !is_open(&met.link.stream))
}

/// Returns whether the other side still holds this connection. It is called while the connection is being set up: at
/// most a few bytes wait in it.
fn is_open(stream: &TcpStream) -> bool {
    let mut byte = [0];
    match stream.peek(&mut byte) {
        Ok(bytes) => bytes > 0,
        Err(error) => matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut | ErrorKind::Interrupted),
    }
}

#[cfg(test)]
mod misled_tests;

#[cfg(test)]
mod tests {
    use std::net::TcpListener;

    use super::super::door::Door;
    use super::super::keys::tests::scratch;
    use super::super::session::{SessionId, SessionName};
    use super::super::{PartyConfig, keygen};
    use super::*;

    /// The release of party 1.
    const OTHER_RELEASE: Release = Release { major: 9, minor: 7 };

    /// Returns the answer that party 1 gets, and the result at party 0, when the hello of party 1 names this version,
    /// and the hello of its first connection this session. Further ones name the right session.
    fn hello_of(name: &str, version: u32, purpose: Purpose, session: SessionId) -> (Hello, Result<(), NetError>) {
        let dir = scratch(&format!("hello-{name}"));
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let party = |i: usize| {
            keygen(&dir, i).unwrap();
            PartyConfig { address: address.to_string(), certificates: vec![dir.join(format!("party{i}.crt"))] }
        };
        let parties: Vec<PartyConfig> = (0..2).map(party).collect();
        let config = |me: usize| TcpConfig::new(me, parties.clone(), dir.join(format!("party{me}.key")));
        let pinned = |me: usize| Pinned::load(me, &parties, &dir.join(format!("party{me}.key"))).unwrap();
        let (caller, answering) = (pinned(1), pinned(0));
        std::fs::remove_dir_all(&dir).unwrap();
        let deadline = Instant::now() + Duration::from_secs(60);
        let (door, mut callers) = Door::open(&config(0), &answering, Some(listener), deadline).unwrap();
        thread::scope(|scope| {
            let meet = || connect_all(&config(0), &mut callers, &answering, [1; 16], &door.guests, deadline).map(drop);
            let called = scope.spawn(meet);
            let never = AtomicBool::new(false);
            let open = SessionName::default().id();
            let meet = |purpose, session| {
                let stream = TcpStream::connect(address).unwrap();
                let mut talk = Talk::call(stream, &caller, 0, open, deadline, &never).unwrap();
                let (from, to, parties, nonce, verdict) = (1, 0, 2, [2; 16], Verdict::Welcome);
                let release = Some(OTHER_RELEASE);
                let hello = Hello { version, release, verdict, purpose, from, to, parties, nonce, session };
                talk.say(&hello).unwrap();
                let answer = talk.hear().unwrap();
                let _ = talk.say(&hello); // a refused party need not listen any more
                (answer, talk)
            };
            let (answer, talk) = meet(purpose, session);
            let next = (session != open).then(|| meet(Purpose::First, open));
            let met = called.join().unwrap();
            drop((talk, next));
            (answer, met)
        })
    }

    /// The words before TLS lead a caller to a session, and somebody may change them; inside TLS, both sides compare
    /// what they mean. Neither session ends.
    #[test]
    fn a_caller_of_another_session_is_told_so_and_calls_again() {
        let other = SessionName::new("other").unwrap().id();
        for (name, purpose) in [("connects", Purpose::First), ("resumes", Purpose::Resume)] {
            let (answer, met) = hello_of(name, VERSION, purpose, other);
            assert_eq!((answer.verdict, answer.session), (Verdict::OtherSession, SessionName::default().id()));
            assert!(met.is_ok(), "{met:?}");
        }
    }

    /// The wire version decides, and not the release.
    #[test]
    fn a_caller_of_another_version_is_told_so_and_named() {
        let session = SessionName::default().id();
        let (answer, met) = hello_of("right", VERSION, Purpose::First, session);
        assert!(answer.verdict == Verdict::Welcome && met.is_ok(), "{met:?}");
        for theirs in [VERSION - 1, VERSION + 1] {
            let (answer, met) = hello_of(&format!("version-{theirs}"), theirs, Purpose::First, session);
            assert_eq!((answer.version, answer.verdict), (VERSION, Verdict::OtherVersion));
            let named = |error: &NetError| {
                use NetError::VersionMismatch;
                matches!(error, VersionMismatch { peer: 1, theirs: t, ours: VERSION, .. } if *t == theirs)
            };
            assert!(met.as_ref().is_err_and(named), "{met:?}");
            let (told, ours) = (met.unwrap_err().to_string(), Release::OURS);
            let has = format!("has wire version {theirs} (release 9.7), and this party has wire version {VERSION}");
            assert!(told.contains(&format!("{has} (release {ours}): install")), "{told}");
        }
    }
}
