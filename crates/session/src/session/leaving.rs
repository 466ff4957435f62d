//! The end of a session.

use std::time::{Duration, Instant};

use quorate_net::Interrupt;

use super::Session;
use crate::party::job::Command;

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

    /// Starts to end the session. A party that is done stays as long as its links take bytes that it sent before,
    /// however slow they are: the process must not end earlier. A party that gave up stays for a few seconds at most.
    pub fn leave(&mut self, gave_up: bool) -> Leaving<'_> {
        if !std::mem::replace(&mut self.closed, true) {
            for seat in &mut self.seats {
                seat.inputs.clear();
                // An interrupt that came too late for the last run does not hurry this.
                seat.interrupt.as_ref().map(Interrupt::take);
                let _ = seat.commands.send(Command::Leave { gave_up });
            }
        }
        Leaving { session: self, deadline: gave_up.then(|| Instant::now() + GIVE_UP_TIMEOUT) }
    }
}

impl Drop for Session {
    fn drop(&mut self) {
        if self.is_forked() {
            // Threads, flags and links belong to the other process.
            std::mem::forget(std::mem::take(&mut self.seats));
            return;
        }
        self.close(true);
    }
}

/// Parties of this process that are leaving. Dropping it stops waiting for them.
pub struct Leaving<'s> {
    session: &'s mut Session,
    deadline: Option<Instant>,
}

impl Leaving<'_> {
    /// Waits up to `patience`; true once all are gone, or have used up their time.
    pub fn wait(&mut self, patience: Duration) -> bool {
        let until = Instant::now() + patience;
        for seat in &mut self.session.seats {
            while seat.thread.as_ref().is_some_and(|thread| !thread.is_finished()) {
                let now = Instant::now();
                if self.deadline.is_some_and(|deadline| now >= deadline) {
                    return true;
                }
                if now >= until {
                    return false;
                }
                std::thread::sleep(LEAVE_STEP);
            }
            if let Some(thread) = seat.thread.take() {
                let _ = thread.join();
            }
        }
        true
    }

    /// Stops waiting for slow links: what they do not take at once is lost to the peers.
    pub fn interrupt(&mut self) {
        self.session.seats.iter().filter_map(|seat| seat.interrupt.as_ref()).for_each(Interrupt::raise);
        let hurry = Instant::now() + HURRY_TIMEOUT;
        self.deadline = Some(self.deadline.map_or(hurry, |deadline| deadline.min(hurry)));
    }
}
