//! Bits as elements: random bits, products of a bit of each party, and a bit times an element.
//!
//! **Source**: random bits known over two rings as in daBits (Rotaru, Wood 2019), from one correlated oblivious
//! transfer; the MUX of aby (section III-B2; Mohassel, Sadeghian 2013) moved offline. **Model**: semi-honest, 1 of 2.
//!
//! **Notation**: (u, v, w): a bit u of party 0, v of party 1, and shares of w = u v. For the parties' bits s and t, f =
//! s xor u and g = t xor v are exchanged, and s t = g s + f (1 - 2g) v + (1 - 2f)(1 - 2g) w. From u and v themselves,
//! u xor v = u + v - 2 w is a random bit. A selection is a random bit b, a random a, and a b: with f = bit xor b and
//! g = x - a opened, bit x = f x + (1 - 2f)(a b + g b).
//!
//! | operation | rounds | bits sent by each party |
//! |---|---|---|
//! | random bit mod 2^k | 0 | 0 |
//! | product of two bits | 1 | 1 |
//! | bit times element | 1 | 1 + k |
//! | the number of k bits | 1 | k - 1 |

use std::ops::Range;

use quorate_additive::local;
use quorate_additive::open::NOT_OPENED;
use quorate_additive::stock::MISSING;
use quorate_engine::{Ctx, Misuse, Result, Sharing, Stocks};
use quorate_gadgets::convert::signs;
use quorate_gadgets::stream;
use quorate_ring::{Bits, Ring, Vector};

use crate::Share;
use crate::kind::Kind;
use crate::setup::Aby;
use crate::summands::lifted;

type A = Share<Vector>;
type B = Share<Bits>;

impl Aby {
    /// Draws uniform bits as elements of the ring.
    pub(crate) async fn draw_random_bits(&self, ctx: &Ctx, ring: Ring, len: usize) -> Result<A> {
        if ring.bits() == 1 {
            let own: B = Share::of(ctx.randomness().stream(&self.private).draw((1, len)));
            return Ok(own.map(|bit| bit.to_vector(ring)));
        }
        // 2 w needs one bit less.
        let (own, product) = self.draw_bit_products(ctx, Ring::of(ring.bits() - 1), len).await?;
        let mut bit = own.map(|bit| bit.to_vector(ring));
        let mut twice = product.map(|w| w.convert(ring));
        twice.shl(1);
        bit.sub_assign(&twice);
        Ok(bit)
    }

    async fn draw_bit_products(&self, ctx: &Ctx, ring: Ring, len: usize) -> Result<(B, A)> {
        let mut material = self.draw(ctx, Kind::BitProduct { bits: ring.bits() }, len).await?;
        let product = material.vectors.pop().ok_or(MISSING)?;
        let [own] = material.into_bits()?;
        Ok((own, product))
    }

    /// Returns the product of a bit of each party, as an element of the ring.
    pub(crate) async fn product_of_bits(&self, ctx: &Ctx, own: &B, ring: Ring) -> Result<A> {
        let (random, mut product) = self.draw_bit_products(ctx, ring, own.lanes()).await?;
        let mine = self.xor(own, &random);
        let theirs = ctx.exchange(&[(self.peer(), &*mine)], &[(self.peer(), (1, own.lanes()))]).await?;
        let theirs = theirs.into_iter().next().ok_or(NOT_OPENED)?;
        let mut differ = mine.clone();
        differ.xor_assign(&theirs);
        product.mul_assign(&signs(&differ, ring));
        // Party 0 adds g s; party 1 adds f (1 - 2g) v, in which its own message is g.
        let mut kept = if self.me == 0 { own.clone() } else { random };
        kept.and_assign(&theirs);
        let mut kept = kept.map(|bit| bit.to_vector(ring));
        if self.me == 1 {
            kept.mul_assign(&signs(&mine, ring));
        }
        product.add_assign(&kept);
        Ok(product)
    }

    /// B2A (aby, section IV-E): returns the number with these bits, lowest first. Bit i is converted modulo 2^(k-i)
    /// only.
    pub(crate) async fn compose_bits(&self, ctx: &Ctx, x: &B, ring: Ring) -> Result<A> {
        let k = ring.bits();
        if x.rows() != k as usize {
            return Err(
                Misuse::Length { what: "bits of a number of its ring", left: x.rows(), right: k as usize }.into()
            );
        }
        if k == 1 {
            return Ok(local::as_top_bit(x, ring));
        }
        let work = async move |s: &Aby, ctx: &Ctx, x: B| s.compose_lanes(ctx, &x, ring).await;
        let operands = |range| stream::slice_lanes(self, x, range);
        stream::to_vector(self, ctx, stream::chunks(x.lanes(), k), operands, work).await
    }

    /// Opens c_i = x_i xor b_i, all in one message, for random bits b_i = u_i + v_i - 2 w_i modulo 2^(k-i). The number
    /// is the sum of 2^i (c_i + (1 - 2 c_i) b_i); the part of u and v in it depends on this party's own bits only. The
    /// top bit of a number is that of the sum of its shares.
    async fn compose_lanes(&self, ctx: &Ctx, x: &B, ring: Ring) -> Result<A> {
        let low = ring.bits() as usize - 1;
        let draw = async |ctx: Ctx, i: usize| self.draw_bit_products(&ctx, Ring::of((low - i) as u32), x.lanes()).await;
        let (own, products): (Vec<B>, Vec<A>) = ctx.join_all(low, draw).await?.into_iter().unzip();
        let own = self.concat_rows(&own.iter().collect::<Vec<_>>());
        let hidden = self.xor(&x.map(|x| x.slice_rows(0..low)), &own);
        let c = self.open_share(ctx, &hidden, None).await?.ok_or(NOT_OPENED)?;
        let mut kept = own.clone();
        kept.and_assign(&c);
        let mut sum = own.map(|own| own.to_vector(ring));
        sum.sub_assign(&lifted(&kept.map(|kept| kept.to_vector(ring)), ring, 1));
        for (i, mut product) in products.into_iter().enumerate() {
            let signs = signs(&c.row(i), product.ring());
            product.mul_assign(&signs);
            sum.sub_assign(&lifted(&product, ring, i as u32 + 1));
        }
        let top = local::as_top_bit(&x.map(|x| x.row(low)), ring);
        Ok(self.add(&self.add_public(&sum, &c.to_vector(ring)), &top))
    }

    /// Returns bit x: one row of bits times a vector.
    pub(crate) async fn select(&self, ctx: &Ctx, bit: &B, x: &A) -> Result<A> {
        let (ring, len) = (x.ring(), x.len());
        let work = async move |s: &Aby, ctx: &Ctx, (bit, x): (B, A)| {
            let mut material = s.draw(ctx, Kind::Selection { bits: ring.bits() }, x.len()).await?;
            let b = material.bits.pop().ok_or(MISSING)?;
            let [b_ring, a, product] = material.into_vectors()?;
            let (hidden, rest) = (s.xor(&bit, &b), s.sub(&x, &a));
            let (f, g) = ctx
                .join(
                    async |ctx: Ctx| s.open_share(&ctx, &hidden, None).await?.ok_or(NOT_OPENED),
                    async |ctx: Ctx| s.open_share(&ctx, &rest, None).await?.ok_or(NOT_OPENED),
                )
                .await?;
            let mut of_random = product;
            of_random.add_mul_assign(&g, &b_ring);
            of_random.mul_assign(&signs(&f, ring));
            let kept = x.map(|x| {
                let mut kept = x.clone();
                kept.mul_assign(&f.to_vector(ring));
                kept
            });
            Ok(s.add(&of_random, &kept))
        };
        let operands =
            |range: Range<usize>| (stream::slice_lanes(self, bit, range.clone()), stream::slice(self, x, range));
        stream::to_vector(self, ctx, stream::chunks(len, 2 * ring.bits()), operands, work).await
    }
}
