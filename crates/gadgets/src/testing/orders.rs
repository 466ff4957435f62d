//! Orders by secret keys, compared with stable sorts of plain numbers.

use quorate_engine::{Ctx, Result};
use quorate_ring::{Ring, Vector};

use super::wide::share_wide;
use super::{Tested, agreed, noise, shown};
use crate::order::Keys;

/// Returns what an order gives for these keys, in a ring of k bits: the keys in order, and their former places.
fn ordered<S: Tested>(n: usize, k: u32, keys: Keys, values: &[i128]) -> [Vec<i128>; 2] {
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
pub fn stable_sorts<S: Tested>(n: usize, k: u32, keys: Keys, lengths: &[usize]) {
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
pub fn all<S: Tested>(n: usize) {
    let keys = |low, bits, descending| Keys { low, bits, descending };
    stable_sorts::<S>(n, 64, keys(-5, 4, false), &[0, 1, 2, 3, 56, 57, 70]);
    stable_sorts::<S>(n, 64, keys(-(1 << 63), 64, false), &[2, 58]);
    stable_sorts::<S>(n, 64, keys(-(1 << 63), 64, true), &[57]);
    stable_sorts::<S>(n, 16, keys(-(1 << 15), 16, true), &[7]);
    stable_sorts::<S>(n, 16, keys(100, 10, true), &[33]);
    stable_sorts::<S>(n, 90, keys(-(1 << 80), 81, false), &[20]);
}
