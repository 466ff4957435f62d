//! A party: its keys, what it has made ahead, and what it has opened and not checked.

use std::cell::RefCell;

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

/// One party's end.
pub struct Spdz2k {
    pub(crate) keys: Keys,
    pub(crate) stock: Stock<Kind, Tagged, SharedBits>,
    pub(crate) unchecked: RefCell<Unchecked>,
    /// The same of what was opened to make correlations, which may be while a program runs.
    pub(crate) unchecked_in_making: RefCell<Unchecked>,
    pub(crate) ahead: RefCell<Ahead>,
    /// Who deals correlations to two parties, at each of the three.
    pub(crate) third: Option<Box<dyn Deals>>,
    /// Who makes correlations in a test that is not about them.
    #[cfg(feature = "testing")]
    pub(crate) dealer: Option<Dealer>,
    /// What parties told, for tests of what it says; nothing where none listens.
    #[cfg(feature = "testing")]
    pub(crate) heard: RefCell<Option<Vec<Vec<quorate_ring::Vector>>>>,
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

    /// The same for dry runs.
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
            #[cfg(feature = "testing")]
            heard: RefCell::default(),
        }
    }

    /// What was opened and not checked: by a program, or by the making of correlations under way. What a program has
    /// opened at one time is not alike at all parties, so it waits for a check of its own.
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

    /// Whether bits have MACs, and are no elements.
    pub(crate) fn has_macs(&self) -> bool {
        self.keys.params.bits_have_macs()
    }

    /// No elements.
    pub(crate) fn nothing(&self, ctx: &Ctx, ring: Ring) -> Tagged {
        self.blank(ctx.is_dry(), (ring, 0))
    }

    /// Refuses a party that there is not.
    pub(crate) fn check_party(&self, party: usize) -> Result<()> {
        let parties = self.keys.parties + usize::from(self.keys.dealt);
        if party < parties { Ok(()) } else { Err(Misuse::NoSuchParty { party, parties }.into()) }
    }
}
