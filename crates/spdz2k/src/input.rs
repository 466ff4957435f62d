//! Inputs: the owner sends all the difference of its value from a mask that it alone knows, and does not wait for them.

use quorate_engine::{Ctx, Misuse, Result};
use quorate_ring::{Bits, Module, Ring, Vector, Wiped};

use crate::bits::{TaggedBits, to_elements};
use crate::forms::{Form, SharedBits};
use crate::party::Spdz2k;
use crate::tagged::Tagged;
use quorate_adversary::Twisted;

impl Spdz2k {
    pub(crate) async fn share_input(
        &self,
        ctx: &Ctx,
        owner: usize,
        (ring, len): (Ring, usize),
        value: Option<&Vector>,
    ) -> Result<Tagged> {
        self.check_owner(ctx, owner, value.map(Vector::len), len)?;
        let mask = self.mask(ctx, owner, (ring, len)).await?;
        let difference = || {
            let mut difference = match value {
                Some(value) if !ctx.is_dry() => value.convert(ring),
                _ => Vector::shape(ring, len),
            };
            difference.sub_assign(&Wiped(mask.share.convert(ring)));
            difference.reduce();
            difference
        };
        let difference = self.told_by(ctx, owner, (ring, len), difference).await?;
        self.note_input(ctx, &difference);
        Ok(self.plus(&mask, &difference.convert(mask.share.ring())))
    }

    pub(crate) async fn share_input_bits(
        &self,
        ctx: &Ctx,
        owner: usize,
        (rows, lanes): (usize, usize),
        value: Option<&Bits>,
    ) -> Result<SharedBits> {
        self.check_owner(ctx, owner, value.map(Bits::shape_of), (rows, lanes))?;
        if self.has_macs() {
            return self.share_input_macs(ctx, owner, (rows, lanes), value).await;
        }
        let (bit, len) = (Ring::of(1), rows * lanes);
        let value = value.map(|bits| to_elements(bits, bit));
        let elements = self.share_input(ctx, owner, (bit, len), value.as_ref()).await?.known_to(None);
        Ok(SharedBits::elements(TaggedBits { rows, lanes, elements }))
    }

    async fn share_input_macs(
        &self,
        ctx: &Ctx,
        owner: usize,
        shape: (usize, usize),
        value: Option<&Bits>,
    ) -> Result<SharedBits> {
        let mask = self.mask_of_bits(ctx, owner, shape).await?;
        let difference = || match value {
            Some(value) if !ctx.is_dry() => {
                let mut difference = (*mask.own).clone();
                difference.xor_assign(value);
                difference
            }
            _ => Bits::shape(shape.0, shape.1),
        };
        let difference = self.told_by(ctx, owner, shape, difference).await?;
        self.note_input_of_bits(ctx, &difference);
        Ok(self.xor_with(&SharedBits::macs(mask), &difference))
    }

    /// Checks that the owner exists, and that it gives a value of the agreed shape.
    fn check_owner<S: PartialEq>(&self, ctx: &Ctx, owner: usize, given: Option<S>, agreed: S) -> Result<()> {
        self.check_party(owner)?;
        match given {
            _ if ctx.is_dry() => Ok(()),
            None if owner == self.keys.me => Err(Misuse::Other { what: "an input without its owner's value" }.into()),
            Some(given) if given != agreed => {
                Err(Misuse::Other { what: "an input of another shape than was agreed" }.into())
            }
            _ => Ok(()),
        }
    }

    /// Sends a value of the owner to all others.
    async fn told_by<M: Module + Twisted>(
        &self,
        ctx: &Ctx,
        owner: usize,
        shape: M::Shape,
        own: impl FnOnce() -> M,
    ) -> Result<M> {
        self.keys.in_use()?;
        if self.keys.dealt {
            return self.told_by_one_of_three(ctx, owner, shape, own).await;
        }
        if self.keys.me != owner {
            return ctx.receive::<M>(owner, shape).await;
        }
        let own = own();
        for peer in self.keys.peers() {
            ctx.send(peer, &*self.keys.told_to(peer, &own)).await?;
        }
        Ok(own)
    }

    /// Returns x xor public bits.
    pub(crate) fn xor_with(&self, x: &SharedBits, value: &Bits) -> SharedBits {
        match &x.0 {
            Form::Elements(bits) => {
                let value = to_elements(value, bits.elements.share.ring());
                SharedBits::elements(TaggedBits { elements: self.plus(&bits.elements, &value), ..*bits })
            }
            Form::Macs(bits) => SharedBits::macs(bits.clone().flipped(value, (self.keys.me == 0, *self.keys.delta))),
        }
    }

    /// Returns x + value for a public value in the ring of the shares. The party that knows all of x adds it to its
    /// share. If there is none, or if it is a third party that deals, party 0 does.
    pub(crate) fn plus(&self, x: &Tagged, value: &Vector) -> Tagged {
        let mut sum = x.clone();
        if self.keys.me == self.computing_owner(x).unwrap_or(0) {
            sum.share.add_assign(value);
        }
        let mut tag = value.clone();
        tag.scale(self.keys.key());
        sum.tag.add_assign(&tag);
        sum
    }
}
