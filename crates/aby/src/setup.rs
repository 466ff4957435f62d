//! A party of `aby`: the secrets that it shares with its peer, its oblivious transfers, its stock of correlations.
//!
//! Setup: both parties send 32 random bytes each; together these name the session, and give a seed that both know. At
//! the same time, base oblivious transfers are made in both directions, once for the whole session (see
//! [`quorate_ot`]).

use std::ops::Deref;
use std::sync::Arc;

use quorate_crypto::{Seed, SessionId, Tccr};
use quorate_engine::{Ctx, Error, Held, Misuse, Result};
use quorate_fss::{Hash, Origins};
use quorate_gadgets::Family;
use quorate_ot::{Options, Ot};
use zeroize::Zeroizing;

use crate::kind::Stock;
use crate::yao::Garbled;

/// One party's end of two-party sharing. A clone is a handle of the same party.
#[derive(Clone)]
pub struct Aby(Arc<State>);

impl Deref for Aby {
    type Target = State;

    fn deref(&self) -> &State {
        &self.0
    }
}

/// The state of a party.
pub struct State {
    pub(crate) me: usize,
    /// Coins that only the two parties know: those of inputs.
    pub(crate) pair: Seed,
    /// This party's own coins.
    pub(crate) private: Seed,
    pub(crate) ot: Ot,
    pub(crate) stock: Stock,
    session: SessionId,
    /// The hash for garbled circuits, which is used for nothing else.
    pub(crate) garbling: Tccr,
    pub(crate) garbled: Garbled,
    /// The hashes for trees of keys.
    pub(crate) trees: Origins,
    /// The number of bytes that the line to the peer takes before the first of them is answered.
    pub(crate) line_bytes: Held<usize>,
}

const SEED_BYTES: usize = 32;

impl Aby {
    /// Checks that `aby` can run with `parties` parties.
    ///
    /// # Errors
    /// [`Misuse::Parties`] unless 2.
    pub fn check_parties(parties: usize) -> Result<()> {
        Self::DESCRIPTOR.check_parties(parties)
    }

    /// Agrees on a session id and a common seed, and sets up oblivious transfer.
    ///
    /// # Errors
    /// [`Misuse::Parties`], and any error that ends a run.
    pub async fn setup(ctx: &Ctx) -> Result<Aby> {
        let own = Seed::random().map_err(|_| Error::Bug { what: "the operating system has no randomness to give" })?;
        Self::setup_from(ctx, &own).await
    }

    /// Sets up as [`Aby::setup`] does, with all of this party's coins derived from `own`: anyone who knows `own` knows
    /// everything that this party hides.
    ///
    /// # Errors
    /// Those of [`Aby::setup`].
    pub async fn setup_from(ctx: &Ctx, own: &Seed) -> Result<Aby> {
        Self::check_parties(ctx.parties())?;
        let (me, peer) = (ctx.me(), 1 - ctx.me());
        let transfers = own.derive("quorate/aby/transfers", b"");
        let (seeds, ot) = ctx
            .join(
                async |ctx: Ctx| exchange_seeds(&ctx, own).await,
                async |ctx: Ctx| Ot::setup_from(&ctx, peer, Options::default(), &transfers).await,
            )
            .await?;
        let session = SessionId::from_contributions(&[*seeds[0], *seeds[1]]);
        let mut pair = Seed::from_bytes(*seeds[0]).derive("quorate/aby/pair", &*seeds[1]);
        pair = pair.derive("quorate/aby/pair", session.as_bytes());
        let private = own.derive("quorate/aby/private", session.as_bytes());
        let session = public_id(&session);
        Ok(Self::with((me, [pair, private]), ot, session, 0))
    }

    /// Returns a party for dry runs, without seeds, since nothing is drawn.
    ///
    /// # Errors
    /// [`Misuse::Parties`], [`Misuse::NoSuchParty`].
    pub fn dry(parties: usize, me: usize) -> Result<Aby> {
        Self::check_parties(parties)?;
        if me >= parties {
            return Err(Misuse::NoSuchParty { party: me, parties }.into());
        }
        let [pair, private] = [0, 1].map(|_| Seed::from_bytes([0; SEED_BYTES]));
        let ot = Ot::dry(1 - me, Options::default());
        let session = SessionId::from_bytes([0; 32]);
        Ok(Self::with((me, [pair, private]), ot, session, 0))
    }

    /// Returns a party with these seeds, neither with correlations nor with garbled circuits.
    fn with((me, [pair, private]): (usize, [Seed; 2]), ot: Ot, session: SessionId, line_bytes: usize) -> Aby {
        Aby(Arc::new(State {
            me,
            pair,
            private,
            ot,
            stock: Stock::default(),
            session,
            garbling: Tccr::new(&session),
            garbled: Garbled::default(),
            trees: Origins::new(&session),
            line_bytes: Held::new(line_bytes),
        }))
    }

    /// Returns another handle of this party, for runs beside those of this one: the same keys, and neither correlations
    /// nor garbled circuits.
    pub fn beside(&self) -> Aby {
        let State { me, pair, private, ot, session, line_bytes, .. } = &**self;
        Self::with((*me, [pair.clone(), private.clone()]), ot.clone(), *session, line_bytes.get())
    }

    /// Returns the hash of the session that made the keys of the run.
    pub(crate) fn evaluating(&self) -> Arc<Hash> {
        self.trees.of(self.stock.origin())
    }

    /// Sets the number of bytes to keep under way on the link; see [`Ot::fill`].
    pub fn fill_line(&self, bytes: usize) {
        self.line_bytes.set(bytes);
        self.ot.fill(bytes);
    }

    /// Returns the session's id, the same at both parties.
    pub fn session(&self) -> &SessionId {
        &self.session
    }

    pub(crate) fn peer(&self) -> usize {
        1 - self.me
    }
}

/// Returns the public name of a session, a hash of its hash: the contributions are secret from everyone else.
fn public_id(session: &SessionId) -> SessionId {
    SessionId::from_contributions(&[*session.as_bytes()])
}

/// Exchanges 32 bytes of each party; returns them in the parties' order.
async fn exchange_seeds(ctx: &Ctx, own: &Seed) -> Result<[Zeroizing<[u8; SEED_BYTES]>; 2]> {
    let mut mine = Zeroizing::new([0; SEED_BYTES]);
    own.prg("quorate/aby/setup", b"").fill(&mut *mine);
    let peer = 1 - ctx.me();
    let received = ctx.exchange_bytes(&[(peer, &mine[..])], &[(peer, SEED_BYTES)]).await?.pop().map(Zeroizing::new);
    let mut theirs = Zeroizing::new([0; SEED_BYTES]);
    if let Some(received) = received {
        theirs.copy_from_slice(&received);
    }
    Ok(if ctx.me() == 0 { [mine, theirs] } else { [theirs, mine] })
}
