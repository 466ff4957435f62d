//! Dealt correlations have the relation of their kind, differ in every bit, and are handed out once.

use crate::common::*;
use quorate_engine::testing::parties;
use quorate_engine::{Ctx, Material, Phase, Result, Stocks};
use quorate_gadgets::testing::convolutions;
use quorate_pika::{Kind, Pika};
use quorate_ring::{Bits, Vector};

/// The number of correlations of a kind that are dealt.
const LEN: usize = 128; // a coin falls on one side so often with probability 2^-127
const LENS: [usize; 3] = [3, 70, 8];

fn kinds() -> Vec<Kind> {
    vec![
        Kind::Triple { bits: 33 },
        Kind::Triple { bits: 100 },
        Kind::DotTriple { bits: 20, axis: 3, inner: 2 },
        Kind::MatrixTriple { bits: 20, m: 2, k: 3, n: 2 },
        Kind::ConvTriple { bits: 20, conv: convolutions::kinds()[1] },
        Kind::BitTriple,
        Kind::DaBit { bits: 17 },
        Kind::EdaBit { bits: 64, cut: 0 },
        Kind::EdaBit { bits: 19, cut: 7 },
        Kind::ComparisonMask { bits: 40, pairs: 19 },
        Kind::TruncMask { bits: 30, cut: 11 },
        Kind::WideEdaBit { bits: 30, wide: 70 },
        Kind::Selection { bits: 64 },
        Kind::SignKey { bits: 40 },
        Kind::FloorKeys { bits: 30, cut: 12 },
        Kind::BoundedFloorKey { bits: 30, cut: 9 },
        Kind::Lookup { place_bits: 10, bits: 33 },
        Kind::Point { place_bits: 12 },
        Kind::Permutation { rows: 4, columns: vec![(16, 1), (32, 2)], mover: 0 },
        Kind::Permutation { rows: 4, columns: vec![(20, 1)], mover: 1 },
    ]
}

type Dealt = (Vec<Vector>, Vec<Bits>);

fn plain(material: &Material<A, B>) -> Dealt {
    let vectors = material.vectors.iter().map(|x| Vector::clone(x)).collect();
    (vectors, material.bits.iter().map(|x| Bits::clone(x)).collect())
}

/// Returns what is dealt, by party and kind.
fn dealt(len: usize) -> Vec<Vec<Dealt>> {
    parties(N, |mut party| {
        let mut run = party.begin_alone().unwrap();
        let work = async |ctx: &Ctx| {
            let s = Pika::setup(ctx).await?;
            let mut all = Vec::new();
            for kind in kinds() {
                all.push(plain(&s.make(ctx, &kind, len).await?));
            }
            Ok(all)
        };
        let all = run.phase(Phase::Offline, work).unwrap();
        run.finish();
        party.leave(false);
        all
    })
}

/// The dealer keeps shapes. Every bit of what the others hold is 0 in some correlation and 1 in another.
#[test]
fn what_is_dealt_varies_in_every_bit() {
    let mut looked_at = 0;
    for (me, dealt) in dealt(LEN).into_iter().enumerate() {
        for (kind, (vectors, bits)) in kinds().into_iter().zip(dealt) {
            if me == 2 {
                assert!(vectors.iter().all(Vector::is_shape) && bits.iter().all(Bits::is_shape), "{kind}");
                continue;
            }
            for (i, vector) in vectors.iter().enumerate() {
                if matches!(kind, Kind::Permutation { mover, .. } if mover == me && i == 0) {
                    assert!(vector.to_u64s().chunks_exact(4).any(|order| order != [0, 1, 2, 3]), "{kind}");
                    continue;
                }
                let values = vector.to_u128s();
                let (ever, always) = values.iter().fold((0, u128::MAX), |(or, and), v| (or | v, and & v));
                assert_eq!((ever, always & vector.ring().mask()), (vector.ring().mask(), 0), "{kind}, {i} of {me}");
                looked_at += 1;
            }
            for rows in &bits {
                for row in rows.to_bools().chunks_exact(LEN) {
                    assert!(row.contains(&true) && row.contains(&false), "{kind}, bits of party {me}");
                    looked_at += 1;
                }
            }
        }
    }
    assert!(looked_at > 300, "{looked_at}");
}

/// Permutations, whose parts no other test checks: D + b = pi(a), column by column.
#[test]
fn permutations_move_their_masks() {
    let (parties, len) = (dealt(3), 3);
    let mut seen = 0;
    for (at, kind) in kinds().into_iter().enumerate() {
        let Kind::Permutation { rows, columns, mover } = kind else { continue };
        let (moved, masks) = (&parties[mover][at].0, &parties[1 - mover][at].0);
        let order = moved[0].to_u64s();
        for (i, &(bits, width)) in columns.iter().enumerate() {
            let [d, a, b] = [&moved[1 + i], &masks[i], &masks[columns.len() + i]].map(Vector::to_u64s);
            assert_eq!(d.len(), len * rows * width);
            for (at, (&d, &b)) in d.iter().zip(&b).enumerate() {
                let (one, row, place) = (at / (rows * width), at / width % rows, at % width);
                let from = one * rows * width + order[one * rows + row] as usize * width + place;
                assert_eq!(d.wrapping_add(b) & mask(bits), a[from], "{} rows by party {mover}", rows);
                seen += 1;
            }
        }
    }
    assert!(seen > 40);
}

async fn draws(s: &Pika, ctx: &Ctx) -> Result<Vec<Vec<Material<A, B>>>> {
    let mut all = Vec::new();
    for kind in kinds() {
        let mut drawn = Vec::new();
        for len in LENS {
            drawn.push(s.draw(ctx, kind.clone(), len).await?);
        }
        all.push(drawn);
    }
    Ok(all)
}

/// Several draws get all that was dealt, in order, and nothing twice.
#[test]
fn draws_share_a_stock_out() {
    let total = LENS.iter().sum::<usize>();
    let demand = demand_of_all(&async |s: &Pika, ctx: &Ctx| draws(s, ctx).await.map(drop));
    assert!(demand.totals().len() == kinds().len() && demand.totals().values().all(|&len| len == total));
    let runs = parties(N, |mut party| {
        let mut run = party.begin_alone().unwrap();
        let s = run.phase(Phase::Offline, async |ctx| Pika::setup(ctx).await).unwrap();
        run.phase(Phase::Offline, async |ctx| s.make_all(ctx, demand.clone()).await).unwrap();
        let whole: Vec<Dealt> =
            kinds().iter().map(|kind| plain(s.stock().made().get(kind).expect("it was demanded"))).collect();
        let drawn = run.phase(Phase::Online, async |ctx| draws(&s, ctx).await).unwrap();
        run.finish();
        party.leave(false);
        (whole, drawn.iter().map(|kind| kind.iter().map(plain).collect::<Vec<_>>()).collect::<Vec<_>>())
    });
    for (whole, drawn) in &runs[..2] {
        for ((vectors, bits), parts) in whole.iter().zip(drawn) {
            for (i, vector) in vectors.iter().enumerate() {
                let parts: Vec<u128> = parts.iter().flat_map(|part| part.0[i].to_u128s()).collect();
                assert!(parts == vector.to_u128s());
            }
            for (i, rows) in bits.iter().enumerate() {
                let parts: Vec<&Bits> = parts.iter().map(|part| &part.1[i]).collect();
                assert!(Bits::concat_lanes(&parts).to_bools() == rows.to_bools());
            }
        }
    }
}
