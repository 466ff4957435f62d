//! What the seats of a party have in common, apart from its keys and its values.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use quorate_engine::Party;
use quorate_planner::Book;
use quorate_ring::threads;

use super::bell::Bell;
use crate::error::SessionError;
use crate::options::{Options, default_threads};
use crate::plan::{Pricing, Setting};

/// The place of a party's seats.
#[derive(Clone)]
pub(crate) struct Place {
    pub options: Options,
    /// The prices on which the parties agreed, where sharings are mixed.
    pub pricing: Option<Pricing>,
    pub book: Arc<Mutex<Book>>,
    /// It is rung when a request has ended.
    pub bell: Arc<Bell>,
    /// The place where the parties run.
    pub setting: Setting,
    /// The limit on waiting for a peer that is connected but sends nothing.
    pub patience: Option<Duration>,
    pub parties: usize,
}

impl Place {
    /// Returns the number of parties that share this process.
    pub fn sharing(&self) -> usize {
        self.setting.sharing()
    }

    /// Returns the place of seats beside the main one. They have a book of their own: the main seat's is held while a
    /// large request is planned.
    pub fn beside(&self) -> Place {
        Place { book: Arc::default(), ..self.clone() }
    }

    /// Prepares a party's links and this thread for its work.
    ///
    /// # Errors
    /// [`SessionError::Threads`]; those of [`Party::set_workers`].
    pub fn prepare(&self, party: &mut Party) -> Result<(), SessionError> {
        party.set_patience(self.patience);
        let workers = self.options.threads.unwrap_or_else(|| default_threads(self.sharing()));
        threads::set_threads(workers).map_err(SessionError::Threads)?;
        Ok(party.set_workers(workers)?)
    }
}
