//! The port of a party, and the sessions that are open at it: one thread accepts calls and passes each caller to the
//! session that it means, in this process or in another one.
//!
//! A caller of a session that is not open gets a reply that states this, costs no thread, and calls again.

use std::collections::BTreeMap;
use std::io::ErrorKind;
use std::net::{IpAddr, TcpListener};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::SyncSender;
use std::sync::{Arc, Mutex};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use mio::{Events, Interest, Poll, Token, Waker};

use super::callers::{Caller, Guests, Spoken, WaitingRoom};
use super::inherited::InheritedSocket;
use super::io_error;
use super::knock::{AnswerKeys, Status};
use super::neighbours::{Member, Ownership, Request, Spot, UnixListener, UnixStream, silence};
use super::per_process::lock;
use super::session::{SessionId, is_namesake};
use crate::NetError;

/// The longest wait for an event of the listening socket. After it the thread tries to accept in any case.
const LONGEST: Duration = Duration::from_secs(1);
/// The pause after a process could not be accepted.
const PAUSE: Duration = Duration::from_millis(10);
/// The interval at which an owner looks whether other processes find it.
const LOOK: Duration = Duration::from_secs(1);

const CALLS: Token = Token(0);
const STOP: Token = Token(1);

/// The identity of a port, and the keys that distinguish its callers.
pub(crate) struct Identity {
    pub(crate) address: String,
    /// The party and the size of its deployment: sessions of others do not share the port. Certificates may differ,
    /// while they are replaced.
    pub(crate) fingerprint: [u8; 32],
    pub(crate) keys: Arc<AnswerKeys>,
}

/// The way to a session.
pub(crate) enum Way {
    /// It is open in this process.
    Here { callers: SyncSender<Caller>, guests: Arc<Guests> },
    /// It is open in another process.
    There(Member),
}

/// A session that is open at a port.
struct Entry {
    way: Way,
    process: u32,
    /// Distinguishes sessions of one name that are open one after the other.
    number: u64,
    leaving: bool,
}

/// Why a session cannot enter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Obstacle {
    /// A session of the same name is open.
    Taken { process: u32, leaving: bool },
    /// The port is being closed.
    Closed,
}

#[derive(Default)]
struct Board {
    entries: BTreeMap<SessionId, Entry>,
    entered: u64,
    closed: bool,
}

/// A port of this process.
pub(crate) struct Port {
    pub(crate) identity: Arc<Identity>,
    board: Mutex<Board>,
    /// Whether to take the ownership where this process does not have it.
    renews: bool,
    stop: AtomicBool,
    waker: Waker,
    /// The socket for other processes to hold; `None` once the port is closed.
    listener: Mutex<Option<InheritedSocket<TcpListener>>>,
    ownership: Mutex<Option<Ownership>>,
    threads: Mutex<Vec<JoinHandle<()>>>,
}

impl Port {
    /// Opens a port at a socket, with its `first` session, and returns that session's number, too: no other process may
    /// open a session of that name before. With `ownership`, sessions of other processes may join; if the port `renews`
    /// it, also later.
    ///
    /// # Errors
    /// [`NetError::Io`].
    pub(crate) fn open(
        identity: Arc<Identity>,
        listener: TcpListener,
        (renews, ownership): (bool, Option<Ownership>),
        (session, way): (SessionId, Way),
    ) -> Result<(Arc<Port>, u64), NetError> {
        let failed = |error| io_error("listening for peers", error);
        listener.set_nonblocking(true).map_err(failed)?;
        let listener = InheritedSocket::new(listener);
        let poll = Poll::new().map_err(failed)?;
        let waker = Waker::new(poll.registry(), STOP).map_err(failed)?;
        let mut calls = InheritedSocket::new(mio::net::TcpListener::from_std(listener.try_clone().map_err(failed)?));
        poll.registry().register(&mut *calls, CALLS, Interest::READABLE).map_err(failed)?;
        let (number, process) = (0, std::process::id());
        let first = Entry { way, process, number, leaving: false };
        let board = Board { entries: BTreeMap::from([(session, first)]), ..Board::default() };
        let port = Arc::new(Port {
            identity,
            board: Mutex::new(board),
            renews,
            stop: AtomicBool::new(false),
            waker,
            listener: Mutex::new(Some(InheritedSocket::new(listener.try_clone().map_err(failed)?))),
            ownership: Mutex::default(),
            threads: Mutex::default(),
        });
        let mut place = lock(&port.ownership); // without it, sessions of other processes would count as closed
        let (accepts, this) = (Arc::clone(&port), thread::Builder::new().name("quorate-calls".into()));
        let thread = this.spawn(move || {
            let _registered = calls;
            accepts.accept_all(&listener, poll);
        });
        lock(&port.threads).push(thread.map_err(failed)?);
        port.host_at(&mut place, ownership);
        drop(place);
        Ok((port, number))
    }

    /// Enters a session, after `welcome` has answered the process that opens it. Returns the session's number.
    ///
    /// # Errors
    /// [`Obstacle`].
    pub(crate) fn enter(
        &self,
        session: SessionId,
        process: u32,
        welcome: impl FnOnce() -> Option<Way>,
    ) -> Result<u64, Obstacle> {
        let mut board = lock(&self.board);
        // A member relies on the socket that it gets. A port that is being closed no longer keeps that socket open.
        if board.closed {
            return Err(Obstacle::Closed);
        }
        if let Some(Entry { process, leaving, .. }) = board.entries.get(&session) {
            return Err(Obstacle::Taken { process: *process, leaving: *leaving });
        }
        let way = welcome().ok_or(Obstacle::Closed)?;
        board.entered += 1;
        let number = board.entered;
        board.entries.insert(session, Entry { way, process, number, leaving: false });
        Ok(number)
    }

    /// Notes that a session is leaving: the next one of its name waits for its end.
    pub(crate) fn note_leaving(&self, session: SessionId, number: u64) {
        let mut board = lock(&self.board);
        let entry = board.entries.get_mut(&session).filter(|entry| entry.number == number);
        if let Some(entry) = entry {
            entry.leaving = true;
        }
    }

    /// Removes a session. Returns whether no session of this process is left.
    pub(crate) fn remove(&self, session: SessionId, number: u64) -> bool {
        let mut board = lock(&self.board);
        if board.entries.get(&session).is_some_and(|entry| entry.number == number) {
            board.entries.remove(&session);
        }
        !board.entries.values().any(|entry| matches!(entry.way, Way::Here { .. }))
    }

    /// Closes the port, or leaves it to another process that has a session at it.
    pub(crate) fn close(&self) {
        let left = {
            let mut board = lock(&self.board);
            board.closed = true;
            std::mem::take(&mut board.entries)
        };
        self.stop.store(true, Ordering::Relaxed);
        let _ = self.waker.wake();
        let ownership = lock(&self.ownership).take();
        if let Some(ownership) = &ownership {
            silence(ownership.listener());
        }
        let listener = lock(&self.listener).take();
        if let Some(listener) = listener.filter(|_| left.is_empty()) {
            silence(&*listener);
        }
        for thread in std::mem::take(&mut *lock(&self.threads)) {
            let _ = thread.join();
        }
        drop(ownership);
        // Now the address is free: its next owner is one of these.
        for entry in left.into_values() {
            if let Way::There(member) = entry.way {
                member.end();
            }
        }
    }

    fn accept_all(self: &Arc<Self>, listener: &TcpListener, mut poll: Poll) {
        let (expects, mut events) = (|address| self.expects(address), Events::with_capacity(16));
        let Ok(mut waiting) = WaitingRoom::new(&self.identity.keys, &expects) else { return };
        let mut look_at = Instant::now() + LOOK;
        while !self.stop.load(Ordering::Relaxed) {
            let (spoke, more) = waiting.admit(listener);
            spoke.into_iter().for_each(|spoken| self.pass_on(spoken));
            let pause = if more { Duration::ZERO } else { waiting.pause().unwrap_or(LONGEST) };
            if poll.poll(&mut events, Some(pause)).is_err_and(|error| error.kind() != ErrorKind::Interrupted) {
                return;
            }
            if Instant::now() >= look_at {
                self.renew();
                look_at = Instant::now() + LOOK;
            }
        }
    }

    /// Takes the ownership again where other processes do not find it: programs that clean folders may have removed its
    /// files, and it may have been impossible to make them.
    fn renew(self: &Arc<Self>) {
        let mut ownership = lock(&self.ownership);
        let found = ownership.as_ref().is_some_and(|ownership| ownership.is_found(&self.identity.address));
        if found || !self.renews || self.stop.load(Ordering::Relaxed) {
            return;
        }
        *ownership = None; // its lock may be the one that is wanted
        if let Ok(Ok(next)) = Spot::of(&self.identity.address).and_then(Spot::own) {
            self.host_at(&mut ownership, Some(next));
        }
    }

    fn expects(&self, address: IpAddr) -> bool {
        lock(&self.board).entries.values().any(|entry| match &entry.way {
            Way::Here { guests, .. } => guests.expect(address),
            Way::There(_) => false,
        })
    }

    /// Passes a caller to its session. If no process has the session open, replies so and hangs up. A session of a
    /// process that has not joined this owner gets no reply: its peers' links wait for it.
    fn pass_on(&self, spoken: Spoken) {
        let (session, board) = (spoken.said.session, lock(&self.board));
        let Some(entry) = board.entries.get(&session) else {
            let status = match board.entries.keys().any(|open| is_namesake(open, &session)) {
                true => Status::OtherOptions,
                false => Status::Closed,
            };
            drop(board);
            let is_open = lock(&self.ownership).as_ref().is_some_and(|owned| owned.is_open_somewhere(&session));
            if !is_open {
                spoken.dismiss(&self.identity.keys, status);
            }
            return;
        };
        let Some(caller) = spoken.welcome(&self.identity.keys) else { return };
        match &entry.way {
            // A session that does not take its callers loses them: they call again.
            Way::Here { callers, .. } => drop(callers.try_send(caller)),
            Way::There(member) => member.hand(&caller),
        }
    }

    /// Accepts sessions of other processes from now on, with the ownership that this process has.
    fn host_at(self: &Arc<Self>, place: &mut Option<Ownership>, ownership: Option<Ownership>) {
        let hosts = ownership.as_ref().and_then(|owned| owned.listener().try_clone().ok().map(InheritedSocket::new));
        *place = ownership;
        if let Some(hosts) = hosts {
            let (accepts, this) = (Arc::clone(self), thread::Builder::new().name("quorate-joins".into()));
            // Without a thread, sessions of other processes do not join.
            lock(&self.threads).extend(this.spawn(move || accepts.host(&hosts)).ok());
        }
    }

    /// Accepts sessions of other processes, until the socket no longer listens.
    fn host(self: &Arc<Self>, hosts: &UnixListener) {
        while !self.stop.load(Ordering::Relaxed) {
            match hosts.accept() {
                Ok((stream, _)) => {
                    let (this, thread) = (Arc::clone(self), thread::Builder::new().name("quorate-member".into()));
                    drop(thread.spawn(move || this.serve(stream)));
                }
                Err(error) if error.kind() == ErrorKind::InvalidInput => return, // it does not listen
                Err(_) => thread::sleep(PAUSE),
            }
        }
    }

    /// Serves one session of another process until it ends.
    fn serve(&self, stream: UnixStream) {
        let Ok((member, request)) = Member::ask(stream) else { return };
        if let Some(number) = self.admit(&member, &request) {
            if member.hears_of_leaving() {
                self.note_leaving(request.session, number);
                while member.hears_of_leaving() {}
            }
            self.remove(request.session, number);
        }
    }

    fn admit(&self, member: &Member, request: &Request) -> Option<u64> {
        if request.fingerprint != self.identity.fingerprint {
            member.refuse();
            return None;
        }
        let welcome = || {
            let held = lock(&self.listener);
            member.welcome(held.as_ref()?).ok()?;
            Some(Way::There(member.another().ok()?))
        };
        match self.enter(request.session, request.process, welcome) {
            Ok(number) => Some(number),
            Err(Obstacle::Taken { process, leaving }) => {
                member.tell_taken(process, leaving);
                None
            }
            Err(Obstacle::Closed) => None,
        }
    }
}
