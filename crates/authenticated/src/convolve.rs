//! Convolutions as products of matrices: the filters of a group times the patches of all images. A patch is a list of
//! positions in an image. An element of an image is opened once for each patch that contains it, since matrix triples
//! do not share elements. One round.

use std::borrow::Cow;

use quorate_engine::{Ctx, Form, Linear, Positions, Result, Stocks};
use quorate_ring::Conv;

use crate::party::Authenticated;
use crate::tagged::Tagged;

impl Authenticated {
    pub(crate) async fn convolve(&self, ctx: &Ctx, conv: &Conv, images: &Tagged, filters: &Tagged) -> Result<Tagged> {
        let (m, k, n) = (conv.filters, conv.patch(), conv.batch * conv.places());
        let (ring, dry) = (images.ring, ctx.is_dry());
        if m * k * n * conv.groups == 0 {
            return Ok(self.blank(dry, (ring, conv.len_out())));
        }
        let nothing = self.blank(dry, (ring, 1)).known_to(images.known);
        let padded = Tagged::concat(&[images, &nothing]);
        let product = async |ctx: Ctx, group: usize| {
            let positions = || Cow::Owned(conv.positions(group));
            let patches = padded.linear(&Linear::Gather(Positions::later(k * n, &positions)));
            let own = filters.linear(&Linear::Slice(group * m * k..(group + 1) * m * k));
            self.multiply_of_two(&ctx, Form::MatMul { m, k, n }, &own, &patches).await
        };
        let products = ctx.join_all(conv.groups, product).await?;
        let order = || Cow::Owned(conv.order());
        let all = Tagged::concat(&products.iter().collect::<Vec<_>>());
        Ok(all.linear(&Linear::Gather(Positions::later(conv.len_out(), &order))))
    }
}
