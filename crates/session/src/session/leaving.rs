//! The end of a session.

use std::sync::{Arc, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use super::Session;
use crate::error::SessionError;
use crate::party::queue::Queue;
use crate::party::tracks::Thread;

/// The time that a party that gave up may take to leave before the process goes on.
const GIVE_UP_TIMEOUT: Duration = Duration::from_secs(5);
/// The time that a party may still take to leave after an interrupt.
const HURRY_TIMEOUT: Duration = Duration::from_secs(1);
/// The interval at which leaving checks whether the parties are done.
const LEAVE_STEP: Duration = Duration::from_millis(1);

impl Session {
    /// Ends the session: says goodbye, or, where it `gave_up`, tells the peers that this party failed. Waits until the
    /// peers have what was sent to them; see [`Session::leave`].
    pub fn close(&mut self, gave_up: bool) {
        let mut leaving = self.leave(gave_up);
        while !leaving.wait(Duration::from_secs(3600)) {}
    }

    /// Returns, after the end of the session, the first error of its pool that ended no run.
    pub fn complaint(&self) -> Option<SessionError> {
        let error = self.complaint.as_ref()?.get()?.clone();
        Some(SessionError::PoolNotClosed { why: error.to_string() })
    }

    /// Starts to end the session. A party that is done stays as long as its links take bytes that it sent before,
    /// however slow they are: the process must not end earlier. A party that gave up stays for a few seconds at most.
    ///
    /// Requests that were submitted before end first; a session that gave up interrupts them.
    pub fn leave(&mut self, gave_up: bool) -> Leaving {
        if gave_up {
            self.queue.interrupt_all(); // also those that an earlier call waits for
        }
        if !std::mem::replace(&mut self.closed, true) {
            self.seats.iter_mut().for_each(|seat| seat.inputs.clear());
            self.queue.leave(gave_up);
        }
        let deadline = gave_up.then(|| Instant::now() + GIVE_UP_TIMEOUT);
        Leaving { queue: self.queue.clone(), deadline }
    }
}

impl Drop for Session {
    fn drop(&mut self) {
        if self.is_forked() {
            // Threads, flags and links belong to the other process.
            std::mem::forget((std::mem::take(&mut self.seats), self.queue.clone()));
            return;
        }
        self.close(true);
    }
}

/// Parties of this process that are leaving. Dropping it stops waiting for them.
pub struct Leaving {
    queue: Arc<Queue>,
    deadline: Option<Instant>,
}

impl Leaving {
    /// Waits up to `patience`; true once all are gone, or have used up their time.
    pub fn wait(&mut self, patience: Duration) -> bool {
        let until = Instant::now() + patience;
        // Requests that end before may still open side tracks.
        while let Some(thread) = self.queue.threads().into_iter().find(|thread| locked(thread).is_some()) {
            while locked(&thread).as_ref().is_some_and(|thread| !thread.is_finished()) {
                let now = Instant::now();
                if self.deadline.is_some_and(|deadline| now >= deadline) {
                    return true;
                }
                if now >= until {
                    return false;
                }
                std::thread::sleep(LEAVE_STEP);
            }
            let ended = locked(&thread).take();
            let _ = ended.map(JoinHandle::join);
        }
        true
    }

    /// Stops waiting for slow links: what they do not take at once is lost to the peers. Requests are interrupted.
    pub fn interrupt(&mut self) {
        self.queue.hurry();
        let hurry = Instant::now() + HURRY_TIMEOUT;
        self.deadline = Some(self.deadline.map_or(hurry, |deadline| deadline.min(hurry)));
    }
}

fn locked(thread: &Thread) -> MutexGuard<'_, Option<JoinHandle<()>>> {
    thread.lock().unwrap_or_else(PoisonError::into_inner)
}
