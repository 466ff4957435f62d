//! The primitives equal their ideal functionalities: all inputs of tiny rings, and forms and rings of all sizes.

use crate::common::*;
use quorate_engine::{Checked, Form, Linear, Sharing};
use quorate_ring::{Bits, Ring, Vector};

#[test]
fn products_of_all_pairs() {
    for k in 1..=8 {
        let (x, y) = all_pairs(k);
        let product = agreed(async |s, ctx| {
            let (a, b) = (share(s, ctx, Ring::of(k), &x).await?, share(s, ctx, Ring::of(k), &y).await?);
            open(s, ctx, &s.mul(ctx, &a, &b).await?).await
        });
        for i in 0..x.len() {
            assert_eq!(product[i], (x[i] * y[i]) & mask(k), "k {k}: {} {}", x[i], y[i]);
        }
    }
}

#[test]
fn local_operations_on_all_pairs() {
    let ring = Ring::of(4);
    let (x, y) = all_pairs(4);
    let (numbers, low) = agreed(async |s, ctx| {
        let (a, b) = (share(s, ctx, ring, &x).await?, share(s, ctx, ring, &y).await?);
        let public = Vector::from_u64s(ring, &y);
        let low = s.lsb(ctx, &a).await?;
        let tail = s.linear(&s.concat(&[&a, &b]), &Linear::Slice(x.len()..2 * x.len()));
        let top = s.bit_to_msb(ctx, &low, ring).await?;
        let mut numbers = Vec::new();
        for number in [s.add(&a, &b), s.sub(&a, &b), s.add_public(&a, &public), s.public(&public), tail, top] {
            numbers.push(open(s, ctx, &number).await?);
        }
        Ok((numbers, open_bits(s, ctx, &low).await?))
    });
    for (i, (&x, &y)) in x.iter().zip(&y).enumerate() {
        let expected = [x + y, x.wrapping_sub(y), x + y, y, y, (x & 1) << 3].map(|v| v & mask(4));
        assert_eq!([0, 1, 2, 3, 4, 5].map(|j| numbers[j][i]), expected, "{x} {y}");
        assert_eq!(low[i], x & 1 == 1);
    }
}

/// Forms that are cut into chunks, and forms that are not; with axes of length one, and with long axes.
#[test]
fn sums_of_products() {
    let forms = [(2, 12, 7), (1, 1000, 1), (1, 1, 9), (70, 1, 1), (600, 40, 1), (3, 40_000, 2), (0, 3, 2), (2, 0, 3)];
    for k in [1, 8, 33, 64] {
        for (outer, axis, inner) in forms {
            let len = outer * axis * inner;
            let (x, y) = (noise(5, len), noise(6, len));
            let dot = agreed(async |s, ctx| {
                let (a, b) = (share(s, ctx, Ring::of(k), &x).await?, share(s, ctx, Ring::of(k), &y).await?);
                open(s, ctx, &s.bilinear(ctx, Form::Dot { outer, axis, inner }, &a, &b).await?).await
            });
            let term = |i: usize| x[i].wrapping_mul(y[i]);
            let place = |at: usize, j: usize| (at / inner * axis + j) * inner + at % inner;
            let expected = |at| (0..axis).fold(0u64, |sum, j| sum.wrapping_add(term(place(at, j)))) & mask(k);
            assert_eq!(dot, (0..outer * inner).map(expected).collect::<Vec<_>>(), "{outer} {axis} {inner}, k {k}");
        }
    }
}

#[test]
fn matrices_of_every_form() {
    let shapes =
        [(1, 1, 1), (1, 5, 3), (3, 5, 1), (7, 1, 4), (1, 300, 1), (20, 3, 33), (70, 9, 2), (0, 2, 3), (2, 3, 0)];
    for (m, k, n) in shapes {
        for bits in [1, 8, 33, 64] {
            let (x, y) = (noise(5, m * k), noise(6, k * n));
            let got = agreed(async |s, ctx| {
                let (a, b) = (share(s, ctx, Ring::of(bits), &x).await?, share(s, ctx, Ring::of(bits), &y).await?);
                open(s, ctx, &s.bilinear(ctx, Form::MatMul { m, k, n }, &a, &b).await?).await
            });
            let term = |at: usize, l: usize| x[at / n * k + l].wrapping_mul(y[l * n + at % n]);
            let sum = |at| (0..k).fold(0u64, |sum, l| sum.wrapping_add(term(at, l))) & mask(bits);
            assert_eq!(got, (0..m * n).map(sum).collect::<Vec<_>>(), "{m} x {k} x {n} over {bits} bits");
        }
    }
}

#[test]
fn every_owner_inputs_and_every_party_may_be_told() {
    for len in [256, 300_000] {
        let values: Vec<u64> = noise(3, len).into_iter().map(|x| x & mask(40)).collect();
        let bools: Vec<bool> = noise(1, 3 * 70).into_iter().map(|x| x & 1 == 1).collect();
        let ring = Ring::of(40);
        let told = run(async |s, ctx| {
            let me = ctx.me();
            let (own, own_bits) = (Vector::from_u64s(ring, &values), Bits::from_bools(3, 70, &bools));
            let mut told = 0;
            for owner in 0..N {
                let a = s.input(ctx, owner, (ring, len), (me == owner).then_some(&own)).await?;
                let b = s.input_bits(ctx, owner, (3, 70), (me == owner).then_some(&own_bits)).await?;
                assert_eq!((s.shape(&a), s.bit_shape(&b)), ((ring, len), (3, 70)));
                for to in [None, Some(0), Some(1), Some(2)] {
                    let learns = to.is_none_or(|to| to == me);
                    let number = s.reveal(ctx, &Checked::unneeded(), &a, to).await?.map(|v| v.to_u64s());
                    let row = s.reveal_bits(ctx, &Checked::unneeded(), &b, to).await?.map(|v| v.to_bools());
                    assert!(number == learns.then(|| values.clone()) && row == learns.then(|| bools.clone()));
                    told += usize::from(learns);
                }
                // Party 2 does not see what is opened to compute on.
                assert_eq!(s.open(ctx, &a).await?.is_shape(), me == 2);
                assert_eq!(s.open_bits(ctx, &b).await?.is_shape(), me == 2);
            }
            Ok(told)
        });
        assert_eq!(told.iter().map(|(told, _)| *told).collect::<Vec<_>>(), [6; N]);
    }
}

#[test]
fn bits_of_every_shape() {
    for (rows, lanes) in [(1, 1), (1, 4), (2, 7), (3, 64), (5, 65), (1, 511), (2, 513), (0, 5), (4, 0), (1, 70_000)] {
        let bools = |seed| noise(seed, rows * lanes).into_iter().map(|x| x & 1 == 1).collect::<Vec<_>>();
        let (x, y) = (bools(1), bools(2));
        let (and, xor, mixed) = agreed(async |s, ctx| {
            let (a, b) = (share_bits(s, ctx, rows, lanes, &x).await?, share_bits(s, ctx, rows, lanes, &y).await?);
            let and = s.and(ctx, &a, &b).await?;
            let public = Bits::from_bools(rows, lanes, &y);
            let mixed = s.xor(&s.xor_public(&a, &public), &s.public_bits(&public));
            Ok((
                open_bits(s, ctx, &and).await?,
                open_bits(s, ctx, &s.xor(&a, &b)).await?,
                open_bits(s, ctx, &mixed).await?,
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
        let (bits, alike) = agreed(async |s, ctx| {
            let (elements, bits) = s.dabits(ctx, Ring::of(k), 77).await?;
            assert_eq!(s.shape(&elements), (Ring::of(k), 77));
            Ok((open(s, ctx, &elements).await?, open_bits(s, ctx, &bits).await?))
        });
        let ones = alike.iter().filter(|&&b| b).count();
        assert_eq!(bits, alike.iter().map(|&b| u64::from(b)).collect::<Vec<_>>(), "k {k}");
        assert!((10..=67).contains(&ones), "k {k}: {ones} of 77 are ones");
    }
}

#[test]
fn edabits_agree_with_their_bits_for_every_cut() {
    for k in (1..=8).chain([13, 33, 63, 64]) {
        let ring = Ring::of(k);
        let cuts = (1..k).filter(|m| k <= 8 || [1, 7, k / 2, k - 1].contains(m));
        for cut in std::iter::once(None).chain(cuts.map(Some)) {
            let (value, shifted, bits) = agreed(async |s, ctx| {
                let eda = s.edabits(ctx, ring, cut, 131).await?;
                let shifted = match &eda.shifted {
                    Some(shifted) => Some(open(s, ctx, shifted).await?),
                    None => None,
                };
                let bits = shown_bits(s, ctx, &eda.bits).await?;
                Ok((open(s, ctx, &eda.value).await?, shifted, bits.to_vector(ring).to_u64s()))
            });
            assert_eq!(value, bits, "k {k} cut {cut:?}");
            assert_eq!(shifted, cut.map(|m| value.iter().map(|v| v >> m).collect()), "k {k} cut {cut:?}");
        }
    }
}

/// Masks of comparisons with the products of their bits, masks of truncations with both parts, and edaBits in larger
/// rings.
#[test]
fn masks_are_what_they_say() {
    for k in [2u32, 3, 8, 33, 63] {
        let ring = Ring::of(k);
        for pairs in [1, k as usize / 2] {
            let (value, bits, products) = agreed(async |s, ctx| {
                let made = s.comparison_masks(ctx, ring, pairs, 99).await?;
                let products = made.products.as_ref().unwrap();
                assert_eq!(s.bit_shape(products), (pairs, 99));
                let bits = shown_bits(s, ctx, &made.bits).await?.to_vector(ring).to_u64s();
                Ok((open(s, ctx, &made.value).await?, bits, open_bits(s, ctx, products).await?))
            });
            assert_eq!(value, bits, "k {k}");
            for (i, &r) in value.iter().enumerate() {
                for pair in 0..pairs {
                    assert_eq!(products[pair * 99 + i], r >> (2 * pair) & 3 == 3, "k {k}, pair {pair} of {r}");
                }
            }
        }
        for wide in [k + 1, k + 7, 64].into_iter().filter(|&wide| wide > k) {
            let (value, bits) = agreed(async |s, ctx| {
                let made = s.wide_edabits(ctx, ring, Ring::of(wide), 99).await?;
                let bits = shown_bits(s, ctx, &made.bits).await?.to_vector(ring).to_u64s();
                Ok((open(s, ctx, &made.value).await?, bits))
            });
            assert_eq!(value, bits, "k {k} in {wide}");
        }
        for m in (1..k.saturating_sub(1)).filter(|m| k < 9 || m % 13 == 5) {
            let (value, low, top) = agreed(async |s, ctx| {
                let made = s.trunc_masks(ctx, ring, m, 99).await?;
                assert_eq!(s.shape(&made.top).0, Ring::of(m + 1));
                Ok((
                    open(s, ctx, &made.value).await?,
                    open(s, ctx, &made.shifted).await?,
                    open(s, ctx, &made.top).await?,
                ))
            });
            for (i, &r) in value.iter().enumerate() {
                assert_eq!((low[i], top[i]), ((r & mask(k - 1)) >> m, r >> (k - 1)), "k {k} m {m}: {r}");
            }
        }
    }
}
