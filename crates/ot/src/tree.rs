//! Trees of keys of which the peer knows all leaves but one: all-but-one OT from random OTs.
//!
//! **Source**: Roy, "SoftSpokenOT", CRYPTO 2022 (ePrint 2022/192): punctured pseudo-random functions after Goldreich,
//! Goldwasser and Micali, and their consistency check. **Model**: malicious. A corrupt owner may guess a set for each
//! of the peer's points; a wrong guess ends the session. **Deviation**: nodes are expanded and leaves hashed by BLAKE3,
//! and one hash covers the leaves of all trees (the peer's points then lie in a product of sets, as with one hash
//! each). **Notation**: a tree of depth d has 2^d leaves; alpha is the peer's point, bit d-1 of it the first turn. The
//! peer chose key 1 - (the turn) of the d base OTs, so it knows the sibling of every node on the way to alpha.
//!
//! For each level below the first, the owner sends the xor of all left and that of all right children, masked by the
//! two keys of the level's base OT. Then it sends the xor of its leaves' checks, and at the end a hash of all checks.
//! This takes 64 (d - 1) + 32 bytes a tree, + 32. The peer's timing does not depend on alpha.

use quorate_crypto::{Prf, ct_eq};
use subtle::{Choice, ConditionallySelectable, ConstantTimeEq};
use zeroize::{Zeroize, Zeroizing};

use crate::base::Key;
use crate::domains;

const NODE_BYTES: usize = 32;
const CHECK_BYTES: usize = 32;

type Node = [u8; NODE_BYTES];
type Nodes = Zeroizing<Vec<Node>>;

/// The name of the check in an error.
pub(crate) const CHECK: &str = "trees of the OT extension";

/// The keys of one tree's leaves.
pub(crate) type Leaves = Zeroizing<Vec<[u8; 16]>>;

/// The leaves of one tree. At the peer they are ordered by their distance (xor) to its point; the first one is missing.
pub(crate) struct Tree {
    pub depth: usize,
    pub leaves: Vec<Option<Prf>>,
}

impl Tree {
    /// Makes the owner's tree.
    pub fn whole(leaves: &Leaves) -> Tree {
        Tree { depth: leaves.len().trailing_zeros() as usize, leaves: functions(leaves).collect() }
    }

    /// Makes the peer's tree, which lacks the leaf at a point.
    pub fn without(mut leaves: Leaves, point: usize) -> Tree {
        by_distance(&mut leaves, point);
        let depth = leaves.len().trailing_zeros() as usize;
        Tree { depth, leaves: std::iter::once(None).chain(functions(&leaves[1..])).collect() }
    }
}

/// Returns the bytes of the owner's message for trees of these depths.
pub(crate) fn message_bytes(depths: &[usize]) -> usize {
    depths.iter().map(|&d| tree_bytes(d)).sum::<usize>() + CHECK_BYTES
}

fn tree_bytes(depth: usize) -> usize {
    2 * NODE_BYTES * (depth - 1) + CHECK_BYTES
}

fn xor(a: &mut Node, b: &Node) {
    a.iter_mut().zip(b).for_each(|(a, b)| *a ^= b);
}

/// Computes a ^= b if `choice`.
fn xor_if(a: &mut Node, b: &Node, choice: Choice) {
    let mut changed = *a;
    xor(&mut changed, b);
    a.conditional_assign(&changed, choice);
    changed.zeroize();
}

fn expand<const N: usize>(node: &Node, domain: &[u8]) -> Zeroizing<[u8; N]> {
    let mut hasher = blake3::Hasher::new_keyed(node);
    hasher.update(domain);
    let mut out = Zeroizing::new([0; N]);
    hasher.finalize_xof().fill(&mut *out);
    hasher.zeroize();
    out
}

/// Returns the children of all nodes of a level.
fn next_level(level: &Nodes) -> Nodes {
    let mut next = Zeroizing::new(Vec::with_capacity(2 * level.len()));
    for node in level.iter() {
        let children = expand::<{ 2 * NODE_BYTES }>(node, domains::TREE_CHILDREN);
        next.extend_from_slice(children.as_chunks::<NODE_BYTES>().0);
    }
    next
}

/// Returns the keys and the checks of the leaves below the last level's nodes.
fn leaves_of(level: &Nodes) -> (Leaves, Nodes) {
    let (mut keys, mut checks) = (Zeroizing::new(Vec::new()), Zeroizing::new(Vec::new()));
    for node in level.iter() {
        let leaf = expand::<{ 16 + CHECK_BYTES }>(node, domains::TREE_LEAF);
        let (key, check) = leaf.split_at(16);
        keys.push(key.try_into().unwrap_or_default());
        checks.push(check.try_into().unwrap_or_default());
    }
    (keys, checks)
}

fn functions(keys: &[[u8; 16]]) -> impl Iterator<Item = Option<Prf>> {
    keys.iter().map(|key| Some(Prf::new(key)))
}

/// Returns the owner's trees, and its message. `keys` are the base OTs' outputs, level by level, tree by tree.
pub(crate) fn grow(keys: &[[Key; 2]], depths: &[usize]) -> (Vec<Leaves>, Vec<u8>) {
    let (mut trees, mut message) = (Vec::new(), Vec::with_capacity(message_bytes(depths)));
    let mut all_checks = blake3::Hasher::new_derive_key(domains::TREE_CHECK);
    let mut keys = keys;
    for &depth in depths {
        let (own, rest) = keys.split_at(depth);
        keys = rest;
        let mut level: Nodes = Zeroizing::new(vec![*own[0][0], *own[0][1]]);
        for pair in &own[1..] {
            level = next_level(&level);
            for (side, key) in pair.iter().enumerate() {
                let mut sum: Node = **key;
                level.iter().skip(side).step_by(2).for_each(|child| xor(&mut sum, child));
                message.extend_from_slice(&sum);
            }
        }
        let (leaf_keys, checks) = leaves_of(&level);
        let mut sum = [0; CHECK_BYTES];
        for check in checks.iter() {
            xor(&mut sum, check);
            all_checks.update(check);
        }
        message.extend_from_slice(&sum);
        trees.push(leaf_keys);
    }
    message.extend_from_slice(all_checks.finalize().as_bytes());
    (trees, message)
}

/// Returns the peer's trees, with garbage in place of the leaf that each lacks, or the check's failure. `keys` are its
/// base OTs' outputs; `points` has the leaf that each tree lacks.
pub(crate) fn puncture(
    keys: &[Key],
    depths: &[usize],
    points: &[usize],
    message: &[u8],
) -> Result<Vec<Leaves>, &'static str> {
    if message.len() != message_bytes(depths) {
        return Err("a message of trees of a wrong length");
    }
    let mut all_checks = blake3::Hasher::new_derive_key(domains::TREE_CHECK);
    let (mut trees, mut keys, mut message) = (Vec::new(), keys, message);
    for (&depth, &point) in depths.iter().zip(points) {
        let (own, rest) = keys.split_at(depth);
        let (part, rest_of_message) = message.split_at(tree_bytes(depth));
        (keys, message) = (rest, rest_of_message);
        let (sums, check_sum) = part.split_at(part.len() - CHECK_BYTES);
        let level = known_nodes(own, depth, point, sums);
        let (leaf_keys, mut checks) = leaves_of(&level);
        fill_in(&mut checks, point as u64, check_sum.try_into().unwrap_or_default());
        for check in checks.iter() {
            all_checks.update(check);
        }
        trees.push(leaf_keys);
    }
    if ct_eq(all_checks.finalize().as_bytes(), message) { Ok(trees) } else { Err(CHECK) }
}

/// Returns the last level's nodes; the one at `point` is garbage.
fn known_nodes(keys: &[Key], depth: usize, point: usize, sums: &[u8]) -> Nodes {
    let turn = |level: usize| Choice::from((point >> (depth - 1 - level) & 1) as u8);
    let mut level: Nodes = Zeroizing::new(vec![[0; NODE_BYTES]; 2]);
    level[0].conditional_assign(&keys[0], turn(0));
    level[1].conditional_assign(&keys[0], !turn(0));
    for (at, sums) in (1..depth).zip(sums.as_chunks::<{ 2 * NODE_BYTES }>().0) {
        let path = (point >> (depth - at)) as u64;
        level = next_level(&level);
        // The sibling of the path's next node is the masked sum, less the mask, less all other nodes of its side.
        let [left, right] =
            [sums[..NODE_BYTES].try_into(), sums[NODE_BYTES..].try_into()].map(Result::unwrap_or_default);
        let mut sibling: Node = Node::conditional_select(&right, &left, turn(at));
        xor(&mut sibling, &keys[at]);
        for (parent, children) in (0u64..).zip(level.as_chunks::<2>().0) {
            let child = Node::conditional_select(&children[1], &children[0], turn(at));
            xor_if(&mut sibling, &child, !parent.ct_eq(&path));
        }
        let place = (2 * path) | u64::from((!turn(at)).unwrap_u8());
        for (x, node) in (0u64..).zip(level.iter_mut()) {
            node.conditional_assign(&sibling, x.ct_eq(&place));
        }
        sibling.zeroize();
    }
    level
}

/// Sets the entry at `point` so that the sum of all is `sum`.
fn fill_in(entries: &mut Nodes, point: u64, sum: Node) {
    let mut missing = sum;
    for (x, entry) in (0u64..).zip(entries.iter()) {
        xor_if(&mut missing, entry, !x.ct_eq(&point));
    }
    for (x, entry) in (0u64..).zip(entries.iter_mut()) {
        entry.conditional_assign(&missing, x.ct_eq(&point));
    }
}

/// Moves entry x to x xor `point`.
fn by_distance(keys: &mut [[u8; 16]], point: usize) {
    for bit in 0..keys.len().trailing_zeros() {
        let swap = Choice::from((point >> bit & 1) as u8);
        for pair in keys.chunks_exact_mut(2 << bit) {
            let (left, right) = pair.split_at_mut(1 << bit);
            left.iter_mut().zip(right).for_each(|(a, b)| <[u8; 16]>::conditional_swap(a, b, swap));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn keys(count: usize) -> Vec<[Key; 2]> {
        let key = |i: usize, j: usize| Zeroizing::new(*blake3::hash(&[i as u8, (i >> 8) as u8, j as u8]).as_bytes());
        (0..count).map(|i| [key(i, 0), key(i, 1)]).collect()
    }

    /// Returns the keys that a peer with these points chose.
    fn chosen(keys: &[[Key; 2]], depths: &[usize], points: &[usize]) -> Vec<Key> {
        let turns = depths.iter().zip(points).flat_map(|(&d, &point)| (0..d).rev().map(move |bit| point >> bit & 1));
        keys.iter().zip(turns).map(|(pair, turn)| pair[1 - turn].clone()).collect()
    }

    fn grown(keys: &[[Key; 2]], depths: &[usize]) -> (Vec<Tree>, Vec<u8>) {
        let (trees, message) = grow(keys, depths);
        (trees.iter().map(Tree::whole).collect(), message)
    }

    fn punctured(keys: &[Key], depths: &[usize], points: &[usize], message: &[u8]) -> Result<Vec<Tree>, &'static str> {
        let trees = puncture(keys, depths, points, message)?;
        Ok(trees.into_iter().zip(points).map(|(leaves, &point)| Tree::without(leaves, point)).collect())
    }

    fn value(leaf: &Option<Prf>) -> Option<[u8; 16]> {
        leaf.as_ref().map(|prf| {
            let mut out = [[0; 16]];
            prf.eval(&[[3; 16]], &mut out);
            out[0]
        })
    }

    #[test]
    fn the_peer_knows_every_leaf_but_one() {
        for depth in 1..=6usize {
            let keys = keys(depth);
            let (trees, message) = grown(&keys, &[depth]);
            assert_eq!(message.len(), message_bytes(&[depth]));
            let all: Vec<_> = trees[0].leaves.iter().map(value).collect();
            assert!(all.len() == 1 << depth && (0..all.len()).all(|i| !all[..i].contains(&all[i])));
            for point in 0..1 << depth {
                let known = punctured(&chosen(&keys, &[depth], &[point]), &[depth], &[point], &message).unwrap();
                for (y, leaf) in known[0].leaves.iter().enumerate() {
                    assert_eq!(value(leaf), if y == 0 { None } else { all[y ^ point] }, "depth {depth}, point {point}");
                }
            }
        }
    }

    #[test]
    fn several_trees_of_several_depths() {
        let (depths, points) = ([3, 1, 8, 2], [5, 0, 200, 3]);
        let keys = keys(14);
        let (trees, message) = grown(&keys, &depths);
        let known = punctured(&chosen(&keys, &depths, &points), &depths, &points, &message).unwrap();
        for ((tree, known), point) in trees.iter().zip(&known).zip(points) {
            assert_eq!(tree.depth, known.depth);
            for y in 1..known.leaves.len() {
                assert_eq!(value(&known.leaves[y]), value(&tree.leaves[y ^ point]));
            }
        }
    }

    /// A flipped bit of a sum that the peer does not use changes nothing; every other flip is found.
    #[test]
    fn every_flipped_bit_is_found_or_harmless() {
        let (depths, points) = ([3, 2], [5, 1]);
        let keys = keys(5);
        let own = chosen(&keys, &depths, &points);
        let (trees, message) = grown(&keys, &depths);
        let (mut found, mut harmless) = (0, 0);
        for bit in 0..8 * message.len() {
            let mut message = message.clone();
            message[bit / 8] ^= 1 << (bit % 8);
            match punctured(&own, &depths, &points, &message) {
                Err(check) => {
                    assert_eq!(check, CHECK);
                    found += 1;
                }
                Ok(known) => {
                    let same = |y: usize| value(&known[0].leaves[y]) == value(&trees[0].leaves[y ^ points[0]]);
                    assert!((1..8).all(same));
                    harmless += 1;
                }
            }
        }
        // Three levels below a first one, with 256 bits in each of two sums.
        assert_eq!((found, harmless), (3 * 256 + 3 * 256, 3 * 256));
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(200))]
        #[test]
        fn arbitrary_bytes_never_pass_or_panic(
            bytes in proptest::collection::vec(any::<u8>(), 0..400),
            exact in any::<bool>(),
        ) {
            let (depths, points) = ([3, 2], [5, 1]);
            let mut bytes = bytes;
            if exact {
                bytes.resize(message_bytes(&depths), 0);
            }
            prop_assert!(punctured(&chosen(&keys(5), &depths, &points), &depths, &points, &bytes).is_err());
        }
    }
}
