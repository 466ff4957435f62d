//! Correlations: their kinds, where they are stored, and who makes them.

use std::collections::BTreeMap;
use std::fmt;
use std::ops::Range;

use quorate_engine::{
    ComparisonMasks, Ctx, EdaBits, Error, Layout, Linear, LinearBits, Misuse, Result, Stock, Stocks, Stored,
    TruncMasks, Update, UpdateBits,
};
use quorate_gadgets::compiled_here;
use quorate_ring::{Conv, Ring, Vector, Wiped};

use crate::bits::TaggedBits;
use crate::forms::SharedBits;
use crate::macs::MacBits;
use crate::party::Authenticated;
use crate::source::MISCOUNTED;
use crate::tagged::Tagged;

/// A kind of correlations.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Kind {
    /// Random elements a, b and their product.
    Triple {
        /// The bits of the ring.
        bits: u32,
    },
    /// Random elements a, b and their product: one party knows a, and another one b.
    OneSided {
        /// The party that knows a: the smaller number.
        left: usize,
        /// The party that knows b.
        right: usize,
        /// The bits of the ring.
        bits: u32,
    },
    /// Random matrices, m x k and k x n, and their product: one party knows the left one, another one the right one.
    KnownMatrices {
        /// The party that knows the left one.
        left: usize,
        /// The party that knows the right one.
        right: usize,
        /// Bits of the ring.
        bits: u32,
        /// Rows of the left one.
        m: usize,
        /// The dimension that is summed.
        k: usize,
        /// Columns of the right one.
        n: usize,
    },
    /// Random elements a, b and their product, all of which one party knows.
    Owned {
        /// The party that knows them.
        owner: usize,
        /// The bits of the ring.
        bits: u32,
    },
    /// Random matrices, m x k and k x n, and their product, all of which one party knows.
    OwnedMatrices {
        /// The party that knows them.
        owner: usize,
        /// Bits of the ring.
        bits: u32,
        /// Rows of the left one.
        m: usize,
        /// The dimension that is summed.
        k: usize,
        /// Columns of the right one.
        n: usize,
    },
    /// A random element.
    Random {
        /// The bits of the ring.
        bits: u32,
    },
    /// A random element that its owner knows: the owner's share is the element, the others' are 0.
    Mask {
        /// The party that knows it.
        owner: usize,
        /// The bits of the ring.
        bits: u32,
    },
    /// Random bits a and b with MACs, and a AND b.
    BitTriple,
    /// A random bit with MACs that its owner knows: the owner's share is the bit, the others' are 0.
    BitMask {
        /// The party that knows it.
        owner: usize,
    },
    /// A sharing of 0 with MACs, among more than two parties, which is added to a bit that is opened.
    BitZero,
    /// A random bit with MACs that is also an element of Z_2.
    Link,
    /// A random bit as an element, and with MACs.
    DaBit {
        /// The bits of the ring.
        bits: u32,
    },
    /// A random bit as an element.
    RandomBit {
        /// The bits of the ring.
        bits: u32,
    },
    /// A random element of Z_2^bits in a ring, with its bits; and shifted right by `cut` if that is not 0.
    EdaBit {
        /// Bits of the element.
        bits: u32,
        /// The bits of the ring.
        ring: u32,
        /// The shift.
        cut: u32,
    },
    /// A random element of Z_2^bits with its bits, and the products of its lowest pairs of neighbouring bits.
    ComparisonMask {
        /// The bits of the ring.
        bits: u32,
        /// The number of pairs.
        pairs: u32,
    },
    /// Random elements a, b of `axis` x `inner` each, and their products, summed over the axis. Dealt only.
    DotTriple {
        /// The bits of the ring.
        bits: u32,
        /// The dimension that is summed.
        axis: usize,
        /// The number of sums.
        inner: usize,
    },
    /// Random matrices, m x k and k x n, and their product. Dealt only.
    MatrixTriple {
        /// Bits of the ring.
        bits: u32,
        /// Rows of the left one.
        m: usize,
        /// The dimension that is summed.
        k: usize,
        /// Columns of the right one.
        n: usize,
    },
    /// Random images and filters, and their convolution. Dealt only.
    ConvTriple {
        /// Bits of the ring.
        bits: u32,
        /// The convolution.
        conv: Conv,
    },
    /// A mask for truncation.
    TruncMask {
        /// The bits of the ring.
        bits: u32,
        /// The shift.
        cut: u32,
    },
    /// A random place in a table, as an element of Z_2^max(`place_bits`, `bits`), and keys of function secret sharing
    /// for its digits, in blocks. With `choices`, also that number of random elements, and the one among them that the
    /// upper digit of the place selects. Dealt only.
    Place {
        /// Bits of the place.
        place_bits: u32,
        /// The bits of the ring.
        bits: u32,
        /// The number of random elements.
        choices: usize,
        /// The number of pairs of blocks of 128 bits.
        blocks: usize,
    },
}

/// The ring by which blocks of keys are counted: a pair of words of 128 bits each, for any keys.
const BLOCKS: Ring = Ring::of(32);

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Kind::Triple { bits } => write!(f, "triple mod 2^{bits}"),
            Kind::OneSided { left, right, bits } => {
                write!(f, "one-sided triple of parties {left} and {right} mod 2^{bits}")
            }
            Kind::KnownMatrices { left, right, bits, m, k, n } => {
                write!(f, "matrix triple {m} x {k} x {n} of parties {left} and {right} mod 2^{bits}")
            }
            Kind::Owned { owner, bits } => write!(f, "triple of party {owner} mod 2^{bits}"),
            Kind::OwnedMatrices { owner, bits, m, k, n } => {
                write!(f, "matrix triple {m} x {k} x {n} of party {owner} mod 2^{bits}")
            }
            Kind::DotTriple { bits, axis, inner } => write!(f, "triple of sums of {axis} x {inner} mod 2^{bits}"),
            Kind::MatrixTriple { bits, m, k, n } => write!(f, "matrix triple {m} x {k} x {n} mod 2^{bits}"),
            Kind::ConvTriple { bits, conv } => write!(f, "triple of a convolution of {:?} mod 2^{bits}", conv.lens()),
            Kind::Random { bits } => write!(f, "random element mod 2^{bits}"),
            Kind::Mask { owner, bits } => write!(f, "mask of party {owner} mod 2^{bits}"),
            Kind::BitTriple => write!(f, "triple of bits"),
            Kind::BitMask { owner } => write!(f, "mask of party {owner} for a bit"),
            Kind::BitZero => write!(f, "sharing of zero for a bit"),
            Kind::Link => write!(f, "bit as an element mod 2"),
            Kind::DaBit { bits } => write!(f, "daBit mod 2^{bits}"),
            Kind::RandomBit { bits } => write!(f, "random bit mod 2^{bits}"),
            Kind::EdaBit { bits, ring, .. } => write!(f, "edaBit of {bits} bits mod 2^{ring}"),
            Kind::ComparisonMask { bits, pairs } => write!(f, "comparison mask mod 2^{bits}, bit products: {pairs}"),
            Kind::TruncMask { bits, cut } => write!(f, "truncation mask mod 2^{bits} cut at {cut}"),
            Kind::Place { place_bits, bits, .. } => write!(f, "place among 2^{place_bits}, mod 2^{bits}"),
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

impl Stored for SharedBits {
    fn part(&self, range: Range<usize>) -> Self {
        self.linear(&LinearBits::Lanes(range))
    }

    fn write_part(&mut self, start: usize, part: &Self) {
        self.update(part, &UpdateBits::Write(start));
    }
}

/// Correlations of a kind.
pub type Material = quorate_engine::Material<Tagged, SharedBits>;

impl Stocks for Authenticated {
    type Kind = Kind;
    type Vectors = Tagged;
    type Matrices = SharedBits;

    fn stock(&self) -> &Stock<Kind, Tagged, SharedBits> {
        &self.stock
    }

    fn layout(&self, kind: &Kind) -> Layout {
        let over = |bits: u32, counts: &[usize]| counts.iter().map(|&count| (Ring::of(bits), count)).collect();
        let (vectors, bits) = match *kind {
            Kind::Triple { bits } | Kind::OneSided { bits, .. } | Kind::Owned { bits, .. } => {
                (over(bits, &[1; 3]), vec![])
            }
            Kind::DotTriple { bits, axis, inner } => (over(bits, &[axis * inner, axis * inner, inner]), vec![]),
            Kind::MatrixTriple { bits, m, k, n }
            | Kind::KnownMatrices { bits, m, k, n, .. }
            | Kind::OwnedMatrices { bits, m, k, n, .. } => (over(bits, &[m * k, k * n, m * n]), vec![]),
            Kind::ConvTriple { bits, conv } => {
                let [images, filters] = conv.lens();
                (over(bits, &[images, filters, conv.len_out()]), vec![])
            }
            Kind::BitTriple => (vec![], vec![1; 3]),
            Kind::BitMask { .. } | Kind::BitZero => (vec![], vec![1]),
            Kind::Link => (over(1, &[1]), vec![1]),
            Kind::DaBit { bits } => (over(bits, &[1]), vec![1]),
            Kind::Random { bits } | Kind::Mask { bits, .. } | Kind::RandomBit { bits } => (over(bits, &[1]), vec![]),
            Kind::EdaBit { bits, ring, cut: 0 } => (over(ring, &[1]), vec![bits as usize]),
            Kind::EdaBit { bits, ring, .. } => (over(ring, &[1; 2]), vec![bits as usize]),
            Kind::ComparisonMask { bits, pairs } => (over(bits, &[1]), vec![bits as usize, pairs as usize]),
            Kind::TruncMask { bits, cut } => {
                (vec![(Ring::of(bits), 1), (Ring::of(bits), 1), (Ring::of(cut + 1), 1)], vec![])
            }
            Kind::Place { place_bits, bits, choices, blocks } => {
                let mut vectors = over(place_bits.max(bits), &[1]);
                if choices > 0 {
                    vectors.extend(over(bits, &[choices, 1]));
                }
                vectors.push((BLOCKS, blocks));
                (vectors, vec![])
            }
        };
        Layout { vectors, bits }
    }

    fn check_kind(&self, kind: &Kind) -> Result<()> {
        let Layout { vectors, .. } = self.layout(kind);
        vectors.iter().try_for_each(|&(ring, _)| self.keys.params.check_values(ring))
    }

    fn blank(&self, dry: bool, (ring, len): (Ring, usize)) -> Tagged {
        let wide = self.keys.params.shares(ring);
        let blank = if dry || self.keys.watches() { Vector::shape(wide, len) } else { Vector::zeros(wide, len) };
        Tagged { ring, share: Wiped(blank.clone()), tag: Wiped(blank), known: None }
    }

    fn blank_bits(&self, dry: bool, (rows, lanes): (usize, usize)) -> SharedBits {
        match self.has_macs() {
            true => SharedBits::macs(MacBits::blank(dry || self.keys.watches(), self.keys.parties - 1, (rows, lanes))),
            false => {
                let elements = self.blank(dry, (Ring::of(1), rows * lanes));
                SharedBits::elements(TaggedBits { rows, lanes, elements })
            }
        }
    }

    compiled_here! { Authenticated:
        fn make(s, ctx, at kind: Kind, val len: usize) -> Material { s.made(ctx, kind, len) }
        fn make_kinds(s, ctx, at totals: BTreeMap<Kind, usize>) -> BTreeMap<Kind, Material> {
            s.all_made(ctx, totals)
        }
    }
}

impl Authenticated {
    /// Has its source make correlations of one kind.
    async fn made(&self, ctx: &Ctx, kind: &Kind, len: usize) -> Result<Material> {
        self.check_kind(kind)?;
        self.source.make(self, ctx, kind, len).await
    }

    /// Has its source make correlations of several kinds.
    async fn all_made(&self, ctx: &Ctx, totals: &BTreeMap<Kind, usize>) -> Result<BTreeMap<Kind, Material>> {
        let kinds: Vec<(Kind, usize)> = totals.iter().map(|(kind, &len)| (kind.clone(), len)).collect();
        kinds.iter().try_for_each(|(kind, _)| self.check_kind(kind))?;
        let made = self.source.make_all(self, ctx, &kinds).await?;
        match made.len() == kinds.len() {
            true => Ok(kinds.into_iter().map(|(kind, _)| kind).zip(made).collect()),
            false => Err(MISCOUNTED),
        }
    }

    /// Draws random elements that their owner knows.
    pub(crate) async fn mask(&self, ctx: &Ctx, owner: usize, (ring, len): (Ring, usize)) -> Result<Tagged> {
        let [mask] = self.draw(ctx, Kind::Mask { owner, bits: ring.bits() }, len).await?.into_vectors()?;
        Ok(mask.known_to(Some(owner)))
    }

    /// Draws triples of which one party knows a, and another one knows b.
    pub(crate) async fn one_sided(
        &self,
        ctx: &Ctx,
        [of_a, of_b]: [usize; 2],
        (ring, len): (Ring, usize),
    ) -> Result<[Tagged; 3]> {
        let kind = Kind::OneSided { left: of_a.min(of_b), right: of_a.max(of_b), bits: ring.bits() };
        let [first, second, c] = self.draw(ctx, kind, len).await?.into_vectors()?;
        let (a, b) = if of_a < of_b { (first, second) } else { (second, first) };
        Ok([a.known_to(Some(of_a)), b.known_to(Some(of_b)), c])
    }

    /// Draws triples that one party knows.
    pub(crate) async fn owned(&self, ctx: &Ctx, owner: usize, (ring, len): (Ring, usize)) -> Result<[Tagged; 3]> {
        let triples = self.draw(ctx, Kind::Owned { owner, bits: ring.bits() }, len).await?.into_vectors()?;
        Ok(triples.map(|part: Tagged| part.known_to(Some(owner))))
    }

    pub(crate) async fn draw_edabits(
        &self,
        ctx: &Ctx,
        (bits, ring): (Ring, Ring),
        cut: Option<u32>,
        len: usize,
    ) -> Result<EdaBits<Tagged, SharedBits>> {
        const MISSING: Error = Error::Bug { what: "a stock of edaBits without values" };
        if cut.is_some_and(|cut| cut == 0 || cut >= ring.bits()) {
            return Err(
                Misuse::Other { what: "an edaBit must be cut above its lowest and below its highest bit" }.into()
            );
        }
        if self.keys.params.is_paper() {
            return self.edabits_from_bits(ctx, (bits, ring), cut, len).await;
        }
        let kind = Kind::EdaBit { bits: bits.bits(), ring: ring.bits(), cut: cut.unwrap_or(0) };
        let Material { vectors, mut bits } = self.draw(ctx, kind, len).await?;
        let mut vectors = vectors.into_iter();
        Ok(EdaBits { value: vectors.next().ok_or(MISSING)?, shifted: vectors.next(), bits: bits.pop().ok_or(MISSING)? })
    }

    /// Draws masks. Masks as in the paper have no products; nor do masks with too few bits for a pair.
    pub(crate) async fn draw_comparison_masks(
        &self,
        ctx: &Ctx,
        ring: Ring,
        pairs: usize,
        len: usize,
    ) -> Result<ComparisonMasks<Tagged, SharedBits>> {
        if pairs > ring.bits() as usize / 2 {
            return Err(Misuse::Other { what: "a mask has a product for each pair of its bits at most" }.into());
        }
        if pairs == 0 || self.keys.params.is_paper() {
            let EdaBits { value, bits, .. } = self.draw_edabits(ctx, (ring, ring), None, len).await?;
            return Ok(ComparisonMasks { value, bits, products: None });
        }
        let kind = Kind::ComparisonMask { bits: ring.bits(), pairs: pairs as u32 };
        let Material { vectors, bits } = self.draw(ctx, kind, len).await?;
        let (Ok([value]), Ok([bits, products])) = (<[_; 1]>::try_from(vectors), <[_; 2]>::try_from(bits)) else {
            return Err(Error::Bug { what: "a stock of masks without products" });
        };
        Ok(ComparisonMasks { value, bits, products: Some(products) })
    }

    pub(crate) async fn draw_trunc_masks(
        &self,
        ctx: &Ctx,
        ring: Ring,
        cut: u32,
        len: usize,
    ) -> Result<TruncMasks<Tagged>> {
        if cut == 0 || cut + 2 > ring.bits() {
            return Err(Misuse::Other { what: "a truncation mask must be cut above bit 0 and below bit k - 1" }.into());
        }
        if self.keys.params.is_paper() {
            return self.trunc_masks_from_bits(ctx, ring, cut, len).await;
        }
        let kind = Kind::TruncMask { bits: ring.bits(), cut };
        let [value, shifted, top] = self.draw(ctx, kind, len).await?.into_vectors()?;
        Ok(TruncMasks { value, shifted, top })
    }
}
