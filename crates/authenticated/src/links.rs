//! The lowest bits of elements as bits with MACs, and the other way round, by random bits in both forms.
//!
//! With such a bit r, the lowest bit of an element x is r xor Open(x + r mod 2), and a bit x as an element of Z_2 is
//! r + Open(x xor r).

use quorate_adversary::Twist;
use quorate_engine::{Ctx, Error, Linear, Result, Stocks};
use quorate_ring::{Bits, Ring, Vector};

use crate::bits::{TaggedBits, from_elements};
use crate::forms::{Form, SharedBits};
use crate::kind::{Kind, Material};
use crate::party::Authenticated;
use crate::tagged::Tagged;

const NO_LINKS: Error = Error::Bug { what: "a stock of bits that are elements, too, without them" };

impl Authenticated {
    /// Returns the lowest bits of elements, as elements.
    pub fn low_bits(&self, x: &Tagged) -> SharedBits {
        SharedBits::elements(TaggedBits {
            rows: 1,
            lanes: x.shape().1,
            elements: x.linear(&Linear::Reduce(Ring::of(1))).known_to(None),
        })
    }

    /// Returns the lowest bits of elements. One round where bits have MACs.
    pub(crate) async fn lowest(&self, ctx: &Ctx, x: &Tagged) -> Result<SharedBits> {
        if !self.has_macs() {
            return Ok(self.low_bits(x));
        }
        let links = self.draw_links(ctx, Kind::Link, x.shape().1).await?;
        self.lowest_with(ctx, x, links).await
    }

    /// Returns the lowest bits of elements, by random bits in both forms that have no other use.
    pub async fn lowest_with(
        &self,
        ctx: &Ctx,
        x: &Tagged,
        (elements, bits): (Tagged, SharedBits),
    ) -> Result<SharedBits> {
        let mut masked = x.linear(&Linear::Reduce(Ring::of(1))).zip(&elements, Vector::add_assign);
        self.keys.twisted(Twist::Lowest, &mut masked.share);
        let opened = from_elements(&self.open_elements(ctx, &masked).await?, (1, x.shape().1));
        Ok(self.xor_with(&bits, &opened))
    }

    /// Returns 2^(k-1) times bits of one row. One round where bits have MACs.
    pub(crate) async fn at_top(&self, ctx: &Ctx, x: &SharedBits, ring: Ring) -> Result<Tagged> {
        self.keys.params.check_values(ring)?;
        let elements = match &x.0 {
            Form::Elements(bits) => bits.elements.clone(),
            Form::Macs(_) => {
                let (elements, bits) = self.draw_links(ctx, Kind::Link, x.shape().1).await?;
                let opened: Bits = self.open_shared_bits(ctx, &x.xor(&bits)).await?;
                self.plus(&elements, &opened.to_vector(elements.share.ring()))
            }
        };
        Ok(elements.linear(&Linear::Raise(ring, ring.bits() - 1)))
    }

    /// Draws random bits as elements, and in the form of the session's bits.
    pub(crate) async fn draw_dabits(&self, ctx: &Ctx, ring: Ring, len: usize) -> Result<(Tagged, SharedBits)> {
        if self.has_macs() {
            return self.draw_links(ctx, Kind::DaBit { bits: ring.bits() }, len).await;
        }
        let [elements] = self.draw(ctx, Kind::RandomBit { bits: ring.bits() }, len).await?.into_vectors()?;
        let bits = self.low_bits(&elements);
        Ok((elements, bits))
    }

    async fn draw_links(&self, ctx: &Ctx, kind: Kind, len: usize) -> Result<(Tagged, SharedBits)> {
        let Material { mut vectors, mut bits, .. } = self.draw(ctx, kind, len).await?;
        Ok((vectors.pop().ok_or(NO_LINKS)?, bits.pop().ok_or(NO_LINKS)?))
    }
}
