//! Remembered dry runs: a request like an earlier one takes over the dry run of that one.
//!
//! Two requests are alike if they agree in everything that a dry run depends on. They have the same steps in the same
//! order, from the same lines and in the same sharings. Each operand is made by the same step, or exists in the same
//! sharing. They have the same limit and keep the same values. If a request were mistaken for another one, it would
//! draw correlations that were not made, and would end in an error.

use std::collections::{BTreeMap, BTreeSet};

use quorate_graph::{Node, NodeId, Op};

use super::dry_run::{Asked, DryRun};
use crate::memory::limit::Limit;
use crate::work::effort::Taken;

/// The largest number of requests that are remembered, and of their steps and draws of correlations.
const MOST: usize = 64;
const MOST_STEPS: usize = 2000;
const MOST_DRAWS: usize = 10_000;

/// The identity of a request, independent of its place in the program.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Likeness {
    hash: [u8; 32],
    /// All nodes of the request, in order.
    nodes: Vec<NodeId>,
    /// The bytes of all other values that are held.
    beside: u64,
}

impl Likeness {
    /// Returns the likeness of a request; `None` where it is too long to be remembered. `bytes` returns the bytes of a
    /// value at a party.
    pub fn of(asked: &Asked<'_>, bytes: &dyn Fn(NodeId) -> u64) -> Option<Likeness> {
        let &Asked { work, held, keeps, limit, windows, .. } = asked;
        if work.nodes.len() > MOST_STEPS || held.len() > MOST_STEPS {
            return None;
        }
        let graph = work.graph;
        let operands = work.nodes.iter().flat_map(|&id| graph.node(id).inputs.iter().copied());
        let all: BTreeSet<NodeId> =
            operands.chain(work.nodes.iter().copied()).chain(work.reveals.iter().map(|reveal| reveal.node)).collect();
        let nodes: Vec<NodeId> = all.into_iter().collect();
        let place = |id: NodeId| nodes.binary_search(&id).map_or(u64::MAX, |place| place as u64);
        let mut hasher = Hasher::default();
        hasher.numbers([nodes.len(), work.nodes.len(), work.reveals.len()].map(|count| count as u64));
        hasher.limit(limit);
        for &id in &nodes {
            let node = graph.node(id);
            let runs = work.nodes.binary_search(&id).is_ok();
            match &node.op {
                Op::Constant(units) if units.len() > 1 => hasher.constant(node),
                _ => hasher.0.update(&graph.step_hash(id).0),
            };
            // Correlations of products name the factor.
            hasher.numbers((node.op == Op::AsFactor).then_some(id.0.into()));
            let kept = u64::from(keeps(id)) + 2 * u64::from(held.contains(&id)) + 4 * u64::from(runs);
            hasher.numbers([kept, work.domains.of(id) as u64, node.source.line.into(), node.inputs.len() as u64]);
            hasher.0.update(node.source.file.as_bytes()).update(&[0]);
            if runs {
                hasher.numbers(node.inputs.iter().map(|&input| place(input)));
            }
        }
        for reveal in &work.reveals {
            hasher.numbers([place(reveal.node), reveal.to.map_or(u64::MAX, |to| to as u64)]);
        }
        // Of all other values held, only the total size counts; without a limit, it is added to the memory of a run.
        let beside = held.iter().filter(|&&id| place(id) == u64::MAX).map(|&id| bytes(id)).sum();
        let counted = if limit == Limit::None { 0 } else { beside };
        hasher.numbers([counted, work.domains.is_plain().into(), windows as u64]);
        Some(Likeness { hash: hasher.0.finalize().into(), nodes, beside })
    }
}

#[derive(Default)]
struct Hasher(blake3::Hasher);

impl Hasher {
    fn numbers(&mut self, numbers: impl IntoIterator<Item = u64>) {
        for number in numbers {
            self.0.update(&number.to_le_bytes());
        }
    }

    fn limit(&mut self, limit: Limit) {
        self.numbers(match limit {
            Limit::None => [0, 0],
            Limit::Named(bytes) => [1, bytes],
            Limit::Free(bytes) => [2, bytes],
        });
    }

    /// Hashes public numbers by shape, dtype and range, since dry runs do not look at single numbers.
    fn constant(&mut self, node: &Node) -> &mut blake3::Hasher {
        let range = node.range();
        self.numbers(node.shape.iter().map(|&size| size as u64).chain([node.shape.len() as u64, u64::MAX]));
        self.0.update(&range.lo().to_le_bytes()).update(&range.hi().to_le_bytes());
        self.0.update(node.dtype.to_string().as_bytes())
    }
}

/// The dry runs of the last different requests.
pub(crate) struct Remembered<K>(BTreeMap<[u8; 32], Earlier<K>>);

/// A dry run, and the nodes and the bytes of other values with which it was made.
struct Earlier<K> {
    nodes: Vec<NodeId>,
    beside: u64,
    dry: DryRun<K>,
}

impl<K> Default for Remembered<K> {
    fn default() -> Self {
        Remembered(BTreeMap::new())
    }
}

impl<K: Ord + Clone> Remembered<K> {
    /// Returns the dry run of a request like this one, or the result of `dry_run`.
    pub fn or_else<E>(
        &mut self,
        like: Option<Likeness>,
        dry_run: impl FnOnce() -> Result<DryRun<K>, E>,
    ) -> Result<DryRun<K>, E> {
        let Some(Likeness { hash, nodes, beside }) = like else { return dry_run() };
        let fits = |dry: &DryRun<K>| dry.schedule.is_whole_by_size();
        if let Some(earlier) = self.0.get(&hash) {
            let now: BTreeMap<NodeId, NodeId> = earlier.nodes.iter().copied().zip(nodes.iter().copied()).collect();
            let mut known = earlier.dry.moved(&|id| now.get(&id).copied().unwrap_or(id));
            let changed = |bytes: u64| bytes - earlier.beside + beside;
            known.need.change_held(changed);
            known.schedule.change_held(changed);
            // Programs of more than a gigabyte run in pieces, and count as different with other values beside.
            if beside == earlier.beside || fits(&earlier.dry) && fits(&known) {
                if cfg!(debug_assertions) {
                    known.must_be(&dry_run()?);
                }
                return Ok(known);
            }
        }
        let found = dry_run()?;
        if found.demand.draws() <= MOST_DRAWS && found.schedule.is_whole() {
            if self.0.len() == MOST {
                self.0.clear();
            }
            self.0.insert(hash, Earlier { nodes, beside, dry: found.moved(&|id| id) });
        }
        Ok(found)
    }
}

impl<K: Ord + Clone> DryRun<K> {
    /// Returns this dry run for other nodes.
    fn moved(&self, to: &dyn Fn(NodeId) -> NodeId) -> DryRun<K> {
        let step = |id: u32| to(NodeId(id)).0;
        let mut need = self.need;
        need.at = need.at.map(to);
        DryRun {
            demand: self.demand.with_steps(step),
            offline: self.offline.clone(),
            online: self.online.clone(),
            correlations: self.correlations.clone(),
            steps: Taken {
                talking: self.steps.talking.iter().map(|(&id, cost)| (step(id), cost.clone())).collect(),
                local: self.steps.local.clone(),
            },
            need,
            schedule: self.schedule.moved(to),
            garbles_ahead: self.garbles_ahead,
            seconds: 0.0,
        }
    }

    /// Checks that what was remembered equals a dry run made now.
    fn must_be(&self, now: &DryRun<K>) {
        let traffic = |dry: &DryRun<K>| (dry.offline.traffic.clone(), dry.online.traffic.clone());
        let talking = |dry: &DryRun<K>| {
            dry.steps.talking.iter().map(|(&id, cost)| (id, cost.bytes, cost.rounds.clone())).collect::<Vec<_>>()
        };
        assert!(self.demand == now.demand, "other correlations");
        assert_eq!((&self.schedule, self.need), (&now.schedule, now.need));
        assert_eq!((traffic(self), talking(self)), (traffic(now), talking(now)));
        assert_eq!((&self.correlations, self.garbles_ahead), (&now.correlations, now.garbles_ahead));
    }
}
