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
//! w (w + alpha) = v^2 + alpha v (1 - 2 b) + alpha^2 b (b - 1), of which the last term is 0 only for bits. It is the
//! proof that b is its own product with itself ([`crate::provenproduct`]).

use quorate_adversary::Twist;
use quorate_authenticated::shared::Shared;
use quorate_engine::{Ctx, Form, Result};
use quorate_ring::{Bits, Ring, Vector, Wiped};

use crate::authenticate::{Own, Voles};
use crate::provenproduct::{self, ProductClaim};

const BITS: &str = "the proof that a party's bits are bits";

/// Makes `len` proven bits of each party over Z_2^k: by owner.
///
/// # Errors
/// [`Error::Cheating`] where a peer has something other than bits; any error that ends a run.
pub(crate) async fn own_bits(voles: Voles<'_>, ctx: &Ctx, ring: Ring, len: usize) -> Result<Vec<Shared>> {
    let words = voles.params.words(ring);
    let mut coins = ctx.randomness().stream(&voles.keys.private);
    let bits = voles.keys.twisted(Twist::ProvenBit, Wiped(Wiped(coins.draw::<Bits>((1, len))).to_vector(words)));
    let uniform = Wiped(coins.draw::<Vector>((words, voles.keys.parties - 1)));
    let own = Wiped(Vector::concat(&[&*bits, &*uniform]));
    let made = voles.correlate(ctx, &[Own::each(&own)]).await?.swap_remove(0);
    let claim = ProductClaim { form: Form::Product, x: 0..len, y: 0..len, z: 0..len, check: BITS };
    voles.keys.one_check(async || provenproduct::check(voles.keys, ctx, &made, &claim).await).await?;
    let shares = voles.params.shares(ring);
    let kept = |shared: &Shared| shared.map(|x| x.slice(0..len)).reduced(shares);
    Ok(voles.by_owner(made).iter().map(kept).collect())
}
