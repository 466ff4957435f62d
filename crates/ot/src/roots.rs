//! The start of all protocols between two parties: base OTs and trees, in both directions at once.
//!
//! Three rounds: contributions to a session id, with the parties' choices; base OTs, whose two messages cross; the
//! trees. A message of another session, direction or place changes the keys, which the check of the trees detects.

use quorate_crypto::{Prg, SessionId};
use quorate_engine::{Ctx, Error, Mismatch, Result};
use zeroize::Zeroizing;

use crate::base::{BaseReceiver, BaseSender, Direction, Key, RECEIVER_BYTES, SENDER_BYTES};
use crate::error::LOST;
use crate::remembered;
use crate::tree::{self, Leaves};

const CONTRIBUTION_BYTES: usize = 32;
const CHOICES_BYTES: usize = 2;

/// The parameters that both ends must choose alike.
pub(crate) struct Shape {
    /// The depth of each tree.
    pub depths: Vec<usize>,
    /// The encoded choices for the peer.
    pub choices: [u8; CHOICES_BYTES],
    /// Describes encoded choices in messages to users.
    pub describe: fn([u8; CHOICES_BYTES]) -> String,
}

impl Shape {
    /// Returns the number of base OTs in each direction.
    fn base_ots(&self) -> usize {
        self.depths.iter().sum()
    }

    fn base_bytes(&self) -> usize {
        self.base_ots() * (SENDER_BYTES + RECEIVER_BYTES)
    }

    /// Returns the bytes of each of the messages that both parties send.
    pub fn message_bytes(&self) -> [usize; 3] {
        [CONTRIBUTION_BYTES + CHOICES_BYTES, self.base_bytes(), tree::message_bytes(&self.depths)]
    }

    /// Splits a number into its part for each tree, from its lowest bits on.
    pub fn points(&self, number: &u128) -> Zeroizing<Vec<usize>> {
        let mut points = Zeroizing::new(Vec::with_capacity(self.depths.len()));
        let mut at = 0;
        for &depth in &self.depths {
            points.push((number >> at) as usize & ((1 << depth) - 1));
            at += depth;
        }
        points
    }
}

/// The trees of both directions; none in a dry run.
#[derive(Default)]
pub(crate) struct Roots {
    /// The session id of the two parties.
    pub session: [u8; 32],
    /// The id of the direction in which this party sends.
    pub outward: [u8; 32],
    /// The id of the direction in which this party receives.
    pub inward: [u8; 32],
    /// The leaves of this party's trees.
    pub own: Vec<Leaves>,
    /// The leaves of the peer's trees; those at this party's points are garbage.
    pub theirs: Vec<Leaves>,
}

/// Returns the key that each base OT must give, 0 or 1: that of the sibling, not that of the tree's next turn.
fn base_choices(points: &[usize], depths: &[usize]) -> Zeroizing<Vec<u8>> {
    let mut choices = Zeroizing::new(Vec::new());
    for (&depth, point) in depths.iter().zip(points) {
        choices.extend((0..depth).rev().map(|bit| 1 - (point >> bit & 1) as u8));
    }
    choices
}

impl Roots {
    /// Runs base OTs and grows trees with `peer`. Each party lacks the leaves at its own points of the other's trees.
    ///
    /// # Errors
    /// [`Mismatch::Options`] if the choices differ, [`Error::Malformed`] for bad points, [`Error::Cheating`] if the
    /// trees do not fit the base OTs; any error that ends a run.
    pub async fn grow(ctx: &Ctx, peer: usize, shape: &Shape, points: &[usize], coins: &mut Prg) -> Result<Roots> {
        let session = agree(ctx, peer, shape, coins).await?;
        // The roles are swapped in base OTs: the later sender receives keys.
        let (outward, inward) = (Direction::new(&session, ctx.me(), peer), Direction::new(&session, peer, ctx.me()));
        let mut same = remembered::coins(ctx.me(), peer, shape.choices);
        let coins = same.as_mut().unwrap_or(coins);
        // A dry run has no base OTs, no keys and no trees, and sends zeros in their place.
        let base = (!ctx.is_dry()).then(|| Base {
            choosing: BaseReceiver::new(outward, base_choices(points, &shape.depths), coins),
            giving: BaseSender::new(inward, shape.base_ots(), coins),
        });

        let message = base.as_ref().map_or_else(|| vec![0; shape.base_bytes()], Base::message);
        let received = swap(ctx, peer, &message, message.len()).await?;
        let keys = base.map(|base| base.keys(&received)).transpose();
        let keys = keys.map_err(|what| Error::Malformed { peer, what })?;

        let blank = || (Vec::new(), vec![0; tree::message_bytes(&shape.depths)]);
        let (own, message) = keys.as_ref().map_or_else(blank, |keys| tree::grow(&keys.given, &shape.depths));
        let received = swap(ctx, peer, &message, message.len()).await?;
        let theirs = keys.map(|keys| tree::puncture(&keys.chosen, &shape.depths, points, &received)).transpose();
        let theirs = theirs.map_err(|check| Error::Cheating { check })?.unwrap_or_default();
        Ok(Roots { session, outward: outward.id, inward: inward.id, own, theirs })
    }
}

/// The base OTs of both directions, between their two steps.
struct Base {
    choosing: BaseReceiver,
    giving: BaseSender,
}

/// The keys of the base OTs in both directions.
struct BaseKeys {
    given: Vec<[Key; 2]>,
    chosen: Vec<Key>,
}

impl Base {
    fn message(&self) -> Vec<u8> {
        [&self.choosing.message[..], &self.giving.message].concat()
    }

    fn keys(self, received: &[u8]) -> std::result::Result<BaseKeys, &'static str> {
        let (chosen, given) = received.split_at(self.choosing.message.len());
        Ok(BaseKeys { given: self.giving.keys(chosen)?, chosen: self.choosing.keys(given)? })
    }
}

async fn swap(ctx: &Ctx, peer: usize, message: &[u8], length: usize) -> Result<Vec<u8>> {
    let received = ctx.exchange_bytes(&[(peer, message)], &[(peer, length)]).await?;
    received.into_iter().next().ok_or(LOST)
}

/// Agrees on a session id, to which both contribute, and checks that the choices are the same.
async fn agree(ctx: &Ctx, peer: usize, shape: &Shape, coins: &mut Prg) -> Result<[u8; 32]> {
    let mut own = [0; CONTRIBUTION_BYTES];
    coins.fill(&mut own);
    let message = [&own[..], &shape.choices].concat();
    let received = swap(ctx, peer, &message, message.len()).await?;
    let (theirs, their_choices) = received.split_at(CONTRIBUTION_BYTES);
    if their_choices != shape.choices && !ctx.is_dry() {
        let theirs = (shape.describe)(their_choices.try_into().unwrap_or_default()).into();
        let ours = (shape.describe)(shape.choices).into();
        return Err(Error::Mismatch(Mismatch::Options { peer, theirs, ours }));
    }
    let theirs: [u8; CONTRIBUTION_BYTES] = theirs.try_into().unwrap_or_default();
    let ordered = if ctx.me() < peer { [own, theirs] } else { [theirs, own] };
    Ok(*SessionId::from_contributions(&ordered).as_bytes())
}
