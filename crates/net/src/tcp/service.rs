//! The thread that keeps a party's links alive while its scheduler computes.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, TryLockError};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use mio::{Interest, Registry, Token, Waker};

use super::claim::Claim;
use super::io_error;
use super::link::{Established, Link};
use crate::NetError;

/// The interval at which links are drained while the scheduler computes.
const BUSY: Duration = Duration::from_millis(2);
/// The interval at which the thread wakes up while the scheduler waits for the network itself.
const IDLE: Duration = Duration::from_millis(20);

/// The state that a party's two threads share.
pub(crate) struct Shared {
    links: Vec<Option<Mutex<Link>>>,
    /// Held by the thread that moves bytes: by the scheduler for as long as it waits in `recv`.
    driver: Mutex<()>,
    pub(crate) stop: AtomicBool,
    /// Where the scheduler's poll gets its sockets from, and what ends its wait.
    registry: Registry,
    waker: Arc<Waker>,
    pub(crate) peer_timeout: Duration,
    pub(crate) heartbeat: Duration,
}

impl Shared {
    pub(crate) fn new(
        links: Vec<Option<Link>>,
        registry: Registry,
        waker: Arc<Waker>,
        peer_timeout: Duration,
        heartbeat: Duration,
    ) -> Self {
        let links = links.into_iter().map(|link| link.map(Mutex::new)).collect();
        let stop = AtomicBool::new(false);
        Shared { links, driver: Mutex::new(()), stop, registry, waker, peer_timeout, heartbeat }
    }

    /// Continues a link over a new connection.
    pub(crate) fn resume(&self, peer: usize, connection: Established, theirs: Claim) {
        if let Some(mut link) = self.link(peer) {
            link.resume(connection, theirs, |socket| {
                self.registry.register(socket, Token(peer), Interest::READABLE | Interest::WRITABLE)
            });
        }
        self.wake();
    }

    /// Ends the scheduler's wait for events, since a link has changed.
    pub(crate) fn wake(&self) {
        // If this fails, the scheduler sees the change at its next event.
        let _ = self.waker.wake();
    }

    /// Returns the link to a party; `None` for this party and for a number beyond the parties.
    pub(crate) fn link(&self, peer: usize) -> Option<MutexGuard<'_, Link>> {
        let link = self.links.get(peer)?.as_ref()?;
        Some(link.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Returns all links with their party's number, each locked while it is used.
    pub(crate) fn links(&self) -> impl Iterator<Item = (usize, MutexGuard<'_, Link>)> {
        (0..self.links.len()).filter_map(|peer| self.link(peer).map(|link| (peer, link)))
    }

    pub(crate) fn drive(&self) -> MutexGuard<'_, ()> {
        self.driver.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn stop(&self) {
        self.stop.store(true, Ordering::Relaxed);
    }

    /// Moves bytes in the scheduler's place. Returns false if the scheduler is doing so itself.
    fn stand_in(&self) -> bool {
        let _driver = match self.driver.try_lock() {
            Ok(driver) => driver,
            Err(TryLockError::Poisoned(driver)) => driver.into_inner(),
            Err(TryLockError::WouldBlock) => return false,
        };
        for (_, mut link) in self.links() {
            link.pump_in();
            link.pump_out();
            link.check_clocks(self.peer_timeout);
        }
        true
    }
}

/// Looks after the link of a party that lost its connection, in another thread.
pub(crate) type Tend = Box<dyn Fn(usize) + Send>;

/// Starts the thread; it ends soon after [`Shared::stop`].
pub(crate) fn start(shared: &Arc<Shared>, tend: Option<Tend>) -> Result<JoinHandle<()>, NetError> {
    let shared = Arc::clone(shared);
    let thread = thread::Builder::new().name("quorate-net".into());
    thread.spawn(move || serve(&shared, tend.as_ref())).map_err(|error| io_error("starting a thread", error))
}

fn serve(shared: &Shared, tend: Option<&Tend>) {
    let mut pause = BUSY;
    let mut beat_at = Instant::now();
    while !shared.stop.load(Ordering::Relaxed) {
        pause = if shared.stand_in() { BUSY } else { (pause * 2).min(IDLE) };
        if Instant::now() >= beat_at {
            for (_, mut link) in shared.links() {
                link.beat(shared.heartbeat);
            }
            beat_at = Instant::now() + shared.heartbeat / 2;
        }
        if let Some(tend) = tend {
            for (peer, mut link) in shared.links() {
                if link.wants_tending() {
                    tend(peer);
                }
            }
        }
        thread::park_timeout(pause.min(shared.heartbeat / 2));
    }
}
