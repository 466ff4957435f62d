//! The primitives equal their ideal functionalities: all inputs of tiny rings.

use crate::common::*;
use quorate_additive::local;
use quorate_engine::{Checked, Form, Linear, LinearBits, Sharing};
use quorate_ring::{Bits, Ring, Vector};

#[test]
fn products_of_all_pairs() {
    for k in 1..=8 {
        let ring = Ring::of(k);
        let (x, y) = all_pairs(k);
        let product = agreed(async |aby, ctx| {
            let (a, b) = (share(aby, ctx, ring, &x).await?, share(aby, ctx, ring, &y).await?);
            open(aby, ctx, &aby.mul(ctx, &a, &b).await?).await
        });
        for i in 0..x.len() {
            let expected = (x[i] * y[i]) & mask(k);
            assert_eq!(product[i], expected, "k {k}: {} {}", x[i], y[i]);
        }
    }
}

#[test]
fn local_operations_on_all_pairs() {
    let ring = Ring::of(4);
    let (x, y) = all_pairs(4);
    let got = agreed(async |aby, ctx| {
        let (a, b) = (share(aby, ctx, ring, &x).await?, share(aby, ctx, ring, &y).await?);
        let public = Vector::from_u64s(ring, &y);
        let results = [aby.add(&a, &b), aby.sub(&a, &b), aby.add_public(&a, &public), aby.public(&public)];
        let mut opened = Vec::new();
        for result in &results {
            opened.push(open(aby, ctx, result).await?);
        }
        let low = local::low_bit(&a);
        let top = open(aby, ctx, &local::as_top_bit(&low, ring)).await?;
        let both = aby.concat(&[&a, &b]);
        let tail = aby.linear(&both, &Linear::Slice(x.len()..2 * x.len()));
        opened.extend([top, open(aby, ctx, &tail).await?]);
        Ok((opened, open_bits(aby, ctx, &low).await?))
    });
    for (i, (&x, &y)) in x.iter().zip(&y).enumerate() {
        let expected = [x + y, x.wrapping_sub(y), x + y, y, (x & 1) << (4 - 1), y].map(|v| v & mask(4));
        assert_eq!([0, 1, 2, 3, 4, 5].map(|j| got.0[j][i]), expected, ": {x} {y}");
        assert_eq!(got.1[i], x & 1 == 1);
    }
}

#[test]
fn an_and_of_no_rows_has_no_rows() {
    let shape = agreed(async |aby, ctx| {
        let none = aby.public_bits(&Bits::zeros(0, 5));
        Ok(aby.bit_shape(&aby.and(ctx, &none, &none).await?))
    });
    assert_eq!(shape, (0, 5));
}

#[test]
fn sums_of_products_and_matrix_products() {
    for k in [1, 3, 4, 8, 20, 33, 64] {
        let ring = Ring::of(k);
        let (x, y) = (noise(5, 24 * 7), noise(6, 24 * 7));
        let (outer, axis, inner) = (2, 12, 7);
        let (rows, depth, columns) = (4, 6, 28);
        let (dot, matrix) = agreed(async |aby, ctx| {
            let (a, b) = (share(aby, ctx, ring, &x).await?, share(aby, ctx, ring, &y).await?);
            let dot = aby.bilinear(ctx, Form::Dot { outer, axis, inner }, &a, &b).await?;
            let left = aby.linear(&a, &Linear::Slice(0..rows * depth));
            let matrix = aby.bilinear(ctx, Form::MatMul { m: rows, k: depth, n: columns }, &left, &b).await?;
            Ok((open(aby, ctx, &dot).await?, open(aby, ctx, &matrix).await?))
        });
        let sum = |terms: &mut dyn Iterator<Item = (u64, u64)>| {
            terms.fold(0u64, |s, (a, b)| s.wrapping_add(a.wrapping_mul(b))) & mask(k)
        };
        for (at, &got) in dot.iter().enumerate() {
            let index = |j: usize| (at / inner * axis + j) * inner + at % inner;
            assert_eq!(got, sum(&mut (0..axis).map(|j| (x[index(j)], y[index(j)]))), "dot, k {k}");
        }
        for (at, &got) in matrix.iter().enumerate() {
            let (i, j) = (at / columns, at % columns);
            let expected = sum(&mut (0..depth).map(|l| (x[i * depth + l], y[l * columns + j])));
            assert_eq!(got, expected, "matrix, k {k}");
        }
    }
}

/// Tests rings of more than a word, and matrices of every form, whose triples are made in other ways.
#[test]
fn products_in_wide_rings() {
    for k in [65, 90, 126] {
        let ring = Ring::of(k);
        let number = |seed: u64, i: usize| {
            u128::from(noise(seed, 40)[i]) << 64 | u128::from(noise(seed + 50, 40)[i]) & ring.mask()
        };
        let [x, y] = [1, 2].map(|seed| (0..40).map(|i| number(seed, i) & ring.mask()).collect::<Vec<u128>>());
        let form = Form::MatMul { m: 8, k: 5, n: 8 };
        let (product, matrix) = agreed(async |aby, ctx| {
            let own = |values: &[u128]| (ctx.me() == 1).then(|| Vector::from_u128s(ring, values));
            let a = aby.input(ctx, 1, (ring, 40), own(&x).as_ref()).await?;
            let b = aby.input(ctx, 1, (ring, 40), own(&y).as_ref()).await?;
            let product = aby.open(ctx, &aby.mul(ctx, &a, &b).await?).await?.to_u128s();
            Ok((product, aby.open(ctx, &aby.bilinear(ctx, form, &a, &b).await?).await?.to_u128s()))
        });
        for i in 0..40 {
            assert_eq!(product[i], x[i].wrapping_mul(y[i]) & ring.mask(), "k {k}");
        }
        for (at, got) in matrix.into_iter().enumerate() {
            let term = |l: usize| x[at / 8 * 5 + l].wrapping_mul(y[l * 8 + at % 8]);
            assert_eq!(got, (0..5).fold(0u128, |sum, l| sum.wrapping_add(term(l))) & ring.mask(), "k {k}");
        }
    }
}

#[test]
fn matrices_of_every_form() {
    for (m, k, n) in [(1, 1, 1), (1, 5, 3), (3, 5, 1), (7, 1, 4), (1, 300, 1), (20, 3, 33), (2, 1000, 40), (70, 9, 2)] {
        for &bits in if k < 1000 { &[8, 33, 64][..] } else { &[64] } {
            let ring = Ring::of(bits);
            let (x, y) = (noise(5, m * k), noise(6, k * n));
            let got = agreed(async |aby, ctx| {
                let (a, b) = (share(aby, ctx, ring, &x).await?, share(aby, ctx, ring, &y).await?);
                open(aby, ctx, &aby.bilinear(ctx, Form::MatMul { m, k, n }, &a, &b).await?).await
            });
            for (at, &got) in got.iter().enumerate() {
                let term = |l: usize| x[at / n * k + l].wrapping_mul(y[l * n + at % n]);
                let expected = (0..k).fold(0u64, |sum, l| sum.wrapping_add(term(l))) & mask(bits);
                assert_eq!(got, expected, "{m} x {k} x {n} over {bits} bits");
            }
        }
    }
}

#[test]
fn every_owner_inputs_and_every_party_may_be_told() {
    let ring = Ring::of(8);
    let values = all(8);
    let bools: Vec<bool> = noise(1, 3 * 70).into_iter().map(|x| x & 1 == 1).collect();
    let results = run(async |aby, ctx| {
        let me = ctx.me();
        let (own, own_bits) = (Vector::from_u64s(ring, &values), Bits::from_bools(3, 70, &bools));
        let mut seen = Vec::new();
        for owner in 0..2 {
            let a = aby.input(ctx, owner, (ring, values.len()), (me == owner).then_some(&own)).await?;
            let b = aby.input_bits(ctx, owner, (3, 70), (me == owner).then_some(&own_bits)).await?;
            assert_eq!((aby.shape(&a), aby.bit_shape(&b)), ((ring, values.len()), (3, 70)));
            assert_eq!(open(aby, ctx, &a).await?, values);
            assert_eq!(open_bits(aby, ctx, &b).await?, bools);
            for to in 0..2 {
                let told = aby.reveal(ctx, &Checked::unneeded(), &a, Some(to)).await?.map(|v| v.to_u64s());
                let told_bits = aby.reveal_bits(ctx, &Checked::unneeded(), &b, Some(to)).await?.map(|v| v.to_bools());
                seen.push((to == me, told == Some(values.clone()), told_bits == Some(bools.clone())));
                assert_eq!((told.is_some(), told_bits.is_some()), (to == me, to == me));
            }
        }
        Ok(seen)
    });
    for ((seen, _), me) in results.iter().zip(0..) {
        assert_eq!(seen.len(), 4);
        assert!(seen.iter().all(|&(told, right, right_bits)| told == right && told == right_bits), "party {me}");
    }
}

#[test]
fn bits_of_every_shape() {
    for (rows, lanes) in [(1, 1), (1, 4), (2, 7), (3, 64), (5, 65), (1, 511), (2, 513)] {
        let bools = |seed| noise(seed, rows * lanes).into_iter().map(|x| x & 1 == 1).collect::<Vec<_>>();
        let (x, y) = (bools(1), bools(2));
        let (and, xor, mixed) = agreed(async |aby, ctx| {
            let (a, b) = (share_bits(aby, ctx, rows, lanes, &x).await?, share_bits(aby, ctx, rows, lanes, &y).await?);
            let and = aby.and(ctx, &a, &b).await?;
            let public = Bits::from_bools(rows, lanes, &y);
            let mixed = aby.xor(&aby.xor_public(&a, &public), &aby.public_bits(&public));
            let both = aby.concat_rows(&[&and, &aby.concat_lanes(&[&mixed])]);
            let both = aby.linear_bits(&both, &LinearBits::Rows(rows..2 * rows));
            Ok((
                open_bits(aby, ctx, &and).await?,
                open_bits(aby, ctx, &aby.xor(&a, &b)).await?,
                open_bits(aby, ctx, &both).await?,
            ))
        });
        for i in 0..x.len() {
            assert_eq!((and[i], xor[i], mixed[i]), (x[i] & y[i], x[i] ^ y[i], x[i]), "{rows} x {lanes}");
        }
    }
}

#[test]
fn random_bits_are_bits_in_every_ring() {
    for k in (1..=64).chain([65, 100, 126]) {
        let ring = Ring::of(k);
        let bits = agreed(async |aby, ctx| {
            let bits = aby.random_bits(ctx, ring, 77).await?;
            assert_eq!(aby.shape(&bits), (ring, 77));
            open(aby, ctx, &bits).await
        });
        let ones = bits.iter().filter(|&&b| b == 1).count();
        assert!(bits.iter().all(|&b| b <= 1), "k {k}: {bits:?}");
        assert!((10..=67).contains(&ones), "k {k}: {ones} of 77 are ones");
    }
}

#[test]
fn edabits_agree_with_their_bits_for_every_cut() {
    let widths = (1..=8).chain([13, 33, 63, 64]);
    for k in widths {
        let ring = Ring::of(k);
        let cuts = (1..k).filter(|m| k <= 8 || [1, 7, k / 2, k - 1].contains(m));
        for cut in std::iter::once(None).chain(cuts.map(Some)) {
            let (value, shifted, bits) = agreed(async |aby, ctx| {
                let eda = aby.edabits(ctx, ring, cut, 131).await?;
                let shifted = match &eda.shifted {
                    Some(shifted) => Some(open(aby, ctx, shifted).await?),
                    None => None,
                };
                let bits = aby.open_bits(ctx, &eda.bits).await?;
                assert_eq!((bits.rows(), bits.lanes()), (k as usize, 131));
                Ok((open(aby, ctx, &eda.value).await?, shifted, bits.to_vector(ring).to_u64s()))
            });
            assert_eq!(value, bits, "k {k} cut {cut:?}");
            let expected = cut.map(|m| value.iter().map(|v| v >> m).collect::<Vec<_>>());
            assert_eq!(shifted, expected, "k {k} cut {cut:?}");
        }
    }
}
