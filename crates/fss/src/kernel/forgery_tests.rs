//! The number of equations that a forger of verified keys has to satisfy, by enumeration of all coincidences.
//!
//! `docs/security/fss.md`, "How hard that is": with z(u) = u xor pi'(u) everything that is compared is an equation
//! between the z(s xor a_j(T)) of nodes s. Nodes are joined if some of these points are the same; a pattern states
//! which nodes are joined and by which differences. With f groups of joined nodes there are p^f choices, and r
//! independent equations hold for each with probability 2^(-128 r). These tests compute the least r for each f.
//!
//! a_j is linear in T, so differences follow from the linear relations of the numbers T alone. Three different numbers
//! other than 0 are independent, or the third is the sum of the others: two cases, 1, 2, 4 and 1, 2, 3. In these all
//! differences lie in a space of 64, and the z of a group's points are the bits of a word.

use std::collections::{BTreeMap, BTreeSet};

use super::check::{PROOF_BLOCKS, tweaks};

/// A node's place in its group: its difference from the group's first node.
type Offset = u8;
/// The offsets of some nodes, at most six.
type Offsets = [Offset; 6];

/// Returns the tweaks of a leaf with a number below 8, in 6 bits.
fn small_tweaks(number: u64) -> [Offset; PROOF_BLOCKS] {
    tweaks(number - 1).map(|tweak| tweak as u8 | ((tweak >> 64) as u8 * 8))
}

/// Leaves of two nodes each, one of each side.
struct Leaves {
    tweaks: Vec<[Offset; PROOF_BLOCKS]>,
}

impl Leaves {
    fn new(numbers: &[u64]) -> Leaves {
        Leaves { tweaks: numbers.iter().map(|&number| small_tweaks(number)).collect() }
    }

    fn of(&self, node: usize) -> [Offset; PROOF_BLOCKS] {
        self.tweaks[node / 2]
    }

    /// Returns all ways to join these nodes, as their offsets. A leaf's nodes are different.
    fn joined(&self, nodes: &[usize]) -> BTreeSet<Offsets> {
        let mut by_set = vec![BTreeSet::new(); 1 << nodes.len()];
        by_set[1].insert([0; 6]);
        for set in 1..by_set.len() {
            let (before, after) = by_set.split_at_mut(set + 1);
            for new in (0..nodes.len()).filter(|new| set >> new & 1 == 0) {
                let to = &mut after[(set | 1 << new) - set - 1];
                before[set].iter().for_each(|offsets| to.extend(self.joining(nodes, set, *offsets, new)));
            }
        }
        by_set.pop().unwrap()
    }

    /// Returns the ways to join one more node to those of a set.
    fn joining(
        &self,
        nodes: &[usize],
        set: usize,
        mut offsets: Offsets,
        new: usize,
    ) -> impl Iterator<Item = Offsets> + use<> {
        let mut places = 0u64;
        for old in (0..nodes.len()).filter(|old| set >> old & 1 == 1) {
            for a in self.of(nodes[old]) {
                self.of(nodes[new]).iter().for_each(|b| places |= 1 << (offsets[old] ^ a ^ b));
            }
        }
        for old in (0..nodes.len()).filter(|old| set >> old & 1 == 1 && nodes[*old] / 2 == nodes[new] / 2) {
            places &= !(1 << offsets[old]);
        }
        (0..64).filter(move |place| places >> place & 1 == 1).map(move |place| {
            offsets[new] = place;
            offsets
        })
    }

    /// Returns the rank of the equations, of nodes in these groups at these offsets. Both nodes' z of a block add up to
    /// zero if there is one leaf, else to the same value at all leaves. At most W groups.
    fn rank<const W: usize>(&self, group: &[usize], offsets: &Offsets) -> usize {
        let sum = |leaf: usize, j: usize| {
            let mut sum = [0u64; W];
            for node in [2 * leaf, 2 * leaf + 1] {
                sum[group[node]] ^= 1 << (offsets[node] ^ self.tweaks[leaf][j]);
            }
            sum
        };
        let mut rows = [[0; W]; 6];
        for j in 0..PROOF_BLOCKS {
            let first = sum(0, j);
            match self.tweaks.len() {
                1 => rows[j] = first,
                _ => (1..self.tweaks.len()).for_each(|leaf| {
                    let other = sum(leaf, j);
                    rows[2 * j + leaf - 1] = std::array::from_fn(|i| first[i] ^ other[i]);
                }),
            }
        }
        rank(rows)
    }

    /// Returns for each number of groups from `least` on the least rank, and the number of patterns.
    fn ranks(&self, least: usize) -> BTreeMap<usize, (usize, usize)> {
        let count = 2 * self.tweaks.len();
        let mut found = BTreeMap::new();
        for group in partitions(count) {
            let groups = 1 + group.iter().max().unwrap();
            if groups < least {
                continue;
            }
            let members = |g: usize| (0..count).filter(|&node| group[node] == g).collect::<Vec<_>>();
            let members: Vec<Vec<usize>> = (0..groups).map(members).collect();
            let choices: Vec<Vec<Offsets>> =
                members.iter().map(|nodes| self.joined(nodes).into_iter().collect()).collect();
            let (mut offsets, total) = ([0; 6], choices.iter().map(Vec::len).product::<usize>());
            for mut choice in 0..total {
                for (nodes, ways) in members.iter().zip(&choices) {
                    let way = &ways[choice % ways.len()];
                    choice /= ways.len();
                    nodes.iter().zip(way).for_each(|(&node, &offset)| offsets[node] = offset);
                }
                let rank = match groups {
                    1 | 2 => self.rank::<2>(&group, &offsets),
                    _ => self.rank::<6>(&group, &offsets),
                };
                note(&mut found, groups, rank);
            }
        }
        found
    }

    /// Returns the least rank and the number of patterns for all six nodes of three leaves in one group. Up to the
    /// names of sides and leaves, the last node is one that the others do not need to be joined. Patterns may occur
    /// several times.
    fn ranks_of_one_group(&self) -> (usize, usize) {
        let mut found = BTreeMap::new();
        for offsets in self.joined(&[0, 1, 2, 3, 4]) {
            for offsets in self.joining(&[0, 1, 2, 3, 4, 5], 0b11111, offsets, 5) {
                note(&mut found, 1, self.rank::<1>(&[0; 6], &offsets));
            }
        }
        found[&1]
    }
}

fn note(found: &mut BTreeMap<usize, (usize, usize)>, groups: usize, rank: usize) {
    let (least, count) = found.entry(groups).or_insert((usize::MAX, 0));
    *least = rank.min(*least);
    *count += 1;
}

/// Returns the rank over GF(2).
fn rank<const W: usize>(mut rows: [[u64; W]; 6]) -> usize {
    let mut rank = 0;
    for i in 0..rows.len() {
        let row = rows[i];
        let Some(at) = row.iter().position(|word| *word != 0) else { continue };
        let bit = row[at] & row[at].wrapping_neg();
        for other in &mut rows[i + 1..] {
            let with = 0u64.wrapping_sub(u64::from(other[at] & bit != 0));
            other.iter_mut().zip(row).for_each(|(other, word)| *other ^= word & with);
        }
        rank += 1;
    }
    rank
}

/// Returns all partitions, as the group of each node; groups are ordered by their first nodes.
fn partitions(count: usize) -> Vec<Vec<usize>> {
    let mut all = vec![vec![]];
    for _ in 0..count {
        let longer = |groups: Vec<usize>| {
            let next = groups.iter().max().map_or(0, |most| most + 1);
            (0..=next).map(move |group| [&groups[..], &[group]].concat())
        };
        all = all.into_iter().flat_map(longer).collect();
    }
    all
}

/// Tests the linearity that reduces all numbers to two cases.
#[test]
fn tweaks_are_linear_in_the_number() {
    let numbers = [1u64, 2, 3, 77, 40_000, 1 << 15, 65_535, 1 << 16];
    for (a, b) in numbers.iter().flat_map(|a| numbers.map(|b| (*a, b))).filter(|(a, b)| a != b) {
        let [of_a, of_b, of_sum] = [a, b, a ^ b].map(|number| tweaks(number - 1));
        assert_eq!([0, 1, 2].map(|j| of_a[j] ^ of_b[j]), of_sum);
        assert!(of_sum.iter().enumerate().all(|(j, tweak)| *tweak != 0 && !of_sum[..j].contains(tweak)));
    }
}

#[test]
fn one_leaf_takes_two_equations_for_one_node_and_three_for_two() {
    let found = Leaves::new(&[1]).ranks(1);
    assert_eq!(found, BTreeMap::from([(1, (2, 3)), (2, (3, 1))]));
}

/// Shows why two leaves would not suffice: one equation for one free node, in six patterns, the crossed shifts.
#[test]
fn two_leaves_take_one_equation_for_one_node() {
    let found = Leaves::new(&[1, 2]).ranks(1);
    assert_eq!(found.values().map(|(least, _)| *least).collect::<Vec<_>>(), [1, 2, 3, 3]);
}

#[test]
fn three_leaves_take_at_least_as_many_equations_as_stated() {
    for numbers in [[1, 2, 4], [1, 2, 3]] {
        let leaves = Leaves::new(&numbers);
        let mut found = leaves.ranks(2);
        found.insert(1, leaves.ranks_of_one_group());
        assert_eq!(found.values().map(|(least, _)| *least).collect::<Vec<_>>(), [3, 4, 4, 5, 6, 6], "{numbers:?}");
        // The number of patterns, for one group up to names, is a factor of the bound.
        let counts: Vec<usize> = found.values().map(|(_, count)| *count).collect();
        let most = [1 << 22, 1 << 21, 1 << 17, 1 << 13, 1 << 8, 1];
        assert!(counts.iter().zip(most).all(|(count, most)| *count <= most && *count > most / 8), "{counts:?}");
    }
}
