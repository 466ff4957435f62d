//! The stock of correlations: dealt in bulk before the inputs are known, or on demand.

use std::collections::BTreeMap;

use quorate_additive::blank;
use quorate_engine::{Ctx, Layout, Result, Stocks};
use quorate_ring::{Bits, Ring, Vector};

use crate::kind::{Kind, Material, Stock};
use crate::setup::Pika;
use crate::share::Share;

impl Stocks for Pika {
    type Kind = Kind;
    type Vectors = Share<Vector>;
    type Matrices = Share<Bits>;

    fn stock(&self) -> &Stock {
        &self.stock
    }

    fn layout(&self, kind: &Kind) -> Layout {
        kind.layout(self.me)
    }

    /// Returns the bits of the ring of a kind; an edaBit in a larger ring counts with that ring.
    fn bits_of(&self, kind: &Kind) -> u32 {
        match kind {
            Kind::WideEdaBit { wide, .. } => *wide,
            // A node of a tree is not an element.
            Kind::Lookup { bits, .. } => *bits,
            Kind::Point { .. } => 1,
            Kind::SignKey { bits } | Kind::FloorKeys { bits, .. } | Kind::BoundedFloorKey { bits, .. } => *bits,
            kind => kind.layout(0).vectors.iter().map(|(ring, _)| ring.bits()).max().unwrap_or(1),
        }
    }

    fn blank(&self, dry: bool, shape: (Ring, usize)) -> Share<Vector> {
        Share::of(blank(dry || self.deals(), shape))
    }

    fn blank_bits(&self, dry: bool, shape: (usize, usize)) -> Share<Bits> {
        Share::of(blank(dry || self.deals(), shape))
    }

    /// Makes masks of factors first: other kinds follow from them. Masks take no message.
    async fn make_kinds(&self, ctx: &Ctx, totals: &BTreeMap<Kind, usize>) -> Result<BTreeMap<Kind, Material>> {
        let (masks, others): (Vec<_>, Vec<_>) =
            totals.iter().partition(|(kind, _)| matches!(kind, Kind::FactorMask { .. }));
        let mut made = BTreeMap::new();
        for (kind, &len) in masks {
            made.insert(kind.clone(), self.make(ctx, kind, len).await?);
        }
        let make = async |ctx: Ctx, i: usize| self.make(&ctx, others[i].0, *others[i].1).await;
        let rest = ctx.join_all(others.len(), make).await?;
        made.extend(others.iter().map(|(kind, _)| (*kind).clone()).zip(rest));
        Ok(made)
    }

    async fn make(&self, ctx: &Ctx, kind: &Kind, len: usize) -> Result<Material> {
        let chunks = kind.chunks(len);
        let own = kind.clone();
        let make = async move |s: &Pika, ctx: &Ctx, len: usize| s.deal(ctx, &own, len).await;
        match chunks.count() {
            0 | 1 => self.deal(ctx, kind, len).await,
            _ => self.make_in_chunks(ctx, kind, chunks, make).await,
        }
    }
}
