//! Requests of a session that makes correlations for a pool.

use std::sync::Arc;

use super::Session;
use super::request::{How, Request};
use crate::error::SessionError;
use crate::options::PoolMode;
use crate::pool::{Level, Supply};

impl Session {
    /// Asks the parties to make correlations for their pools, until all of them have these numbers of bundles. All
    /// parties ask for the same. Bundles of equal contents are added up.
    ///
    /// # Errors
    /// [`SessionError::MakesNoPool`] in a session that does not make a pool; [`SessionError::Closed`];
    /// [`SessionError::Busy`] where a request is under way.
    pub fn make_pool(&mut self, supplies: Vec<Supply>) -> Result<Request, SessionError> {
        if self.pool_mode != PoolMode::Make {
            return Err(SessionError::MakesNoPool);
        }
        let mut all: Vec<Supply> = Vec::new();
        for Supply { content, times } in supplies {
            match all.iter_mut().find(|supply| supply.content == content) {
                Some(supply) => supply.times = supply.times.saturating_add(times),
                None => all.push(Supply { content, times }),
            }
        }
        self.submit_as(&[], How { supplies: Some(Arc::new(all)), ..How::default() })
    }

    /// Ends the request for bundles. Returns what was made of each content, in the order of their first requests.
    ///
    /// # Errors
    /// The error that ended the request. Batches that all parties counted before it are in their pools.
    pub fn made(&mut self, mut request: Request) -> Result<Vec<Level>, SessionError> {
        request.wait_for_all();
        let made = request.outcomes.values_mut().next().map(|outcome| std::mem::take(&mut outcome.made));
        self.finish(request)?;
        made.ok_or(SessionError::WorkerGone)
    }
}
