//! Numbers from and to bits, conversions between dtypes, and running sums.

use quorate_engine::{Ctx, Linear, LinearBits, Result};
use quorate_gadgets::{Computes, Sign};
use quorate_graph::{Axis, Dtype, Interval, Node, NodeId};
use quorate_ring::Ring;

use crate::run::executor::Executor;
use crate::run::operations::{moved, shifted};
use crate::work::data::ring_of;
use crate::work::value::Value;

impl<S: Computes> Executor<'_, S> {
    /// Returns the bits of each element next to each other, lowest first.
    pub(crate) async fn bits_of(&self, ctx: &Ctx, operand: Option<&Value<S>>) -> Result<Value<S>> {
        let rows = self.s.bit_decompose(ctx, &*self.arith(operand)?).await?;
        Ok(Value::Bits(self.s.linear_bits(&rows, &LinearBits::RowsToLanes)))
    }

    /// Returns numbers from their bits, which lie next to each other, lowest first. One conversion of every bit.
    pub(crate) async fn composed(&self, ctx: &Ctx, id: NodeId, operand: Option<&Value<S>>) -> Result<Value<S>> {
        let ring = ring_of(self.work.graph.node(id).dtype);
        let bits = self.s.linear_bits(&*self.bits(operand)?, &LinearBits::LanesToRows(ring.bits() as usize));
        Ok(Value::Arith(self.s.compose(ctx, &bits, ring).await?))
    }

    /// Computes floor(x / 2^shift). Gadgets take signed numbers, so unsigned ones are moved to the middle of their
    /// range and back.
    pub(crate) async fn shifted_right(
        &self,
        ctx: &Ctx,
        id: NodeId,
        shift: u32,
        operand: Option<&Value<S>>,
    ) -> Result<Value<S>> {
        let (x, dtype) = (self.arith(operand)?, self.work.graph.node(id).dtype);
        if !dtype.is_unsigned() {
            return Ok(Value::Arith(self.s.trunc_exact(ctx, &x, shift).await?));
        }
        let half = 1 << (dtype.bits() - 1);
        let quotient = self.s.trunc_exact(ctx, &moved(self.s, ctx, &x, half), shift).await?;
        Ok(Value::Arith(moved(self.s, ctx, &quotient, half >> shift)))
    }

    /// Converts a number to the node's dtype: fractional bits are removed before the ring changes, and added after.
    pub(crate) async fn convert(&self, ctx: &Ctx, id: NodeId, operand: Option<&Value<S>>) -> Result<Value<S>> {
        let node = self.work.graph.node(id);
        let (from, to) = (self.work.graph.node(node.inputs[0]).dtype, node.dtype);
        let mut x = self.arith(operand)?.into_owned();
        if from.frac() > to.frac() {
            x = match to.is_fixed() {
                true => self.cut(ctx, id, x).await?,
                false => self.s.trunc_exact(ctx, &x, from.frac() - to.frac()).await?,
            };
        }
        if from.bits() != to.bits() {
            x = self.converted(ctx, x, node, from).await?;
        }
        if to.frac() > from.frac() {
            x = shifted(self.s, &x, to.frac() - from.frac());
        }
        Ok(Value::Arith(x))
    }

    /// Converts numbers to another ring. Upwards, it converts only the bits that are proven to hold them; dropping the
    /// others is local.
    async fn converted(&self, ctx: &Ctx, x: S::A, node: &Node, from: Dtype) -> Result<S::A> {
        let to = ring_of(node.dtype);
        let mut x = x;
        if let Some(values) = node.interval.filter(|_| to.bits() > from.bits()) {
            let up = node.dtype.frac().saturating_sub(from.frac());
            let values = Interval::new(values.lo() >> up, values.hi() >> up);
            let needed = values.signed_bits() - u32::from(from.is_unsigned());
            if (2..self.s.shape(&x).0.bits()).contains(&needed) {
                x = self.s.linear(&x, &Linear::Reduce(Ring::of(needed)));
            }
        }
        self.s.convert(ctx, &x, to, sign_of(from)).await
    }

    /// Returns running sums along an axis: local, in log2(len) additions of all elements.
    pub(crate) fn running_sums(&self, axis: Axis, operand: Option<&Value<S>>) -> Result<Value<S>> {
        let rows = self.candidates_first(&*self.arith(operand)?, axis);
        let lanes = axis.outer * axis.inner;
        let sums = self.s.linear(&rows, &Linear::RunningSums { lanes });
        Ok(Value::Arith(self.candidates_back(&sums, axis)))
    }
}

/// Returns whether elements of the dtype are signed.
pub(super) fn sign_of(dtype: Dtype) -> Sign {
    if dtype.is_unsigned() { Sign::Unsigned } else { Sign::Signed }
}
