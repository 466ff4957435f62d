//! Public tables, in the form in which their entries are summed.

use quorate_ring::{Ring, memory};

use crate::kernel::{self, Planes};
use crate::{Hash, Side};

/// The number of entries with one base.
const GROUP: usize = 64;
/// The number of words of 64 bits in a cache line, in which planes lie side by side.
const LINE: usize = 8;

/// A public table over Z_2^l, l up to 64, to be multiplied with leaves.
///
/// If each 64 neighbours differ little, the table is kept as a base for each 64 and planes of bits of the rest. Counts
/// of ones then replace additions. Otherwise entries are added under masks, as words of 32 or 64 bits.
pub struct Table {
    ring: Ring,
    len: usize,
    form: Form,
}

enum Form {
    Short(Lines),
    Long(Lines),
    Planes { base: Lines, planes: Lines, count: usize },
}

/// Words that start at a cache line.
type Lines = Vec<kernel::Four>;

/// The number of planes up to which they are faster than masked additions of words of 32 bits; for 64 bits it is twice
/// that.
const MOST_PLANES: usize = 9;

impl Table {
    /// Makes a table whose entry j meets leaf `start + j` of a window. Entries count modulo 2^l.
    ///
    /// # Panics
    /// For a ring of more than 64 bits, or no entries.
    pub fn new(ring: Ring, entries: &[u64]) -> Table {
        check(ring, entries);
        let most = if ring.bits() <= 32 { MOST_PLANES } else { 2 * MOST_PLANES };
        match Self::in_planes(ring, entries, most) {
            Some(form) => Table { ring, len: entries.len(), form },
            None => Self::in_words(ring, entries),
        }
    }

    /// Makes a table whose entry i meets leaf X - i: with [`start`](Self::start)`(X)` as a window's start, the sum is
    /// that of y(X - i) entry_i over all i.
    ///
    /// # Panics
    /// For a ring of more than 64 bits, or no entries.
    pub fn backwards(ring: Ring, entries: &[u64]) -> Table {
        let mut turned = memory::with_room(entries.len());
        turned.extend(entries.iter().rev());
        Self::new(ring, &turned)
    }

    /// Returns the start of the window that ends with leaf X.
    pub fn start(&self, x: u64) -> u64 {
        x.wrapping_sub(self.len as u64 - 1)
    }

    /// Makes a table like [`new`](Self::new), but always in words.
    ///
    /// # Panics
    /// For a ring of more than 64 bits, or no entries.
    pub fn in_words(ring: Ring, entries: &[u64]) -> Table {
        check(ring, entries);
        let form = if ring.bits() <= 32 {
            let mut lines = lines(entries.len().next_multiple_of(GROUP), 4);
            let words: &mut [u32] = bytemuck::cast_slice_mut(&mut lines);
            words.iter_mut().zip(entries).for_each(|(word, &entry)| *word = entry as u32);
            Form::Short(lines)
        } else {
            let mut lines = lines(entries.len().next_multiple_of(GROUP), 8);
            bytemuck::cast_slice_mut(&mut lines)[..entries.len()].copy_from_slice(entries);
            Form::Long(lines)
        };
        Table { ring, len: entries.len(), form }
    }

    /// Returns bases and planes, if at most `most_planes` planes are enough.
    fn in_planes(ring: Ring, entries: &[u64], most_planes: usize) -> Option<Form> {
        let groups = entries.len().div_ceil(GROUP);
        let mut base = lines(groups.next_multiple_of(LINE), 8);
        // Entries are read as signed numbers, since neighbours around zero have both signs.
        let unused = 64 - ring.bits();
        let signed = |entry: u64| (entry << unused) as i64 >> unused;
        let mut most = 0;
        let bases: &mut [u64] = bytemuck::cast_slice_mut(&mut base);
        for (base, group) in bases.iter_mut().zip(entries.chunks(GROUP)) {
            *base = group.iter().map(|&entry| signed(entry)).min().unwrap_or(0) as u64;
            most = group.iter().fold(most, |most, &entry| most.max((signed(entry) as u64).wrapping_sub(*base)));
        }
        let count = (64 - most.leading_zeros()) as usize;
        if count > most_planes {
            return None;
        }
        let mut planes = lines(groups.next_multiple_of(LINE) * count, 8);
        let words: &mut [u64] = bytemuck::cast_slice_mut(&mut planes);
        for (i, (base, group)) in bases.iter().zip(entries.chunks(GROUP)).enumerate() {
            for (j, &entry) in group.iter().enumerate() {
                let rest = (signed(entry) as u64).wrapping_sub(*base);
                for p in 0..count {
                    words[(i / LINE * count + p) * LINE + i % LINE] |= (rest >> p & 1) << j;
                }
            }
        }
        Some(Form::Planes { base, planes, count })
    }

    /// Returns the number of entries.
    pub fn len(&self) -> usize {
        self.len
    }

    /// Returns `false`: a table has at least one entry.
    pub fn is_empty(&self) -> bool {
        false
    }

    /// Returns Z_2^l.
    pub fn ring(&self) -> Ring {
        self.ring
    }

    /// Returns the number of planes of bits, if the table is kept in planes.
    pub fn planes(&self) -> Option<usize> {
        match self.form {
            Form::Planes { count, .. } => Some(count),
            _ => None,
        }
    }

    /// Adds the entries from `at` on, a multiple of 512, that bits select, 64 to a word and zeros beyond the table.
    pub(crate) fn add(&self, hash: &Hash, at: usize, bits: [&[u64]; 4], sums: &mut [u64; 4]) {
        let words = bits[0].len();
        match &self.form {
            Form::Short(lines) => {
                let table: &[u32] = &bytemuck::cast_slice(lines)[at..at + GROUP * words];
                let mut short = sums.map(|sum| sum as u32);
                kernel::add_words_32(hash, bits, table, &mut short);
                *sums = short.map(u64::from);
                quorate_ring::wipe_words(&mut short);
            }
            Form::Long(lines) => {
                let table: &[u64] = &bytemuck::cast_slice(lines)[at..at + GROUP * words];
                kernel::add_words_64(hash, bits, table, sums);
            }
            Form::Planes { base, planes, count } => {
                let (base, planes): (&[u64], &[u64]) = (bytemuck::cast_slice(base), bytemuck::cast_slice(planes));
                let first = at / GROUP;
                let part = |words: std::ops::Range<usize>| Planes {
                    base: &base[first + words.start..first + words.end],
                    planes: &planes[count * (first + words.start)..count * (first + words.end)],
                    count: *count,
                };
                let whole = words - words % LINE;
                if whole > 0 {
                    kernel::add_planes(hash, bits.map(|bits| &bits[..whole]), part(0..whole), sums);
                }
                if whole < words {
                    let mut rest = [[0; LINE]; 4];
                    for (rest, bits) in rest.iter_mut().zip(bits) {
                        rest[..words - whole].copy_from_slice(&bits[whole..]);
                    }
                    let [a, b, c, d] = &rest;
                    kernel::add_planes(hash, [a, b, c, d], part(whole..whole + LINE), sums);
                    quorate_ring::wipe_words(rest.as_flattened_mut());
                }
            }
        }
    }
}

fn check(ring: Ring, entries: &[u64]) {
    assert!(ring.bits() <= 64, "tables have words of at most 64 bits");
    assert!(!entries.is_empty(), "a table without entries");
}

/// Returns zeros for `words` words of `bytes` bytes each.
fn lines(words: usize, bytes: usize) -> Lines {
    memory::zeros((words * bytes).div_ceil(size_of::<kernel::Four>()))
}

impl Side {
    /// Returns whether this side's leaves have the sign -1: those of the second.
    pub(crate) fn is_negative(self) -> bool {
        self == Side::Second
    }
}
