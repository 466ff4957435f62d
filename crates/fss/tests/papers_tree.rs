//! The paper's tree, for comparison with ours: of tests and of the example `eval`.
//!
//! **Source**: Wagh, "Pika: Secure Computation using Function Secret Sharing over Rings", PETS 2022, figure 7, after
//! Boyle, Gilboa, Ishai, CCS 2016, with tree trimming: nu = n - 7 levels, leaves of 128 bits, payload 1 in Z_2.
//! **Deviation**: G(s) is H(s xor 2) || H(s xor 4), the lowest bit of each the control bit. **Notation**: that of the
//! paper.
//!
//! Hashes are those of `aes`, in batches. A level takes two hashes a node where the half-tree takes one, and 2 more
//! bits of a key; the root is sent.

use aes::Aes128;
use aes::cipher::{Block, BlockCipherEncrypt, KeyInit};

/// H(x) = AES(x) xor x, under a fixed key.
pub struct Hash(Aes128);

impl Hash {
    pub fn new() -> Hash {
        Hash(Aes128::new(&[7; 16].into()))
    }

    /// Computes to_i = H(from_i xor tweak).
    fn each(&self, from: &[u128], tweak: u128, to: &mut [u128]) {
        let mut blocks: Vec<Block<Aes128>> = from.iter().map(|from| (from ^ tweak).to_le_bytes().into()).collect();
        self.0.encrypt_blocks(&mut blocks);
        for ((to, block), from) in to.iter_mut().zip(blocks).zip(from) {
            *to = u128::from_le_bytes(block.into()) ^ from ^ tweak;
        }
    }
}

/// Returns all ones if the control bit of a node is set, else zeros.
fn control(node: u128) -> u128 {
    0u128.wrapping_sub(node & 1)
}

/// A side's key.
pub struct Key {
    root: u128,
    /// t of the root, as all ones or zeros.
    control: u128,
    public: Public,
}

/// Pub: the part of a key that both sides have.
#[derive(Clone)]
struct Public {
    bits: usize,
    /// s_CW, t_CW^L and t_CW^R of each level.
    levels: Vec<(u128, [u128; 2])>,
    last: u128,
}

/// Returns s^L, s^R with the lowest bits cleared, and t^L, t^R as masks.
fn expand(hash: &Hash, node: u128) -> ([u128; 2], [u128; 2]) {
    let half = |tweak| {
        let mut out = [0];
        hash.each(&[node], tweak, &mut out);
        out[0]
    };
    let halves = [half(2), half(4)];
    (halves.map(|half| half & !1), halves.map(control))
}

/// Gen(alpha, 1): generates keys at a point of 2^bits, from two roots.
///
/// # Panics
/// If the point lies outside.
pub fn keys(hash: &Hash, bits: usize, point: u64, roots: [u128; 2]) -> [Key; 2] {
    assert!(bits < 64 && point >> bits == 0, "a point outside of the domain");
    let levels = bits.saturating_sub(7);
    let mut s = roots.map(|root| root & !1);
    let mut t = [0, u128::MAX];
    let start = (s, t);
    let mut public = Public { bits, levels: Vec::new(), last: 0 };
    for i in 0..levels {
        let turn = (point >> (bits - 1 - i) & 1) as usize;
        let (keep, lose) = (turn, 1 - turn);
        let sides = s.map(|s| expand(hash, s));
        let s_cw = sides[0].0[lose] ^ sides[1].0[lose];
        let differ = |child: usize| sides[0].1[child] ^ sides[1].1[child];
        let bit = |set: bool| if set { u128::MAX } else { 0 };
        let t_cw = [differ(0) ^ bit(turn == 0), differ(1) ^ bit(turn == 1)];
        for b in 0..2 {
            s[b] = sides[b].0[keep] ^ (t[b] & s_cw);
            t[b] = sides[b].1[keep] ^ (t[b] & t_cw[keep]);
        }
        public.levels.push((s_cw, t_cw));
    }
    public.last = s[0] ^ s[1] ^ 1 << (point & 127);
    let ([s0, s1], [t0, t1]) = start;
    [(s0, t0), (s1, t1)].map(|(root, control)| Key { root, control, public: public.clone() })
}

impl Key {
    /// Returns the bits of a key: lambda + (lambda + 2) nu + 2^(n - nu).
    pub fn size_bits(&self) -> usize {
        let levels = self.public.levels.len();
        128 + 130 * levels + (1 << (self.public.bits - levels))
    }

    /// EvalAll: returns blocks of 128 leaves.
    pub fn evaluate(&self, hash: &Hash) -> Vec<u128> {
        let levels = self.public.levels.len();
        let room = || vec![0u128; 1 << levels];
        let (mut nodes, mut seeds, mut left, mut right) = (room(), room(), room(), room());
        // A node's lowest bit holds its control bit and is no bit of the seed.
        nodes[0] = self.root | self.control & 1;
        for (i, (s_cw, t_cw)) in self.public.levels.iter().enumerate() {
            let count = 1 << i;
            seeds.iter_mut().zip(&nodes).take(count).for_each(|(to, node)| *to = node & !1);
            hash.each(&seeds[..count], 2, &mut left[..count]);
            hash.each(&seeds[..count], 4, &mut right[..count]);
            let corrections = t_cw.map(|t_cw| s_cw & !1 | t_cw & 1);
            let hashes = [&left, &right];
            // From the last node on, so that none is overwritten before it is read.
            for x in (0..1 << i).rev() {
                let control = control(nodes[x]);
                for child in [1, 0] {
                    nodes[2 * x + child] = hashes[child][x] ^ (control & corrections[child]);
                }
            }
        }
        nodes.iter().map(|node| (node & !1) ^ (control(*node) & self.public.last)).collect()
    }
}
