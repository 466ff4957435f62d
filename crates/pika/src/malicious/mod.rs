//! The malicious form of `pika`: one of three parties may do anything.
//!
//! **Source**: ours (docs/security/pika-malicious.md, decision 0052). **Model**: malicious, one of three; who follows
//! the protocol gets the right result or an error. **Notation**: P0 and P1 compute, P2 deals.
//!
//! Online, P0 and P1 run the two parties' part of `spdz2k` ([`quorate_spdz2k`]): shares with tags over Z_2^(k+s), bits
//! with MACs, openings that are checked before anything is revealed. What that takes is dealt by P2, which knows all
//! keys, so that tags do not bind it: instead P0 and P1 check all that it dealt, before anything that depends on an
//! input is sent. What they check depends on what was dealt and on their coins alone, so that a dealer learns nothing
//! from a run that ends there.
//!
//! | step | file | rounds | what |
//! |---|---|---|---|
//! | what is dealt | `kinds`, `digits` | | uniform summands from seeds of pairs, what follows from them |
//! | deal | `deal` | 1 | P2 sends P1 its summands of what follows, both the keys of the other's bits |
//! | toss | `check` | 3 | P0 and P1, once both have all of it; both tell P2 the coins |
//! | open | `check` | 1 | P2 sends both what combinations of it come to |
//! | compare | `check` | 1 | P0 and P1: hashes of all that P2 said then, and of what has to be zero |
//!
//! Signs, equality and truncation are computed of one-hot digits of masks (`comparison`), look-ups of those of places
//! (`lookup`). Inputs, openings and results of P2: `dealt` of [`quorate_spdz2k`].

mod backend;
mod check;
pub mod comparison;
pub mod cost;
mod deal;
pub mod digits;
mod family;
#[cfg(feature = "testing")]
mod forgery;
mod kinds;
mod lookup;
#[cfg(feature = "testing")]
mod spoil;
mod summands;

#[cfg(feature = "testing")]
pub use deal::Lie;
#[cfg(feature = "testing")]
pub use forgery::Forgery;
#[cfg(feature = "testing")]
pub use spoil::Spoil;

use std::rc::Rc;

use quorate_crypto::Seed;
use quorate_engine::{Ctx, Error, Result};
use quorate_gadgets::here::Local;
#[cfg(feature = "testing")]
use quorate_ring::Vector;
#[cfg(feature = "testing")]
use quorate_spdz2k::Tagged;
use quorate_spdz2k::{Deals, Kind, Material, Params, Seat, Spdz2k};
use zeroize::Zeroizing;

use crate::setup::{DEALER, Pika};

/// One party's end of the malicious form.
pub struct PikaMalicious {
    pub(crate) online: Spdz2k,
    #[cfg_attr(not(feature = "testing"), allow(dead_code))]
    pub(crate) third: Rc<Third>,
}

/// A party in the dealing: seeds of pairs, and at P2 all keys.
pub(crate) struct Third {
    pub pairs: Pika,
    pub params: Params,
    /// Those that this party has: its own, or both.
    pub keys: Vec<OwnKeys>,
    #[cfg(feature = "testing")]
    pub lies: std::cell::RefCell<Vec<Lie>>,
    /// Whether it then opens what makes a wrong product pass.
    #[cfg(feature = "testing")]
    pub forges: std::cell::Cell<Option<Forgery>>,
    /// What it sends of keys instead: of all, or of those that are the so manieth thing that it sends of a batch.
    #[cfg(feature = "testing")]
    pub spoils: std::cell::Cell<Option<(Spoil, Option<usize>)>>,
    /// How often it did.
    #[cfg(feature = "testing")]
    pub lied: std::cell::Cell<usize>,
}

impl Third {
    fn new(pairs: Pika, params: Params, keys: Vec<OwnKeys>) -> Third {
        Third {
            pairs,
            params,
            keys,
            #[cfg(feature = "testing")]
            lies: Default::default(),
            #[cfg(feature = "testing")]
            forges: Default::default(),
            #[cfg(feature = "testing")]
            spoils: Default::default(),
            #[cfg(feature = "testing")]
            lied: Default::default(),
        }
    }

    /// The same party with no seeds and no keys.
    fn without_secrets(&self) -> Third {
        Third::new(self.pairs.without_seeds(), self.params, vec![])
    }
}

/// alpha^j and Delta^j.
pub(crate) struct OwnKeys {
    pub alpha: Zeroizing<u64>,
    pub delta: Zeroizing<u128>,
}

/// Whose stake in the stock this is.
struct Dealer(Rc<Third>);

impl Deals for Dealer {
    fn deal<'a>(&'a self, ctx: &'a Ctx, kinds: Vec<(Kind, usize)>) -> Local<'a, Vec<Material>> {
        Box::pin(async move { self.0.deal_all(ctx, &kinds).await })
    }
}

impl PikaMalicious {
    /// Agrees on a session and on the seeds. One round. P2 knows the keys of both others.
    ///
    /// # Errors
    /// [`quorate_engine::Misuse::Parties`] unless 3; whatever ends a run.
    pub async fn set_up(ctx: &Ctx, params: Params, coins: Option<&Seed>) -> Result<PikaMalicious> {
        let pairs = match coins {
            Some(own) => Pika::setup_from(ctx, own).await?,
            None => Pika::setup(ctx).await?,
        };
        Self::with(pairs, params)
    }

    /// The same party for dry runs.
    ///
    /// # Errors
    /// As [`PikaMalicious::set_up`]; [`quorate_engine::Misuse::NoSuchParty`].
    pub fn new_dry(parties: usize, me: usize, params: Params) -> Result<PikaMalicious> {
        Self::with(Pika::dry(parties, me)?, params)
    }

    fn with(pairs: Pika, params: Params) -> Result<PikaMalicious> {
        let (me, session) = (pairs.me, *pairs.session());
        let seed = |peer: usize| pairs.coins_with(peer).derive("quorate/pika/malicious/keys", b"");
        let own = |peer: usize| {
            let (alpha, delta) = Seat::keys_of(params, &session, &seed(peer))?;
            Ok::<_, Error>(OwnKeys { alpha, delta })
        };
        let keys = match me {
            DEALER => vec![own(0)?, own(1)?],
            _ => vec![own(DEALER)?],
        };
        let seat = Seat {
            me,
            params,
            session,
            keys: seed(DEALER),
            private: pairs.own_coins().derive("quorate/pika/malicious/private", b""),
        };
        let third = Rc::new(Third::new(pairs, params, keys));
        Ok(PikaMalicious { online: Spdz2k::dealt(&seat, Box::new(Dealer(third.clone())))?, third })
    }
}

#[cfg(feature = "testing")]
impl PikaMalicious {
    /// **Insecure**: the malicious form of a party, with the keys that grow from its seeds of pairs.
    pub fn insecure_with(pairs: Pika, params: Params) -> Result<PikaMalicious> {
        Self::with(pairs, params)
    }

    /// **Insecure**: from here on this party, as the dealer, deviates there.
    pub fn insecure_lie(&self, lie: Lie) {
        self.third.lies.borrow_mut().push(lie);
    }

    /// **Insecure**: from here on this party, as the dealer, opens what makes wrong products pass, if nobody looks.
    pub fn insecure_forge(&self, forgery: Forgery) {
        self.third.forges.set(Some(forgery));
    }

    /// **Insecure**: from here on this party, as the dealer, sends other keys: all, or those that are the so manieth
    /// thing that it sends of a batch.
    pub fn insecure_spoil(&self, spoil: Spoil, at: Option<usize>) {
        self.third.spoils.set(Some((spoil, at)));
    }

    /// **Insecure**: this party's first and second values of all leaves of dealt places, by digit.
    pub fn insecure_leaves(&self, digits: digits::Digits, blocks: &Tagged, len: usize) -> Vec<[Vector; 2]> {
        let keys = digits::keys_of(digits, self.third.pairs.me, &blocks.shared(), len).unwrap_or_default();
        let each = |keys| digits::values(&self.third.pairs.hash, keys).map(|values| (*values).clone());
        keys.iter().map(each).collect()
    }

    /// **Insecure**: how often it did.
    pub fn insecure_lied(&self) -> usize {
        self.third.lied.get()
    }

    /// **Insecure**: the two parties' protocol, for tests in which one of them deviates.
    pub fn insecure_online(&self) -> &Spdz2k {
        &self.online
    }
}

#[cfg(feature = "testing")]
impl quorate_gadgets::testing::Tested for PikaMalicious {
    const ALL_SEE_OPENINGS: bool = false;

    async fn set_up(ctx: &Ctx) -> Result<Self> {
        Self::set_up(ctx, Params::default(), None).await
    }
}

#[cfg(test)]
mod tests {
    use quorate_engine::{Phase, Stocks, dry};
    use quorate_gadgets::Family;

    use super::*;

    #[test]
    fn keys_and_seeds_that_are_of_no_use_are_dropped() {
        for me in 0..3 {
            let mut s = PikaMalicious::new_dry(3, me, Params::default()).unwrap();
            let held = Rc::downgrade(&s.third);
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
