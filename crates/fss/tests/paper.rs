//! The paper's tree and ours give shares of the same unit vectors; ours has shorter keys.

use quorate_fss::{Shape, window};

use crate::common::{hash, pair};
use crate::papers_tree::{self, keys};

#[test]
fn the_papers_tree_gives_what_ours_gives() {
    let hash = hash();
    for bits in 1..=10usize {
        let shape = Shape::wide(bits as u32).unwrap();
        let points: Vec<u64> = (0..1u64 << bits).collect();
        let (ours, _) = pair(&hash, shape, &points);
        let starts = vec![0; points.len()];
        let [first, second] = [0, 1].map(|side| window(&hash, &ours[side], &starts, points.len()).to_bools());
        for &point in &points {
            let theirs = keys(&papers_tree::Hash::new(), bits, point, [3 << 90 | 5, 7 << 70]);
            let blocks = theirs.each_ref().map(|key| key.evaluate(&papers_tree::Hash::new()));
            for x in 0..points.len() {
                let bit = |side: usize| blocks[side][x / 128] >> (x % 128) & 1;
                let ours = first[point as usize * points.len() + x] ^ second[point as usize * points.len() + x];
                assert_eq!(bit(0) ^ bit(1) == 1, ours, "{bits} bits, point {point}, leaf {x}");
            }
        }
    }
}

/// 176 bytes, from which roots come by a seed, against 179 and the root in them: 1426 bits.
#[test]
fn keys_are_as_long_as_stated() {
    let keys = keys(&papers_tree::Hash::new(), 16, 3, [1, 2]);
    assert_eq!(keys[0].size_bits(), 128 + 130 * 9 + 128);
    assert_eq!(Shape::wide(16).unwrap().key_bytes(), 176);
}
