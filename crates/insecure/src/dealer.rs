//! What a dealer would deal: every party draws all of it from the seed that all know, and keeps its own part.

use std::fmt;

use quorate_engine::{Ctx, EdaBits, Form, Misuse, Result, Stream, TruncMasks};
use quorate_ring::{Bits, Ring, Vector};

use crate::bits::{TaggedBits, to_elements};
use crate::party::Insecure;
use crate::tagged::{EXTRA_BITS, Tagged, wide};

/// A kind of correlations.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Kind {
    /// A random element that one party knows.
    Mask(u32),
    /// Two random vectors and what a bilinear form makes of them; counted by elements of both.
    Triple(u32),
    /// A random bit as an element.
    RandomBit(u32),
    /// A random element with its bits.
    EdaBit(u32),
    /// A mask for truncation.
    TruncMask(u32),
    /// An order of rows.
    Order,
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Kind::Mask(bits) => write!(f, "masks of {bits} bits"),
            Kind::Triple(bits) => write!(f, "multiplication triples of {bits} bits"),
            Kind::RandomBit(bits) => write!(f, "random bits in {bits} bits"),
            Kind::EdaBit(bits) => write!(f, "edaBits of {bits} bits"),
            Kind::TruncMask(bits) => write!(f, "truncation masks of {bits} bits"),
            Kind::Order => write!(f, "orders of rows"),
        }
    }
}

/// What is dealt for one form: [a], [b], [form(a, b)].
pub(crate) struct Triple {
    pub a: Tagged,
    pub b: Tagged,
    pub c: Tagged,
}

impl Insecure {
    /// What is drawn for the next use of a lane.
    fn drawn(&self, ctx: &Ctx, kind: Kind, len: usize) -> Result<Stream> {
        self.ledger.borrow_mut().draw(ctx, &kind, len)?;
        Ok(ctx.randomness().stream(&self.dealer))
    }

    /// This party's share of a vector that all know, and of its tags: those of the last parties are drawn, the first
    /// one has what is left.
    fn deal(&self, drawn: &mut Stream, value: &Vector) -> Tagged {
        let mut share = |total: &Vector| {
            let (mut rest, mut own) = (total.clone(), None);
            for party in 1..self.parties {
                let share: Vector = drawn.draw((total.ring(), total.len()));
                rest.sub_assign(&share);
                if party == self.me {
                    own = Some(share);
                }
            }
            own.unwrap_or(rest)
        };
        let mut tags = value.clone();
        tags.scale(self.keys.iter().map(|&key| u128::from(key)).sum());
        Tagged { share: share(value), tag: share(&tags) }
    }

    /// Random bits of noise above bits that lie row after row.
    fn deal_bits(&self, drawn: &mut Stream, bits: &Bits) -> TaggedBits {
        let ring = wide(Ring::of(1));
        let mut elements: Vector = drawn.draw((ring, bits.rows() * bits.lanes()));
        elements.shl(1);
        elements.add_assign(&to_elements(bits, ring));
        TaggedBits { rows: bits.rows(), lanes: bits.lanes(), elements: self.deal(drawn, &elements) }
    }

    /// A random element, known and shared.
    pub(crate) fn mask(&self, ctx: &Ctx, ring: Ring, len: usize) -> Result<(Vector, Tagged)> {
        let mut drawn = self.drawn(ctx, Kind::Mask(ring.bits()), len)?;
        let mask: Vector = drawn.draw((wide(ring), len));
        let shared = self.deal(&mut drawn, &mask);
        Ok((mask, shared))
    }

    pub(crate) fn triple(&self, ctx: &Ctx, form: Form, ring: Ring, lens: [usize; 2]) -> Result<Triple> {
        let mut drawn = self.drawn(ctx, Kind::Triple(ring.bits()), lens[0] + lens[1])?;
        let [a, b] = lens.map(|len| drawn.draw::<Vector>((wide(ring), len)));
        let len = form.len_out(lens[0]);
        let mut c = if a.is_shape() { Vector::shape(wide(ring), len) } else { Vector::zeros(wide(ring), len) };
        form.accumulate(&mut c, &a, &b);
        let mut deal = |value: &Vector| self.deal(&mut drawn, value);
        Ok(Triple { a: deal(&a), b: deal(&b), c: deal(&c) })
    }

    pub(crate) fn deal_random_bits(&self, ctx: &Ctx, ring: Ring, len: usize) -> Result<Tagged> {
        let mut drawn = self.drawn(ctx, Kind::RandomBit(ring.bits()), len)?;
        let bits: Bits = drawn.draw((1, len));
        Ok(self.deal(&mut drawn, &to_elements(&bits, wide(ring))))
    }

    pub(crate) fn deal_edabits(
        &self,
        ctx: &Ctx,
        (ring, of): (Ring, Ring),
        cut: Option<u32>,
        len: usize,
    ) -> Result<EdaBits<Tagged, TaggedBits>> {
        if cut.is_some_and(|cut| cut == 0 || cut >= ring.bits()) {
            return Err(
                Misuse::Other { what: "an edaBit must be cut above its lowest and below its highest bit" }.into()
            );
        }
        let mut drawn = self.drawn(ctx, Kind::EdaBit(of.bits()), len)?;
        let value: Vector = drawn.draw((ring, len));
        let shifted = cut.map(|cut| {
            let mut shifted = value.clone();
            shifted.shr_logical(cut);
            self.deal(&mut drawn, &shifted.convert(wide(of)))
        });
        let bits = self.deal_bits(&mut drawn, &value.to_bits(0..ring.bits()));
        Ok(EdaBits { value: self.deal(&mut drawn, &value.convert(wide(of))), shifted, bits })
    }

    pub(crate) fn deal_trunc_masks(&self, ctx: &Ctx, ring: Ring, cut: u32, len: usize) -> Result<TruncMasks<Tagged>> {
        if cut == 0 || cut + 2 > ring.bits() {
            return Err(Misuse::Other { what: "a truncation mask must be cut above bit 0 and below bit k - 1" }.into());
        }
        let mut drawn = self.drawn(ctx, Kind::TruncMask(ring.bits()), len)?;
        let value: Vector = drawn.draw((ring, len));
        let mut shifted = value.convert(Ring::of(ring.bits() - 1));
        shifted.shr_logical(cut);
        let top = value.to_bits(ring.bits() - 1..ring.bits()).to_vector(wide(Ring::of(cut + 1)));
        let mut deal = |value: &Vector| self.deal(&mut drawn, value);
        Ok(TruncMasks {
            value: deal(&value.convert(wide(ring))),
            shifted: deal(&shifted.convert(wide(ring))),
            top: deal(&top),
        })
    }

    /// A random order of rows.
    pub(crate) fn order(&self, ctx: &Ctx, rows: usize) -> Result<Vec<u32>> {
        let mut drawn = self.drawn(ctx, Kind::Order, 1)?;
        Ok(if ctx.is_dry() { Vec::new() } else { drawn.permutation(rows).to_vec() })
    }

    /// Bytes of a party's shares of a vector, and of their tags.
    pub(crate) fn bytes_of(bits: u32, len: usize) -> u64 {
        2 * (len * Ring::of(bits + EXTRA_BITS).carrier().bytes()) as u64
    }
}
