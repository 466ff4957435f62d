//! The start of a session between two parties: base OTs and trees, in both directions at once.
//!
//! Three rounds: contributions to a session id, with the options; base OTs, whose two messages cross; the trees. Each
//! party sends 34 + 128 (32 + 64) bytes and its trees' message. A message of another session, direction or place
//! changes the keys, which the check of the trees finds.

use std::cell::Cell;

use quorate_crypto::{Prg, Seed, SessionId, Tccr};
use quorate_engine::{Ctx, Error, Mismatch, Misuse, Result};
use zeroize::Zeroizing;

use crate::base::{BaseReceiver, BaseSender, Direction, Key, RECEIVER_BYTES, SENDER_BYTES};
use crate::options::{COLUMNS, Options};
use crate::softspoken::{SoftReceiver, SoftSender};
use crate::tree;
use crate::triples::window_of;

const CONTRIBUTION_BYTES: usize = 32;
const OPTIONS_BYTES: usize = 2;
const BASE_BYTES: usize = COLUMNS * (SENDER_BYTES + RECEIVER_BYTES);

/// Oblivious transfers between this party and one peer, in both directions, for a session.
pub struct Ot {
    pub(crate) peer: usize,
    pub(crate) options: Options,
    pub(crate) sender: SoftSender,
    pub(crate) receiver: SoftReceiver,
    /// The hashes of what this party sends and of what it receives.
    pub(crate) sending: Tccr,
    pub(crate) receiving: Tccr,
    /// This party's own coins.
    pub(crate) private: Seed,
    /// Chunks of long rows under way.
    pub(crate) window: Cell<usize>,
}

pub(crate) fn no_randomness() -> Error {
    Error::Bug { what: "the operating system has no randomness to give" }
}

/// An exchange gave fewer messages than were asked for.
pub(crate) const LOST: Error = Error::Bug { what: "an exchange without its answer" };

/// Delta of random bits, bit 0 set.
fn draw_delta(coins: &mut Prg) -> Zeroizing<u128> {
    let mut bytes = Zeroizing::new([0; 16]);
    coins.fill(&mut *bytes);
    Zeroizing::new(u128::from_le_bytes(*bytes) | 1)
}

/// Delta's part in each tree.
fn points(delta: &u128, depths: &[usize]) -> Zeroizing<Vec<usize>> {
    let mut points = Zeroizing::new(Vec::with_capacity(depths.len()));
    let mut at = 0;
    for &depth in depths {
        points.push((delta >> at) as usize & ((1 << depth) - 1));
        at += depth;
    }
    points
}

/// The key that each base OT must give, 0 or 1: not that of the tree's next turn but the sibling's.
fn base_choices(points: &[usize], depths: &[usize]) -> Zeroizing<Vec<u8>> {
    let mut choices = Zeroizing::new(Vec::with_capacity(COLUMNS));
    for (&depth, point) in depths.iter().zip(points) {
        choices.extend((0..depth).rev().map(|bit| 1 - (point >> bit & 1) as u8));
    }
    choices
}

impl Ot {
    /// Sets up both directions with `peer`. Both parties call it on the same lane, with the same options. Three rounds.
    ///
    /// # Errors
    /// [`Mismatch::Options`] where the options differ, [`Error::Malformed`] for bad points, [`Error::Cheating`] where
    /// the trees do not fit the base OTs, and whatever ends a run.
    pub async fn setup(ctx: &Ctx, peer: usize, options: Options) -> Result<Ot> {
        Self::setup_from(ctx, peer, options, &Seed::random().map_err(|_| no_randomness())?).await
    }

    /// [`Ot::setup`] with all of this party's coins grown from `own`, which must never be used for a setup again.
    ///
    /// # Errors
    /// As there.
    pub async fn setup_from(ctx: &Ctx, peer: usize, options: Options, own: &Seed) -> Result<Ot> {
        options.check()?;
        let mut coins = own.prg("quorate/ot/setup", &(peer as u64).to_le_bytes());
        let session = agree(ctx, peer, options, &mut coins).await?;
        let (outward, inward) = directions(&session, ctx.me(), peer);
        let depths = options.depths();
        let delta = draw_delta(&mut coins);
        let points = points(&delta, &depths);
        // A dry run has no base OTs, no keys and no trees, and sends zeros in their place.
        let base = (!ctx.is_dry()).then(|| Base {
            choosing: BaseReceiver::new(outward, base_choices(&points, &depths), &mut coins),
            giving: BaseSender::new(inward, COLUMNS, &mut coins),
        });

        let message = base.as_ref().map_or_else(|| vec![0; BASE_BYTES], Base::message);
        let received = swap(ctx, peer, &message, BASE_BYTES).await?;
        let keys = base.map(|base| base.keys(&received)).transpose();
        let keys = keys.map_err(|what| Error::Malformed { peer, what })?;

        let blank = || (Vec::new(), vec![0; tree::message_bytes(&depths)]);
        let (grown, message) = keys.as_ref().map_or_else(blank, |keys| tree::grow(&keys.given, &depths));
        let received = swap(ctx, peer, &message, message.len()).await?;
        let punctured = keys.map(|keys| tree::puncture(&keys.chosen, &depths, &points, &received)).transpose();
        let punctured = punctured.map_err(|check| Error::Cheating { check })?.unwrap_or_default();
        Ok(Ot {
            peer,
            options,
            sender: SoftSender::new(peer, options, *delta, punctured),
            receiver: SoftReceiver::new(peer, options, grown),
            sending: Tccr::new(&SessionId::from_bytes(outward.id)),
            receiving: Tccr::new(&SessionId::from_bytes(inward.id)),
            private: own.derive("quorate/ot/private", &session),
            window: Cell::new(window_of(0)),
        })
    }

    /// Sets up every pair of the session's parties, all at once; by peer, `None` for this party.
    ///
    /// # Errors
    /// Those of [`Ot::setup`].
    pub async fn each_pair(ctx: &Ctx, options: Options) -> Result<Vec<Option<Ot>>> {
        let (me, parties) = (ctx.me(), ctx.parties());
        let pairs: Vec<(usize, usize)> = (0..parties).flat_map(|i| (0..i).map(move |j| (j, i))).collect();
        let work = async |ctx: quorate_engine::Ctx, i: usize| {
            let (low, high) = pairs[i];
            let peer = if low == me { high } else { low };
            if low != me && high != me { Ok(None) } else { Self::setup(&ctx, peer, options).await.map(Some) }
        };
        let made = ctx.join_all(pairs.len(), work).await?;
        let mut by_peer: Vec<Option<Ot>> = (0..parties).map(|_| None).collect();
        made.into_iter().flatten().for_each(|ot| {
            let peer = ot.peer;
            by_peer[peer] = Some(ot);
        });
        Ok(by_peer)
    }

    /// The same for dry runs: it has no keys, since nothing is drawn.
    pub fn dry(peer: usize, options: Options) -> Ot {
        let hash = || Tccr::new(&SessionId::from_bytes([0; 32]));
        Ot {
            peer,
            options,
            sender: SoftSender::new(peer, options, 1, Vec::new()),
            receiver: SoftReceiver::new(peer, options, Vec::new()),
            sending: hash(),
            receiving: hash(),
            private: Seed::from_bytes([0; 32]),
            window: Cell::new(window_of(0)),
        }
    }

    /// The other party.
    pub fn peer(&self) -> usize {
        self.peer
    }

    /// Keeps a line full that takes so many bytes each way before the first comes back, as far as memory allows. The
    /// parties say the same.
    pub fn fill(&self, line_bytes: usize) {
        self.window.set(window_of(line_bytes));
    }

    /// What the session chose.
    pub fn options(&self) -> Options {
        self.options
    }

    /// Delta, the correlation of what this party sends; bit 0 is 1. A secret; of no meaning in a dry run.
    pub fn delta(&self) -> u128 {
        crate::source::Sender::delta(&self.sender)
    }

    /// Sends and receives at once. The lanes are in the same order at both ends: first the one on which the party with
    /// the smaller number sends.
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

/// The base OTs of both directions, between their two steps.
struct Base {
    choosing: BaseReceiver,
    giving: BaseSender,
}

/// What they give.
struct BaseKeys {
    given: Vec<[Key; 2]>,
    chosen: Vec<Key>,
}

impl Base {
    fn message(&self) -> Vec<u8> {
        [&self.choosing.message[..], &self.giving.message].concat()
    }

    fn keys(self, received: &[u8]) -> std::result::Result<BaseKeys, &'static str> {
        let (chosen, given) = received.split_at(COLUMNS * RECEIVER_BYTES);
        Ok(BaseKeys { given: self.giving.keys(chosen)?, chosen: self.choosing.keys(given)? })
    }
}

/// Bytes of each of the messages that both parties send.
pub(crate) fn message_bytes(options: Options) -> [usize; 3] {
    [CONTRIBUTION_BYTES + OPTIONS_BYTES, BASE_BYTES, tree::message_bytes(&options.depths())]
}

/// The directions in which this party sends and receives.
fn directions(session: &[u8; 32], me: usize, peer: usize) -> (Direction, Direction) {
    // In the base OTs of an extension the roles are turned: whoever sends by the extension receives keys.
    (Direction::new(session, me, peer), Direction::new(session, peer, me))
}

async fn swap(ctx: &Ctx, peer: usize, message: &[u8], length: usize) -> Result<Vec<u8>> {
    let received = ctx.exchange_bytes(&[(peer, message)], &[(peer, length)]).await?;
    received.into_iter().next().ok_or(LOST)
}

/// A session id to which both contribute, and the same options.
async fn agree(ctx: &Ctx, peer: usize, options: Options, coins: &mut Prg) -> Result<[u8; 32]> {
    let mut own = [0; CONTRIBUTION_BYTES];
    coins.fill(&mut own);
    let message = [&own[..], &options.encode()].concat();
    let received = swap(ctx, peer, &message, CONTRIBUTION_BYTES + OPTIONS_BYTES).await?;
    let (theirs, their_options) = received.split_at(CONTRIBUTION_BYTES);
    if their_options != options.encode() && !ctx.is_dry() {
        let theirs = Options::describe(their_options.try_into().unwrap_or_default()).into();
        let ours = Options::describe(options.encode()).into();
        return Err(Error::Mismatch(Mismatch::Options { peer, theirs, ours }));
    }
    let theirs: [u8; CONTRIBUTION_BYTES] = theirs.try_into().unwrap_or_default();
    let ordered = if ctx.me() < peer { [own, theirs] } else { [theirs, own] };
    Ok(*SessionId::from_contributions(&ordered).as_bytes())
}

/// The caller's mistake where operands do not fit.
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
