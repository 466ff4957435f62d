//! The making of correlations, from oblivious transfer.
//!
//! **Source**: aby, section III-A5 and III-B2 (triples), and the sources of the users of each kind. **Model**:
//! semi-honest, 1 of 2.

use quorate_additive::stock::one_after_the_other;
use quorate_engine::{Chunks, Ctx, Result, Sharing};
use quorate_gadgets::convert::signs;
use quorate_ring::{Ring, Vector};

use crate::Share;
use crate::keys;
use crate::kind::{Kind, Material};
use crate::setup::Aby;

type A = Share<Vector>;
type B = Share<quorate_ring::Bits>;

/// The number of transfers that are made in one piece.
const CHUNK_TRANSFERS: usize = 1 << 18;
/// The largest number of bits of a ring whose triples come from the transfers' own products.
const WORD_BITS: u32 = 64;

/// Returns the chunks of a kind that are made together, unless the transfers decide that.
pub(crate) fn chunks(kind: &Kind, len: usize) -> Chunks {
    let lanes = |transfers: usize| (CHUNK_TRANSFERS / transfers / 512 * 512).max(512);
    let (chunk, window) = match kind {
        &Kind::Lookup { place_bits, .. } | &Kind::Point { place_bits } => return keys::chunks(place_bits, len),
        Kind::Triple { bits } if *bits <= WORD_BITS => (len, 1),
        Kind::BitTriple | Kind::BitPair | Kind::EntryLabel | Kind::GarbledAnd => (len, 1),
        Kind::Triple { bits } => (lanes(*bits as usize), 2),
        Kind::MatrixTriple { .. } | Kind::ConvTriple { .. } | Kind::Permutation { .. } => (1, 1),
        Kind::BitProduct { .. } | Kind::InputLabel => (lanes(1), 4),
        Kind::Selection { .. } => (lanes(3), 4),
        Kind::Tables { table, .. } => (lanes(table.choice_bits()), 4),
    };
    Chunks { len, chunk, window }
}

impl Aby {
    pub(crate) async fn make_chunk(&self, ctx: &Ctx, kind: &Kind, len: usize) -> Result<Material> {
        match kind {
            Kind::Triple { bits } if *bits <= WORD_BITS => self.make_word_triples(ctx, Ring::of(*bits), len).await,
            Kind::Triple { bits } => self.make_wide_triples(ctx, Ring::of(*bits), len).await,
            &Kind::MatrixTriple { bits, m, k, n } => {
                let make = async || self.make_matrix_triple(ctx, Ring::of(bits), (m, k, n)).await;
                in_turn(ctx, len, make).await
            }
            &Kind::ConvTriple { bits, conv } => {
                in_turn(ctx, len, async || self.make_conv_triple(ctx, Ring::of(bits), &conv).await).await
            }
            Kind::BitTriple => {
                let made = self.ot.bit_triples(ctx, 1, len).await?;
                Ok(Material::of_bits([made.a, made.b, made.c].map(|b| Share::of(b.into_inner())).into()))
            }
            Kind::BitPair => {
                let made = self.ot.select_triples(ctx, 2, len).await?;
                Ok(Material::of_bits([made.a, made.b, made.c].map(|b| Share::of(b.into_inner())).into()))
            }
            Kind::BitProduct { bits } => {
                let own = self.own_bits(ctx, len);
                let product = self.private_products(ctx, &own, Ring::of(*bits)).await?;
                Ok(Material::new(vec![product], vec![own]))
            }
            Kind::Selection { bits } => self.make_selections(ctx, Ring::of(*bits), len).await,
            &Kind::Tables { table, sender } if sender == self.me => self.make_tables(ctx, table, len).await,
            Kind::Tables { table, .. } => self.take_tables(ctx, *table, len).await,
            Kind::InputLabel => self.make_input_labels(ctx, len).await,
            Kind::EntryLabel => Ok(self.make_entry_labels(ctx, len)),
            Kind::GarbledAnd => Ok(Material::new(vec![], vec![])),
            &Kind::Lookup { place_bits, bits } => self.make_points(ctx, place_bits, Some(bits), len).await,
            &Kind::Point { place_bits } => self.make_points(ctx, place_bits, None, len).await,
            Kind::Permutation { rows, columns, mover } => {
                in_turn(ctx, len, async || self.make_permutation(ctx, *rows, columns, *mover).await).await
            }
        }
    }

    async fn make_word_triples(&self, ctx: &Ctx, ring: Ring, len: usize) -> Result<Material> {
        let made = self.ot.triples(ctx, ring, len).await?;
        Ok(Material::of_vectors([made.a, made.b, made.c].map(|v| Share::of(v.into_inner())).into()))
    }

    fn own_bits(&self, ctx: &Ctx, len: usize) -> B {
        Share::of(ctx.randomness().stream(&self.private).draw((1, len)))
    }

    /// Returns shares of the products of a bit of each party; each party chooses in one half of the lanes.
    async fn private_products(&self, ctx: &Ctx, own: &B, ring: Ring) -> Result<A> {
        let cut = own.lanes().div_ceil(2);
        let halves = [0..cut, cut..own.lanes()];
        let part = |which: usize| own.map(|bits| bits.slice_lanes(halves[which].clone()));
        let (sent, chosen) = (part(self.me), part(1 - self.me));
        let (of_sent, of_chosen) = self.both_products(ctx, &sent.map(|b| b.to_vector(ring)), &chosen).await?;
        let parts = if self.me == 0 { [&*of_sent, &*of_chosen] } else { [&*of_chosen, &*of_sent] };
        Ok(Share::of(Vector::concat(&parts)))
    }

    /// Returns shares of this party's elements times the other's bits, and of this party's bits times the other's
    /// elements.
    async fn both_products(&self, ctx: &Ctx, elements: &A, bits: &B) -> Result<(A, A)> {
        let ring = elements.ring();
        let send = async |ctx: Ctx| match elements.len() {
            0 => Ok(elements.clone()),
            _ => Ok(Share::of(self.ot.send_bit_products(&ctx, elements).await?)),
        };
        let choose = async |ctx: Ctx| match bits.lanes() {
            0 => Ok(bits.map(|bits| bits.to_vector(ring))),
            _ => Ok(Share::of(self.ot.receive_bit_products(&ctx, bits, ring).await?)),
        };
        self.ot.both(ctx, send, choose).await
    }

    /// Makes selections. For shared b and a, b a is the sum over both parties of (b_own + b_other (1 - 2 b_own)) a_own;
    /// b over the ring is b_0 + b_1 - 2 b_0 b_1.
    async fn make_selections(&self, ctx: &Ctx, ring: Ring, len: usize) -> Result<Material> {
        let bit = self.own_bits(ctx, len);
        let a: A = Share::of(ctx.randomness().stream(&self.private).draw((ring, len)));
        let b = bit.map(|bit| bit.to_vector(ring));
        let mut signed = a.clone();
        signed.mul_assign(&signs(&bit, ring));
        let both = async |ctx: Ctx| self.both_products(&ctx, &signed, &bit).await;
        let crossed = async |ctx: Ctx| self.private_products(&ctx, &bit, ring).await;
        let ((of_sent, of_chosen), mut twice) = ctx.join(both, crossed).await?;
        let mut product = self.add(&of_sent, &of_chosen);
        product.add_mul_assign(&b, &a);
        twice.shl(1);
        Ok(Material::new(vec![self.sub(&b, &twice), a, product], vec![bit]))
    }

    /// Makes triples over rings of more than a word: bit by bit of a, each bit times b over the bits above it.
    async fn make_wide_triples(&self, ctx: &Ctx, ring: Ring, len: usize) -> Result<Material> {
        let mut own = ctx.randomness().stream(&self.private);
        let [a, b]: [A; 2] = [0, 1].map(|_| Share::of(own.draw((ring, len))));
        let bits = a.map(|a| a.to_bits(0..ring.bits()));
        let of_bit = async |ctx: Ctx, j: usize| {
            let narrow = Ring::of(ring.bits() - j as u32);
            let (sent, chosen) =
                self.both_products(&ctx, &b.map(|b| b.convert(narrow)), &bits.map(|bits| bits.row(j))).await?;
            Ok(self.add(&sent, &chosen))
        };
        let products = ctx.join_all(ring.bits() as usize, of_bit).await?;
        let mut c = a.clone();
        c.mul_assign(&b);
        for (j, product) in (0..).zip(&products) {
            let mut weighted = product.map(|p| p.convert(ring));
            weighted.shl(j);
            c.add_assign(&weighted);
        }
        Ok(Material::of_vectors(vec![a, b, c]))
    }
}

/// Makes `len` correlations, one after the other.
async fn in_turn(ctx: &Ctx, len: usize, make: impl AsyncFn() -> Result<Material>) -> Result<Material> {
    if len == 1 {
        return make().await;
    }
    Ok(one_after_the_other(&ctx.in_turn(len, 1, async |_| make().await).await?.all()))
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use quorate_engine::{Costs, Phase, Stocks, dry};
    use quorate_ring::meter::{Effort, Kernel, charged};
    use quorate_ring::{Conv, Module};

    use super::*;

    /// Returns the costs of making correlations, by party, and the work of both. Party 1 starts after three rounds.
    fn made(kind: &Kind, len: usize, figures: bool) -> (Vec<Costs>, Effort) {
        let before = charged();
        let make = async |ctx: &Ctx| {
            if figures {
                ctx.count_alike();
            }
            let aby = Aby::dry(2, ctx.me())?;
            let made = aby.make_kinds(ctx, &BTreeMap::from([(kind.clone(), len)])).await?;
            let layout = aby.layout(kind);
            let lens: Vec<_> = made[kind].vectors.iter().map(|vector| vector.shape_of()).collect();
            let wanted: Vec<_> = layout.vectors.iter().map(|&(ring, count)| (ring, len * count)).collect();
            assert_eq!(lens, wanted, "{kind}");
            Ok(())
        };
        let done = dry::together(&[0, 3], Phase::Offline, make).unwrap();
        (done.into_iter().map(|(_, costs)| costs).collect(), charged() - before)
    }

    #[test]
    fn figures_are_those_of_all_chunks() {
        let bits = 64;
        let conv = Conv { batch: 6, channels: 2, filters: 3, ..Conv::plain([20, 30], [3, 3]) };
        let columns = vec![(bits, 1), (8, 3)];
        let kinds = [
            (Kind::Triple { bits }, 50_000),
            (Kind::Triple { bits: 100 }, 20_000),
            (Kind::BitTriple, 3_000_000),
            // Rows of one block, several to a block, and with a rest.
            (Kind::MatrixTriple { bits, m: 7, k: 3000, n: 5 }, 1),
            (Kind::MatrixTriple { bits, m: 200, k: 12, n: 300 }, 1),
            (Kind::MatrixTriple { bits: 20, m: 60, k: 9, n: 5000 }, 1),
            (Kind::MatrixTriple { bits, m: 9, k: 8, n: 7 }, 12),
            (Kind::ConvTriple { bits, conv }, 1),
            (Kind::Permutation { rows: 60_000, columns: columns.clone(), mover: 0 }, 1),
            (Kind::Permutation { rows: 100, columns, mover: 1 }, 9),
        ];
        for (kind, len) in kinds {
            let [(all, work), (once, counted)] = [false, true].map(|figures| made(&kind, len, figures));
            assert_eq!(once, all, "{kind}");
            for kernel in Kernel::ALL {
                let [all, once] = [work, counted].map(|effort| effort.of(kernel));
                assert!(once.abs_diff(all) <= all / 20, "{once} of {all} {kernel:?}, {kind}");
            }
        }
    }
}
