//! Gadgets over any sharing, compared with plain arithmetic on all inputs of tiny rings. A case is a number of parties
//! and the bits of the largest ring, unless stated otherwise.

use quorate_engine::Linear;
use quorate_ring::{Ring, Vector};

use super::trunc_paper::{trunc_p, trunc_p1, trunc_p2};
use super::{agreed, all, all_pairs, mask, noise, open, open_bits, share, share_bits, shown, shown_bits, signed};
use crate::extremum::{Best, arg_extremum, extremum};
use crate::{Family, Sign, Width, adder, compare};

/// Tests top bits, tests for zero and all bits of every element of Z_2^1 to Z_2^top, for these numbers of parties.
pub fn bits_of_all_elements<S: Family>(cases: &[(usize, u32)]) {
    for &(n, top) in cases {
        for k in 1..=top {
            let ring = Ring::of(k);
            let values = all(k);
            let (msb, eqz, bits, back) = agreed::<S, _>(n, async |s, ctx| {
                let x = share(s, ctx, ring, &values).await?;
                let bits = s.bit_decompose(ctx, &x).await?;
                let sign = s.msb(ctx, &x).await?;
                let back = s.bit_to_ring(ctx, &sign, ring).await?;
                Ok((
                    open_bits(s, ctx, &sign).await?,
                    open_bits(s, ctx, &s.eqz(ctx, &x).await?).await?,
                    shown_bits(s, ctx, &bits).await?.to_vector(ring).to_u64s(),
                    open(s, ctx, &back).await?,
                ))
            });
            for (i, &x) in values.iter().enumerate() {
                let sign = x >> (k - 1) & 1;
                assert_eq!((msb[i], eqz[i], bits[i], back[i]), (sign == 1, x == 0, x, sign), "n {n} k {k}: {x}");
            }
        }
    }
}

/// Tests conversions of bits to elements, for these numbers of parties.
pub fn bits_become_elements_of_every_ring<S: Family>(parties: &[usize]) {
    let values = [true, false, true, true, false, false, true];
    for &n in parties {
        for k in 1..=64 {
            let ring = Ring::of(k);
            let got = agreed::<S, _>(n, async |s, ctx| {
                let x = share_bits(s, ctx, 1, values.len(), &values).await?;
                open(s, ctx, &s.bit_to_ring(ctx, &x, ring).await?).await
            });
            assert_eq!(got, values.map(u64::from), "n {n} k {k}");
        }
    }
}

/// Tests less-than of all pairs of elements, over the full range and for differences of limited width.
pub fn comparison_of_all_pairs<S: Family>(cases: &[(usize, u32)]) {
    for &(n, top) in cases {
        for k in 1..=top {
            let ring = Ring::of(k);
            let (x, y) = all_pairs(k);
            let (less, narrow) = agreed::<S, _>(n, async |s, ctx| {
                let (a, b) = (share(s, ctx, ring, &x).await?, share(s, ctx, ring, &y).await?);
                let less = s.lt(ctx, &a, &b, Width::Full).await?;
                let mut narrow = Vec::new();
                for width in 0..=k {
                    let less = s.lt(ctx, &a, &b, Width::Difference(width)).await?;
                    narrow.push(open_bits(s, ctx, &less).await?);
                }
                Ok((open_bits(s, ctx, &less).await?, narrow))
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

/// Tests comparisons of shared bits with public numbers, all pairs.
pub fn bits_against_public_numbers<S: Family>(cases: &[(usize, u32)]) {
    for &(n, top) in cases {
        for k in 1..=top {
            let ring = Ring::of(k);
            let (c, r) = all_pairs(k);
            let less = agreed::<S, _>(n, async |s, ctx| {
                let c = Vector::from_u64s(ring, &c).to_bits(0..k);
                let bits = Vector::from_u64s(ring, &r).to_bits(0..k);
                let shared = share_bits(s, ctx, k as usize, r.len(), &bits.to_bools()).await?;
                open_bits(s, ctx, &compare::bit_lt_public(s, ctx, &c, &shared).await?).await
            });
            for i in 0..c.len() {
                assert_eq!(less[i], c[i] < r[i], "n {n} k {k}: {} < {}", c[i], r[i]);
            }
        }
    }
}

/// Tests sums and carries of all pairs of numbers given by their bits.
pub fn sums_of_bits_with_all_carries<S: Family>(cases: &[(usize, u32)]) {
    for &(n, top) in cases {
        for k in 1..=top {
            let ring = Ring::of(k);
            let (x, y) = all_pairs(k);
            let rows = |values: &[u64]| Vector::from_u64s(ring, values).to_bits(0..k).to_bools();
            let (x_bits, y_bits) = (rows(&x), rows(&y));
            let wanted: Vec<usize> = (1..=k as usize).collect();
            let requests = [&wanted[..], &wanted[..wanted.len() - 1], &[]];
            for wanted in requests {
                let (sum, carries) = agreed::<S, _>(n, async |s, ctx| {
                    let a = share_bits(s, ctx, k as usize, x.len(), &x_bits).await?;
                    let b = share_bits(s, ctx, k as usize, x.len(), &y_bits).await?;
                    let sum = adder::add(s, ctx, &a, &b, wanted).await?;
                    let mut carries = Vec::new();
                    for carry in &sum.carries {
                        carries.push(open_bits(s, ctx, carry).await?);
                    }
                    Ok((shown_bits(s, ctx, &sum.bits).await?.to_vector(ring).to_u64s(), carries))
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

/// Tests exact truncations, of all numbers and of those that fit one bit less.
pub fn truncation_of_all_elements_by_every_shift<S: Family>(cases: &[(usize, u32)]) {
    for &(n, top) in cases {
        for k in 1..=top {
            let ring = Ring::of(k);
            let values: Vec<u64> = all(k).repeat(3);
            let got = agreed::<S, _>(n, async |s, ctx| {
                let x = share(s, ctx, ring, &values).await?;
                let mut got = Vec::new();
                for shift in 0..=k + 1 {
                    let exact = shown(s, ctx, &s.trunc_exact(ctx, &x, shift).await?).await?.to_i64s();
                    got.push([exact, shown(s, ctx, &s.trunc_bounded(ctx, &x, shift).await?).await?.to_i64s()]);
                }
                Ok(got)
            });
            for (shift, [exact, bounded]) in got.iter().enumerate() {
                for (i, &x) in values.iter().enumerate() {
                    let x = signed(k, x);
                    assert_eq!(exact[i], x >> shift, "n {n} k {k}: {x} >> {shift}");
                    let fits = 4 * x >= -(1 << k) && 4 * x < 1 << k;
                    assert!(!fits || bounded[i] == x >> shift, "n {n} k {k}: {x} >> {shift}, bounded");
                }
            }
        }
    }
}

/// Tests the paper's cheaper truncations of all values of every width: how far each is off, and how often.
pub fn cheaper_truncation_of_all_values<S: Family>(cases: &[(usize, u32)]) {
    const TIMES: usize = 24;
    for &(n, k) in cases {
        let ring = Ring::of(k);
        for (bits, shift) in (2..=k).flat_map(|bits| (1..bits).map(move |shift| (bits, shift))) {
            let half = 1i64 << (bits - 1);
            let values: Vec<i64> = (-half..half).collect::<Vec<_>>().repeat(TIMES);
            let elements: Vec<u64> = values.iter().map(|&x| x as u64 & mask(k)).collect();
            let got = agreed::<S, _>(n, async |s, ctx| {
                let x = share(s, ctx, ring, &elements).await?;
                let forms = [
                    trunc_p(s, ctx, &x, shift, bits).await?,
                    trunc_p1(s, ctx, &x, shift, bits).await?,
                    trunc_p2(s, ctx, &x, shift, bits).await?,
                ];
                let mut got = Vec::new();
                for form in &forms {
                    got.push(shown(s, ctx, form).await?.to_u64s());
                }
                Ok(got)
            });
            let mut seen = [[0; 4]; 3];
            for (form, got) in got.iter().enumerate() {
                for (&got, &x) in got.iter().zip(&values) {
                    let off = got.wrapping_sub((x >> shift) as u64) & mask(k);
                    let wrapped = off.wrapping_add(1 << (k - shift)) & mask(k);
                    let how = [(off, 0), (off, 1), (wrapped, 0), (wrapped, 1)].iter().position(|(off, at)| off == at);
                    let how = how.unwrap_or_else(|| panic!("n {n} k {k} form {form}: {x} >> {shift} is off by {off}"));
                    // A number that is rounded up is not divisible, and the least value never wraps.
                    assert!(how % 2 == 0 || x.rem_euclid(1 << shift) != 0, "{x} >> {shift}");
                    assert!(how < 2 || x > -half, "{x} >> {shift}");
                    seen[form][how] += 1;
                }
            }
            let [_, p1, p2] = seen;
            assert!(p1[1] + p1[3] == 0 && p2[2] + p2[3] == 0, "n {n} k {k}, {bits} bits, {shift}: {seen:?}");
            // On average a / 2^k of all results are off.
            let expected = values.len() as f64 * ((1 << bits) - 1) as f64 / 2.0 / (1u64 << k) as f64;
            let wraps = f64::from(p1[2]);
            assert!((wraps - expected).abs() < 6.0 * expected.sqrt() + 2.0, "n {n} k {k}: {wraps}, not {expected}");
        }
    }
}

/// Tests conversion from 64 bits to wider rings, and exact truncation there, for these numbers of parties.
pub fn rings_wider_than_a_word<S: Family>(parties: &[usize]) {
    let values: Vec<u64> = [0, 1, u64::MAX, 1 << 63, (1 << 63) - 1, 0x0123_4567_89ab_cdef].into();
    for &n in parties {
        for wide in [65, 97, 126] {
            let shifts = [1, 31, wide - 64, wide - 1];
            let got = agreed::<S, _>(n, async |s, ctx| {
                let x = share(s, ctx, Ring::of(64), &values).await?;
                let x = s.convert(ctx, &x, Ring::of(wide), Sign::Signed).await?;
                let scaled = s.linear(&x, &Linear::Shl(wide - 64));
                let mut got = Vec::new();
                for shift in shifts {
                    got.push(shown(s, ctx, &s.trunc_exact(ctx, &scaled, shift).await?).await?.to_i128s());
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

/// Tests selections by a bit among all pairs of elements.
pub fn selection_by_every_bit<S: Family>(cases: &[(usize, u32)]) {
    for &(n, top) in cases {
        for k in 1..=top {
            let ring = Ring::of(k);
            let (x, y) = all_pairs(k);
            let (x, y) = (x.repeat(2), y.repeat(2));
            let bits: Vec<bool> = (0..x.len()).map(|i| i < x.len() / 2).collect();
            let (masked, chosen) = agreed::<S, _>(n, async |s, ctx| {
                let (a, b) = (share(s, ctx, ring, &x).await?, share(s, ctx, ring, &y).await?);
                let bit = share_bits(s, ctx, 1, bits.len(), &bits).await?;
                let masked = s.mask(ctx, &bit, &a).await?;
                let chosen = s.mux(ctx, &bit, &a, &b).await?;
                Ok((open(s, ctx, &masked).await?, open(s, ctx, &chosen).await?))
            });
            for i in 0..x.len() {
                let expected = if bits[i] { (x[i], x[i]) } else { (0, y[i]) };
                assert_eq!((masked[i], chosen[i]), expected, "n {n} k {k}");
            }
        }
    }
}

/// Returns every sequence of `rows` elements of Z_2^k, one in each lane, row-major.
fn all_columns(k: u32, rows: u32) -> Vec<u64> {
    let lanes = 1u64 << (k * rows);
    (0..rows).flat_map(|row| (0..lanes).map(move |lane| lane >> (k * row) & mask(k))).collect()
}

/// Tests extrema and their places in all columns of that many rows over Z_2^k: parties, k, rows.
pub fn extrema_of_all_columns_with_ties<S: Family>(cases: &[(usize, u32, u32)]) {
    for &(n, k, rows) in cases {
        let (ring, index_ring) = (Ring::of(k), Ring::of(3));
        let values = all_columns(k, rows);
        let lanes = values.len() / rows as usize;
        let got = agreed::<S, _>(n, async |s, ctx| {
            let x = share(s, ctx, ring, &values).await?;
            let mut got = Vec::new();
            for best in [Best::Largest, Best::Smallest] {
                let value = extremum(s, ctx, &x, rows as usize, best, Width::Full).await?;
                let place = arg_extremum(s, ctx, &x, rows as usize, best, Width::Full, index_ring).await?;
                got.push((shown(s, ctx, &value).await?.to_i64s(), open(s, ctx, &place).await?));
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

/// Tests lengths that fill no word, no byte and no chunk, and lengths that need several chunks: parties, lengths.
pub fn every_length<S: Family>(cases: &[(usize, &[usize])]) {
    let k = 9;
    let ring = Ring::of(k);
    for &(n, lengths) in cases {
        for &len in lengths {
            let (x, y) = (noise(3, len), noise(4, len));
            let (product, less, equal, bits, shifted, chosen) = agreed::<S, _>(n, async |s, ctx| {
                let (a, b) = (share(s, ctx, ring, &x).await?, share(s, ctx, ring, &y).await?);
                let less = s.lt(ctx, &a, &b, Width::Full).await?;
                let bits = shown_bits(s, ctx, &s.bit_decompose(ctx, &a).await?).await?;
                Ok((
                    open(s, ctx, &s.mul(ctx, &a, &b).await?).await?,
                    open_bits(s, ctx, &less).await?,
                    open_bits(s, ctx, &s.eqz(ctx, &s.sub(&a, &b)).await?).await?,
                    bits.to_vector(ring).to_u64s(),
                    shown(s, ctx, &s.trunc_exact(ctx, &a, 4).await?).await?.to_i64s(),
                    shown(s, ctx, &s.mux(ctx, &less, &a, &b).await?).await?.to_i64s(),
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
