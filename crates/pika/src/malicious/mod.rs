//! The malicious form of `pika`: one of three parties may do anything.
//!
//! **Source**: ours (docs/security/pika-malicious.md, decision 0052). **Model**: malicious, one of three; a party that
//! follows the protocol gets the right result or an error. **Notation**: P0 and P1 compute, P2 deals.
//!
//! Online, P0 and P1 are two parties of [`quorate_authenticated`]: shares with tags over
//! Z_2^(k+s), bits with MACs, openings that are checked before anything is revealed. P2 deals the correlations for it.
//! P2 knows all keys, so tags do not bind it. Instead, P0 and P1 check all that it dealt, before anything that depends
//! on an input is sent. This check depends only on what was dealt and on their coins, so a dealer learns nothing from a
//! run that ends there.
//!
//! | step | file | rounds | what |
//! |---|---|---|---|
//! | correlations | `kinds`, `digits` | | uniform summands from seeds of pairs, values that follow from them |
//! | deal | `deal` | 1 | P2 sends P1 its summands of values that follow, and each the keys of the other's bits |
//! | toss | `check` | 3 | P0 and P1, once both have all of it; both send P2 the coins |
//! | open | `check`, `transcript` | 1 | P2 sends both the opened combinations of the dealt values |
//! | compare | `transcript` | 1 | P0 and P1: hashes of all that P2 sent then, and of what has to be zero |
//!
//! Signs, equality and truncation are computed from one-hot digits of masks (`comparison`), look-ups from those of
//! places (`lookup`). P2 deals in `batches`. Inputs, openings and results of P2: `third` of [`quorate_authenticated`].

mod backend;
mod batches;
mod check;
pub mod comparison;
pub mod cost;
mod deal;
pub mod digits;
mod family;
mod kinds;
mod lookup;
mod summands;
mod transcript;

use std::sync::Arc;

use quorate_adversary::DealerAdversary;
use quorate_authenticated::{Authenticated, FromPool, Kind, Material, Params, Seat, Secrets, Source};
use quorate_crypto::Seed;
use quorate_engine::{Ctx, Misuse, Result, Stocks};
use quorate_fss::Hash;
use quorate_gadgets::here::Local;
use zeroize::Zeroizing;

use crate::setup::{DEALER, Pika};

/// One party's end of the malicious form. A clone is a handle of the same party.
#[derive(Clone)]
pub struct PikaMalicious {
    pub(crate) online: Authenticated,
    pub(crate) third: Arc<Third>,
}

/// A party in the dealing: its seeds of pairs, and at P2 all keys.
pub(crate) struct Third {
    pub pairs: Pika,
    pub params: Params,
    /// The keys that this party has: its own, or those of both others.
    pub keys: Vec<OwnKeys>,
    pub adversary: DealerAdversary,
}

impl Third {
    fn new(pairs: Pika, params: Params, keys: Vec<OwnKeys>) -> Third {
        Third { pairs, params, keys, adversary: DealerAdversary::none() }
    }

    /// Returns this party without seeds and keys.
    fn without_secrets(&self) -> Third {
        Third::new(self.pairs.without_seeds(), self.params, vec![])
    }
}

/// The keys of a party: alpha^j and Delta^j.
pub(crate) struct OwnKeys {
    pub alpha: Zeroizing<u64>,
    pub delta: Zeroizing<u128>,
}

/// The dealing at one party, as the source of its correlations.
struct Dealer(Arc<Third>);

impl Source for Dealer {
    fn make_all<'a>(
        &'a self,
        party: &'a Authenticated,
        ctx: &'a Ctx,
        kinds: &'a [(Kind, usize)],
    ) -> Local<'a, Vec<Material>> {
        Box::pin(async move { party.keys().dealing(async || self.0.deal_all(ctx, kinds).await).await })
    }
}

impl PikaMalicious {
    /// Agrees on a session and on the seeds. One round. P2 knows the keys of both others.
    ///
    /// # Errors
    /// [`quorate_engine::Misuse::Parties`] unless 3; any error that ends a run.
    pub async fn set_up(ctx: &Ctx, params: Params, coins: Option<&Seed>) -> Result<PikaMalicious> {
        let pairs = match coins {
            Some(own) => Pika::setup_from(ctx, own).await?,
            None => Pika::setup(ctx).await?,
        };
        Self::with(pairs, params)
    }

    /// Agrees on a session whose correlations come from a pool with these secrets; party 2 has none. One round.
    ///
    /// # Errors
    /// [`quorate_engine::Misuse`] for secrets of other parameters, and those of [`PikaMalicious::set_up`].
    pub async fn set_up_under(
        ctx: &Ctx,
        params: Params,
        (coins, secrets): (Option<&Seed>, &[u8]),
    ) -> Result<PikaMalicious> {
        let secrets = match (ctx.me(), secrets) {
            (DEALER, []) => Secrets::none(),
            (DEALER, _) => return Err(DEALERS_KEYS.into()),
            _ => Secrets::unpack(params, true, secrets)?,
        };
        let pairs = match coins {
            Some(own) => Pika::setup_from(ctx, own).await?,
            None => Pika::setup(ctx).await?,
        };
        let (seat, third) = (seat_of(&pairs, params), Arc::new(Third::new(pairs, params, vec![])));
        Ok(PikaMalicious { online: Authenticated::dealt(&seat, secrets, Box::new(FromPool))?, third })
    }

    /// Returns a party for dry runs.
    ///
    /// # Errors
    /// Those of [`PikaMalicious::set_up`]; [`quorate_engine::Misuse::NoSuchParty`].
    pub fn new_dry(parties: usize, me: usize, params: Params) -> Result<PikaMalicious> {
        Self::with(Pika::dry(parties, me)?, params)
    }

    /// Returns the adversary at this party as the dealer: none, but for tests of attacks.
    pub fn adversary(&self) -> &DealerAdversary {
        &self.third.adversary
    }

    pub(crate) fn with(pairs: Pika, params: Params) -> Result<PikaMalicious> {
        let keys_with = |peer: usize| {
            let seed = pairs.coins_with(peer).derive("quorate/pika/malicious/keys", b"");
            Seat::keys_of(params, pairs.session(), &seed)
        };
        let own = |peer: usize| {
            let (alpha, delta) = keys_with(peer);
            OwnKeys { alpha, delta }
        };
        let keys = match pairs.me {
            DEALER => vec![own(0), own(1)],
            _ => vec![own(DEALER)],
        };
        let (alpha, delta) = keys_with(DEALER);
        let seat = seat_of(&pairs, params);
        let third = Arc::new(Third::new(pairs, params, keys));
        let source = Box::new(Dealer(third.clone()));
        Ok(PikaMalicious { online: Authenticated::dealt(&seat, Secrets::new(alpha, delta), source)?, third })
    }

    /// Returns the hash with which keys of the run are evaluated: that of the session that made them.
    pub(crate) fn evaluating(&self) -> Arc<Hash> {
        self.third.pairs.hashes.of(self.online.stock().origin())
    }
}

const DEALERS_KEYS: Misuse =
    Misuse::Other { what: "the pool has keys, and party 2 has none: give this session this party's own pool" };

fn seat_of(pairs: &Pika, params: Params) -> Seat {
    let private = pairs.own_coins().derive("quorate/pika/malicious/private", b"");
    Seat { me: pairs.me, params, session: *pairs.session(), private }
}

#[cfg(test)]
mod tests {
    use quorate_engine::{Error, Phase, Stocks, dry};
    use quorate_gadgets::Revokes;

    use super::*;

    #[test]
    fn keys_and_seeds_that_are_of_no_use_are_dropped() {
        for me in 0..3 {
            let mut s = PikaMalicious::new_dry(3, me, Params::default()).unwrap();
            let held = Arc::downgrade(&s.third);
            let make = async |s: &PikaMalicious, ctx: &Ctx| s.make(ctx, &Kind::BitTriple, 1).await.map(drop);
            dry::run(me, 3, Phase::Offline, async |ctx| make(&s, ctx).await).unwrap();
            s.wipe();
            assert!(held.upgrade().is_some(), "they are in use");
            s.cut_off();
            s.wipe();
            assert!(held.upgrade().is_none(), "party {me} keeps what it dealt with");
            let again = dry::run(me, 3, Phase::Offline, async |ctx| make(&s, ctx).await);
            assert_eq!(again.map(|_| ()), Err(Error::Poisoned));
        }
    }
}
