//! A party: it computes on authenticated shares, and makes its correlations together with all others.

use std::sync::Arc;

use quorate_adversary::Adversary;
use quorate_authenticated::Authenticated;
use quorate_authenticated::keys::Keys as Online;
use quorate_crypto::Seed;
use quorate_engine::{Ctx, Result};

use crate::keys::Transfers;
use crate::make::{All, FromPool, Protocols};
use crate::memory::Memory;
use crate::params::Params;

/// One party of the protocol. A clone is a handle of the same party.
#[derive(Clone)]
pub struct Spdz2k {
    pub(crate) online: Authenticated,
    pub(crate) protocols: Arc<Protocols>,
}

impl Spdz2k {
    /// Agrees on a session with every other party, with the party's own coins grown from `coins`, where they are given.
    ///
    /// # Errors
    /// [`Misuse::Parties`](quorate_engine::Misuse::Parties) below 2;
    /// [`Error::Cheating`](quorate_engine::Error::Cheating) where a peer does not follow the protocols; any error that
    /// ends a run.
    pub async fn set_up(ctx: &Ctx, params: Params, coins: Option<&Seed>) -> Result<Spdz2k> {
        Self::set_up_as(ctx, params, coins, Adversary::none()).await
    }

    /// Agrees on a session as [`Spdz2k::set_up`] does, with this adversary at this party.
    ///
    /// # Errors
    /// Those of [`Spdz2k::set_up`].
    pub async fn set_up_as(ctx: &Ctx, params: Params, coins: Option<&Seed>, adversary: Adversary) -> Result<Spdz2k> {
        let (keys, transfers) = Transfers::setup(ctx, params, coins, adversary).await?;
        Ok(Self::with(keys, transfers))
    }

    /// Agrees on a session whose correlations come from a pool with these secrets.
    ///
    /// # Errors
    /// [`Misuse`](quorate_engine::Misuse) for secrets of other parameters or of another party, and those of
    /// [`Spdz2k::set_up`].
    pub async fn set_up_from_pool_as(
        ctx: &Ctx,
        params: Params,
        from: (Option<&Seed>, &[u8]),
        adversary: Adversary,
    ) -> Result<Spdz2k> {
        let (keys, transfers) = Transfers::from_pool(ctx, params, from, adversary).await?;
        let protocols = Protocols::new(transfers);
        Ok(Spdz2k { online: Authenticated::new(keys, Box::new(FromPool(protocols.clone()))), protocols })
    }

    /// Returns a party for dry runs.
    ///
    /// # Errors
    /// [`Misuse::Parties`](quorate_engine::Misuse::Parties),
    /// [`Misuse::NoSuchParty`](quorate_engine::Misuse::NoSuchParty).
    pub fn new_dry(parties: usize, me: usize, params: Params) -> Result<Spdz2k> {
        let (keys, transfers) = Transfers::dry(parties, me, params)?;
        Ok(Self::with(keys, transfers))
    }

    fn with(keys: Online, transfers: Transfers) -> Spdz2k {
        let protocols = Protocols::new(transfers);
        Spdz2k { online: Authenticated::new(keys, Box::new(All(protocols.clone()))), protocols }
    }

    /// Returns the adversary at this party: none, but for tests of attacks.
    pub fn adversary(&self) -> &Adversary {
        self.online.adversary()
    }

    /// Returns the parameters of the session.
    pub fn params(&self) -> Params {
        self.protocols.transfers.params
    }

    pub(crate) fn memory(&self) -> Memory<'_> {
        Memory { online: &self.online, transfers: &self.protocols.transfers }
    }
}
