//! The stock of correlations: made in bulk before the inputs are known, or on demand.

use quorate_engine::{Chunks, Ctx, EdaBits, Error, Layout, Misuse, Result, Stocks, TruncMasks, check_edabit_cut};
use quorate_gadgets::cost::cheaper;
use quorate_ring::{Bits, Ring, Vector};

use crate::cost::{self, Cost};
use crate::forms::{CorrelationForm, Made};
use crate::kind::{Kind, Material, Stock};
use crate::setup::Rss;
use crate::share::Shared;

impl Stocks for Rss {
    type Kind = Kind;
    type Vectors = Shared<Vector>;
    type Matrices = Shared<Bits>;

    fn stock(&self) -> &Stock {
        &self.stock
    }

    fn layout(&self, kind: &Kind) -> Layout {
        let (vectors, bits) = match *kind {
            Kind::RandBit { bits } => (vec![bits], None),
            Kind::EdaBit { bits, cut: 0 } => (vec![bits], Some(bits)),
            Kind::EdaBit { bits, .. } => (vec![bits; 2], Some(bits)),
            Kind::TruncMask { bits, cut } => (vec![bits, bits, cut + 1], None),
            Kind::WideEdaBit { bits, wide } => (vec![wide], Some(bits)),
        };
        Layout::new(
            vectors.into_iter().map(|bits| (Ring::of(bits), 1)).collect(),
            bits.into_iter().map(|bits| bits as usize).collect(),
        )
    }

    fn blank(&self, dry: bool, shape: (Ring, usize)) -> Shared<Vector> {
        if dry { Shared::phantom(shape, self.share_count()) } else { Shared::zeros(shape, self.share_count()) }
    }

    fn blank_bits(&self, dry: bool, shape: (usize, usize)) -> Shared<Bits> {
        if dry { Shared::phantom(shape, self.share_count()) } else { Shared::zeros(shape, self.share_count()) }
    }

    async fn make(&self, ctx: &Ctx, kind: &Kind, len: usize) -> Result<Material> {
        let form = self.form_for(*kind, len);
        let share_bytes = match (kind, form) {
            (Kind::RandBit { .. }, _) => 16 * 4,
            (Kind::EdaBit { bits, .. } | Kind::TruncMask { bits, .. } | Kind::WideEdaBit { bits, .. }, form) => {
                *bits as usize * if form == Made::OfRandomBits { 16 * 4 } else { 2 }
            }
        };
        let chunks = Chunks::of_bytes(len, share_bytes * self.share_count());
        let own = *kind;
        let make = async move |s: &Rss, ctx: &Ctx, len: usize| s.make_chunk(ctx, own, form, len).await;
        match chunks.count() {
            0 | 1 => self.make_chunk(ctx, *kind, form, len).await,
            _ => self.make_in_chunks(ctx, kind, chunks, make).await,
        }
    }

    /// Makes the correlations of one draw at once: gadgets already draw in chunks.
    async fn make_drawn(&self, ctx: &Ctx, kind: &Kind, len: usize) -> Result<Material> {
        self.make_chunk(ctx, *kind, self.form_for(*kind, len), len).await
    }
}

fn edabits(material: Material) -> Result<EdaBits<Shared<Vector>, Shared<Bits>>> {
    const MISSING: Error = Error::Bug { what: "a stock of edaBits without values" };
    let quorate_engine::Material { vectors, mut bits, .. } = material;
    let mut vectors = vectors.into_iter();
    Ok(EdaBits { value: vectors.next().ok_or(MISSING)?, shifted: vectors.next(), bits: bits.pop().ok_or(MISSING)? })
}

impl Rss {
    /// Returns how correlations of a kind are made, when `len` are made together.
    fn form_for(&self, kind: Kind, len: usize) -> Made {
        let per_party = |cost: Cost| (cost.rounds, cost.bytes / self.maps.parties as u64);
        match self.forms().correlations {
            CorrelationForm::Summands => Made::by(self.maps.parties)[0],
            CorrelationForm::Contributions => Made::OfContributions,
            CorrelationForm::RandomBits => Made::OfRandomBits,
            CorrelationForm::Cheaper(link) => {
                let forms = Made::by(self.maps.parties);
                let costs = forms.iter().map(|&form| per_party(cost::correlation(self.maps.parties, kind, form, len)));
                forms[cheaper(&costs.collect::<Vec<_>>(), link)]
            }
        }
    }

    async fn make_chunk(&self, ctx: &Ctx, kind: Kind, form: Made, len: usize) -> Result<Material> {
        let summed = form != Made::OfRandomBits;
        let edabits = match kind {
            Kind::RandBit { bits } => {
                let bits = self.make_random_bits(ctx, form, Ring::of(bits), len).await?;
                return Ok(Material::of_vectors(vec![bits]));
            }
            Kind::TruncMask { bits, cut } => {
                let ring = Ring::of(bits);
                let made = match summed {
                    true => self.make_trunc_masks(ctx, form, ring, cut, len).await?,
                    false => self.trunc_masks_of_random_bits(ctx, ring, cut, len).await?,
                };
                return Ok(Material::of_vectors(vec![made.value, made.shifted, made.top]));
            }
            Kind::EdaBit { bits, cut } => {
                let (ring, cut) = (Ring::of(bits), (cut > 0).then_some(cut));
                match summed {
                    true => self.make_edabits(ctx, form, ring, cut, len).await?,
                    false => self.edabits_of_random_bits(ctx, (ring, ring), cut, len).await?,
                }
            }
            Kind::WideEdaBit { bits, wide } => {
                let (ring, wide) = (Ring::of(bits), Ring::of(wide));
                match summed {
                    true => self.make_wide_edabits(ctx, form, ring, wide, len).await?,
                    false => self.edabits_of_random_bits(ctx, (ring, wide), None, len).await?,
                }
            }
        };
        let vectors = std::iter::once(edabits.value).chain(edabits.shifted).collect();
        Ok(Material::new(vectors, vec![edabits.bits]))
    }

    pub(crate) async fn draw_random_bits(&self, ctx: &Ctx, ring: Ring, len: usize) -> Result<Shared<Vector>> {
        let [bits] = self.draw(ctx, Kind::RandBit { bits: ring.bits() }, len).await?.into_vectors()?;
        Ok(bits)
    }

    pub(crate) async fn draw_edabits(
        &self,
        ctx: &Ctx,
        ring: Ring,
        cut: Option<u32>,
        len: usize,
    ) -> Result<EdaBits<Shared<Vector>, Shared<Bits>>> {
        check_edabit_cut(ring, cut)?;
        edabits(self.draw(ctx, Kind::EdaBit { bits: ring.bits(), cut: cut.unwrap_or(0) }, len).await?)
    }

    pub(crate) async fn draw_trunc_masks(
        &self,
        ctx: &Ctx,
        ring: Ring,
        cut: u32,
        len: usize,
    ) -> Result<TruncMasks<Shared<Vector>>> {
        if cut == 0 || cut + 2 > ring.bits() {
            return Err(Misuse::Other { what: "a truncation mask must be cut above bit 0 and below bit k - 1" }.into());
        }
        let [value, shifted, top] =
            self.draw(ctx, Kind::TruncMask { bits: ring.bits(), cut }, len).await?.into_vectors()?;
        Ok(TruncMasks { value, shifted, top })
    }

    pub(crate) async fn draw_wide_edabits(
        &self,
        ctx: &Ctx,
        ring: Ring,
        wide: Ring,
        len: usize,
    ) -> Result<EdaBits<Shared<Vector>, Shared<Bits>>> {
        if wide.bits() <= ring.bits() {
            return Err(Misuse::Other { what: "a wide edaBit needs a ring larger than its bits" }.into());
        }
        edabits(self.draw(ctx, Kind::WideEdaBit { bits: ring.bits(), wide: wide.bits() }, len).await?)
    }
}
