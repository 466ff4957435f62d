//! Order: rows sorted by secret keys, with the comparisons of a sort in the clear.
//!
//! **Source**: shuffle, then open comparisons (Hamada et al. 2012, "Practically efficient multi-party sorting protocols
//! from comparison sort algorithms"; Asharov et al. 2022). The schedule of comparisons is ours ([`schedule`]).
//! **Model**: semi-honest, that of the sharing's shuffle and comparison.
//!
//! Each key gets its row's place below it, so all keys differ and the order is stable. The rows are shuffled, and
//! comparisons of shuffled keys are opened. No coalition has the permutation, and ranks of distinct keys in a uniformly
//! random order have one law, whatever the keys are: opened results are independent of the data. For that the place
//! must be the secret one, before the shuffle: if ties were broken by the place after the shuffle, results would tell
//! which keys are equal. Each order has a shuffle of its own, and each shuffle serves one order.
//!
//! Keys outside their stated range compare as on a circle, which shows in the results. So ranges must hold: they are
//! those that the graph has proven from inputs whose owners follow the protocol.
//!
//! | | rounds | sent |
//! |---|---|---|
//! | shuffle | those of the family's shuffle | once for the keys and each column |
//! | each level | those of `msb` in w + L + 1 bits, and 1 | its capacity of comparisons, and a bit for each |
//!
//! L = ceil(log2 m) for m rows; keys have w bits. 10^3, 10^4, 10^5 and 10^6 rows have 14, 19, 23 and 28 levels, and
//! 20.6, 21.2, 23.4 and 27.7 comparisons a row.

mod schedule;

use std::ops::Range;
use std::sync::Arc;

use quorate_engine::{Ctx, Error, Linear, Opened, Positions, Result};
use quorate_ring::{Bits, Ring, Vector};

use crate::{Gadgets, Sign, stream};
use schedule::{Failure, Known, Level, Pairs, levels};

/// Factor by which more chunks of a level are under way than in other streams: workers then find chunks to begin while
/// the session's thread computes, which starts them.
const WINDOWS: usize = 4;

/// The range and direction of sort keys.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Keys {
    /// The smallest possible key.
    pub low: i128,
    /// Keys lie below `low` + 2^bits; at most the bits of their ring.
    pub bits: u32,
    /// Whether the largest key comes first.
    pub descending: bool,
}

/// Returns the bits of a place among this many rows.
pub fn place_bits(rows: usize) -> u32 {
    rows.next_power_of_two().trailing_zeros()
}

/// Returns the rows of all columns in the order of the keys; equal keys keep their order. A column may hold several
/// elements a row. There are fewer than 2^31 rows, and `keys.bits` + [`place_bits`] + 1 is at most the largest ring's.
///
/// # Errors
/// [`Error::ScheduleOverflow`] in less than one of 2^19 orders; any error that ends a run.
pub async fn order<S: Gadgets>(s: &S, ctx: &Ctx, key: &S::A, keys: Keys, columns: &[&S::A]) -> Result<Vec<S::A>> {
    if S::CHECKED {
        // Opened results are a reveal there: everything that was opened before must be checked first.
        return Err(Error::Bug { what: "an order by opened comparisons, where parties may cheat" });
    }
    let rows = s.shape(key).1;
    if rows < 2 {
        return Ok(columns.iter().map(|&column| column.clone()).collect());
    }
    let mut shuffled = shuffled(s, ctx, key, keys, columns).await?;
    let shuffled_keys = Arc::new(shuffled.remove(0));
    let mut known = (!ctx.is_dry()).then(|| Known::of(rows));
    for level in levels(rows) {
        known = compare(s, ctx, &shuffled_keys, known, level).await?;
    }
    drop(shuffled_keys);
    let order = known.map_or(Ok(vec![]), Known::into_order).map_err(failed)?;
    Ok(shuffled.iter().map(|column| in_order(s, column, &order, rows)).collect())
}

/// Returns keys that all differ, and all columns, in a secret order drawn for them: what an order opens comparisons of.
/// The keys are numbers from 0, with the place of their row in the lowest [`place_bits`] bits.
///
/// # Errors
/// Any error that ends a run.
pub async fn shuffled<S: Gadgets>(s: &S, ctx: &Ctx, key: &S::A, keys: Keys, columns: &[&S::A]) -> Result<Vec<S::A>> {
    let placed = with_places(s, ctx, key, keys).await?;
    let all: Vec<&S::A> = std::iter::once(&placed).chain(columns.iter().copied()).collect();
    s.shuffle(ctx, &all, s.shape(key).1).await
}

/// Returns the keys as numbers from 0, and the place of each in its lowest bits, with a spare bit for comparisons.
async fn with_places<S: Gadgets>(s: &S, ctx: &Ctx, key: &S::A, keys: Keys) -> Result<S::A> {
    let (ring, rows) = s.shape(key);
    let constant = |ring: Ring, value: u128| match ctx.is_dry() {
        true => Vector::shape(ring, rows),
        false => Vector::constant(ring, value, rows),
    };
    let mut from_zero = s.add_public(key, &constant(ring, (keys.low as u128).wrapping_neg() & ring.mask()));
    if keys.descending {
        let largest = Ring::of(keys.bits).mask();
        from_zero = s.add_public(&s.linear(&from_zero, &Linear::Neg), &constant(ring, largest));
    }
    let spare = Ring::of(keys.bits + 1);
    let spared = match keys.bits < ring.bits() {
        true => s.linear(&from_zero, &Linear::Reduce(spare)),
        false => s.convert(ctx, &from_zero, spare, Sign::Unsigned).await?,
    };
    let wide = Ring::of(spare.bits() + place_bits(rows));
    let raised = s.linear(&spared, &Linear::Raise(wide, place_bits(rows)));
    let places = match ctx.is_dry() {
        true => Vector::shape(wide, rows),
        false => Vector::from_u64s(wide, &(0..rows as u64).collect::<Vec<_>>()),
    };
    Ok(s.add_public(&raised, &places))
}

/// Opens the comparisons of a level, and takes in the results. A party that holds no shares, or that only counts, knows
/// no results.
async fn compare<S: Gadgets>(
    s: &S,
    ctx: &Ctx,
    keys: &Arc<S::A>,
    known: Option<Known>,
    level: Level,
) -> Result<Option<Known>> {
    let pairs = known.as_ref().map(|known| known.pairs(level)).transpose().map_err(failed)?.map(Arc::new);
    let operands = |range| Operands { keys: keys.clone(), pairs: pairs.clone(), range };
    let results = if S::CHOOSES_BY_NUMBER {
        Bits::clone(&*operands(0..level.capacity).compared(s, ctx).await?)
    } else {
        let mut chunks = stream::chunks(level.capacity, s.shape(keys).0.bits()).finer(S::FINER);
        chunks.window *= WINDOWS;
        let mut results = Bits::zeros(1, level.capacity);
        let party = s.clone();
        let work = async move |ctx: Ctx, operands: Operands<S>| operands.compared(&party, &ctx).await;
        ctx.spread(chunks, operands, work, |range, part| results.write_lanes_at(range.start, &part)).await?;
        results
    };
    let Some(mut known) = known.filter(|_| !results.is_shape()) else { return Ok(None) };
    known.take(level, &results).map_err(failed)?;
    Ok(Some(known))
}

/// What a level, or a chunk of it, compares: keys of these pairs.
struct Operands<S: Gadgets> {
    keys: Arc<S::A>,
    pairs: Option<Arc<Pairs>>,
    range: Range<usize>,
}

impl<S: Gadgets> Operands<S> {
    /// Opens for each pair whether the key on the left is below that on the right.
    async fn compared(&self, s: &S, ctx: &Ctx) -> Result<Opened<Bits>> {
        let differences = self.differences(s);
        let below = s.msb(ctx, &differences).await?;
        drop(differences);
        s.open_bits(ctx, &below).await
    }

    /// Returns the keys on the left less those on the right.
    fn differences(&self, s: &S) -> S::A {
        match &self.pairs {
            Some(pairs) => {
                let [left, right] =
                    [&pairs.left, &pairs.right].map(|rows| Linear::Gather(Positions::Given(&rows[self.range.clone()])));
                s.sub(&s.linear(&self.keys, &left), &s.linear(&self.keys, &right))
            }
            None => s.linear(&self.keys, &Linear::Gather(Positions::later(self.range.len(), &|| vec![].into()))),
        }
    }
}

/// Returns the rows of a shuffled column in order, locally.
fn in_order<S: Gadgets>(s: &S, column: &S::A, order: &[u32], rows: usize) -> S::A {
    let len = s.shape(column).1;
    let width = (len / rows) as u32;
    let index = || order.iter().flat_map(|&row| (0..width).map(move |i| row * width + i)).collect::<Vec<_>>().into();
    s.linear(column, &Linear::Gather(Positions::later(len, &index)))
}

fn failed(failure: Failure) -> Error {
    match failure {
        Failure::Overflow => Error::ScheduleOverflow,
        // Nobody cheats here, and all parties have the same results of comparisons.
        Failure::Contradiction => Error::Bug { what: "comparisons of an order contradict each other" },
    }
}
