//! A party: its keys, the correlations that it has made, and its openings that are not checked yet.

use std::cell::RefCell;

use quorate_adversary::Adversary;
use quorate_crypto::Seed;
use quorate_engine::{Ctx, Misuse, Phase, Result, Stock, Stocks};
use quorate_ring::Ring;

use crate::bittriple::Ahead;
use crate::check::Unchecked;
#[cfg(feature = "testing")]
use crate::dealer::Dealer;
use crate::dealt::Deals;
use crate::forms::SharedBits;
use crate::keys::Keys;
use crate::params::Params;
use crate::stock::Kind;
use crate::tagged::Tagged;

/// One party of the protocol.
pub struct Spdz2k {
    pub(crate) keys: Keys,
    pub(crate) stock: Stock<Kind, Tagged, SharedBits>,
    pub(crate) unchecked: RefCell<Unchecked>,
    /// Openings that were made to make correlations, which may happen while a program runs.
    pub(crate) unchecked_in_making: RefCell<Unchecked>,
    pub(crate) ahead: RefCell<Ahead>,
    /// The dealer of correlations for two parties, at each of the three.
    pub(crate) third: Option<Box<dyn Deals>>,
    /// The maker of correlations in a test that is not about them.
    #[cfg(feature = "testing")]
    pub(crate) dealer: Option<Dealer>,
}

impl Spdz2k {
    /// Agrees on a session with every other party, with the party's own coins grown from `coins`, where they are given.
    ///
    /// # Errors
    /// [`Misuse::Parties`] below 2; [`Error::Cheating`](quorate_engine::Error::Cheating) where a peer does not follow
    /// the protocols; whatever ends a run.
    pub async fn set_up(ctx: &Ctx, params: Params, coins: Option<&Seed>) -> Result<Spdz2k> {
        Ok(Self::with(Keys::setup(ctx, params, coins).await?))
    }

    /// Returns a party for dry runs.
    ///
    /// # Errors
    /// [`Misuse::Parties`], [`Misuse::NoSuchParty`].
    pub fn new_dry(parties: usize, me: usize, params: Params) -> Result<Spdz2k> {
        Ok(Self::with(Keys::dry(parties, me, params)?))
    }

    pub(crate) fn with(keys: Keys) -> Spdz2k {
        let (stock, unchecked, unchecked_in_making, ahead) = Default::default();
        Spdz2k {
            keys,
            stock,
            unchecked,
            unchecked_in_making,
            ahead,
            third: None,
            #[cfg(feature = "testing")]
            dealer: None,
        }
    }

    /// Returns the adversary at this party: none, but for tests of attacks.
    pub fn adversary(&self) -> &Adversary {
        self.keys.adversary()
    }

    /// Returns the openings that are not checked: of the program, or of the making of correlations. At a given time,
    /// parties may have opened different parts of a program, so those openings wait for a check of their own.
    pub(crate) fn unchecked(&self, ctx: &Ctx) -> &RefCell<Unchecked> {
        match ctx.phase() {
            Phase::Online => &self.unchecked,
            Phase::Offline => &self.unchecked_in_making,
        }
    }

    pub(crate) fn forget_openings(&self) {
        self.unchecked.borrow_mut().clear();
        self.unchecked_in_making.borrow_mut().clear();
    }

    /// Returns whether bits have MACs, and are not elements.
    pub(crate) fn has_macs(&self) -> bool {
        self.keys.params.bits_have_macs()
    }

    /// Returns a vector of no elements.
    pub(crate) fn nothing(&self, ctx: &Ctx, ring: Ring) -> Tagged {
        self.blank(ctx.is_dry(), (ring, 0))
    }

    /// Refuses a party that does not exist.
    pub(crate) fn check_party(&self, party: usize) -> Result<()> {
        let parties = self.keys.parties + usize::from(self.keys.dealt);
        if party < parties { Ok(()) } else { Err(Misuse::NoSuchParty { party, parties }.into()) }
    }
}
