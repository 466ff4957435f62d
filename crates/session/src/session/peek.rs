//! The parts of a session that a check of values needs. Other threads may use the session while a check waits.

use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::time::Duration;

use quorate_engine::Error;
use quorate_graph::NodeId;

use super::Session;
use super::running::How;
use crate::error::SessionError;
use crate::party::job::Command;
use crate::work::data::Data;

/// The interval at which a wait asks whether it should go on.
const TICK: Duration = Duration::from_millis(50);

/// A session that other threads may use between calls.
pub trait Access {
    /// Calls `with` with the session, which no other thread uses meanwhile.
    ///
    /// # Errors
    /// Whatever keeps this thread from the session.
    fn with<T>(&mut self, with: impl FnOnce(&mut Session) -> T) -> Result<T, SessionError>;

    /// Returns whether a wait should go on; it is asked now and then.
    fn goes_on(&mut self) -> bool;
}

/// A session that one thread alone has.
impl Access for &mut Session {
    fn with<T>(&mut self, with: impl FnOnce(&mut Session) -> T) -> Result<T, SessionError> {
        Ok(with(self))
    }

    fn goes_on(&mut self) -> bool {
        true
    }
}

/// Waits for a party's answer, without the session.
///
/// # Errors
/// [`SessionError::Closed`] where the party has left; an interrupt, if the wait should not go on.
pub(crate) fn answer<T>(access: &mut impl Access, answers: &Receiver<T>) -> Result<T, SessionError> {
    loop {
        match answers.recv_timeout(TICK) {
            Ok(answer) => return Ok(answer),
            Err(RecvTimeoutError::Disconnected) => {
                return Err(access.with(|session| session.why(SessionError::WorkerGone))?);
            }
            Err(RecvTimeoutError::Timeout) if access.goes_on() => {}
            Err(RecvTimeoutError::Timeout) => return Err(Error::Interrupted.into()),
        }
    }
}

impl Session {
    /// Asks for the steps that a run of these nodes would take.
    pub(super) fn ask_needed(&self, targets: Vec<NodeId>) -> Result<Receiver<Vec<NodeId>>, SessionError> {
        self.check_open()?;
        let seat = self.seats.first().ok_or(SessionError::Closed)?;
        let (reply, nodes) = channel();
        let graph = self.program.graph.clone();
        seat.commands.send(Command::Needed { graph, targets, reply }).map_err(|_| SessionError::WorkerGone)?;
        Ok(nodes)
    }
}

/// Returns the values of nodes that were run before, in units. The costs of this are not counted.
pub(super) fn peek(access: &mut impl Access, nodes: &[NodeId]) -> Result<Vec<Data>, SessionError> {
    let reveals: Vec<(NodeId, Option<usize>)> = nodes.iter().map(|&id| (id, None)).collect();
    let how = How { units: true, is_peek: true };
    let mut request = access.with(|session| session.submit_as(&reveals, how))??;
    while !request.wait(TICK) {
        if !access.goes_on() {
            request.interrupt();
            request.wait_for_all();
        }
    }
    let values = access.with(|session| session.finish(request))??;
    values.into_iter().map(|value| value.ok_or(SessionError::WorkerGone)).collect()
}
