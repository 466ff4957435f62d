//! The gadgets over `aby` equal plain arithmetic: all inputs of tiny rings.

use std::sync::Arc;

use crate::common::*;
use quorate_aby::Aby;
use quorate_engine::Sharing;
use quorate_gadgets::lookup::{Entries, Lookup, Operand};
use quorate_gadgets::testing::{exhaustive, lookups, orders};
use quorate_gadgets::{Functions, Gadgets, Sign};
use quorate_ring::{Ring, Vector};

#[test]
fn bits_of_all_elements() {
    exhaustive::bits_of_all_elements::<Aby>(&[(2, 8)]);
}

#[test]
fn bits_become_elements_of_every_ring() {
    exhaustive::bits_become_elements_of_every_ring::<Aby>(&[2]);
}

#[test]
fn comparison_of_all_pairs() {
    exhaustive::comparison_of_all_pairs::<Aby>(&[(2, 7)]);
}

#[test]
fn bits_against_public_numbers() {
    exhaustive::bits_against_public_numbers::<Aby>(&[(2, 6)]);
}

#[test]
fn sums_of_bits_with_all_carries() {
    exhaustive::sums_of_bits_with_all_carries::<Aby>(&[(2, 6)]);
}

#[test]
fn truncation_of_all_elements_by_every_shift() {
    exhaustive::truncation_of_all_elements_by_every_shift::<Aby>(&[(2, 8)]);
    exhaustive::cheaper_truncation_of_all_values::<Aby>(&[(2, 5)]);
}

#[test]
fn rings_wider_than_a_word() {
    exhaustive::rings_wider_than_a_word::<Aby>(&[2]);
}

#[test]
fn selection_by_every_bit() {
    exhaustive::selection_by_every_bit::<Aby>(&[(2, 6)]);
}

#[test]
fn extrema_of_all_columns_with_ties() {
    exhaustive::extrema_of_all_columns_with_ties::<Aby>(&[(2, 3, 1), (2, 3, 2), (2, 3, 3), (2, 3, 4), (2, 2, 5)]);
}

#[test]
fn every_length() {
    exhaustive::every_length::<Aby>(&[(2, &[0, 1, 3, 7, 9, 63, 65, 128, 511, 513, 70_000])]);
}

/// Tests numbers composed of bits: every number of a tiny ring, some of large ones.
#[test]
fn numbers_of_their_bits() {
    for k in [1, 2, 3, 8, 20, 33, 64] {
        let ring = Ring::of(k);
        let values = if k <= 8 { all(k) } else { noise(9, 50).into_iter().map(|x| x & mask(k)).collect() };
        let bits = Vector::from_u64s(ring, &values).to_bits(0..k).to_bools();
        let got = agreed(async |aby, ctx| {
            let x = share_bits(aby, ctx, k as usize, values.len(), &bits).await?;
            open(aby, ctx, &aby.compose(ctx, &x, ring).await?).await
        });
        assert_eq!(got, values, "k {k}");
    }
}

/// Probabilistic truncation gives the floor or one more, and exactly the floor where nothing is cut off. Over random
/// shares it rounds up about as often as the remainder requires.
#[test]
fn probabilistic_truncation_of_all_elements() {
    for k in 3..=8u32 {
        let ring = Ring::of(k);
        let values: Vec<u64> =
            all(k).into_iter().filter(|&x| (-(1 << (k - 2))..1 << (k - 2)).contains(&signed(k, x))).collect();
        let repeated = values.repeat(200);
        let got = agreed(async |aby, ctx| {
            let x = share(aby, ctx, ring, &repeated).await?;
            // Values that are shared by known summands have no random shares: a random sharing of zero is added.
            let zero = aby.edabits(ctx, ring, None, repeated.len()).await?.value;
            let zero = aby.add_public(&zero, &negated(&*aby.open(ctx, &zero).await?));
            let x = aby.add(&x, &zero);
            let mut got = Vec::new();
            for shift in 0..=k - 2 {
                got.push(aby.open(ctx, &aby.trunc_prob(ctx, &x, shift).await?).await?.to_i64s());
            }
            Ok(got)
        });
        for (shift, got) in got.iter().enumerate() {
            for (i, &x) in values.iter().enumerate() {
                let x = signed(k, x);
                let rest = x - (x >> shift << shift);
                let ups: Vec<i64> = got.iter().skip(i).step_by(values.len()).map(|&y| y - (x >> shift)).collect();
                assert!(ups.iter().all(|up| [0, 1].contains(up)), "k {k}: {x} by {shift}");
                let (share, wanted) = (ups.iter().sum::<i64>() as f64 / 200.0, rest as f64 / f64::from(1 << shift));
                assert!((share - wanted).abs() < 0.25, "k {k}: {x} by {shift} up in {share} of {wanted}");
                assert!(rest > 0 || ups.iter().all(|&up| up == 0));
            }
        }
    }
}

fn negated(x: &Vector) -> Vector {
    let mut x = x.clone();
    x.neg_assign();
    x
}

/// Tests conversions to larger rings, of signed and unsigned numbers, and to smaller ones.
#[test]
fn conversion_of_all_elements() {
    for k in 1..=6u32 {
        let values = all(k);
        for wide in [1, k, k + 1, k + 2, 13, 33, 64] {
            let (signed_ones, unsigned) = agreed(async |aby, ctx| {
                let x = share(aby, ctx, Ring::of(k), &values).await?;
                let to = async |sign| open(aby, ctx, &aby.convert(ctx, &x, Ring::of(wide), sign).await?).await;
                Ok((to(Sign::Signed).await?, to(Sign::Unsigned).await?))
            });
            for (i, &x) in values.iter().enumerate() {
                assert_eq!(signed_ones[i], signed(k, x) as u64 & mask(wide), "k {k} to {wide}: {x}");
                assert_eq!(unsigned[i], x & mask(wide), "k {k} to {wide}: {x}");
            }
        }
    }
}

/// Tests keys of several batches in large tables: one of a whole domain, in planes of bits, and one of a part, in
/// words.
#[test]
fn lookups_in_large_tables() {
    let x = noise(11, 600);
    let nothing = agreed(async |s, ctx| {
        let entries = Vector::zeros(Ring::of(32), 5);
        let table = Lookup { entries: Arc::new(Entries::new(entries.clone())), first: 0, operand: Operand::Within };
        let found = s.lookup(ctx, &share(s, ctx, Ring::of(64), &[]).await?, &table).await?;
        open(s, ctx, &found).await
    });
    assert!(nothing.is_empty());
    for (len, of) in [(1usize << 16, (|i| i * i / 5000) as fn(u64) -> u64), (40_000, |i| i.wrapping_mul(0x9e37_79b9))] {
        let values: Vec<u64> = (0..len as u64).map(|i| of(i) & mask(32)).collect();
        let entries = Vector::from_u64s(Ring::of(32), &values);
        let table = Lookup {
            entries: Arc::new(Entries::new(entries.clone())),
            first: -(len as i128) / 2,
            operand: Operand::Within,
        };
        let places: Vec<u64> = x.iter().map(|x| x % len as u64).collect();
        let numbers: Vec<u64> = places.iter().map(|place| place.wrapping_sub(len as u64 / 2)).collect();
        let (found, bits) = agreed(async |s, ctx| {
            let shared = share(s, ctx, Ring::of(64), &numbers).await?;
            let (found, bits) = (s.lookup(ctx, &shared, &table).await?, s.lookup_bit(ctx, &shared, &table).await?);
            Ok((open(s, ctx, &found).await?, open_bits(s, ctx, &bits).await?))
        });
        for (k, &place) in places.iter().enumerate() {
            let entry = values[place as usize];
            assert_eq!((found[k], bits[k]), (entry, entry & 1 == 1), "place {place} of {len}");
        }
    }
}

#[test]
fn lookups_of_every_number() {
    lookups::every_number_in_tables_of_every_size::<Aby>(2, 5, &[1, 2, 3, 5, 8, 17, 32]);
    lookups::every_number_in_tables_of_every_size::<Aby>(2, 9, &[300]);
}

#[test]
fn rows_in_the_order_of_their_keys() {
    orders::all::<Aby>(2);
}

#[test]
fn what_orders_compare_has_one_law() {
    orders::compared_rows_have_one_law::<Aby>(2, 1000);
}
