//! Broadcasts: all parties receive the same values. With commitments, no party can choose its value depending on the
//! values of others.
//!
//! **Source**: commit and open, and broadcast with an echo (Goldwasser, Lindell 2005), with abort. **Model**:
//! malicious; all parties but one may cheat. Hash commitments; a cheater that has seen the values can only abort. With
//! two parties no echo is needed.
//!
//! | | rounds | bytes to each peer |
//! |---|---|---|
//! | [`Ctx::broadcast`] | 1, n = 2; 2, n > 2 | the value, and 32 if n > 2 |
//! | [`Ctx::commit_and_open`] | 2 | the value + 64, and 32 if n > 2 |

use quorate_crypto::{Commitment, Context, Opening, SessionId, commit, ct_eq, verify};

use crate::ctx::Ctx;
use crate::error::{Error, Result};

const HASH_BYTES: usize = 32;
/// The domain of the hash of all received values (key derivation context of BLAKE3).
const ECHO: &str = "quorate 2026 engine echo v3";
/// The domain of a broadcast, as for a commitment.
const BROADCAST: &str = "quorate/engine/broadcast";

/// The context to which an echo is bound besides the values: the session, the domain, and the instance number.
type Place<'p> = (Option<&'p SessionId>, &'static str, u128);

impl Ctx {
    /// Sends `value` to every peer. Returns the values of all, in the order of [`Ctx::members`]. All values are equally
    /// long. Every party of the lane calls it in step, with the same session, once there is one.
    ///
    /// # Errors
    /// [`Error::Cheating`] if a party sent different values to different peers.
    pub async fn broadcast(&self, session: Option<&SessionId>, value: &[u8]) -> Result<Vec<Vec<u8>>> {
        let place = (session, BROADCAST, self.randomness().instance());
        let said = self.say(value).await?;
        self.echo(place, &said, &[]).await?;
        Ok(said)
    }

    /// Commits to `value` and opens it after all have committed, so that no party learns the others' values before it
    /// has fixed its own. Returns the values of all, in the order of [`Ctx::members`]. All values are equally long.
    /// Every party of the lane calls it in step, with the same session.
    ///
    /// # Errors
    /// [`Error::Cheating`] if a party does not open what it committed to, or sent different values to different peers.
    pub async fn commit_and_open(
        &self,
        session: &SessionId,
        domain: &'static str,
        value: &[u8],
    ) -> Result<Vec<Vec<u8>>> {
        let instance = self.randomness().instance();
        let context = |party: usize| Context { session, party: party as u32, domain, instance };
        let (commitment, opening) = match self.is_dry() {
            true => (Commitment([0; HASH_BYTES]), Opening([0; HASH_BYTES])),
            false => {
                let opening = Opening(self.fresh_random()?);
                (commit(&context(self.me()), value, &opening), opening)
            }
        };
        let commitments = self.say(&commitment.0).await?;
        let mut words = value.to_vec();
        words.extend_from_slice(&opening.0);
        // The echo is sent with the openings: by then a party that committed to several values is bound to each.
        let openings = self.echo((Some(session), domain, instance), &commitments, &words).await?;
        let opened = |((party, committed), mut words): ((usize, Vec<u8>), Vec<u8>)| {
            let opening = words.split_off(value.len());
            let (Ok(committed), Ok(opening)) = (committed[..].try_into(), opening.try_into()) else {
                return Err(Error::bug("a message of a wrong length"));
            };
            let (committed, opening) = (Commitment(committed), Opening(opening));
            match self.is_dry() || party == self.me() || verify(&context(party), &committed, &words, &opening) {
                true => Ok(words),
                false => Err(Error::Cheating { check: "an opened commitment" }),
            }
        };
        self.members().into_iter().zip(commitments).zip(openings).map(opened).collect()
    }

    /// Sends `value` to every peer. Returns the values of all.
    async fn say(&self, value: &[u8]) -> Result<Vec<Vec<u8>>> {
        let peers = self.peers();
        let outgoing: Vec<_> = peers.iter().map(|&peer| (peer, value)).collect();
        let incoming: Vec<_> = peers.iter().map(|&peer| (peer, value.len())).collect();
        let mut said = self.exchange_bytes(&outgoing, &incoming).await?;
        said.insert(peers.iter().filter(|&&peer| peer < self.me()).count(), value.to_vec());
        Ok(said)
    }

    /// Compares with all peers the values that each received, and sends them `more` with the comparison. Returns what
    /// all sent as `more`.
    async fn echo(&self, place: Place<'_>, said: &[Vec<u8>], more: &[u8]) -> Result<Vec<Vec<u8>>> {
        if self.peers().len() < 2 {
            return if more.is_empty() { Ok(vec![]) } else { self.say(more).await };
        }
        let mut words = if self.is_dry() { vec![0; HASH_BYTES] } else { heard(place, said).to_vec() };
        words.extend_from_slice(more);
        let told = self.say(&words).await?;
        let differs = told.iter().any(|others| !ct_eq(&others[..HASH_BYTES], &words[..HASH_BYTES]));
        match differs && !self.is_dry() {
            true => Err(Error::Cheating { check: "the echo of a broadcast" }),
            false => Ok(told.into_iter().map(|words| words[HASH_BYTES..].to_vec()).collect()),
        }
    }
}

fn heard((session, domain, instance): Place<'_>, said: &[Vec<u8>]) -> [u8; HASH_BYTES] {
    let mut hasher = blake3::Hasher::new_derive_key(ECHO);
    hasher.update(&[session.is_some().into()]).update(session.map_or(&[][..], |session| session.as_bytes()));
    hasher.update(&instance.to_le_bytes());
    hasher.update(&(domain.len() as u64).to_le_bytes()).update(domain.as_bytes());
    said.iter().for_each(|value| {
        hasher.update(&(value.len() as u64).to_le_bytes()).update(value);
    });
    hasher.finalize().into()
}
