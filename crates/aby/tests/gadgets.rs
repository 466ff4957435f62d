//! The gadgets over `aby` equal plain arithmetic: all inputs of tiny rings, for 3 and 5 parties, some for 7.

mod common;

use common::*;
use quorate_engine::Sharing;
use quorate_gadgets::extremum::{Best, arg_extremum, extremum};
use quorate_gadgets::{Gadgets, Sign, Width, adder, compare};
use quorate_ring::{Bits, Ring, Vector};

#[test]
fn bits_of_all_elements() {
    for k in 1..=8 {
        let ring = Ring::of(k);
        let values = all(k);
        let (msb, eqz, bits, back) = agreed(async |aby, ctx| {
            let x = share(aby, ctx, ring, &values).await?;
            let bits = aby.bit_decompose(ctx, &x).await?;
            let sign = aby.msb(ctx, &x).await?;
            let back = aby.bit_to_ring(ctx, &sign, ring).await?;
            Ok((
                open_bits(aby, ctx, &sign).await?,
                open_bits(aby, ctx, &aby.eqz(ctx, &x).await?).await?,
                aby.open_bits(ctx, &bits).await?.to_vector(ring).to_u64s(),
                open(aby, ctx, &back).await?,
            ))
        });
        for (i, &x) in values.iter().enumerate() {
            let sign = x >> (k - 1) & 1;
            assert_eq!((msb[i], eqz[i], bits[i], back[i]), (sign == 1, x == 0, x, sign), "k {k}: {x}");
        }
    }
}

#[test]
fn bits_become_elements_of_every_ring() {
    let values = [true, false, true, true, false, false, true];
    for k in 1..=64 {
        let ring = Ring::of(k);
        let got = agreed(async |aby, ctx| {
            let x = share_bits(aby, ctx, 1, values.len(), &values).await?;
            open(aby, ctx, &aby.bit_to_ring(ctx, &x, ring).await?).await
        });
        assert_eq!(got, values.map(u64::from), "k {k}");
    }
}

#[test]
fn comparison_of_all_pairs() {
    for k in 1..=7 {
        let ring = Ring::of(k);
        let (x, y) = all_pairs(k);
        let (less, narrow) = agreed(async |aby, ctx| {
            let (a, b) = (share(aby, ctx, ring, &x).await?, share(aby, ctx, ring, &y).await?);
            let less = aby.lt(ctx, &a, &b, Width::Full).await?;
            let mut narrow = Vec::new();
            for width in 0..=k {
                let less = aby.lt(ctx, &a, &b, Width::Difference(width)).await?;
                narrow.push(open_bits(aby, ctx, &less).await?);
            }
            Ok((open_bits(aby, ctx, &less).await?, narrow))
        });
        for i in 0..x.len() {
            let (a, b) = (signed(k, x[i]), signed(k, y[i]));
            assert_eq!(less[i], a < b, "k {k}: {a} < {b}");
            for width in 0..=k {
                let fits = width.checked_sub(1).map_or(a == b, |w| (-1 << w..1 << w).contains(&(a - b)));
                assert!(!fits || narrow[width as usize][i] == (a < b), "k {k} width {width}: {a} < {b}");
            }
        }
    }
}

#[test]
fn bits_against_public_numbers() {
    for k in 1..=6 {
        let ring = Ring::of(k);
        let (c, r) = all_pairs(k);
        let less = agreed(async |aby, ctx| {
            let c = quorate_ring::Vector::from_u64s(ring, &c).to_bits(0..k);
            let bits = quorate_ring::Vector::from_u64s(ring, &r).to_bits(0..k);
            let shared = share_bits(aby, ctx, k as usize, r.len(), &bits.to_bools()).await?;
            open_bits(aby, ctx, &compare::bit_lt_public(aby, ctx, &c, &shared).await?).await
        });
        for i in 0..c.len() {
            assert_eq!(less[i], c[i] < r[i], "k {k}: {} < {}", c[i], r[i]);
        }
    }
}

#[test]
fn sums_of_bits_with_all_carries() {
    for k in 1..=6 {
        let ring = Ring::of(k);
        let (x, y) = all_pairs(k);
        let rows = |values: &[u64]| quorate_ring::Vector::from_u64s(ring, values).to_bits(0..k).to_bools();
        let (x_bits, y_bits) = (rows(&x), rows(&y));
        let wanted: Vec<usize> = (1..=k as usize).collect();
        let requests = [&wanted[..], &wanted[..wanted.len() - 1], &[]];
        for wanted in requests {
            let (sum, carries) = agreed(async |aby, ctx| {
                let a = share_bits(aby, ctx, k as usize, x.len(), &x_bits).await?;
                let b = share_bits(aby, ctx, k as usize, x.len(), &y_bits).await?;
                let sum = adder::add(aby, ctx, &a, &b, wanted).await?;
                let mut carries = Vec::new();
                for carry in &sum.carries {
                    carries.push(open_bits(aby, ctx, carry).await?);
                }
                Ok((aby.open_bits(ctx, &sum.bits).await?.to_vector(ring).to_u64s(), carries))
            });
            assert_eq!(carries.len(), wanted.len());
            for (i, (&x, &y)) in x.iter().zip(&y).enumerate() {
                assert_eq!(sum[i], (x + y) & mask(k), "k {k}: {x} + {y}");
                for (carry, &into) in carries.iter().zip(wanted) {
                    let low = mask(into as u32);
                    assert_eq!(carry[i], (x & low) + (y & low) > low, "k {k}: {x} + {y} into {into}");
                }
            }
        }
    }
}

#[test]
fn truncation_of_all_elements_by_every_shift() {
    for k in 1..=8 {
        let ring = Ring::of(k);
        let values: Vec<u64> = all(k).repeat(3);
        let got = agreed(async |aby, ctx| {
            let x = share(aby, ctx, ring, &values).await?;
            let mut got = Vec::new();
            for shift in 0..=k + 1 {
                got.push(aby.open(ctx, &aby.trunc_exact(ctx, &x, shift).await?).await?.to_i64s());
            }
            Ok(got)
        });
        for (shift, got) in got.iter().enumerate() {
            for (i, &x) in values.iter().enumerate() {
                let x = signed(k, x);
                assert_eq!(got[i], x >> shift, "k {k}: {x} >> {shift}");
            }
        }
    }
}

/// Bits to a number: every number of a tiny ring, some of large ones.
#[test]
fn numbers_of_their_bits() {
    for k in [1, 2, 3, 8, 20, 33, 64] {
        let ring = Ring::of(k);
        let values = if k <= 8 { all(k) } else { noise(9, 50).into_iter().map(|x| x & mask(k)).collect() };
        let bits = Vector::from_u64s(ring, &values).to_bits(0..k).to_bools();
        let got = agreed(async |aby, ctx| {
            let x = share_bits(aby, ctx, k as usize, values.len(), &bits).await?;
            open(aby, ctx, &aby.compose(ctx, &x, ring).await?).await
        });
        assert_eq!(got, values, "k {k}");
    }
}

/// Probabilistic truncation gives the floor or one more, the floor exactly where nothing is cut off, and, over random shares, about
/// as often as the rest says.
#[test]
fn probabilistic_truncation_of_all_elements() {
    for k in 3..=8u32 {
        let ring = Ring::of(k);
        let values: Vec<u64> =
            all(k).into_iter().filter(|&x| (-(1 << (k - 2))..1 << (k - 2)).contains(&signed(k, x))).collect();
        let repeated = values.repeat(200);
        let got = agreed(async |aby, ctx| {
            let x = share(aby, ctx, ring, &repeated).await?;
            // What is shared by known summands is not random: zero is, and is added.
            let zero = aby.edabits(ctx, ring, None, repeated.len()).await?.value;
            let zero = aby.add_public(&zero, &negated(&aby.open(ctx, &zero).await?));
            let x = aby.add(&x, &zero);
            let mut got = Vec::new();
            for shift in 0..=k - 2 {
                got.push(aby.open(ctx, &aby.trunc_prob(ctx, &x, shift).await?).await?.to_i64s());
            }
            Ok(got)
        });
        for (shift, got) in got.iter().enumerate() {
            for (i, &x) in values.iter().enumerate() {
                let x = signed(k, x);
                let rest = x - (x >> shift << shift);
                let ups: Vec<i64> = got.iter().skip(i).step_by(values.len()).map(|&y| y - (x >> shift)).collect();
                assert!(ups.iter().all(|up| [0, 1].contains(up)), "k {k}: {x} by {shift}");
                let (share, wanted) = (ups.iter().sum::<i64>() as f64 / 200.0, rest as f64 / f64::from(1 << shift));
                assert!((share - wanted).abs() < 0.25, "k {k}: {x} by {shift} up in {share} of {wanted}");
                assert!(rest > 0 || ups.iter().all(|&up| up == 0));
            }
        }
    }
}

fn negated(x: &Vector) -> Vector {
    let mut x = x.clone();
    x.neg_assign();
    x
}

/// Conversion up, of signed and unsigned numbers, and down.
#[test]
fn conversion_of_all_elements() {
    for k in 1..=6u32 {
        let values = all(k);
        for wide in [1, k, k + 1, k + 2, 13, 33, 64] {
            let (signed_ones, unsigned) = agreed(async |aby, ctx| {
                let x = share(aby, ctx, Ring::of(k), &values).await?;
                let to = async |sign| open(aby, ctx, &aby.convert(ctx, &x, Ring::of(wide), sign).await?).await;
                Ok((to(Sign::Signed).await?, to(Sign::Unsigned).await?))
            });
            for (i, &x) in values.iter().enumerate() {
                assert_eq!(signed_ones[i], signed(k, x) as u64 & mask(wide), "k {k} to {wide}: {x}");
                assert_eq!(unsigned[i], x & mask(wide), "k {k} to {wide}: {x}");
            }
        }
    }
}

/// Quotients by public numbers need rings beyond 64 bits: there and back again.
#[test]
fn rings_wider_than_a_word() {
    let values: Vec<u64> = [0, 1, u64::MAX, 1 << 63, (1 << 63) - 1, 0x0123_4567_89ab_cdef].into();
    for wide in [65, 97, 126] {
        let shifts = [1, 31, wide - 64, wide - 1];
        let got = agreed(async |aby, ctx| {
            let x = share(aby, ctx, Ring::of(64), &values).await?;
            let x = aby.convert(ctx, &x, Ring::of(wide), Sign::Signed).await?;
            let scaled = aby.linear(&x, &|share: &Vector| {
                let mut share = share.clone();
                share.shl(wide - 64);
                share
            });
            let mut got = Vec::new();
            for shift in shifts {
                got.push(aby.open(ctx, &aby.trunc_exact(ctx, &scaled, shift).await?).await?.to_i128s());
            }
            Ok(got)
        });
        for (got, shift) in got.iter().zip(shifts) {
            let wanted: Vec<i128> = values.iter().map(|&x| i128::from(x as i64) << (wide - 64) >> shift).collect();
            assert_eq!(*got, wanted, "{wide} bits by {shift}");
        }
    }
}

#[test]
fn selection_by_every_bit() {
    for k in 1..=6 {
        let ring = Ring::of(k);
        let (x, y) = all_pairs(k);
        let (x, y) = (x.repeat(2), y.repeat(2));
        let bits: Vec<bool> = (0..x.len()).map(|i| i < x.len() / 2).collect();
        let (masked, chosen) = agreed(async |aby, ctx| {
            let (a, b) = (share(aby, ctx, ring, &x).await?, share(aby, ctx, ring, &y).await?);
            let bit = share_bits(aby, ctx, 1, bits.len(), &bits).await?;
            let masked = aby.mask(ctx, &bit, &a).await?;
            let chosen = aby.mux(ctx, &bit, &a, &b).await?;
            Ok((open(aby, ctx, &masked).await?, open(aby, ctx, &chosen).await?))
        });
        for i in 0..x.len() {
            let expected = if bits[i] { (x[i], x[i]) } else { (0, y[i]) };
            assert_eq!((masked[i], chosen[i]), expected, "k {k}");
        }
    }
}

/// Every sequence of `rows` elements of Z_2^k, one a lane, row-major.
fn all_columns(k: u32, rows: u32) -> Vec<u64> {
    let lanes = 1u64 << (k * rows);
    (0..rows).flat_map(|row| (0..lanes).map(move |lane| lane >> (k * row) & mask(k))).collect()
}

#[test]
fn extrema_of_all_columns_with_ties() {
    for (k, rows) in [(3, 1), (3, 2), (3, 3), (3, 4), (2, 5)] {
        let (ring, index_ring) = (Ring::of(k), Ring::of(3));
        let values = all_columns(k, rows);
        let lanes = values.len() / rows as usize;
        let got = agreed(async |aby, ctx| {
            let x = share(aby, ctx, ring, &values).await?;
            let mut got = Vec::new();
            for best in [Best::Largest, Best::Smallest] {
                let value = extremum(aby, ctx, &x, rows as usize, best, Width::Full).await?;
                let place = arg_extremum(aby, ctx, &x, rows as usize, best, Width::Full, index_ring).await?;
                got.push((aby.open(ctx, &value).await?.to_i64s(), open(aby, ctx, &place).await?));
            }
            Ok(got)
        });
        for lane in 0..lanes {
            let column: Vec<i64> = (0..rows as usize).map(|row| signed(k, values[row * lanes + lane])).collect();
            let (low, high) = (*column.iter().min().unwrap(), *column.iter().max().unwrap());
            for ((value, place), best) in got.iter().zip([high, low]) {
                let first = column.iter().position(|&v| v == best).unwrap() as u64;
                assert_eq!((value[lane], place[lane]), (best, first), "k {k}: {column:?}");
            }
        }
    }
}

/// Lengths that fill no word, no byte and no chunk, and such that need several chunks.
#[test]
fn every_length() {
    let k = 9;
    let ring = Ring::of(k);
    for len in [0usize, 1, 3, 7, 9, 63, 65, 128, 511, 513, 70_000] {
        let (x, y) = (noise(3, len), noise(4, len));
        let (product, less, equal, bits, shifted, chosen) = agreed(async |aby, ctx| {
            let (a, b) = (share(aby, ctx, ring, &x).await?, share(aby, ctx, ring, &y).await?);
            let less = aby.lt(ctx, &a, &b, Width::Full).await?;
            let bits: Bits = aby.open_bits(ctx, &aby.bit_decompose(ctx, &a).await?).await?;
            Ok((
                open(aby, ctx, &aby.mul(ctx, &a, &b).await?).await?,
                open_bits(aby, ctx, &less).await?,
                open_bits(aby, ctx, &aby.eqz(ctx, &aby.sub(&a, &b)).await?).await?,
                bits.to_vector(ring).to_u64s(),
                aby.open(ctx, &aby.trunc_exact(ctx, &a, 4).await?).await?.to_i64s(),
                aby.open(ctx, &aby.mux(ctx, &less, &a, &b).await?).await?.to_i64s(),
            ))
        });
        assert_eq!((product.len(), less.len(), shifted.len()), (len, len, len));
        for i in 0..len {
            let (a, b) = (signed(k, x[i]), signed(k, y[i]));
            assert_eq!(product[i], x[i].wrapping_mul(y[i]) & mask(k), "element {i} of {len}");
            assert_eq!((less[i], equal[i]), (a < b, a == b), "element {i} of {len}");
            assert_eq!((bits[i], shifted[i], chosen[i]), (x[i] & mask(k), a >> 4, a.min(b)), "{i} of {len}");
        }
    }
}
