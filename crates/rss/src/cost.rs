//! What the primitives of `rss` cost, by the paper's formulas. Tests hold these, the dry run and the wire equal.
//!
//! Bytes are those sent by all parties together; divide by n for the paper's average per party.

/// Rounds, and payload bytes sent by all n parties together.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Cost {
    pub rounds: u32,
    pub bytes: u64,
}

fn packed(bits: u32, len: usize) -> u64 {
    (bits as u64 * len as u64).div_ceil(8)
}

fn log2(x: u64) -> u32 {
    x.next_power_of_two().trailing_zeros()
}

/// Corruptions tolerated by n parties.
pub fn threshold(n: usize) -> u64 {
    (n as u64 - 1) / 2
}

/// Mul, DotProd, MatMul: t elements a party for every element of the result.
pub fn mul(n: usize, k: u32, results: usize) -> Cost {
    Cost { rounds: 1, bytes: n as u64 * threshold(n) * packed(k, results) }
}

/// Open to all: t elements a party.
pub fn open(n: usize, k: u32, len: usize) -> Cost {
    Cost { rounds: 1, bytes: n as u64 * threshold(n) * packed(k, len) }
}

/// Open to one: t elements in all.
pub fn open_to_one(n: usize, k: u32, len: usize) -> Cost {
    Cost { rounds: 1, bytes: threshold(n) * packed(k, len) }
}

/// MulPub: n - 1 elements a party.
pub fn mulpub(n: usize, k: u32, len: usize) -> Cost {
    Cost { rounds: 1, bytes: n as u64 * (n as u64 - 1) * packed(k, len) }
}

/// Input by a computing party: t elements by the owner.
pub fn input(n: usize, k: u32, len: usize) -> Cost {
    Cost { rounds: 1, bytes: threshold(n) * packed(k, len) }
}

/// RandBit: MulPub over Z_2^(k+2).
pub fn random_bit(n: usize, k: u32, len: usize) -> Cost {
    mulpub(n, k + 2, len)
}

/// ANDs of a Sklansky network over `width` positions, level by level.
fn sklansky_levels(width: u64) -> Vec<u64> {
    (0..log2(width))
        .map(|level| {
            let moved = (0..width).filter(|i| i >> level & 1 == 1);
            moved.map(|i| 1 + u64::from(i >> (level + 1) > 0)).sum()
        })
        .collect()
}

/// edaBit(k): t+1 parties input k bits twice, then t adders of k bits, in ceil(log2(t+1)) layers.
pub fn edabit(n: usize, k: u32, len: usize) -> Cost {
    let t = threshold(n);
    let layers = log2(t + 1);
    let inputs = (t + 1) * t * 2 * packed(k, len);
    if k == 1 {
        return Cost { rounds: 1, bytes: inputs };
    }
    let width = u64::from(k) - 1;
    let levels = sklansky_levels(width);
    let ands: u64 = std::iter::once(width).chain(levels).map(|rows| (rows * len as u64).div_ceil(8)).sum();
    Cost { rounds: 1 + layers * (1 + log2(width)), bytes: inputs + t * n as u64 * t * ands }
}

/// ANDs of a carry tree over `width` positions, level by level: the lowest group's propagate is skipped.
fn tree_levels(mut width: u64) -> Vec<u64> {
    let mut levels = Vec::new();
    while width > 1 {
        levels.push(2 * (width / 2) - 1);
        width = width.div_ceil(2);
    }
    levels
}

/// The online part of MSB over Z_2^k, with a bit as its result: an opening and a carry tree over k - 1 positions.
pub fn msb_online(n: usize, k: u32, len: usize) -> Cost {
    let levels = tree_levels(u64::from(k) - 1);
    let ands: u64 = levels.iter().map(|rows| (rows * len as u64).div_ceil(8)).sum();
    Cost { rounds: 1 + levels.len() as u32, bytes: n as u64 * threshold(n) * (packed(k, len) + ands) }
}

/// The paper's bound for MSB with edaBits, in bytes per party: t^2 (log k + 1) + 7t + 1/2 elements of k bits (Table 3).
pub fn msb_paper_bytes_per_party(n: usize, k: u32) -> f64 {
    let t = threshold(n) as f64;
    (t * t * (f64::from(k).log2() + 1.0) + 7.0 * t + 0.5) * f64::from(k) / 8.0
}
