//! Correlations: named by kind, made in bulk before the inputs are known, or on demand.

use std::collections::BTreeMap;
use std::ops::Range;

use quorate_engine::{Chunks, Ctx, Demand, Draw, EdaBits, Error, Ledger, Misuse, Result, TruncMasks};
use quorate_gadgets::cost::cheaper;
use quorate_ring::{Bits, Ring, Vector};

use crate::cost::{self, Cost};
use crate::forms::{CorrelationForm, Made};
use crate::setup::Rss;
use crate::share::Shared;

/// The largest ring: a random bit is made two bits wider, and its square roots in a carrier word.
const MAX_BITS: u32 = 126;

/// A kind of correlation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Kind {
    /// Random bits over Z_2^bits.
    RandBit { bits: u32 },
    /// edaBits over Z_2^bits, with the value shifted right by `cut` where that is not 0.
    EdaBit { bits: u32, cut: u32 },
    /// Masks for probabilistic truncation over Z_2^bits by `cut`.
    TruncMask { bits: u32, cut: u32 },
    /// edaBits of `bits` bits whose value is over Z_2^wide.
    WideEdaBit { bits: u32, wide: u32 },
}

impl std::fmt::Display for Kind {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Kind::RandBit { bits } => write!(f, "random bit mod 2^{bits}"),
            Kind::EdaBit { bits, cut: 0 } => write!(f, "edaBit of {bits} bits"),
            Kind::EdaBit { bits, cut } => write!(f, "edaBit of {bits} bits cut at {cut}"),
            Kind::TruncMask { bits, cut } => write!(f, "truncation mask mod 2^{bits} cut at {cut}"),
            Kind::WideEdaBit { bits, wide } => write!(f, "edaBit of {bits} bits mod 2^{wide}"),
        }
    }
}

/// Correlations of one kind, element by element.
#[derive(Clone)]
pub(crate) struct Material {
    vectors: Vec<Shared<Vector>>,
    bits: Option<Shared<Bits>>,
}

/// What was made ahead, by kind.
pub(crate) type Stock = BTreeMap<Kind, Material>;

impl Material {
    fn slice(&self, range: Range<usize>) -> Material {
        Material {
            vectors: self.vectors.iter().map(|v| v.slice(range.clone())).collect(),
            bits: self.bits.as_ref().map(|b| b.map(|share| share.slice_lanes(range.clone()))),
        }
    }

    /// Overwrites the correlations from `start` on.
    fn write_at(&mut self, start: usize, part: &Material) {
        self.vectors.iter_mut().zip(&part.vectors).for_each(|(whole, part)| whole.write_at(start, part));
        if let (Some(whole), Some(part)) = (&mut self.bits, &part.bits) {
            let shares = whole.shares.iter_mut().zip(&part.shares);
            shares.for_each(|(whole, part)| whole.write_lanes_at(start, part));
        }
    }

    fn into_random_bits(mut self) -> Result<Shared<Vector>> {
        self.vectors.pop().ok_or(Error::Bug { what: "a stock of random bits without values" })
    }

    fn into_trunc_masks(mut self) -> Result<TruncMasks<Shared<Vector>>> {
        match (self.vectors.pop(), self.vectors.pop(), self.vectors.pop()) {
            (Some(top), Some(shifted), Some(value)) => Ok(TruncMasks { value, shifted, top }),
            _ => Err(Error::Bug { what: "a stock of truncation masks without values" }),
        }
    }

    fn into_edabits(mut self) -> Result<EdaBits<Shared<Vector>, Shared<Bits>>> {
        let missing = Error::Bug { what: "a stock of edaBits without values" };
        let shifted = (self.vectors.len() > 1).then(|| self.vectors.pop()).flatten();
        match (self.vectors.pop(), self.bits) {
            (Some(value), Some(bits)) => Ok(EdaBits { value, shifted, bits }),
            _ => Err(missing),
        }
    }
}

impl Rss {
    /// Starts recording the draws of a dry run.
    pub fn record_demand(&self) {
        *self.ledger.borrow_mut() = Ledger::Recording(Demand::default());
    }

    /// Ends recording.
    pub fn take_demand(&self) -> Demand<Kind> {
        self.ledger.borrow_mut().take_demand()
    }

    /// Makes everything that a program demands; afterwards its draws are served from this stock, each once.
    ///
    /// # Errors
    /// Whatever ends a run.
    pub async fn prepare(&self, ctx: &Ctx, demand: Demand<Kind>) -> Result<()> {
        let kinds: Vec<(Kind, usize)> = demand.totals().iter().map(|(&kind, &len)| (kind, len)).collect();
        *self.ledger.borrow_mut() = Ledger::OnDemand;
        let made =
            ctx.join_all(kinds.len(), async |ctx: Ctx, i| self.make_many(&ctx, kinds[i].0, kinds[i].1).await).await?;
        *self.stock.borrow_mut() = kinds.into_iter().map(|(kind, _)| kind).zip(made).collect();
        *self.ledger.borrow_mut() = Ledger::Stocked(demand);
        Ok(())
    }

    /// Throws away what was made ahead; later draws are made on demand.
    pub fn clear_stock(&self) {
        *self.ledger.borrow_mut() = Ledger::OnDemand;
        self.stock.borrow_mut().clear();
    }

    async fn make_many(&self, ctx: &Ctx, kind: Kind, len: usize) -> Result<Material> {
        let form = self.form_for(kind, len);
        let share_bytes = match (kind, form) {
            (Kind::RandBit { .. }, _) => 16 * 4,
            (Kind::EdaBit { bits, .. } | Kind::TruncMask { bits, .. } | Kind::WideEdaBit { bits, .. }, form) => {
                bits as usize * if form == Made::OfRandomBits { 16 * 4 } else { 2 }
            }
        };
        let chunks = Chunks::of_bytes(len, share_bytes * self.share_count());
        if chunks.count() <= 1 {
            return self.make(ctx, kind, form, len).await;
        }
        let mut whole = self.material(kind, len, ctx.is_dry());
        let work = async |ctx: Ctx, range: Range<usize>| self.make(&ctx, kind, form, range.len()).await;
        ctx.stream(chunks, work, |range, part| whole.write_at(range.start, &part)).await?;
        Ok(whole)
    }

    /// How correlations of a kind are made, when `len` are made together.
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

    async fn make(&self, ctx: &Ctx, kind: Kind, form: Made, len: usize) -> Result<Material> {
        let summed = form != Made::OfRandomBits;
        let edabits = match kind {
            Kind::RandBit { bits } => {
                let bits = self.make_random_bits(ctx, form, Ring::of(bits), len).await?;
                return Ok(Material { vectors: vec![bits], bits: None });
            }
            Kind::TruncMask { bits, cut } => {
                let ring = Ring::of(bits);
                let made = match summed {
                    true => self.make_trunc_masks(ctx, form, ring, cut, len).await?,
                    false => self.trunc_masks_of_random_bits(ctx, ring, cut, len).await?,
                };
                return Ok(Material { vectors: vec![made.value, made.shifted, made.top], bits: None });
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
        Ok(Material { vectors, bits: Some(edabits.bits) })
    }

    async fn draw(&self, ctx: &Ctx, kind: Kind, len: usize) -> Result<Material> {
        let (Kind::RandBit { bits }
        | Kind::EdaBit { bits, .. }
        | Kind::TruncMask { bits, .. }
        | Kind::WideEdaBit { wide: bits, .. }) = kind;
        if bits > MAX_BITS {
            return Err(Misuse::RingBits { bits }.into());
        }
        let draw = self.ledger.borrow_mut().draw(ctx, &kind, len)?;
        match draw {
            Draw::Make => Box::pin(self.make(&ctx.offline_child(), kind, self.form_for(kind, len), len)).await,
            Draw::Recorded => Ok(self.material(kind, len, true)),
            Draw::Stock(range) => match self.stock.borrow().get(&kind) {
                Some(material) => Ok(material.slice(range)),
                None => Err(Error::Exhausted { wanted: len, left: 0 }),
            },
        }
    }

    /// A place for correlations: zeros, or shapes in a dry run.
    fn material(&self, kind: Kind, len: usize, dry: bool) -> Material {
        let count = self.share_count();
        let vector = |bits: u32| {
            let shape = (Ring::of(bits), len);
            if dry { Shared::phantom(shape, count) } else { Shared::zeros(shape, count) }
        };
        let rows = |bits: u32| {
            let shape = (bits as usize, len);
            if dry { Shared::phantom(shape, count) } else { Shared::zeros(shape, count) }
        };
        let (vectors, bits) = match kind {
            Kind::RandBit { bits } => (vec![bits], None),
            Kind::EdaBit { bits, cut: 0 } => (vec![bits], Some(bits)),
            Kind::EdaBit { bits, .. } => (vec![bits; 2], Some(bits)),
            Kind::TruncMask { bits, cut } => (vec![bits, bits, cut + 1], None),
            Kind::WideEdaBit { bits, wide } => (vec![wide], Some(bits)),
        };
        Material { vectors: vectors.into_iter().map(vector).collect(), bits: bits.map(rows) }
    }

    /// Bytes that one party's share of `len` correlations takes.
    pub fn stock_bytes(&self, kind: Kind, len: usize) -> u64 {
        let packed = len.div_ceil(8) as u64;
        let elements = |bits: u32| (len * Ring::of(bits).carrier().bytes()) as u64;
        let one_share = match kind {
            Kind::RandBit { bits } => elements(bits),
            Kind::EdaBit { bits, cut } => (1 + u64::from(cut > 0)) * elements(bits) + u64::from(bits) * packed,
            Kind::TruncMask { bits, cut } => 2 * elements(bits) + elements(cut + 1),
            Kind::WideEdaBit { bits, wide } => elements(wide) + u64::from(bits) * packed,
        };
        one_share * self.share_count() as u64
    }

    pub(crate) async fn draw_random_bits(&self, ctx: &Ctx, ring: Ring, len: usize) -> Result<Shared<Vector>> {
        self.draw(ctx, Kind::RandBit { bits: ring.bits() }, len).await?.into_random_bits()
    }

    pub(crate) async fn draw_edabits(
        &self,
        ctx: &Ctx,
        ring: Ring,
        cut: Option<u32>,
        len: usize,
    ) -> Result<EdaBits<Shared<Vector>, Shared<Bits>>> {
        if cut.is_some_and(|cut| cut == 0 || cut >= ring.bits()) {
            return Err(
                Misuse::Other { what: "an edaBit must be cut above its lowest and below its highest bit" }.into()
            );
        }
        self.draw(ctx, Kind::EdaBit { bits: ring.bits(), cut: cut.unwrap_or(0) }, len).await?.into_edabits()
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
        self.draw(ctx, Kind::TruncMask { bits: ring.bits(), cut }, len).await?.into_trunc_masks()
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
        self.draw(ctx, Kind::WideEdaBit { bits: ring.bits(), wide: wide.bits() }, len).await?.into_edabits()
    }
}
