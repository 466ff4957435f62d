//! The start and the end of a run.

use std::collections::BTreeMap;
use std::sync::mpsc::channel;
use std::time::Duration;

use quorate_engine::{BRANCH_RUNS, Error, Misuse};
use quorate_graph::NodeId;
use quorate_planner::Reveal;

use super::request::{How, Logged, Request};
use super::{Revealed, Session};
use crate::error::SessionError;
use crate::options::PoolMode;
use crate::party::job::Job;
use crate::party::stats::Progress;
use crate::reveals::Told;

impl Session {
    /// Starts a run that computes and reveals these values, and borrows the session until it is over.
    ///
    /// # Errors
    /// Those of [`Session::submit`].
    pub fn run(&mut self, reveals: &[(NodeId, Option<usize>)]) -> Result<Running<'_>, SessionError> {
        let request = self.submit(reveals, false)?;
        Ok(Running { session: self, request: Some(request) })
    }

    /// Starts a run like [`Session::run`], with fixed point revealed in units of its ring, so that nothing is rounded.
    ///
    /// # Errors
    /// Those of [`Session::submit`].
    pub fn run_in_units(&mut self, reveals: &[(NodeId, Option<usize>)]) -> Result<Running<'_>, SessionError> {
        let request = self.submit(reveals, true)?;
        Ok(Running { session: self, request: Some(request) })
    }

    /// Submits a run of the program as it is now, which computes and reveals these values; with `units`, fixed point in
    /// units of its ring. The session may be used meanwhile.
    ///
    /// # Errors
    /// [`SessionError::Closed`]; [`SessionError::Busy`] in a deployment where a request is under way; those of the
    /// approval and of the log.
    pub fn submit(&mut self, reveals: &[(NodeId, Option<usize>)], units: bool) -> Result<Request, SessionError> {
        self.submit_as(reveals, How { units, ..How::default() })
    }

    pub(super) fn submit_as(&mut self, reveals: &[(NodeId, Option<usize>)], how: How) -> Result<Request, SessionError> {
        self.check_open()?;
        self.check_alone()?;
        if self.pool_mode == PoolMode::Make && how.supplies.is_none() {
            return Err(SessionError::MakesPool);
        }
        if self.pool_mode != PoolMode::None && self.protocol.has_secrets() && self.campaigns.has_any() {
            return Err(SessionError::PoolCampaign);
        }
        let reveals: Vec<Reveal> = reveals.iter().map(|&(node, to)| Reveal { node, to }).collect();
        for &Reveal { to, .. } in &reveals {
            if let Some(party) = to.filter(|&to| to >= self.parties) {
                return Err(Error::from(Misuse::NoSuchParty { party, parties: self.parties }).into());
            }
        }
        if self.branches.of.is_some() && self.jobs >= u64::from(BRANCH_RUNS / 2) {
            return Err(SessionError::WornOut); // a request that fails may use up two numbers
        }
        let logged = if how.is_peek || how.branch.is_some() || how.supplies.is_some() {
            None
        } else {
            Some(self.admit(&reveals)?)
        };
        let (reply, replies) = channel();
        let dropped = std::mem::take(&mut self.dropped);
        self.jobs += 1;
        let job = |seat: &mut super::Seat| Job {
            number: self.jobs,
            program: self.program.clone(),
            reveals: reveals.clone(),
            units: how.units,
            inputs: std::mem::take(&mut seat.inputs),
            dropped: dropped.clone(),
            branch: how.branch.clone(),
            supplies: how.supplies.clone(),
            campaigns: self.campaigns.clone(),
            progress: Progress::default().into(),
            reply: reply.clone(),
        };
        let jobs: Vec<Job> = self.seats.iter_mut().map(job).collect();
        let first = jobs.first().ok_or(SessionError::Closed)?;
        let request = Request {
            number: self.jobs,
            replies,
            queue: self.queue.clone(),
            waiting: jobs.len(),
            outcomes: BTreeMap::new(),
            error: None,
            progress: first.progress.clone(),
            logged,
            is_peek: how.is_peek,
            checked: None,
            length: self.program.length(),
            _in_flight: self.in_flight.clone(),
            process: self.process,
        };
        self.queue.run(self.jobs, jobs);
        Ok(request)
    }

    /// Ends a request: waits for it, and returns the values, in the order of the reveals; in a local session, those of
    /// all parties.
    ///
    /// # Errors
    /// The error that ended the run. Values of earlier runs are untouched, and so are the inputs of this one.
    pub fn finish(&mut self, mut request: Request) -> Result<Vec<Revealed>, SessionError> {
        request.wait_for_all();
        self.count(&request);
        let error = request.error.take().map(|error| self.why(error));
        if let Some(logged) = request.logged.take() {
            if error.is_none() {
                self.approval.ran(logged.program);
            }
            logged.end(error.as_ref().map(ToString::to_string).as_deref())?;
        }
        if let Some(error) = error {
            self.branches.is_over |= self.branches.of.is_some() && error.ends_branch();
            return Err(error);
        }
        if request.is_peek {
            return Ok(request.revealed()); // the check still needs what the session would forget
        }
        self.campaigns.count(request.number);
        self.stats.runs += 1;
        if let (Some(look), Some(checked)) = (&mut self.look, request.checked.take()) {
            look.done(checked);
        }
        match self.me {
            None => {
                if let Some((length, needs)) = self.queue.needs() {
                    self.program.forget(length, &[needs]);
                }
            }
            Some(_) => {
                let needs = request.outcomes.values_mut().filter_map(|outcome| outcome.needs.take());
                self.program.forget(request.length, &needs.collect::<Vec<_>>());
            }
        }
        Ok(request.revealed())
    }

    /// Returns the error of a request or an answer as its user sees it: where a party left or was told to stop because
    /// the session was closed, [`SessionError::Closed`].
    pub(super) fn why(&self, error: SessionError) -> SessionError {
        match error {
            SessionError::WorkerGone if self.branches.of.is_some() && !self.closed => SessionError::BranchOver,
            SessionError::WorkerGone | SessionError::Engine(Error::Interrupted) if self.closed => SessionError::Closed,
            error => error,
        }
    }

    /// Counts the costs of a request at the parties where it ended well.
    fn count(&mut self, request: &Request) {
        if request.is_peek {
            return;
        }
        let mut took = Vec::new();
        for (&party, outcome) in &request.outcomes {
            self.stats.add(party, &outcome.stats);
            took.push([outcome.stats.offline.seconds, outcome.stats.online.seconds]);
        }
        self.stats.took(&took);
    }

    /// Admits a run: checks its approval, and logs it, where these are asked for.
    ///
    /// # Errors
    /// [`SessionError::NotApproved`], [`SessionError::OtherProgram`], [`SessionError::Audit`].
    fn admit(&mut self, reveals: &[Reveal]) -> Result<Logged, SessionError> {
        let graph = &self.program.graph;
        let program = self.approval.hash(graph, reveals, None);
        let checked = self.approval.check(program, graph, reveals);
        let checked = checked.and_then(|()| self.campaigns.check(graph, reveals, program));
        let told = if self.audit.is_some() { Told::all(graph, reveals, self.parties) } else { vec![] };
        let (run, approved, audit) = (self.jobs + 1, self.approval.is_asked_for(), self.audit.clone());
        let branch = self.branches.of.as_ref().map(|stem| (stem.name.clone(), stem.number));
        let mut logged = Logged { run, program, approved, told, branch, audit };
        let why = checked.as_ref().err().map(ToString::to_string);
        let written = logged.write(if why.is_none() { "begun" } else { "refused" }, why.as_deref());
        if written.is_err() || checked.is_err() {
            logged.audit = None; // it does not begin
        }
        written?;
        checked.map(|()| logged)
    }
}

/// A run that borrows its session until it is over. Where it is dropped before, it is stopped.
pub struct Running<'s> {
    session: &'s mut Session,
    request: Option<Request>,
}

impl Running<'_> {
    /// Waits up to `patience`; true once the run is over.
    pub fn wait(&mut self, patience: Duration) -> bool {
        self.request.as_mut().is_none_or(|request| request.wait(patience))
    }

    /// Stops every party of this process; they tell the other parties.
    pub fn interrupt(&mut self) {
        self.request.iter_mut().for_each(Request::interrupt);
    }

    /// Returns the phase, and the fraction of the run's bytes sent so far, at the first party of this process.
    pub fn progress(&self) -> Option<(quorate_engine::Phase, f64)> {
        self.request.as_ref()?.progress()
    }

    /// Returns the values, in the order of the reveals; in a local session, those of all parties.
    ///
    /// # Errors
    /// The error that ended the run. Values of earlier runs are untouched, and so are the inputs of this one.
    pub fn finish(mut self) -> Result<Vec<Revealed>, SessionError> {
        let request = self.request.take().ok_or(SessionError::Closed)?;
        self.session.finish(request)
    }
}

impl Drop for Running<'_> {
    /// Stops a run whose end was not awaited, and waits until it has stopped.
    fn drop(&mut self) {
        if let Some(mut request) = self.request.take() {
            request.interrupt();
            request.wait_for_all();
            self.session.count(&request);
        }
    }
}
