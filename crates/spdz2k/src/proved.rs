//! Random bits that one party knows, as shares with tags, with a proof that they are bits.
//!
//! **Source**: ours (docs/security/spdz2k.md), after the proofs of products by vector OLE of Yang, Sarkar, Weng, Wang
//! 2021 (QuickSilver, ePrint 2021/076), over Z_2^V. **Model**: malicious, all but one. **Notation**: b the bits of
//! owner P_i, over Z_2^V, V = k + 2 s; alpha^j b = v - w with v at P_i and w at P_j, and so for u*, a uniform element
//! for each pair, with v* and w*.
//!
//! | step | rounds | what |
//! |---|---|---|
//! | 1 | 4 | authenticate b, and u* for each peer |
//! | 2 | 2 | toss chi in Z_2^s |
//! | 3 | 1 | P_i tells each P_j A0 = sum chi v^2 + v* and A1 = sum chi v (1 - 2 b) - u* |
//! | 4 | | P_j: sum chi w (w + alpha^j) + w* = A0 + alpha^j A1, or the run ends |
//!
//! w (w + alpha) = v^2 + alpha v (1 - 2 b) + alpha^2 b (b - 1), of which the last term is 0 for bits alone.

use quorate_engine::{Ctx, Error, Result};
use quorate_ring::{Bits, Ring, Vector, Wiped};

use crate::authenticate::{Own, Pending, pack, unpack, weighed};
use crate::coins::Coins;
use crate::keys::Keys;
use crate::shared::Shared;
use crate::words::is_zero;

const BITS: &str = "the proof that a party's bits are bits";

impl Keys {
    /// So many of each party's, over Z_2^k: by owner.
    ///
    /// # Errors
    /// [`Error::Cheating`] where a peer has something else than bits; whatever ends a run.
    pub(crate) async fn own_bits(&self, ctx: &Ctx, ring: Ring, len: usize) -> Result<Vec<Shared>> {
        let words = self.params.words(ring);
        let mut coins = ctx.randomness().stream(&self.private);
        #[cfg_attr(not(feature = "testing"), allow(unused_mut))]
        let mut bits = Wiped(Wiped(coins.draw::<Bits>((1, len))).to_vector(words));
        #[cfg(feature = "testing")]
        if let Some(number) = self.no_bit.get().filter(|_| !ctx.is_dry() && len > 0) {
            let rest = Wiped(bits.slice(1..len));
            bits = Wiped(Vector::concat(&[&Vector::from_u64s(words, &[number]), &rest]));
        }
        let uniform = Wiped(coins.draw::<Vector>((words, self.parties - 1)));
        let own = Wiped(Vector::concat(&[&*bits, &*uniform]));
        let pending = self.correlate(ctx, &[Own::each(&own)]).await?;
        self.one_check(async || self.check_bits(ctx, &pending[0], (words, len)).await).await?;
        let shares = self.params.shares(ring);
        let kept = |shared: &Shared| shared.map(|x| x.slice(0..len)).reduced(shares);
        Ok(self.by_owner(&pending[0]).iter().map(kept).collect())
    }

    /// Steps 2 to 4.
    async fn check_bits(&self, ctx: &Ctx, pending: &Pending, (ring, len): (Ring, usize)) -> Result<()> {
        let peers = self.peers();
        let chi = Coins::toss(ctx, &self.session).await?.draw(self.params.key_bits(), (ring, len));
        let messages: Vec<Vec<u8>> = (0..peers.len()).map(|i| proof(pending, &chi, i)).collect();
        let lengths: Vec<(usize, usize)> = peers.iter().map(|&peer| (peer, 2 * ring.packed_bytes(1))).collect();
        let told = self.tell_each(ctx, &messages, &lengths).await?;
        let mut holds = true;
        for ((&peer, w), told) in peers.iter().zip(&pending.w).zip(&told) {
            let Some(w) = w else { continue };
            let (constant, linear) = told.split_at(ring.packed_bytes(1));
            // The owner counts its peers without itself.
            let place = len + self.me - usize::from(self.me > peer);
            let w_of_bits = Wiped(w.slice(0..len));
            // w (w + alpha)
            let mut sum = Wiped((*w_of_bits).clone());
            sum.scale(self.key());
            sum.add_mul_assign(&w_of_bits, &w_of_bits);
            let mut rest = Wiped(weighed(&sum, &chi));
            rest.add_assign(&w.slice(place..place + 1));
            rest.sub_assign(&unpack(ring, constant)?);
            let mut linear = unpack(ring, linear)?;
            linear.scale(self.key());
            rest.sub_assign(&linear);
            holds &= is_zero(&rest);
        }
        match ctx.is_dry() || holds {
            true => Ok(()),
            false => Err(Error::Cheating { check: BITS }),
        }
    }
}

/// Step 3, towards the peer of this number.
fn proof(pending: &Pending, chi: &Vector, peer: usize) -> Vec<u8> {
    let (Some(x), v) = (&pending.x, &pending.v[peer]) else { return vec![] };
    let (len, place) = (chi.len(), chi.len() + peer);
    let bits = Wiped(x.slice(0..len));
    let v_of_bits = Wiped(v.slice(0..len));
    // v (1 - 2 b)
    let mut linear = Wiped((*v_of_bits).clone());
    linear.mul_assign(&bits);
    linear.shl(1);
    linear.rsub_assign(&v_of_bits);
    let mut squares = Wiped((*v_of_bits).clone());
    squares.mul_assign(&v_of_bits);
    let mut constant = Wiped(weighed(&squares, chi));
    constant.add_assign(&v.slice(place..place + 1));
    let mut linear = Wiped(weighed(&linear, chi));
    linear.sub_assign(&x.slice(place..place + 1));
    let mut message = Vec::new();
    pack(&constant, &mut message);
    pack(&linear, &mut message);
    message
}
