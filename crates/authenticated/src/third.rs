//! Two parties for whom a third one deals: what differs online.
//!
//! **Source**: ours (docs/security/pika-malicious.md). **Model**: malicious, one of three. **Notation**: P0 and P1
//! compute and open as two parties do elsewhere. P2 deals, runs the same program on shapes, and may own inputs and
//! receive results. It sees nothing of what is opened to compute on.
//!
//! | what P2 takes part in | rounds | what |
//! |---|---|---|
//! | its input x | 2 | it has dealt a mask r; it sends both x - r, and they compare hashes before they use it |
//! | a result for all | 1 more | P0 and P1 send it what they opened; it compares |
//! | a result for it alone | 1 more | P0 and P1 send it x - r, with a mask r that it has dealt; it compares |
//! | a check | 1 more | P0 and P1 each inform it that theirs held: what it received before counts only then |
//!
//! If P2 is honest, so is one of P0 and P1. What the honest one sent P2 before its check held is right; what the other
//! one sent is the same, or P2 ends the run.

use quorate_adversary::Adversary;
use quorate_crypto::{Seed, SessionId, ct_eq};
use quorate_engine::{Checked, Ctx, Error, Form, Misuse, Openings, Result, Stocks};
use quorate_ring::Module;
use zeroize::Zeroizing;

use crate::keys::{HASH_BYTES, Keys};
use crate::kind::Kind;
use crate::params::Params;
use crate::party::Authenticated;
use crate::secrets::Secrets;
use crate::source::Source;
use crate::tagged::Tagged;

/// The number of parties that compute.
pub(crate) const COMPUTING: usize = 2;
const DOMAIN: &str = "quorate 2026 spdz2k dealer's input v1";
const TOLD_BOTH: &str = "what the dealer told both parties";
const TOLD_BY_BOTH: &str = "what both parties told the dealer";
/// The message of P0 and P1 to P2 after their check has passed.
const HOLDS: u8 = 1;

/// A party's place, and the parameters and the seed that it computes with.
pub struct Seat {
    /// 0 or 1; 2 for the party that deals.
    pub me: usize,
    /// The parameters of the session.
    pub params: Params,
    /// The name of the session.
    pub session: SessionId,
    /// The seed of its own randomness.
    pub private: Seed,
}

impl Seat {
    /// Returns the keys that grow from a seed, alpha^j and Delta^j, as the party that deals has them.
    pub fn keys_of(params: Params, session: &SessionId, seed: &Seed) -> (Zeroizing<u64>, Zeroizing<u128>) {
        let keys = Keys::alone((COMPUTING, 0), params, seed, *session);
        let mut bytes = Zeroizing::new([0; 16]);
        seed.prg("quorate/spdz2k/dealt delta", session.as_bytes()).fill(&mut *bytes);
        (keys.alpha, Zeroizing::new(u128::from_le_bytes(*bytes)))
    }
}

impl Authenticated {
    /// Returns one of two parties for whom a third one deals, or that third one, with these keys.
    ///
    /// # Errors
    /// [`Misuse`] for a party that does not exist, and for bits without MACs.
    pub fn dealt(seat: &Seat, secrets: Secrets, third: Box<dyn Source>) -> Result<Authenticated> {
        if seat.me > COMPUTING {
            return Err(Misuse::NoSuchParty { party: seat.me, parties: COMPUTING + 1 }.into());
        }
        if !seat.params.bits_have_macs() {
            return Err(Misuse::Other { what: "bits have MACs where they are dealt" }.into());
        }
        let (place, own) = ((COMPUTING, seat.me), (&seat.private, seat.session));
        let mut keys = Keys::under(place, seat.params.dealt(), own, secrets, vec![], Adversary::none());
        keys.dealt = true;
        Ok(Authenticated::new(keys, third))
    }

    /// Sends what an owner sends to those who need it: to the other computing party, or to both where the owner deals.
    /// Returns a shape at a party that does not receive it.
    pub(crate) async fn told_by_one_of_three<M: Module>(
        &self,
        ctx: &Ctx,
        owner: usize,
        shape: M::Shape,
        own: impl FnOnce() -> M,
    ) -> Result<M> {
        // At all three parties, so that their counters stay in step.
        let instance = ctx.randomness().instance();
        if self.keys.me == owner {
            let own = own();
            for peer in self.keys.peers() {
                ctx.send(peer, &own).await?;
            }
            return Ok(if self.keys.watches() { M::phantom(shape) } else { own });
        }
        if self.keys.watches() {
            return Ok(M::phantom(shape));
        }
        let told: M = ctx.receive(owner, shape).await?;
        if owner == COMPUTING {
            self.compare_told(ctx, instance, &told).await?;
        }
        Ok(told)
    }

    /// Compares what both parties received; the run ends before it is used unless it is the same.
    async fn compare_told<M: Module>(&self, ctx: &Ctx, instance: u128, told: &M) -> Result<()> {
        let mut hash = [0; HASH_BYTES];
        if !ctx.is_dry() {
            let mut bytes = instance.to_le_bytes().to_vec();
            told.pack(&mut bytes);
            hash = *self.keys.hasher(DOMAIN).update(&bytes).finalize().as_bytes();
        }
        let peer = 1 - self.keys.me;
        let other = ctx.exchange_bytes(&[(peer, &hash)], &[(peer, HASH_BYTES)]).await?;
        match ctx.is_dry() || ct_eq(&other[0], &hash) {
            true => Ok(()),
            false => Err(Error::Cheating { check: TOLD_BOTH }),
        }
    }

    /// Returns what P0 and P1 have opened, at P2, too, which receives it from both. Does nothing where no third party
    /// deals.
    pub(crate) async fn told_to_third<M: Module>(&self, ctx: &Ctx, opened: M) -> Result<M> {
        if !self.keys.dealt {
            return Ok(opened);
        }
        let shape = opened.shape_of();
        if !self.keys.watches() {
            ctx.send(COMPUTING, &opened).await?;
            return Ok(opened);
        }
        let mut told = ctx.exchange::<M>(&[], &[(0, shape), (1, shape)]).await?;
        let mut bytes = [vec![], vec![]];
        told.iter().zip(&mut bytes).for_each(|(told, bytes)| told.pack(bytes));
        match (ctx.is_dry() || ct_eq(&bytes[0], &bytes[1]), told.pop()) {
            (true, Some(told)) => Ok(told),
            _ => Err(Error::Cheating { check: TOLD_BY_BOTH }),
        }
    }

    /// Runs a check of P0 and P1, after which they inform P2 that it held.
    pub(crate) async fn checked_for_third(
        &self,
        ctx: &Ctx,
        before: Openings,
        check: impl AsyncFnOnce(Ctx) -> Result<Checked>,
    ) -> Result<Checked> {
        let checked = ctx.among(&[0, 1], check).await?;
        let Some(checked) = checked else {
            let told = ctx.exchange_bytes(&[], &[(0, 1), (1, 1)]).await?;
            let holds = ctx.is_dry() || told.iter().all(|told| told[..] == [HOLDS]);
            return Checked::if_it_holds(TOLD_BY_BOTH, before, holds);
        };
        ctx.send_bytes(COMPUTING, 1, |byte| byte.fill(HOLDS)).await?;
        Ok(checked)
    }

    /// Computes products, or sums of them, with triples that are dealt for the whole form. Products of what one of P0
    /// and P1 knows take triples that it knows. So it alone opens their factors, on which proofs of an owner rest
    /// (`mul`).
    pub(crate) async fn multiply_dealt(&self, ctx: &Ctx, form: Form, [x, y]: [&Tagged; 2]) -> Result<Tagged> {
        let ((ring, len), bits) = (x.shape(), x.ring.bits());
        let (kind, count) = match form {
            _ if form.len_out(len) == 0 || len == 0 => return Ok(self.blank(ctx.is_dry(), (ring, form.len_out(len)))),
            Form::Product => match self.computing_owner(x).filter(|_| x.known == y.known) {
                Some(owner) => (Kind::Owned { owner, bits }, len),
                None => (Kind::Triple { bits }, len),
            },
            Form::Dot { axis: 1, .. } => (Kind::Triple { bits }, len),
            Form::Dot { outer, axis, inner } => (Kind::DotTriple { bits, axis, inner }, outer),
            Form::MatMul { m, k, n } => (Kind::MatrixTriple { bits, m, k, n }, 1),
            Form::Conv(conv) => (Kind::ConvTriple { bits, conv }, 1),
        };
        let owner = if let Kind::Owned { owner, .. } = kind { Some(owner) } else { None };
        let triple = self.draw(ctx, kind, count).await?.into_vectors()?;
        self.multiply_with(ctx, form, [x, y], triple.map(|part: Tagged| part.known_to(owner))).await
    }

    /// Returns the party that knows x and has all of it in its share. It is `None` for inputs of P2, of which P0 and P1
    /// have shares.
    pub(crate) fn computing_owner(&self, x: &Tagged) -> Option<usize> {
        x.known.filter(|&owner| owner < self.keys.parties)
    }
}

impl Keys {
    /// Returns whether this party deals, and computes on shapes.
    pub(crate) fn watches(&self) -> bool {
        self.dealt && self.me == COMPUTING
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_dealer_has_the_keys_that_parties_have() {
        let (params, session) = (Params::default(), SessionId::from_bytes([3; 32]));
        let seeds = [1, 2].map(|i| Seed::from_bytes([i; 32]));
        let keys = seeds.each_ref().map(|seed| Seat::keys_of(params, &session, seed));
        assert!(*keys[0].0 != *keys[1].0 && *keys[0].1 != *keys[1].1);
        let own = Keys::alone((COMPUTING, 1), params, &seeds[1], session);
        assert_eq!(own.key(), u128::from(*keys[1].0));
    }
}
