//! A party of `pika`: its seeds with each of the others, and its stock of correlations.
//!
//! Setup: every party sends each other one 64 random bytes. 32 of them are the same for all and name the session. The
//! other 32 belong to the pair, which makes from both parties' bytes a seed that both know and the third party does
//! not. One round.
//!
//! | seed of | used for |
//! |---|---|
//! | parties 0 and 2, 1 and 2 | what party 2 deals, party 0's shares of party 2's inputs |
//! | parties 0 and 1 | shares of their inputs, fresh shares of results for party 2, the last order of a shuffle |
//!
//! Every use has a stream of its own, named by (run, lane, use).

use std::ops::Deref;
use std::sync::Arc;

use quorate_crypto::{Seed, SessionId};
use quorate_engine::{Ctx, Error, Held, Misuse, Result};
use quorate_fss::{Hash, Origins};
use quorate_gadgets::Family;
use zeroize::Zeroizing;

use crate::forms::Comparisons;
use crate::kind::Stock;
use crate::share::Masks;

/// The party that deals.
pub(crate) const DEALER: usize = 2;
/// The number of parties.
pub(crate) const PARTIES: usize = 3;

const SEED_BYTES: usize = 32;

/// One party's end of sharing between two parties, with a third one that deals. A clone is a handle of the same party.
#[derive(Clone)]
pub struct Pika(Arc<State>);

impl Deref for Pika {
    type Target = State;

    fn deref(&self) -> &State {
        &self.0
    }
}

/// The state of a party.
pub struct State {
    pub(crate) me: usize,
    /// By party, coins that it and this party know; this party's own coins are at its own place.
    pub(crate) coins: [Seed; PARTIES],
    pub(crate) stock: Stock,
    pub(crate) comparisons: Held<Comparisons>,
    /// Whether marks of factors are ignored.
    pub(crate) pooled: Held<bool>,
    /// The masks of values that stay factors, at party 2.
    pub(crate) masks: Masks,
    pub(crate) session: SessionId,
    /// The hashes of trees.
    pub(crate) hashes: Origins,
}

impl Pika {
    /// Checks that `pika` can run with `parties` parties.
    ///
    /// # Errors
    /// [`Misuse::Parties`] unless 3.
    pub fn check_parties(parties: usize) -> Result<()> {
        Self::DESCRIPTOR.check_parties(parties)
    }

    /// Agrees on a session id and on the seeds. One round.
    ///
    /// # Errors
    /// [`Misuse::Parties`], and any error that ends a run.
    pub async fn setup(ctx: &Ctx) -> Result<Pika> {
        let own = Seed::random().map_err(|_| Error::Bug { what: "the operating system has no randomness to give" })?;
        Self::setup_from(ctx, &own).await
    }

    /// Sets up as [`Pika::setup`] does, with all of this party's coins grown from `own`: whoever knows it knows all
    /// that this party hides.
    ///
    /// # Errors
    /// Those of [`Pika::setup`].
    pub async fn setup_from(ctx: &Ctx, own: &Seed) -> Result<Pika> {
        Self::check_parties(ctx.parties())?;
        let me = ctx.me();
        let mut drawn = own.prg("quorate/pika/setup", b"");
        let mut name = [0; SEED_BYTES];
        drawn.fill(&mut name);
        let secrets: [Secret; PARTIES] = std::array::from_fn(|_| {
            let mut secret = Secret::default();
            drawn.fill(&mut *secret);
            secret
        });
        let (names, theirs) = exchange(ctx, name, &secrets).await?;
        let session = SessionId::from_contributions(&names);
        let coins = std::array::from_fn(|peer| match peer == me {
            true => own.derive("quorate/pika/private", session.as_bytes()),
            false => {
                let both = [&secrets[peer], &theirs[peer]];
                pair_seed(if me < peer { both } else { [both[1], both[0]] }, &session)
            }
        });
        Ok(Self::with(me, coins, session))
    }

    /// Returns a party for dry runs, without seeds, since nothing is drawn.
    ///
    /// # Errors
    /// [`Misuse::Parties`], [`Misuse::NoSuchParty`].
    pub fn dry(parties: usize, me: usize) -> Result<Pika> {
        Self::check_parties(parties)?;
        if me >= parties {
            return Err(Misuse::NoSuchParty { party: me, parties }.into());
        }
        Ok(Self::with_no_seeds(me))
    }

    fn with_no_seeds(me: usize) -> Pika {
        let coins = std::array::from_fn(|_| Seed::from_bytes([0; SEED_BYTES]));
        let session = SessionId::from_bytes([0; SEED_BYTES]);
        Self::with(me, coins, session)
    }

    /// Returns a party with these seeds, by party.
    pub(crate) fn with(me: usize, coins: [Seed; PARTIES], session: SessionId) -> Pika {
        let (stock, comparisons, masks, pooled) = Default::default();
        let hashes = Origins::new(&session);
        Pika(Arc::new(State { me, coins, stock, comparisons, pooled, masks, hashes, session }))
    }

    /// Returns another handle of this party, for runs beside those of this one: the same keys, the masks of factors of
    /// the runs before, and no correlations.
    pub fn beside(&self) -> Pika {
        self.another(self.masks.beside())
    }

    /// Returns another handle of this party, for another program that goes on from the runs before.
    pub fn branch(&self) -> Pika {
        self.another(self.masks.branch())
    }

    fn another(&self, masks: Masks) -> Pika {
        let State { me, coins, comparisons, pooled, session, .. } = &**self;
        Pika(Arc::new(State {
            me: *me,
            coins: coins.clone(),
            stock: Stock::default(),
            comparisons: Held::new(comparisons.get()),
            pooled: Held::new(pooled.get()),
            masks,
            session: *session,
            hashes: Origins::new(session),
        }))
    }

    /// Returns this party without a session and its seeds.
    pub(crate) fn without_seeds(&self) -> Pika {
        Self::with_no_seeds(self.me)
    }

    /// Returns the session's id, alike at all parties.
    pub fn session(&self) -> &SessionId {
        &self.session
    }

    /// Returns the form in which signs, equality and truncation are computed.
    pub fn comparisons(&self) -> Comparisons {
        self.comparisons.get()
    }

    /// Chooses the form of comparisons; it must be the same at all parties and in dry runs.
    pub fn set_comparisons(&self, form: Comparisons) {
        self.comparisons.set(form);
    }

    /// Returns the hash of the session's own trees.
    pub(crate) fn hash(&self) -> &Hash {
        self.hashes.own()
    }

    /// Returns the hash of the session that made the keys of the run.
    pub(crate) fn evaluating(&self) -> Arc<Hash> {
        self.hashes.of(self.stock.origin())
    }

    /// Returns whether this party deals.
    pub(crate) fn deals(&self) -> bool {
        self.me == DEALER
    }

    /// Returns the other one of parties 0 and 1, at these parties.
    pub(crate) fn peer(&self) -> usize {
        1 - self.me
    }

    /// Returns coins that this party and another one know, and the third one does not.
    pub(crate) fn coins_with(&self, peer: usize) -> &Seed {
        &self.coins[peer]
    }

    /// Returns this party's own coins.
    pub(crate) fn own_coins(&self) -> &Seed {
        &self.coins[self.me]
    }
}

/// A party's contribution to a seed, wiped when dropped.
type Secret = Zeroizing<[u8; SEED_BYTES]>;

/// Returns the seed of a pair from the contributions of both, the lower party first.
fn pair_seed([lower, higher]: [&Secret; 2], session: &SessionId) -> Seed {
    let mut context = Zeroizing::new([0; 2 * SEED_BYTES]);
    context[..SEED_BYTES].copy_from_slice(&**higher);
    context[SEED_BYTES..].copy_from_slice(session.as_bytes());
    Seed::from_bytes(**lower).derive("quorate/pika/pair", &*context)
}

/// Returns all parties' contributions to the session's name, and each peer's contribution to the seed that it shares
/// with this party.
async fn exchange(
    ctx: &Ctx,
    name: [u8; SEED_BYTES],
    secrets: &[Secret; PARTIES],
) -> Result<([[u8; SEED_BYTES]; PARTIES], [Secret; PARTIES])> {
    let parcel = |peer: usize| {
        let mut parcel = Zeroizing::new([0; 2 * SEED_BYTES]);
        parcel[..SEED_BYTES].copy_from_slice(&name);
        parcel[SEED_BYTES..].copy_from_slice(&*secrets[peer]);
        parcel
    };
    let peers = ctx.peers();
    let parcels: Vec<_> = peers.iter().map(|&peer| (peer, parcel(peer))).collect();
    let outgoing: Vec<(usize, &[u8])> = parcels.iter().map(|(peer, parcel)| (*peer, &parcel[..])).collect();
    let incoming: Vec<(usize, usize)> = peers.iter().map(|&peer| (peer, 2 * SEED_BYTES)).collect();
    let received = ctx.exchange_bytes(&outgoing, &incoming).await?;
    let (mut names, mut theirs) = ([name; PARTIES], [0; PARTIES].map(|_| Secret::default()));
    for (&peer, parcel) in peers.iter().zip(received.into_iter().map(Zeroizing::new)) {
        names[peer].copy_from_slice(&parcel[..SEED_BYTES]);
        theirs[peer].copy_from_slice(&parcel[SEED_BYTES..]);
    }
    Ok((names, theirs))
}
