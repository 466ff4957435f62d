//! Correlations: named by kind, made in bulk before the inputs are known, or on demand.

use std::collections::BTreeMap;
use std::ops::Range;

use quorate_engine::{Ctx, Demand, Draw, Error, Ledger, Misuse, Result};
use quorate_ring::{Bits, Ring, Vector};

use crate::digits::Table;
use crate::make::chunks;
use crate::setup::Aby;
use crate::share::{Share, blank};
use crate::yao::{GARBLER, LABEL_BITS};

/// The largest ring.
pub(crate) const MAX_BITS: u32 = 126;

/// A kind of correlation. Where it says shares, both parties' add up (bits: xor up) to what is meant.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Kind {
    /// Shares of a, b and a b over Z_2^bits.
    Triple { bits: u32 },
    /// Shares of a (m x k), b (k x n) and their matrix product over Z_2^bits.
    MatrixTriple { bits: u32, m: usize, k: usize, n: usize },
    /// Shares of bits a, b and a b.
    BitTriple,
    /// Shares of bits a, b, b' and a b, a b'.
    BitPair,
    /// A bit of each party's, and shares of their product over Z_2^bits.
    BitProduct { bits: u32 },
    /// Shares of a bit b over Z_2 and Z_2^bits, of a, and of a b over Z_2^bits.
    Selection { bits: u32 },
    /// Random tables at `sender`, and one entry of each at the other, who knows which.
    Tables { table: Table, sender: usize },
    /// A block of party 0's, and at party 1 a bit and the same block, or where the bit is set the one that differs from
    /// it by what the labels of 0 and 1 differ by: an input of a garbled circuit.
    InputLabel,
    /// A block of party 0's: the label of 0 of what enters a circuit that is garbled ahead.
    EntryLabel,
    /// The table of an AND that is garbled ahead.
    GarbledAnd,
    /// A permutation of `rows` rows that `mover` knows, and shares of where it moves a mask that the other knows; a row
    /// has so many elements of so many bits, column by column.
    Permutation { rows: usize, columns: Vec<(u32, usize)>, mover: usize },
}

impl std::fmt::Display for Kind {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Kind::Triple { bits } => write!(f, "triple mod 2^{bits}"),
            Kind::MatrixTriple { bits, m, k, n } => write!(f, "matrix triple {m} x {k} x {n} mod 2^{bits}"),
            Kind::BitTriple => f.write_str("bit triple"),
            Kind::BitPair => f.write_str("pair of bit triples"),
            Kind::BitProduct { bits } => write!(f, "product of two parties' bits mod 2^{bits}"),
            Kind::Selection { bits } => write!(f, "selection mod 2^{bits}"),
            Kind::Tables { table, sender } => write!(f, "{table}, sent by party {sender}"),
            Kind::InputLabel => f.write_str("label of an input"),
            Kind::EntryLabel => f.write_str("label to send"),
            Kind::GarbledAnd => f.write_str("garbled AND"),
            Kind::Permutation { rows, mover, .. } => write!(f, "permutation of {rows} rows by party {mover}"),
        }
    }
}

/// What one party holds of one correlation of a kind.
pub(crate) struct Layout {
    /// Vectors, by ring and elements of one correlation.
    pub vectors: Vec<(Ring, usize)>,
    /// Matrices of bits, by rows; a correlation is a lane.
    pub bits: Vec<usize>,
}

impl Kind {
    /// What party `me` holds of one correlation.
    pub(crate) fn layout(&self, me: usize) -> Layout {
        let over = |bits: u32, counts: &[usize]| counts.iter().map(|&count| (Ring::of(bits), count)).collect();
        let (vectors, bits) = match self {
            Kind::Triple { bits } => (over(*bits, &[1; 3]), vec![]),
            &Kind::MatrixTriple { bits, m, k, n } => (over(bits, &[m * k, k * n, m * n]), vec![]),
            Kind::BitTriple => (vec![], vec![1; 3]),
            Kind::BitPair => (vec![], vec![1, 2, 2]),
            Kind::BitProduct { bits } => (over(*bits, &[1]), vec![1]),
            Kind::Selection { bits } => (over(*bits, &[1; 3]), vec![1]),
            Kind::Tables { table, sender } if *sender == me => (vec![], vec![table.entry_bits()]),
            Kind::Tables { table, .. } => (vec![], vec![table.choice_bits(), table.value_bits()]),
            Kind::InputLabel => (over(LABEL_BITS, &[1]), if me == GARBLER { vec![] } else { vec![1] }),
            Kind::EntryLabel => (if me == GARBLER { over(LABEL_BITS, &[1]) } else { vec![] }, vec![]),
            Kind::GarbledAnd => (over(LABEL_BITS, &[2]), vec![]),
            Kind::Permutation { rows, columns, mover } => {
                let masks = columns.iter().map(|&(bits, width)| (Ring::of(bits), rows * width));
                match *mover == me {
                    true => (std::iter::once((Ring::of(32), *rows)).chain(masks).collect(), vec![]),
                    false => (masks.clone().chain(masks).collect(), vec![]),
                }
            }
        };
        Layout { vectors, bits }
    }

    /// The largest ring among its vectors.
    fn most_bits(&self) -> u32 {
        self.layout(0).vectors.iter().map(|(ring, _)| ring.bits()).max().unwrap_or(1)
    }
}

impl Layout {
    /// Bytes of so many correlations.
    fn bytes(&self, len: usize) -> usize {
        let vectors = self.vectors.iter().map(|(ring, count)| ring.carrier().bytes().saturating_mul(*count));
        let bits = self.bits.iter().map(|rows| rows * len.div_ceil(8));
        vectors.sum::<usize>().saturating_mul(len) + bits.sum::<usize>()
    }
}

/// Correlations of one kind, one after the other.
pub(crate) struct Material {
    pub vectors: Vec<Share<Vector>>,
    pub bits: Vec<Share<Bits>>,
}

/// What was made ahead, by kind.
pub(crate) type Stock = BTreeMap<Kind, Material>;

impl Material {
    fn blank(ctx: &Ctx, layout: &Layout, len: usize) -> Material {
        let vector = |&(ring, count): &(Ring, usize)| Share(blank(ctx, (ring, count * len)));
        Material {
            vectors: layout.vectors.iter().map(vector).collect(),
            bits: layout.bits.iter().map(|&rows| Share(blank(ctx, (rows, len)))).collect(),
        }
    }

    fn slice(&self, layout: &Layout, range: Range<usize>) -> Material {
        let vector = |(vector, (_, count)): (&Share<Vector>, &(Ring, usize))| {
            vector.map(|v| v.slice(range.start * count..range.end * count))
        };
        Material {
            vectors: self.vectors.iter().zip(&layout.vectors).map(vector).collect(),
            bits: self.bits.iter().map(|bits| bits.map(|b| b.slice_lanes(range.clone()))).collect(),
        }
    }

    /// Overwrites the correlations from `start` on.
    fn write_at(&mut self, layout: &Layout, start: usize, part: &Material) {
        for ((whole, part), (_, count)) in self.vectors.iter_mut().zip(&part.vectors).zip(&layout.vectors) {
            whole.write_at(start * count, part);
        }
        self.bits.iter_mut().zip(&part.bits).for_each(|(whole, part)| whole.write_lanes_at(start, part));
    }

    pub(crate) fn into_vectors<const N: usize>(self) -> Result<[Share<Vector>; N]> {
        self.vectors.try_into().map_err(|_| MISSING)
    }

    pub(crate) fn into_bits<const N: usize>(self) -> Result<[Share<Bits>; N]> {
        self.bits.try_into().map_err(|_| MISSING)
    }
}

pub(crate) const MISSING: Error = Error::Bug { what: "a stock lacks a part of its correlations" };

impl Aby {
    /// Starts recording the draws of a dry run.
    pub fn record_demand(&self) {
        self.garbled.clear();
        *self.ledger.borrow_mut() = Ledger::Recording(Demand::default());
    }

    /// Ends recording.
    pub fn take_demand(&self) -> Demand<Kind> {
        self.ledger.borrow_mut().take_demand()
    }

    /// Makes everything that a program demands, but for circuits, which [`Aby::garble_ahead`] garbles; afterwards its
    /// draws are served from this stock, each once.
    ///
    /// # Errors
    /// Whatever ends a run.
    pub async fn prepare(&self, ctx: &Ctx, demand: Demand<Kind>) -> Result<()> {
        let kinds: Vec<(Kind, usize)> = demand.totals().iter().map(|(kind, &len)| (kind.clone(), len)).collect();
        *self.ledger.borrow_mut() = Ledger::OnDemand;
        let made =
            ctx.join_all(kinds.len(), async |ctx: Ctx, i| self.make_many(&ctx, &kinds[i].0, kinds[i].1).await).await?;
        *self.stock.borrow_mut() = kinds.into_iter().map(|(kind, _)| kind).zip(made).collect();
        *self.ledger.borrow_mut() = Ledger::Stocked(demand);
        Ok(())
    }

    /// Throws away what was made ahead; later draws are made on demand.
    pub fn clear_stock(&self) {
        *self.ledger.borrow_mut() = Ledger::OnDemand;
        self.stock.borrow_mut().clear();
        self.garbled.clear();
    }

    /// **Insecure**: serves the draws of a rehearsal from these vectors and matrices of bits, for tests that enumerate
    /// all correlations.
    #[cfg(feature = "testing")]
    pub fn insecure_stock(&self, demand: Demand<Kind>, made: BTreeMap<Kind, (Vec<Vector>, Vec<Bits>)>) {
        let stock = made.into_iter().map(|(kind, (vectors, bits))| {
            let (vectors, bits) = (vectors.into_iter().map(Share).collect(), bits.into_iter().map(Share).collect());
            (kind, Material { vectors, bits })
        });
        *self.stock.borrow_mut() = stock.collect();
        *self.ledger.borrow_mut() = Ledger::Stocked(demand);
    }

    /// Bytes that one party's share of `len` correlations takes, the larger of both, so that both decide alike by it.
    pub fn stock_bytes(&self, kind: &Kind, len: usize) -> u64 {
        (0..2).map(|me| kind.layout(me).bytes(len) as u64).fold(0, u64::max)
    }

    async fn make_many(&self, ctx: &Ctx, kind: &Kind, len: usize) -> Result<Material> {
        let chunks = chunks(kind, len);
        if chunks.count() <= 1 {
            return self.make(ctx, kind, len).await;
        }
        let layout = kind.layout(self.me);
        let mut whole = Material::blank(ctx, &layout, len);
        let work = async |ctx: Ctx, range: Range<usize>| self.make(&ctx, kind, range.len()).await;
        ctx.stream(chunks, work, |range, part| whole.write_at(&layout, range.start, &part)).await?;
        Ok(whole)
    }

    /// `len` correlations of a kind.
    pub(crate) async fn draw(&self, ctx: &Ctx, kind: Kind, len: usize) -> Result<Material> {
        let bits = kind.most_bits();
        if bits > MAX_BITS && !matches!(kind, Kind::InputLabel | Kind::EntryLabel) {
            return Err(Misuse::RingBits { bits }.into());
        }
        let layout = kind.layout(self.me);
        let draw = self.ledger.borrow_mut().draw(ctx, &kind, len)?;
        match draw {
            Draw::Make => Box::pin(self.make_many(&ctx.offline_child(), &kind, len)).await,
            Draw::Recorded => Ok(Material::blank(ctx, &layout, len)),
            Draw::Stock(range) => match self.stock.borrow().get(&kind) {
                Some(material) => Ok(material.slice(&layout, range)),
                None => Err(Error::Exhausted { wanted: len, left: 0 }),
            },
        }
    }
}

#[cfg(test)]
mod tests {
    use quorate_engine::testing::parties;
    use quorate_engine::{Phase, dry};

    use super::*;

    const LENS: [usize; 3] = [3, 70, 8];

    fn kinds() -> Vec<Kind> {
        vec![
            Kind::Triple { bits: 33 },
            Kind::Triple { bits: 100 },
            Kind::MatrixTriple { bits: 20, m: 2, k: 3, n: 2 },
            Kind::BitTriple,
            Kind::BitPair,
            Kind::BitProduct { bits: 17 },
            Kind::Selection { bits: 64 },
            Kind::Tables { table: Table::Equal { bits: 16 }, sender: 0 },
            Kind::Tables { table: Table::Carry { bits: 16 }, sender: 1 },
            Kind::InputLabel,
            Kind::EntryLabel,
            Kind::Permutation { rows: 4, columns: vec![(16, 1), (32, 2)], mover: 0 },
            Kind::Permutation { rows: 4, columns: vec![(20, 1)], mover: 1 },
        ]
    }

    /// Draws of each kind in turn, of so many correlations each.
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
            // No two elements of a vector and no two columns of bits are alike, as far as their sizes allow.
            let element =
                |i: usize, j: usize| ((1000 * i + j) as u128).wrapping_mul(0x9e37_79b9_7f4a_7c15_f39c_c060_5ced_c835);
            let made: BTreeMap<Kind, (Vec<Vector>, Vec<Bits>)> = kinds()
                .into_iter()
                .map(|kind| {
                    let Layout { vectors, bits } = kind.layout(me);
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
            aby.insecure_stock(demand, made.clone());
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

    /// Every bit of what a party holds is 0 in some correlation and 1 in another: a mask that is not drawn hides
    /// nothing.
    #[test]
    fn what_is_made_varies_in_every_bit() {
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
