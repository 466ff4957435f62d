//! A party: what it agrees on in the setup.

use std::cell::RefCell;

use quorate_crypto::{Seed, SessionId};
use quorate_engine::{Ctx, Error, Misuse, Result, Stock};
use quorate_gadgets::Family;

use crate::bits::TaggedBits;
use crate::dealer::Kind;
use crate::open::Unchecked;
use crate::tagged::Tagged;

/// One party's end.
pub struct Insecure {
    pub(crate) parties: usize,
    pub(crate) me: usize,
    /// What all that is dealt grows from. Every party knows it: this is what makes the family insecure.
    pub(crate) dealer: Seed,
    /// Every party's share of alpha, below 2^s.
    pub(crate) keys: Vec<u64>,
    pub(crate) session: SessionId,
    pub(crate) stock: Stock<Kind, Tagged, TaggedBits>,
    pub(crate) unchecked: RefCell<Unchecked>,
}

const SEED_BYTES: usize = 32;

impl Insecure {
    /// Agrees on what the dealer deals from, with the party's own coins grown from `coins`, where they are given.
    ///
    /// # Errors
    /// [`Misuse::Parties`] below 2; whatever ends a run.
    pub async fn setup(ctx: &Ctx, coins: Option<&Seed>) -> Result<Insecure> {
        Self::DESCRIPTOR.check_parties(ctx.parties())?;
        let drawn =
            Seed::random().map_err(|_| Error::Bug { what: "the operating system has no randomness to give" })?;
        let mut own = [0; SEED_BYTES];
        coins.unwrap_or(&drawn).prg("quorate/insecure/setup", b"").fill(&mut own);
        let said = ctx.broadcast(&own).await?;
        let seeds: Vec<[u8; SEED_BYTES]> = said.iter().filter_map(|seed| seed[..].try_into().ok()).collect();
        Self::of(ctx.parties(), ctx.me(), SessionId::from_contributions(&seeds))
    }

    /// The same for dry runs.
    ///
    /// # Errors
    /// [`Misuse::Parties`], [`Misuse::NoSuchParty`].
    pub fn dry(parties: usize, me: usize) -> Result<Insecure> {
        Self::DESCRIPTOR.check_parties(parties)?;
        Self::of(parties, me, SessionId::from_bytes([0; SEED_BYTES]))
    }

    fn of(parties: usize, me: usize, session: SessionId) -> Result<Insecure> {
        check_party(parties, me)?;
        let dealer = Seed::from_bytes(*session.as_bytes()).derive("quorate/insecure/dealer", b"");
        let mut keys = dealer.prg("quorate/insecure/keys", b"");
        let keys = (0..parties).map(|_| keys.next_u64()).collect();
        let (stock, unchecked) = Default::default();
        Ok(Insecure { parties, me, dealer, keys, session, stock, unchecked })
    }

    /// This party's share of alpha.
    pub(crate) fn key(&self) -> u128 {
        self.keys[self.me].into()
    }

    pub(crate) fn peers(&self) -> impl Iterator<Item = usize> {
        (0..self.parties).filter(|&party| party != self.me)
    }
}

pub(crate) fn check_party(parties: usize, party: usize) -> Result<()> {
    if party < parties { Ok(()) } else { Err(Misuse::NoSuchParty { party, parties }.into()) }
}

#[cfg(feature = "testing")]
impl quorate_gadgets::testing::Tested for Insecure {
    async fn set_up(ctx: &Ctx) -> Result<Self> {
        Self::setup(ctx, None).await
    }
}
