//! A party: it computes on authenticated shares, and makes its correlations together with all others.

use std::rc::Rc;

use quorate_adversary::Adversary;
use quorate_authenticated::{Authenticated, Keys as Online};
use quorate_crypto::Seed;
use quorate_engine::{Ctx, Result};

use crate::keys::Transfers;
use crate::make::{All, Maker, Protocols};
use crate::params::Params;

/// One party of the protocol.
pub struct Spdz2k {
    pub(crate) online: Authenticated,
    pub(crate) protocols: Rc<Protocols>,
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

    pub(crate) fn maker(&self) -> Maker<'_> {
        Maker::new(&self.online, &self.protocols)
    }
}

/// **Insecure**: parties whose correlations come from a dealer whose seed all know, and what tests look at.
#[cfg(feature = "testing")]
mod insecure {
    use quorate_authenticated::{InsecureBits, Shared, SharedBits, Tagged};
    use quorate_engine::{Misuse, Phase, Stocks, dry};
    use quorate_gadgets::MakesAhead;

    use super::*;
    use crate::family::DEALER;
    use crate::keys::{Keys, check_place};

    impl Spdz2k {
        /// Agrees on what the dealer deals from. One round.
        ///
        /// # Errors
        /// Those of [`Spdz2k::set_up`].
        pub async fn insecure_set_up(ctx: &Ctx, params: Params, coins: Option<&Seed>) -> Result<Spdz2k> {
            let matrices = matrices(params);
            let online = Authenticated::insecure_set_up(ctx, params.online(), coins, matrices).await?;
            Ok(Spdz2k { online, protocols: Protocols::new(Transfers::none(params)?) })
        }

        /// Returns a party with a dealer for dry runs.
        ///
        /// # Errors
        /// Those of [`Spdz2k::new_dry`].
        pub fn insecure_dry(parties: usize, me: usize, params: Params) -> Result<Spdz2k> {
            check_place(parties, me)?;
            let online = Authenticated::insecure_dry(parties, me, params.online(), matrices(params));
            Ok(Spdz2k { online, protocols: Protocols::new(Transfers::none(params)?) })
        }

        /// Returns its keys, and what it makes correlations from.
        pub fn keys(&self) -> Keys<'_> {
            self.protocols.transfers.under(self.online.keys())
        }

        /// Returns this party's share and tag, for tests that put shares together.
        pub fn insecure_shared(x: &Tagged) -> Shared {
            Authenticated::insecure_shared(x)
        }

        /// Returns this party's part of bits, row after row, for tests that put parts together.
        pub fn insecure_bits(x: &SharedBits) -> InsecureBits {
            Authenticated::insecure_bits(x)
        }

        /// Returns the difference between this party's keys of a 0 bit and of a 1 bit.
        pub fn insecure_delta(&self) -> u128 {
            self.online.insecure_delta()
        }

        /// Returns this party's share of alpha, for tests that look at tags.
        pub fn insecure_alpha(&self) -> u64 {
            self.online.insecure_alpha()
        }
    }

    fn matrices(params: Params) -> Option<quorate_authenticated::MatrixBytes> {
        params.has_matrix_triples().then(|| Box::new(move |ring, dims| params.bytes_of_matrices(ring, dims)) as _)
    }

    /// The variable that tests of gadgets set to run on a form of triples or bits other than the usual one, under short
    /// keys.
    const FORM: &str = "QUORATE_TEST_FORM";

    /// Runs on a dealer's correlations if `QUORATE_INSECURE_DEALER` is set, and otherwise on those that parties make.
    impl quorate_gadgets::testing::Tested for Spdz2k {
        async fn set_up(ctx: &Ctx) -> Result<Self> {
            let params = match std::env::var(FORM).as_deref() {
                Ok("bucket") => Params::new(32, true)?.with_triples_in_buckets(),
                Ok("twokeys") => Params::new(32, true)?.with_triples_under_two_keys(),
                Ok("elements") => Params::new(32, true)?.with_bits_as_elements(),
                Ok("paper") => Params::new(32, true)?.as_in_the_paper(),
                Ok("usual") | Err(_) => Params::default(),
                Ok(_) => {
                    return Err(Misuse::Other { what: "QUORATE_TEST_FORM names no form of triples or bits" }.into());
                }
            };
            match std::env::var_os(DEALER) {
                Some(_) => Self::insecure_set_up(ctx, params, None).await,
                None => Self::set_up(ctx, params, None).await,
            }
        }

        async fn make_ahead(&self, ctx: &Ctx, work: impl AsyncFn(&Self, &Ctx) -> Result<()>) -> Result<()> {
            if self.protocols.transfers.is_none() {
                return Ok(());
            }
            let dry = Self::new_dry(ctx.parties(), ctx.me(), self.params())?;
            dry.record_demand();
            let on_shapes = async |ctx: &Ctx| work(&dry, ctx).await;
            dry::run(ctx.me(), ctx.parties(), Phase::Online, on_shapes)?;
            self.make_all(ctx, dry.take_demand()).await
        }
    }
}
