//! Correlations: named by kind, made in bulk before the inputs are known, or on demand.

use std::collections::BTreeMap;
use std::ops::Range;

use quorate_engine::{Chunks, Ctx, Demand, Draw, EdaBits, Error, Ledger, Misuse, Result};
use quorate_ring::{Bits, Ring, Vector};

use crate::setup::Rss;
use crate::share::Shared;

/// The largest ring: a random bit is made two bits wider, and its square roots in a carrier word.
const MAX_BITS: u32 = 64;

/// A kind of correlation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Kind {
    /// Random bits over Z_2^bits.
    RandBit { bits: u32 },
    /// edaBits over Z_2^bits, with the value shifted right by `cut` where that is not 0.
    EdaBit { bits: u32, cut: u32 },
}

impl std::fmt::Display for Kind {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Kind::RandBit { bits } => write!(f, "random bit mod 2^{bits}"),
            Kind::EdaBit { bits, cut: 0 } => write!(f, "edaBit of {bits} bits"),
            Kind::EdaBit { bits, cut } => write!(f, "edaBit of {bits} bits cut at {cut}"),
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

    fn concat(parts: &[Material]) -> Option<Material> {
        let first = parts.first()?;
        let vectors = (0..first.vectors.len())
            .map(|v| {
                let shares = (0..first.vectors[v].shares.len())
                    .map(|s| Vector::concat(&parts.iter().map(|p| &p.vectors[v].shares[s]).collect::<Vec<_>>()));
                let shares: Vec<Vector> = shares.collect();
                Shared::new((shares[0].ring(), shares[0].len()), shares)
            })
            .collect();
        let bits = first.bits.as_ref().map(|bits| {
            let shares = (0..bits.shares.len()).map(|s| {
                let parts: Vec<&Bits> = parts.iter().filter_map(|p| p.bits.as_ref()).map(|b| &b.shares[s]).collect();
                Bits::concat_lanes(&parts)
            });
            let shares: Vec<Bits> = shares.collect();
            Shared::new((shares[0].rows(), shares[0].lanes()), shares)
        });
        Some(Material { vectors, bits })
    }

    fn into_random_bits(mut self) -> Result<Shared<Vector>> {
        self.vectors.pop().ok_or(Error::Bug { what: "a stock of random bits without values" })
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
        if len == 0 {
            return self.make(ctx, kind, len).await;
        }
        let bytes_per_element = match kind {
            Kind::RandBit { .. } => 16 * 4 * self.share_count(),
            Kind::EdaBit { bits, .. } => bits as usize * 2 * self.share_count(),
        };
        let mut parts = Vec::new();
        let work = async |ctx: Ctx, range: Range<usize>| self.make(&ctx, kind, range.len()).await;
        ctx.stream(Chunks::of_bytes(len, bytes_per_element), work, |_, part| parts.push(part)).await?;
        if parts.len() == 1 {
            return Ok(parts.remove(0));
        }
        Material::concat(&parts).ok_or(Error::Bug { what: "an empty demand" })
    }

    async fn make(&self, ctx: &Ctx, kind: Kind, len: usize) -> Result<Material> {
        match kind {
            Kind::RandBit { bits } => {
                let bits = self.make_random_bits(ctx, Ring::of(bits), len).await?;
                Ok(Material { vectors: vec![bits], bits: None })
            }
            Kind::EdaBit { bits, cut } => {
                let made = self.make_edabits(ctx, Ring::of(bits), (cut > 0).then_some(cut), len).await?;
                let vectors = std::iter::once(made.value).chain(made.shifted).collect();
                Ok(Material { vectors, bits: Some(made.bits) })
            }
        }
    }

    async fn draw(&self, ctx: &Ctx, kind: Kind, len: usize) -> Result<Material> {
        let (Kind::RandBit { bits } | Kind::EdaBit { bits, .. }) = kind;
        if bits > MAX_BITS {
            return Err(Misuse::RingBits { bits }.into());
        }
        let draw = self.ledger.borrow_mut().draw(ctx, &kind, len)?;
        match draw {
            Draw::Make => Box::pin(self.make(&ctx.offline_child(), kind, len)).await,
            Draw::Recorded => Ok(self.phantom(kind, len)),
            Draw::Stock(range) => match self.stock.borrow().get(&kind) {
                Some(material) => Ok(material.slice(range)),
                None => Err(Error::Exhausted { wanted: len, left: 0 }),
            },
        }
    }

    fn phantom(&self, kind: Kind, len: usize) -> Material {
        let count = self.share_count();
        let vector = |bits| Shared::phantom((Ring::of(bits), len), count);
        match kind {
            Kind::RandBit { bits } => Material { vectors: vec![vector(bits)], bits: None },
            Kind::EdaBit { bits, cut } => Material {
                vectors: (0..1 + usize::from(cut > 0)).map(|_| vector(bits)).collect(),
                bits: Some(Shared::phantom((bits as usize, len), count)),
            },
        }
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
}
