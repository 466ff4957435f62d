//! Proofs that values of one party are products of others of its values; triples that one party knows.
//!
//! **Source**: ours (docs/security/spdz2k.md), after the proofs of products by vector OLE of Yang, Sarkar, Weng, Wang
//! 2021 (QuickSilver, ePrint 2021/076), over Z_2^V. **Model**: malicious, all but one. **Notation**: x, y, z of owner
//! P_i, over Z_2^V, V = k + 2 s, z = x y; alpha^j x = v_x - w_x with v_x at P_i and w_x at P_j, and so for y, z and for
//! u*, a uniform element for each pair, with v* and w*.
//!
//! | step | rounds | what |
//! |---|---|---|
//! | 1 | 4 | authenticate x, y, z, and u* for each peer |
//! | 2 | 2 | toss chi in Z_2^s |
//! | 3 | 1 | P_i tells each P_j A0 = sum chi v_x v_y + v* and A1 = sum chi (v_z - x v_y - y v_x) - u* |
//! | 4 | | P_j: sum chi (w_x w_y + alpha^j w_z) + w* = A0 + alpha^j A1, or the run ends |
//!
//! w_x w_y + alpha w_z = v_x v_y + alpha (v_z - x v_y - y v_x) + alpha^2 (x y - z), of which the last term is 0 only
//! for products. The same holds for sums of products. Bits are the elements that are their own product with themselves
//! ([`crate::proved`]).
//!
//! Bytes to each peer for a triple that one party knows, k = s = 64: 0.8 kB, by that party.

use std::ops::Range;

use quorate_adversary::Twist;
use quorate_authenticated::Dims;
use quorate_authenticated::keys::Keys;
use quorate_authenticated::messages::{is_zero, pack, unpack};
use quorate_authenticated::shared::Shared;
use quorate_engine::{Ctx, Error, Form, Result};
use quorate_ring::{Ring, Vector, Wiped};

use crate::authenticate::{Correlated, Own, Voles, tell_each};
use crate::coins::Coins;
use crate::draws::own_if;
use crate::triple::Triples;

/// The number of triples that are made together.
pub(crate) const BATCH: usize = 1 << 14;

/// The claim about a vector: the places of x, y and z in it, and that z is their product, or sums of products. The
/// masks u* follow all of them.
pub(crate) struct ProductClaim {
    pub form: Form,
    pub x: Range<usize>,
    pub y: Range<usize>,
    pub z: Range<usize>,
    /// The name of the check, with which the run ends if the claim does not hold.
    pub check: &'static str,
}

/// Makes triples over Z_2^k of which one party knows all: both factors and the product are its share.
///
/// # Errors
/// [`Error::Cheating`] where the owner's values are not products; any error that ends a run.
pub(crate) async fn own_triples(voles: Voles<'_>, ctx: &Ctx, owner: usize, ring: Ring, len: usize) -> Result<Triples> {
    voles.params.check_values(ring)?;
    if len == 0 {
        return Ok(Triples::none(voles.params.shares(ring)));
    }
    let batch =
        async |range: Range<usize>| products_of(voles, ctx, owner, ring, (Form::Product, [range.len(); 3])).await;
    Ok(Triples::joined(&ctx.in_turn(len, BATCH, batch).await?.all()))
}

/// Makes matrix triples over Z_2^k of which one party knows all, one after the other.
///
/// # Errors
/// [`Error::Cheating`] where the owner's values are not products; any error that ends a run.
pub(crate) async fn own_matrix_triples(
    voles: Voles<'_>,
    ctx: &Ctx,
    owner: usize,
    ring: Ring,
    ((m, k, n), len): (Dims, usize),
) -> Result<Triples> {
    voles.params.check_values(ring)?;
    let form = (Form::MatMul { m, k, n }, [m * k, k * n, m * n]);
    let made = ctx.in_turn(len, 1, async |_| products_of(voles, ctx, owner, ring, form).await).await?;
    let none = Triples::none(voles.params.shares(ring));
    Ok(Triples::joined(&[&[&none], &made.all()[..]].concat()))
}

/// Makes factors of one party, and their products or sums of products; the numbers of elements are those given.
async fn products_of(
    voles: Voles<'_>,
    ctx: &Ctx,
    owner: usize,
    ring: Ring,
    (form, [of_x, of_y, of_z]): (Form, [usize; 3]),
) -> Result<Triples> {
    let (words, masks) = (voles.params.words(ring), voles.keys.parties - 1);
    let claim =
        ProductClaim { form, x: 0..of_x, y: of_x..of_x + of_y, z: of_x + of_y..of_x + of_y + of_z, check: PRODUCTS };
    let drawn = own_if(ctx, voles.keys, owner == voles.keys.me, (words, of_x + of_y + masks));
    let own = drawn.map(|drawn| {
        let [a, b] = [&claim.x, &claim.y].map(|range| Wiped(drawn.slice(range.clone())));
        let c = voles.keys.twisted(Twist::Product, products(form, &a, &b));
        Wiped(Vector::concat(&[&a, &b, &c, &Wiped(drawn.slice(claim.z.start..claim.z.start + masks))]))
    });
    let shape = (words, claim.z.end + masks);
    let made = voles.correlate(ctx, &[Own::of(owner, shape, own.as_deref())]).await?.pop().ok_or(MISSING)?;
    voles.keys.one_check(async || check(voles.keys, ctx, &made, &claim).await).await?;
    let shares = voles.params.shares(ring);
    let all = voles.by_owner(made).pop().ok_or(MISSING)?;
    let part = |range: Range<usize>| -> Shared { all.map(|x| x.slice(range.clone())).reduced(shares) };
    Ok(Triples { a: part(claim.x), b: part(claim.y), c: part(claim.z) })
}

/// Runs steps 2 to 4.
pub(crate) async fn check(keys: &Keys, ctx: &Ctx, made: &Correlated, claim: &ProductClaim) -> Result<()> {
    let (peers, ring) = (keys.peers(), made.shape.0);
    let mut coins = Coins::toss(ctx, &keys.session).await?;
    let chi = coins.rows(keys.params.key_bits(), (1, claim.z.len())).remove(0);
    let first_mask = made.shape.1 - peers.len();
    let messages: Vec<Vec<u8>> = (0..peers.len()).map(|i| proof(made, claim, &chi, (i, first_mask + i))).collect();
    let length = |w: &Option<Wiped<Vector>>| if w.is_some() { 2 * ring.packed_bytes(1) } else { 0 };
    let lengths: Vec<(usize, usize)> = peers.iter().zip(&made.w).map(|(&peer, w)| (peer, length(w))).collect();
    let told = tell_each(keys, ctx, &messages, &lengths).await?;
    let mut holds = true;
    for ((&peer, w), told) in peers.iter().zip(&made.w).zip(&told) {
        let Some(w) = w else { continue };
        let (constant, linear) = told.split_at(ring.packed_bytes(1));
        // The owner counts its peers without itself.
        let mask = first_mask + keys.me - usize::from(keys.me > peer);
        let part = |range: &Range<usize>| Wiped(w.slice(range.clone()));
        // w_x w_y + alpha w_z
        let mut sum = part(&claim.z);
        sum.scale(keys.key());
        claim.form.accumulate(&mut sum, &part(&claim.x), &part(&claim.y));
        let mut rest = Wiped(sum.weighed(&chi));
        rest.add_assign(&w.slice(mask..mask + 1));
        rest.sub_assign(&unpack(ring, 1, constant)?);
        let mut linear = Wiped(unpack(ring, 1, linear)?);
        linear.scale(keys.key());
        rest.sub_assign(&linear);
        holds &= is_zero(&rest);
    }
    match ctx.is_dry() || holds {
        true => Ok(()),
        false => Err(Error::Cheating { check: claim.check }),
    }
}

const PRODUCTS: &str = "the proof that a party's products are products";
const MISSING: Error = Error::Bug { what: "a vector of one party without an owner" };

/// Returns the products of x and y, or sums of them.
fn products(form: Form, x: &Vector, y: &Vector) -> Wiped<Vector> {
    let (ring, len) = (x.ring(), form.len_out(x.len()));
    let mut products = Wiped(if x.is_shape() { Vector::shape(ring, len) } else { Vector::zeros(ring, len) });
    form.accumulate(&mut products, x, y);
    products
}

/// Step 3: returns the proof towards the peer of this number, masked by the element at `mask`; empty at a party that is
/// not an owner.
fn proof(made: &Correlated, claim: &ProductClaim, chi: &[u64], (peer, mask): (usize, usize)) -> Vec<u8> {
    let (Some(own), Some(v)) = (&made.x, made.v.get(peer)) else { return vec![] };
    let part = |of: &Vector, range: &Range<usize>| Wiped(of.slice(range.clone()));
    let [x, y] = [&claim.x, &claim.y].map(|range| part(own, range));
    let [v_x, v_y, mut linear] = [&claim.x, &claim.y, &claim.z].map(|range| part(v, range));
    // v_z - x v_y - y v_x
    let mut both = products(claim.form, &x, &v_y);
    claim.form.accumulate(&mut both, &v_x, &y);
    linear.sub_assign(&both);
    let constants = products(claim.form, &v_x, &v_y);
    let mut constant = Wiped(constants.weighed(chi));
    constant.add_assign(&v.slice(mask..mask + 1));
    let mut linear = Wiped(linear.weighed(chi));
    linear.sub_assign(&own.slice(mask..mask + 1));
    let mut message = Vec::new();
    pack(&constant, &mut message);
    pack(&linear, &mut message);
    message
}

#[cfg(test)]
mod tests {
    use quorate_engine::Phase;
    use quorate_engine::testing::parties;

    use super::*;
    use crate::params::Params;
    use crate::party::Spdz2k;

    /// Coins of two bits are 0 in one of four proofs, of which nothing is left but the mask.
    #[test]
    fn proofs_of_products_are_masked() {
        const TIMES: usize = 96;
        let (params, bit) = (Params::insecure(2, 1), Ring::of(1));
        let words = params.words(bit);
        let heard = parties(2, |mut party| {
            let mut run = party.begin_alone().unwrap();
            let s = run.phase(Phase::Offline, async |ctx| Spdz2k::set_up(ctx, params, None).await).unwrap();
            let keys = s.keys();
            run.finish();
            party.insecure_record();
            let mut run = party.begin_alone().unwrap();
            let work = async |ctx: &Ctx| {
                for _ in 0..TIMES {
                    keys.own_triples(ctx, 0, bit, 1).await?;
                }
                Ok(())
            };
            run.phase(Phase::Offline, work).unwrap();
            run.finish();
            party.insecure_transcript()
        });
        let length = words.packed_bytes(1);
        let said: Vec<_> = heard[1].iter().filter(|message| message.bytes.len() == 2 * length).collect();
        // Whatever else is as long comes before the proof.
        assert!(!said.is_empty() && said.len().is_multiple_of(TIMES), "{} messages", said.len());
        let proofs = said.chunks_exact(said.len() / TIMES).filter_map(|all| all.last());
        let zeros = proofs.filter(|proof| is_zero(&unpack(words, 1, &proof.bytes[length..]).unwrap())).count();
        // Three of uniform ones, and more than 24 of products alone.
        assert!(zeros < 14, "{zeros} of {TIMES} proofs say nothing");
    }
}
