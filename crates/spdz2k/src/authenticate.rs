//! Authentication: makes shares with tags from the parties' own vectors.
//!
//! **Source**: Cramer et al. 2018 (ePrint 2018/482), Fig. 6, over the vector OLE of [`quorate_ot::vole`], checked digit
//! by digit as in Roy, "SoftSpokenOT" (ePrint 2022/192). **Model**: malicious, all but one; a cheater may guess digits
//! of keys, and where a guess is wrong the session ends. **Deviation**: rows, masks and the hash are ours:
//! docs/security/spdz2k.md. **Notation**: x the vector of owner P_i, over Z_2^m; alpha^j x = v - w with v at P_i and w
//! at P_j; v_d, w_d their parts for digit d of alpha^j; v'_qd = sum chi_ql v_dl + (the v_d of mask_q).
//!
//! | step | rounds | what |
//! |---|---|---|
//! | 1 | 1 | the vector OLE of every ordered pair, on x; and for each owner and ring on [`ROWS`] uniform masks |
//! | 2 | 2 | toss chi_q in Z_2^s for each row q |
//! | 3 | 1; 2 if n > 2 | P_i sends all x'_q = sum chi_ql x_l + mask_q, and each P_j a hash of all sums v'_qd |
//! | 4 | | P_j: the hash of w'_qd + digit_d x'_q is the same, or the run ends; the masks are thrown away |
//!
//! A uniform x is the vector u_0 that the OLE with the owner's first peer yields (see [`quorate_ot::vole`]). So the
//! message to that peer lacks the correction of u_0 to x. The same holds for masks.
//!
//! [x] is x at its owner and 0 elsewhere; its tag alpha^i x + sum of v at the owner, -w at P_j.

use quorate_adversary::Twist;
use quorate_authenticated::keys::{HASH_BYTES, Keys};
use quorate_authenticated::messages::{pack, unpack};
use quorate_authenticated::shared::{Shared, blank, sum};
use quorate_crypto::ct_eq;
use quorate_engine::{Ctx, Error, Result};
use quorate_ot::vole::{Digits, Grown, Shares, Vole, weighed};
use quorate_ring::{Ring, Vector, Wiped};

use crate::coins::Coins;
use crate::params::Params;
use crate::transfers::NO_PEER;

/// The number of rows of sums that are checked: a lie that passes by luck has to pass in each of them.
pub(crate) const ROWS: usize = 4;

const SUMS: &str = "quorate/spdz2k/sums of an authentication";
const CHECK: &str = "the authentication of a party's values";
const MISSING: Error = Error::Bug { what: "a vector to authenticate without values" };
const SHORT: Error = Error::Bug { what: "a message of authentication of a wrong length" };

/// A vector to authenticate. All parties give the same one but for its values.
pub(crate) struct Own<'v> {
    /// The party that owns it; if `None`, every party owns a vector of this shape.
    owner: Option<usize>,
    shape: (Ring, usize),
    value: Value<'v>,
}

enum Value<'v> {
    /// Uniform values, which no party chooses.
    Random,
    /// This party's values, if it is an owner.
    Given(Option<&'v Vector>),
}

impl<'v> Own<'v> {
    /// Returns a vector that every party has for itself.
    pub fn each(value: &'v Vector) -> Own<'v> {
        Own { owner: None, shape: (value.ring(), value.len()), value: Value::Given(Some(value)) }
    }

    /// Returns a vector of one party, with its values where they are given.
    pub fn of(owner: usize, shape: (Ring, usize), value: Option<&'v Vector>) -> Own<'v> {
        Own { owner: Some(owner), shape, value: Value::Given(value) }
    }

    /// Returns a uniform vector of every party, or of one party.
    pub fn random(owner: Option<usize>, shape: (Ring, usize)) -> Own<'v> {
        Own { owner, shape, value: Value::Random }
    }

    fn is_of(&self, party: usize) -> bool {
        self.owner.is_none_or(|owner| owner == party)
    }

    /// Returns whether the vector is random and comes from the OLE with this peer, the owner's first one. If so, the
    /// message to the peer has no correction for the first digit.
    fn grows_from(&self, owner: usize, peer: usize) -> bool {
        matches!(self.value, Value::Random) && peer == usize::from(owner == 0)
    }
}

/// A vector in the making, or masks: what this party has of it for and from each peer, by digit of the keys.
pub(crate) struct Pending {
    owner: Option<usize>,
    shape: (Ring, usize),
    x: Option<Wiped<Vector>>,
    v: Vec<Shares>,
    w: Vec<Option<Shares>>,
}

impl Pending {
    fn is_dry(&self) -> bool {
        self.v.iter().chain(self.w.iter().flatten()).any(Shares::is_shape)
    }

    /// Returns whether sums of both vectors are added up below the same masks.
    fn shares_masks_with(&self, other: &Pending) -> bool {
        (self.owner, self.shape.0) == (other.owner, other.shape.0)
    }

    /// Joins the digits.
    fn whole(self) -> Correlated {
        let whole = |shares: Shares| shares.whole();
        Correlated {
            shape: self.shape,
            x: self.x,
            v: self.v.into_iter().map(whole).collect(),
            w: self.w.into_iter().map(|w| w.map(whole)).collect(),
        }
    }
}

/// Sums of all vectors of one owner and ring, below their masks: x' of this party, v' by peer, w' of each peer's.
struct Sums {
    x: Vector,
    v: Vec<Shares>,
    w: Vec<Option<Shares>>,
}

impl Sums {
    fn of<'p>(mask: &Pending, below: impl Iterator<Item = (&'p Pending, &'p Vec<Vec<u64>>)>) -> Sums {
        let (ring, rows) = mask.shape;
        // A party that owns no vector of this kind has zeros here.
        let nothing = || if mask.is_dry() { Vector::shape(ring, rows) } else { Vector::zeros(ring, rows) };
        let x = mask.x.as_deref().cloned().unwrap_or_else(nothing);
        let mut sums = Sums { x, v: mask.v.clone(), w: mask.w.clone() };
        for (made, chi) in below {
            if let Some(x) = &made.x {
                sums.x.add_assign(&weighed(x, chi));
            }
            let theirs = sums.w.iter_mut().zip(&made.w).filter_map(|(sum, w)| Some((sum.as_mut()?, w.as_ref()?)));
            sums.v.iter_mut().zip(&made.v).chain(theirs).for_each(|(sum, part)| sum.add_assign(&part.weighed(chi)));
        }
        sums
    }
}

/// What this party has of a vector after the check.
pub(crate) struct Correlated {
    pub shape: (Ring, usize),
    /// This party's own vector, and v of it by peer.
    pub x: Option<Wiped<Vector>>,
    pub v: Vec<Wiped<Vector>>,
    /// By peer: w of the peer's vector, if it has one.
    pub w: Vec<Option<Wiped<Vector>>>,
}

/// The vector OLEs of a party with its peers.
#[derive(Clone, Copy)]
pub(crate) struct Voles<'k> {
    pub keys: &'k Keys,
    pub params: Params,
    pub digits: Digits,
    /// By party; `None` for this one.
    pub voles: &'k [Option<Vole>],
}

impl<'k> Voles<'k> {
    fn with(&self, peer: usize) -> Result<&'k Vole> {
        self.keys.in_use()?;
        self.voles.get(peer).and_then(Option::as_ref).ok_or(NO_PEER)
    }

    /// Authenticates vectors, and returns this party's shares: by vector, then by owner.
    ///
    /// # Errors
    /// [`Error::Cheating`] where a peer authenticates different values for different digits; any error that ends a run.
    pub async fn authenticate(&self, ctx: &Ctx, own: &[Own<'_>]) -> Result<Vec<Vec<Shared>>> {
        let correlated = self.correlate(ctx, own).await?;
        Ok(correlated.into_iter().map(|correlated| self.by_owner(correlated)).collect())
    }

    /// Authenticates every party's vectors, and returns their sums over all parties.
    pub async fn authenticate_sums<const COUNT: usize>(
        &self,
        ctx: &Ctx,
        mut own: [Wiped<Vector>; COUNT],
    ) -> Result<[Shared; COUNT]> {
        for (i, value) in own.iter_mut().enumerate() {
            self.keys.twisted(Twist::Authenticated(i), value);
        }
        let authenticated = self.authenticate(ctx, &own.each_ref().map(|value| Own::each(value))).await?;
        Ok(std::array::from_fn(|i| sum(&authenticated[i])))
    }

    /// Runs steps 1 to 4, before shares and tags are made from the result.
    pub async fn correlate(&self, ctx: &Ctx, own: &[Own<'_>]) -> Result<Vec<Correlated>> {
        let (pending, masks) = self.exchange_ole(ctx, own).await?;
        self.keys.one_check(async || self.check_ole(ctx, &pending, &masks).await).await?;
        Ok(pending.into_iter().map(Pending::whole).collect())
    }

    /// Runs step 1 for vectors and masks.
    async fn exchange_ole(&self, ctx: &Ctx, own: &[Own<'_>]) -> Result<(Vec<Pending>, Vec<Pending>)> {
        let mut hidden: Vec<(Option<usize>, Ring)> = Vec::new();
        for vector in own {
            let sums = (vector.owner, vector.shape.0);
            if !hidden.contains(&sums) {
                hidden.push(sums);
            }
        }
        let masks: Vec<Own<'_>> = hidden.into_iter().map(|(owner, ring)| Own::random(owner, (ring, ROWS))).collect();
        let all: Vec<&Own<'_>> = own.iter().chain(&masks).collect();
        let mut pending = self.exchange_all(ctx, &all).await?;
        let masks = pending.split_off(own.len());
        Ok((pending, masks))
    }

    async fn exchange_all(&self, ctx: &Ctx, own: &[&Own<'_>]) -> Result<Vec<Pending>> {
        let (peers, dry) = (self.keys.peers(), ctx.is_dry());
        let mut pending = Vec::new();
        let mut parts = vec![Vec::new(); peers.len()];
        let mut instances = Vec::new();
        for vector in own {
            let (shape, instance) = (vector.shape, ctx.randomness().instance());
            let mut made = Pending { owner: vector.owner, shape, x: None, v: vec![], w: vec![] };
            if vector.is_of(self.keys.me) {
                made.x = match vector.value {
                    Value::Random => None,
                    Value::Given(Some(value)) => Some(Wiped(value.clone())),
                    Value::Given(None) => Some(Wiped(Vector::shape(shape.0, shape.1))).filter(|_| dry),
                };
                for (&peer, parts) in peers.iter().zip(&mut parts) {
                    let grown: Grown = self.with(peer)?.grow(dry, instance, shape)?;
                    let random = vector.grows_from(self.keys.me, peer);
                    if random {
                        made.x = Some(Wiped(grown.random().clone()));
                    }
                    parts.push(grown.message(made.x.as_deref().ok_or(MISSING)?, random));
                    made.v.push(grown.shares);
                }
            }
            pending.push(made);
            instances.push(instance);
        }
        let digits = self.digits;
        let bytes = |vector: &Own<'_>, peer| match vector.is_of(peer) {
            true => digits.message_bytes(vector.shape, vector.grows_from(peer, self.keys.me)),
            false => 0,
        };
        let length = |peer| own.iter().map(|vector| bytes(vector, peer)).sum::<usize>();
        let lengths: Vec<(usize, usize)> = peers.iter().map(|&peer| (peer, length(peer))).collect();
        let messages: Vec<Vec<u8>> = parts.into_iter().map(|parts| joined(parts, dry)).collect();
        let told = tell_each(self.keys, ctx, &messages, &lengths).await?;
        for (&peer, told) in peers.iter().zip(&told) {
            let mut rest = &told[..];
            for ((vector, made), &instance) in own.iter().zip(&mut pending).zip(&instances) {
                let (message, after) = rest.split_at_checked(bytes(vector, peer)).ok_or(SHORT)?;
                rest = after;
                let random = vector.grows_from(peer, self.keys.me);
                made.w.push(match vector.is_of(peer) {
                    true => Some(self.with(peer)?.hold(dry, instance, made.shape, (message, random))?),
                    false => None,
                });
            }
        }
        Ok(pending)
    }

    /// Runs steps 2 to 4.
    async fn check_ole(&self, ctx: &Ctx, pending: &[Pending], masks: &[Pending]) -> Result<()> {
        let peers = self.keys.peers();
        let mut coins = Coins::toss(ctx, &self.keys.session).await?;
        let key_bits = self.params.key_bits();
        let chi: Vec<_> = pending.iter().map(|made| coins.rows(key_bits, (ROWS, made.shape.1))).collect();
        let sums_below =
            |mask| Sums::of(mask, pending.iter().zip(&chi).filter(|(made, _)| made.shares_masks_with(mask)));
        let sums: Vec<Sums> = masks.iter().map(sums_below).collect();

        let is_owner = |party| masks.iter().any(|mask| mask.owner.is_none_or(|owner| owner == party));
        let (instance, mut to_all) = (ctx.randomness().instance(), Vec::new());
        sums.iter().for_each(|sums| pack(&sums.x, &mut to_all));
        let hash_for = |(i, &peer): (usize, &usize)| {
            let mut told = Vec::new();
            sums.iter().filter_map(|sums| sums.v.get(i)).for_each(|v| v.pack(&mut told));
            self.keys.hash_told(SUMS, instance, [self.keys.me, peer], &told).to_vec()
        };
        let to_each: Vec<Vec<u8>> = match is_owner(self.keys.me) {
            true => peers.iter().enumerate().map(hash_for).collect(),
            false => vec![vec![]; peers.len()],
        };
        let lengths: Vec<_> = peers.iter().map(|&peer| (peer, if is_owner(peer) { HASH_BYTES } else { 0 })).collect();
        let all = async |ctx: Ctx| ctx.broadcast(Some(&self.keys.session), &to_all).await;
        let (said, told) = ctx.join(all, async |ctx: Ctx| tell_each(self.keys, &ctx, &to_each, &lengths).await).await?;

        let mut holds = true;
        for (i, (&peer, told)) in peers.iter().zip(&told).enumerate().filter(|(_, (peer, _))| is_owner(**peer)) {
            let (mut rest, mut expected) = (&said[peer][..], Vec::new());
            for Sums { x, w, .. } in &sums {
                let (x_of_peer, after) = rest.split_at_checked(x.ring().packed_bytes(ROWS)).ok_or(SHORT)?;
                rest = after;
                if let Some(w) = &w[i] {
                    self.with(peer)?.of_owner(w, &unpack(x.ring(), ROWS, x_of_peer)?).pack(&mut expected);
                }
            }
            holds &= ct_eq(told, &self.keys.hash_told(SUMS, instance, [peer, self.keys.me], &expected));
        }
        match ctx.is_dry() || holds {
            true => Ok(()),
            false => Err(Error::Cheating { check: CHECK }),
        }
    }

    /// Returns this party's shares of each owner's vector.
    pub fn by_owner(&self, made: Correlated) -> Vec<Shared> {
        let Correlated { x, v, w, .. } = made;
        let others = self.keys.peers().into_iter().zip(w).filter_map(|(peer, w)| {
            let mut tag = w?.into_inner();
            tag.neg_assign();
            Some((peer, Shared { share: blank(&tag), tag }))
        });
        let own = x.map(|x| {
            let mut tag = (*x).clone();
            tag.scale(self.keys.key());
            v.iter().for_each(|v| tag.add_assign(v));
            (self.keys.me, Shared { share: x.into_inner(), tag })
        });
        let mut by_owner: Vec<(usize, Shared)> = others.chain(own).collect();
        by_owner.sort_by_key(|(owner, _)| *owner);
        by_owner.into_iter().map(|(_, shared)| shared).collect()
    }
}

/// Joins the parts of a message. In a dry run only their length counts, and no byte is written: there may be megabytes.
fn joined(mut parts: Vec<Vec<u8>>, dry: bool) -> Vec<u8> {
    match parts.len() {
        1 => parts.swap_remove(0),
        _ if dry => vec![0; parts.iter().map(Vec::len).sum()],
        _ => parts.concat(),
    }
}

/// Sends each peer a message, and receives one of the given length from each. Empty messages are not sent.
pub(crate) async fn tell_each(
    keys: &Keys,
    ctx: &Ctx,
    messages: &[Vec<u8>],
    lengths: &[(usize, usize)],
) -> Result<Vec<Vec<u8>>> {
    keys.in_use()?;
    let each = lengths.iter().map(|(peer, _)| *peer).zip(messages);
    let outgoing: Vec<_> = each.map(|(peer, message)| (peer, &message[..])).filter(|(_, m)| !m.is_empty()).collect();
    let incoming: Vec<_> = lengths.iter().copied().filter(|(_, length)| *length > 0).collect();
    let mut told = ctx.exchange_bytes(&outgoing, &incoming).await?.into_iter();
    let received = |&(_, length): &(usize, usize)| match length {
        0 => Ok(vec![]),
        _ => told.next().ok_or(SHORT),
    };
    lengths.iter().map(received).collect()
}

#[cfg(test)]
mod tests {
    use quorate_engine::Phase;
    use quorate_engine::testing::parties;

    use super::*;
    use crate::party::Spdz2k;

    const RING: Ring = Ring::of(72);

    /// Two parties authenticate two zeros each, and `change` alters one party's part of the vector OLE; it also gets
    /// that party's end of it. Returns how each ends, and the messages of one element for each row that it receives.
    fn checked(change: impl Fn(&mut Pending, &Vole) + Sync) -> Vec<(Result<()>, Vec<Vec<u8>>)> {
        parties(2, |mut party| {
            party.insecure_record();
            let mut run = party.begin_alone().unwrap();
            let done = run.phase(Phase::Offline, async |ctx| {
                let s = Spdz2k::set_up(ctx, Params::new(32, true)?, None).await?;
                let voles = s.keys().voles();
                let (mut pending, masks) = voles.exchange_ole(ctx, &[Own::each(&Vector::zeros(RING, 2))]).await?;
                if ctx.me() == 1 {
                    change(&mut pending[0], voles.with(0)?);
                }
                voles.keys.one_check(async || voles.check_ole(ctx, &pending, &masks).await).await
            });
            run.finish();
            let heard = party.insecure_transcript().into_iter().map(|received| received.bytes);
            (done, heard.filter(|bytes| bytes.len() == RING.packed_bytes(ROWS)).collect())
        })
    }

    /// Without masks, the sums of a vector of zeros would be zeros.
    #[test]
    fn what_the_check_says_of_values_is_masked() {
        for (done, said) in checked(|_, _| ()) {
            assert!(done.is_ok() && said.len() == 1 && said.iter().flatten().any(|&byte| byte != 0), "{done:?}");
            assert!(said.iter().all(|said| said.iter().any(|&byte| byte != 0)), "{said:?}");
        }
    }

    /// Tags that are off so that the sum of the errors is zero: by multiples of the digits of the cheater's key.
    #[test]
    fn each_element_counts_by_a_coin_of_its_own() {
        for by in [[1, 0], [1, -1], [-(1 << 40), 1 << 40]] {
            let by = Vector::from_i64s(RING, &by);
            let ends = checked(|pending, vole| pending.v[0] = vole.of_owner(&pending.v[0], &by));
            let found = |done: &Result<()>| matches!(done, Err(Error::Cheating { check: CHECK }));
            assert!(found(&ends[0].0), "{:?}: {:?}", by.to_i128s(), ends[0].0);
        }
    }
}
