//! A party of `rss`: its maps, its seeds, its stock of correlations.
//!
//! **Source**: the key setup of section 4 (pseudorandom secret sharing): k_T is known to all parties outside T. For
//! each T the first holder draws k_T and sends it to the others. One round; bytes per party: 32 t for each T of which
//! it is the first holder.

use std::ops::Deref;
use std::sync::Arc;

use quorate_crypto::{Prg, Seed, SessionId};
use quorate_engine::{Ctx, Error, Held, Result};
use quorate_gadgets::Family;
use zeroize::Zeroizing;

use crate::client::Accepted;
use crate::forms::Forms;
use crate::kind::Stock;
use crate::maps::{Maps, Set, all_sets};

/// One party of replicated secret sharing. A clone is a handle of the same party.
#[derive(Clone)]
pub struct Rss(pub(crate) Arc<State>);

impl Deref for Rss {
    type Target = State;

    fn deref(&self) -> &State {
        &self.0
    }
}

/// The state of a party.
pub struct State {
    pub(crate) maps: Maps,
    /// k_T for every T held, in the order of `maps.held`; empty in a dry run.
    pub(crate) seeds: Vec<Seed>,
    /// This party's own coins.
    pub(crate) private: Seed,
    /// Coins that all parties know; they must not be used as masks.
    pub(crate) public: Seed,
    /// The numbers of clients' packets that were accepted.
    pub(crate) accepted: Arc<Held<Accepted>>,
    pub(crate) stock: Stock,
    pub(crate) forms: Held<Forms>,
    session: SessionId,
}

const SEED_BYTES: usize = 32;

/// A seed in a message, wiped when dropped.
type SeedBytes = Zeroizing<[u8; SEED_BYTES]>;

impl Rss {
    /// Checks that `rss` supports this number of parties.
    ///
    /// # Errors
    /// [`Misuse::Parties`] unless 3, 5 or 7.
    pub fn check_parties(parties: usize) -> Result<()> {
        Self::DESCRIPTOR.check_parties(parties)
    }

    /// Agrees on a session id and the seeds. Two rounds.
    ///
    /// # Errors
    /// [`Misuse::Parties`], and any error that ends a run.
    pub async fn setup(ctx: &Ctx) -> Result<Rss> {
        let own = Seed::random().map_err(|_| no_randomness())?;
        Self::setup_from(ctx, &own).await
    }

    /// Sets up a party like [`Rss::setup`], with all of its coins derived from `own`: anyone who knows `own` knows
    /// everything that this party hides.
    ///
    /// # Errors
    /// Those of [`Rss::setup`].
    pub async fn setup_from(ctx: &Ctx, own: &Seed) -> Result<Rss> {
        Self::check_parties(ctx.parties())?;
        let maps = Maps::new(ctx.parties(), ctx.me());
        let mut coins = own.prg("quorate/rss/setup", b"");
        let session = agree_on_session(ctx, &mut coins).await?;
        let seeds = exchange_seeds(ctx, &maps, &mut coins).await?;
        let bind = |seed: &SeedBytes| Seed::from_bytes(**seed).derive("quorate/rss/share", session.as_bytes());
        let seeds = seeds.iter().map(bind).collect();
        Ok(Self::with(maps, seeds, own.derive("quorate/rss/private", b""), session))
    }

    /// Returns a party of a session with seeds that its parties have agreed on already: by `seed_of` the seed of each
    /// set of parties, as a mask, to which this one does not belong, and `private` for what it draws alone.
    ///
    /// # Errors
    /// [`Misuse::Parties`].
    pub fn with_seeds(
        session: SessionId,
        (parties, me): (usize, usize),
        seed_of: impl Fn(u8) -> Seed,
        private: Seed,
    ) -> Result<Rss> {
        Self::check_parties(parties)?;
        let maps = Maps::new(parties, me);
        let seeds = maps.held.iter().map(|&set| seed_of(set)).collect();
        Ok(Self::with(maps, seeds, private, session))
    }

    fn with(maps: Maps, seeds: Vec<Seed>, private: Seed, session: SessionId) -> Rss {
        let public = public_seed(&session);
        let (stock, forms, accepted) = Default::default();
        Rss(Arc::new(State { maps, seeds, private, public, accepted, stock, forms, session }))
    }

    /// Returns a party for dry runs; it has no seeds, since nothing is drawn.
    ///
    /// # Errors
    /// [`Misuse::Parties`].
    pub fn dry(parties: usize, me: usize) -> Result<Rss> {
        Self::check_parties(parties)?;
        let (private, session) = (Seed::from_bytes([0; SEED_BYTES]), SessionId::from_bytes([0; 32]));
        Ok(Self::with(Maps::new(parties, me), Vec::new(), private, session))
    }

    /// Returns another handle of this party, for runs beside those of this one: the same keys, and no correlations.
    /// Either accepts a client's packet only if the other has not.
    pub fn beside(&self) -> Rss {
        let State { maps, seeds, private, public, accepted, forms, session, .. } = &**self;
        Rss(Arc::new(State {
            maps: maps.clone(),
            seeds: seeds.clone(),
            private: private.clone(),
            public: public.clone(),
            accepted: accepted.clone(),
            stock: Stock::default(),
            forms: Held::new(forms.get()),
            session: *session,
        }))
    }

    /// Returns the session's id, the same at all parties.
    pub fn session(&self) -> &SessionId {
        &self.session
    }

    /// Returns which of several protocols with the same result run in this session.
    pub fn forms(&self) -> Forms {
        self.forms.get()
    }

    /// Chooses between protocols with the same result. The choice must be the same at all parties, and be made before a
    /// program runs or is run dry.
    pub fn set_forms(&self, forms: Forms) {
        self.forms.set(forms);
    }

    /// Returns the corruptions tolerated.
    pub fn threshold(&self) -> usize {
        self.maps.threshold
    }

    /// Returns the number of shares that a party holds of each value: C(n-1, t), which is 2, 6 or 20.
    pub fn shares_held(&self) -> usize {
        self.share_count()
    }

    /// Returns the number of shares of each value at each party.
    pub(crate) fn share_count(&self) -> usize {
        self.maps.held.len()
    }
}

/// Returns the public seed. The session's id is as random as the coins of any one party, and all parties know it.
fn public_seed(session: &SessionId) -> Seed {
    Seed::from_bytes(*session.as_bytes()).derive("quorate/rss/public", session.as_bytes())
}

fn no_randomness() -> Error {
    Error::Bug { what: "the operating system has no randomness to give" }
}

fn peers(ctx: &Ctx) -> Vec<usize> {
    (0..ctx.parties()).filter(|&p| p != ctx.me()).collect()
}

async fn agree_on_session(ctx: &Ctx, coins: &mut Prg) -> Result<SessionId> {
    let mut own = [0; 32];
    coins.fill(&mut own);
    let outgoing: Vec<(usize, &[u8])> = peers(ctx).into_iter().map(|p| (p, &own[..])).collect();
    let incoming: Vec<(usize, usize)> = peers(ctx).into_iter().map(|p| (p, 32)).collect();
    let received = ctx.exchange_bytes(&outgoing, &incoming).await?;
    let mut contributions = vec![own; ctx.parties()];
    for ((peer, _), bytes) in incoming.iter().zip(received) {
        contributions[*peer] = bytes.try_into().unwrap_or_default();
    }
    Ok(SessionId::from_contributions(&contributions))
}

/// Returns the seeds of all shares held, in their order.
async fn exchange_seeds(ctx: &Ctx, maps: &Maps, coins: &mut Prg) -> Result<Vec<SeedBytes>> {
    let first_holder = |set: Set| maps.holders(set).next().unwrap_or(0);
    // The sets that two parties both hold and of which `from` is the first holder, in order.
    let dealt = |from: usize, to: usize| -> Vec<Set> {
        let shared = |set: &Set| first_holder(*set) == from && maps.holders(*set).any(|p| p == to);
        all_sets(maps.parties, maps.threshold).into_iter().filter(shared).collect()
    };
    let mut seeds = vec![SeedBytes::default(); maps.held.len()];
    for (seed, &set) in seeds.iter_mut().zip(&maps.held) {
        if first_holder(set) == maps.me {
            coins.fill(&mut **seed);
        }
    }
    let own = |set: Set| maps.index(set).unwrap_or(0);
    let parcel =
        |to: usize| Zeroizing::new(dealt(maps.me, to).iter().flat_map(|&set| *seeds[own(set)]).collect::<Vec<u8>>());
    let parcels: Vec<(usize, Zeroizing<Vec<u8>>)> =
        peers(ctx).into_iter().map(|to| (to, parcel(to))).filter(|(_, bytes)| !bytes.is_empty()).collect();
    let outgoing: Vec<(usize, &[u8])> = parcels.iter().map(|(to, bytes)| (*to, &bytes[..])).collect();
    let incoming: Vec<(usize, usize)> = peers(ctx)
        .into_iter()
        .map(|from| (from, dealt(from, maps.me).len() * SEED_BYTES))
        .filter(|&(_, length)| length > 0)
        .collect();
    let received = ctx.exchange_bytes(&outgoing, &incoming).await?;
    for ((from, _), bytes) in incoming.iter().zip(received.into_iter().map(Zeroizing::new)) {
        for (set, seed) in dealt(*from, maps.me).into_iter().zip(bytes.chunks_exact(SEED_BYTES)) {
            seeds[own(set)].copy_from_slice(seed);
        }
    }
    Ok(seeds)
}
