//! The batches in which P2 deals: each is checked by itself, and a few are under way at a time.

use std::collections::BTreeMap;

use quorate_authenticated::{Kind, Material, SharedBits, Tagged};
use quorate_ring::meter::{charge_all, deferred};

/// The approximate memory of a party for a batch, beside the stock.
const BATCH_BYTES: usize = 16 << 20;
/// The number of batches under way at a time: P2 sends the next one while a check waits for its rounds.
pub(super) const BATCHES: usize = 2;

/// What is in every batch. A run of equal batches is listed once: plans have millions of them.
pub(super) struct Batches {
    /// By run, the number of its first batch, and the pieces of each of its batches.
    runs: Vec<(usize, Vec<Piece>)>,
    count: usize,
}

/// The place of a kind in the list of kinds, and the number of its correlations.
type Piece = (usize, usize);

impl Batches {
    /// Divides correlations of each kind. Every kind is in one batch at least, so that its parts have their shapes.
    pub fn of(kinds: &[(Kind, usize)]) -> Batches {
        let mut all = Batches { runs: vec![], count: 0 };
        let (mut batch, mut left) = (vec![], BATCH_BYTES);
        for (i, (kind, len)) in kinds.iter().enumerate() {
            let (each, mut rest) = (bytes_of(kind), *len);
            loop {
                let some = rest.min((left / each).max(usize::from(batch.is_empty())));
                if batch.is_empty() && some < rest {
                    let whole = (rest - 1) / some;
                    all.push(vec![(i, some)], whole);
                    rest -= whole * some;
                    continue;
                }
                if some > 0 || rest == 0 {
                    batch.push((i, some));
                    left = left.saturating_sub(some * each);
                    rest -= some;
                }
                if rest == 0 {
                    break;
                }
                all.push(std::mem::take(&mut batch), 1);
                left = BATCH_BYTES;
            }
        }
        if !batch.is_empty() {
            all.push(batch, 1);
        }
        all
    }

    fn push(&mut self, pieces: Vec<Piece>, times: usize) {
        self.runs.push((self.count, pieces));
        self.count += times;
    }

    /// Returns the number of batches.
    pub fn count(&self) -> usize {
        self.count
    }

    /// Returns the run of a batch.
    pub fn run(&self, batch: usize) -> usize {
        self.runs.partition_point(|&(first, _)| first <= batch) - 1
    }

    /// Returns the pieces of a batch.
    pub fn pieces(&self, batch: usize) -> &[Piece] {
        &self.runs[self.run(batch)].1
    }

    /// Returns how many batches that were not made each of `made` stands for: the last one made of a run stands for all
    /// the others of that run.
    pub fn skipped(&self, made: impl Iterator<Item = usize>) -> BTreeMap<usize, usize> {
        let mut by_run: BTreeMap<usize, Vec<usize>> = BTreeMap::new();
        made.for_each(|batch| by_run.entry(self.run(batch)).or_default().push(batch));
        let ends = self.runs.iter().skip(1).map(|&(first, _)| first).chain([self.count]);
        let lens: Vec<usize> = self.runs.iter().zip(ends).map(|((first, _), end)| end - first).collect();
        let skipped = |(run, made): (usize, Vec<usize>)| made.last().map(|&last| (last, lens[run] - made.len()));
        by_run.into_iter().filter_map(skipped).collect()
    }
}

/// Joins all parts of a kind, each of which counts some times, and drops them: no two kinds are held twice at a time.
pub(super) fn joined(parts: Vec<(Material, usize)>) -> Material {
    let mut repeated = Vec::new();
    let _shapes = deferred(|| {
        let counted = parts.iter().filter(|(_, times)| *times > 1);
        repeated.extend(counted.map(|(part, times)| all_of(part, *times)));
    });
    let mut rest = repeated.iter();
    let all = parts.iter().filter_map(|(part, times)| if *times > 1 { rest.next() } else { Some(part) });
    let joined = join(&all.collect::<Vec<_>>());
    let _shapes = deferred(|| drop(repeated));
    for (part, times) in parts {
        // Parts that were counted once are wiped as often as they count.
        charge_all(&deferred(|| drop(part)).times(times));
    }
    joined
}

fn join(parts: &[&Material]) -> Material {
    Material::joined(parts, Tagged::concat, SharedBits::concat_lanes)
}

/// Returns `times` copies of a part, one after the other.
fn all_of(part: &Material, times: usize) -> Material {
    if times == 1 {
        return join(&[part]);
    }
    let half = all_of(part, times / 2);
    join(&[&half, &half, part][..2 + times % 2])
}

/// Returns the approximate bytes that P2 holds of a correlation while it is dealt.
fn bytes_of(kind: &Kind) -> usize {
    const ELEMENT: usize = 16;
    const PRODUCT: usize = 10 * ELEMENT;
    const BIT: usize = 100;
    let k = |bits: u32| bits as usize;
    match *kind {
        Kind::Triple { .. } => 2 * PRODUCT,
        Kind::DotTriple { axis, inner, .. } => axis * inner * 2 * PRODUCT,
        Kind::MatrixTriple { m, k, n, .. } => (m * k + k * n + m * n) * PRODUCT,
        Kind::ConvTriple { conv, .. } => (conv.lens().iter().sum::<usize>() + conv.len_out()) * PRODUCT,
        Kind::BitTriple => 4 * BIT,
        Kind::EdaBit { bits, .. } | Kind::ComparisonMask { bits, .. } => k(bits) * (PRODUCT + 2 * BIT),
        Kind::TruncMask { bits, .. } => k(bits) * PRODUCT,
        Kind::Place { choices, blocks, .. } => choices * PRODUCT + blocks * 3 * ELEMENT,
        _ => PRODUCT + BIT,
    }
}

/// Returns the bytes held beside the stock while all of this is dealt: batches, of one correlation at least, and the
/// stock once more while its parts are joined.
pub(super) fn making_bytes(totals: &BTreeMap<Kind, usize>) -> u64 {
    let largest = totals.keys().map(bytes_of).max().unwrap_or_default();
    (2 * BATCHES * BATCH_BYTES.max(largest)) as u64
}

#[cfg(test)]
mod tests {
    use quorate_authenticated::Params;
    use quorate_engine::{Costs, Ctx, Phase, dry};
    use quorate_ring::meter::{Effort, Kernel, charged};

    use super::*;
    use crate::malicious::PikaMalicious;

    /// Returns the pieces of every batch.
    fn batches(kinds: &[(Kind, usize)]) -> Vec<Vec<Piece>> {
        let all = Batches::of(kinds);
        (0..all.count()).map(|batch| all.pieces(batch).to_vec()).collect()
    }

    /// Fills one batch after the other.
    fn one_by_one(kinds: &[(Kind, usize)]) -> Vec<Vec<Piece>> {
        let (mut all, mut batch, mut left) = (vec![], vec![], BATCH_BYTES);
        for (i, (kind, len)) in kinds.iter().enumerate() {
            let (each, mut rest) = (bytes_of(kind), *len);
            loop {
                let some = rest.min((left / each).max(usize::from(batch.is_empty())));
                if some > 0 || rest == 0 {
                    batch.push((i, some));
                    (left, rest) = (left.saturating_sub(some * each), rest - some);
                }
                if rest == 0 {
                    break;
                }
                (left, _) = (BATCH_BYTES, all.push(std::mem::take(&mut batch)));
            }
        }
        all.extend((!batch.is_empty()).then_some(batch));
        all
    }

    #[test]
    fn batches_hold_everything_once_and_not_much_at_a_time() {
        let kinds = [(Kind::Triple { bits: 64 }, 0), (Kind::Triple { bits: 8 }, 250_000), (Kind::BitTriple, 7)];
        let all = batches(&kinds);
        assert_eq!(all, one_by_one(&kinds));
        for (i, (_, len)) in kinds.iter().enumerate() {
            assert_eq!(all.iter().flatten().filter(|(kind, _)| *kind == i).map(|(_, len)| len).sum::<usize>(), *len);
            assert!(all.iter().flatten().any(|(kind, _)| *kind == i));
        }
        let bytes = |batch: &[(usize, usize)]| batch.iter().map(|(i, len)| len * bytes_of(&kinds[*i].0)).sum::<usize>();
        assert!(all.len() > 2 && all.iter().all(|batch| bytes(batch) <= BATCH_BYTES));
        let huge = [(Kind::MatrixTriple { bits: 64, m: 1000, k: 1000, n: 1000 }, 2)];
        assert_eq!(batches(&huge), vec![vec![(0, 1)], vec![(0, 1)]]);
    }

    /// A number of correlations that no memory could list by batch.
    #[test]
    fn equal_batches_are_listed_once() {
        let all = Batches::of(&[(Kind::Triple { bits: 64 }, 1 << 50), (Kind::BitTriple, 1)]);
        let last = all.count() - 1;
        assert!(all.runs.len() == 2 && all.run(last - 1) == 0 && all.pieces(last).len() == 2);
        assert_eq!(all.skipped([0, 1, last].into_iter()), BTreeMap::from([(1, last - 2), (last, 0)]));
    }

    /// Returns the costs of dealing, by party, and the work of all.
    fn dealt(kinds: &[(Kind, usize)], figures: bool) -> (Vec<Costs>, Effort) {
        let before = charged();
        let deal = async |ctx: &Ctx| {
            if figures {
                ctx.count_alike();
            }
            let s = PikaMalicious::new_dry(3, ctx.me(), Params::default())?;
            let made = s.third.deal_all(ctx, kinds).await?;
            for (made, (kind, len)) in made.iter().zip(kinds) {
                let lens: Vec<usize> = made.bits.iter().map(|bits| bits.shape().1).collect();
                assert!(lens.iter().all(|lanes| lanes == len), "{lens:?} of {len} {kind}");
            }
            Ok(made.len())
        };
        let done = dry::together(&[0, 7, 2], Phase::Offline, deal).unwrap();
        assert!(done.iter().all(|(made, _)| *made == kinds.len()));
        (done.into_iter().map(|(_, costs)| costs).collect(), charged() - before)
    }

    #[test]
    fn figures_are_those_of_all_batches() {
        let some = [
            (Kind::Triple { bits: 64 }, 400_000),
            (Kind::BitTriple, 2_000_000),
            (Kind::TruncMask { bits: 64, cut: 16 }, 90_000),
            (Kind::Triple { bits: 8 }, 0),
        ];
        for kinds in [&some[..], &some[1..2], &some[2..]] {
            assert!(Batches::of(kinds).count() > 4);
            let [(all, work), (once, counted)] = [false, true].map(|figures| dealt(kinds, figures));
            assert_eq!(once, all, "{kinds:?}");
            for kernel in Kernel::ALL {
                let [all, once] = [work, counted].map(|effort| effort.of(kernel));
                assert!(once.abs_diff(all) <= all / 20, "{once} of {all} {kernel:?}, {kinds:?}");
            }
        }
    }
}
