//! Truncation of fixed-point results: exact, or rounded down or up where that is known to be safe.

use quorate_engine::{Ctx, Result};
use quorate_gadgets::Computes;
use quorate_graph::{Cut, Graph, NodeId, Truncation};
use quorate_ring::Ring;

use crate::run::executor::Executor;

/// The largest failure probability of a probabilistic truncation; above it, truncation is exact. Of 2^64 truncations,
/// at most one is expected to fail.
const MOST_FAILURE: f64 = 1.0 / (1u128 << 64) as f64;

/// The numbers of fixed-point truncations in a run, by method.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Truncations {
    /// Numbers rounded down.
    pub exact: u64,
    /// Numbers rounded down or up.
    pub probabilistic: u64,
    /// The part of `probabilistic` whose range is not proven. These numbers are right if their product, before it is
    /// truncated, stays below a quarter of its ring.
    pub assumed: u64,
    /// An upper bound on the probability that any of them is off by more than a unit, if the assumption holds (a union
    /// bound).
    pub failure_probability: f64,
}

/// The method of one truncation.
#[derive(Clone, Copy, Debug, PartialEq)]
enum How {
    Exact,
    /// With a failure probability of at most `failure` for a number. `assumed`: only if its product is as small as its
    /// author promised.
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
    /// Counts the truncations of `nodes`.
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
    /// Returns whether node `id` is truncated probabilistically, down or up, in place of its stated rounding.
    pub(crate) fn rounds_either_way(&self, id: NodeId) -> bool {
        let cut = self.work.graph.cut(id);
        cut.is_some_and(|cut| how(self.s, self.work.graph, cut) != How::Exact)
    }

    /// Truncates `x`, the value of node `id` before its truncation.
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
