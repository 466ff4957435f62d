//! The stock of correlations: made in bulk before the inputs are known, or on demand.

use quorate_additive::blank;
use quorate_engine::{Ctx, Layout, Result, Stocks};
use quorate_ring::{Bits, Ring, Vector};

use crate::Share;
use crate::keys;
use crate::kind::{Kind, Material, Stock};
use crate::make::chunks;
use crate::setup::Aby;

impl Stocks for Aby {
    type Kind = Kind;
    type Vectors = Share<Vector>;
    type Matrices = Share<Bits>;

    fn stock(&self) -> &Stock {
        &self.stock
    }

    fn layout(&self, kind: &Kind) -> Layout {
        kind.layout(self.me)
    }

    /// Returns the bits of the ring of a kind; labels and keys are not ring elements.
    fn bits_of(&self, kind: &Kind) -> u32 {
        match kind {
            Kind::InputLabel | Kind::EntryLabel | Kind::GarbledAnd => 1,
            &Kind::Lookup { place_bits, bits } => bits.max(place_bits),
            &Kind::Point { place_bits } => place_bits,
            kind => kind.layout(0).vectors.iter().map(|(ring, _)| ring.bits()).max().unwrap_or(1),
        }
    }

    fn blank(&self, dry: bool, shape: (Ring, usize)) -> Share<Vector> {
        Share::of(blank(dry, shape))
    }

    fn blank_bits(&self, dry: bool, shape: (usize, usize)) -> Share<Bits> {
        Share::of(blank(dry, shape))
    }

    async fn make(&self, ctx: &Ctx, kind: &Kind, len: usize) -> Result<Material> {
        let chunks = match kind {
            &Kind::Lookup { place_bits, .. } | &Kind::Point { place_bits } => {
                keys::filling(place_bits, len, self.line_bytes.get())
            }
            kind => chunks(kind, len),
        };
        let own = kind.clone();
        let make = async move |s: &Aby, ctx: &Ctx, len: usize| s.make_chunk(ctx, &own, len).await;
        match chunks.count() {
            0 | 1 => self.make_chunk(ctx, kind, len).await,
            _ => self.make_in_chunks(ctx, kind, chunks, make).await,
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use quorate_engine::testing::parties;
    use quorate_engine::{Phase, dry};
    use quorate_gadgets::MakesAhead;
    use quorate_ring::Conv;

    use super::*;
    use crate::digits::Table;

    const LENS: [usize; 3] = [3, 70, 8];

    const GROUPS: Conv = Conv { batch: 2, groups: 2, before: [0, 1], ..Conv::plain([2, 2], [1, 2]) };

    fn kinds() -> Vec<Kind> {
        vec![
            Kind::Triple { bits: 33 },
            Kind::Triple { bits: 100 },
            Kind::MatrixTriple { bits: 20, m: 2, k: 3, n: 2 },
            Kind::ConvTriple { bits: 20, conv: GROUPS },
            Kind::BitTriple,
            Kind::BitPair,
            Kind::BitProduct { bits: 17 },
            Kind::Selection { bits: 64 },
            Kind::Tables { table: Table::Equal { bits: 16 }, sender: 0 },
            Kind::Tables { table: Table::Carry { bits: 16 }, sender: 1 },
            Kind::InputLabel,
            Kind::EntryLabel,
            Kind::Lookup { place_bits: 10, bits: 32 },
            Kind::Point { place_bits: 9 },
            Kind::Permutation { rows: 4, columns: vec![(16, 1), (32, 2)], mover: 0 },
            Kind::Permutation { rows: 4, columns: vec![(20, 1)], mover: 1 },
        ]
    }

    /// Draws each kind in turn, several times, with these numbers of correlations.
    async fn draws(aby: &Aby, ctx: &Ctx) -> Result<Vec<Vec<Material>>> {
        let mut all = Vec::new();
        for kind in kinds() {
            let mut drawn = Vec::new();
            for len in LENS {
                drawn.push(aby.draw(ctx, kind.clone(), len).await?);
            }
            all.push(drawn);
        }
        Ok(all)
    }

    /// Several draws get all that was made, in order, and nothing twice.
    #[test]
    fn draws_share_a_stock_out() {
        let total = LENS.iter().sum::<usize>();
        for me in 0..2 {
            let aby = Aby::dry(2, me).unwrap();
            aby.record_demand();
            dry::run(me, 2, Phase::Online, async |ctx| draws(&aby, ctx).await.map(drop)).unwrap();
            let demand = aby.take_demand();
            assert!(demand.totals().values().all(|&len| len == total) && demand.totals().len() == kinds().len());
            // All elements of a vector and all columns of bits are different, as far as their sizes allow.
            let element =
                |i: usize, j: usize| ((1000 * i + j) as u128).wrapping_mul(0x9e37_79b9_7f4a_7c15_f39c_c060_5ced_c835);
            let made: BTreeMap<Kind, (Vec<Vector>, Vec<Bits>)> = kinds()
                .into_iter()
                .map(|kind| {
                    let Layout { vectors, bits, .. } = kind.layout(me);
                    let values = |i: usize, count: usize| (0..count * total).map(|j| element(i, j)).collect::<Vec<_>>();
                    let vector = |(i, &(ring, count))| Vector::from_u128s(ring, &values(i, count));
                    let coin = |i: usize, j: usize| element(i, j) >> 60 & 1 == 1;
                    let rows = |(i, &rows)| {
                        Bits::from_bools(rows, total, &(0..rows * total).map(|j| coin(i, j)).collect::<Vec<_>>())
                    };
                    let vectors = vectors.iter().enumerate().map(vector).collect();
                    (kind, (vectors, bits.iter().enumerate().map(rows).collect()))
                })
                .collect();
            let shares = made.clone().into_iter().map(|(kind, (vectors, bits))| {
                let vectors = vectors.into_iter().map(Share::of).collect();
                (kind, Material::new(vectors, bits.into_iter().map(Share::of).collect()))
            });
            aby.stock().fill(demand, shares.collect());
            let (drawn, _) = dry::run(me, 2, Phase::Online, async |ctx| draws(&aby, ctx).await).unwrap();
            let mut looked_at = 0;
            for (kind, drawn) in kinds().into_iter().zip(drawn) {
                let (vectors, bits) = &made[&kind];
                for (i, whole) in vectors.iter().enumerate() {
                    let parts: Vec<u128> = drawn.iter().flat_map(|part| part.vectors[i].to_u128s()).collect();
                    assert_eq!(parts, whole.to_u128s(), "{kind} at party {me}");
                }
                for (i, whole) in bits.iter().enumerate() {
                    let parts: Vec<&Bits> = drawn.iter().map(|part| &*part.bits[i]).collect();
                    assert_eq!(Bits::concat_lanes(&parts).to_bools(), whole.to_bools(), "{kind} at party {me}");
                }
                looked_at += vectors.len() + bits.len();
            }
            assert!(looked_at > 20, "{looked_at}");
        }
    }

    /// Every bit that a party holds is 0 in some correlation and 1 in another: a constant mask would hide nothing.
    #[test]
    fn correlations_vary_in_every_bit() {
        const LEN: usize = 128; // a coin falls on one side so often with probability 2^-127
        let made = parties(2, |mut party| {
            let mut run = party.begin_alone().unwrap();
            let work = async |ctx: &Ctx| {
                let aby = Aby::setup(ctx).await?;
                let mut all = Vec::new();
                for kind in kinds() {
                    let layout = kind.layout(aby.me);
                    all.push((aby.make(ctx, &kind, LEN).await?, layout));
                }
                Ok(all)
            };
            let all = run.phase(Phase::Offline, work).unwrap();
            run.finish();
            party.leave(false);
            all
        });
        let mut looked_at = 0;
        for (me, made) in made.into_iter().enumerate() {
            for (kind, (material, layout)) in kinds().into_iter().zip(made) {
                for (i, (vector, (ring, count))) in material.vectors.iter().zip(&layout.vectors).enumerate() {
                    let values = vector.to_u128s();
                    assert_eq!(values.len(), count * LEN);
                    if matches!(kind, Kind::Permutation { mover, .. } if mover == me && i == 0) {
                        assert!(values.chunks_exact(4).any(|order| order != [0, 1, 2, 3]), "{kind}: nothing moves");
                        continue;
                    }
                    let (ever, always) = values.iter().fold((0, u128::MAX), |(or, and), v| (or | v, and & v));
                    let all_ones = u128::MAX >> (128 - ring.bits());
                    assert_eq!((ever & all_ones, always & all_ones), (all_ones, 0), "{kind}, vector {i} of party {me}");
                    looked_at += 1;
                }
                for bits in &material.bits {
                    for row in bits.to_bools().chunks_exact(LEN) {
                        assert!(row.contains(&true) && row.contains(&false), "{kind}, bits of party {me}");
                        looked_at += 1;
                    }
                }
            }
        }
        assert!(looked_at > 60, "{looked_at}");
    }
}
