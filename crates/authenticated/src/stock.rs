//! Correlations: where they are stored, and who makes them.

use std::collections::BTreeMap;
use std::ops::Range;

use quorate_engine::{
    ComparisonMasks, Ctx, EdaBits, Error, Layout, Linear, LinearBits, Misuse, Result, Stock, Stocks, Stored,
    TruncMasks, Update, UpdateBits, check_edabit_cut,
};
use quorate_gadgets::compiled_here;
use quorate_ring::{Ring, Vector, Wiped};

use crate::bits::TaggedBits;
use crate::forms::SharedBits;
use crate::kind::{Kind, Material};
use crate::macs::MacBits;
use crate::party::Authenticated;
use crate::source::MISCOUNTED;
use crate::tagged::Tagged;

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

impl Stocks for Authenticated {
    type Kind = Kind;
    type Vectors = Tagged;
    type Matrices = SharedBits;

    fn stock(&self) -> &Stock<Kind, Tagged, SharedBits> {
        &self.stock
    }

    fn layout(&self, kind: &Kind) -> Layout {
        kind.layout()
    }

    fn check_kind(&self, kind: &Kind) -> Result<()> {
        let Layout { vectors, .. } = kind.layout();
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
        check_edabit_cut(ring, cut)?;
        if self.keys.params.is_paper() {
            return self.edabits_from_bits(ctx, (bits, ring), cut, len).await;
        }
        let kind = Kind::EdaBit { bits: bits.bits(), ring: ring.bits(), cut: cut.unwrap_or(0) };
        let Material { vectors, mut bits, .. } = self.draw(ctx, kind, len).await?;
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
        let Material { vectors, bits, .. } = self.draw(ctx, kind, len).await?;
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
