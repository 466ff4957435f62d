//! How fixed-point results lose their surplus bits: exactly, or rounded either way where that is known to be safe.

use quorate_engine::{Ctx, Result};
use quorate_gadgets::Computes;
use quorate_graph::{Cut, Graph, NodeId, Truncation};
use quorate_ring::Ring;

use crate::run::executor::Executor;

/// More than this for one truncation, and it is exact. Of 2^64 truncations none is expected to fail.
const MOST_FAILURE: f64 = 1.0 / (1u128 << 64) as f64;

/// The truncations of fixed-point results in a run, by how they are done.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Truncations {
    /// Numbers rounded down.
    pub exact: u64,
    /// Numbers rounded down or up.
    pub probabilistic: u64,
    /// Among those: numbers whose range nothing proves. They are right if their product, before it is truncated, stays
    /// below a quarter of its ring.
    pub assumed: u64,
    /// At most how probable it is that any of them is off by more than a unit, if what is assumed holds (a union
    /// bound).
    pub failure_probability: f64,
}

/// How one cut is done.
#[derive(Clone, Copy, Debug, PartialEq)]
enum How {
    Exact,
    /// With at most this probability of failure for a number; `assumed`: if its product is as small as its author
    /// promised.
    Probabilistic {
        failure: f64,
        assumed: bool,
    },
}

fn how<S: Computes>(s: &S, graph: &Graph, cut: Cut) -> How {
    if graph.rules().truncation == Truncation::Exact {
        return How::Exact;
    }
    let (bits, assumed) = match (cut.proven_bits, cut.is_any_value) {
        (Some(bits), _) => (bits, false),
        (None, false) => (cut.ring_bits - 1, true),
        (None, true) => (cut.ring_bits, false),
    };
    let failure = s.trunc_prob_failure(Ring::of(cut.ring_bits), cut.shift, bits);
    if failure > MOST_FAILURE { How::Exact } else { How::Probabilistic { failure, assumed } }
}

impl Truncations {
    /// Those of `nodes`.
    pub(crate) fn of<S: Computes>(s: &S, graph: &Graph, nodes: &[NodeId]) -> Truncations {
        let mut all = Truncations::default();
        for &id in nodes {
            let Some(cut) = graph.cut(id) else { continue };
            let numbers = graph.node(id).elements() as u64;
            match how(s, graph, cut) {
                How::Exact => all.exact += numbers,
                How::Probabilistic { failure, assumed } => {
                    all.probabilistic += numbers;
                    all.assumed += if assumed { numbers } else { 0 };
                    all.failure_probability = (all.failure_probability + failure * numbers as f64).min(1.0);
                }
            }
        }
        all
    }
}

impl<S: Computes> Executor<'_, S> {
    /// Whether node `id` rounds down or up, and not to what is stated for it.
    pub(crate) fn rounds_either_way(&self, id: NodeId) -> bool {
        let cut = self.work.graph.cut(id);
        cut.is_some_and(|cut| how(self.s, self.work.graph, cut) != How::Exact)
    }

    /// The value of node `id` before its cut, cut.
    pub(crate) async fn cut(&self, ctx: &Ctx, id: NodeId, x: S::A) -> Result<S::A> {
        let Some(cut) = self.work.graph.cut(id) else { return Ok(x) };
        match how(self.s, self.work.graph, cut) {
            How::Exact if cut.proven_bits.is_some_and(|bits| bits < cut.ring_bits) => {
                self.s.trunc_bounded(ctx, &x, cut.shift).await
            }
            How::Exact => self.s.trunc_exact(ctx, &x, cut.shift).await,
            How::Probabilistic { .. } => self.s.trunc_prob(ctx, &x, cut.shift).await,
        }
    }
}
