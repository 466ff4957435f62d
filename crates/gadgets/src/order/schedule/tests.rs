use super::*;

/// Returns a pseudorandom order of rows: row i has the rank `ranks[i]`.
fn ranks(rows: usize, seed: u64) -> Vec<u32> {
    let mut state = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
    let mut next = move || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state
    };
    let mut ranks: Vec<u32> = (0..rows as u32).collect();
    (1..rows).rev().for_each(|i| ranks.swap(i, (next() % (i as u64 + 1)) as usize));
    ranks
}

/// Orders rows by their ranks. Returns the rows in order and the share of each level's capacity that was used.
fn run(ranks: &[u32], levels: &[Level]) -> Result<(Vec<u32>, Vec<f64>), Failure> {
    let mut known = Known::of(ranks.len());
    let mut used = vec![];
    for &level in levels {
        let pairs = known.pairs(level)?;
        assert_eq!((pairs.left.len(), pairs.right.len()), (level.capacity, level.capacity));
        let unused = pairs.left.iter().zip(&pairs.right).rev().take_while(|&(&l, &r)| (l, r) == (0, 0)).count();
        used.push(1.0 - unused as f64 / level.capacity as f64);
        let bits: Vec<bool> =
            pairs.left.iter().zip(&pairs.right).map(|(&l, &r)| ranks[l as usize] < ranks[r as usize]).collect();
        known.take(level, &Bits::from_bools(1, level.capacity, &bits))?;
    }
    Ok((known.into_order()?, used))
}

fn assert_sorted(ranks: &[u32], order: &[u32]) {
    assert!(order.iter().enumerate().all(|(i, &row)| ranks[row as usize] as usize == i), "{} rows", ranks.len());
}

#[test]
fn rows_come_in_order() {
    for rows in (0..200).chain([255, 256, 257, 1000, 4095, 4096, 10_007, 100_000]) {
        let levels = levels(rows);
        for ranks in [ranks(rows, 1), ranks(rows, 2), ranks(rows, 3)] {
            let (order, _) = run(&ranks, &levels).unwrap();
            assert_sorted(&ranks, &order);
        }
    }
}

#[test]
fn every_order_of_few_rows_is_found() {
    let mut pending = vec![(vec![], (0..6u32).collect::<Vec<_>>())];
    while let Some((ranks, left)) = pending.pop() {
        if left.is_empty() {
            assert_sorted(&ranks, &run(&ranks, &levels(6)).unwrap().0);
        }
        for i in 0..left.len() {
            let (mut ranks, mut left): (Vec<u32>, Vec<u32>) = (ranks.clone(), left.clone());
            ranks.push(left.remove(i));
            pending.push((ranks, left));
        }
    }
}

#[test]
fn levels_and_comparisons_are_those_of_the_docs() {
    let found = [1_000, 10_000, 100_000, 1_000_000, 10_000_000].map(|rows| {
        let levels = levels(rows);
        let comparisons: usize = levels.iter().map(|level| level.capacity).sum();
        (levels.len(), (comparisons as f64 / rows as f64 * 10.0).round() / 10.0)
    });
    assert_eq!(found, [(14, 20.6), (19, 21.2), (23, 23.4), (28, 27.7), (32, 32.1)]);
    assert_eq!(levels(56), [Level { step: Step::Rest, capacity: 56 * 55 / 2 }]);
    assert_eq!((levels(0), levels(1)), (vec![], vec![]));
    assert_eq!(levels(57).first(), Some(&Level { step: Step::Sample, capacity: 21 }));
}

#[test]
fn capacities_suffice_for_random_orders() {
    for (rows, times) in
        [(57, 2_000), (200, 2_000), (1_000, 1_000), (6_067, 60), (10_000, 60), (24_272, 20), (97_090, 4)]
    {
        let levels = levels(rows);
        let mut most = vec![0.0f64; levels.len()];
        for seed in 0..times {
            let (_, used) = run(&ranks(rows, 100 + seed), &levels).unwrap();
            most.iter_mut().zip(used).for_each(|(most, used)| *most = most.max(used));
        }
        println!("{rows} rows, {times} orders, the largest share of each capacity: {most:.2?}");
    }
}

#[test]
fn what_exceeds_a_capacity_is_refused() {
    for rows in [57, 1_000] {
        let (levels, ranks) = (levels(rows), ranks(rows, 5));
        let (_, used) = run(&ranks, &levels).unwrap();
        for (short, used) in used.into_iter().enumerate() {
            let mut levels = levels.clone();
            let needed = (levels[short].capacity as f64 * used).round() as usize;
            levels[short].capacity = needed;
            assert_sorted(&ranks, &run(&ranks, &levels).unwrap().0);
            levels[short].capacity = needed - 1;
            assert_eq!(run(&ranks, &levels).err(), Some(Failure::Overflow), "{rows} rows, level {short}");
        }
    }
}

#[test]
fn results_that_no_order_has_are_refused_or_give_some_order() {
    let mut outcomes = std::collections::BTreeMap::<String, usize>::new();
    for seed in 0..300 {
        let rows = [3, 8, 57, 300][seed as usize % 4];
        let mut known = Known::of(rows);
        let outcome = levels(rows).into_iter().try_for_each(|level| {
            known.pairs(level)?;
            let noise = ranks(level.capacity, seed);
            let bits: Vec<bool> = match seed / 4 % 3 {
                0 => noise.iter().map(|bit| bit & 1 == 1).collect(),
                all => vec![all == 1; level.capacity],
            };
            known.take(level, &Bits::from_bools(1, level.capacity, &bits))
        });
        let outcome = outcome.and_then(|()| known.into_order());
        if let Ok(order) = &outcome {
            let mut rows_in_order = order.clone();
            rows_in_order.sort_unstable();
            assert_eq!(rows_in_order, (0..rows as u32).collect::<Vec<_>>());
        }
        *outcomes.entry(format!("{:?}", outcome.err())).or_default() += 1;
    }
    assert_eq!(outcomes.len(), 3, "{outcomes:?}");
}

#[test]
fn a_row_lies_between_two_pivots() {
    // Three pivots in order, then whether the row is below each of them.
    let split = |below: u64| {
        let words = [0b111 | below << 3];
        let (mut rows, mut results) = ([10, 11, 12, 13], Results { words: &words, next: 0 });
        let lens = Parts::default().split(&mut rows, 3, &mut InOrder::default(), &mut results)?.collect::<Vec<_>>();
        Ok((rows, lens))
    };
    assert_eq!(split(0b111), Ok(([13, 10, 11, 12], vec![1, 0, 0, 0])));
    assert_eq!(split(0b110), Ok(([10, 13, 11, 12], vec![0, 1, 0, 0])));
    assert_eq!(split(0b100), Ok(([10, 11, 13, 12], vec![0, 0, 1, 0])));
    assert_eq!(split(0b000), Ok(([10, 11, 12, 13], vec![0, 0, 0, 1])));
    for below in [0b001, 0b010, 0b011, 0b101] {
        assert_eq!(split(below), Err(Failure::Contradiction), "{below:03b}");
    }
}
