//! Triples of convolutions: shares of random images, of random filters, and of their convolution.
//!
//! **Source**: matrix triples ([`crate::matrix`]) of a group's filters and all patches. Images are drawn, and patches
//! are positions in them: an image is opened once, whatever the number of patches that contain a pixel. **Model**:
//! semi-honest, 1 of 2. Rounds and bits: those of the groups' products, side by side.

use quorate_additive::blank;
use quorate_engine::{Ctx, Result};
use quorate_ring::{Conv, Ring, Vector};

use crate::Share;
use crate::kind::Material;
use crate::matrix::Product;
use crate::setup::Aby;

impl Aby {
    pub(crate) async fn make_conv_triple(&self, ctx: &Ctx, ring: Ring, conv: &Conv) -> Result<Material> {
        let images: Share<Vector> = Share::of(ctx.randomness().stream(&self.private).draw((ring, conv.lens()[0])));
        let mut padded = images.clone();
        padded.append(&blank(ctx.is_dry(), (ring, 1)));
        let of_group = async |ctx: Ctx, group: usize| {
            let product = Product::of_filters(ring, conv);
            let patches = match ctx.is_dry() {
                true => padded.map(|images| images.gathered_shape(conv.patch() * conv.batch * conv.places())),
                false => padded.map(|images| images.gather(&conv.positions(group))),
            };
            self.multiply_rows(&ctx, product, &patches).await
        };
        let (filters, products): (Vec<_>, Vec<_>) = ctx.join_all(conv.groups, of_group).await?.into_iter().unzip();
        let joined =
            |parts: &[Share<Vector>]| Share::of(Vector::concat(&parts.iter().map(|x| &**x).collect::<Vec<_>>()));
        let result = joined(&products).map(|all| match all.is_shape() {
            true => all.gathered_shape(conv.len_out()),
            false => all.gather(&conv.order()),
        });
        Ok(Material::of_vectors(vec![images, joined(&filters), result]))
    }
}
