//! The start of a session between two parties, in both directions at once: the three rounds of [`Roots`]. Each party
//! sends 34 + 128 (32 + 64) bytes and its trees' message.

use std::ops::Deref;
use std::sync::Arc;

use quorate_crypto::{Prg, Seed, SessionId, Tccr};
use quorate_engine::{Ctx, Held, Misuse, Result};
use zeroize::Zeroizing;

use crate::error::NO_RANDOMNESS;
use crate::options::Options;
use crate::roots::{Roots, Shape};
use crate::rows::window_of;
use crate::softspoken::{SoftReceiver, SoftSender};
use crate::tree::Tree;

/// Oblivious transfers between this party and one peer, in both directions, for a session. A clone is a handle of the
/// same transfers.
#[derive(Clone)]
pub struct Ot(Arc<State>);

impl Deref for Ot {
    type Target = State;

    fn deref(&self) -> &State {
        &self.0
    }
}

/// The state of transfers with a peer.
pub struct State {
    pub(crate) peer: usize,
    pub(crate) options: Options,
    pub(crate) sender: SoftSender,
    pub(crate) receiver: SoftReceiver,
    /// The hashes for the direction in which this party sends, and for that in which it receives.
    pub(crate) sending: Tccr,
    pub(crate) receiving: Tccr,
    /// This party's own coins.
    pub(crate) private: Seed,
    /// The number of chunks of long rows that are under way at a time.
    pub(crate) window: Held<usize>,
}

/// Draws a Delta of random bits, with bit 0 set.
fn draw_delta(coins: &mut Prg) -> Zeroizing<u128> {
    let mut bytes = Zeroizing::new([0; 16]);
    coins.fill(&mut *bytes);
    Zeroizing::new(u128::from_le_bytes(*bytes) | 1)
}

impl Ot {
    /// Sets up both directions with `peer`. Both parties call it on the same lane, with the same options. Three rounds.
    ///
    /// # Errors
    /// [`Mismatch`](quorate_engine::Mismatch) if the options differ,
    /// [`Error::Malformed`](quorate_engine::Error::Malformed) for bad points,
    /// [`Error::Cheating`](quorate_engine::Error::Cheating) if the trees do not fit the base OTs; any error that ends a
    /// run.
    pub async fn setup(ctx: &Ctx, peer: usize, options: Options) -> Result<Ot> {
        Self::setup_from(ctx, peer, options, &Seed::random().map_err(|_| NO_RANDOMNESS)?).await
    }

    /// Sets up both directions with `peer`, with all of this party's coins derived from `own`, which must never be used
    /// for a setup again.
    ///
    /// # Errors
    /// Those of [`Ot::setup`].
    pub async fn setup_from(ctx: &Ctx, peer: usize, options: Options, own: &Seed) -> Result<Ot> {
        let mut coins = own.prg("quorate/ot/setup", &(peer as u64).to_le_bytes());
        let delta = draw_delta(&mut coins);
        Self::grow(ctx, peer, options, (own, &delta), &mut coins).await
    }

    /// Sets up both directions with `peer`, with coins derived from `own`, and with the caller's Delta: uniform, bit 0
    /// set. The same Delta may be used with several peers. `own` must never be used for a setup again.
    ///
    /// # Errors
    /// Those of [`Ot::setup`].
    pub async fn setup_under(ctx: &Ctx, peer: usize, options: Options, (own, delta): (&Seed, &u128)) -> Result<Ot> {
        let mut coins = own.prg("quorate/ot/setup", &(peer as u64).to_le_bytes());
        Self::grow(ctx, peer, options, (own, delta), &mut coins).await
    }

    async fn grow(
        ctx: &Ctx,
        peer: usize,
        options: Options,
        (own, delta): (&Seed, &u128),
        coins: &mut Prg,
    ) -> Result<Ot> {
        options.check()?;
        let shape = shape(options);
        let points = shape.points(delta);
        let roots = Roots::grow(ctx, peer, &shape, &points, coins).await?;
        let own_trees = roots.own.iter().map(Tree::whole).collect();
        let theirs = roots.theirs.into_iter().zip(points.iter()).map(|(leaves, &point)| Tree::without(leaves, point));
        Ok(Ot(Arc::new(State {
            peer,
            options,
            sender: SoftSender::new(peer, options, *delta, theirs.collect()),
            receiver: SoftReceiver::new(peer, options, own_trees),
            sending: Tccr::new(&SessionId::from_bytes(roots.outward)),
            receiving: Tccr::new(&SessionId::from_bytes(roots.inward)),
            private: own.derive("quorate/ot/private", &roots.session),
            window: Held::new(window_of(0)),
        })))
    }

    /// Returns the end of a session for dry runs: it has no keys, since nothing is drawn.
    pub fn dry(peer: usize, options: Options) -> Ot {
        let hash = || Tccr::new(&SessionId::from_bytes([0; 32]));
        Ot(Arc::new(State {
            peer,
            options,
            sender: SoftSender::new(peer, options, 1, Vec::new()),
            receiver: SoftReceiver::new(peer, options, Vec::new()),
            sending: hash(),
            receiving: hash(),
            private: Seed::from_bytes([0; 32]),
            window: Held::new(window_of(0)),
        }))
    }

    /// Returns the other party.
    pub fn peer(&self) -> usize {
        self.peer
    }

    /// Sets how many chunks are under way: enough to fill a line that holds `line_bytes` bytes each way, as far as
    /// memory allows. Both parties call it with the same number.
    pub fn fill(&self, line_bytes: usize) {
        self.window.set(window_of(line_bytes));
    }

    /// Returns the options of the session.
    pub fn options(&self) -> Options {
        self.options
    }

    /// Returns Delta, the correlation of the OTs that this party sends; bit 0 is 1. It is secret, and meaningless in a
    /// dry run.
    pub fn delta(&self) -> u128 {
        crate::source::Sender::delta(&self.sender)
    }

    /// Sends and receives at once. The lanes have the same order at both ends: on the first one, the party with the
    /// smaller number sends.
    ///
    /// # Errors
    /// The first error of either.
    pub async fn both<A, B>(
        &self,
        ctx: &Ctx,
        send: impl AsyncFnOnce(Ctx) -> Result<A>,
        receive: impl AsyncFnOnce(Ctx) -> Result<B>,
    ) -> Result<(A, B)> {
        if ctx.me() < self.peer {
            return ctx.join(send, receive).await;
        }
        let (received, sent) = ctx.join(receive, send).await?;
        Ok((sent, received))
    }
}

/// Returns the parameters that both ends of a session choose alike.
pub(crate) fn shape(options: Options) -> Shape {
    Shape { depths: options.depths(), choices: options.encode(), describe: Options::describe }
}

/// Checks that operands have equal lengths; otherwise the caller made a mistake.
pub(crate) fn fits(what: &'static str, left: usize, right: usize) -> Result<()> {
    if left == right { Ok(()) } else { Err(Misuse::Length { what, left, right }.into()) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_bit_of_delta_but_the_lowest_is_a_coin() {
        let mut coins = Seed::from_bytes([5; 32]).prg("quorate/ot/test", b"");
        let deltas: Vec<u128> = (0..64).map(|_| *draw_delta(&mut coins)).collect();
        let (ever, always) = deltas.iter().fold((0, u128::MAX), |(ever, always), delta| (ever | delta, always & delta));
        assert_eq!((ever, always), (u128::MAX, 1));
    }
}
