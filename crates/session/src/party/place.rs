//! What the seats of a party have in common, apart from its keys and its values.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use quorate_engine::Party;
use quorate_gadgets::Family;
use quorate_planner::Book;
use quorate_ring::threads;

use super::bell::Bell;
use super::shared::Shared;
use super::store::Store;
use super::worker::{State, Worker};
use crate::error::SessionError;
use crate::options::{Options, default_threads};
use crate::plan::prices::DryRuns;
use crate::plan::remembered_runs::Remembered;
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

    /// Returns a worker at a seat of this place, which begins with the values of `store`; in a local session, every
    /// request gets its view of `values` instead.
    pub fn worker<B: Family>(
        self,
        party: Party,
        backend: B,
        values: Option<Arc<Shared<B>>>,
        store: Store<B>,
    ) -> Worker<B> {
        let Place { options, pricing, book, parties, .. } = self.clone();
        let prices = pricing.map(|pricing| DryRuns::new(pricing, parties, options, book));
        let (free, remembered) = (vec![u64::MAX; parties], Remembered::default());
        let state = State { backend, place: self, store, prices, remembered, free, is_beside: false, is_branch: false };
        Worker { party, state, values }
    }
}
