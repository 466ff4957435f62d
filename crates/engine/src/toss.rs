//! Coin tossing by commitment: no party can influence the coins, and none learns them before all have committed.
//!
//! **Source**: Blum 1983, with hash commitments, echoed where there are more than two parties. **Model**: malicious;
//! all parties but one may cheat. Rounds: 2; bytes to each peer: 96 for n = 2, 128 above. An adversary that has seen
//! the coins can only abort.

use quorate_crypto::{SessionId, os_random};

use crate::ctx::Ctx;
use crate::error::{Error, Result};

const COIN_BYTES: usize = 32;

impl Ctx {
    /// Returns fresh random bytes of this party alone, for what no peer may foresee: the operating system's, or those
    /// of [`Party::set_coins`](crate::Party::set_coins).
    ///
    /// # Errors
    /// [`Error::Bug`] if the operating system has no randomness to give.
    pub fn fresh_random<const N: usize>(&self) -> Result<[u8; N]> {
        let mut own = [0; N];
        let number = self.fresh.replace(self.fresh.get() + 1);
        match self.core.coins.get() {
            Some(coins) => coins.prg("quorate/engine/fresh", &self.named(number)).fill(&mut own),
            None => os_random(&mut own).map_err(|_| Error::bug("the operating system has no randomness to give"))?,
        }
        Ok(own)
    }

    /// Returns 32 fresh bytes of coins that all parties agree on.
    ///
    /// # Errors
    /// [`Error::Cheating`] if a party does not open what it committed to, or committed to several values.
    pub async fn toss(&self, session: &SessionId) -> Result<[u8; COIN_BYTES]> {
        let own = self.fresh_random::<COIN_BYTES>()?;
        let all = self.commit_and_open(session, "quorate/engine/coin", &own).await?;
        let mut coins = [0; COIN_BYTES];
        for one in all {
            coins.iter_mut().zip(&one).for_each(|(coin, byte)| *coin ^= byte);
        }
        Ok(coins)
    }
}
