//! Digits of up to four bits, and the tables that are looked up for them: functions of a digit of each party.
//!
//! **Notation**: one party, the *sender*, knows a digit a; the other, the *chooser*, knows a digit b of the same number
//! w of bits. A table lists, for all 2^w values j of b, some bits that depend on a and j. Everything is bit-sliced: a
//! row for each bit of an entry, a lane for each element.

use quorate_ring::Bits;

/// The number of bits of a digit: a table then has sixteen entries.
pub(crate) const WIDTH: u32 = 4;

/// The values that are looked up for the digits of two numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[allow(missing_docs)] // a table says what its fields are
pub enum Table {
    /// For the carry out of `bits` bits: generate and propagate of each digit, but only the generate of the lowest one.
    Carry { bits: u32 },
    /// For the carries out of the lower `low` bits and of all `low + high`.
    Carries { low: u32, high: u32 },
    /// For the carries into all of `bits` positions above the lowest: generate and propagate of every prefix of each
    /// digit.
    Prefixes { bits: u32 },
    /// Whether two numbers are equal: whether each digit is.
    Equal { bits: u32 },
}

impl std::fmt::Display for Table {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Table::Carry { bits } => write!(f, "look-ups for a carry over {bits} bits"),
            Table::Carries { low, high } => write!(f, "look-ups for two carries over {low} and {high} bits"),
            Table::Prefixes { bits } => write!(f, "look-ups for {bits} carries"),
            Table::Equal { bits } => write!(f, "look-ups for equality of {bits} bits"),
        }
    }
}

/// The bits of an entry. Propagates come after all generates.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Entry {
    /// Whether a + b goes beyond the digit.
    Generate,
    /// Whether a + b goes beyond the digit, and whether a + b is all ones.
    Pair,
    /// Whether the sums of the lowest 1, 2, ..., w bits go beyond them.
    Generates,
    /// Whether the sums of the lowest 1, 2, ..., w bits go beyond them, and whether the sums of the lowest 2, 3, ..., w
    /// bits are all ones.
    Pairs,
    /// Whether a = b.
    Equal,
}

/// One digit: its position, and the entry that is looked up for it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Digit {
    pub low: u32,
    pub width: u32,
    pub entry: Entry,
}

impl Digit {
    /// Returns the number of entries of a table.
    pub fn entries(self) -> usize {
        1 << self.width
    }

    /// Returns the number of bits of an entry.
    pub fn outputs(self) -> usize {
        let width = self.width as usize;
        match self.entry {
            Entry::Generate | Entry::Equal => 1,
            Entry::Pair => 2,
            Entry::Generates => width,
            Entry::Pairs => 2 * width - 1,
        }
    }
}

/// Returns the digits of the bits `low..low + bits`: the lowest has one type of entry, the others have another.
fn digits(low: u32, bits: u32, lowest: Entry, entry: Entry) -> impl Iterator<Item = Digit> {
    (0..bits.div_ceil(WIDTH)).map(move |i| Digit {
        low: low + i * WIDTH,
        width: WIDTH.min(bits - i * WIDTH),
        entry: if i == 0 { lowest } else { entry },
    })
}

impl Table {
    /// Returns the digits, lowest first.
    pub(crate) fn digits(self) -> Vec<Digit> {
        match self {
            Table::Carry { bits } => digits(0, bits, Entry::Generate, Entry::Pair).collect(),
            Table::Carries { low, high } => digits(0, low, Entry::Generate, Entry::Pair)
                .chain(digits(low, high, Entry::Pair, Entry::Pair))
                .collect(),
            Table::Prefixes { bits } => digits(0, bits, Entry::Generates, Entry::Pairs).collect(),
            Table::Equal { bits } => digits(0, bits, Entry::Equal, Entry::Equal).collect(),
        }
    }

    /// Returns the number of bits of all entries of all digits.
    pub(crate) fn entry_bits(self) -> usize {
        self.digits().iter().map(|d| d.entries() * d.outputs()).sum()
    }

    /// Returns the number of bits that select entries.
    pub(crate) fn choice_bits(self) -> usize {
        self.digits().iter().map(|d| d.width as usize).sum()
    }

    /// Returns the number of bits of one entry of each digit.
    pub(crate) fn value_bits(self) -> usize {
        self.digits().iter().map(|d| d.outputs()).sum()
    }
}

/// Returns the rows of `bits` at these positions, which must exist.
fn row_span(bits: &Bits, from: usize, count: usize) -> Bits {
    bits.slice_rows(from..from + count)
}

/// Returns in row v whether the number in the rows of `a`, lowest first, is v.
fn unit_rows(a: &Bits) -> Bits {
    let mut units = if a.is_shape() { Bits::shape(1, a.lanes()) } else { Bits::constant(true, 1, a.lanes()) };
    for bit in 0..a.rows() {
        let mut upper = a.row(bit).broadcast_row(units.rows());
        upper.and_assign(&units);
        units.xor_assign(&upper);
        units = Bits::concat_rows(&[&units, &upper]);
    }
    units
}

/// Returns 2^w rows and one more of zeros: row v is whether the number is v or more.
fn at_least(units: &Bits) -> Bits {
    let count = units.rows();
    let zero = if units.is_shape() { Bits::shape(1, units.lanes()) } else { Bits::zeros(1, units.lanes()) };
    let mut sums = Bits::concat_rows(&[units, &zero]);
    for v in (0..count).rev() {
        let above = sums.row(v + 1);
        sums.xor_rows(&[v as u32], &above, 0);
    }
    sums
}

/// Returns the sender's table for a digit: bit t of entry j is row `j * outputs + t`.
pub(crate) fn table(digit: Digit, a: &Bits) -> Bits {
    let entries = digit.entries() as u32;
    // For the lowest `bits` bits: the rows of a sum that reaches 2^bits, and of one that is all ones, for each j.
    let prefix = |bits: u32| {
        let units = unit_rows(&row_span(a, 0, bits as usize));
        let (size, sums) = (1u32 << bits, at_least(&units));
        let reaches = sums.gather_rows(&(0..entries).map(|j| size - j % size).collect::<Vec<_>>());
        let ones = units.gather_rows(&(0..entries).map(|j| size - 1 - j % size).collect::<Vec<_>>());
        (reaches, ones)
    };
    let columns: Vec<Bits> = match digit.entry {
        Entry::Equal => vec![unit_rows(a)],
        Entry::Generate => vec![prefix(digit.width).0],
        Entry::Pair => <[Bits; 2]>::from(prefix(digit.width)).into(),
        Entry::Generates => (1..=digit.width).map(|bits| prefix(bits).0).collect(),
        Entry::Pairs => {
            let (generates, ones): (Vec<Bits>, Vec<Bits>) = (1..=digit.width).map(prefix).unzip();
            generates.into_iter().chain(ones.into_iter().skip(1)).collect()
        }
    };
    let by_column = Bits::concat_rows(&columns.iter().collect::<Vec<_>>());
    let outputs = digit.outputs() as u32;
    debug_assert_eq!(columns.len(), outputs as usize);
    by_column.gather_rows(&(0..entries).flat_map(|j| (0..outputs).map(move |t| t * entries + j)).collect::<Vec<_>>())
}

/// Moves entry j xor d to place j, lane by lane, for the bits of d, lowest first.
pub(crate) fn moved(digit: Digit, table: &Bits, d: &Bits) -> Bits {
    let outputs = digit.outputs() as u32;
    let mut moved = table.clone();
    for bit in 0..digit.width {
        let lower = (0..digit.entries() as u32).filter(|j| j >> bit & 1 == 0);
        let rows = |j: u32| (0..outputs).map(move |t| j * outputs + t);
        let low: Vec<u32> = lower.clone().flat_map(rows).collect();
        let high: Vec<u32> = lower.flat_map(|j| rows(j | 1 << bit)).collect();
        let mut change = moved.gather_rows(&low);
        change.xor_assign(&moved.gather_rows(&high));
        change.and_assign(&d.row(bit as usize).broadcast_row(low.len()));
        moved.xor_rows(&low, &change, 0);
        moved.xor_rows(&high, &change, 0);
    }
    moved
}

/// Returns entry b of each lane's table, for the bits of b, lowest first.
pub(crate) fn chosen(digit: Digit, table: &Bits, b: &Bits) -> Bits {
    let outputs = digit.outputs();
    let mut left = table.clone();
    for bit in (0..digit.width as usize).rev() {
        let half = outputs << bit;
        let mut low = row_span(&left, 0, half);
        let mut change = row_span(&left, half, half);
        change.xor_assign(&low);
        change.and_assign(&b.row(bit).broadcast_row(half));
        low.xor_assign(&change);
        left = low;
    }
    left
}

#[cfg(test)]
mod tests {
    use super::*;
    use quorate_ring::{Ring, Vector};

    /// Returns every pair of numbers of `bits` bits, as rows of bits and in the clear.
    fn all_pairs(bits: u32) -> (Bits, Bits, Vec<(u64, u64)>) {
        let pairs: Vec<(u64, u64)> = (0..1u64 << (2 * bits)).map(|i| (i >> bits, i & ((1 << bits) - 1))).collect();
        let rows = |of: &dyn Fn(&(u64, u64)) -> u64| {
            Vector::from_u64s(Ring::of(bits), &pairs.iter().map(of).collect::<Vec<_>>()).to_bits(0..bits)
        };
        (rows(&|p| p.0), rows(&|p| p.1), pairs)
    }

    fn entry(digit: Digit, a: u64, b: u64) -> Vec<bool> {
        let generate = |bits: u32| (a & ((1 << bits) - 1)) + (b & ((1 << bits) - 1)) >= 1 << bits;
        let ones = |bits: u32| (a & ((1 << bits) - 1)) + (b & ((1 << bits) - 1)) == (1 << bits) - 1;
        let w = digit.width;
        match digit.entry {
            Entry::Equal => vec![a == b],
            Entry::Generate => vec![generate(w)],
            Entry::Pair => vec![generate(w), ones(w)],
            Entry::Generates => (1..=w).map(generate).collect(),
            Entry::Pairs => (1..=w).map(generate).chain((2..=w).map(ones)).collect(),
        }
    }

    #[test]
    fn tables_of_all_digits() {
        for width in 1..=WIDTH {
            for kind in [Entry::Generate, Entry::Pair, Entry::Generates, Entry::Pairs, Entry::Equal] {
                let digit = Digit { low: 0, width, entry: kind };
                let (a, b, pairs) = all_pairs(width);
                let table = table(digit, &a);
                assert_eq!(table.rows(), digit.entries() * digit.outputs());
                let got = chosen(digit, &table, &b);
                for (i, &(a, b)) in pairs.iter().enumerate() {
                    let bits: Vec<bool> = (0..got.rows()).map(|row| got.row(row).to_bools()[i]).collect();
                    assert_eq!(bits, entry(digit, a, b), "{digit:?} {a} {b}");
                }
                // Moved by d, entry b lies where entry b xor d was.
                let (c, d) = (&a, &b);
                let mut other = c.clone();
                other.xor_assign(d);
                assert!(
                    chosen(digit, &moved(digit, &table, d), c).to_bools() == chosen(digit, &table, &other).to_bools()
                );
            }
        }
    }

    #[test]
    fn digits_cover_every_bit_once() {
        for bits in 1..=70 {
            for cut in 1..bits {
                let digits = Table::Carries { low: cut, high: bits - cut }.digits();
                let mut at = 0;
                for digit in &digits {
                    assert_eq!(digit.low, at);
                    at += digit.width;
                }
                assert_eq!(at, bits);
                assert!(digits.iter().any(|digit| digit.low == cut));
            }
        }
    }
}
