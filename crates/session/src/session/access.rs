//! Access to what several threads use, and waits during which others use it.

use std::sync::mpsc::{Receiver, RecvTimeoutError};
use std::time::Duration;

use quorate_engine::Error;

use crate::error::SessionError;

/// The interval at which a wait asks whether it should go on.
pub(super) const TICK: Duration = Duration::from_millis(50);

/// A session that other threads may use between calls.
pub trait Access<S> {
    /// Calls `with` with the session, which no other thread uses meanwhile.
    ///
    /// # Errors
    /// Whatever keeps this thread from the session.
    fn with<T>(&mut self, with: impl FnOnce(&mut S) -> T) -> Result<T, SessionError>;

    /// Returns whether a wait should go on; it is asked now and then.
    fn goes_on(&mut self) -> bool;
}

/// A session that one thread alone has.
impl<S> Access<S> for &mut S {
    fn with<T>(&mut self, with: impl FnOnce(&mut S) -> T) -> Result<T, SessionError> {
        Ok(with(self))
    }

    fn goes_on(&mut self) -> bool {
        true
    }
}

/// Waits for a party's answer, without the session.
///
/// # Errors
/// [`SessionError::WorkerGone`] where the party has left; an interrupt, if the wait should not go on.
pub(super) fn answer<S, T>(access: &mut impl Access<S>, answers: &Receiver<T>) -> Result<T, SessionError> {
    loop {
        match answers.recv_timeout(TICK) {
            Ok(answer) => return Ok(answer),
            Err(RecvTimeoutError::Disconnected) => return Err(SessionError::WorkerGone),
            Err(RecvTimeoutError::Timeout) if access.goes_on() => {}
            Err(RecvTimeoutError::Timeout) => return Err(Error::Interrupted.into()),
        }
    }
}
