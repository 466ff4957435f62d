//! A party's keys for a session, and the state that says whether they are of use.

use std::borrow::Cow;

use quorate_adversary::{Adversary, Twist, Twisted};
use quorate_crypto::{Seed, SessionId};
use quorate_engine::{Ctx, Error, Held, Result};
use quorate_ring::{Module, Vector, Wiped};
use zeroize::{Zeroize, Zeroizing};

use crate::lasting::Lasting;
use crate::params::Params;
use crate::secrets::Secrets;
use crate::shared::Shared;

const SEED_BYTES: usize = 32;
/// The number of bytes of a hash that parties compare.
pub const HASH_BYTES: usize = 32;

/// One party's keys for a session. Drop them after an error: nothing is authenticated under them again.
pub struct Keys {
    /// The number of parties that compute.
    pub parties: usize,
    /// This party.
    pub me: usize,
    /// Whether a third party deals correlations to two.
    pub(crate) dealt: bool,
    /// The parameters of the session.
    pub params: Params,
    /// The name of the session.
    pub session: SessionId,
    pub(crate) alpha: Zeroizing<u64>,
    /// The difference between this party's keys of a 0 bit and of a 1 bit, towards all peers.
    pub delta: Zeroizing<u128>,
    /// The seed of this party's own randomness.
    pub private: Seed,
    /// By party: the seed that it shares with this one alone; `None` for this one.
    pub shared: Vec<Option<Seed>>,
    /// Whether a check is under way, or has failed or was cut off; `making` is the same for the making of correlations.
    checking: Held<Work>,
    making: Held<Work>,
    /// Whether coins may have been tossed in the current run.
    tossed: Held<bool>,
    adversary: Adversary,
    pub(crate) lasting: Lasting,
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

/// Sets its place to `after`, if there is one, when it is dropped, however the work ends; what is over stays over.
struct Running<'c> {
    place: &'c Held<Work>,
    after: Option<Work>,
}

impl Drop for Running<'_> {
    fn drop(&mut self) {
        let mut place = self.place.lock();
        if let (Some(after), false) = (self.after, matches!(*place, Work::Over)) {
            *place = after;
        }
    }
}

impl Keys {
    /// Returns the keys of one party, with an alpha that grows from `private`, a Delta of 0, and no seeds that others
    /// have, too.
    pub(crate) fn alone((parties, me): (usize, usize), params: Params, private: &Seed, session: SessionId) -> Keys {
        let drawn = private.prg("quorate/spdz2k/alpha", session.as_bytes()).next_u64();
        Keys {
            parties,
            me,
            dealt: false,
            params,
            alpha: Zeroizing::new(drawn & u64::MAX >> (64 - params.key_bits())),
            private: private.derive("quorate/spdz2k/private", session.as_bytes()),
            session,
            delta: Zeroizing::new(0),
            shared: vec![],
            checking: Held::default(),
            making: Held::default(),
            tossed: Held::new(false),
            adversary: Adversary::none(),
            lasting: Lasting::default(),
        }
    }

    /// Returns the keys of one party, with an alpha that grows from `private`, this Delta, the seed that it shares with
    /// each other party, and this adversary.
    pub fn new(
        place: (usize, usize),
        params: Params,
        (private, session): (&Seed, SessionId),
        delta: Zeroizing<u128>,
        shared: Vec<Option<Seed>>,
        adversary: Adversary,
    ) -> Keys {
        Keys { delta, shared, adversary, ..Self::alone(place, params, private, session) }
    }

    /// Returns the keys of one party with this alpha and Delta, with fresh randomness that grows from `private`.
    pub fn under(
        place: (usize, usize),
        params: Params,
        (private, session): (&Seed, SessionId),
        Secrets { alpha, delta }: Secrets,
        shared: Vec<Option<Seed>>,
        adversary: Adversary,
    ) -> Keys {
        Keys { alpha, delta, shared, adversary, ..Self::alone(place, params, private, session) }
    }

    /// Runs a check. No other one may be under way: a party that reads what the first check shows could forge the
    /// second before the first has failed. After a check that failed or was cut off, these keys are of no use.
    ///
    /// # Errors
    /// Those of `check`; [`Error::Poisoned`] where one did not end well; [`Error::Bug`] where one is under way.
    pub async fn one_check<T>(&self, check: impl AsyncFnOnce() -> Result<T>) -> Result<T> {
        self.alone_at(&self.checking, check).await
    }

    /// Makes correlations, one making at a time. A making that fails or is cut off after a toss is not tried again: a
    /// cheater could stop until the coins suit it. These keys are then of no use.
    ///
    /// # Errors
    /// Those of [`Keys::one_check`].
    pub async fn one_making<T>(&self, make: impl AsyncFnOnce() -> Result<T>) -> Result<T> {
        self.alone_at(&self.making, make).await
    }

    async fn alone_at<T>(&self, place: &Held<Work>, work: impl AsyncFnOnce() -> Result<T>) -> Result<T> {
        self.in_use()?;
        match &mut *place.lock() {
            Work::UnderWay => return Err(Error::Bug { what: "correlations or checks side by side: make them ahead" }),
            Work::Over => return Err(Error::Poisoned),
            idle => *idle = Work::UnderWay,
        }
        self.tossed.set(true);
        let failed = if self.outlives_failures() { Work::Idle } else { Work::Over };
        let mut running = Running { place, after: Some(failed) };
        let done = work().await?;
        running.after = Some(Work::Idle);
        Ok(done)
    }

    /// Refuses keys that are of no use. Called before these keys are used, and before anything is said under them.
    ///
    /// # Errors
    /// [`Error::Poisoned`] if they are of no use.
    pub fn in_use(&self) -> Result<()> {
        match self.is_over() {
            true => Err(Error::Poisoned),
            false => Ok(()),
        }
    }

    pub(crate) fn is_over(&self) -> bool {
        [&self.checking, &self.making].iter().any(|work| matches!(work.get(), Work::Over))
    }

    /// Wipes these keys. Seeds and keys are also wiped when they are dropped.
    pub(crate) fn wipe(&mut self) {
        *self.alpha = 0;
        *self.delta = 0;
        self.private = Seed::from_bytes([0; SEED_BYTES]);
        self.shared = vec![];
    }

    /// Notes that no coins were tossed in this run so far.
    pub(crate) fn begin_run(&self) {
        self.tossed.set(false);
    }

    /// Notes that the current run uses correlations of a pool. From now on it counts as a run with a toss: if it does
    /// not end well, no party uses these keys again, also where the error comes before the first check.
    pub(crate) fn touch(&self) {
        self.tossed.set(true);
    }

    /// Ends the use of these keys.
    pub(crate) fn revoke(&self) {
        if !self.outlives_failures() {
            self.making.set(Work::Over);
        }
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
    pub async fn dealing<T>(&self, deal: impl AsyncFnOnce() -> Result<T>) -> Result<T> {
        self.in_use()?;
        self.tossed.set(true);
        let mut running = Running { place: &self.making, after: Some(Work::Over) };
        let dealt = deal().await?;
        running.after = None;
        Ok(dealt)
    }

    /// Returns whether these keys stay in use after a check that failed: never, but in tests.
    fn outlives_failures(&self) -> bool {
        self.lasting.is_set() || self.adversary.endures()
    }

    /// Returns another share of the same vector, which shows nothing of this party's share alone. The added numbers are
    /// drawn by pairs of parties alike, and add up to zero over all parties. Between two parties each computes the
    /// other's share from the result anyway, so the share stays as it is.
    ///
    /// # Errors
    /// [`Error::Bug`] for more than two parties without seeds: the share itself would show summands of its value.
    pub(crate) fn rerandomised(&self, ctx: &Ctx, share: &Vector) -> Result<Vector> {
        let mut share = share.clone();
        if self.parties == 2 {
            return Ok(share);
        }
        if self.shared.len() != self.parties {
            return Err(Error::Bug { what: "shares of more than two parties without the seeds that mask them" });
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
        Ok(share)
    }

    /// Returns the adversary at this party: none, but for tests of attacks.
    pub fn adversary(&self) -> &Adversary {
        &self.adversary
    }

    /// Returns the value of this party at a place: as it should be, unless it cheats.
    #[inline(always)]
    pub fn twisted<T: Twisted>(&self, at: Twist, value: T) -> T {
        self.adversary.at(at, value)
    }

    /// Returns a shared value with this party's share as it should be, unless it cheats.
    #[inline(always)]
    pub fn twisted_share(&self, at: Twist, mut x: Shared) -> Shared {
        self.twisted(at, &mut x.share);
        x
    }

    /// Returns the message to a peer: that to all others, unless this party cheats.
    pub(crate) fn told_to<'m, M: Module + Twisted>(&self, peer: usize, value: &'m M) -> Cow<'m, M> {
        self.twisted(Twist::Apart { peer }, Cow::Borrowed(value))
    }

    /// Returns a hasher for this session and one purpose.
    pub fn hasher(&self, domain: &'static str) -> blake3::Hasher {
        let mut hasher = blake3::Hasher::new_derive_key(domain);
        hasher.update(self.session.as_bytes());
        hasher
    }

    /// Returns a hash, for one purpose, that a party sends another one of what both compute. It is bound to the
    /// session, to the exchange, and to sender and receiver, so it can be neither sent back nor sent on.
    pub fn hash_told(
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

    /// Returns alpha and Delta as bytes, which [`Secrets::unpack`] reads; none at a party that deals.
    pub fn secrets(&self) -> Zeroizing<Vec<u8>> {
        if self.watches() {
            return Zeroizing::default();
        }
        Secrets::pack(self.params, self.dealt, &self.alpha, &self.delta)
    }

    /// Returns this party's share of alpha.
    pub fn key(&self) -> u128 {
        u128::from(*self.alpha)
    }

    /// Returns the other parties.
    pub fn peers(&self) -> Vec<usize> {
        (0..self.parties).filter(|&party| party != self.me).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_over_stays_over_when_other_work_ends_well() {
        let seed = Seed::from_bytes([5; SEED_BYTES]);
        let keys = Keys::alone((2, 0), Params::new(64, false).unwrap(), &seed, SessionId::from_bytes([6; 32]));
        let running = Running { place: &keys.making, after: Some(Work::Idle) };
        keys.making.set(Work::Over);
        drop(running);
        assert!(keys.is_over());
    }
}
