//! A session's door at its party's port: callers of the session arrive here, whichever process owns the port.
//!
//! The sessions of one process at one address share a port. Among processes, one owns it and the others are members
//! (see `neighbours`). If the owner ends, the doors of the others open again: one process becomes the next owner. A
//! session holds its name until its door is closed, so that no other one opens it meanwhile.

use std::collections::BTreeMap;
use std::net::TcpListener;
use std::sync::atomic::Ordering;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::{Duration, Instant};

use super::callers::{Caller, Guests};
use super::neighbours::{Membership, Note, Reception, Request, Reservation, Spot};
use super::per_process::PerProcess;
use super::per_process::lock;
use super::pinned::Pinned;
use super::port::{Identity, Obstacle, Port, Way};
use super::session::SessionId;
use super::{TcpConfig, io_error, names};
use crate::{InUse, NetError};

/// The number of callers that a session may leave waiting.
const QUEUE: usize = 64;
/// The time for which a port, or a session's name, must be in use before that is an error: processes that were killed
/// may still be ending, and another process may be taking the port over.
const MAX_WAIT_IN_USE: Duration = Duration::from_secs(1);
/// The interval at which opening is tried again.
const AGAIN: Duration = Duration::from_millis(10);

/// The ports of this process, by the addresses in configurations. They are locked while a door is opened or closed.
/// A fork does not take over its parent's ports: it accepts no calls at them, and closes their sockets.
static PORTS: PerProcess<BTreeMap<String, Arc<Port>>> = PerProcess::new(BTreeMap::new());

/// A door. Dropping it closes it.
pub(crate) struct Door {
    ticket: Arc<Ticket>,
    pub(crate) guests: Arc<Guests>,
}

/// The state needed to open a session's door repeatedly.
struct Ticket {
    identity: Arc<Identity>,
    session: SessionId,
    guests: Arc<Guests>,
    state: Mutex<DoorState>,
    /// The lock of the session's name, where processes share ports.
    name: Mutex<Option<Reservation>>,
}

/// The state of a door.
enum DoorState {
    Nowhere,
    /// At a port of this process, under this number.
    Here(Arc<Port>, u64),
    /// At a port of another process.
    There(Arc<Membership>),
    Closed,
}

/// The reason why a door cannot be opened now.
enum Unavailable {
    Taken { process: u32, leaving: bool },
    PortInUse(InUse),
}

impl Door {
    /// Opens the door of a session, at the port that its configuration names or at this socket. Returns it with its
    /// callers.
    ///
    /// # Errors
    /// [`NetError::SessionOpen`]: a session that is leaving is waited for until `deadline`. [`NetError::PortInUse`],
    /// and the errors of [`names::listening`] and [`names::bind`].
    pub(crate) fn open(
        config: &TcpConfig,
        pinned: &Pinned,
        mut given: Option<TcpListener>,
        deadline: Instant,
    ) -> Result<(Door, Receiver<Caller>), NetError> {
        let (address, resolved) = match &given {
            None => names::listening(config).map(|(address, resolved)| (address.to_owned(), resolved))?,
            Some(listener) => {
                let address = listener.local_addr().map_err(|error| io_error("listening for peers", error))?;
                (address.to_string(), vec![address])
            }
        };
        let keys = Arc::new(pinned.answer_keys());
        let identity = Arc::new(Identity { address: address.clone(), fingerprint: names::deployment(config), keys });
        let (guests, state) = (Arc::<Guests>::default(), Mutex::new(DoorState::Nowhere));
        let (session, name) = (config.session.id(), Mutex::default());
        let ticket = Ticket { identity, session, guests: Arc::clone(&guests), state, name };
        let (ticket, (sender, callers)) = (Arc::new(ticket), sync_channel(QUEUE));
        // A socket that the caller gives is this session's own. With port 0 the system chooses a port, another one for
        // each session.
        let shares = given.is_none() && resolved.iter().all(|address| address.port() != 0);
        let start = Instant::now();
        let mut bind = || match given.take() {
            Some(listener) => Ok(listener),
            None => names::bind(config, &address, &resolved),
        };
        loop {
            let settled = start.elapsed() >= MAX_WAIT_IN_USE;
            match ticket.enter(&sender, &mut bind, shares, false)? {
                None => break,
                Some(Unavailable::Taken { leaving: true, .. }) if Instant::now() < deadline => {}
                Some(Unavailable::Taken { process, .. }) if settled => {
                    return Err(NetError::SessionOpen { session: config.session.to_string(), process });
                }
                Some(Unavailable::PortInUse(why)) if settled => {
                    return Err(NetError::PortInUse { address: address.clone(), why });
                }
                Some(_) => {}
            }
            if config.stop.as_ref().is_some_and(|stop| stop.load(Ordering::Relaxed)) {
                return Err(NetError::Interrupted);
            }
            thread::sleep(AGAIN);
        }
        let door = Door { ticket, guests };
        if let DoorState::There(membership) = &*lock(&door.ticket.state) {
            let (ticket, membership, config) = (Arc::clone(&door.ticket), Arc::clone(membership), config.clone());
            let thread = thread::Builder::new().name("quorate-door".into());
            let bind = move || names::bind(&config, &address, &resolved);
            let thread = thread.spawn(move || ticket.follow(membership, &sender, &bind));
            thread.map_err(|error| io_error("starting a thread", error))?;
        }
        Ok((door, callers))
    }

    /// Says that the session is leaving: the next one of its name waits for its end.
    pub(crate) fn leave(&self) {
        if let Some(name) = &*lock(&self.ticket.name) {
            name.note_leaving();
        }
        match &*lock(&self.ticket.state) {
            DoorState::Here(port, number) => port.note_leaving(self.ticket.session, *number),
            DoorState::There(membership) => membership.leave(),
            DoorState::Nowhere | DoorState::Closed => {}
        }
    }
}

impl Drop for Door {
    /// Closes the door. The last door of a process closes its port, or leaves it to another process.
    fn drop(&mut self) {
        let mut ports = lock(PORTS.here());
        let state = std::mem::replace(&mut *lock(&self.ticket.state), DoorState::Closed);
        match state {
            DoorState::Here(port, number) => {
                if port.remove(self.ticket.session, number) {
                    ports.retain(|_, other| !Arc::ptr_eq(other, &port));
                    port.close();
                }
            }
            DoorState::There(membership) => membership.end(),
            DoorState::Nowhere | DoorState::Closed => {}
        }
        *lock(&self.ticket.name) = None;
    }
}

impl Ticket {
    /// Opens the door once, with a socket that `bind` makes if this process comes to own the port. A door that is not
    /// opened `again` gives its name up if it cannot be opened.
    fn enter(
        &self,
        sender: &SyncSender<Caller>,
        bind: &mut dyn FnMut() -> Result<TcpListener, NetError>,
        shares: bool,
        again: bool,
    ) -> Result<Option<Unavailable>, NetError> {
        let entered = self.try_to_enter(sender, bind, shares, again);
        if !again && !matches!(entered, Ok(None)) {
            *lock(&self.name) = None;
        }
        entered
    }

    fn try_to_enter(
        &self,
        sender: &SyncSender<Caller>,
        bind: &mut dyn FnMut() -> Result<TcpListener, NetError>,
        shares: bool,
        again: bool,
    ) -> Result<Option<Unavailable>, NetError> {
        let mut ports = lock(PORTS.here());
        let mut state = lock(&self.state);
        if matches!(*state, DoorState::Closed) {
            return Ok(None);
        }
        let spot = match self.reserve(shares) {
            Ok(Err(Note { process, leaving })) => return Ok(Some(Unavailable::Taken { process, leaving })),
            Ok(Ok(spot)) => Ok(spot),
            Err(why) => Err(why),
        };
        let way = || Way::Here { callers: sender.clone(), guests: Arc::clone(&self.guests) };
        let port = match ports.get(&self.identity.address).filter(|_| shares) {
            Some(port) if port.identity.fingerprint != self.identity.fingerprint => {
                return Ok(Some(Unavailable::PortInUse(InUse::OtherParties)));
            }
            Some(port) => Arc::clone(port),
            None => {
                let owned = match spot.and_then(Spot::own) {
                    Ok(Err(spot)) => {
                        drop((state, ports)); // other sessions must not wait for an owner that is slow to answer
                        return Ok(self.join(&spot));
                    }
                    // Without a lock, several members would accept calls at the socket that they hold.
                    Err(why) if again => return Ok(Some(Unavailable::PortInUse(why))),
                    Ok(Ok(ownership)) => Ok(ownership),
                    Err(why) => Err(why),
                };
                let listener = match bind() {
                    Err(NetError::PortInUse { why, .. }) => {
                        return Ok(Some(Unavailable::PortInUse(owned.err().unwrap_or(why))));
                    }
                    bound => bound?,
                };
                let first = (self.session, way());
                let (port, number) = Port::open(Arc::clone(&self.identity), listener, (shares, owned.ok()), first)?;
                if shares {
                    ports.insert(self.identity.address.clone(), Arc::clone(&port));
                }
                *state = DoorState::Here(port, number);
                return Ok(None);
            }
        };
        match port.enter(self.session, std::process::id(), || Some(way())) {
            Ok(number) => {
                *state = DoorState::Here(port, number);
                Ok(None)
            }
            Err(Obstacle::Taken { process, leaving }) => Ok(Some(Unavailable::Taken { process, leaving })),
            Err(Obstacle::Closed) => Ok(Some(Unavailable::PortInUse(InUse::Silent))),
        }
    }

    /// Returns the place of the port, at which this session holds its name now; or the note of the session that has the
    /// name.
    ///
    /// # Errors
    /// The reason for which processes cannot share the port.
    fn reserve(&self, shares: bool) -> Result<Result<Spot, Note>, InUse> {
        let spot = if shares { Spot::of(&self.identity.address)? } else { return Err(InUse::Elsewhere) };
        let mut name = lock(&self.name);
        if name.as_ref().is_none_or(|name| !name.holds(&spot, &self.session)) {
            *name = None; // somebody emptied the folder
            match spot.reserve(&self.session)? {
                Ok(reserved) => *name = Some(reserved),
                Err(holder) => return Ok(Err(holder)),
            }
        }
        Ok(Ok(spot))
    }

    /// Joins the owner of the port, in another process.
    fn join(&self, spot: &Spot) -> Option<Unavailable> {
        let (fingerprint, session) = (self.identity.fingerprint, self.session);
        let membership = match spot.join(&Request { fingerprint, session, process: std::process::id() }) {
            Reception::Welcome(membership) => membership,
            Reception::Taken { process, leaving } => return Some(Unavailable::Taken { process, leaving }),
            Reception::Refused => return Some(Unavailable::PortInUse(InUse::OtherParties)),
            Reception::Nobody => return Some(Unavailable::PortInUse(InUse::Silent)),
        };
        match &mut *lock(&self.state) {
            DoorState::Closed => membership.end(),
            state => *state = DoorState::There(Arc::new(membership)),
        }
        None
    }

    /// Passes on the callers that the owner of the port hands over; opens the door again when the owner is gone, at
    /// the socket that the owner gave, or at a new one of `anew` if that one was closed.
    fn follow(
        &self,
        mut membership: Arc<Membership>,
        sender: &SyncSender<Caller>,
        anew: &dyn Fn() -> Result<TcpListener, NetError>,
    ) {
        loop {
            while let Some(caller) = membership.next() {
                // A session that does not take its callers loses them: they call again.
                drop(sender.try_send(caller));
            }
            membership.end();
            loop {
                let mut bind = || membership.listening().map_or_else(anew, Ok);
                if matches!(self.enter(sender, &mut bind, true, true), Ok(None)) {
                    break;
                }
                thread::sleep(AGAIN);
            }
            membership = match &*lock(&self.state) {
                DoorState::There(next) => Arc::clone(next),
                _ => return,
            };
        }
    }
}
