//! The scheduler's side of the links.

use std::net::TcpListener;
use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use mio::{Events, Interest, Poll, Token, Waker};
use ring::rand::{SecureRandom, SystemRandom};

use super::connect::{Met, connect_all};
use super::door::Door;
use super::frames::Item;
use super::hello::Nonce;
use super::link::Link;
use super::pinned::Pinned;
use super::resume::{Listening, Resumer};
use super::service::{self, Shared, Tend};
use super::{TcpConfig, io_error};
use crate::{Attempt, Frame, Interrupt, KeyProblem, MAX_FRAME, Net, NetError, Place, Wait};

/// The event of an interrupt; links have their party's number.
const WAKE: Token = Token(usize::MAX);
/// The time for which dropping waits for a silent peer to read the last bytes.
const LINGER: Duration = Duration::from_secs(1);
/// The time for which dropping waits for a peer that still sends heartbeats. Its network is slow, and several MiB for
/// it may still lie in the system's buffers, which are discarded when the process ends. Everything that dropping waits
/// for ends within this time, also a lost connection that is being replaced.
const SLOW_LINGER: Duration = Duration::from_secs(60);
/// The time for which dropping waits for a lost connection whose peer has everything, to say goodbye over the new one.
/// Without a goodbye, a peer may look for this party until its `reconnect_timeout` is over: the router in between may
/// accept calls though this party's port is closed.
const GOODBYE: Duration = Duration::from_secs(2);

/// One party's links to its peers over TCP.
pub struct TcpNet {
    me: usize,
    pub(super) shared: Arc<Shared>,
    poll: Poll,
    events: Events,
    interrupt: Interrupt,
    service: Option<JoinHandle<()>>,
    listening: Option<Listening>,
    /// The failures that `recv` has reported.
    reported: Vec<Option<NetError>>,
    /// The party whose inbox is read first, in turn.
    turn: usize,
    nonces: Vec<Nonce>,
}

impl TcpNet {
    /// Listens at this party's address, connects with every peer, and returns once all parties are connected with each
    /// other. Peers may start in any order, within `connect_timeout`. The party with the higher number dials: a party
    /// that cannot be reached (behind a router) takes the highest number.
    ///
    /// # Errors
    /// - [`NetError::BadConfig`] and [`NetError::BadKey`] before anything is sent.
    /// - [`NetError::SessionOpen`]; a session of the same name that is leaving is waited for.
    /// - [`NetError::PortInUse`]: by another program, or where its port is not shared.
    /// - [`NetError::Refused`] for a certificate that is not pinned. The side that dials, the one with the higher
    ///   number, learns this at once. The other side may be facing a stranger, so it keeps waiting and reports this
    ///   instead of the time-out.
    /// - [`NetError::DuplicateParty`], [`NetError::VersionMismatch`] and [`NetError::Misconfigured`] if parties
    ///   contradict each other.
    /// - [`NetError::NotOpened`], with the peers that run and have not opened the session.
    /// - [`NetError::ConnectTimeout`], with the first peer that is missing.
    pub fn connect(config: &TcpConfig) -> Result<Self, NetError> {
        config.check()?;
        let pinned = Pinned::load(config.me, &config.parties, &config.key)?;
        Self::join(config, None, pinned)
    }

    /// Connects with every peer like [`connect`](TcpNet::connect), at a socket that listens already and that no other
    /// session shares. `config.listen` is not used.
    ///
    /// # Errors
    /// Those of `connect`.
    pub fn connect_on(config: &TcpConfig, listener: TcpListener) -> Result<Self, NetError> {
        config.check()?;
        let pinned = Pinned::load(config.me, &config.parties, &config.key)?;
        Self::join(config, Some(listener), pinned)
    }

    fn join(config: &TcpConfig, listener: Option<TcpListener>, pinned: Pinned) -> Result<Self, NetError> {
        let deadline = Instant::now() + config.connect_timeout;
        let (door, mut callers) = Door::open(config, &pinned, listener, deadline)?;
        let mut nonce = Nonce::default();
        let random = SystemRandom::new().fill(&mut nonce);
        random.map_err(|_| io_error("drawing random numbers", std::io::ErrorKind::Unsupported.into()))?;

        let met = connect_all(config, &mut callers, &pinned, nonce, &door.guests, deadline)?;
        let shown: Vec<_> = met.iter().map(|met| met.as_ref().map(|met| met.certificate.clone())).collect();
        let (mut nonces, mut links, mut resumes) = (vec![nonce; met.len()], Vec::new(), vec![false; met.len()]);
        for (peer, met) in met.into_iter().enumerate() {
            let place = Place::at(&config.parties[peer].address);
            links.push(match met {
                Some(Met { link, nonce, resumes: theirs, .. }) => {
                    door.guests.add(link.stream.peer_addr().ok().map(|address| address.ip()));
                    (nonces[peer], resumes[peer]) = (nonce, theirs && !config.reconnect_timeout.is_zero());
                    Some(Link::new(peer, place, link).map_err(|error| io_error("setting up a connection", error))?)
                }
                None => None,
            });
        }
        let mut net = Self::assemble(config, links, nonces)?;
        net.wait_for_all(config, deadline)?;
        for (_, mut link) in net.shared.links().filter(|(peer, _)| resumes[*peer]) {
            link.be_patient(config.reconnect_timeout);
        }
        let resumer = match resumes.contains(&true) {
            true => {
                let (nonces, shared) = (net.nonces.clone(), Arc::clone(&net.shared));
                let key = |_| NetError::BadKey { path: config.key.clone(), what: KeyProblem::Unusable };
                let pinned = pinned.only(&shown).map_err(key)?;
                Some(Arc::new(Resumer::new(config.clone(), pinned, nonces, shared)?))
            }
            false => None,
        };
        let tend = resumer.clone().map(|resumer| -> Tend { Box::new(move |peer| resumer.tend(peer)) });
        net.service = Some(service::start(&net.shared, tend)?);
        // The party that dials all others listens, too: the others check whether it still runs.
        if let Some(resumer) = resumer {
            net.listening = Some(resumer.listen(door, callers)?);
        }
        Ok(net)
    }

    fn assemble(config: &TcpConfig, mut links: Vec<Option<Link>>, nonces: Vec<Nonce>) -> Result<Self, NetError> {
        let failed = |error| io_error("polling the network", error);
        let poll = Poll::new().map_err(failed)?;
        for (peer, link) in links.iter_mut().enumerate() {
            if let Some(socket) = link.as_mut().and_then(Link::socket) {
                let interest = Interest::READABLE | Interest::WRITABLE;
                poll.registry().register(socket, Token(peer), interest).map_err(failed)?;
            }
        }
        let waker = Arc::new(Waker::new(poll.registry(), WAKE).map_err(failed)?);
        let registry = poll.registry().try_clone().map_err(failed)?;
        let shared = Shared::new(links, registry, Arc::clone(&waker), config.peer_timeout, config.heartbeat);
        // If the waker fails, the flag remains, which every wait checks when it ends.
        let interrupt = Interrupt::new(move || drop(waker.wake()));
        Ok(TcpNet {
            me: config.me,
            poll,
            events: Events::with_capacity(64),
            interrupt,
            service: None,
            listening: None,
            reported: vec![None; config.parties.len()],
            turn: 0,
            nonces,
            shared: Arc::new(shared),
        })
    }

    /// Announces to every peer that this party is connected with all, and waits for the announcements of all.
    fn wait_for_all(&mut self, config: &TcpConfig, deadline: Instant) -> Result<(), NetError> {
        let shared = Arc::clone(&self.shared);
        for (_, mut link) in shared.links() {
            link.push(Item::Ready);
        }
        let started = Instant::now();
        loop {
            let mut waits_for = None;
            for (peer, mut link) in shared.links() {
                link.restart_clocks();
                if !link.peer_is_ready() {
                    link.failure().cloned().map_or(Ok(()), Err)?;
                    waits_for = waits_for.or(Some(peer));
                }
            }
            let Some(peer) = waits_for else { return Ok(()) };
            if config.stop.as_ref().is_some_and(|stop| stop.load(std::sync::atomic::Ordering::Relaxed)) {
                return Err(NetError::Interrupted);
            }
            if Instant::now() >= deadline {
                let (address, waited) = (config.parties[peer].address.clone(), started.elapsed());
                return Err(NetError::ConnectTimeout { peer, address, waited, last: Attempt::WaitsForOthers });
            }
            self.poll_once(Some(Duration::from_millis(20)))?;
        }
    }

    /// Returns the bytes received so far, per peer: framing, encryption and handshake included.
    pub fn wire_bytes_received(&self) -> Vec<u64> {
        self.per_peer(Link::received_bytes)
    }

    /// Returns a random number of each party's process, drawn when it started to connect. An honest party sends the
    /// same one to every peer. For binding session ids.
    pub fn nonces(&self) -> &[[u8; 16]] {
        &self.nonces
    }

    fn per_peer(&self, count: impl Fn(&Link) -> u64) -> Vec<u64> {
        let mut counts = vec![0; self.reported.len()];
        for (peer, link) in self.shared.links() {
            counts[peer] = count(&link);
        }
        counts
    }

    /// Waits for events and moves bytes on the links with events.
    fn poll_once(&mut self, timeout: Option<Duration>) -> Result<(), NetError> {
        let polled = self.poll.poll(&mut self.events, timeout);
        match polled {
            Err(error) if error.kind() != std::io::ErrorKind::Interrupted => {
                return Err(io_error("polling the network", error));
            }
            _ => {}
        }
        for event in &self.events {
            if let Some(mut link) = self.shared.link(event.token().0) {
                if event.is_writable() {
                    link.pump_out();
                }
                if event.is_readable() || event.is_read_closed() || event.is_error() {
                    link.pump_in();
                }
            }
        }
        for (_, mut link) in self.shared.links() {
            if link.wants_read() {
                link.pump_in();
            }
        }
        Ok(())
    }

    /// Returns how long to sleep at most: until the wait ends or a link's clock is up; not at all if bytes may wait.
    fn sleep(&self, wait: Wait) -> Option<Duration> {
        let now = Instant::now();
        let mut end = match wait {
            Wait::Poll => Some(now),
            Wait::Until(end) => Some(end),
            Wait::Forever => None,
        };
        if self.interrupt.ends_waits() {
            end = Some(now);
        }
        for (_, link) in self.shared.links() {
            let wanted = if link.wants_read() { Some(now) } else { link.due_at(self.shared.peer_timeout) };
            end = [end, wanted].into_iter().flatten().min();
        }
        end.map(|end| end.saturating_duration_since(now))
    }

    /// Checks the clocks of all links, and starts a thread for each link that lost its connection.
    fn check_clocks(&self) {
        let mut away = false;
        for (_, mut link) in self.shared.links() {
            link.check_clocks(self.shared.peer_timeout);
            away |= link.is_untended();
        }
        if let Some(service) = self.service.as_ref().filter(|_| away) {
            service.thread().unpark();
        }
    }

    /// Returns the next frame or failure that is here already.
    fn take(&mut self) -> Option<Result<(usize, Frame), NetError>> {
        let parties = self.reported.len();
        for step in 0..parties {
            let peer = (self.turn + step) % parties;
            let Some(mut link) = self.shared.link(peer) else { continue };
            if let Some(frame) = link.pop() {
                self.turn = peer + 1;
                return Some(Ok((peer, frame)));
            }
            if let (Some(failure), None) = (link.failure(), &self.reported[peer]) {
                self.reported[peer] = Some(failure.clone());
                return Some(Err(failure.clone()));
            }
        }
        None
    }

    fn is_over(&self, wait: Wait) -> bool {
        let over = match wait {
            Wait::Poll => true,
            Wait::Until(end) => Instant::now() >= end,
            Wait::Forever => false,
        };
        over || self.interrupt.ends_waits()
    }

    fn nobody_left(&self) -> bool {
        self.reported.iter().enumerate().all(|(peer, failure)| peer == self.me || failure.is_some())
    }
}

impl Net for TcpNet {
    fn me(&self) -> usize {
        self.me
    }

    fn parties(&self) -> usize {
        self.reported.len()
    }

    fn send(&mut self, to: usize, frame: Frame) -> Result<(), NetError> {
        let Some(mut link) = self.shared.link(to) else {
            return Err(NetError::NoSuchPeer { peer: to, me: self.me, parties: self.parties() });
        };
        if frame.len() > MAX_FRAME {
            return Err(NetError::FrameTooLarge { peer: to, bytes: frame.len(), limit: MAX_FRAME });
        }
        self.reported[to].clone().map_or(Ok(()), Err)?;
        link.push(Item::Frame(frame));
        Ok(())
    }

    fn recv(&mut self, wait: Wait) -> Result<Option<(usize, Frame)>, NetError> {
        if let Some(found) = self.take() {
            return found.map(Some);
        }
        if self.nobody_left() {
            return if wait == Wait::Poll { Ok(None) } else { Err(NetError::NoPeersLeft) };
        }
        let shared = Arc::clone(&self.shared);
        let _driver = shared.drive();
        loop {
            // The service thread may have been at work until just now.
            if let Some(found) = self.take() {
                return found.map(Some);
            }
            self.poll_once(self.sleep(wait))?;
            self.check_clocks();
            if let Some(found) = self.take() {
                return found.map(Some);
            }
            if self.is_over(wait) {
                return Ok(None);
            }
        }
    }

    fn queued(&self, to: usize) -> usize {
        self.shared.link(to).map_or(0, |link| link.queued())
    }

    fn wire_bytes(&self) -> Vec<u64> {
        self.per_peer(Link::sent_bytes)
    }

    fn flush(&mut self, wait: Wait) -> Result<(), NetError> {
        let shared = Arc::clone(&self.shared);
        let _driver = shared.drive();
        loop {
            let mut queued = 0;
            for (_, mut link) in shared.links() {
                link.pump_out();
                queued += link.queued();
            }
            if queued == 0 || self.is_over(wait) {
                return Ok(());
            }
            self.poll_once(self.sleep(wait))?;
            self.check_clocks();
        }
    }

    fn interrupt_handle(&self) -> Interrupt {
        self.interrupt.clone()
    }
}

impl TcpNet {
    /// Waits, within limits, until every peer has acknowledged everything and has a connection for the goodbye: the
    /// connections may still end without a goodbye, and then a peer could not get what it lacks.
    fn deliver(&self, end: Instant) {
        self.shared.links().for_each(|(_, mut link)| link.leave());
        let patience = Instant::now() + GOODBYE;
        self.linger(end, |link| {
            // Nobody takes these out any more, and acknowledgements may come after them.
            while link.pop().is_some() {}
            link.pump_in();
            link.pump_out();
            link.check_clocks(self.shared.peer_timeout);
            link.is_delivered() && (link.can_say_goodbye() || Instant::now() >= patience)
        });
    }

    /// Waits until every link is done, or its peer has been silent for some time on a connection that is there; until
    /// `end` at most.
    fn linger(&self, end: Instant, done: impl Fn(&mut Link) -> bool) {
        let (begun, silence) = (Instant::now(), LINGER.max(self.shared.heartbeat * 3));
        while Instant::now() < end && !self.interrupt.is_raised() {
            let patience = |link: &Link| begun.elapsed() < LINGER || link.is_away() || link.heard_within(silence);
            // Every link moves on, also after one that is not done.
            let waits =
                self.shared.links().filter_map(|(_, mut link)| (!done(&mut link) && patience(&link)).then_some(()));
            if waits.count() == 0 {
                break;
            }
            std::thread::sleep(Duration::from_millis(1));
        }
    }
}

impl Drop for TcpNet {
    fn drop(&mut self) {
        if let Some(listening) = &self.listening {
            listening.leave();
        }
        let end = Instant::now() + SLOW_LINGER;
        if self.service.is_some() {
            self.deliver(end);
        }
        self.shared.stop();
        if let Some(service) = self.service.take() {
            service.thread().unpark();
            let _ = service.join();
        }
        if let Some(listening) = self.listening.take() {
            listening.end();
        }
        self.shared.links().for_each(|(_, mut link)| link.begin_close());
        // Closing a socket destroys data that the peer has not read yet, if unread bytes wait in the socket or arrive
        // later. A peer closes its end once it has read everything.
        self.linger(end, Link::drained);
        self.shared.links().for_each(|(_, mut link)| link.hang_up());
    }
}
