//! TruncPriv: truncation by a secret number of bits.
//!
//! **Source**: section 5 of rss-ring, after Dalskov et al.: with a public bound M on the secret m, x / 2^m = (x
//! 2^(M-m)) / 2^M. Domain: |x| 2^(M-m) < 2^(k-2), M <= k - 2. Cost: a product and a probabilistic truncation.
//! **Model**: that of the sharing.

use quorate_engine::{Ctx, Linear, LinearBits, Result};
use quorate_ring::{Ring, Vector};

use crate::{Gadgets, convert, trunc_prob};

/// Returns x / 2^m, rounded down or up, for `factor` = 2^(bound - m).
///
/// # Errors
/// Those of [`trunc_prob::check_shift`] for the bound, and whatever ends a run.
pub async fn trunc_private<S: Gadgets>(s: &S, ctx: &Ctx, x: &S::A, factor: &S::A, bound: u32) -> Result<S::A> {
    trunc_prob::check_shift(s.shape(x).0, bound)?;
    let product = s.mul(ctx, x, factor).await?;
    s.trunc_prob(ctx, &product, bound).await
}

/// Returns 2^(bound - m) for the bits of bound - m, lowest first: the product of 1 + b_i (2^(2^i) - 1), in log depth.
///
/// # Errors
/// Whatever ends a run.
pub async fn power_of_two<S: Gadgets>(s: &S, ctx: &Ctx, exponent: &S::B, ring: Ring) -> Result<S::A> {
    let (rows, lanes) = s.bit_shape(exponent);
    let factor = async |ctx: Ctx, i: usize| {
        let row = s.linear_bits(exponent, &LinearBits::Rows(i..i + 1));
        let bit = s.bit_to_ring(&ctx, &row, ring).await?;
        let weight = 1u128.checked_shl(1 << i.min(7)).unwrap_or(0).wrapping_sub(1) & ring.mask();
        let scaled = s.linear(&bit, &Linear::Scale(weight as i128));
        let mut one = if ctx.is_dry() { Vector::shape(ring, lanes) } else { Vector::zeros(ring, lanes) };
        one.add_scalar(1);
        Ok(s.add_public(&scaled, &one))
    };
    let mut factors = ctx.join_all(rows, factor).await?;
    while factors.len() > 1 {
        let pairs = factors.len() / 2;
        let multiply = async |ctx: Ctx, i: usize| s.mul(&ctx, &factors[2 * i], &factors[2 * i + 1]).await;
        let mut products = ctx.join_all(pairs, multiply).await?;
        products.extend(factors.split_off(2 * pairs));
        factors = products;
    }
    factors.pop().ok_or(convert::NO_BITS)
}
