//! The start of a session between two parties: both make keys and exchange public keys, in both directions at once.
//!
//! Two rounds: options; public keys. Each party sends 5 bytes and three numbers modulo N. The form of a key is checked,
//! but not that it was made correctly, as parties are semi-honest.

use std::cell::Cell;

use quorate_crypto::Seed;
use quorate_engine::{Ctx, Error, Mismatch, Result};

use crate::coins::Coins;
use crate::keys::{Keys, Shapes};
use crate::options::{Level, OPTIONS_BYTES, Options, Scheme};
use crate::scheme::{Parsed, PublicKey, SecretKey};
use crate::steps::Steps;
use crate::{dgk, paillier};

/// Homomorphic encryption between this party and one peer, in both directions, for a session.
pub struct He {
    pub(crate) peer: usize,
    pub(crate) options: Options,
    /// The local work with this party's key and its peer's.
    pub(crate) steps: Box<dyn Steps>,
    /// This party's own coins.
    pub(crate) private: Seed,
    /// The number of triples begun.
    pub(crate) triples: Cell<u64>,
}

/// This party's key before the peer's has arrived, or its replacement in a dry run.
trait Own {
    /// Returns the message with the public key.
    fn message(&self) -> Vec<u8>;

    /// Combines it with the peer's key.
    fn meet(self: Box<Self>, level: Level, message: &[u8]) -> Parsed<Box<dyn Steps>>;
}

impl<S: SecretKey + 'static> Own for S {
    fn message(&self) -> Vec<u8> {
        SecretKey::message(self)
    }

    fn meet(self: Box<Self>, level: Level, message: &[u8]) -> Parsed<Box<dyn Steps>> {
        let theirs = S::Public::read_key(level, message)?;
        Ok(Box::new(Keys { own: *self, theirs }))
    }
}

impl Own for Shapes {
    fn message(&self) -> Vec<u8> {
        vec![0; self.options.key_bytes()]
    }

    fn meet(self: Box<Self>, _: Level, _: &[u8]) -> Parsed<Box<dyn Steps>> {
        Ok(self)
    }
}

/// The error for an exchange that returns too few messages.
pub(crate) const LOST: Error = Error::Bug { what: "an exchange without its answer" };

impl He {
    /// Makes keys and exchanges them with `peer`. Both parties call it on the same lane, with the same options. Two
    /// rounds; making keys takes seconds.
    ///
    /// # Errors
    /// [`Mismatch::Options`] if the options differ, [`Error::Malformed`] for a key of an impossible form,
    /// [`Misuse`](quorate_engine::Misuse) for impossible sizes; any error that ends a run.
    pub async fn setup(ctx: &Ctx, peer: usize, options: Options) -> Result<He> {
        let own = Seed::random().map_err(|_| Error::Bug { what: "the operating system has no randomness to give" })?;
        Self::setup_from(ctx, peer, options, &own).await
    }

    /// Makes keys and exchanges them with `peer`, with all of this party's coins derived from `own`, which must never
    /// be used for a setup again.
    ///
    /// # Errors
    /// Those of [`He::setup`].
    pub async fn setup_from(ctx: &Ctx, peer: usize, options: Options, own: &Seed) -> Result<He> {
        options.check()?;
        agree(ctx, peer, options).await?;
        let mut coins = Coins::new(own, "quorate/he/keys", peer as u64);
        let key: Box<dyn Own> = match options.scheme {
            _ if ctx.is_dry() => Box::new(Shapes { options }),
            Scheme::Paillier => Box::new(paillier::SecretKey::generate(options.level, &mut coins)),
            Scheme::Dgk => Box::new(dgk::SecretKey::generate(options.level, &mut coins)),
        };
        let message = swap(ctx, peer, &key.message()).await?;
        let steps = key.meet(options.level, &message).map_err(|what| Error::Malformed { peer, what })?;
        let private = own.derive("quorate/he/private", &(peer as u64).to_le_bytes());
        Ok(He { peer, options, steps, private, triples: Cell::new(0) })
    }

    /// Returns the end of a session for dry runs: it has no keys.
    pub fn dry(peer: usize, options: Options) -> He {
        let private = Seed::from_bytes([0; 32]);
        He { peer, options, steps: Box::new(Shapes { options }), private, triples: Cell::new(0) }
    }

    /// Returns the other party.
    pub fn peer(&self) -> usize {
        self.peer
    }

    /// Returns the options of the session.
    pub fn options(&self) -> Options {
        self.options
    }
}

/// Returns the bytes of each of the messages that both parties send.
pub(crate) fn message_bytes(options: Options) -> [usize; 2] {
    [OPTIONS_BYTES, options.key_bytes()]
}

/// Exchanges messages of the same length.
async fn swap(ctx: &Ctx, peer: usize, message: &[u8]) -> Result<Vec<u8>> {
    ctx.exchange_bytes(&[(peer, message)], &[(peer, message.len())]).await?.pop().ok_or(LOST)
}

async fn agree(ctx: &Ctx, peer: usize, options: Options) -> Result<()> {
    let ours = options.encode();
    let theirs = swap(ctx, peer, &ours).await?;
    if ctx.is_dry() || theirs == ours {
        return Ok(());
    }
    let theirs = Options::describe(theirs.try_into().unwrap_or_default()).into();
    Err(Error::Mismatch(Mismatch::Options { peer, theirs, ours: Options::describe(ours).into() }))
}
