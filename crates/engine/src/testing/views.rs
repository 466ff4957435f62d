//! An exhaustive test of whether views leak secrets; compiled here once, and optimised.

/// Returns whether some view is likelier for one value of `hidden` than for another that occurs with the same value of
/// `allowed`. The lists have one entry per assignment. The numbers of a view take at most 128 bits in total.
pub fn leaks(views: &[Vec<u64>], allowed: &[u64], hidden: &[u64]) -> bool {
    let mut lanes: Vec<(u64, u128, u64)> = packed(views)
        .into_iter()
        .zip(allowed.iter().zip(hidden))
        .map(|(view, (&allowed, &hidden))| (allowed, view, hidden))
        .collect();
    assert_eq!(lanes.len(), views.len());
    lanes.sort_unstable();
    lanes.chunk_by(|a, b| a.0 == b.0).any(|class| {
        let mut all: Vec<u64> = class.iter().map(|lane| lane.2).collect();
        all.sort_unstable();
        all.dedup();
        class.chunk_by(|a, b| a.1 == b.1).any(|same_view| {
            let mut kinds = 0;
            let each = same_view.len() / all.len();
            let is_even = same_view.chunk_by(|a, b| a.2 == b.2).all(|run| {
                kinds += 1;
                run.len() == each
            });
            !is_even || kinds != all.len()
        })
    })
}

/// Packs the numbers of each view into one, each in as many bits as the largest number in its column takes.
fn packed(views: &[Vec<u64>]) -> Vec<u128> {
    let columns = views.first().map_or(0, Vec::len);
    let mut seen = vec![0u64; columns];
    for view in views {
        assert_eq!(view.len(), columns);
        seen.iter_mut().zip(view).for_each(|(seen, number)| *seen |= number);
    }
    let widths: Vec<u32> = seen.iter().map(|seen| u64::BITS - seen.leading_zeros()).collect();
    assert!(widths.iter().sum::<u32>() <= u128::BITS, "views of {widths:?} bits");
    let pack =
        |view: &Vec<u64>| view.iter().zip(&widths).fold(0, |all, (&number, &width)| all << width | u128::from(number));
    views.iter().map(pack).collect()
}

#[cfg(test)]
mod tests {
    use super::leaks;

    #[test]
    fn views_leak_what_they_depend_on_and_nothing_else() {
        let bits = |lane: u64| [lane & 1, lane >> 1 & 1, lane >> 2 & 1];
        let of = |number: fn([u64; 3]) -> u64| (0..8).map(|lane| number(bits(lane))).collect::<Vec<_>>();
        let seen = |view: fn([u64; 3]) -> Vec<u64>| (0..8).map(|lane| view(bits(lane))).collect::<Vec<_>>();
        let (nothing, secret) = (of(|_| 0), of(|[x, _, _]| x));
        let masked = seen(|[x, r, _]| vec![x ^ r]);
        assert!(!leaks(&masked, &nothing, &secret));
        assert!(leaks(&seen(|[x, r, _]| vec![x ^ r, r]), &nothing, &secret));
        assert!(leaks(&seen(|[x, r, _]| vec![x & r]), &nothing, &secret));
        assert!(leaks(&seen(|[x, r, s]| vec![x & r & s, r]), &nothing, &secret));
        // A value that depends only on the allowed ones is no leak; any other is one.
        assert!(!leaks(&seen(|[x, r, _]| vec![x, r]), &secret, &secret));
        assert!(leaks(&seen(|[x, r, _]| vec![x ^ r, r]), &of(|[_, r, _]| r), &secret));
        assert!(!leaks(&masked, &of(|[_, _, s]| s), &of(|[x, _, s]| x << 1 | s)));
        assert!(!leaks(&[], &[], &[]));
    }
}
