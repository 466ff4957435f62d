//! MulPub: multiply and open in one round.
//!
//! **Source**: Protocol 2 (section 4.3). **Model**: semi-honest, t of n. Rounds: 1. Sent per party: n - 1 elements.
//!
//! Each party masks its additive share of the product by a sharing of zero. For each T, its t+1 holders are taken in
//! increasing order: the j-th of the first t adds the j-th draw of G_T, and the last one subtracts the sum of all t
//! draws.

use quorate_engine::{Ctx, Form, Result};
use quorate_ring::Vector;

use crate::setup::Rss;
use crate::share::{Shared, Wiped};

impl Rss {
    /// Returns x y, opened to all parties.
    ///
    /// # Errors
    /// [`Misuse::Length`](quorate_engine::Misuse) where the operands differ in length, and any error that ends a run.
    pub async fn multiply_and_open(&self, ctx: &Ctx, x: &Shared<Vector>, y: &Shared<Vector>) -> Result<Vector> {
        Form::Product.check(x.shape, y.shape)?;
        let shape = x.shape;
        let mut product =
            self.local_product(self.blank(ctx, shape), x, y, |sum: &mut Vector, a, b| sum.add_mul_assign(a, b));
        self.mask_by_zero(ctx, &mut product);
        let peers: Vec<usize> = (0..ctx.parties()).filter(|&p| p != ctx.me()).collect();
        let outgoing: Vec<(usize, &Vector)> = peers.iter().map(|&p| (p, &*product)).collect();
        let incoming: Vec<_> = peers.iter().map(|&p| (p, shape)).collect();
        let received = ctx.exchange(&outgoing, &incoming).await?;
        let mut opened = product.clone();
        received.iter().for_each(|share| opened.add_assign(share));
        opened.reduce();
        Ok(opened)
    }

    fn mask_by_zero(&self, ctx: &Ctx, product: &mut Vector) {
        let (ring, len) = (product.ring(), product.len());
        let me = self.maps.me;
        for (&set, stream) in self.maps.held.iter().zip(&mut self.streams(ctx)) {
            let place = self.maps.holders(set).position(|p| p == me).unwrap_or(0);
            for draw in 0..self.maps.threshold {
                let mask = Wiped(stream.draw::<Vector>((ring, len)));
                if place == self.maps.threshold {
                    product.sub_assign(&mask);
                } else if place == draw {
                    product.add_assign(&mask);
                }
            }
        }
    }
}
