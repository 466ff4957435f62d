//! Authentication: parties' own vectors as shares with tags.
//!
//! **Source**: Cramer et al. 2018 (ePrint 2018/482), Fig. 6, over the vector OLE of [`quorate_ot::vole`]. **Model**:
//! malicious, all but one; a cheater may guess digits of keys, and where a guess is wrong the session ends.
//! **Deviation**: ours, docs/security/spdz2k.md. **Notation**: x the vector of owner P_i, over Z_2^m; alpha^j x = v - w
//! with v at P_i and w at P_j.
//!
//! | step | rounds | what |
//! |---|---|---|
//! | 1 | 1 | the vector OLE of every ordered pair, on x with one more element x_0, uniform mod 2^m |
//! | 2 | 2 | toss chi in Z_2^s |
//! | 3 | 1; 2 if n > 2 | P_i tells all x' = sum chi_l x_l + x_0, and each P_j v' = sum chi_l v_l + v_0 |
//! | 4 | | P_j: alpha^j x' = v' - w', or the run ends; x_0 is thrown away |
//!
//! A uniform x is u_0 towards the owner's first peer, which is told as much less.
//!
//! [x] is x at its owner and 0 elsewhere; its tag alpha^i x + sum of v at the owner, -w at P_j.

use quorate_engine::{Ctx, Error, Result};
use quorate_ot::vole::Grown;
use quorate_ring::{Ring, Vector, Wiped};

use crate::coins::Coins;
use crate::keys::Keys;
use crate::shared::{Shared, blank};
use crate::words::is_zero;

const CHECK: &str = "the authentication of a party's values";
const MISSING: Error = Error::Bug { what: "a vector to authenticate without values" };
const SHORT: Error = Error::Bug { what: "a message of authentication of a wrong length" };

/// A vector to authenticate: alike at all parties but for its values.
pub(crate) struct Own<'v> {
    /// Whose; every party has one of its own where none is named.
    owner: Option<usize>,
    shape: (Ring, usize),
    value: Value<'v>,
}

enum Value<'v> {
    /// Uniform: nobody chooses it.
    Random,
    /// This party's, if it is an owner.
    Given(Option<&'v Vector>),
}

impl<'v> Own<'v> {
    /// A vector of every party's.
    pub fn each(value: &'v Vector) -> Own<'v> {
        Own { owner: None, shape: (value.ring(), value.len()), value: Value::Given(Some(value)) }
    }

    /// A vector of one party's, where it is given.
    pub fn of(owner: usize, shape: (Ring, usize), value: Option<&'v Vector>) -> Own<'v> {
        Own { owner: Some(owner), shape, value: Value::Given(value) }
    }

    /// A uniform one of every party's, or of one party's.
    pub fn random(owner: Option<usize>, shape: (Ring, usize)) -> Own<'v> {
        Own { owner, shape, value: Value::Random }
    }

    fn is_of(&self, party: usize) -> bool {
        self.owner.is_none_or(|owner| owner == party)
    }

    /// Whether it is what a peer of its owner can compute, up to a leaf: nothing is said of its first digit there.
    fn grows_from(&self, owner: usize, peer: usize) -> bool {
        matches!(self.value, Value::Random) && peer == usize::from(owner == 0)
    }
}

/// A vector in the making: with its mask, and what this party has of it for and from each peer.
pub(crate) struct Pending {
    owner: Option<usize>,
    pub shape: (Ring, usize),
    /// This party's own vector, and by peer v of it.
    pub x: Option<Wiped<Vector>>,
    pub v: Vec<Wiped<Vector>>,
    /// By peer: w of the peer's vector, where it has one.
    pub w: Vec<Option<Wiped<Vector>>>,
}

impl Keys {
    /// What this party then has of each vector: by vector, then by owner.
    ///
    /// # Errors
    /// [`Error::Cheating`] where a peer authenticates different values for different digits; whatever ends a run.
    pub(crate) async fn authenticate(&self, ctx: &Ctx, own: &[Own<'_>]) -> Result<Vec<Vec<Shared>>> {
        let pending = self.correlate(ctx, own).await?;
        Ok(pending.iter().map(|pending| self.by_owner(pending)).collect())
    }

    /// Steps 1 to 4, before shares and tags are made of what they give.
    pub(crate) async fn correlate(&self, ctx: &Ctx, own: &[Own<'_>]) -> Result<Vec<Pending>> {
        let pending = self.exchange_ole(ctx, own).await?;
        self.one_check(async || self.check_ole(ctx, &pending).await).await?;
        Ok(pending)
    }

    /// Step 1.
    async fn exchange_ole(&self, ctx: &Ctx, own: &[Own<'_>]) -> Result<Vec<Pending>> {
        let (peers, dry) = (self.peers(), ctx.is_dry());
        let mut pending = Vec::new();
        let mut messages = vec![Vec::new(); peers.len()];
        let mut instances = Vec::new();
        for vector in own {
            let (shape, instance) = ((vector.shape.0, vector.shape.1 + 1), ctx.randomness().instance());
            let mask = Wiped(ctx.randomness().stream(&self.private).draw::<Vector>((shape.0, 1)));
            let mut made = Pending { owner: vector.owner, shape, x: None, v: vec![], w: vec![] };
            if vector.is_of(self.me) {
                made.x = match vector.value {
                    Value::Random => None,
                    Value::Given(Some(value)) => Some(Wiped(Vector::concat(&[value, &mask]))),
                    Value::Given(None) => Some(Wiped(Vector::shape(shape.0, shape.1))).filter(|_| dry),
                };
                for (&peer, message) in peers.iter().zip(&mut messages) {
                    let grown: Grown = self.vole(peer)?.grow(dry, instance, shape)?;
                    let random = vector.grows_from(self.me, peer);
                    if random {
                        made.x = Some(Wiped(grown.random().clone()));
                    }
                    message.extend(grown.message(made.x.as_deref().ok_or(MISSING)?, random));
                    made.v.push(grown.share);
                }
            }
            pending.push(made);
            instances.push(instance);
        }
        let digits = self.alpha.digits();
        let bytes = |(vector, made): (&Own<'_>, &Pending), peer| match vector.is_of(peer) {
            true => digits.message_bytes(made.shape, vector.grows_from(peer, self.me)),
            false => 0,
        };
        let length = |peer| own.iter().zip(&pending).map(|vector| bytes(vector, peer)).sum::<usize>();
        let lengths: Vec<(usize, usize)> = peers.iter().map(|&peer| (peer, length(peer))).collect();
        let told = self.tell_each(ctx, &messages, &lengths).await?;
        for (&peer, told) in peers.iter().zip(&told) {
            let mut rest = &told[..];
            for ((vector, made), &instance) in own.iter().zip(&mut pending).zip(&instances) {
                let (message, after) = rest.split_at_checked(bytes((vector, made), peer)).ok_or(SHORT)?;
                rest = after;
                let random = vector.grows_from(peer, self.me);
                made.w.push(match vector.is_of(peer) {
                    true => Some(self.vole(peer)?.hold(dry, instance, made.shape, (message, random))?),
                    false => None,
                });
            }
        }
        Ok(pending)
    }

    /// A message to each peer, and one from each of so many bytes; where there are none, nothing is sent.
    pub(crate) async fn tell_each(
        &self,
        ctx: &Ctx,
        messages: &[Vec<u8>],
        lengths: &[(usize, usize)],
    ) -> Result<Vec<Vec<u8>>> {
        self.in_use()?;
        let each = lengths.iter().map(|(peer, _)| *peer).zip(messages);
        let outgoing: Vec<_> =
            each.map(|(peer, message)| (peer, &message[..])).filter(|(_, m)| !m.is_empty()).collect();
        let incoming: Vec<_> = lengths.iter().copied().filter(|(_, length)| *length > 0).collect();
        let mut told = ctx.exchange_bytes(&outgoing, &incoming).await?.into_iter();
        let received = |&(_, length): &(usize, usize)| match length {
            0 => Ok(vec![]),
            _ => told.next().ok_or(SHORT),
        };
        lengths.iter().map(received).collect()
    }

    /// Steps 2 to 4.
    async fn check_ole(&self, ctx: &Ctx, pending: &[Pending]) -> Result<()> {
        let peers = self.peers();
        let mut coins = Coins::toss(ctx, &self.session).await?;
        let (mut to_all, mut to_each) = (Vec::new(), vec![Vec::new(); peers.len()]);
        let mut sums = Vec::new();
        for Pending { shape: (ring, len), x, v, w, .. } in pending {
            let chi = coins.draw(self.alpha.digits().key_bits(), (*ring, len - 1));
            // Who owns nothing says so.
            let nothing = || if ctx.is_dry() { Vector::shape(*ring, 1) } else { Vector::zeros(*ring, 1) };
            pack(&x.as_ref().map_or_else(nothing, |x| combined(&chi, x)), &mut to_all);
            v.iter().zip(&mut to_each).for_each(|(v, message)| pack(&combined(&chi, v), message));
            sums.push(w.iter().map(|w| w.as_ref().map(|w| combined(&chi, w))).collect::<Vec<_>>());
        }
        let owned = |peer: usize| pending.iter().filter(move |made| made.owner.is_none_or(|owner| owner == peer));
        let length = |peer: usize| owned(peer).map(|made| made.shape.0.packed_bytes(1)).sum();
        let lengths: Vec<(usize, usize)> = peers.iter().map(|&peer| (peer, length(peer))).collect();
        let all = async |ctx: Ctx| ctx.broadcast(Some(&self.session), &to_all).await;
        let (said, told) = ctx.join(all, async |ctx: Ctx| self.tell_each(&ctx, &to_each, &lengths).await).await?;
        let mut holds = true;
        for (i, (&peer, told)) in peers.iter().zip(&told).enumerate() {
            let (mut in_said, mut in_told) = (0, 0);
            for (Pending { shape: (ring, _), .. }, sums) in pending.iter().zip(&sums) {
                let bytes = ring.packed_bytes(1);
                if let Some(sum) = &sums[i] {
                    // alpha^j x' - v' + w'
                    let mut rest = unpack(*ring, &said[peer][in_said..in_said + bytes])?;
                    rest.scale(self.alpha.value().into());
                    rest.sub_assign(&unpack(*ring, &told[in_told..in_told + bytes])?);
                    rest.add_assign(sum);
                    holds &= is_zero(&rest);
                    in_told += bytes;
                }
                in_said += bytes;
            }
        }
        match ctx.is_dry() || holds {
            true => Ok(()),
            false => Err(Error::Cheating { check: CHECK }),
        }
    }

    /// What this party has of each owner's vector.
    pub(crate) fn by_owner(&self, pending: &Pending) -> Vec<Shared> {
        let len = pending.shape.1 - 1;
        let kept = |vector: &Vector| vector.slice(0..len);
        let others = self.peers().into_iter().zip(&pending.w).filter_map(|(peer, w)| {
            let mut tag = kept(w.as_ref()?);
            tag.neg_assign();
            Some((peer, Shared { share: blank(&tag), tag }))
        });
        let own = pending.x.as_ref().map(|x| {
            let share = kept(x);
            let mut tag = share.clone();
            tag.scale(self.alpha.value().into());
            pending.v.iter().for_each(|v| tag.add_assign(&kept(v)));
            (self.me, Shared { share, tag })
        });
        let mut by_owner: Vec<(usize, Shared)> = others.chain(own).collect();
        by_owner.sort_by_key(|(owner, _)| *owner);
        by_owner.into_iter().map(|(_, shared)| shared).collect()
    }
}

/// The sum of chi times the elements, and the last one.
fn combined(chi: &Vector, x: &Vector) -> Vector {
    let len = chi.len();
    let mut sum = weighed(&Wiped(x.slice(0..len)), chi);
    sum.add_assign(&x.slice(len..len + 1));
    sum
}

/// The sum of chi times the elements.
pub(crate) fn weighed(x: &Vector, chi: &Vector) -> Vector {
    let mut products = Wiped(x.clone());
    products.mul_assign(chi);
    products.sum_axis(1, chi.len(), 1)
}

/// Appends a vector, or as many zeros in a dry run.
pub(crate) fn pack(x: &Vector, bytes: &mut Vec<u8>) {
    x.pack(bytes);
    if x.is_shape() {
        bytes.resize(bytes.len() + x.ring().packed_bytes(x.len()), 0);
    }
}

pub(crate) fn unpack(ring: Ring, bytes: &[u8]) -> Result<Vector> {
    Vector::unpack(ring, 1, bytes).map_err(|_| SHORT)
}

#[cfg(test)]
mod tests {
    use quorate_engine::Phase;
    use quorate_engine::testing::parties;

    use super::*;
    use crate::params::Params;

    const RING: Ring = Ring::of(68);

    /// What two parties end with that authenticate two zeros each, where one of them has something else as its part of
    /// the vector OLE; and the messages that it gets of one element each.
    fn checked(change: impl Fn(&mut Pending) + Sync) -> Vec<(Result<()>, Vec<Vec<u8>>)> {
        parties(2, |mut party| {
            party.insecure_record();
            let mut run = party.begin_alone().unwrap();
            let done = run.phase(Phase::Offline, async |ctx| {
                let keys = Keys::setup(ctx, Params::new(32, true)?, None).await?;
                let mut pending = keys.exchange_ole(ctx, &[Own::each(&Vector::zeros(RING, 2))]).await?;
                if ctx.me() == 1 {
                    change(&mut pending[0]);
                }
                keys.one_check(async || keys.check_ole(ctx, &pending).await).await
            });
            run.finish();
            let heard = party.insecure_transcript().into_iter().map(|received| received.bytes);
            (done, heard.filter(|bytes| bytes.len() == RING.packed_bytes(1)).collect())
        })
    }

    /// Zeros would be seen as zeros.
    #[test]
    fn what_the_check_says_of_values_is_masked() {
        for (done, said) in checked(|_| ()) {
            assert!(done.is_ok() && said.len() == 2 && said.iter().flatten().any(|&byte| byte != 0), "{done:?}");
            assert!(said.iter().all(|said| said.iter().any(|&byte| byte != 0)), "{said:?}");
        }
    }

    /// Tags that are off so that their sum is right.
    #[test]
    fn each_element_counts_by_a_coin_of_its_own() {
        for by in [[1, 0], [1, -1], [-(1 << 40), 1 << 40]] {
            let ends = checked(|pending| pending.v[0].add_assign(&Vector::from_i64s(RING, &[by[0], by[1], 0])));
            let found = |done: &Result<()>| matches!(done, Err(Error::Cheating { check: CHECK }));
            assert!(found(&ends[0].0), "{by:?}: {:?}", ends[0].0);
        }
    }
}
