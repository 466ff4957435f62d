//! The gadgets over `rss` equal plain arithmetic: all inputs of tiny rings, for 3 and 5 parties, some for 7.

mod common;

use common::*;
use quorate_engine::Sharing;
use quorate_gadgets::extremum::{Best, arg_extremum, extremum};
use quorate_gadgets::{Gadgets, Sign, Width, adder, compare};
use quorate_ring::{Bits, Ring, Vector};

const CASES: [(usize, u32); 3] = [(3, 8), (5, 8), (7, 4)];

#[test]
fn bits_of_all_elements() {
    for (n, top) in CASES {
        for k in 1..=top {
            let ring = Ring::of(k);
            let values = all(k);
            let (msb, eqz, bits, back) = agreed(n, async |rss, ctx| {
                let x = share(rss, ctx, ring, &values).await?;
                let bits = rss.bit_decompose(ctx, &x).await?;
                let sign = rss.msb(ctx, &x).await?;
                let back = rss.bit_to_ring(ctx, &sign, ring).await?;
                Ok((
                    open_bits(rss, ctx, &sign).await?,
                    open_bits(rss, ctx, &rss.eqz(ctx, &x).await?).await?,
                    rss.open_bits(ctx, &bits).await?.to_vector(ring).to_u64s(),
                    open(rss, ctx, &back).await?,
                ))
            });
            for (i, &x) in values.iter().enumerate() {
                let sign = x >> (k - 1) & 1;
                assert_eq!((msb[i], eqz[i], bits[i], back[i]), (sign == 1, x == 0, x, sign), "n {n} k {k}: {x}");
            }
        }
    }
}

#[test]
fn bits_become_elements_of_every_ring() {
    let values = [true, false, true, true, false, false, true];
    for n in [3, 5, 7] {
        for k in 1..=64 {
            let ring = Ring::of(k);
            let got = agreed(n, async |rss, ctx| {
                let x = share_bits(rss, ctx, 1, values.len(), &values).await?;
                open(rss, ctx, &rss.bit_to_ring(ctx, &x, ring).await?).await
            });
            assert_eq!(got, values.map(u64::from), "n {n} k {k}");
        }
    }
}

#[test]
fn comparison_of_all_pairs() {
    for (n, top) in [(3, 7), (5, 6), (7, 3)] {
        for k in 1..=top {
            let ring = Ring::of(k);
            let (x, y) = all_pairs(k);
            let (less, narrow) = agreed(n, async |rss, ctx| {
                let (a, b) = (share(rss, ctx, ring, &x).await?, share(rss, ctx, ring, &y).await?);
                let less = rss.lt(ctx, &a, &b, Width::Full).await?;
                let mut narrow = Vec::new();
                for width in 0..=k {
                    let less = rss.lt(ctx, &a, &b, Width::Difference(width)).await?;
                    narrow.push(open_bits(rss, ctx, &less).await?);
                }
                Ok((open_bits(rss, ctx, &less).await?, narrow))
            });
            for i in 0..x.len() {
                let (a, b) = (signed(k, x[i]), signed(k, y[i]));
                assert_eq!(less[i], a < b, "n {n} k {k}: {a} < {b}");
                for width in 0..=k {
                    let fits = width.checked_sub(1).map_or(a == b, |w| (-1 << w..1 << w).contains(&(a - b)));
                    assert!(!fits || narrow[width as usize][i] == (a < b), "n {n} k {k} width {width}: {a} < {b}");
                }
            }
        }
    }
}

#[test]
fn bits_against_public_numbers() {
    for (n, top) in [(3, 6), (5, 4), (7, 3)] {
        for k in 1..=top {
            let ring = Ring::of(k);
            let (c, r) = all_pairs(k);
            let less = agreed(n, async |rss, ctx| {
                let c = quorate_ring::Vector::from_u64s(ring, &c).to_bits(0..k);
                let bits = quorate_ring::Vector::from_u64s(ring, &r).to_bits(0..k);
                let shared = share_bits(rss, ctx, k as usize, r.len(), &bits.to_bools()).await?;
                open_bits(rss, ctx, &compare::bit_lt_public(rss, ctx, &c, &shared).await?).await
            });
            for i in 0..c.len() {
                assert_eq!(less[i], c[i] < r[i], "n {n} k {k}: {} < {}", c[i], r[i]);
            }
        }
    }
}

#[test]
fn sums_of_bits_with_all_carries() {
    for (n, top) in [(3, 6), (5, 5), (7, 3)] {
        for k in 1..=top {
            let ring = Ring::of(k);
            let (x, y) = all_pairs(k);
            let rows = |values: &[u64]| quorate_ring::Vector::from_u64s(ring, values).to_bits(0..k).to_bools();
            let (x_bits, y_bits) = (rows(&x), rows(&y));
            let wanted: Vec<usize> = (1..=k as usize).collect();
            let requests = [&wanted[..], &wanted[..wanted.len() - 1], &[]];
            for wanted in requests {
                let (sum, carries) = agreed(n, async |rss, ctx| {
                    let a = share_bits(rss, ctx, k as usize, x.len(), &x_bits).await?;
                    let b = share_bits(rss, ctx, k as usize, x.len(), &y_bits).await?;
                    let sum = adder::add(rss, ctx, &a, &b, wanted).await?;
                    let mut carries = Vec::new();
                    for carry in &sum.carries {
                        carries.push(open_bits(rss, ctx, carry).await?);
                    }
                    Ok((rss.open_bits(ctx, &sum.bits).await?.to_vector(ring).to_u64s(), carries))
                });
                assert_eq!(carries.len(), wanted.len());
                for (i, (&x, &y)) in x.iter().zip(&y).enumerate() {
                    assert_eq!(sum[i], (x + y) & mask(k), "n {n} k {k}: {x} + {y}");
                    for (carry, &into) in carries.iter().zip(wanted) {
                        let low = mask(into as u32);
                        assert_eq!(carry[i], (x & low) + (y & low) > low, "n {n} k {k}: {x} + {y} into {into}");
                    }
                }
            }
        }
    }
}

#[test]
fn truncation_of_all_elements_by_every_shift() {
    for (n, top) in [(3, 8), (5, 6), (7, 4)] {
        for k in 1..=top {
            let ring = Ring::of(k);
            let values: Vec<u64> = all(k).repeat(3);
            let got = agreed(n, async |rss, ctx| {
                let x = share(rss, ctx, ring, &values).await?;
                let mut got = Vec::new();
                for shift in 0..=k + 1 {
                    got.push(rss.open(ctx, &rss.trunc_exact(ctx, &x, shift).await?).await?.to_i64s());
                }
                Ok(got)
            });
            for (shift, got) in got.iter().enumerate() {
                for (i, &x) in values.iter().enumerate() {
                    let x = signed(k, x);
                    assert_eq!(got[i], x >> shift, "n {n} k {k}: {x} >> {shift}");
                }
            }
        }
    }
}

/// Quotients by public numbers need rings beyond 64 bits: there and back again.
#[test]
fn rings_wider_than_a_word() {
    let values: Vec<u64> = [0, 1, u64::MAX, 1 << 63, (1 << 63) - 1, 0x0123_4567_89ab_cdef].into();
    for n in [3, 5, 7] {
        for wide in [65, 97, 126] {
            let shifts = [1, 31, wide - 64, wide - 1];
            let got = agreed(n, async |rss, ctx| {
                let x = share(rss, ctx, Ring::of(64), &values).await?;
                let x = rss.convert(ctx, &x, Ring::of(wide), Sign::Signed).await?;
                let scaled = rss.linear(&x, &|share: &Vector| {
                    let mut share = share.clone();
                    share.shl(wide - 64);
                    share
                });
                let mut got = Vec::new();
                for shift in shifts {
                    got.push(rss.open(ctx, &rss.trunc_exact(ctx, &scaled, shift).await?).await?.to_i128s());
                }
                Ok(got)
            });
            for (got, shift) in got.iter().zip(shifts) {
                let wanted: Vec<i128> = values.iter().map(|&x| i128::from(x as i64) << (wide - 64) >> shift).collect();
                assert_eq!(*got, wanted, "n {n}, {wide} bits by {shift}");
            }
        }
    }
}

#[test]
fn selection_by_every_bit() {
    for (n, top) in [(3, 6), (5, 5), (7, 3)] {
        for k in 1..=top {
            let ring = Ring::of(k);
            let (x, y) = all_pairs(k);
            let (x, y) = (x.repeat(2), y.repeat(2));
            let bits: Vec<bool> = (0..x.len()).map(|i| i < x.len() / 2).collect();
            let (masked, chosen) = agreed(n, async |rss, ctx| {
                let (a, b) = (share(rss, ctx, ring, &x).await?, share(rss, ctx, ring, &y).await?);
                let bit = share_bits(rss, ctx, 1, bits.len(), &bits).await?;
                let masked = rss.mask(ctx, &bit, &a).await?;
                let chosen = rss.mux(ctx, &bit, &a, &b).await?;
                Ok((open(rss, ctx, &masked).await?, open(rss, ctx, &chosen).await?))
            });
            for i in 0..x.len() {
                let expected = if bits[i] { (x[i], x[i]) } else { (0, y[i]) };
                assert_eq!((masked[i], chosen[i]), expected, "n {n} k {k}");
            }
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
    for (n, k, rows) in [(3, 3, 1), (3, 3, 2), (3, 3, 3), (3, 3, 4), (3, 2, 5), (5, 3, 3), (5, 2, 4), (7, 2, 3)] {
        let (ring, index_ring) = (Ring::of(k), Ring::of(3));
        let values = all_columns(k, rows);
        let lanes = values.len() / rows as usize;
        let got = agreed(n, async |rss, ctx| {
            let x = share(rss, ctx, ring, &values).await?;
            let mut got = Vec::new();
            for best in [Best::Largest, Best::Smallest] {
                let value = extremum(rss, ctx, &x, rows as usize, best, Width::Full).await?;
                let place = arg_extremum(rss, ctx, &x, rows as usize, best, Width::Full, index_ring).await?;
                got.push((rss.open(ctx, &value).await?.to_i64s(), open(rss, ctx, &place).await?));
            }
            Ok(got)
        });
        for lane in 0..lanes {
            let column: Vec<i64> = (0..rows as usize).map(|row| signed(k, values[row * lanes + lane])).collect();
            let (low, high) = (*column.iter().min().unwrap(), *column.iter().max().unwrap());
            for ((value, place), best) in got.iter().zip([high, low]) {
                let first = column.iter().position(|&v| v == best).unwrap() as u64;
                assert_eq!((value[lane], place[lane]), (best, first), "n {n} k {k}: {column:?}");
            }
        }
    }
}

/// Lengths that fill no word, no byte and no chunk, and such that need several chunks.
#[test]
fn every_length() {
    let k = 9;
    let ring = Ring::of(k);
    for (n, lengths) in
        [(3, &[0usize, 1, 3, 7, 9, 63, 65, 511, 513, 70_000][..]), (5, &[0, 1, 5, 67, 5_000]), (7, &[0, 1, 129])]
    {
        for &len in lengths {
            let (x, y) = (noise(3, len), noise(4, len));
            let (product, less, equal, bits, shifted, chosen) = agreed(n, async |rss, ctx| {
                let (a, b) = (share(rss, ctx, ring, &x).await?, share(rss, ctx, ring, &y).await?);
                let less = rss.lt(ctx, &a, &b, Width::Full).await?;
                let bits: Bits = rss.open_bits(ctx, &rss.bit_decompose(ctx, &a).await?).await?;
                Ok((
                    open(rss, ctx, &rss.mul(ctx, &a, &b).await?).await?,
                    open_bits(rss, ctx, &less).await?,
                    open_bits(rss, ctx, &rss.eqz(ctx, &rss.sub(&a, &b)).await?).await?,
                    bits.to_vector(ring).to_u64s(),
                    rss.open(ctx, &rss.trunc_exact(ctx, &a, 4).await?).await?.to_i64s(),
                    rss.open(ctx, &rss.mux(ctx, &less, &a, &b).await?).await?.to_i64s(),
                ))
            });
            assert_eq!((product.len(), less.len(), shifted.len()), (len, len, len));
            for i in 0..len {
                let (a, b) = (signed(k, x[i]), signed(k, y[i]));
                assert_eq!(product[i], x[i].wrapping_mul(y[i]) & mask(k), "n {n}, element {i} of {len}");
                assert_eq!((less[i], equal[i]), (a < b, a == b), "n {n}, element {i} of {len}");
                assert_eq!((bits[i], shifted[i], chosen[i]), (x[i] & mask(k), a >> 4, a.min(b)), "n {n}, {i} of {len}");
            }
        }
    }
}
