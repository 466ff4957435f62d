//! Inputs: the owner tells all how far its value is from a mask that only it would know, and does not wait for them.

use quorate_engine::{Ctx, Result};
use quorate_ring::{Bits, Ring, Vector};

use crate::bits::{TaggedBits, to_elements};
use crate::party::Spdz2k;
use crate::tagged::Tagged;

impl Spdz2k {
    pub(crate) async fn share_input(
        &self,
        ctx: &Ctx,
        owner: usize,
        (ring, len): (Ring, usize),
        value: Option<&Vector>,
    ) -> Result<Tagged> {
        self.check_party(owner)?;
        let mask = self.mask(ctx, owner, (ring, len)).await?;
        let difference = match self.keys.me == owner {
            true => {
                let mut difference = match value {
                    Some(value) if !ctx.is_dry() => value.convert(ring),
                    _ => Vector::shape(ring, len),
                };
                difference.sub_assign(&mask.share.convert(ring));
                difference.reduce();
                for peer in self.keys.peers() {
                    ctx.send(peer, &difference).await?;
                }
                difference
            }
            false => ctx.receive::<Vector>(owner, (ring, len)).await?,
        };
        self.note_input(ctx, &difference);
        Ok(self.plus(&mask, &difference.convert(mask.share.ring())))
    }

    pub(crate) async fn share_input_bits(
        &self,
        ctx: &Ctx,
        owner: usize,
        (rows, lanes): (usize, usize),
        value: Option<&Bits>,
    ) -> Result<TaggedBits> {
        let (bit, len) = (Ring::of(1), rows * lanes);
        let value = value.map(|bits| to_elements(bits, bit));
        let elements = self.share_input(ctx, owner, (bit, len), value.as_ref()).await?;
        Ok(TaggedBits { rows, lanes, elements })
    }

    /// x + value, which all know, in the ring of the shares.
    pub(crate) fn plus(&self, x: &Tagged, value: &Vector) -> Tagged {
        let mut sum = x.clone();
        if self.keys.me == 0 {
            sum.share.add_assign(value);
        }
        let mut tag = value.clone();
        tag.scale(self.keys.key());
        sum.tag.add_assign(&tag);
        sum
    }
}
