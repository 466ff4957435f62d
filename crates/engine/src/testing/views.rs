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

/// One bit of every lane, 64 lanes to a word. A lane is one element of the vectors that the parties compute on.
pub type Column = Vec<u64>;

/// The number of standard deviations from balance that counts as a dependence. One sum of independent columns in 10^11
/// reaches it by chance.
const DEVIATIONS: u64 = 7;

/// Returns the columns of a message that holds the same number of bits of every lane. The message is read in several
/// ways: row after row and, for each number of `parts`, as that number of equal parts with one packed element of every
/// lane each. A wrong reading mixes lanes, which adds no dependence on a secret. There are no columns if the length is
/// not a multiple of the number of lanes.
pub fn columns(bytes: &[u8], lanes: usize, parts: &[usize]) -> Vec<Column> {
    assert!(lanes > 0 && lanes.is_multiple_of(64), "whole words of lanes");
    let bits = 8 * bytes.len();
    if !bits.is_multiple_of(lanes) {
        return Vec::new();
    }
    let bit = |at: usize| u64::from(bytes[at / 8] >> (at % 8) & 1);
    // The bits at `first`, `first + step`, ..., one for each lane.
    let gather = |first: usize, step: usize| {
        let word = |word: usize| (0..64).fold(0, |all, lane| all | bit(first + (64 * word + lane) * step) << lane);
        (0..lanes / 64).map(word).collect::<Column>()
    };
    let mut all: Vec<Column> = (0..bits / lanes).map(|row| gather(row * lanes, 1)).collect();
    for &parts in parts.iter().filter(|&parts| bits.is_multiple_of(lanes * parts)) {
        let width = bits / lanes / parts;
        for start in (0..parts).map(|part| part * lanes * width) {
            all.extend((0..width).map(|i| gather(start + i, width)));
        }
    }
    all.sort_unstable();
    all.dedup();
    all
}

/// Returns whether what was seen depends on hidden bits. It does if one of these sums over F_2 depends on a sum of
/// hidden columns, that is, equals it in clearly more or fewer than half of the lanes:
/// - a column of `seen`;
/// - a column of `seen` plus a column of `beside`.
///
/// It also does if some sum of columns equals a sum of hidden columns in every lane. That is tested only where there
/// are at most half as many columns as lanes.
///
/// # Panics
/// If a sum of hidden columns is not balanced itself: then even constants would depend on it.
pub fn tells(seen: &[Column], beside: &[Column], hidden: &[Column]) -> bool {
    let words = hidden[0].len();
    let hidden: Vec<Column> = (1..1usize << hidden.len())
        .map(|of| {
            let mut sum = vec![0; words];
            let chosen = hidden.iter().enumerate().filter(|(i, _)| of >> i & 1 == 1);
            chosen.for_each(|(_, column)| xor_assign(&mut sum, column));
            sum
        })
        .collect();
    let zeros = vec![0; words];
    assert!(hidden.iter().all(|hidden| balanced(hidden, &zeros)), "what is hidden is not uniform");
    if 2 * (seen.len() + beside.len()) <= 64 * words && spans(seen.iter().chain(beside), &hidden) {
        return true;
    }
    let tells = |column: &Column| hidden.iter().any(|hidden| !balanced(column, hidden));
    let mut sum = zeros.clone();
    let mut with_another = |column: &Column, other: &Column| {
        sum.copy_from_slice(column);
        xor_assign(&mut sum, other);
        tells(&sum)
    };
    seen.iter().any(|column| tells(column) || beside.iter().any(|other| with_another(column, other)))
}

/// Returns whether one of the `hidden` columns is a sum of some of `columns`.
fn spans<'c>(columns: impl Iterator<Item = &'c Column>, hidden: &[Column]) -> bool {
    // Reduced columns, each with the first lane in which it is 1. All later columns are 0 there.
    let mut basis: Vec<(usize, Column)> = Vec::new();
    let rest = |basis: &[(usize, Column)], column: &Column| {
        let mut rest = column.clone();
        for (lane, other) in basis {
            if rest[lane / 64] >> (lane % 64) & 1 == 1 {
                xor_assign(&mut rest, other);
            }
        }
        let word = rest.iter().position(|&word| word != 0)?;
        Some((64 * word + rest[word].trailing_zeros() as usize, rest))
    };
    for column in columns {
        basis.extend(rest(&basis, column));
    }
    hidden.iter().any(|hidden| rest(&basis, hidden).is_none())
}

fn xor_assign(into: &mut [u64], column: &[u64]) {
    into.iter_mut().zip(column).for_each(|(into, word)| *into ^= word);
}

/// Returns whether two columns are equal in about half of the lanes, as independent columns are.
fn balanced(a: &[u64], b: &[u64]) -> bool {
    let lanes = 64 * a.len() as u64;
    let mut ones = 0;
    for (a, b) in a.iter().zip(b) {
        ones += u64::from((a ^ b).count_ones());
    }
    (2 * ones).abs_diff(lanes).pow(2) < DEVIATIONS.pow(2) * lanes
}

#[cfg(test)]
mod tests {
    use super::{columns, leaks, tells};

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

    /// Returns pseudorandom words.
    fn noise(words: usize, name: u64) -> Vec<u64> {
        let mut state = name;
        let mut next = || {
            state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
            let mixed = (state ^ state >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
            (mixed ^ mixed >> 27).wrapping_mul(0x94d0_49bb_1331_11eb)
        };
        (0..words).map(|_| next() >> 32 | next() >> 32 << 32).collect()
    }

    #[test]
    fn correlated_sums_of_columns_are_found() {
        const WORDS: usize = 32;
        let [x, y, r, s] = [1, 2, 3, 4].map(|name| noise(WORDS, name));
        let of = |bits: &dyn Fn(usize) -> u64| (0..WORDS).map(bits).collect::<Vec<u64>>();
        let hidden = [x.clone(), y.clone()];
        let masked = of(&|i| x[i] & y[i] ^ r[i]);
        let beside = [masked.clone(), s.clone(), vec![0; WORDS]];
        assert!(!tells(&beside, &beside, &hidden));
        assert!(tells(&beside, std::slice::from_ref(&r), &hidden), "a mask that is seen, too");
        assert!(tells(&[of(&|i| x[i] & y[i])], &[], &hidden), "a product");
        assert!(tells(&[of(&|i| x[i] ^ y[i])], &[], &hidden), "a sum");
        assert!(tells(&[of(&|i| x[i] & r[i])], &[], &hidden), "what is masked sometimes");
        let parts = [r.clone(), s.clone(), of(&|i| x[i] ^ r[i] ^ s[i])];
        assert!(tells(&parts, &[], &hidden), "a sum of many");
        assert!(!tells(&parts[1..], &parts[1..], &hidden), "a sum of which a part lacks");
    }

    #[test]
    fn columns_are_read_as_rows_and_as_elements() {
        const LANES: usize = 128;
        let words = noise(3 * LANES / 64, 5);
        let bytes: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).collect();
        let bit = |at: usize| words[at / 64] >> (at % 64) & 1;
        let column = |of: &dyn Fn(usize) -> usize| {
            let word = |first: usize| (0..64).fold(0, |word, i| word | bit(of(first + i)) << i);
            (0..LANES / 64).map(|i| word(64 * i)).collect::<Vec<u64>>()
        };
        let all = columns(&bytes, LANES, &[1, 3]);
        for i in 0..3 {
            // Elements of one bit each, one block after the other, are rows.
            assert!(all.contains(&column(&|lane| i * LANES + lane)) && all.contains(&column(&|lane| 3 * lane + i)));
        }
        assert_eq!((all.len(), columns(&bytes[1..], LANES, &[1, 3]).len()), (6, 0));
    }
}
