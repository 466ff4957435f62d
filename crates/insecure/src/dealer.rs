//! What a dealer would deal: every party draws all of it from the seed that all know, and keeps its own part.

use std::fmt;
use std::ops::Range;

use quorate_engine::{
    Ctx, EdaBits, Error, Layout, Linear, LinearBits, Misuse, Result, Stock, Stocks, Stored, Stream, TruncMasks, Update,
    UpdateBits,
};
use quorate_ring::{Bits, Ring, Vector};

use crate::bits::{TaggedBits, to_elements};
use crate::party::Insecure;
use crate::tagged::{EXTRA_BITS, Tagged, wide};

/// A kind of correlations.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Kind {
    /// Random elements a, b and their product.
    Triple {
        /// k.
        bits: u32,
    },
    /// Random matrices and their product.
    MatrixTriple {
        /// k.
        bits: u32,
        /// Rows, columns of the left one, columns.
        dims: (usize, usize, usize),
    },
    /// A random bit as an element.
    RandomBit {
        /// k.
        bits: u32,
    },
    /// A random element of Z_2^bits in a ring, with its bits, and shifted right by `cut` where that is not 0.
    EdaBit {
        /// Bits of the element.
        bits: u32,
        /// k.
        ring: u32,
        /// The shift.
        cut: u32,
    },
    /// A mask for truncation.
    TruncMask {
        /// k.
        bits: u32,
        /// The shift.
        cut: u32,
    },
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Kind::Triple { bits } => write!(f, "triple mod 2^{bits}"),
            Kind::MatrixTriple { bits, dims: (m, k, n) } => write!(f, "matrix triple {m} x {k} x {n} mod 2^{bits}"),
            Kind::RandomBit { bits } => write!(f, "random bit mod 2^{bits}"),
            Kind::EdaBit { bits, ring, .. } => write!(f, "edaBit of {bits} bits mod 2^{ring}"),
            Kind::TruncMask { bits, cut } => write!(f, "truncation mask mod 2^{bits} cut at {cut}"),
        }
    }
}

impl Stored for Tagged {
    fn part(&self, range: Range<usize>) -> Self {
        self.linear(&Linear::Slice(range))
    }

    fn write_part(&mut self, start: usize, part: &Self) {
        self.update(part, &Update::Write(start));
    }
}

impl Stored for TaggedBits {
    fn part(&self, range: Range<usize>) -> Self {
        self.linear(&LinearBits::Lanes(range))
    }

    fn write_part(&mut self, start: usize, part: &Self) {
        self.update(part, &UpdateBits::Write(start));
    }
}

type Material = quorate_engine::Material<Tagged, TaggedBits>;

impl Stocks for Insecure {
    type Kind = Kind;
    type Vectors = Tagged;
    type Matrices = TaggedBits;

    fn stock(&self) -> &Stock<Kind, Tagged, TaggedBits> {
        &self.stock
    }

    fn layout(&self, kind: &Kind) -> Layout {
        let over = |bits: u32, counts: &[usize]| counts.iter().map(|&count| (Ring::of(bits), count)).collect();
        let (vectors, bits) = match *kind {
            Kind::Triple { bits } => (over(bits, &[1; 3]), vec![]),
            Kind::MatrixTriple { bits, dims: (m, k, n) } => (over(bits, &[m * k, k * n, m * n]), vec![]),
            Kind::RandomBit { bits } => (over(bits, &[1]), vec![]),
            Kind::EdaBit { bits, ring, cut: 0 } => (over(ring, &[1]), vec![bits as usize]),
            Kind::EdaBit { bits, ring, .. } => (over(ring, &[1; 2]), vec![bits as usize]),
            Kind::TruncMask { bits, cut } => {
                (vec![(Ring::of(bits), 1), (Ring::of(bits), 1), (Ring::of(cut + 1), 1)], vec![])
            }
        };
        Layout { vectors, bits }
    }

    fn blank(&self, dry: bool, (ring, len): (Ring, usize)) -> Tagged {
        let blank = if dry { Vector::shape(wide(ring), len) } else { Vector::zeros(wide(ring), len) };
        Tagged { share: blank.clone(), tag: blank }
    }

    fn blank_bits(&self, dry: bool, (rows, lanes): (usize, usize)) -> TaggedBits {
        TaggedBits { rows, lanes, elements: self.blank(dry, (Ring::of(1), rows * lanes)) }
    }

    async fn make(&self, ctx: &Ctx, kind: &Kind, len: usize) -> Result<Material> {
        let mut drawn = ctx.randomness().stream(&self.dealer);
        let mut bits: Vec<Bits> = vec![];
        let values: Vec<Vector> = match *kind {
            Kind::Triple { bits } => {
                let [a, b] = [0; 2].map(|_| drawn.draw::<Vector>((wide(Ring::of(bits)), len)));
                let mut c = a.clone();
                c.mul_assign(&b);
                vec![a, b, c]
            }
            Kind::MatrixTriple { bits, dims: (m, k, n) } => {
                let ring = wide(Ring::of(bits));
                let a: Vector = drawn.draw((ring, len * m * k));
                let b: Vector = drawn.draw((ring, len * k * n));
                let part = |x: &Vector, i: usize, size: usize| x.slice(i * size..(i + 1) * size);
                let product = |i: usize| Vector::matmul(&part(&a, i, m * k), &part(&b, i, k * n), (m, k, n));
                let products: Vec<Vector> = (0..len).map(product).collect();
                let c = Vector::concat(&products.iter().collect::<Vec<_>>());
                vec![a, b, c]
            }
            Kind::RandomBit { bits } => vec![to_elements(&drawn.draw((1, len)), wide(Ring::of(bits)))],
            Kind::EdaBit { bits: width, ring, cut } => {
                let value: Vector = drawn.draw((Ring::of(width), len));
                bits = vec![value.to_bits(0..width)];
                let mut shifted = value.clone();
                shifted.shr_logical(cut);
                let parts = [value, shifted].into_iter().take(if cut > 0 { 2 } else { 1 });
                parts.map(|x| x.convert(wide(Ring::of(ring)))).collect()
            }
            Kind::TruncMask { bits, cut } => {
                let value: Vector = drawn.draw((Ring::of(bits), len));
                let mut shifted = value.convert(Ring::of(bits - 1));
                shifted.shr_logical(cut);
                let top = value.to_bits(bits - 1..bits).to_vector(wide(Ring::of(cut + 1)));
                let [value, shifted] = [value, shifted].map(|x| x.convert(wide(Ring::of(bits))));
                vec![value, shifted, top]
            }
        };
        let vectors = values.iter().map(|value| self.deal(&mut drawn, value)).collect();
        Ok(Material { vectors, bits: bits.iter().map(|bits| self.deal_bits(&mut drawn, bits)).collect() })
    }
}

impl Insecure {
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
    pub(crate) fn mask(&self, ctx: &Ctx, ring: Ring, len: usize) -> (Vector, Tagged) {
        let mut drawn = ctx.randomness().stream(&self.dealer);
        let mask: Vector = drawn.draw((wide(ring), len));
        let shared = self.deal(&mut drawn, &mask);
        (mask, shared)
    }

    pub(crate) async fn deal_edabits(
        &self,
        ctx: &Ctx,
        (bits, ring): (Ring, Ring),
        cut: Option<u32>,
        len: usize,
    ) -> Result<EdaBits<Tagged, TaggedBits>> {
        const MISSING: Error = Error::Bug { what: "a stock of edaBits without values" };
        if cut.is_some_and(|cut| cut == 0 || cut >= ring.bits()) {
            return Err(
                Misuse::Other { what: "an edaBit must be cut above its lowest and below its highest bit" }.into()
            );
        }
        let kind = Kind::EdaBit { bits: bits.bits(), ring: ring.bits(), cut: cut.unwrap_or(0) };
        let Material { vectors, mut bits } = self.draw(ctx, kind, len).await?;
        let mut vectors = vectors.into_iter();
        Ok(EdaBits { value: vectors.next().ok_or(MISSING)?, shifted: vectors.next(), bits: bits.pop().ok_or(MISSING)? })
    }

    pub(crate) async fn deal_trunc_masks(
        &self,
        ctx: &Ctx,
        ring: Ring,
        cut: u32,
        len: usize,
    ) -> Result<TruncMasks<Tagged>> {
        if cut == 0 || cut + 2 > ring.bits() {
            return Err(Misuse::Other { what: "a truncation mask must be cut above bit 0 and below bit k - 1" }.into());
        }
        let kind = Kind::TruncMask { bits: ring.bits(), cut };
        let [value, shifted, top] = self.draw(ctx, kind, len).await?.into_vectors()?;
        Ok(TruncMasks { value, shifted, top })
    }

    /// A random order of rows.
    pub(crate) fn order(&self, ctx: &Ctx, rows: usize) -> Vec<u32> {
        let mut drawn = ctx.randomness().stream(&self.dealer);
        if ctx.is_dry() { Vec::new() } else { drawn.permutation(rows).to_vec() }
    }

    /// Bytes of a party's shares of a vector, and of their tags.
    pub(crate) fn bytes_of(bits: u32, len: usize) -> u64 {
        2 * (len * Ring::of(bits + EXTRA_BITS).carrier().bytes()) as u64
    }
}
