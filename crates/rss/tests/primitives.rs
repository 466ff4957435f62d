//! Tests that the primitives equal their ideal functionalities: all inputs of tiny rings, for 3, 5 and 7 parties.

use crate::common::*;
use quorate_engine::{Checked, Form, Linear, LinearBits, Sharing};
use quorate_ring::{Bits, Ring, Vector};

#[test]
fn products_of_all_pairs() {
    for (n, top) in [(3, 8), (5, 7), (7, 5)] {
        for k in 1..=top {
            let ring = Ring::of(k);
            let (x, y) = all_pairs(k);
            let (product, public) = agreed(n, async |rss, ctx| {
                let (a, b) = (share(rss, ctx, ring, &x).await?, share(rss, ctx, ring, &y).await?);
                let product = open(rss, ctx, &rss.mul(ctx, &a, &b).await?).await?;
                Ok((product, rss.multiply_and_open(ctx, &a, &b).await?.to_u64s()))
            });
            for i in 0..x.len() {
                let expected = (x[i] * y[i]) & mask(k);
                assert_eq!((product[i], public[i]), (expected, expected), "n {n} k {k}: {} {}", x[i], y[i]);
            }
        }
    }
}

#[test]
fn local_operations_on_all_pairs() {
    for (n, k) in [(3, 4), (5, 3), (7, 3)] {
        let ring = Ring::of(k);
        let (x, y) = all_pairs(k);
        let got = agreed(n, async |rss, ctx| {
            let (a, b) = (share(rss, ctx, ring, &x).await?, share(rss, ctx, ring, &y).await?);
            let public = Vector::from_u64s(ring, &y);
            let results = [rss.add(&a, &b), rss.sub(&a, &b), rss.add_public(&a, &public), rss.public(&public)];
            let mut opened = Vec::new();
            for result in &results {
                opened.push(open(rss, ctx, result).await?);
            }
            let low = rss.low_bit(&a);
            let top = open(rss, ctx, &rss.as_top_bit(&low, ring)).await?;
            let both = rss.concat(&[&a, &b]);
            let tail = rss.linear(&both, &Linear::Slice(x.len()..2 * x.len()));
            opened.extend([top, open(rss, ctx, &tail).await?]);
            Ok((opened, open_bits(rss, ctx, &low).await?))
        });
        for (i, (&x, &y)) in x.iter().zip(&y).enumerate() {
            let expected = [x + y, x.wrapping_sub(y), x + y, y, (x & 1) << (k - 1), y].map(|v| v & mask(k));
            assert_eq!([0, 1, 2, 3, 4, 5].map(|j| got.0[j][i]), expected, "n {n}: {x} {y}");
            assert_eq!(got.1[i], x & 1 == 1);
        }
    }
}

#[test]
fn sums_of_products_and_matrix_products() {
    for (n, k) in [(3, 1), (3, 3), (5, 4), (7, 8), (3, 20), (5, 33), (3, 64)] {
        let ring = Ring::of(k);
        let (x, y) = (noise(5, 24 * 7), noise(6, 24 * 7));
        let (outer, axis, inner) = (2, 12, 7);
        let (rows, depth, columns) = (4, 6, 28);
        let (dot, matrix) = agreed(n, async |rss, ctx| {
            let (a, b) = (share(rss, ctx, ring, &x).await?, share(rss, ctx, ring, &y).await?);
            let dot = rss.bilinear(ctx, Form::Dot { outer, axis, inner }, &a, &b).await?;
            let left = rss.linear(&a, &Linear::Slice(0..rows * depth));
            let matrix = rss.bilinear(ctx, Form::MatMul { m: rows, k: depth, n: columns }, &left, &b).await?;
            Ok((open(rss, ctx, &dot).await?, open(rss, ctx, &matrix).await?))
        });
        let sum = |terms: &mut dyn Iterator<Item = (u64, u64)>| {
            terms.fold(0u64, |s, (a, b)| s.wrapping_add(a.wrapping_mul(b))) & mask(k)
        };
        for (at, &got) in dot.iter().enumerate() {
            let index = |j: usize| (at / inner * axis + j) * inner + at % inner;
            assert_eq!(got, sum(&mut (0..axis).map(|j| (x[index(j)], y[index(j)]))), "dot, n {n} k {k}");
        }
        for (at, &got) in matrix.iter().enumerate() {
            let (i, j) = (at / columns, at % columns);
            let expected = sum(&mut (0..depth).map(|l| (x[i * depth + l], y[l * columns + j])));
            assert_eq!(got, expected, "matrix, n {n} k {k}");
        }
    }
}

#[test]
fn every_owner_inputs_and_every_party_may_be_told() {
    for (n, k) in [(3, 8), (5, 4), (7, 3)] {
        let ring = Ring::of(k);
        let values = all(k);
        let bools: Vec<bool> = noise(1, 3 * 70).into_iter().map(|x| x & 1 == 1).collect();
        let results = run(n, async |rss, ctx| {
            let me = ctx.me();
            let (own, own_bits) = (Vector::from_u64s(ring, &values), Bits::from_bools(3, 70, &bools));
            let mut seen = Vec::new();
            for owner in 0..n {
                let a = rss.input(ctx, owner, (ring, values.len()), (me == owner).then_some(&own)).await?;
                let b = rss.input_bits(ctx, owner, (3, 70), (me == owner).then_some(&own_bits)).await?;
                assert_eq!((rss.shape(&a), rss.bit_shape(&b)), ((ring, values.len()), (3, 70)));
                assert_eq!(open(rss, ctx, &a).await?, values);
                assert_eq!(open_bits(rss, ctx, &b).await?, bools);
                for to in 0..n {
                    let told = rss.reveal(ctx, &Checked::unneeded(), &a, Some(to)).await?.map(|v| v.to_u64s());
                    let told_bits =
                        rss.reveal_bits(ctx, &Checked::unneeded(), &b, Some(to)).await?.map(|v| v.to_bools());
                    seen.push((to == me, told == Some(values.clone()), told_bits == Some(bools.clone())));
                    assert_eq!((told.is_some(), told_bits.is_some()), (to == me, to == me));
                }
            }
            Ok(seen)
        });
        for ((seen, _), me) in results.iter().zip(0..) {
            assert_eq!(seen.len(), n * n);
            assert!(seen.iter().all(|&(told, right, right_bits)| told == right && told == right_bits), "party {me}");
        }
    }
}

#[test]
fn bits_of_every_shape() {
    for n in [3, 5, 7] {
        for (rows, lanes) in [(1, 1), (1, 4), (2, 7), (3, 64), (5, 65), (1, 511), (2, 513)] {
            let bools = |seed| noise(seed, rows * lanes).into_iter().map(|x| x & 1 == 1).collect::<Vec<_>>();
            let (x, y) = (bools(1), bools(2));
            let (and, xor, mixed) = agreed(n, async |rss, ctx| {
                let (a, b) =
                    (share_bits(rss, ctx, rows, lanes, &x).await?, share_bits(rss, ctx, rows, lanes, &y).await?);
                let and = rss.and(ctx, &a, &b).await?;
                let public = Bits::from_bools(rows, lanes, &y);
                let mixed = rss.xor(&rss.xor_public(&a, &public), &rss.public_bits(&public));
                let both = rss.concat_rows(&[&and, &rss.concat_lanes(&[&mixed])]);
                let both = rss.linear_bits(&both, &LinearBits::Rows(rows..2 * rows));
                Ok((
                    open_bits(rss, ctx, &and).await?,
                    open_bits(rss, ctx, &rss.xor(&a, &b)).await?,
                    open_bits(rss, ctx, &both).await?,
                ))
            });
            for i in 0..x.len() {
                assert_eq!((and[i], xor[i], mixed[i]), (x[i] & y[i], x[i] ^ y[i], x[i]), "n {n} {rows} x {lanes}");
            }
        }
    }
}

#[test]
fn random_bits_are_bits_in_every_ring() {
    for (n, widths) in
        [(3, (1..=64).collect::<Vec<u32>>()), (5, (1..=64).step_by(7).collect()), (7, vec![1, 6, 62, 63, 64])]
    {
        for k in widths {
            let ring = Ring::of(k);
            let bits = agreed(n, async |rss, ctx| {
                let bits = rss.random_bits(ctx, ring, 77).await?;
                assert_eq!(rss.shape(&bits), (ring, 77));
                open(rss, ctx, &bits).await
            });
            let ones = bits.iter().filter(|&&b| b == 1).count();
            assert!(bits.iter().all(|&b| b <= 1), "n {n} k {k}: {bits:?}");
            assert!((10..=67).contains(&ones), "n {n} k {k}: {ones} of 77 are ones");
        }
    }
}

#[test]
fn edabits_agree_with_their_bits_for_every_cut() {
    for (n, top) in [(3, 8), (5, 6), (7, 4)] {
        let widths = (1..=top).chain([13, 33, 63, 64]);
        for k in widths {
            let ring = Ring::of(k);
            let cuts = (1..k).filter(|m| k <= 8 || [1, 7, k / 2, k - 1].contains(m));
            for cut in std::iter::once(None).chain(cuts.map(Some)) {
                let (value, shifted, bits) = agreed(n, async |rss, ctx| {
                    let eda = rss.edabits(ctx, ring, cut, 131).await?;
                    let shifted = match &eda.shifted {
                        Some(shifted) => Some(open(rss, ctx, shifted).await?),
                        None => None,
                    };
                    let bits = rss.open_bits(ctx, &eda.bits).await?;
                    assert_eq!((bits.rows(), bits.lanes()), (k as usize, 131));
                    Ok((open(rss, ctx, &eda.value).await?, shifted, bits.to_vector(ring).to_u64s()))
                });
                assert_eq!(value, bits, "n {n} k {k} cut {cut:?}");
                let expected = cut.map(|m| value.iter().map(|v| v >> m).collect::<Vec<_>>());
                assert_eq!(shifted, expected, "n {n} k {k} cut {cut:?}");
            }
        }
    }
}
