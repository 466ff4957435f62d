//! A run under way.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::Ordering;
use std::sync::mpsc::RecvTimeoutError;
use std::time::{Duration, Instant};

use quorate_engine::Error;
use quorate_graph::{Hash, NodeId};
use quorate_net::Interrupt;
use quorate_planner::Reveal;

use super::{Revealed, Session};
use crate::audit::Entry;
use crate::error::SessionError;
use crate::party::job::{Command, Job, Reply};
use crate::party::program::Length;
use crate::reveals::Told;

impl Session {
    /// Starts a run that computes and reveals these values. Only one run is possible at a time: `Running` borrows the
    /// session.
    ///
    /// # Errors
    /// [`SessionError::Closed`]; [`SessionError::NoValues`] where an own input that is needed has no values.
    pub fn run(&mut self, reveals: &[(NodeId, Option<usize>)]) -> Result<Running<'_>, SessionError> {
        self.start_run(reveals, false)
    }

    /// Starts a run like [`Session::run`], with fixed point revealed in units of its ring, so that nothing is rounded.
    ///
    /// # Errors
    /// Those of [`Session::run`].
    pub fn run_in_units(&mut self, reveals: &[(NodeId, Option<usize>)]) -> Result<Running<'_>, SessionError> {
        self.start_run(reveals, true)
    }

    pub(super) fn start_run(
        &mut self,
        reveals: &[(NodeId, Option<usize>)],
        units: bool,
    ) -> Result<Running<'_>, SessionError> {
        self.check_open()?;
        let reveals: Vec<Reveal> = reveals.iter().map(|&(node, to)| Reveal { node, to }).collect();
        for &Reveal { to, .. } in &reveals {
            if let Some(party) = to.filter(|&to| to >= self.parties) {
                let misuse = quorate_engine::Misuse::NoSuchParty { party, parties: self.parties };
                return Err(Error::from(misuse).into());
            }
        }
        let logged = self.admit(&reveals)?;
        let dropped = std::mem::take(&mut self.dropped);
        self.jobs += 1;
        for seat in &mut self.seats {
            let inputs = std::mem::take(&mut seat.inputs);
            let (program, dropped) = (self.program.clone(), dropped.clone());
            let job = Job { number: self.jobs, program, reveals: reveals.clone(), units, inputs, dropped };
            seat.commands.send(Command::Run(job)).map_err(|_| SessionError::WorkerGone)?;
        }
        let waiting = self.seats.len();
        let (interrupted, length) = (false, self.program.length());
        let (revealed, needs, took) = Default::default();
        Ok(Running { session: self, waiting, revealed, needs, took, length, error: None, interrupted, logged })
    }

    /// Admits a run: checks its approval, and logs it, where these are asked for.
    ///
    /// # Errors
    /// [`SessionError::NotApproved`], [`SessionError::Audit`].
    fn admit(&mut self, reveals: &[Reveal]) -> Result<Option<Logged>, SessionError> {
        if self.peeking {
            return Ok(None); // a run of the session's own, whose values are not shown
        }
        let graph = &self.program.graph;
        let hash = self.approval.hash(graph, reveals, None);
        let checked = self.approval.check(hash, graph, reveals);
        let told = if self.audit.is_some() { Told::all(graph, reveals, self.parties) } else { vec![] };
        let logged = Logged { run: self.jobs + 1, program: hash, told };
        let why = checked.as_ref().err().map(ToString::to_string);
        self.log(if why.is_none() { "begun" } else { "refused" }, &logged, why.as_deref())?;
        checked.map(|()| Some(logged))
    }

    fn log(&mut self, event: &str, logged: &Logged, why: Option<&str>) -> Result<(), SessionError> {
        let Some(audit) = &mut self.audit else { return Ok(()) };
        let approved = self.approval.is_asked_for() && event != "refused";
        let entry = Entry { run: logged.run, program: logged.program, approved, reveals: &logged.told };
        audit.write(event, &entry, why)
    }
}

/// The entry of a run in the log.
struct Logged {
    run: u64,
    program: Hash,
    told: Vec<Told>,
}

/// A run under way.
pub struct Running<'s> {
    session: &'s mut Session,
    waiting: usize,
    revealed: BTreeMap<usize, Vec<Revealed>>,
    needs: Vec<BTreeSet<NodeId>>,
    /// The length of the program that it runs.
    length: Length,
    /// Seconds of both phases at each party of this process.
    took: Vec<[f64; 2]>,
    error: Option<SessionError>,
    interrupted: bool,
    /// The log entry, until the end of the run is logged.
    logged: Option<Logged>,
}

impl Running<'_> {
    /// Waits up to `patience`; true once the run is over.
    pub fn wait(&mut self, patience: Duration) -> bool {
        let deadline = Instant::now() + patience;
        while self.waiting > 0 {
            let left = deadline.saturating_duration_since(Instant::now());
            match self.session.replies.recv_timeout(left) {
                Ok(reply) if reply.job != self.session.jobs => {}
                Ok(Reply { party, result, .. }) => {
                    self.waiting -= 1;
                    match result {
                        Ok(outcome) => {
                            self.session.stats.add(party, &outcome.stats);
                            self.took.push([outcome.stats.offline.seconds, outcome.stats.online.seconds]);
                            self.revealed.insert(party, outcome.revealed);
                            self.needs.extend(outcome.needs);
                        }
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
        self.session.stats.took(&std::mem::take(&mut self.took));
        true
    }

    /// Stops every party of this process; they tell the other parties.
    pub fn interrupt(&mut self) {
        self.interrupted = true;
        self.session.seats.iter().filter_map(|seat| seat.interrupt.as_ref()).for_each(Interrupt::raise);
    }

    /// Returns the phase, and the fraction of the run's bytes sent so far, at the first party of this process.
    pub fn progress(&self) -> Option<(quorate_engine::Phase, f64)> {
        let seat = self.session.seats.first()?;
        let (phase, expected) = seat.progress.read()?;
        let sent = seat.sent.load(Ordering::Relaxed) as f64;
        Some((phase, if expected == 0 { 1.0 } else { (sent / expected as f64).min(1.0) }))
    }

    /// Returns the payload bytes that the first party of this process is predicted to send; `None` before they are
    /// known.
    pub fn predicted_bytes(&self) -> Option<u64> {
        self.session.seats.first()?.progress.read().map(|(_, expected)| expected)
    }

    /// Waits for all parties of this process.
    fn wait_for_all(&mut self) {
        while !self.wait(Duration::from_secs(3600)) {}
        if std::mem::take(&mut self.interrupted) {
            // A party that had finished already has not seen its flag.
            self.session.seats.iter().filter_map(|seat| seat.interrupt.as_ref()).for_each(|flag| {
                flag.take();
            });
        }
    }

    /// Returns the values, in the order of the reveals; in a local session, those of all parties.
    ///
    /// # Errors
    /// The error that ended the run. Values of earlier runs are untouched, and so are the inputs of this one.
    pub fn finish(mut self) -> Result<Vec<Revealed>, SessionError> {
        self.wait_for_all();
        if let Some(error) = self.error.take() {
            self.ended(Some(&error.to_string()))?;
            return Err(error);
        }
        self.ended(None)?;
        self.session.stats.runs += 1;
        if let Some(look) = &mut self.session.look {
            look.done();
        }
        if !self.session.peeking {
            let needs = if self.needs.len() == self.session.seats.len() { &self.needs[..] } else { &[] };
            self.session.program.forget(self.length, needs);
        }
        let mut merged: Vec<Revealed> = Vec::new();
        for (_, values) in std::mem::take(&mut self.revealed) {
            merged.resize_with(values.len().max(merged.len()), || None);
            merged.iter_mut().zip(values).for_each(|(slot, value)| {
                if slot.is_none() {
                    *slot = value;
                }
            });
        }
        Ok(merged)
    }
}

impl Running<'_> {
    /// Logs the end of the run: success, or the reason why it failed.
    ///
    /// # Errors
    /// [`SessionError::Audit`].
    fn ended(&mut self, why: Option<&str>) -> Result<(), SessionError> {
        let Some(logged) = self.logged.take() else { return Ok(()) };
        if why.is_none() {
            self.session.approval.ran(logged.program);
        }
        self.session.log(if why.is_none() { "revealed" } else { "stopped" }, &logged, why)
    }
}

impl Drop for Running<'_> {
    /// Stops a run whose end was not awaited: its replies must not be mistaken for those of the next one.
    fn drop(&mut self) {
        if self.waiting > 0 {
            self.interrupt();
            self.wait_for_all();
        }
        // A caller that drops a run gets no values. Its beginning is logged even if this line cannot be.
        let _ = self.ended(Some("nobody waited for its end"));
    }
}
