//! Whole domains, windows, sums and parities, exhaustively for small domains.

use quorate_fss::{Hash, Keys, Shape, Table, intervals, lookup, visit, window};
use quorate_ring::Ring;

use crate::common::{hash, hashes, numbers, on_threads, pair};

fn shapes(bits: u32) -> Vec<Shape> {
    [1, 2, 4].into_iter().map(|blocks| Shape::new(bits, blocks).unwrap()).collect()
}

/// Returns each key's leaves of a window, as both sides have them.
fn windows(hash: &Hash, keys: &[Keys; 2], starts: &[u64], len: usize) -> [Vec<bool>; 2] {
    [0, 1].map(|side| window(hash, &keys[side], starts, len).to_bools())
}

#[test]
fn every_point_of_small_domains_is_where_it_should_be() {
    let hash = hash();
    for bits in 1..=12 {
        for shape in shapes(bits) {
            let size = 1usize << bits;
            let points: Vec<u64> = (0..size as u64).collect();
            let (keys, hot) = pair(&hash, shape, &points);
            let zeros = vec![0; size];
            let mut seen = 0;
            // Row by row: all of 2^12 keys with 2^12 leaves each would be too much at once.
            let rows = |keys: &Keys| {
                let mut rows = vec![vec![0u64; size.div_ceil(64)]; size];
                visit(&hash, keys, &zeros, size as u64, |first, at, bits| {
                    for (q, bits) in bits.iter().enumerate() {
                        rows[first + q][at / 64..][..bits.len()].copy_from_slice(bits);
                    }
                });
                rows
            };
            let [first, second] = [rows(&keys[0]), rows(&keys[1])];
            for (point, (first, second)) in first.iter().zip(&second).enumerate() {
                for (w, (a, b)) in first.iter().zip(second).enumerate() {
                    let expected = if point / 64 == w { 1 << (point % 64) } else { 0 };
                    assert_eq!(a ^ b, expected, "{shape:?}, point {point}");
                }
                assert_eq!(first[point / 64] >> (point % 64) & 1 == 1, hot[point], "{shape:?}, point {point}");
                seen += 1;
            }
            assert_eq!(seen, size);
        }
    }
}

#[test]
fn every_window_of_small_domains_is_a_part_of_the_whole() {
    let hash = hash();
    for bits in 1..=6 {
        let shape = Shape::wide(bits).unwrap();
        let size = 1usize << bits;
        let points: Vec<u64> = (0..size as u64).collect();
        let (keys, _) = pair(&hash, shape, &points);
        let whole = windows(&hash, &keys, &vec![0; size], size);
        for start in 0..size {
            for len in 1..=size {
                let parts = windows(&hash, &keys, &vec![start as u64; size], len);
                for key in 0..size {
                    for i in 0..len {
                        let at = key * size + (start + i) % size;
                        assert!((0..2).all(|side| parts[side][key * len + i] == whole[side][at]));
                    }
                }
            }
        }
    }
}

/// Tests windows at every edge of leaves, pieces and the domain, on all kernels.
#[test]
fn windows_of_large_domains_hold_the_point_where_it_is() {
    for hash in hashes() {
        for (bits, blocks) in [(7, 1), (8, 1), (9, 1), (10, 1), (10, 2), (10, 4), (13, 4), (17, 4), (18, 1), (20, 2)]
            .into_iter()
            .chain([(32, 1), (32, 4), (63, 4), (64, 1), (64, 4)])
        {
            let shape = Shape::new(bits, blocks).unwrap();
            let mask = shape.mask();
            let edges = [0, 127, 128, 511, 512, 513, 1 << 15, 1 << 16, (1 << 16) - 1, 1 << 17];
            let starts: Vec<u64> = edges.iter().flat_map(|&edge: &u64| [edge, edge.wrapping_neg()]).collect();
            let starts: Vec<u64> = starts.iter().map(|start| start & mask).collect();
            for len in [1usize, 63, 64, 500, 512, 1025, 3000, 70_000] {
                if len as u64 - 1 > mask {
                    continue;
                }
                // Points are in the window's first, last and some inner place, and just outside.
                let offset = |k: usize| [0, len as u64 - 1, len as u64 / 2, u64::MAX][k % 4];
                let points: Vec<u64> =
                    starts.iter().enumerate().map(|(k, start)| start.wrapping_add(offset(k)) & mask).collect();
                let (keys, hot) = pair(&hash, shape, &points);
                let [first, second] = windows(&hash, &keys, &starts, len);
                for k in 0..points.len() {
                    for i in 0..len {
                        let here = (starts[k].wrapping_add(i as u64)) & mask == points[k];
                        assert_eq!(first[k * len + i] ^ second[k * len + i], here, "{shape:?} {len} {k} {i}");
                        assert!(!here || first[k * len + i] == hot[k]);
                    }
                }
            }
        }
    }
}

/// Tests windows of several pieces that wrap around the end of the domain, and whole domains from any place on.
#[test]
fn windows_of_several_pieces_go_around_the_end() {
    for hash in hashes() {
        let windows = [(11, 2, 1500usize), (12, 1, 4095), (12, 4, 4000), (17, 4, 100_000), (17, 4, 131_071)];
        let whole = [(17, 4, 1 << 17), (18, 4, 1 << 18), (19, 2, 500_000), (19, 4, 1 << 19)];
        for (bits, blocks, len) in windows.into_iter().chain(whole) {
            let shape = Shape::new(bits, blocks).unwrap();
            let mask = shape.mask();
            let starts = [0, 1, 511, 513, 40_000, mask, mask / 2].map(|start| start & mask);
            let points: Vec<u64> = numbers(starts.len(), 3).iter().map(|point| point & mask).collect();
            let (keys, hot) = pair(&hash, shape, &points);
            let leaves = [0, 1].map(|side| window(&hash, &keys[side], &starts, len));
            let entries = numbers(len, 4);
            let table = Table::new(Ring::of(64), &entries);
            let sums = [0, 1].map(|side| lookup(&hash, &keys[side], &starts, &table).values.to_u64s());
            for k in 0..starts.len() {
                let at = points[k].wrapping_sub(starts[k]) & mask;
                for (word, (a, b)) in leaves[0].words_of(k).iter().zip(leaves[1].words_of(k)).enumerate() {
                    let here = at < len as u64 && at / 64 == word as u64;
                    assert_eq!(a ^ b, if here { 1 << (at % 64) } else { 0 }, "{shape:?} {len} {k} {word}");
                    assert!(!here || (a >> (at % 64) & 1 == 1) == hot[k]);
                }
                let sign = if hot[k] { 1u64 } else { u64::MAX };
                let expected = entries.get(at as usize).map_or(0, |entry| sign.wrapping_mul(*entry));
                assert_eq!(sums[0][k].wrapping_add(sums[1][k]), expected);
            }
        }
    }
}

/// Tests that every kernel gives the same bits.
#[test]
fn kernels_agree_on_shares() {
    let hashes = hashes();
    for (bits, len) in [(5, 32), (9, 512), (12, 4096), (16, 1 << 16), (18, 100_000), (40, 5000)] {
        let shape = Shape::wide(bits).unwrap();
        let points: Vec<u64> = numbers(7, bits.into()).iter().map(|point| point & shape.mask()).collect();
        let (keys, _) = pair(&hashes[0], shape, &points);
        let starts = numbers(7, 5);
        let all: Vec<_> = hashes
            .iter()
            .map(|hash| {
                let (again, _) = pair(hash, shape, &points);
                assert!(again[0].corrections() == keys[0].corrections());
                window(hash, &keys[0], &starts, len).to_bools()
            })
            .collect();
        assert!(all.iter().all(|bits| *bits == all[0]));
        assert!(all[0].iter().any(|bit| *bit) && !all[0].iter().all(|bit| *bit));
    }
}

/// Tests that sums with tables of every ring and form are w times the entry at the point.
#[test]
fn lookups_give_the_entry_up_to_the_sign() {
    for hash in hashes() {
        for bits in [1u32, 4, 6, 7, 9, 11, 16, 17] {
            let shape = Shape::wide(bits).unwrap();
            let size = 1usize << bits;
            let count = if bits > 11 { 6 } else { 13 };
            let xs = numbers(count, 1);
            let points: Vec<u64> = numbers(count, 2).iter().map(|point| point & shape.mask()).collect();
            let (keys, hot) = pair(&hash, shape, &points);
            for ring_bits in [1, 7, 8, 16, 20, 32, 33, 48, 64] {
                let ring = Ring::of(ring_bits);
                let random = numbers(size, 3);
                let smooth: Vec<u64> = (0..size as u64).map(|i| (i / 3).wrapping_sub(5)).collect();
                for entries in [random, smooth] {
                    let table = Table::backwards(ring, &entries);
                    let words = Table::in_words(ring, &entries.iter().rev().copied().collect::<Vec<_>>());
                    let starts: Vec<u64> = xs.iter().map(|&x| table.start(x)).collect();
                    let [first, second] = [0, 1].map(|side| lookup(&hash, &keys[side], &starts, &table));
                    let other = lookup(&hash, &keys[1], &starts, &words);
                    assert_eq!(other.values.to_u64s(), second.values.to_u64s());
                    let (a, b) = (first.values.to_u64s(), second.values.to_u64s());
                    for k in 0..count {
                        let index = xs[k].wrapping_sub(points[k]) & shape.mask();
                        let w = if hot[k] { 1u64 } else { u64::MAX };
                        let expected = w.wrapping_mul(entries[index as usize]) & ring.mask() as u64;
                        assert_eq!(a[k].wrapping_add(b[k]) & ring.mask() as u64, expected, "{ring:?} {shape:?}");
                        assert_eq!(first.ones[k].wrapping_sub(second.ones[k]), w);
                    }
                }
            }
        }
    }
}

#[test]
fn lookups_in_windows_of_a_ring_give_the_entry_or_nothing() {
    let hash = hash();
    for bits in [32u32, 64] {
        let shape = Shape::wide(bits).unwrap();
        let entries = numbers(5000, 4);
        let table = Table::backwards(Ring::of(64), &entries);
        let xs = numbers(40, 6);
        let inside = |k: usize| !k.is_multiple_of(3);
        let index = |k: usize| if inside(k) { k as u64 * 128 } else { 5000 + k as u64 };
        let points: Vec<u64> = xs.iter().enumerate().map(|(k, x)| x.wrapping_sub(index(k)) & shape.mask()).collect();
        let (keys, hot) = pair(&hash, shape, &points);
        let starts: Vec<u64> = xs.iter().map(|&x| table.start(x)).collect();
        let [a, b] = [0, 1].map(|side| lookup(&hash, &keys[side], &starts, &table));
        for k in 0..xs.len() {
            let w = if hot[k] { 1u64 } else { u64::MAX };
            let entry = if inside(k) { entries[index(k) as usize] } else { 0 };
            let sum = a.values.to_u64s()[k].wrapping_add(b.values.to_u64s()[k]);
            assert_eq!(sum, w.wrapping_mul(entry));
            assert_eq!(a.ones[k].wrapping_sub(b.ones[k]), if inside(k) { w } else { 0 });
        }
    }
}

#[test]
fn parities_of_every_interval_of_small_domains() {
    for hash in hashes() {
        for bits in [1, 3, 6] {
            for shape in shapes(bits) {
                let size = 1u64 << bits;
                let points: Vec<u64> = (0..size).collect();
                let (keys, _) = pair(&hash, shape, &points);
                for from in 0..size {
                    for to in 0..size {
                        let [a, b] = [0, 1].map(|side| intervals(&hash, &keys[side], 1, |_, _| [from, to]).to_bools());
                        for (point, (a, b)) in points.iter().zip(a.iter().zip(&b)) {
                            let length = to.wrapping_sub(from) & (size - 1);
                            let inside = point.wrapping_sub(from) & (size - 1) < length;
                            assert_eq!(a ^ b, inside, "{point} in {from}..{to} of {size}");
                        }
                    }
                }
            }
        }
    }
}

#[test]
fn parities_about_the_edges_of_large_domains() {
    for hash in hashes() {
        for (bits, blocks) in [(9, 4), (12, 1), (12, 4), (32, 1), (63, 2), (64, 1), (64, 4)] {
            let shape = Shape::new(bits, blocks).unwrap();
            let mask = shape.mask();
            let near = |edge: u64| [edge.wrapping_sub(1) & mask, edge & mask, edge.wrapping_add(1) & mask];
            let top = 1 << (bits - 1);
            let points: Vec<u64> = [0, 127, 128, 511, 512, top, top + 512].into_iter().flat_map(near).collect();
            let (keys, _) = pair(&hash, shape, &points);
            let ends =
                |row: usize, key: usize| [points[(key + row) % points.len()], points[(key * 5 + 1) % points.len()]];
            let [a, b] = [0, 1].map(|side| intervals(&hash, &keys[side], 21, ends).to_bools());
            for row in 0..21 {
                for (key, point) in points.iter().enumerate() {
                    let [from, to] = ends(row, key);
                    let inside = point.wrapping_sub(from) & mask < to.wrapping_sub(from) & mask;
                    assert_eq!(a[row * points.len() + key] ^ b[row * points.len() + key], inside);
                }
            }
        }
    }
}

/// Tests batches of several pieces of 64 keys, the last of which is incomplete.
#[test]
fn threads_and_kernels_agree_on_paths() {
    let shape = Shape::narrow(64).unwrap();
    let points = numbers(333, 12);
    let ends = |row: usize, key: usize| {
        let at = points[key].wrapping_sub(key as u64 % 3);
        [[at, at.wrapping_add(2)], [points[(key + 1) % 333], points[(key + 7) % 333]]][row]
    };
    let run = |hash: &Hash| {
        let (keys, hot) = pair(hash, shape, &points);
        let shares = [0, 1].map(|side| intervals(hash, &keys[side], 2, ends).to_bools());
        (keys[0].corrections().bytes().to_vec(), hot, shares)
    };
    let one = on_threads(1, || run(&hash()));
    for (i, (a, b)) in one.2[0].iter().zip(&one.2[1]).enumerate() {
        let (row, key) = (i / 333, i % 333);
        let [from, to] = ends(row, key);
        assert_eq!(a ^ b, points[key].wrapping_sub(from) < to.wrapping_sub(from));
    }
    assert!((1..333).all(|key| (one.2[0][key] ^ one.2[1][key]) == (key % 3 < 2)));
    assert!(hashes().iter().all(|hash| [1, 2, 3].into_iter().all(|threads| on_threads(threads, || run(hash)) == one)));
}

#[test]
fn several_threads_give_what_one_gives() {
    let hash = hash();
    let shape = Shape::wide(16).unwrap();
    let points: Vec<u64> = numbers(150, 8).iter().map(|point| point & shape.mask()).collect();
    let (keys, _) = pair(&hash, shape, &points);
    let table = Table::new(Ring::of(64), &numbers(1 << 16, 9));
    let starts = numbers(150, 10);
    let run = || {
        let sums = lookup(&hash, &keys[1], &starts, &table);
        (sums.values.to_u64s(), sums.ones.clone())
    };
    let one = on_threads(1, run);
    assert!([2, 3, 5].into_iter().all(|threads| on_threads(threads, run) == one));
}
