//! Tests of convolutions: shared images with shared and public filters, compared with plain arithmetic.

use quorate_engine::{Form, Linear};
use quorate_ring::{Conv, Ring, Vector};

use super::{agreed, shown};
use crate::Family;
use crate::testing::wide::{numbers, share_wide, wrapped};

/// Returns small convolutions of all types: several images, channels and filters, groups, padding, strides, dilation.
pub fn kinds() -> Vec<Conv> {
    let plain = Conv { filters: 2, ..Conv::plain([3, 4], [2, 2]) };
    vec![
        plain,
        Conv { batch: 2, channels: 3, before: [1, 0], after: [0, 1], ..plain },
        Conv { groups: 2, batch: 2, filters: 1, stride: [2, 1], after: [1, 0], ..plain },
        Conv { groups: 3, channels: 1, filters: 1, dilation: [2, 2], before: [1, 1], after: [1, 1], ..plain },
        Conv { window: [1, 1], channels: 2, filters: 5, batch: 2, ..plain },
        Conv { batch: 0, ..plain },
        Conv { channels: 0, ..plain },
    ]
}

/// Tests convolutions with both operands secret, and with either one public.
pub fn convolutions<S: Family>(n: usize, k: u32) {
    let ring = Ring::of(k);
    for conv in kinds() {
        let lens = conv.lens();
        let of = |seed: u64, len: usize| -> Vec<i128> {
            numbers(k.max(66), seed, len).into_iter().rev().take(len).map(|x| wrapped(k, x)).collect()
        };
        let (x, w) = (of(1, lens[0]), of(2, lens[1]));
        let [images, filters] = [&x, &w].map(|values| Vector::from_i128s(ring, values));
        let wanted = Vector::convolve(&images, &filters, &conv).to_i128s();
        let got = agreed::<S, _>(n, async |s, ctx| {
            let (a, b) = (share_wide(s, ctx, ring, &x).await?, share_wide(s, ctx, ring, &w).await?);
            let both = s.bilinear(ctx, Form::Conv(conv), &a, &b).await?;
            let [of_filters, of_images] =
                [s.linear(&a, &Linear::Filter(&filters, &conv)), s.linear(&b, &Linear::Images(&images, &conv))];
            let mut all = vec![];
            for result in [both, of_filters, of_images] {
                all.push(shown(s, ctx, &result).await?.to_i128s());
            }
            Ok(all)
        });
        assert_eq!(got, vec![wanted; 3], "n {n} k {k} {conv:?}");
    }
}
