//! Look-up of a secret number in a public table.
//!
//! **Source**: one-hot vectors and their products with a table as in Dessouky et al., "Pushing the communication
//! barrier", NDSS 2017, and Keller et al., "Reducing communication channels in MPC", SCN 2018, with the table split in
//! two halves of the number's bits. **Model**: that of the sharing. **Notation**: u = x - first is the place, of n
//! bits; l its lower a bits and h its upper b bits; w the bits of an entry.
//!
//! u becomes two one-hot rows of bits, e_l and e_h. Bit p of an entry is the sum over i of e_h[i] times the sum over j
//! of e_l[j] table_p[2^a i + j]: the inner sums are local. a is chosen to minimise the 2^a + w 2^b ANDs.
//! [`weighed`](crate::convert::weighed) turns the bits of the entry into an element. Tables of few entries are looked
//! up in another way: the one-hot row becomes elements, whose products with the table are summed locally.
//!
//! Rounds: those of a bit decomposition of n bits, ceil(log2 n) for the one-hot rows, 1 for the products, 1 for the
//! element. If x may lie outside the table, those of a comparison and a selection come before.

use std::any::Any;
use std::ops::Deref;
use std::sync::{Arc, OnceLock};

use quorate_engine::{Chunks, Ctx, Linear, LinearBits, Result, Sharing};
use quorate_ring::{Bits, Ring, Vector};

use crate::compare::Width;
use crate::convert::weighed;
use crate::prefix::rows;
use crate::real::local::{repeat_row, row_sums};
use crate::real::onehot::decode;
use crate::{Gadgets, stream};

/// The entries of a public table, and the form in which a family uses them.
pub struct Entries {
    values: Vector,
    kept: OnceLock<Arc<dyn Any + Send + Sync>>,
}

impl Entries {
    /// Creates a table of these values, of which there is at least one. They have data in dry runs, too.
    ///
    /// # Panics
    /// If there are no values, or only a shape.
    pub fn new(values: Vector) -> Entries {
        assert!(!values.is_empty() && !values.is_shape(), "a table has entries");
        Entries { values, kept: OnceLock::new() }
    }

    /// Returns what a family computes from the entries. The first such value is kept; if `is_wanted` refuses it, `make`
    /// makes a new one.
    pub fn kept<T: Any + Send + Sync>(&self, make: impl Fn() -> T, is_wanted: impl Fn(&T) -> bool) -> Arc<T> {
        let kept = self.kept.get_or_init(|| Arc::new(make())).clone().downcast();
        kept.ok().filter(|kept| is_wanted(kept)).unwrap_or_else(|| Arc::new(make()))
    }
}

impl Deref for Entries {
    type Target = Vector;

    fn deref(&self) -> &Vector {
        &self.values
    }
}

/// A public table, and the numbers that its entries belong to.
#[derive(Clone)]
pub struct Lookup {
    /// The entries for `first`, `first + 1`, ...
    pub entries: Arc<Entries>,
    /// The number of the first entry.
    pub first: i128,
    /// The possible operands.
    pub operand: Operand,
}

/// The range of the numbers that are looked up, relative to the table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Operand {
    /// All numbers have an entry.
    Within,
    /// Some numbers may have no entry: those below the first get the first entry, those above the last get the last
    /// one. Differences to both ends have this width.
    Outside {
        /// Whether numbers may lie below.
        below: bool,
        /// Whether numbers may lie above.
        above: bool,
        /// The width of differences to the ends.
        width: Width,
    },
}

/// The entries as rows of bits, for protocols on bits.
struct Planes {
    /// Row p, lane i is bit p of entry i.
    bits: Bits,
    /// Whether the last row has the weight of a sign.
    signed: bool,
}

impl Lookup {
    /// Returns the number of the last entry.
    pub fn last(&self) -> i128 {
        self.first + self.entries.len() as i128 - 1
    }

    /// Returns the bits of a place in the table.
    pub fn place_bits(&self) -> u32 {
        place_bits(self.entries.len())
    }

    /// Returns the fewest rows that hold every entry in two's complement.
    fn planes(&self) -> Planes {
        let numbers = self.entries.to_i128s();
        let signed = numbers.iter().any(|&x| x < 0);
        // A negative number x needs as many bits below its sign as -1 - x.
        let below = numbers.iter().map(|&x| i128::BITS - (x ^ (x >> 127)).leading_zeros()).max().unwrap_or(0);
        Planes { bits: self.entries.to_bits(0..below + u32::from(signed)), signed }
    }
}

/// Returns the entry of each number, in the table's ring.
pub async fn lookup<S: Gadgets>(s: &S, ctx: &Ctx, x: &S::A, table: &Lookup) -> Result<S::A> {
    let ring = table.entries.ring();
    let (len, n) = (s.shape(x).1, table.place_bits());
    let planes = table.planes();
    let width = planes.bits.rows();
    if n == 0 || width == 0 {
        return Ok(s.public(&constant(ctx, &table.entries, len)));
    }
    let (by_elements, table) = (by_elements(n, width), table.clone());
    let work = async move |s: &S, ctx: &Ctx, x: S::A| {
        let place = place(s, ctx, &x, &table).await?;
        if by_elements {
            return of_elements(s, ctx, &place, &table).await;
        }
        let bits = of_bits(s, ctx, &place, &planes.bits).await?;
        weighed(s, ctx, &bits, planes.signed, ring).await
    };
    stream::to_vector(s, ctx, chunks(len, n, width), |range| stream::slice(s, x, range), work).await
}

/// Returns the lowest bits of the entries, one row.
pub async fn lookup_bit<S: Gadgets>(s: &S, ctx: &Ctx, x: &S::A, table: &Lookup) -> Result<S::B> {
    let (len, n) = (s.shape(x).1, table.place_bits());
    let bits = table.entries.to_bits(0..1);
    if n == 0 {
        return Ok(s.public_bits(&constant(ctx, &table.entries, len).to_bits(0..1)));
    }
    let table = table.clone();
    let work = async move |s: &S, ctx: &Ctx, x: S::A| {
        let place = place(s, ctx, &x, &table).await?;
        of_bits(s, ctx, &place, &bits).await
    };
    stream::to_lanes(s, ctx, chunks(len, n, 1), |range| stream::slice(s, x, range), work).await
}

/// Returns the first entry, repeated `len` times.
fn constant(ctx: &Ctx, entries: &Vector, len: usize) -> Vector {
    match ctx.is_dry() {
        true => Vector::shape(entries.ring(), len),
        false => entries.slice(0..1).broadcast_scalar(len),
    }
}

/// Returns the chunks for places of n bits in a table of `width` rows of bits.
fn chunks(len: usize, n: u32, width: usize) -> Chunks {
    let (low, high) = halves(n, width);
    Chunks::of_bytes(len, ((1usize << low) + 3 * (width << high)).max(64 * n as usize))
}

/// Returns the bits of a place among `entries` entries.
pub fn place_bits(entries: usize) -> u32 {
    usize::BITS - entries.saturating_sub(1).leading_zeros()
}

/// Returns whether the one-hot row is converted to elements, rather than the selected rows of bits.
pub(crate) fn by_elements(n: u32, width: usize) -> bool {
    (1 << n) - 1 <= width
}

/// Returns how many bits of a place go to the lower and to the upper row: the split with the fewest ANDs.
pub(crate) fn halves(n: u32, width: usize) -> (u32, u32) {
    let ands = |high: &u32| (1usize << (n - high)) + if *high == 0 { 0 } else { (width + 1) << high };
    let high = (0..n).min_by_key(ands).unwrap_or(0);
    (n - high, high)
}

/// Returns x - first, below 2^n; for numbers without an entry, the place of the nearest end.
pub async fn place<S: Gadgets>(s: &S, ctx: &Ctx, x: &S::A, table: &Lookup) -> Result<S::A> {
    let (ring, len) = s.shape(x);
    let public = |value: i128| match ctx.is_dry() {
        true => Vector::shape(ring, len),
        false => Vector::constant(ring, value as u128, len),
    };
    let inside = match table.operand {
        Operand::Within => x.clone(),
        Operand::Outside { below, above, width } => {
            let ends: Vec<bool> = [(below, true), (above, false)].iter().filter(|end| end.0).map(|end| end.1).collect();
            let to_end = async |ctx: Ctx, i: usize| {
                let end = s.public(&public(if ends[i] { table.first } else { table.last() }));
                let outside = match ends[i] {
                    true => s.lt(&ctx, x, &end, width).await?,
                    false => s.lt(&ctx, &end, x, width).await?,
                };
                s.mask(&ctx, &outside, &s.sub(&end, x)).await
            };
            let moves = ctx.join_all(ends.len(), to_end).await?;
            moves.iter().fold(x.clone(), |moved, by| s.add(&moved, by))
        }
    };
    let mut start = public(table.first);
    start.neg_assign();
    let narrow = Ring::of(table.place_bits().min(ring.bits()));
    Ok(s.linear(&s.add_public(&inside, &start), &Linear::Reduce(narrow)))
}

/// Returns the one-hot rows of the place's bits in this range.
async fn one_hot<S: Gadgets>(s: &S, ctx: &Ctx, bits: &S::B, range: std::ops::Range<u32>) -> Result<S::B> {
    decode(s, ctx, &rows(s, bits, &range.collect::<Vec<_>>())).await
}

/// Returns the table's rows of bits at these places.
async fn of_bits<S: Gadgets>(s: &S, ctx: &Ctx, place: &S::A, table: &Bits) -> Result<S::B> {
    let bits = s.bit_decompose(ctx, place).await?;
    let (n, width) = (s.bit_shape(&bits).0 as u32, table.rows());
    let (low, high) = halves(n, width);
    if high == 0 {
        return Ok(of_rows(s, &one_hot(s, ctx, &bits, 0..n).await?, table, 0));
    }
    let (lower, upper) = ctx
        .join(
            async |ctx: Ctx| one_hot(s, &ctx, &bits, 0..low).await,
            async |ctx: Ctx| one_hot(s, &ctx, &bits, low..n).await,
        )
        .await?;
    // Parts beyond the table are never looked up.
    let parts = table.lanes().div_ceil(1 << low);
    let sums: Vec<S::B> = (0..parts).map(|part| of_rows(s, &lower, table, part << low)).collect();
    let choices: Vec<S::B> = (0..parts as u32).map(|part| repeat_row(s, &rows(s, &upper, &[part]), width)).collect();
    let [sums, choices] = [sums, choices].map(|all| s.concat_rows(&all.iter().collect::<Vec<_>>()));
    let chosen = s.and(ctx, &sums, &choices).await?;
    let lists: Vec<Vec<u32>> = (0..width).map(|p| (0..parts).map(|part| (part * width + p) as u32).collect()).collect();
    Ok(row_sums(s, &chosen, &lists))
}

/// Returns for each row of the table the sum of its bits from `start` on that the one-hot rows choose.
fn of_rows<S: Sharing>(s: &S, one_hot: &S::B, table: &Bits, start: usize) -> S::B {
    let end = table.lanes().min(start + s.bit_shape(one_hot).0);
    let list = |p: usize| {
        let words = table.words_of(p);
        (start..end).filter(|i| words[i / 64] >> (i % 64) & 1 == 1).map(|i| (i - start) as u32).collect()
    };
    row_sums(s, one_hot, &(0..table.rows()).map(list).collect::<Vec<_>>())
}

/// Returns the first entry plus the differences that the one-hot row's elements select.
async fn of_elements<S: Gadgets>(s: &S, ctx: &Ctx, place: &S::A, table: &Lookup) -> Result<S::A> {
    let (ring, len) = (table.entries.ring(), s.shape(place).1);
    let bits = s.bit_decompose(ctx, place).await?;
    let n = s.bit_shape(&bits).0 as u32;
    let count = table.entries.len();
    let hot = one_hot(s, ctx, &bits, 0..n).await?;
    let hot = rows(s, &hot, &(1..count as u32).collect::<Vec<_>>());
    let elements = s.bit_to_ring(ctx, &s.linear_bits(&hot, &LinearBits::SideBySide), ring).await?;
    let mut rise = table.entries.slice(1..count);
    rise.sub_assign(&table.entries.slice(0..1).broadcast_scalar(count - 1));
    let sum = s.linear(&elements, &Linear::MatrixLeft(&rise, (1, count - 1, len)));
    Ok(s.add_public(&sum, &constant(ctx, &table.entries, len)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tables_of_any_size_take_as_few_rows_as_their_entries_have_bits() {
        for (lo, hi, rows) in [(-15, 15, 5), (-16, 0, 5), (0, 31, 5), (-1, -1, 1), (0, 0, 0), (-1 << 63, 1, 64)] {
            for len in [2, 64, 65, 512, 513, 651, 1100] {
                let numbers: Vec<i128> = (0..len).map(|i| [lo, hi][i % 2]).collect();
                let entries = Arc::new(Entries::new(Vector::from_i128s(Ring::of(64), &numbers)));
                let planes = Lookup { entries: entries.clone(), first: 0, operand: Operand::Within }.planes();
                assert_eq!(planes.signed, lo < 0);
                assert_eq!(planes.bits.rows(), rows, "of {len} from {lo} to {hi}");
            }
        }
    }
}
