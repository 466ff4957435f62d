//! Maps: which party holds which share, and which products, messages and masks belong to which party.
//!
//! **Source**: the maps rho, chi and nu of sections 4.2 and 4.3 and Appendix C. **Notation**: a share is named by a set
//! T of t parties; the parties outside T hold it. Parties are numbered from 0.
//!
//! **Deviation**: the paper lists maps for n = 3, 5 and 7; here they are built by rotation. n is prime and t < n, so
//! every orbit of pairs (T1, T2) under rotation has exactly n members. Party 0 gets one representative of each orbit,
//! and rotation gives every pair to exactly one party that holds both, with equal loads.

/// A set of t parties, one bit each.
pub(crate) type Set = u8;

/// The maps of one party. Indices of shares count this party's own shares, in the order of [`Maps::held`].
#[derive(Clone)]
pub(crate) struct Maps {
    pub parties: usize,
    /// Corruptions tolerated: t.
    pub threshold: usize,
    pub me: usize,
    /// The sets T whose share this party holds.
    pub held: Vec<Set>,
    /// rho, as products of sums of own shares of x by sums of own shares of y.
    pub products: Vec<(Vec<usize>, Vec<usize>)>,
    /// The own index of chi(me): the share of the own product that is sent.
    pub sent_share: usize,
    /// The receivers of that share: the other holders of chi(me).
    pub sent_to: Vec<usize>,
    /// The parties whose sent share this party holds: (party, own index of its chi).
    pub received: Vec<(usize, usize)>,
    /// nu: for each peer that opens with this party's help, the own shares whose sum is sent to it.
    pub opened_to: Vec<(usize, Vec<usize>)>,
    /// The peers that send to this party in an opening.
    pub opened_from: Vec<usize>,
    /// The own index of T0, the share that takes public constants.
    pub public_share: Option<usize>,
}

fn rotate(set: Set, by: usize, n: usize) -> Set {
    (0..n).filter(|&p| set >> p & 1 == 1).fold(0, |out, p| out | 1 << ((p + by) % n))
}

fn holds(set: Set, party: usize) -> bool {
    set >> party & 1 == 0
}

/// Returns all sets of `t` of `n` parties, in a fixed order.
pub(crate) fn all_sets(n: usize, t: usize) -> Vec<Set> {
    (0..1u16 << n).filter(|s| s.count_ones() as usize == t).map(|s| s as Set).collect()
}

/// Returns chi(p) = {p+1, ..., p+t}.
pub(crate) fn chi(party: usize, n: usize, t: usize) -> Set {
    rotate((1 << t) - 1, party + 1, n)
}

/// Returns the party that sends a share which `to` misses: the first of the t parties after `to` that holds it.
pub(crate) fn teller(set: Set, to: usize, n: usize, t: usize) -> Option<usize> {
    (1..=t).map(|j| (to + j) % n).find(|&p| !holds(set, to) && holds(set, p))
}

/// Returns, for party 0, one pair (T1, T2) of each orbit, as the fewest products of sums that a greedy search finds.
/// Each T1 takes all T2 whose orbits are left, and those T1 that take the same T2 are grouped.
fn representatives(n: usize, t: usize) -> Vec<(Vec<Set>, Vec<Set>)> {
    let own: Vec<Set> = all_sets(n, t).into_iter().filter(|&s| holds(s, 0)).collect();
    let mut taken = std::collections::BTreeSet::new();
    let mut groups: Vec<(Vec<Set>, Vec<Set>)> = Vec::new();
    for &first in &own {
        let fresh: Vec<Set> = own.iter().copied().filter(|&second| taken.insert(orbit(first, second, n))).collect();
        match groups.iter_mut().find(|(_, seconds)| *seconds == fresh) {
            _ if fresh.is_empty() => {}
            Some((firsts, _)) => firsts.push(first),
            None => groups.push((vec![first], fresh)),
        }
    }
    groups
}

/// Returns the least member of the pair's orbit.
fn orbit(first: Set, second: Set, n: usize) -> (Set, Set) {
    (0..n).map(|by| (rotate(first, by, n), rotate(second, by, n))).min().unwrap_or((first, second))
}

impl Maps {
    /// Returns the maps of party `me`; `parties` is 3, 5 or 7.
    pub fn new(parties: usize, me: usize) -> Maps {
        let (n, t) = (parties, (parties - 1) / 2);
        let sets = all_sets(n, t);
        let held: Vec<Set> = sets.iter().copied().filter(|&s| holds(s, me)).collect();
        let index = |set: Set| held.iter().position(|&s| s == set);
        let turned = |sets: Vec<Set>| sets.into_iter().filter_map(|set| index(rotate(set, me, n))).collect();
        let products = representatives(n, t).into_iter().map(|(x, y)| (turned(x), turned(y))).collect();
        let own_chi = chi(me, n, t);
        let others = || (0..n).filter(move |&p| p != me);
        let opened_to = (1..=t)
            .map(|j| (me + n - j) % n)
            .map(|to| {
                let told = |set: &Set| teller(*set, to, n, t) == Some(me);
                (to, (0..held.len()).filter(|&i| told(&held[i])).collect())
            })
            .collect();
        Maps {
            parties,
            threshold: t,
            me,
            products,
            sent_share: index(own_chi).unwrap_or(0),
            sent_to: others().filter(|&p| holds(own_chi, p)).collect(),
            received: others().filter_map(|p| Some((p, index(chi(p, n, t))?))).collect(),
            opened_to,
            opened_from: (1..=t).map(|j| (me + j) % n).collect(),
            public_share: index(sets[0]),
            held,
        }
    }

    /// Returns the holders of a share, in increasing order.
    pub fn holders(&self, set: Set) -> impl Iterator<Item = usize> + use<> {
        (0..self.parties).filter(move |&p| holds(set, p))
    }

    /// Returns chi of any party.
    pub fn chi(&self, party: usize) -> Set {
        chi(party, self.parties, self.threshold)
    }

    /// Returns the own index of a share.
    pub fn index(&self, set: Set) -> Option<usize> {
        self.held.iter().position(|&s| s == set)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeMap;

    const CASES: [(usize, usize); 3] = [(3, 1), (5, 2), (7, 3)];

    #[test]
    fn every_pair_of_shares_is_multiplied_exactly_once() {
        for (n, t) in CASES {
            let mut seen: BTreeMap<(Set, Set), usize> = BTreeMap::new();
            let mut loads = Vec::new();
            for me in 0..n {
                let maps = Maps::new(n, me);
                let mut load = 0;
                let pairs = |(x, y): &(Vec<usize>, Vec<usize>)| {
                    x.iter().flat_map(|&i| y.iter().map(move |&j| (i, j))).collect::<Vec<_>>()
                };
                for (first, second) in maps.products.iter().flat_map(pairs) {
                    *seen.entry((maps.held[first], maps.held[second])).or_default() += 1;
                    load += 1;
                }
                // This number of multiplications for 3, 20 and 175 pairs.
                assert_eq!(maps.products.len(), [2, 5, 13][t - 1]);
                loads.push(load);
            }
            let sets = all_sets(n, t).len();
            assert_eq!(seen.len(), sets * sets);
            assert!(seen.values().all(|&count| count == 1));
            assert!(loads.iter().all(|&load| load == loads[0]), "loads {loads:?}");
        }
    }

    #[test]
    fn every_missing_share_is_told_exactly_once() {
        for (n, t) in CASES {
            for to in 0..n {
                let mut told = Vec::new();
                for from in (0..n).filter(|&p| p != to) {
                    let maps = Maps::new(n, from);
                    let sums: Vec<_> = maps.opened_to.iter().filter(|(peer, _)| *peer == to).collect();
                    assert!(sums.len() <= 1);
                    assert_eq!(!sums.is_empty(), Maps::new(n, to).opened_from.contains(&from));
                    told.extend(sums.iter().flat_map(|(_, own)| own.iter().map(|&i| maps.held[i])));
                }
                told.sort_unstable();
                let missing: Vec<Set> = all_sets(n, t).into_iter().filter(|s| !holds(*s, to)).collect();
                assert_eq!(told, missing);
            }
        }
    }

    /// The statements of docs/security/rss-arguments.md, for coalitions of t parties and fewer.
    #[test]
    fn shares_missing_in_a_coalition_arrive_in_one_sum() {
        let mut looked_at = 0;
        for (n, t) in CASES {
            let coalitions = (1..1u16 << n).map(|set| set as Set).filter(|set| set.count_ones() as usize <= t);
            for coalition in coalitions {
                let (outside, members): (Vec<usize>, Vec<usize>) = (0..n).partition(|&p| holds(coalition, p));
                let after = |p: usize| (1..=t).map(|by| (p + by) % n).find(|&q| holds(coalition, q)).unwrap();
                let lacked: Vec<Set> = all_sets(n, t)
                    .into_iter()
                    .filter(|set| set & coalition == coalition && members.iter().all(|&p| holds(*set, after(p))))
                    .collect();
                assert!(lacked.iter().all(|&set| members.iter().all(|&p| !holds(set, p))));
                assert!(outside.iter().all(|&p| lacked.iter().any(|&set| holds(set, p))), "{coalition:b} of {n}");
                for &p in &members {
                    assert!(lacked.iter().all(|&set| teller(set, p, n, t) == Some(after(p))), "{coalition:b} of {n}");
                }
                looked_at += 1;
            }
        }
        assert_eq!(looked_at, 3 + 15 + 63);
    }

    #[test]
    fn each_party_sends_one_share_to_t_others_and_receives_t() {
        for (n, t) in CASES {
            for me in 0..n {
                let maps = Maps::new(n, me);
                assert!(holds(maps.chi(me), me));
                assert_eq!((maps.sent_to.len(), maps.received.len()), (t, t));
                for &(from, own) in &maps.received {
                    assert_eq!(maps.held[own], chi(from, n, t));
                    assert!(Maps::new(n, from).sent_to.contains(&me));
                }
            }
        }
    }
}
