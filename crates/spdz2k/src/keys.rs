//! What a session starts from: the key of every party and, for every pair of parties, the seeds of their transfers.

use std::borrow::Cow;
use std::cell::Cell;

use quorate_adversary::{Adversary, Twist, Twisted};
use quorate_crypto::{Seed, SessionId};
use quorate_engine::{Ctx, Error, Misuse, Result};
use quorate_ot::vole::{Digits, Key, Vole};
use quorate_ot::{Options, Ot};
use quorate_ring::{Module, Vector, Wiped};
use zeroize::{Zeroize, Zeroizing};

use crate::params::Params;
use crate::shared::Shared;

const SEED_BYTES: usize = 32;
/// The number of bytes of a hash that parties compare.
pub(crate) const HASH_BYTES: usize = 32;

/// One party's keys for a session. Drop them after an error: nothing is authenticated under them again.
pub struct Keys {
    pub(crate) parties: usize,
    pub(crate) me: usize,
    /// Whether a third party deals correlations to two.
    pub(crate) dealt: bool,
    pub(crate) params: Params,
    pub(crate) session: SessionId,
    pub(crate) alpha: Key,
    /// The difference between this party's keys of a 0 bit and of a 1 bit, towards all peers.
    pub(crate) delta: Zeroizing<u128>,
    /// By party; `None` for this one.
    pub(crate) voles: Vec<Option<Vole>>,
    pub(crate) ots: Vec<Option<Ot>>,
    /// The seed of this party's own randomness.
    pub(crate) private: Seed,
    /// By party: the seed that it shares with this one alone; `None` for this one.
    pub(crate) shared: Vec<Option<Seed>>,
    /// Whether a check is under way, or has failed or was cut off; `making` is the same for the making of correlations.
    checking: Cell<Work>,
    making: Cell<Work>,
    /// Whether coins may have been tossed in the current run.
    tossed: Cell<bool>,
    adversary: Adversary,
}

/// The state of work that may be under way only once at a time.
#[derive(Clone, Copy, Default)]
enum Work {
    #[default]
    Idle,
    UnderWay,
    /// The work failed or was cut off.
    Over,
}

/// Sets its place to `after` when it is dropped, however the work ends.
struct Running<'c> {
    place: &'c Cell<Work>,
    after: Work,
}

impl Drop for Running<'_> {
    fn drop(&mut self) {
        self.place.set(self.after);
    }
}

fn no_randomness() -> Error {
    Error::Bug { what: "the operating system has no randomness to give" }
}

impl Keys {
    /// Agrees on a session with every other party. This party's coins grow from `coins` if they are given: never use
    /// the same ones twice. Four rounds, five if n > 2.
    ///
    /// # Errors
    /// [`Misuse`] below two parties; [`Error::Cheating`], [`Error::Malformed`] where a peer does not follow the
    /// protocols; whatever ends a run.
    pub async fn setup(ctx: &Ctx, params: Params, coins: Option<&Seed>) -> Result<Keys> {
        Self::setup_as(ctx, params, coins, Adversary::none()).await
    }

    /// Agrees on a session as [`Keys::setup`] does, with this adversary at this party.
    ///
    /// # Errors
    /// Those of [`Keys::setup`].
    pub async fn setup_as(ctx: &Ctx, params: Params, coins: Option<&Seed>, adversary: Adversary) -> Result<Keys> {
        let (parties, me) = (ctx.parties(), ctx.me());
        check_parties(parties)?;
        let private = match coins {
            Some(coins) => coins.derive("quorate/spdz2k/coins of setup", b""),
            None => Seed::random().map_err(|_| no_randomness())?,
        };
        let mut own = [0; SEED_BYTES];
        private.prg("quorate/spdz2k/session", b"").fill(&mut own);
        let said = async |ctx: Ctx| ctx.broadcast(None, &own).await;
        let (said, shared) = ctx.join(said, async |ctx: Ctx| share_seeds(&ctx, &private).await).await?;
        let seeds: Vec<[u8; SEED_BYTES]> = said.iter().filter_map(|seed| seed[..].try_into().ok()).collect();
        let session = SessionId::from_contributions(&seeds);

        let mut keys = Self::alone((parties, me), params, &private, session)?;
        (keys.shared, keys.adversary) = (shared, adversary);
        let (alpha, delta) = (&keys.alpha, delta_of(&private));
        let pairs: Vec<(usize, usize)> = (0..parties).flat_map(|i| (0..i).map(move |j| (j, i))).collect();
        let pair = async |ctx: Ctx, i: usize| {
            let (low, high) = pairs[i];
            let peer = if low == me { high } else { low };
            if low != me && high != me {
                return Ok(None);
            }
            let mut coins = private.prg("quorate/spdz2k/vole", &(peer as u64).to_le_bytes());
            let vole = async |ctx: Ctx| Vole::setup(&ctx, peer, alpha, &mut coins).await;
            let own = private.derive("quorate/spdz2k/ot", &(peer as u64).to_le_bytes());
            let delta = Zeroizing::new(keys.twisted(Twist::Delta { peer }, *delta));
            let ot = async |ctx: Ctx| Ot::setup_under(&ctx, peer, Options::MALICIOUS, (&own, &delta)).await;
            let (vole, ot) = ctx.join(vole, ot).await?;
            Ok(Some((peer, vole, ot)))
        };
        let made = ctx.join_all(pairs.len(), pair).await?;
        let (mut voles, mut ots): (Vec<_>, Vec<_>) = (0..parties).map(|_| (None, None)).unzip();
        for (peer, vole, ot) in made.into_iter().flatten() {
            (voles[peer], ots[peer]) = (Some(vole), Some(ot));
        }
        (keys.voles, keys.ots) = (voles, ots);
        // As in `tinyot`: the lowest bit is cleared in what is not under the Delta of party 0.
        keys.delta = Zeroizing::new(if me == 0 { *delta } else { *delta & !1 });
        Ok(keys)
    }

    /// Returns keys for dry runs.
    ///
    /// # Errors
    /// [`Misuse`] below two parties.
    pub fn dry(parties: usize, me: usize, params: Params) -> Result<Keys> {
        check_parties(parties)?;
        if me >= parties {
            return Err(Misuse::NoSuchParty { party: me, parties }.into());
        }
        let nothing = Seed::from_bytes([0; SEED_BYTES]);
        let mut keys = Self::alone((parties, me), params, &nothing, SessionId::from_bytes([0; SEED_BYTES]))?;
        let peers = || (0..parties).map(|peer| (peer != me).then_some(peer));
        let digits = keys.alpha.digits();
        keys.voles = peers().map(|peer| peer.map(|_| Vole::dry(digits))).collect();
        keys.ots = peers().map(|peer| peer.map(|peer| Ot::dry(peer, Options::MALICIOUS))).collect();
        keys.shared = peers().map(|peer| peer.map(|_| Seed::from_bytes([0; SEED_BYTES]))).collect();
        Ok(keys)
    }

    /// Returns keys with an alpha grown from `private`, a Delta of 0, and nothing to make correlations from.
    pub(crate) fn alone(
        (parties, me): (usize, usize),
        params: Params,
        private: &Seed,
        session: SessionId,
    ) -> Result<Keys> {
        let digits = Digits::new(params.key_bits(), params.digit_bits())?;
        Ok(Keys {
            parties,
            me,
            dealt: false,
            params,
            alpha: Key::random(digits, &mut private.prg("quorate/spdz2k/alpha", session.as_bytes())),
            private: private.derive("quorate/spdz2k/private", session.as_bytes()),
            session,
            delta: Zeroizing::new(0),
            voles: vec![],
            ots: vec![],
            shared: vec![],
            checking: Cell::default(),
            making: Cell::default(),
            tossed: Cell::new(false),
            adversary: Adversary::none(),
        })
    }

    /// Runs a check. No other one may be under way: a party that reads what the first check shows could forge the
    /// second before the first has failed. After a check that failed or was cut off, these keys are of no use.
    ///
    /// # Errors
    /// Those of `check`; [`Error::Poisoned`] where one did not end well; [`Error::Bug`] where one is under way.
    pub(crate) async fn one_check<T>(&self, check: impl AsyncFnOnce() -> Result<T>) -> Result<T> {
        self.alone_at(&self.checking, check).await
    }

    /// Makes correlations, one making at a time. A making that fails or is cut off after a toss is not tried again: a
    /// cheater could stop until the coins suit it. These keys are then of no use.
    ///
    /// # Errors
    /// Those of [`Keys::one_check`].
    pub(crate) async fn one_making<T>(&self, make: impl AsyncFnOnce() -> Result<T>) -> Result<T> {
        self.alone_at(&self.making, make).await
    }

    async fn alone_at<T>(&self, place: &Cell<Work>, work: impl AsyncFnOnce() -> Result<T>) -> Result<T> {
        self.in_use()?;
        if matches!(place.get(), Work::UnderWay) {
            return Err(Error::Bug { what: "correlations or checks side by side: make them ahead" });
        }
        place.set(Work::UnderWay);
        self.tossed.set(true);
        let mut running = Running { place, after: if self.outlives_failures() { Work::Idle } else { Work::Over } };
        let done = work().await?;
        running.after = Work::Idle;
        Ok(done)
    }

    /// Refuses keys that are of no use. Called before these keys are used, and before anything is said under them.
    ///
    /// # Errors
    /// [`Error::Poisoned`] if they are of no use.
    pub(crate) fn in_use(&self) -> Result<()> {
        match self.is_over() {
            true => Err(Error::Poisoned),
            false => Ok(()),
        }
    }

    pub(crate) fn is_over(&self) -> bool {
        [&self.checking, &self.making].iter().any(|work| matches!(work.get(), Work::Over))
    }

    /// Wipes these keys if they are of no use any more. Seeds and keys are also wiped when they are dropped.
    pub(crate) fn wipe(&mut self) {
        if !self.is_over() {
            return;
        }
        let digits = self.alpha.digits();
        self.alpha = Key::random(digits, &mut Seed::from_bytes([0; SEED_BYTES]).prg("quorate/spdz2k/over", b""));
        *self.delta = 0;
        self.private = Seed::from_bytes([0; SEED_BYTES]);
        (self.voles, self.ots, self.shared) = (vec![], vec![], vec![]);
    }

    /// Notes that no coins were tossed in this run so far.
    pub(crate) fn begin_run(&self) {
        self.tossed.set(false);
    }

    /// Notes that a run ended in an error. After its first toss it must not be repeated: a peer that has seen results
    /// could claim an interruption each time that it does not like them.
    pub(crate) fn cut_off(&self) {
        if self.tossed.get() && !self.outlives_failures() {
            self.making.set(Work::Over);
        }
    }

    /// Lets a third party deal, and checks its dealing. Several calls may be under way: what these checks show depends
    /// only on what was dealt. After a dealing that failed or was cut off, these keys are of no use.
    ///
    /// # Errors
    /// Those of `deal`; [`Error::Poisoned`] as in [`Keys::one_check`].
    pub(crate) async fn dealing<T>(&self, deal: impl AsyncFnOnce() -> Result<T>) -> Result<T> {
        self.in_use()?;
        self.tossed.set(true);
        let mut running = Running { place: &self.making, after: Work::Over };
        let dealt = deal().await?;
        running.after = self.making.get();
        Ok(dealt)
    }

    /// Returns whether these keys stay in use after a check that failed. In tests, those of a dealer do, since they
    /// protect nothing: such tests interrupt runs anywhere, and continue.
    fn outlives_failures(&self) -> bool {
        #[cfg(feature = "testing")]
        if self.ots.is_empty() && !self.dealt {
            return true;
        }
        self.adversary.endures()
    }

    /// Returns another share of the same vector, which shows nothing of this party's share alone. The added numbers are
    /// drawn by pairs of parties alike, and add up to zero over all parties. Between two parties each computes the
    /// other's share from the result anyway, so the share stays as it is.
    pub(crate) fn rerandomised(&self, ctx: &Ctx, share: &Vector) -> Vector {
        let mut share = share.clone();
        if self.parties == 2 {
            return share;
        }
        let coins = ctx.randomness();
        for (peer, seed) in self.shared.iter().enumerate() {
            let Some(seed) = seed else { continue };
            let drawn = Wiped(coins.stream(seed).draw::<Vector>((share.ring(), share.len())));
            match self.me < peer {
                true => share.add_assign(&drawn),
                false => share.sub_assign(&drawn),
            }
        }
        share
    }

    /// Returns the adversary at this party: none, but for tests of attacks.
    pub fn adversary(&self) -> &Adversary {
        &self.adversary
    }

    /// Returns the value of this party at a place: as it should be, unless it cheats.
    #[inline(always)]
    pub(crate) fn twisted<T: Twisted>(&self, at: Twist, value: T) -> T {
        self.adversary.at(at, value)
    }

    /// Returns a shared value with this party's share as it should be, unless it cheats.
    #[inline(always)]
    pub(crate) fn twisted_share(&self, at: Twist, mut x: Shared) -> Shared {
        self.twisted(at, &mut x.share);
        x
    }

    /// Returns the message to a peer: that to all others, unless this party cheats.
    pub(crate) fn told_to<'m, M: Module + Twisted>(&self, peer: usize, value: &'m M) -> Cow<'m, M> {
        self.twisted(Twist::Apart { peer }, Cow::Borrowed(value))
    }

    /// Returns a hasher for this session and one purpose.
    pub(crate) fn hasher(&self, domain: &'static str) -> blake3::Hasher {
        let mut hasher = blake3::Hasher::new_derive_key(domain);
        hasher.update(self.session.as_bytes());
        hasher
    }

    /// Returns a hash, for one purpose, that a party sends another one of what both compute. It is bound to the
    /// session, to the exchange, and to sender and receiver, so it can be neither sent back nor sent on.
    pub(crate) fn hash_told(
        &self,
        domain: &'static str,
        instance: u128,
        [from, to]: [usize; 2],
        told: &[u8],
    ) -> [u8; HASH_BYTES] {
        let mut hasher = self.hasher(domain);
        hasher.update(&instance.to_le_bytes()).update(&((from as u128) << 64 | to as u128).to_le_bytes());
        let hash = *hasher.update(told).finalize().as_bytes();
        hasher.zeroize();
        hash
    }

    /// Returns this party's share of alpha.
    pub(crate) fn key(&self) -> u128 {
        self.alpha.value().into()
    }

    /// Returns the other parties.
    pub(crate) fn peers(&self) -> Vec<usize> {
        (0..self.parties).filter(|&party| party != self.me).collect()
    }

    pub(crate) fn vole(&self, peer: usize) -> Result<&Vole> {
        self.in_use()?;
        self.voles.get(peer).and_then(Option::as_ref).ok_or(NO_PEER)
    }

    pub(crate) fn ot(&self, peer: usize) -> Result<&Ot> {
        self.in_use()?;
        self.ots.get(peer).and_then(Option::as_ref).ok_or(NO_PEER)
    }
}

/// Returns a Delta of random bits with the lowest bit set: one for the transfers of all peers.
fn delta_of(private: &Seed) -> Zeroizing<u128> {
    let mut bytes = Zeroizing::new([0; 16]);
    private.prg("quorate/spdz2k/delta", b"").fill(&mut *bytes);
    Zeroizing::new(u128::from_le_bytes(*bytes) | 1)
}

/// Draws a seed for each pair of parties, from both of them. Two parties need none.
async fn share_seeds(ctx: &Ctx, private: &Seed) -> Result<Vec<Option<Seed>>> {
    let (parties, me) = (ctx.parties(), ctx.me());
    if parties == 2 {
        return Ok(vec![]);
    }
    let peers: Vec<usize> = (0..parties).filter(|&party| party != me).collect();
    let own = |peer: usize| {
        let mut own = Zeroizing::new([0; SEED_BYTES]);
        private.prg("quorate/spdz2k/pair", &(peer as u64).to_le_bytes()).fill(&mut *own);
        own
    };
    let told: Vec<_> = peers.iter().map(|&peer| own(peer)).collect();
    let outgoing: Vec<_> = peers.iter().zip(&told).map(|(&peer, seed)| (peer, &seed[..])).collect();
    let incoming: Vec<_> = peers.iter().map(|&peer| (peer, SEED_BYTES)).collect();
    let heard = ctx.exchange_bytes(&outgoing, &incoming).await?.into_iter().map(Zeroizing::new);
    let mut seeds: Vec<Option<Seed>> = (0..parties).map(|_| None).collect();
    for ((&peer, told), heard) in peers.iter().zip(&told).zip(heard) {
        let heard: [u8; SEED_BYTES] = heard[..].try_into().map_err(|_| SHORT)?;
        let (low, high) = if me < peer { (**told, heard) } else { (heard, **told) };
        seeds[peer] = Some(Seed::from_bytes(low).derive("quorate/spdz2k/pair", &high));
    }
    Ok(seeds)
}

const SHORT: Error = Error::Bug { what: "a seed of a wrong length" };
const NO_PEER: Error = Error::Bug { what: "a party is no peer of its own" };

fn check_parties(parties: usize) -> Result<()> {
    if parties < 2 {
        return Err(Misuse::Parties { protocol: "spdz2k", takes: "2 or more", parties }.into());
    }
    Ok(())
}

#[cfg(feature = "testing")]
impl Keys {
    /// Returns this party's share of alpha, for tests that look at tags.
    pub fn insecure_alpha(&self) -> u64 {
        self.alpha.value()
    }
}
