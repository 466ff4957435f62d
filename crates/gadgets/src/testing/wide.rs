//! Gadgets over rings of 65 to 126 bits, compared with plain arithmetic: at the ends of ranges, around powers of two,
//! and on pseudorandom numbers.

use quorate_engine::{Ctx, Form, Result, Sharing};
use quorate_ring::{Ring, Vector};

use super::{agreed, noise, open_bits, shown};
use crate::extremum::{Best, arg_extremum, extremum};
use crate::floor_div::{Range, floor_div};
use crate::int_div::{Known, remainder};
use crate::scale::{Rounding, Scale, Upper, scale};
use crate::{Family, Sign, Width, convert, int_div, real};

/// Returns x modulo 2^k, with its sign.
pub fn wrapped(k: u32, x: i128) -> i128 {
    x << (128 - k) >> (128 - k)
}

fn ends(k: u32) -> (i128, i128) {
    (-(1i128 << (k - 1)), (1i128 << (k - 1)) - 1)
}

/// Returns pseudorandom numbers of 128 bits.
fn noise_i128(seed: u64, len: usize) -> Vec<i128> {
    noise(seed, 2 * len).chunks(2).map(|pair| (i128::from(pair[0]) << 64) | i128::from(pair[1])).collect()
}

/// Returns the ends of Z_2^k, the neighbours of words and halves, and `count` numbers of all sizes.
pub fn numbers(k: u32, seed: u64, count: usize) -> Vec<i128> {
    let (low, top) = ends(k);
    let mut numbers = vec![low, low + 1, top, top - 1, 0, 1, -1, 2, -3, low / 2, top / 2, top / 2 + 1, low / 2 - 1];
    for e in [31, 32, 63, 64, k - 2] {
        numbers.extend([(1 << e) - 1, 1 << e, -(1 << e) - 1]);
    }
    let random = noise_i128(seed, count).into_iter().enumerate();
    numbers.extend(random.map(|(i, r)| wrapped(k, r) >> (i as u32 * 7 % k)));
    numbers.retain(|x| (low..=top).contains(x));
    numbers
}

/// Shares values that all parties of the test know: every party inputs a summand.
pub async fn share_wide<S: Sharing>(s: &S, ctx: &Ctx, ring: Ring, values: &[i128]) -> Result<S::A> {
    let n = ctx.parties();
    let mut summands: Vec<Vec<i128>> = (1..n as u64).map(|p| noise_i128(p, values.len())).collect();
    let rest = |i: usize| summands.iter().fold(values[i], |sum, part| sum.wrapping_sub(part[i]));
    summands.push((0..values.len()).map(rest).collect());
    let mut sum: Option<S::A> = None;
    for (owner, part) in summands.iter().enumerate() {
        let own = (ctx.me() == owner).then(|| Vector::from_i128s(ring, part));
        let shares = s.input(ctx, owner, (ring, values.len()), own.as_ref()).await?;
        sum = Some(sum.map_or(shares.clone(), |sum| s.add(&sum, &shares)));
    }
    Ok(sum.unwrap())
}

async fn open<S: Family>(s: &S, ctx: &Ctx, x: &S::A) -> Result<Vec<i128>> {
    Ok(shown(s, ctx, x).await?.to_i128s())
}

fn floored(x: i128, d: i128) -> i128 {
    x / d - i128::from(x % d != 0 && (x < 0) != (d < 0))
}

/// Tests products, comparisons, bits, selections, extrema and sums of products over Z_2^k.
pub fn elements<S: Family>(n: usize, k: u32) {
    let ring = Ring::of(k);
    let mut x = numbers(k, 1, 16);
    let mut y: Vec<i128> = numbers(k, 2, 16).into_iter().rev().collect();
    // Adjacent and equal numbers.
    x.extend(numbers(k, 3, 4));
    y.extend(
        numbers(k, 3, 4)
            .iter()
            .enumerate()
            .map(|(i, &x)| x.saturating_add(i as i128 % 3 - 1).clamp(ends(k).0, ends(k).1)),
    );
    let len = x.len();
    let (numbers, bits, places) = agreed::<S, _>(n, async |s, ctx| {
        let (a, b) = (share_wide(s, ctx, ring, &x).await?, share_wide(s, ctx, ring, &y).await?);
        let less = s.lt(ctx, &a, &b, Width::Full).await?;
        let rows = s.bit_decompose(ctx, &a).await?;
        let numbers = [
            s.mul(ctx, &a, &b).await?,
            s.mux(ctx, &less, &a, &b).await?,
            s.mask(ctx, &less, &a).await?,
            s.compose(ctx, &rows, ring).await?,
            convert::weighed(s, ctx, &rows, true, Ring::of(126)).await?,
            s.bit_to_ring(ctx, &less, ring).await?,
            extremum(s, ctx, &a, len, Best::Smallest, Width::Full).await?,
            s.bilinear(ctx, Form::Dot { outer: 1, axis: len, inner: 1 }, &a, &b).await?,
        ];
        let mut opened = Vec::new();
        for number in &numbers {
            opened.push(open(s, ctx, number).await?);
        }
        // Differences of halves fit the ring.
        let (half_a, half_b) = (s.trunc_exact(ctx, &a, 1).await?, s.trunc_exact(ctx, &b, 1).await?);
        let bits = [
            less,
            s.eqz(ctx, &s.sub(&a, &b)).await?,
            s.msb(ctx, &a).await?,
            s.lt(ctx, &half_a, &half_b, Width::Difference(k)).await?,
        ];
        let mut opened_bits = Vec::new();
        for bits in &bits {
            opened_bits.push(open_bits(s, ctx, bits).await?);
        }
        let places = arg_extremum(s, ctx, &a, len, Best::Largest, Width::Full, Ring::of(70)).await?;
        Ok((opened, opened_bits, open(s, ctx, &places).await?))
    });
    for i in 0..len {
        let (a, b) = (x[i], y[i]);
        let wanted = [wrapped(k, a.wrapping_mul(b)), a.min(b), if a < b { a } else { 0 }, a, a, i128::from(a < b)];
        wanted
            .iter()
            .enumerate()
            .for_each(|(j, wanted)| assert_eq!(numbers[j][i], *wanted, "n {n} k {k}: {j} of {a} {b}"));
        let wanted = [a < b, a == b, a < 0, a >> 1 < b >> 1];
        wanted
            .iter()
            .enumerate()
            .for_each(|(j, wanted)| assert_eq!(bits[j][i], *wanted, "n {n} k {k}: bit {j} of {a} {b}"));
    }
    let dot = x.iter().zip(&y).fold(0i128, |sum, (a, b)| sum.wrapping_add(a.wrapping_mul(*b)));
    assert_eq!((numbers[6][0], numbers[7][0]), (*x.iter().min().unwrap(), wrapped(k, dot)), "n {n} k {k}");
    let largest = *x.iter().max().unwrap();
    assert_eq!(places[0], x.iter().position(|&v| v == largest).unwrap() as i128);
}

/// Tests comparisons of numbers whose differences have few bits, in rings of more.
pub fn narrow_differences<S: Family>(n: usize, k: u32) {
    for width in [1, 20, 64, 65, k - 1] {
        let x = numbers(k, 5, 10);
        let (low, top) = ends(width);
        let by = numbers(width.max(66), 6, x.len()).into_iter().map(|by| by.clamp(low, top));
        let pairs: Vec<(i128, i128)> =
            x.iter().zip(by).map(|(&x, by)| (x, x.saturating_sub(by).clamp(ends(k).0, ends(k).1))).collect();
        let (x, y): (Vec<i128>, Vec<i128>) = pairs.into_iter().unzip();
        let got = agreed::<S, _>(n, async |s, ctx| {
            let (a, b) = (share_wide(s, ctx, Ring::of(k), &x).await?, share_wide(s, ctx, Ring::of(k), &y).await?);
            open_bits(s, ctx, &s.lt(ctx, &a, &b, Width::Difference(width)).await?).await
        });
        for i in 0..x.len() {
            assert_eq!(got[i], x[i] < y[i], "n {n} k {k} width {width}: {} < {}", x[i], y[i]);
        }
    }
}

/// Tests truncations by every size of shift: exact ones, and those down or up within a quarter of the ring.
pub fn truncations<S: Family>(n: usize, k: u32) {
    let x = numbers(k, 7, 20);
    let quarter: Vec<i128> = x.iter().map(|x| x >> 1).collect();
    let shifts = [1, 16, 32, 63, 64, 65, k - 2, k - 1];
    let got = agreed::<S, _>(n, async |s, ctx| {
        let (a, b) = (share_wide(s, ctx, Ring::of(k), &x).await?, share_wide(s, ctx, Ring::of(k), &quarter).await?);
        let mut got = Vec::new();
        for shift in shifts {
            let exact = s.trunc_exact(ctx, &a, shift).await?;
            let either = if shift + 2 <= k { s.trunc_prob(ctx, &b, shift).await? } else { b.clone() };
            let bounded = s.trunc_bounded(ctx, &b, shift).await?;
            got.push((open(s, ctx, &exact).await?, open(s, ctx, &either).await?, open(s, ctx, &bounded).await?));
        }
        Ok(got)
    });
    for ((exact, either, bounded), shift) in got.iter().zip(shifts) {
        for i in 0..x.len() {
            assert_eq!(exact[i], x[i] >> shift, "n {n} k {k}: {} by {shift}", x[i]);
            assert_eq!(bounded[i], quarter[i] >> shift, "n {n} k {k}: {} by {shift}", quarter[i]);
            let (down, rest) = (quarter[i] >> shift, quarter[i] & ((1 << shift) - 1));
            let allowed = if rest == 0 { down..=down } else { down..=down + 1 };
            assert!(
                shift + 2 > k || allowed.contains(&either[i]),
                "n {n} k {k}: {} by {shift}: {}",
                quarter[i],
                either[i]
            );
        }
    }
}

/// Tests conversions to larger rings, with and without signs, and to smaller ones.
pub fn conversions<S: Family>(n: usize) {
    for (from, to) in [
        (1, 65),
        (20, 126),
        (44, 96),
        (63, 65),
        (64, 65),
        (64, 96),
        (64, 126),
        (65, 66),
        (96, 126),
        (120, 126),
        (125, 126),
    ] {
        let (low, top) = ends(from);
        let x: Vec<i128> = numbers(from.max(66), 8, 20).into_iter().map(|x| x.clamp(low, top)).collect();
        let (signed, unsigned, back) = agreed::<S, _>(n, async |s, ctx| {
            let a = share_wide(s, ctx, Ring::of(from), &x).await?;
            let signed = s.convert(ctx, &a, Ring::of(to), Sign::Signed).await?;
            let unsigned = s.convert(ctx, &a, Ring::of(to), Sign::Unsigned).await?;
            let back = s.convert(ctx, &unsigned, Ring::of(from), Sign::Signed).await?;
            Ok((open(s, ctx, &signed).await?, shown(s, ctx, &unsigned).await?.to_u128s(), open(s, ctx, &back).await?))
        });
        for (i, &x) in x.iter().enumerate() {
            let wanted = (x, x as u128 & Ring::of(from).mask(), x);
            assert_eq!((signed[i], unsigned[i], back[i]), wanted, "n {n}, {from} to {to}: {x}");
        }
    }
}

/// Tests products of matrices, and shuffles of rows.
pub fn matrices_and_shuffles<S: Family>(n: usize, k: u32) {
    let ring = Ring::of(k);
    let (rows, depth, columns) = (5, 7, 6);
    let x: Vec<i128> = numbers(k, 9, rows * depth).split_off(9)[..rows * depth].to_vec();
    let y: Vec<i128> = numbers(k, 10, depth * columns).split_off(4)[..depth * columns].to_vec();
    let keys: Vec<i128> = (0..rows as i128).collect();
    let (product, keys, moved) = agreed::<S, _>(n, async |s, ctx| {
        let (a, b) = (share_wide(s, ctx, ring, &x).await?, share_wide(s, ctx, ring, &y).await?);
        let product = s.bilinear(ctx, Form::MatMul { m: rows, k: depth, n: columns }, &a, &b).await?;
        let keys = share_wide(s, ctx, Ring::of(20), &keys).await?;
        let moved = s.shuffle(ctx, &[&keys, &a], rows).await?;
        Ok((open(s, ctx, &product).await?, open(s, ctx, &moved[0]).await?, open(s, ctx, &moved[1]).await?))
    });
    for (i, got) in product.iter().enumerate() {
        let (row, column) = (i / columns, i % columns);
        let sum =
            (0..depth).fold(0i128, |sum, j| sum.wrapping_add(x[row * depth + j].wrapping_mul(y[j * columns + column])));
        assert_eq!(*got, wrapped(k, sum), "n {n} k {k}");
    }
    let mut sorted = keys.clone();
    sorted.sort_unstable();
    assert_eq!(sorted, (0..rows as i128).collect::<Vec<_>>());
    for (row, &key) in keys.iter().enumerate() {
        assert_eq!(moved[row * depth..][..depth], x[key as usize * depth..][..depth], "n {n} k {k}");
    }
}

/// Tests multiples with fractional bits: of 64 bits over 126, of 80 bits to the nearest in their own ring, beyond a
/// limit.
pub fn scales<S: Family>(n: usize) {
    for (k, bits, ring, whole, factor, shift) in [
        (64, 64, 126, 0, (1i128 << 61) - 12_345, 62),
        (96, 80, 120, -3, 1_234_567_891, 40),
        (96, 70, 96, 5, -98_765, 16),
        (120, 100, 126, 1, 77, 30),
    ] {
        let (low, top) = ends(bits);
        let x: Vec<i128> = numbers(k.max(66), 11, 20).into_iter().map(|x| x.clamp(low, top)).collect();
        let limit = top / 3;
        let by = Scale {
            whole: &[whole],
            factors: &[factor],
            shift,
            ring: Ring::of(ring),
            bits,
            rounding: Rounding::Nearest,
            limits: &[],
            upper: None,
        };
        let (multiples, limited) = agreed::<S, _>(n, async |s, ctx| {
            let a = share_wide(s, ctx, Ring::of(k), &x).await?;
            let limited = scale(s, ctx, &a, &Scale { whole: &[1], limits: &[limit], ..by }).await?;
            Ok((open(s, ctx, &scale(s, ctx, &a, &by).await?).await?, open(s, ctx, &limited).await?))
        });
        let multiple = |x: i128, whole: i128| wrapped(k, whole * x + ((factor * x + (1 << (shift - 1))) >> shift));
        for (i, &x) in x.iter().enumerate() {
            assert_eq!(multiples[i], multiple(x, whole), "n {n} k {k}: {x}");
            let wanted = if x.abs() > limit { x.signum() * ends(k).1 } else { multiple(x, 1) };
            assert_eq!(limited[i], wanted, "n {n} k {k}, with a limit: {x}");
        }
    }
}

/// Tests multiples in two parts: of the low bits of 120, and of the others by the same factor times 2^59.
pub fn scales_in_parts<S: Family>(n: usize) {
    let (k, from, shift) = (120, 59, 54);
    // 0.3 as a double, exactly.
    let factor = 5_404_319_552_844_595;
    let [upper_factor, of_upper] = [[0], [factor << (from - shift)]];
    let upper = Scale {
        whole: &of_upper,
        factors: &upper_factor,
        shift: 0,
        ring: Ring::of(k),
        bits: k - from,
        rounding: Rounding::Nearest,
        limits: &[],
        upper: None,
    };
    let (low, top) = ends(k);
    let limit = top / 5;
    let mut x: Vec<i128> = numbers(k, 13, 10).into_iter().map(|x| x.clamp(low, top)).collect();
    x.extend([low, top, -1, 0, 1, limit, -limit, limit + 1]);
    let by = Scale {
        whole: &[0],
        factors: &[factor],
        shift,
        ring: Ring::of(k),
        bits: from + 1,
        upper: Some(Upper { from, scale: &upper }),
        ..upper
    };
    let (multiples, limited) = agreed::<S, _>(n, async |s, ctx| {
        let a = share_wide(s, ctx, Ring::of(k), &x).await?;
        let limited = scale(s, ctx, &a, &Scale { whole: &[1], limits: &[limit], ..by }).await?;
        Ok((open(s, ctx, &scale(s, ctx, &a, &by).await?).await?, open(s, ctx, &limited).await?))
    });
    for (i, &x) in x.iter().enumerate() {
        let (above, below) = (x >> from, x & ((1 << from) - 1));
        let multiple = (factor << (from - shift)) * above + ((factor * below + (1 << (shift - 1))) >> shift);
        assert_eq!(multiples[i], multiple, "n {n}: {x}");
        let wanted = if x.abs() > limit { x.signum() * top } else { wrapped(k, multiple + below) };
        assert_eq!(limited[i], wanted, "n {n}, with a limit: {x}");
    }
}

/// Tests quotients and remainders by secret integers.
pub fn integer_division<S: Family>(n: usize, k: u32, signed: bool) {
    let ring = Ring::of(k);
    let range = if signed { Range { lo: ends(k).0, hi: ends(k).1 } } else { Range { lo: 0, hi: ends(k + 1).1 } };
    let read = |x: i128| if signed { x } else { x & range.hi };
    let x: Vec<i128> = numbers(k, 12, 12).into_iter().map(read).collect();
    let mut y: Vec<i128> = numbers(k, 13, 12).into_iter().rev().map(read).collect();
    y[3] = 0;
    let known = Known::of(range, range);
    let (quotients, rests) = agreed::<S, _>(n, async |s, ctx| {
        let (a, b) = (share_wide(s, ctx, ring, &x).await?, share_wide(s, ctx, ring, &y).await?);
        let quotient = s.int_quotient(ctx, &a, &b, known).await?;
        let rest = remainder(s, ctx, &a, &b, &quotient, known).await?;
        Ok((open(s, ctx, &quotient).await?, open(s, ctx, &rest).await?))
    });
    for (i, (&x, &y)) in x.iter().zip(&y).enumerate() {
        let quotient = if y == 0 { 0 } else { floored(x, y) };
        let rest = if y == 0 { 0 } else { x.wrapping_sub(quotient.wrapping_mul(y)) };
        assert_eq!((quotients[i], rests[i]), (wrapped(k, quotient), wrapped(k, rest)), "n {n} k {k}: {x} by {y}");
    }
}

/// Tests quotients by public integers, one for all elements and one for each, for all divisors that fit a ring of k
/// bits.
pub fn public_division<S: Family>(n: usize, k: u32) {
    let ring = Ring::of(k);
    let (low, top) = ends(k);
    let natural = Range { lo: 0, hi: ends(k + 1).1 };
    let bounded = Range { lo: -5, hi: top / 1000 };
    for range in [Range { lo: low, hi: top }, natural, bounded] {
        let inside = |x: i128| if range == natural { x & natural.hi } else { x.clamp(range.lo, range.hi) };
        let divisors =
            [3, -7, 10 << 16, -(10 << 16), 1_000_003, (1 << 40) + 1, (1 << 62) + 1, -(1 << 30), (1 << 90) - 1];
        let x: Vec<i128> = numbers(k, 14, 30).into_iter().map(inside).collect();
        let multiples = divisors.iter().flat_map(|&d| [-1, 0, 1].map(|by| inside(floored(top / 3, d) * d + by)));
        let x: Vec<i128> = x.into_iter().chain(multiples).collect();
        let each: Vec<i128> = (0..x.len()).map(|i| divisors[i % 9]).collect();
        let (one, several) = agreed::<S, _>(n, async |s, ctx| {
            let a = share_wide(s, ctx, ring, &x).await?;
            let mut one = Vec::new();
            for d in divisors {
                one.push(open(s, ctx, &floor_div(s, ctx, &a, &[d], range).await?).await?);
            }
            Ok((one, open(s, ctx, &floor_div(s, ctx, &a, &each, range).await?).await?))
        });
        for (i, &x) in x.iter().enumerate() {
            for (got, d) in one.iter().zip(divisors) {
                assert_eq!(got[i], wrapped(k, floored(x, d)), "n {n} k {k} {range:?}: {x} by {d}");
            }
            assert_eq!(
                several[i],
                wrapped(k, floored(x, each[i])),
                "n {n} k {k} {range:?}: {x} by {}, of several",
                each[i]
            );
        }
    }
}

/// Returns the result of a real function of two operands, in units, where the largest element is `top`.
fn exact(name: &str, x: f64, y: f64, frac: u32, top: f64) -> f64 {
    let unit = 2f64.powi(frac as i32);
    let result = match name {
        "divide" if x == 0.0 && y == 0.0 => 0.0,
        // A divisor of 0 has no sign.
        "divide" if y == 0.0 => x * f64::INFINITY,
        "divide" => x / y * unit,
        "sqrt" => (x.max(0.0) / unit).sqrt() * unit,
        "rsqrt" if x <= 0.0 => f64::INFINITY,
        "rsqrt" => unit / (x / unit).sqrt(),
        "reciprocal" if x == 0.0 => f64::INFINITY,
        "reciprocal" => unit / (x / unit),
        "log" if x <= 0.0 => return -top - 1.0,
        "log" => (x / unit).ln() * unit,
        _ => panic!("no function {name}"),
    };
    result.clamp(-top, top)
}

/// Tests division, roots and logarithms: within 4 units or 2^-28 of the result; stated values outside the domains.
pub fn real_functions<S: Family>(n: usize, k: u32, frac: u32) {
    let ring = Ring::of(k);
    let top = ends(k).1;
    let mut pairs: Vec<(i128, i128)> =
        numbers(k, 15, 60).into_iter().zip(numbers(k, 16, 60).into_iter().rev()).collect();
    let edges = [0, 1, -1, 7, 1 << frac, -(3 << frac), top, -top - 1, top >> frac, 1 << 64];
    pairs.extend(edges.iter().flat_map(|&x| edges.map(|y| (x, y))));
    // Quotients around the largest one, and divisors of a few bits.
    pairs.extend((-2..=2).map(|by| ((top >> frac) + by, 1)).chain((1..40).map(|i| (top >> (3 * i), 1 << i))));
    pairs.retain(|(x, y)| (-top - 1..=top).contains(x) && (-top - 1..=top).contains(y));
    let (x, y): (Vec<i128>, Vec<i128>) = pairs.into_iter().unzip();
    let got = agreed::<S, _>(n, async |s, ctx| {
        let (a, b) = (share_wide(s, ctx, ring, &x).await?, share_wide(s, ctx, ring, &y).await?);
        let results = [
            ("divide", real::divide(s, ctx, &a, &b, frac, k - 1).await?),
            ("sqrt", real::sqrt(s, ctx, &a, (frac, frac), k - 1).await?),
            ("log", real::log(s, ctx, &a, (frac, frac)).await?),
            ("rsqrt", real::rsqrt(s, ctx, &a, (frac, frac)).await?),
            ("reciprocal", real::reciprocal(s, ctx, &a, (frac, frac)).await?),
        ];
        let mut opened = Vec::new();
        for (name, result) in &results {
            opened.push((*name, open(s, ctx, result).await?));
        }
        Ok(opened)
    });
    for (name, got) in &got {
        for i in 0..x.len() {
            let wanted = exact(name, x[i] as f64, y[i] as f64, frac, top as f64);
            let units = if *name == "divide" { 4.0 } else { 2.0 };
            let relative = wanted.abs() * 2f64.powi(if *name == "log" { -50 } else { -28 });
            // The table of logarithms is not more precise.
            let allowed = relative.max(if *name == "log" { 2f64.powi(frac as i32 - 24) } else { 0.0 });
            let error = (got[i] as f64 - wanted).abs();
            assert!(
                error <= allowed.max(units),
                "n {n} k {k} f {frac}: {name} of {} {}: {}, not {wanted}",
                x[i],
                y[i],
                got[i]
            );
        }
        let saturated = |i: usize| *name == "divide" && y[i] == 0 && x[i] != 0;
        (0..x.len())
            .filter(|&i| saturated(i))
            .for_each(|i| assert_eq!(got[i], x[i].signum() * top, "{name} of {} by 0", x[i]));
    }
}

/// Returns x 2^up / y rounded towards 0, saturated at `top`.
fn long_division(x: i128, y: i128, up: u32, top: i128) -> i128 {
    let (size, by) = (x.unsigned_abs(), y.unsigned_abs().max(1));
    let (mut magnitude, mut rest) = (size / by, size % by);
    for _ in 0..up {
        rest *= 2;
        magnitude = magnitude.saturating_mul(2).saturating_add(u128::from(rest >= by));
        rest -= if rest >= by { by } else { 0 };
    }
    let magnitude = if y == 0 && x != 0 { top } else { i128::try_from(magnitude).unwrap_or(top).min(top) };
    x.signum() * if y < 0 { -magnitude } else { magnitude }
}

/// Tests quotients with more than 16 bits after the point: within a unit or 2^-50, whole ones exact.
pub fn fine_quotients<S: Family>(n: usize, k: u32, up: u32) {
    let ring = Ring::of(k);
    let top = ends(k).1;
    let mut pairs: Vec<(i128, i128)> =
        numbers(k, 17, 60).into_iter().zip(numbers(k, 18, 60).into_iter().rev()).collect();
    let edges = [0, 1, -1, 7, 1 << (k / 2), -(3 << (k / 2)), top, -top - 1, top >> up.min(k - 2), top - 1];
    pairs.extend(edges.iter().flat_map(|&x| edges.map(|y| (x, y))));
    // Whole quotients, mantissas near 1 and 2, and numbers that are one off.
    pairs.extend((1..40).map(|i| ((7 * i * i - 900) * (2 * i - 41), 2 * i - 41)));
    pairs.extend((2..k as i128 - 2).flat_map(|i| [(1 << i, (1 << (i / 2)) + 1), ((1 << i) - 1, 1 << (i / 2))]));
    pairs.retain(|(x, y)| (-top - 1..=top).contains(x) && (-top - 1..=top).contains(y));
    let (x, y): (Vec<i128>, Vec<i128>) = pairs.into_iter().unzip();
    let got = agreed::<S, _>(n, async |s, ctx| {
        let (a, b) = (share_wide(s, ctx, ring, &x).await?, share_wide(s, ctx, ring, &y).await?);
        let quotient = real::divide(s, ctx, &a, &b, up, k - 1).await?;
        open(s, ctx, &quotient).await
    });
    for ((&x, &y), got) in x.iter().zip(&y).zip(got) {
        let wanted = long_division(x, y, up, top);
        let off = (got - wanted).abs();
        assert!(off <= 1.max(wanted.abs() >> 50), "n {n} k {k} up {up}: {x} / {y}: {got}, not {wanted}");
        let whole = y != 0 && x.leading_zeros() > up && (x << up) % y == 0;
        let small = wanted.abs() < 1 << 50 && y.abs() < 1 << 59;
        assert!(!whole || !small || got == wanted, "n {n} k {k} up {up}: {x} / {y}: {got}, not exactly {wanted}");
    }
}

/// Runs every operation once over Z_2^k, on zeros, to compare dry runs with real ones.
pub async fn one_of_everything<S: Family>(s: &S, ctx: &Ctx, k: u32, len: usize) -> Result<()> {
    let ring = Ring::of(k);
    let x = s.public(&if ctx.is_dry() { Vector::shape(ring, len) } else { Vector::zeros(ring, len) });
    let range = Range { lo: ends(k).0, hi: ends(k).1 };
    let less = s.lt(ctx, &x, &x, Width::Full).await?;
    let rows = s.bit_decompose(ctx, &x).await?;
    s.mul(ctx, &x, &x).await?;
    s.mux(ctx, &less, &x, &x).await?;
    s.compose(ctx, &rows, ring).await?;
    s.eqz(ctx, &x).await?;
    s.trunc_exact(ctx, &x, 16).await?;
    s.trunc_prob(ctx, &x, 16).await?;
    s.bilinear(ctx, Form::Dot { outer: 1, axis: len, inner: 1 }, &x, &x).await?;
    s.shuffle(ctx, &[&x], len).await?;
    s.convert(ctx, &x, Ring::of(126), Sign::Signed).await?;
    s.convert(ctx, &s.convert(ctx, &x, Ring::of(44), Sign::Signed).await?, ring, Sign::Unsigned).await?;
    extremum(s, ctx, &x, len, Best::Largest, Width::Difference(k)).await?;
    let quotient_bits = 5;
    let known = int_div::Known { quotient_bits, ..Known::of(range, range) };
    s.int_quotient(ctx, &x, &x, known).await?;
    floor_div(s, ctx, &x, &[10], range).await?;
    let divisors: Vec<i128> = (0..len as i128).map(|i| (i - 3) * 1_000_003 + 1).collect();
    floor_div(s, ctx, &x, &divisors, range).await?;
    real::divide(s, ctx, &x, &x, 16, k - 1).await?;
    real::sqrt(s, ctx, &x, (16, 16), k - 1).await?;
    real::log(s, ctx, &x, (16, 16)).await?;
    Ok(())
}
