//! What correlations are made from: the keys of a party and, for every pair of parties, the seeds of their transfers.

use std::ops::Deref;

use quorate_adversary::{Adversary, Twist};
use quorate_authenticated::Secrets;
use quorate_authenticated::keys::Keys as Online;
use quorate_crypto::{Seed, SessionId};
use quorate_engine::{Ctx, Error, Misuse, Result};
use quorate_ot::vole::{Digits, Key, Vole};
use quorate_ot::{Options, Ot};
use zeroize::Zeroizing;

use crate::authenticate::Voles;
use crate::division::Division;
use crate::params::Params;
use crate::sacrifice::Sacrifice;
use crate::transfers::Ots;
use crate::word_openings::Words;

const SEED_BYTES: usize = 32;

/// The seeds of a party's transfers with every other one.
pub struct Transfers {
    pub(crate) params: Params,
    pub(crate) digits: Digits,
    /// By party; `None` for this one.
    pub(crate) voles: Vec<Option<Vole>>,
    pub(crate) ots: Vec<Option<Ot>>,
}

/// A party's keys, and what it makes correlations from under them.
#[derive(Clone, Copy)]
pub struct Keys<'k> {
    pub(crate) online: &'k Online,
    pub(crate) transfers: &'k Transfers,
    /// The parameters of the making; those of `online` are a part of them.
    pub(crate) params: Params,
}

impl Deref for Keys<'_> {
    type Target = Online;

    fn deref(&self) -> &Online {
        self.online
    }
}

fn no_randomness() -> Error {
    Error::Bug { what: "the operating system has no randomness to give" }
}

impl Transfers {
    /// Agrees on a session with every other party. This party's coins grow from `coins` if they are given: never use
    /// the same ones twice. Four rounds, five if n > 2.
    ///
    /// # Errors
    /// [`Misuse`] below two parties; [`Error::Cheating`], [`Error::Malformed`] where a peer does not follow the
    /// protocols; any error that ends a run.
    pub async fn setup(
        ctx: &Ctx,
        params: Params,
        coins: Option<&Seed>,
        adversary: Adversary,
    ) -> Result<(Online, Transfers)> {
        let (parties, me) = (ctx.parties(), ctx.me());
        let Agreed { private, session, shared } = Agreed::on(ctx, coins).await?;
        let digits = params.digits()?;
        // As in `tinyot`: the lowest bit is cleared in what is not under the Delta of party 0.
        let delta = delta_of(&private);
        let cleared = Zeroizing::new(if me == 0 { *delta } else { *delta & !1 });
        let keys = Online::new((parties, me), params.online(), (&private, session), cleared, shared, adversary);
        let alpha = Key::new(digits, keys.key() as u64);
        let pairs: Vec<(usize, usize)> = (0..parties).flat_map(|i| (0..i).map(move |j| (j, i))).collect();
        let pair = async |ctx: Ctx, i: usize| {
            let (low, high) = pairs[i];
            let peer = if low == me { high } else { low };
            if low != me && high != me {
                return Ok(None);
            }
            let mut coins = private.prg("quorate/spdz2k/vole", &(peer as u64).to_le_bytes());
            let vole = async |ctx: Ctx| Vole::setup(&ctx, peer, &alpha, &mut coins).await;
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
        Ok((keys, Transfers { params, digits, voles, ots }))
    }

    /// Agrees with every other party on a session under keys of a pool, which has no transfers. Two rounds, three if
    /// n > 2.
    ///
    /// # Errors
    /// [`Misuse`] below two parties, and for keys of other parameters or of another party; any error that ends a run.
    pub async fn from_pool(
        ctx: &Ctx,
        params: Params,
        (coins, secrets): (Option<&Seed>, &[u8]),
        adversary: Adversary,
    ) -> Result<(Online, Transfers)> {
        let secrets = Secrets::unpack(params.online(), false, secrets)?;
        if secrets.is_delta_odd() != (ctx.me() == 0) {
            return Err(OTHER_PARTY.into());
        }
        let Agreed { private, session, shared } = Agreed::on(ctx, coins).await?;
        let place = (ctx.parties(), ctx.me());
        let keys = Online::under(place, params.online(), (&private, session), secrets, shared, adversary);
        Ok((keys, Transfers::none(params)?))
    }

    /// Returns transfers with no party.
    pub(crate) fn none(params: Params) -> Result<Transfers> {
        Ok(Transfers { params, digits: params.digits()?, voles: vec![], ots: vec![] })
    }

    /// Returns keys and transfers for dry runs.
    ///
    /// # Errors
    /// [`Misuse`] below two parties, and for a party that does not exist.
    pub fn dry(parties: usize, me: usize, params: Params) -> Result<(Online, Transfers)> {
        check_place(parties, me)?;
        let nothing = Seed::from_bytes([0; SEED_BYTES]);
        let session = SessionId::from_bytes([0; SEED_BYTES]);
        let digits = params.digits()?;
        let peers = || (0..parties).map(|peer| (peer != me).then_some(peer));
        let voles = peers().map(|peer| peer.map(|_| Vole::dry(digits))).collect();
        let ots = peers().map(|peer| peer.map(|peer| Ot::dry(peer, Options::MALICIOUS))).collect();
        let shared = peers().map(|peer| peer.map(|_| Seed::from_bytes([0; SEED_BYTES]))).collect();
        let (delta, adversary) = (Zeroizing::new(0), Adversary::none());
        let keys = Online::new((parties, me), params.online(), (&nothing, session), delta, shared, adversary);
        Ok((keys, Transfers { params, digits, voles, ots }))
    }

    /// Returns these transfers without their seeds.
    pub(crate) fn without_seeds(&self) -> Transfers {
        Transfers { params: self.params, digits: self.digits, voles: vec![], ots: vec![] }
    }

    /// Returns them with the keys under which they are.
    ///
    /// # Errors
    /// [`Error::Bug`] for keys of other parameters: some steps read those of the keys, others those of the transfers.
    pub fn under<'k>(&'k self, online: &'k Online) -> Result<Keys<'k>> {
        match online.params == self.params.online() {
            true => Ok(Keys { online, transfers: self, params: self.params }),
            false => Err(OTHER_PARAMS),
        }
    }
}

impl<'k> Keys<'k> {
    /// Returns what openings of words need.
    pub(crate) fn words(self) -> Words<'k> {
        Words { keys: self.online }
    }

    /// Returns what the sacrifice needs.
    pub(crate) fn sacrifice(self) -> Sacrifice<'k> {
        Sacrifice { words: self.words() }
    }

    /// Returns what the division needs.
    pub(crate) fn division(self) -> Division<'k> {
        Division { words: self.words() }
    }

    /// Returns what authentication needs.
    pub(crate) fn voles(self) -> Voles<'k> {
        let Transfers { digits, voles, .. } = self.transfers;
        Voles { keys: self.online, params: self.params, digits: *digits, voles }
    }

    /// Returns what oblivious transfers need.
    pub(crate) fn ots(self) -> Ots<'k> {
        Ots { keys: self.online, ots: &self.transfers.ots }
    }
}

/// The part of a session that is fresh in each one, whatever its keys.
struct Agreed {
    /// The seed of this party's own randomness.
    private: Seed,
    session: SessionId,
    /// By party, the seed that it has in common with this one.
    shared: Vec<Option<Seed>>,
}

impl Agreed {
    /// Agrees with every other party. This party's coins grow from `coins` if they are given.
    async fn on(ctx: &Ctx, coins: Option<&Seed>) -> Result<Agreed> {
        check_parties(ctx.parties())?;
        let private = match coins {
            Some(coins) => coins.derive("quorate/spdz2k/coins of setup", b""),
            None => Seed::random().map_err(|_| no_randomness())?,
        };
        let mut own = [0; SEED_BYTES];
        private.prg("quorate/spdz2k/session", b"").fill(&mut own);
        let said = async |ctx: Ctx| ctx.broadcast(None, &own).await;
        let (said, shared) = ctx.join(said, async |ctx: Ctx| share_seeds(&ctx, &private).await).await?;
        let seeds: Vec<[u8; SEED_BYTES]> = said.iter().filter_map(|seed| seed[..].try_into().ok()).collect();
        Ok(Agreed { private, session: SessionId::from_contributions(&seeds), shared })
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

const OTHER_PARAMS: Error = Error::Bug { what: "keys and transfers of different parameters" };
const OTHER_PARTY: Misuse =
    Misuse::Other { what: "the pool has the keys of another party: give this session this party's own pool" };
const SHORT: Error = Error::Bug { what: "a seed of a wrong length" };

/// Refuses fewer than two parties, and a party that does not exist.
pub(crate) fn check_place(parties: usize, me: usize) -> Result<()> {
    check_parties(parties)?;
    if me < parties { Ok(()) } else { Err(Misuse::NoSuchParty { party: me, parties }.into()) }
}

fn check_parties(parties: usize) -> Result<()> {
    if parties < 2 {
        return Err(Misuse::Parties { protocol: "spdz2k", takes: "2 or more", parties }.into());
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The widths of openings follow the keys, those of transfers follow the transfers.
    #[test]
    fn keys_of_other_parameters_are_refused() {
        let (usual, short) = (Params::default(), Params::new(32, true).unwrap());
        let (keys, transfers) = Transfers::dry(2, 0, usual).unwrap();
        assert!(transfers.under(&keys).is_ok());
        let (_, others) = Transfers::dry(2, 0, short).unwrap();
        assert_eq!(others.under(&keys).map(drop), Err(OTHER_PARAMS));
    }
}
