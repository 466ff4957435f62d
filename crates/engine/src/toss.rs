//! Coin tossing by commitment: nobody can steer the coins, and nobody knows them before all have committed.
//!
//! **Source**: Blum 1983, with hash commitments. **Model**: malicious, all but one. Rounds: 2; bytes per party: 96 (n - 1).
//! An adversary that dislikes the coins can only abort.

use quorate_crypto::{Commitment, Context, Opening, SessionId, commit, os_random, verify};

use crate::ctx::Ctx;
use crate::error::{Error, Result};

impl Ctx {
    /// 32 fresh bytes of coins that all parties agree on.
    ///
    /// # Errors
    /// [`Error::Cheating`] if a party opens something else than it committed to.
    pub async fn toss(&self, session: &SessionId) -> Result<[u8; 32]> {
        let peers: Vec<usize> = (0..self.parties()).filter(|&p| p != self.me()).collect();
        let instance = self.randomness().instance();
        let context = |party: usize| Context { session, party: party as u32, domain: "quorate/engine/coin", instance };
        let no_randomness = |_| Error::bug("the operating system has no randomness to give");
        let mut coins = [0; 32];
        os_random(&mut coins).map_err(no_randomness)?;
        let (commitment, opening) = commit(&context(self.me()), &coins).map_err(no_randomness)?;

        let outgoing: Vec<_> = peers.iter().map(|&p| (p, &commitment.0[..])).collect();
        let incoming: Vec<_> = peers.iter().map(|&p| (p, 32)).collect();
        let commitments = self.exchange_bytes(&outgoing, &incoming).await?;

        let mut words = coins.to_vec();
        words.extend_from_slice(&opening.0);
        let outgoing: Vec<_> = peers.iter().map(|&p| (p, &words[..])).collect();
        let incoming: Vec<_> = peers.iter().map(|&p| (p, 64)).collect();
        let openings = self.exchange_bytes(&outgoing, &incoming).await?;

        for ((&peer, committed), opened) in peers.iter().zip(&commitments).zip(&openings) {
            let committed = Commitment(committed[..].try_into().unwrap_or_default());
            let opening = Opening(opened[32..].try_into().unwrap_or_default());
            if !self.is_dry() && !verify(&context(peer), &committed, &opened[..32], &opening) {
                return Err(Error::Cheating { check: "coin toss" });
            }
            coins.iter_mut().zip(&opened[..32]).for_each(|(coin, byte)| *coin ^= byte);
        }
        Ok(coins)
    }
}
