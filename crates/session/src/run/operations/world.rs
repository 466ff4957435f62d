//! The worlds in which circuits run: shared bits, or labels.

use quorate_circuits::{Goal, Order, Program};
use quorate_crypto::RUN;
use quorate_engine::{Ctx, LinearBits, Positions, Result};
use quorate_gadgets::{Computes, Labels};
use quorate_graph::Dtype;
use quorate_ring::Bits;

use crate::work::value::Value;

/// A sharing of matrices of bits, rows by lanes, in which circuits run.
#[allow(async_fn_in_trait)] // futures are single-threaded on purpose
pub(crate) trait World<S: Computes> {
    type V: Clone;
    /// The optimisation goal of its circuits, and the order of their gates.
    const CIRCUITS: (Goal, Order);

    fn of_value(value: &Value<S>) -> Option<&Self::V>;
    fn to_value(v: Self::V, dtype: Dtype) -> Value<S>;
    /// Returns the numbers of rows and lanes.
    fn shape(s: &S, v: &Self::V) -> (usize, usize);
    fn public(s: &S, bits: &Bits) -> Result<Self::V>;
    fn gather_rows(s: &S, v: &Self::V, rows: &[u32]) -> Self::V;
    fn gather_lanes(s: &S, v: &Self::V, lanes: Positions<'_>) -> Self::V;
    fn concat_rows(s: &S, parts: &[&Self::V]) -> Self::V;
    fn concat_lanes(s: &S, parts: &[&Self::V]) -> Self::V;
    fn lanes_to_rows(s: &S, v: &Self::V, rows: usize) -> Self::V;
    fn rows_to_lanes(s: &S, v: &Self::V) -> Self::V;
    async fn run(s: &S, ctx: &Ctx, program: &Program, inputs: &Self::V) -> Result<Self::V>;
}

/// Circuits with a round for each layer of ANDs.
pub(crate) const ON_BITS: (Goal, Order) = (Goal::Depth, Order::Layers);

/// Small circuits, in an order in which few labels are held at once.
pub(crate) const GARBLED: (Goal, Order) = (Goal::Size, Order::Runs(RUN));

/// Shared bits: a round for each layer of ANDs.
pub(crate) struct OnBits;

/// Labels of garbled circuits: no rounds of their own.
pub(crate) struct OnLabels;

impl<S: Computes> World<S> for OnBits {
    type V = S::B;
    const CIRCUITS: (Goal, Order) = ON_BITS;

    fn of_value(value: &Value<S>) -> Option<&S::B> {
        if let Value::Bits(bits) | Value::Rows(bits) = value { Some(bits) } else { None }
    }

    fn to_value(v: S::B, dtype: Dtype) -> Value<S> {
        if dtype == Dtype::Bit { Value::Bits(v) } else { Value::Rows(v) }
    }

    fn shape(s: &S, v: &S::B) -> (usize, usize) {
        s.bit_shape(v)
    }

    fn public(s: &S, bits: &Bits) -> Result<S::B> {
        Ok(s.public_bits(bits))
    }

    fn gather_rows(s: &S, v: &S::B, rows: &[u32]) -> S::B {
        s.linear_bits(v, &LinearBits::GatherRows(rows))
    }

    fn gather_lanes(s: &S, v: &S::B, lanes: Positions<'_>) -> S::B {
        s.linear_bits(v, &LinearBits::GatherLanes(lanes))
    }

    fn concat_rows(s: &S, parts: &[&S::B]) -> S::B {
        s.concat_rows(parts)
    }

    fn concat_lanes(s: &S, parts: &[&S::B]) -> S::B {
        s.concat_lanes(parts)
    }

    fn lanes_to_rows(s: &S, v: &S::B, rows: usize) -> S::B {
        s.linear_bits(v, &LinearBits::LanesToRows(rows))
    }

    fn rows_to_lanes(s: &S, v: &S::B) -> S::B {
        s.linear_bits(v, &LinearBits::RowsToLanes)
    }

    async fn run(s: &S, ctx: &Ctx, program: &Program, inputs: &S::B) -> Result<S::B> {
        s.circuit(ctx, program, inputs).await
    }
}

impl<S: Computes> World<S> for OnLabels {
    type V = S::Y;
    const CIRCUITS: (Goal, Order) = GARBLED;

    fn of_value(value: &Value<S>) -> Option<&S::Y> {
        if let Value::Labels(labels) = value { Some(labels) } else { None }
    }

    fn to_value(v: S::Y, _: Dtype) -> Value<S> {
        Value::Labels(v)
    }

    fn shape(_: &S, v: &S::Y) -> (usize, usize) {
        v.shape()
    }

    fn public(s: &S, bits: &Bits) -> Result<S::Y> {
        s.public_labels(bits)
    }

    fn gather_rows(_: &S, v: &S::Y, rows: &[u32]) -> S::Y {
        v.gather_rows(rows)
    }

    fn gather_lanes(_: &S, v: &S::Y, lanes: Positions<'_>) -> S::Y {
        v.gather_lanes(&lanes)
    }

    fn concat_rows(_: &S, parts: &[&S::Y]) -> S::Y {
        S::Y::concat_rows(parts)
    }

    fn concat_lanes(_: &S, parts: &[&S::Y]) -> S::Y {
        S::Y::concat_lanes(parts)
    }

    fn lanes_to_rows(_: &S, v: &S::Y, rows: usize) -> S::Y {
        v.lanes_to_rows(rows)
    }

    fn rows_to_lanes(_: &S, v: &S::Y) -> S::Y {
        v.rows_to_lanes()
    }

    async fn run(s: &S, ctx: &Ctx, program: &Program, inputs: &S::Y) -> Result<S::Y> {
        s.garble(ctx, program, inputs).await
    }
}
