//! A request that was submitted: its parties compute while the session builds on.

use std::collections::BTreeMap;
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use quorate_engine::{Error, Phase};
use quorate_graph::Hash;

use super::range_checks::Checked;
use crate::audit::{Audit, Entry};
use crate::error::SessionError;
use crate::party::job::{Branch, Outcome, Reply};
use crate::party::program::Length;
use crate::party::queue::Queue;
use crate::party::stats::Progress;
use crate::pool::Supply;
use crate::reveals::Told;
use crate::work::data::Data;

/// The way in which values are opened.
#[derive(Clone, Default)]
pub(super) struct How {
    /// Fixed point is revealed in units of its ring, so that nothing is rounded.
    pub units: bool,
    /// The values are for a check and not for the user: they are not logged, and their costs are not counted.
    pub is_peek: bool,
    /// Nothing is opened: the parties make this branch.
    pub branch: Option<Branch>,
    /// Nothing is opened: the parties make these bundles for their pools.
    pub supplies: Option<Arc<Vec<Supply>>>,
}

/// A run that was asked for. The parties of a session serve requests in the order in which they were submitted; in a
/// local session, small ones may overtake others. Wait for its end without the session, then pass it to
/// [`Session::finish`](super::Session::finish).
///
/// A request that is dropped is interrupted; its parties tell those of other processes.
pub struct Request {
    pub(super) number: u64,
    pub(super) replies: Receiver<Reply>,
    pub(super) queue: Arc<Queue>,
    /// The number of parties of this process that have not replied.
    pub(super) waiting: usize,
    /// The results so far, by party.
    pub(super) outcomes: BTreeMap<usize, Outcome>,
    pub(super) error: Option<SessionError>,
    /// The progress of the first party of this process.
    pub(super) progress: Arc<Progress>,
    /// The log entry, until the end of the run is logged.
    pub(super) logged: Option<Logged>,
    /// Whether it opens values for a check and not for the user.
    pub(super) is_peek: bool,
    /// The check of its values, which counts if it ends well.
    pub(super) checked: Option<Checked>,
    /// The length of the program that it runs.
    pub(super) length: Length,
    /// Counts the requests that have not ended.
    pub(super) _in_flight: Arc<()>,
    /// The process that submitted it; a fork has none of the parties' threads.
    pub(super) process: u32,
}

impl Request {
    /// Returns the number of the request in its session.
    pub fn number(&self) -> u64 {
        self.number
    }

    /// Notes what the check of the request's values found; it counts once the request has ended well.
    #[must_use]
    pub fn after(mut self, checked: Checked) -> Request {
        self.checked = Some(checked);
        self
    }

    /// Waits up to `patience`; true once the run is over.
    pub fn wait(&mut self, patience: Duration) -> bool {
        if self.process != std::process::id() {
            self.waiting = 0;
            self.error = Some(SessionError::Forked);
        }
        let deadline = Instant::now() + patience;
        while self.waiting > 0 {
            let left = deadline.saturating_duration_since(Instant::now());
            match self.replies.recv_timeout(left) {
                Ok(Reply { party, result }) => {
                    self.waiting -= 1;
                    match result {
                        Ok(outcome) => drop(self.outcomes.insert(party, outcome)),
                        Err(error) => self.error = Some(error.or_more_telling(self.error.take())),
                    }
                }
                Err(RecvTimeoutError::Timeout) => return false,
                Err(RecvTimeoutError::Disconnected) => {
                    self.waiting = 0;
                    self.error.get_or_insert(SessionError::WorkerGone);
                }
            }
        }
        true
    }

    /// Waits for all parties of this process.
    pub(super) fn wait_for_all(&mut self) {
        while !self.wait(Duration::from_secs(3600)) {}
    }

    /// Stops the request at every party of this process; they tell the other parties. A request that has not begun is
    /// over at once. Other requests go on.
    pub fn interrupt(&mut self) {
        if self.process == std::process::id() && self.waiting > 0 && self.queue.interrupt(self.number) {
            self.waiting = 0;
            self.error = Some(Error::Interrupted.into());
        }
    }

    /// Returns the phase, and the fraction of the run's bytes sent so far, at the first party of this process; `None`
    /// before the run begins.
    pub fn progress(&self) -> Option<(Phase, f64)> {
        let (phase, expected) = self.progress.read()?;
        let sent = self.progress.sent() as f64;
        Some((phase, if expected == 0 { 1.0 } else { (sent / expected as f64).min(1.0) }))
    }

    /// Returns the payload bytes that the first party of this process is predicted to send; `None` before they are
    /// known.
    pub fn predicted_bytes(&self) -> Option<u64> {
        self.progress.read().map(|(_, expected)| expected)
    }

    /// Returns the values, in the order of the reveals; in a local session, those of all parties.
    pub(super) fn revealed(&mut self) -> Vec<Option<Data>> {
        let mut merged: Vec<Option<Data>> = Vec::new();
        for outcome in self.outcomes.values_mut() {
            let values = std::mem::take(&mut outcome.revealed);
            merged.resize_with(values.len().max(merged.len()), || None);
            merged.iter_mut().zip(values).for_each(|(slot, value)| {
                if slot.is_none() {
                    *slot = value;
                }
            });
        }
        merged
    }
}

impl Drop for Request {
    fn drop(&mut self) {
        if self.process != std::process::id() {
            // The channel's lock may be held by a thread that this process does not have.
            std::mem::forget(std::mem::replace(&mut self.replies, channel().1));
            if let Some(logged) = &mut self.logged {
                logged.audit = None; // the parent logs the end
            }
        } else if !self.wait(Duration::ZERO) {
            self.interrupt();
        } else if let Some(logged) = self.logged.take_if(|_| self.error.is_none()) {
            let _ = logged.end(None); // its values were shown, though nobody took them
        }
    }
}

/// The entry of a run in the log. If it is dropped before the end is logged, nobody waited for the end.
pub(super) struct Logged {
    pub run: u64,
    pub program: Hash,
    pub approved: bool,
    pub told: Vec<Told>,
    /// The name and number of the branch that runs it.
    pub branch: Option<(Arc<str>, u32)>,
    pub audit: Option<Arc<Mutex<Audit>>>,
}

impl Logged {
    /// Logs an event of the run, with the reason for it where there is one.
    ///
    /// # Errors
    /// [`SessionError::Audit`].
    pub fn write(&self, event: &str, why: Option<&str>) -> Result<(), SessionError> {
        let Some(audit) = &self.audit else { return Ok(()) };
        let approved = self.approved && event != "refused";
        let branch = self.branch.as_ref().map(|(name, number)| (&**name, *number));
        let entry = Entry { run: self.run, branch, program: self.program, approved, reveals: &self.told };
        audit.lock().unwrap_or_else(PoisonError::into_inner).write(event, &entry, why)
    }

    /// Logs the end of the run: success, or the reason why it failed.
    ///
    /// # Errors
    /// [`SessionError::Audit`].
    pub fn end(mut self, why: Option<&str>) -> Result<(), SessionError> {
        let written = self.write(if why.is_none() { "revealed" } else { "stopped" }, why);
        self.audit = None;
        written
    }
}

impl Drop for Logged {
    fn drop(&mut self) {
        // Its beginning is logged even if this line cannot be.
        let _ = self.write("stopped", Some("nobody waited for its end"));
    }
}
