//! Orders by secret keys, compared with stable sorts of plain numbers.

use quorate_engine::{Ctx, Result};
use quorate_ring::{Ring, Vector};

use super::wide::share_wide;
use super::{agreed, noise, shown};
use crate::Family;
use crate::order::{Keys, shuffled};

/// Returns what an order gives for these keys, in a ring of k bits: the keys in order, and their former places.
fn ordered<S: Family>(n: usize, k: u32, keys: Keys, values: &[i128]) -> [Vec<i128>; 2] {
    let places: Vec<i128> = (0..values.len() as i128).collect();
    agreed::<S, _>(n, async |s: &S, ctx: &Ctx| -> Result<_> {
        let key = share_wide(s, ctx, Ring::of(k), values).await?;
        let places = s.public(&Vector::from_i128s(Ring::of(32), &places));
        let pairs = share_wide(s, ctx, Ring::of(k), &values.iter().flat_map(|x| [*x, -x]).collect::<Vec<_>>()).await?;
        let found = s.order(ctx, &key, keys, &[&key, &places, &pairs]).await?;
        let [values, places, pairs] = &found[..] else { unreachable!("three columns") };
        let (values, pairs) = (shown(s, ctx, values).await?.to_i128s(), shown(s, ctx, pairs).await?.to_i128s());
        let twice: Vec<i128> = values.iter().flat_map(|x| [*x, x.wrapping_neg() << (128 - k) >> (128 - k)]).collect();
        assert_eq!(pairs, twice, "rows of two elements stay together");
        Ok([values, shown(s, ctx, places).await?.to_i128s()])
    })
}

/// Tests keys of `bits` bits from `low` on in a ring of k bits: distinct ones, equal ones, and both ends of the range.
pub fn stable_sorts<S: Family>(n: usize, k: u32, keys: Keys, lengths: &[usize]) {
    let span = 1i128 << keys.bits;
    for &len in lengths {
        let random = noise(len as u64, len);
        let some: [Box<dyn Fn(usize) -> i128>; 4] = [
            Box::new(|i| i128::from(random[i]).rem_euclid(span)),
            Box::new(|i| i128::from(random[i] % 3).min(span - 1)),
            Box::new(|i| if random[i] & 1 == 0 { 0 } else { span - 1 }),
            Box::new(|_| span / 2),
        ];
        for value in some {
            let values: Vec<i128> = (0..len).map(|i| keys.low + value(i)).collect();
            let mut places: Vec<usize> = (0..len).collect();
            places.sort_by_key(|&i| if keys.descending { -values[i] } else { values[i] });
            let expected: [Vec<i128>; 2] =
                [places.iter().map(|&i| values[i]).collect(), places.iter().map(|&i| i as i128).collect()];
            assert_eq!(ordered::<S>(n, k, keys, &values), expected, "{len} rows, {keys:?} in {k} bits");
        }
    }
}

/// Tests narrow keys, whole rings, wide rings, both directions, and lengths with a few levels and with one.
pub fn all<S: Family>(n: usize) {
    let keys = |low, bits, descending| Keys { low, bits, descending };
    stable_sorts::<S>(n, 64, keys(-5, 4, false), &[0, 1, 2, 3, 56, 57, 70]);
    stable_sorts::<S>(n, 64, keys(-(1 << 63), 64, false), &[2, 58]);
    stable_sorts::<S>(n, 64, keys(-(1 << 63), 64, true), &[57]);
    stable_sorts::<S>(n, 16, keys(-(1 << 15), 16, true), &[7]);
    stable_sorts::<S>(n, 16, keys(100, 10, true), &[33]);
    stable_sorts::<S>(n, 90, keys(-(1 << 80), 81, false), &[20]);
}

/// Tests that what an order compares are the keys with the places that their rows had, and that these places come in
/// every order equally often, whatever the keys, and independently in two orders of one run.
pub fn compared_rows_have_one_law<S: Family>(n: usize, repeats: usize) {
    const KEYS: Keys = Keys { low: 0, bits: 2, descending: false };
    for values in [[0, 0, 0], [1, 2, 3], [3, 1, 3]] {
        let orders = agreed::<S, _>(n, async |s: &S, ctx: &Ctx| {
            let key = share_wide(s, ctx, Ring::of(8), &values).await?;
            let twice =
                ctx.join_all(2 * repeats, async |ctx: Ctx, _| Ok(shuffled(s, &ctx, &key, KEYS, &[]).await?.remove(0)));
            let keys = twice.await?;
            Ok(shown(s, ctx, &s.concat(&keys.iter().collect::<Vec<_>>())).await?.to_u64s())
        });
        let mut counts = [[0usize; 6]; 6];
        for pair in orders.chunks_exact(6) {
            let [one, other] = [0, 3].map(|at| {
                let places: Vec<u64> = pair[at..at + 3].iter().map(|key| key % 4).collect();
                for (key, &place) in pair[at..at + 3].iter().zip(&places) {
                    assert_eq!(i128::from(key >> 2), values[place as usize], "a key with its place");
                }
                let [a, b, c] = places[..] else { unreachable!("three rows") };
                assert_eq!(1 << a | 1 << b | 1 << c, 7, "every row once: {places:?}");
                (2 * a + u64::from(b > c)) as usize
            });
            counts[one][other] += 1;
        }
        let expected = repeats as f64 / 36.0;
        let chi: f64 = counts.iter().flatten().map(|&c| (c as f64 - expected).powi(2) / expected).sum();
        // 35 degrees of freedom: exceeded by chance once in 10^10 times.
        assert!(chi < 125.0, "keys {values:?}: chi-square {chi}, {counts:?}");
    }
}
