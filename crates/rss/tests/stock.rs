//! Tests that correlations made ahead are drawn once, each element of them.

use std::collections::BTreeSet;

use crate::common::*;
use quorate_crypto::Seed;
use quorate_engine::testing::parties;
use quorate_engine::{Ctx, EdaBits, Phase, Result, Sharing, TruncMasks};
use quorate_ring::Ring;
use quorate_rss::Rss;

const RING: Ring = Ring::of(40);

/// Correlations of every kind: vectors by kind, and bits.
struct Drawn {
    vectors: Vec<Vec<A>>,
    bits: Vec<B>,
}

async fn draw(rss: &Rss, ctx: &Ctx, len: usize) -> Result<Drawn> {
    let parts = |eda: EdaBits<A, B>| {
        let vectors: Vec<A> = [Some(eda.value), eda.shifted].into_iter().flatten().collect();
        (vectors, eda.bits)
    };
    let random = rss.random_bits(ctx, RING, len).await?;
    let (whole, whole_bits) = parts(rss.edabits(ctx, RING, None, len).await?);
    let (cut, cut_bits) = parts(rss.edabits(ctx, RING, Some(9), len).await?);
    let (wide, wide_bits) = parts(rss.wide_edabits(ctx, RING, Ring::of(70), len).await?);
    let TruncMasks { value, shifted, top } = rss.trunc_masks(ctx, RING, 9, len).await?;
    Ok(Drawn {
        vectors: vec![vec![random], whole, cut, wide, vec![value, shifted, top]],
        bits: vec![whole_bits, cut_bits, wide_bits],
    })
}

/// Returns the opened values of draws of these lengths, draw by draw, vector by vector, with everything made ahead from
/// the same seeds.
fn drawn(n: usize, lens: &[usize]) -> Vec<Vec<Vec<u64>>> {
    let online = async |rss: &Rss, ctx: &Ctx| {
        let mut all = Vec::new();
        for &len in lens {
            all.push(draw(rss, ctx, len).await?);
        }
        Ok(all)
    };
    let results = parties(n, |mut party| {
        let (demand, _) = dry_online(n, party.me(), &online);
        let private = Seed::from_bytes([party.me() as u8; 32]);
        let rss = Rss::with_seeds(session(), (n, party.me()), |set| Seed::from_bytes([set; 32]), private).unwrap();
        let mut run = party.begin_alone().unwrap();
        run.phase(Phase::Offline, async |ctx| rss.make_all(ctx, demand.clone()).await).unwrap();
        let work = async |ctx: &Ctx| {
            let mut opened = Vec::new();
            for drawn in online(&rss, ctx).await? {
                let mut all = Vec::new();
                for vector in drawn.vectors.iter().flatten() {
                    // The lowest 64 of 70 bits are enough here.
                    let value = rss.open(ctx, vector).await?;
                    all.push(value.to_u128s().into_iter().map(|x| x as u64).collect());
                }
                for bits in &drawn.bits {
                    all.push(rss.open_bits(ctx, bits).await?.to_vector(RING).to_u64s());
                }
                opened.push(all);
            }
            Ok(opened)
        };
        let opened = run.phase(Phase::Online, work).unwrap();
        run.finish();
        party.leave(false);
        opened
    });
    results.into_iter().next().unwrap()
}

/// Several draws together get the elements of one draw of their total length: everything that was made, in order, and
/// nothing twice.
#[test]
fn draws_share_a_stock_out() {
    for n in [3, 5] {
        let lens = [40, 64, 29];
        let (parts, whole) = (drawn(n, &lens), drawn(n, &[lens.iter().sum()]).remove(0));
        assert_eq!((whole.len(), parts.len()), (8 + 3, lens.len()));
        for (i, whole) in whole.iter().enumerate() {
            let joined: Vec<u64> = parts.iter().flat_map(|part| part[i].clone()).collect();
            assert_eq!(joined, *whole, "n {n}, vector {i}");
        }
        // All vectors but random bits and top bits of masks have elements of at least 31 bits.
        let long: Vec<&Vec<u64>> = whole.iter().filter(|vector| vector.iter().any(|&x| x >> 20 != 0)).collect();
        assert_eq!(long.len(), 11 - 2);
        for vector in long {
            assert_eq!(vector.iter().collect::<BTreeSet<_>>().len(), vector.len(), "n {n}: an element came twice");
        }
        let halves = whole[0].split_at(40);
        assert_ne!(halves.0, &halves.1[..40], "random bits came twice");
    }
}
