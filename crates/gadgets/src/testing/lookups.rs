//! Tests of look-ups, compared with the table itself: every number of tiny rings, tables of all sizes.

use std::sync::Arc;

use quorate_ring::{Ring, Vector};

use super::{agreed, all, noise, open, open_bits, share, signed};
use crate::lookup::{Entries, Lookup, Operand};
use crate::{Family, Width};

/// Returns the place of a number's entry: its own, or that of the nearest end.
fn place(table: &Lookup, x: i64) -> usize {
    (i128::from(x).clamp(table.first, table.last()) - table.first) as usize
}

/// The number of entries from which a table is large.
const LARGE: usize = 256;

/// Tests look-ups of all numbers of Z_2^k that have an entry, and of all numbers of Z_2^k. The tables have these sizes,
/// pseudorandom entries, several first numbers, and rings that are smaller, equal and larger. Large tables get one
/// first number for each ring.
pub fn every_number_in_tables_of_every_size<S: Family>(n: usize, k: u32, sizes: &[usize]) {
    let ring = Ring::of(k);
    for &size in sizes {
        for (i, (bits, result)) in [(3, 3), (9, 9), (2, 40)].into_iter().enumerate() {
            let result = Ring::of(result);
            let values: Vec<i64> = noise(size as u64, size).iter().map(|&v| signed(bits, v)).collect();
            let entries = Arc::new(Entries::new(Vector::from_i64s(result, &values)));
            let lowest = -(1i128 << (k - 1));
            let firsts = [lowest, -(size as i128) / 2, (1 << (k - 1)) - size as i128];
            for (j, first) in firsts.into_iter().enumerate() {
                if first < lowest || size >= LARGE && i != j {
                    continue;
                }
                let table = Lookup { entries: entries.clone(), first, operand: Operand::Within };
                let within: Vec<u64> = (0..size as u64).map(|i| (first as u64).wrapping_add(i)).collect();
                check::<S>(n, ring, &within, &table, &values);
                // In a large table, all numbers are looked up only for one first number, which leaves some beyond
                // either end.
                if size < LARGE || first > lowest && first + (size as i128) < 1 << (k - 1) {
                    for (below, above) in [(true, true), (true, false), (false, true)] {
                        let operand = Operand::Outside { below, above, width: Width::Full };
                        let table = Lookup { operand, ..table.clone() };
                        let may_be = |x: &u64| {
                            let x = i128::from(signed(k, *x));
                            (below || x >= first) && (above || x <= table.last())
                        };
                        let numbers: Vec<u64> = all(k).into_iter().filter(may_be).collect();
                        check::<S>(n, ring, &numbers, &table, &values);
                    }
                }
            }
        }
    }
}

fn check<S: Family>(n: usize, ring: Ring, x: &[u64], table: &Lookup, values: &[i64]) {
    let (numbers, bits) = agreed::<S, _>(n, async |s, ctx| {
        let shared = share(s, ctx, ring, x).await?;
        let numbers = s.lookup(ctx, &shared, table).await?;
        let bits = s.lookup_bit(ctx, &shared, table).await?;
        Ok((open(s, ctx, &numbers).await?, open_bits(s, ctx, &bits).await?))
    });
    let wanted = |x: &u64| values[place(table, signed(ring.bits(), *x))];
    let of_all: Vec<i64> = x.iter().map(wanted).collect();
    let as_elements = Vector::from_i64s(table.entries.ring(), &of_all).to_u64s();
    assert_eq!(numbers, as_elements, "{} entries from {} on", table.entries.len(), table.first);
    assert_eq!(bits, of_all.iter().map(|v| v & 1 == 1).collect::<Vec<_>>(), "lowest bits");
}
