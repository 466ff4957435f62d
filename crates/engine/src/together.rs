//! What all parties say at once, so that all of them hear the same, and nobody can choose what it says by what others do.
//!
//! **Source**: commit and open, and broadcast with an echo (Goldwasser, Lindell 2005), with abort. **Model**: malicious, all
//! but one. Hash commitments; a party that dislikes what it hears can only abort. With two parties there is nothing to echo.
//!
//! | | rounds | bytes to each peer |
//! |---|---|---|
//! | [`Ctx::broadcast`] | 1, n = 2; 2, n > 2 | the value, and 32 if n > 2 |
//! | [`Ctx::commit_and_open`] | 2 | the value + 64, and 32 if n > 2 |

use quorate_crypto::{Commitment, Context, Opening, SessionId, commit, ct_eq, verify};

use crate::ctx::Ctx;
use crate::error::{Error, Result};

const HASH_BYTES: usize = 32;
/// What the hash of all that was heard is for.
const ECHO: &str = "quorate engine 2026-11 echo of what all parties said";

impl Ctx {
    /// Tells every peer `value`; what everybody said, by party. All values have `length` bytes. Every party of the lane calls
    /// it in step.
    ///
    /// # Errors
    /// [`Error::Cheating`] if a party told different peers different things.
    pub async fn broadcast(&self, value: &[u8], length: usize) -> Result<Vec<Vec<u8>>> {
        let said = self.tell(value, length).await?;
        self.echo(&said, &[], 0).await?;
        Ok(said)
    }

    /// The same, where nobody knows what others say before it has said its own: `value` is committed to before anything is
    /// opened.
    ///
    /// # Errors
    /// [`Error::Cheating`] if a party opens something else than it committed to, or told different peers different things.
    pub async fn commit_and_open(
        &self,
        session: &SessionId,
        domain: &'static str,
        value: &[u8],
        length: usize,
    ) -> Result<Vec<Vec<u8>>> {
        let instance = self.randomness().instance();
        let context = |party: usize| Context { session, party: party as u32, domain, instance };
        let no_randomness = |_| Error::bug("the operating system has no randomness to give");
        let (commitment, opening) = commit(&context(self.me()), value).map_err(no_randomness)?;
        let commitments = self.tell(&commitment.0, HASH_BYTES).await?;
        let mut words = value.to_vec();
        words.extend_from_slice(&opening.0);
        // The echo goes with the openings: whoever committed to several values is bound to each by then.
        let openings = self.echo(&commitments, &words, length + HASH_BYTES).await?;
        let opened = |(party, words): (usize, Vec<u8>)| {
            let (value, opening) = words.split_at(length);
            let committed = Commitment(commitments[party][..].try_into().unwrap_or_default());
            let opening = Opening(opening.try_into().unwrap_or_default());
            match self.is_dry() || party == self.me() || verify(&context(party), &committed, value, &opening) {
                true => Ok(value.to_vec()),
                false => Err(Error::Cheating { check: "an opened commitment" }),
            }
        };
        openings.into_iter().enumerate().map(opened).collect()
    }

    /// Tells every peer `value`; what everybody said, by party.
    async fn tell(&self, value: &[u8], length: usize) -> Result<Vec<Vec<u8>>> {
        let peers: Vec<usize> = (0..self.parties()).filter(|&party| party != self.me()).collect();
        let outgoing: Vec<_> = peers.iter().map(|&peer| (peer, value)).collect();
        let incoming: Vec<_> = peers.iter().map(|&peer| (peer, length)).collect();
        let mut said = self.exchange_bytes(&outgoing, &incoming).await?;
        said.insert(self.me(), value.to_vec());
        Ok(said)
    }

    /// Compares with all peers what everybody said, and tells them `more` with it; what everybody told, by party.
    async fn echo(&self, said: &[Vec<u8>], more: &[u8], length: usize) -> Result<Vec<Vec<u8>>> {
        if self.parties() == 2 {
            return if length == 0 { Ok(vec![]) } else { self.tell(more, length).await };
        }
        let mut hasher = blake3::Hasher::new_derive_key(ECHO);
        said.iter().for_each(|value| {
            hasher.update(&(value.len() as u64).to_le_bytes()).update(value);
        });
        let heard: [u8; HASH_BYTES] = hasher.finalize().into();
        let mut words = heard.to_vec();
        words.extend_from_slice(more);
        let told = self.tell(&words, HASH_BYTES + length).await?;
        let differs = told.iter().any(|words| !ct_eq(&words[..HASH_BYTES], &heard));
        match differs && !self.is_dry() {
            true => Err(Error::Cheating { check: "the echo of a broadcast" }),
            false => Ok(told.into_iter().map(|words| words[HASH_BYTES..].to_vec()).collect()),
        }
    }
}
