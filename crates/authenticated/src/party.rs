//! A party: its keys, its stock of correlations and where they come from, and its openings that are not checked yet.

use std::collections::BTreeMap;
use std::ops::Deref;
use std::sync::Arc;

use quorate_adversary::Adversary;
use quorate_crypto::SessionId;
use quorate_engine::{Ctx, Demand, Held, Misuse, Phase, Result, Stock, Stocks};
use quorate_ring::Ring;

use crate::forms::SharedBits;
use crate::keys::Keys;
use crate::kind::{Kind, Material};
use crate::source::{Nobody, Source};
use crate::tagged::Tagged;
use crate::unchecked::Unchecked;

/// One party that computes on authenticated shares. A clone is a handle of the same party.
#[derive(Clone)]
pub struct Authenticated(pub(crate) Arc<State>);

impl Deref for Authenticated {
    type Target = State;

    fn deref(&self) -> &State {
        &self.0
    }
}

/// The state of a party.
pub struct State {
    pub(crate) keys: Keys,
    pub(crate) stock: Stock<Kind, Tagged, SharedBits>,
    pub(crate) unchecked: Held<Unchecked>,
    /// Openings that were made to make correlations, which may happen while a program runs.
    pub(crate) unchecked_in_making: Held<Unchecked>,
    pub(crate) source: Box<dyn Source>,
}

impl Authenticated {
    /// Returns a party with these keys, and correlations from this source.
    pub fn new(keys: Keys, source: Box<dyn Source>) -> Authenticated {
        let (stock, unchecked, unchecked_in_making) = Default::default();
        Authenticated(Arc::new(State { keys, stock, unchecked, unchecked_in_making, source }))
    }

    /// Returns the adversary at this party: none, but for tests of attacks.
    pub fn adversary(&self) -> &Adversary {
        self.keys.adversary()
    }

    /// Returns its keys.
    pub fn keys(&self) -> &Keys {
        &self.keys
    }

    /// Returns whether its keys are of no use any more.
    pub fn is_over(&self) -> bool {
        self.keys.is_over()
    }

    /// Forgets what a run has left: correlations, and openings without a check.
    pub fn forget(&self) {
        self.stock.clear();
        self.forget_openings();
        self.keys.begin_run();
    }

    /// Notes that a run ended in an error.
    pub fn cut_off(&self) {
        self.keys.cut_off();
    }

    /// Ends the use of its keys.
    pub fn revoke(&self) {
        self.keys.revoke();
    }

    /// Serves the draws of the current run from correlations of a pool, which the session `origin` made under the keys
    /// of this party. If the run does not end well, the keys are of no use any more.
    ///
    /// # Errors
    /// [`Error::Poisoned`](quorate_engine::Error::Poisoned) if they are of no use already.
    pub fn fill_from_pool(
        &self,
        origin: SessionId,
        demand: Demand<Kind>,
        made: BTreeMap<Kind, Material>,
    ) -> Result<()> {
        self.keys.in_use()?;
        self.keys.touch();
        self.stock.fill_from(origin, demand, made);
        Ok(())
    }

    /// Wipes the keys if they are of no use any more, and drops the stock and the source. Call it through the only
    /// handle of this party: jobs have dropped theirs when their run has settled. While another handle is left, keys
    /// and source stay, and are wiped with the last handle; a debug build panics.
    pub fn wipe(&mut self) {
        if !self.keys.is_over() {
            return;
        }
        drop(self.stock.take_made()); // which wipes it
        self.forget_openings();
        let state = Arc::get_mut(&mut self.0);
        debug_assert!(state.is_some(), "keys are wiped while there is another handle of their party");
        if let Some(state) = state {
            state.keys.wipe();
            state.source = Box::new(Nobody);
        }
    }

    /// Returns the openings that are not checked: of the program, or of the making of correlations. At a given time,
    /// parties may have opened different parts of a program, so those openings wait for a check of their own.
    pub(crate) fn unchecked(&self, ctx: &Ctx) -> &Held<Unchecked> {
        match ctx.phase() {
            Phase::Online => &self.unchecked,
            Phase::Offline => &self.unchecked_in_making,
        }
    }

    fn forget_openings(&self) {
        self.unchecked.lock().clear();
        self.unchecked_in_making.lock().clear();
    }

    /// Returns whether bits have MACs, and are not elements.
    pub fn has_macs(&self) -> bool {
        self.keys.params.bits_have_macs()
    }

    /// Returns a vector of no elements.
    pub fn nothing(&self, ctx: &Ctx, ring: Ring) -> Tagged {
        self.blank(ctx.is_dry(), (ring, 0))
    }

    /// Refuses a party that does not exist.
    pub(crate) fn check_party(&self, party: usize) -> Result<()> {
        let parties = self.keys.parties + usize::from(self.keys.dealt);
        if party < parties { Ok(()) } else { Err(Misuse::NoSuchParty { party, parties }.into()) }
    }
}
